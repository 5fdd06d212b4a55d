package scenarios

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/mechanism"
	"github.com/lockstep-sim/lockstep/scenarios/strategy"
)

// Campaign runs scenarios against implementations, many seeds each, and judges what comes out against what the
// scenarios expect.
//
// What it finds does not depend on how many workers there are nor on which of them is quicker: everything is counted in
// the order of seeds.
type Campaign struct {
	Scenarios []*Scenario
	// Implementations to run in every scenario; none = those for which the scenario states an expectation.
	Implementations []string
	// Seeds to run; none = for each row what its expectation asks for, see DefaultSeeds.
	Seeds Seeds
	// Shard is the part of the seeds to run; the zero value is all of them.
	Shard     Shard
	Transport Transport
	// Strategy to run the seeds with; "" = the scenario's, and strategy.Uniform where it states none.
	Strategy string
	Workers  Workers
	// Twice runs every seed twice. Without it the first seed of a row is run again, and every seed that is reported.
	Twice bool
	// Enough ends the campaign early: once it is closed no further seed is begun.
	Enough <-chan struct{}
	// Evenly lets the rows take turns, so that each has its share when Enough ends the campaign early. Otherwise one
	// row is run after the other.
	Evenly bool
	// MostFailures ends the campaign once so many rows have not come out as expected; 0 = it goes on whatever happens.
	// The rows behind the last of them, in the order of the table, are left out.
	MostFailures int
	// Baseline lists violations that are known and accepted; nil = none is.
	Baseline *Baseline
	// Journal keeps every result; what it holds already is not run again. nil = nothing is kept.
	Journal *Journal
	// Clock measures Row.Elapsed; it decides nothing. None = it is not measured.
	Clock clockwork.Clock
	// Progress is told of each seed that was run, and of each row that is finished; it may be nil.
	Progress func(Progress)
}

// Progress tells how far a campaign has come.
type Progress struct {
	Done, All int  // seeds
	Finished  *Row // the row that is finished now, nil = none
}

// Row is what came of one implementation in one scenario.
type Row struct {
	Scenario       *Scenario
	Implementation string
	Expectation    Expectation
	// Stated says that the scenario has an expectation for this implementation.
	Stated bool
	// Known are the violations that the campaign's baseline lists for this row.
	Known     []KnownViolation
	Transport Transport
	Strategy  string // that the seeds are run with
	Seeds     Seeds  // asked for
	Shard     Shard  // the part of them that is this campaign's
	Ran       int    // seeds run
	// Interrupted says that the campaign was broken off before all seeds were run, EndedEarly that it had run long
	// enough, LeftOut that so many rows before this one had failed that it does not count any more.
	Interrupted, EndedEarly, LeftOut bool

	Properties []PropertyTally  // in the order of checker.Properties
	Mechanisms []MechanismTally // those found, in the order of mechanism.All
	Faults     []FaultTally     // in the order of the scenario
	// Marks counts, in the order of strategy.AllMarks, the seeds that came to where locks break.
	Marks    []int
	Failures []Remark // seeds that could not be finished
	Leaks    []Remark // seeds that left goroutines behind
	// Unstable are the seeds that ran differently when they were run again.
	Unstable []uint64
	// Hash is over the hashes of all seeds, in their order.
	Hash    uint64
	Elapsed time.Duration

	Judgement Judgement
}

// First is the first seed that showed something. Place is its place among the row's seeds, from 1.
type First struct {
	Seed  uint64
	Place int
}

// PropertyTally counts the verdicts on one property.
type PropertyTally struct {
	Property                          checker.Property
	Holds, Violated, Unknown, Skipped int
	// GaveUp counts the unknown verdicts for which there was something to judge.
	GaveUp        int
	FirstViolated First
}

// Untested says that the property was to be judged and that no seed put it to the test.
func (t PropertyTally) Untested() bool { return t.Holds == 0 && t.Violated == 0 && t.Unknown > 0 }

