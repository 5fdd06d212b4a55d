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
	Seeds     Seeds
	Transport Transport
	// Strategy to run the seeds with; "" = the scenario's, and strategy.Uniform where it states none.
	Strategy string
	Workers  Workers
	// Twice runs every seed twice. Without it the first seed of a row is run again, and every seed that is reported.
	Twice bool
	// Enough ends the campaign early: once it is closed no further seed is begun.
	Enough <-chan struct{}
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
	Stated    bool
	Transport Transport
	Strategy  string // that the seeds are run with
	Seeds     Seeds  // asked for
	Ran       int    // seeds run
	// Interrupted says that the campaign was broken off before all seeds were run, EndedEarly that it had run long enough.
	Interrupted, EndedEarly bool

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
// far they came. An error says that the campaign could not be run at all.
func (c *Campaign) Run(ctx context.Context) ([]*Row, error) {
	rows, err := c.rows()
	if err != nil {
		return nil, err
	}
	r := &campaignRun{campaign: c}
	for i, row := range rows {
		r.rows = append(r.rows, newRowRun(i, row))
		r.all += row.Seeds.Len()
	}
	err = c.Workers.run(ctx, r.next, r.absorb)
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil, err
	}
	for _, row := range r.rows {
		if !row.finished {
			row.row.Interrupted = err != nil
			r.finish(row)
		}
	}
	return rows, nil
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
			row := &Row{Scenario: s, Implementation: name, Seeds: c.Seeds, Transport: c.Transport}
			row.Expectation, row.Stated = s.Expects(name)
			row.Strategy = cmp.Or(c.Strategy, s.Strategy, strategy.Uniform)
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
	again     []task // to be run again before anything else is begun
}

// rowRun is one row under way.
type rowRun struct {
	row      *Row
	number   int
	source   *source
	results  []*seedResult // by place
	begun    int           // seeds given out
	answered int
	confirm  int // seeds that are run again and have not answered
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
		results: make([]*seedResult, row.Seeds.Len()),
	}
}

// enough tells whether the campaign is to begin no further seed.
func (r *campaignRun) enough() bool {
	select {
	case <-r.campaign.Enough:
		return true
	default:
		return false
	}
}

// next is the next seed to run: one to confirm, or the next of the first row that has one.
func (r *campaignRun) next() (task, bool) {
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
	for ; r.current < len(r.rows); r.current++ {
		row := r.rows[r.current]
		if row.begun < len(row.results) {
			if row.begun == 0 && r.campaign.Clock != nil {
				row.start = r.campaign.Clock.Now()
			}
			row.begun++
			return row.task(r.campaign, row.begun-1), true
		}
	}
	return task{}, false
}

// stop makes do with the seeds that were begun.
func (r *campaignRun) stop() {
	for _, row := range r.rows {
		if row.begun < len(row.results) {
			row.row.EndedEarly = true
			row.results = row.results[:row.begun]
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
	if result.Place < 0 {
		row.confirm--
		row.compare(result)
	} else {
		row.results[result.Place] = &result
		row.answered++
		r.done++
		r.tell(nil)
	}
	r.settle(row)
}

// settle goes on with a row whose results are all there: what it would report is run again, then it is judged.
func (r *campaignRun) settle(row *rowRun) {
	if row.finished || row.answered < len(row.results) || row.confirm > 0 {
		return
	}
	if !row.tallied {
		row.tally()
		if !r.campaign.Twice {
			for _, place := range row.reported() {
				again := row.task(r.campaign, place)
				again.Place = -1
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
	row.finished = true
	if !row.start.IsZero() {
		row.row.Elapsed = r.campaign.Clock.Since(row.start)
	}
	row.row.Judgement = judge(row.row)
	row.results = nil
	r.tell(row.row)
}

func (r *campaignRun) tell(finished *Row) {
	if r.campaign.Progress != nil {
		r.campaign.Progress(Progress{Done: r.done, All: r.all, Finished: finished})
	}
}

// compare holds a seed that was run again against its first run.
func (row *rowRun) compare(again seedResult) {
	for place, first := range row.results {
		if first == nil || first.Seed != again.Seed {
			continue
		}
		switch {
		case again.Error != "" && first.Error == "":
			row.row.Failures = append(row.row.Failures, Remark{again.Seed, again.Error})
		case again.Hash != first.Hash || again.Error != first.Error:
			row.row.Unstable = append(row.row.Unstable, row.row.Seeds.At(place))
		}
	}
}

// reported lists the places of the seeds that the row rests on: the first one, and those that it reports as the first
// to show something. They are run again before that is claimed.
func (row *rowRun) reported() []int {
	wanted := map[int]bool{0: len(row.results) > 0}
	for _, p := range row.row.Properties {
		if p.Violated > 0 {
			wanted[p.FirstViolated.Place-1] = true
		}
	}
	for _, m := range row.row.Mechanisms {
		wanted[m.First.Place-1] = true
	}
	var places []int
	for place := range row.results {
		if wanted[place] && row.results[place] != nil && row.results[place].Error == "" {
			places = append(places, place)
		}
	}
	return places
}