// MechanismTally counts the seeds that showed a mechanism, and which property it broke.
type MechanismTally struct {
	Mechanism  mechanism.Mechanism
	Seeds      int
	First      First
	Properties []checker.Property
}

// FaultTally counts the seeds in which a fault of the scenario was planned, and in how many of them it struck.
type FaultTally struct {
	Text           string
	Drawn, Strikes int
}

// Remark is something to say of one seed.
type Remark struct {
	Seed uint64
	Text string
}

// leastSeeds is how many seeds DefaultSeeds asks for at least.
const leastSeeds = 20

// DefaultSeeds are as many as the expectation needs to be judged, and some more when that is little.
func DefaultSeeds(e Expectation) Seeds {
	n := leastSeeds
	for _, find := range e.Find {
		n = max(n, find.Within)
	}
	return SeedsUpTo(n)
}

// Run runs the campaign. The rows come in the order of scenarios and implementations. When ctx ends the rows tell how
// far they came. An error says that the campaign could not be run at all, or that its journal cannot be written.
func (c *Campaign) Run(ctx context.Context) ([]*Row, error) {
	r, err := c.begin()
	if err != nil {
		return nil, err
	}
	err = c.Workers.run(ctx, r.next, r.absorb)
	if r.failure != nil {
		return nil, r.failure
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil, err
	}
	return r.end(err != nil), nil
}

// Size counts the rows that the campaign will have. An error says why it cannot be run.
func (c *Campaign) Size() (int, error) {
	rows, err := c.rows()
	return len(rows), err
}

// Judge judges what the journal holds, without running anything. Rows whose seeds are not all there are interrupted.
func (c *Campaign) Judge() ([]*Row, error) {
	r, err := c.begin()
	if err != nil {
		return nil, err
	}
	return r.end(true), nil
}

// begin makes the rows and takes in what the journal holds.
func (c *Campaign) begin() (*campaignRun, error) {
	rows, err := c.rows()
	if err != nil {
		return nil, err
	}
	r := &campaignRun{campaign: c}
	for i, row := range rows {
		run := newRowRun(i, row)
		r.rows = append(r.rows, run)
		r.all += row.Own()
	}
	if c.Journal != nil {
		if err := c.Journal.recall(r); err != nil {
			return nil, err
		}
	}
	for _, row := range r.rows {
		row.skip()
		r.settle(row)
	}
	return r, nil
}

// end judges the rows that are not finished and leaves out those that do not count any more.
func (r *campaignRun) end(interrupted bool) []*Row {
	var rows []*Row
	failed := 0
	for _, row := range r.rows {
		enough := r.campaign.MostFailures > 0 && failed >= r.campaign.MostFailures
		if !row.finished && !enough {
			row.row.Interrupted = interrupted
			r.finish(row)
		}
		if enough {
			row.row = row.leaveOut()
		}
		if row.row.Judgement.Conclusion != AsExpected {
			failed++
		}
		rows = append(rows, row.row)
	}
	return rows
}

// rows lists what is to be run and checks that it can be.
func (c *Campaign) rows() ([]*Row, error) {
	var rows []*Row
	for _, s := range c.Scenarios {
		names := c.Implementations
		if len(names) == 0 {
			for _, e := range s.Implementations {
				names = append(names, e.Implementation)
			}
		}
		for _, name := range names {
			if len(c.Implementations) > 0 && s.keepsElsewhere(name) {
				continue
			}
			if _, err := newRun(Setup{Scenario: s, Implementation: name, Seed: 1}); err != nil {
				return nil, err
			}
			row := &Row{Scenario: s, Implementation: name, Seeds: c.Seeds, Shard: c.Shard, Transport: c.Transport}
			row.Expectation, row.Stated = s.Expects(name)
			row.Strategy = cmp.Or(c.Strategy, s.Strategy, strategy.Uniform)
			row.Known = c.Baseline.of(s.Name, name)
			if len(c.Seeds) == 0 {
				row.Seeds = DefaultSeeds(row.Expectation)
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// keepsElsewhere tells whether a lock is kept on a server that the scenario does not have: a choice of locks for all
// scenarios means each where it can run.
func (s *Scenario) keepsElsewhere(implementation string) bool {
	entry, err := catalogue.Lookup(implementation)
	return err == nil && (entry.Backend != s.Server || s.Servers > 1 && !entry.Servers)
}

// campaignRun is a campaign under way.
type campaignRun struct {
	campaign  *Campaign
	rows      []*rowRun
	current   int // the first row that may have a seed to begin
	done, all int
	failed    int    // rows that are finished and did not come out as expected
	again     []task // to be run again before anything else is begun
	failure   error  // the journal cannot be written
}

// rowRun is one row under way.
type rowRun struct {
	row      *Row
	number   int
	source   *source
	results  []*seedResult // by place; nil = not run, or of another shard
	seconds  []*seedResult // by place: those of seeds that were run again
	cursor   int           // the next place to begin
	missing  int           // seeds that were begun and have not answered
	confirm  int           // seeds that are run again and have not answered
	tallied  bool
	finished bool
	start    time.Time
}

func newRowRun(number int, row *Row) *rowRun {
	name := row.Scenario.Source
	if name == "" {
		name = row.Scenario.Name
	}
	return &rowRun{
		row: row, number: number, source: &source{name, string(row.Scenario.Text)},
		results: make([]*seedResult, row.Seeds.Len()), seconds: make([]*seedResult, row.Seeds.Len()),
	}
}

// skip moves the cursor over what is not to be run: seeds of other shards and seeds whose results are there.
func (row *rowRun) skip() {
	for row.cursor < len(row.results) &&
		(row.results[row.cursor] != nil || !row.row.Shard.Has(row.row.Seeds.At(row.cursor))) {
		row.cursor++
	}
}

// enough tells whether the campaign is to begin no further seed.
func (r *campaignRun) enough() bool {
	if most := r.campaign.MostFailures; most > 0 && r.failed >= most {
		return true
	}
	select {
	case <-r.campaign.Enough:
		return true
	default:
		return false
	}
}

// next is the next seed to run: one to confirm, or the next of the first row that has one.
func (r *campaignRun) next() (task, bool) {
	if r.failure != nil {
		return task{}, false
	}
	if n := len(r.again); n > 0 {
		t := r.again[n-1]
		r.again = r.again[:n-1]
		return t, true
	}
	if r.enough() {
		r.stop()
		if len(r.again) > 0 {
			return r.next()
		}
		return task{}, false
	}
	if row := r.turn(); row != nil {
		return r.begin(row), true
	}
	return task{}, false
}

// turn is the row whose turn it is: the first that has a seed to begin or, if they take turns, the one that is furthest
// behind; nil = all seeds were begun.
func (r *campaignRun) turn() *rowRun {
	for r.current < len(r.rows) && r.rows[r.current].cursor >= len(r.rows[r.current].results) {
		r.current++
	}
	if r.current == len(r.rows) {
		return nil
	}
	turn := r.rows[r.current]
	if r.campaign.Evenly {
		for _, row := range r.rows[r.current:] {
			if row.cursor < len(row.results) && row.cursor < turn.cursor {
				turn = row
			}
		}
	}
	return turn
}

// begin begins the next seed of a row.
func (r *campaignRun) begin(row *rowRun) task {
	if row.start.IsZero() && r.campaign.Clock != nil {
		row.start = r.campaign.Clock.Now()
	}
	t := row.task(r.campaign, row.cursor)
	row.missing++
	row.cursor++
	row.skip()
	return t
}

// stop makes do with the seeds that were begun.
func (r *campaignRun) stop() {
	for _, row := range r.rows {
		if row.cursor < len(row.results) {
			row.row.EndedEarly = true
			row.results = row.results[:row.cursor]
			r.settle(row)
		}
	}
}

// task is the seed at a place of the row.
func (row *rowRun) task(c *Campaign, place int) task {
	return task{
		Row: row.number, Place: place, Scenario: row.source, Implementation: row.row.Implementation,
		Transport: c.Transport, Strategy: row.row.Strategy, Seed: row.row.Seeds.At(place), Twice: c.Twice,
	}
}

// absorb takes in the result of one seed.
func (r *campaignRun) absorb(result seedResult) {
	row := r.rows[result.Row]
	if r.campaign.Journal != nil && r.failure == nil {
		r.failure = r.campaign.Journal.add(result)
	}
	if result.Again {
		row.confirm--
		row.seconds[result.Place] = &result
	} else {
		row.missing--
		row.results[result.Place] = &result
		r.done++
		r.tell(nil)
	}
	r.settle(row)
}

// settle goes on with a row whose results are all there: what it would report is run again, then it is judged.
func (r *campaignRun) settle(row *rowRun) {
	if row.finished || row.cursor < len(row.results) || row.missing > 0 || row.confirm > 0 {
		return
	}
	if !row.tallied {
		row.tally()
		for _, place := range row.reported(r.campaign) {
			if row.seconds[place] == nil {
				again := row.task(r.campaign, place)
				again.Again = true
				r.again = append(r.again, again)
				row.confirm++
			}
		}
		if row.confirm > 0 {
			return
		}
	}
	r.finish(row)
}

// finish judges a row.
func (r *campaignRun) finish(row *rowRun) {
	if !row.tallied {
		row.tally()
	}
	row.compare(r.campaign)
	row.finished = true
	if !row.start.IsZero() {
		row.row.Elapsed = r.campaign.Clock.Since(row.start)
	}
	row.row.Judgement = judge(row.row)
	if row.row.Judgement.Conclusion != AsExpected {
		r.failed++
	}
	row.results, row.seconds = nil, nil
	r.tell(row.row)
}

// leaveOut is the row as if none of its seeds had been run.
func (row *rowRun) leaveOut() *Row {
	left := &Row{
		Scenario: row.row.Scenario, Implementation: row.row.Implementation, Expectation: row.row.Expectation,
		Stated: row.row.Stated, Known: row.row.Known, Transport: row.row.Transport, Seeds: row.row.Seeds,
		Shard: row.row.Shard, LeftOut: true,
	}
	left.Judgement = judge(left)
	return left
}

func (r *campaignRun) tell(finished *Row) {
	if r.campaign.Progress != nil {
		r.campaign.Progress(Progress{Done: r.done, All: r.all, Finished: finished})
	}
}

// compare holds the seeds that were run again against their first runs, in the order of seeds.
func (row *rowRun) compare(c *Campaign) {
	for _, place := range row.reported(c) {
		first, again := row.results[place], row.seconds[place]
		switch {
		case again == nil: // the campaign was broken off before
		case again.Error != "":
			row.row.Failures = append(row.row.Failures, Remark{again.Seed, again.Error})
		case again.Hash != first.Hash:
			row.row.Unstable = append(row.row.Unstable, again.Seed)
		}
	}
}

// reported lists the places of the seeds that the row rests on: the first one, and those that it reports as the first
// to show something. They are run again before that is claimed, unless every seed is run twice anyway.
func (row *rowRun) reported(c *Campaign) []int {
	if c.Twice {
		return nil
	}
	wanted := map[int]bool{}
	for place, result := range row.results {
		if result != nil {
			wanted[place] = true
			break
		}
	}
	for _, p := range row.row.Properties {
		if p.Violated > 0 {
			wanted[p.FirstViolated.Place-1] = true
		}
	}
	for _, m := range row.row.Mechanisms {
		wanted[m.First.Place-1] = true
	}
	var places []int
	for place, result := range row.results {
		if wanted[place] && result != nil && result.Error == "" {
			places = append(places, place)
		}
	}
	return places
}
