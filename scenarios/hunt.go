package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/mechanism"
	"github.com/lockstep-sim/lockstep/faults"
	"github.com/lockstep-sim/lockstep/scenarios/strategy"
)

// Hunt looks for the first seed in which a lock breaks a promise. Without a Property and a Mechanism it looks for what
// the scenario says must be found in this implementation, and where it says nothing, for any broken promise.
type Hunt struct {
	Scenario       *Scenario
	Implementation string
	Seeds          Seeds
	Transport      Transport
	// Strategies to run the seeds with, in turn by the seed's number; none = those of Scenario.Portfolio.
	Strategies []string
	Workers    Workers
	// Property is the one to see violated, Mechanism the one to be recognised, by name or number.
	Property  checker.Property
	Mechanism string
	// StopEarly ends each run as soon as it shows what the hunt is for, where a checker.Monitor can see that. What is
	// found then has the hash of the part that was run, and the seed has to be run in full to be told. A hunt for a
	// mechanism runs in full in any case.
	StopEarly bool
	// Enough ends the hunt early: once it is closed no further seed is begun.
	Enough <-chan struct{}
	// Progress is told after each seed how many were run; it may be nil.
	Progress func(done, all int)
}

// Catch is what a hunt brings home.
type Catch struct {
	// Row counts the seeds that were run. It is judged as if nothing were expected of the lock.
	Row *Row
	// Found says that Seed broke a promise and that no seed before it did.
	Found    bool
	Seed     uint64
	Strategy string
	// Hash is the hash of that run, which was ended early by Stopped if that is not empty. StopAt is what was to end it.
	Hash    uint64
	Stopped checker.Property
	StopAt  []checker.Property
}

// Run hunts. The seed that it finds is the first one that there is, however many workers look for it.
func (h *Hunt) Run(ctx context.Context) (*Catch, error) {
	if h.Mechanism != "" && !isMechanism(h.Mechanism) {
		return nil, fmt.Errorf("no mechanism is named %q: want a number or a name, such as %s or %s", h.Mechanism,
			mechanism.LoserEnters.Ref, mechanism.LoserEnters.Name)
	}
	if h.Property != "" && !isProperty(string(h.Property)) {
		return nil, fmt.Errorf("no property is named %q: want one of %v", h.Property, checker.Properties())
	}
	if _, err := newRun(Setup{Scenario: h.Scenario, Implementation: h.Implementation, Seed: 1}); err != nil {
		return nil, err // a campaign would pass over a lock that is kept elsewhere
	}
	// A campaign of one row knows how to count and to judge; only its end is another.
	c := Campaign{
		Scenarios: []*Scenario{h.Scenario}, Implementations: []string{h.Implementation}, Seeds: h.Seeds,
		Transport: h.Transport,
	}
	for _, name := range h.Strategies {
		if err := strategy.Check(name); err != nil {
			return nil, err
		}
	}
	rows, err := c.rows()
	if err != nil {
		return nil, err
	}
	rows[0].Stated, rows[0].Expectation = false, Expectation{Faults: rows[0].Expectation.Faults}
	r := &huntRun{hunt: h, campaign: &c, row: newRowRun(0, rows[0]), found: -1}
	err = h.Workers.run(ctx, r.next, r.absorb)
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil, err
	}
	rows[0].Interrupted = err != nil
	return r.catch(), nil
}

// huntRun is a hunt under way.
type huntRun struct {
	hunt     *Hunt
	campaign *Campaign
	row      *rowRun
	answered int
	found    int // place of the first seed known to break a promise, -1 = none
}

// next is the next seed, as long as none before it has been found.
func (r *huntRun) next() (task, bool) {
	if r.found >= 0 || r.row.cursor == len(r.row.results) {
		return task{}, false
	}
	select {
	case <-r.hunt.Enough:
		r.row.row.EndedEarly = true
		return task{}, false
	default:
	}
	r.row.cursor++
	t := r.row.task(r.campaign, r.row.cursor-1)
	t.Strategy, t.StopAt = r.hunt.strategyOf(t.Seed), r.hunt.stopAt()
	return t, true
}

// strategyOf is the strategy with which a seed is run: always the same, whatever other seeds are.
func (h *Hunt) strategyOf(seed uint64) string {
	names := h.Strategies
	if len(names) == 0 {
		names = h.Scenario.Portfolio(h.Implementation)
	}
	return names[(seed+uint64(len(names))-1)%uint64(len(names))]
}

// Portfolio lists the strategies that a hunt uses in turn: the scenario's own first, and the swarm only where there are
// faults to leave out.
func (s *Scenario) Portfolio(implementation string) []string {
	var names []string
	if s.Strategy != "" {
		names = append(names, s.Strategy)
	}
	expectation, _ := s.Expects(implementation)
	for _, name := range strategy.Portfolio() {
		if name != s.Strategy && (name != strategy.Swarm || len(s.templates(expectation)) > 1) {
			names = append(names, name)
		}
	}
	return names
}

// stopAt lists the properties at whose violation a run may end.
func (h *Hunt) stopAt() []checker.Property {
	if !h.StopEarly {
		return nil
	}
	var stop []checker.Property
	for _, p := range checker.Monitored() {
		if slices.ContainsFunc(h.quarries(), func(q quarry) bool { return q.mechanism != "" }) {
			return nil // it takes all of the run to explain what happened
		}
		if slices.ContainsFunc(h.quarries(), func(q quarry) bool { return q.property == "" || q.property.Covers(p) }) {
			stop = append(stop, p)
		}
	}
	return stop
}

// absorb takes in a result. Seeds are begun in order, so that all before the one found are on their way already.
func (r *huntRun) absorb(result seedResult) {
	r.row.results[result.Place] = &result
	r.answered++
	if r.hunt.Progress != nil {
		r.hunt.Progress(r.answered, len(r.row.results))
	}
	shows := func(q quarry) bool { return q.in(&result) }
	if slices.ContainsFunc(r.hunt.quarries(), shows) && (r.found < 0 || result.Place < r.found) {
		r.found = result.Place
	}
}

// quarry is one thing that a hunt is for: a property, a mechanism, or both at once. The zero value is any violation.
type quarry struct {
	property  checker.Property
	mechanism string
}

// Wants names what the hunt is for, as a scenario names it; none = any broken promise.
func (h *Hunt) Wants() []string {
	var names []string
	for _, q := range h.quarries() {
		if name := cmp.Or(q.mechanism, string(q.property)); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// quarries lists what the hunt is for, the most telling first: a mechanism says more than a property.
func (h *Hunt) quarries() []quarry {
	if h.Property != "" || h.Mechanism != "" {
		return []quarry{{h.Property, h.Mechanism}}
	}
	expectation, _ := h.Scenario.Expects(h.Implementation)
	var mechanisms, properties []quarry
	for _, find := range expectation.Find {
		if isMechanism(find.What) {
			mechanisms = append(mechanisms, quarry{mechanism: find.What})
		} else {
			properties = append(properties, quarry{property: checker.Property(find.What)})
		}
	}
	if all := append(mechanisms, properties...); len(all) > 0 {
		return all
	}
	return []quarry{{}}
}

// in tells whether a seed shows the quarry.
func (q quarry) in(result *seedResult) bool {
	if q.mechanism != "" {
		return slices.ContainsFunc(result.Mechanisms, func(m seedMechanism) bool {
			known, _ := mechanism.Named(m.Ref)
			return isNamed(known, q.mechanism) && (q.property == "" || q.property.Covers(m.Property))
		})
	}
	return slices.ContainsFunc(result.Verdicts, func(v seedVerdict) bool {
		return v.Result == checker.Violated && !v.Skipped && (q.property == "" || q.property.Covers(v.Property))
	})
}

func (r *huntRun) catch() *Catch {
	c := &Catch{Row: r.row.row}
	if r.found >= 0 {
		found := r.row.results[r.found]
		c.Found, c.Seed, c.Hash, c.Stopped = true, found.Seed, found.Hash, found.Stopped
		c.Strategy, c.StopAt = r.hunt.strategyOf(found.Seed), r.hunt.stopAt()
		r.row.results = r.row.results[:r.found+1] // what was run beyond it depends on the number of workers
	}
	r.row.tally()
	c.Row.Judgement = judge(c.Row)
	return c
}

// Choose picks the violation of an outcome that the hunt was for. It is false when there is none.
func (h *Hunt) Choose(o *Outcome) (Choice, bool) {
	for _, q := range h.quarries() {
		if choice, ok := o.Choose(q.property, q.mechanism); ok {
			return choice, true
		}
	}
	return Choice{}, false
}

// Choice is the violation of an outcome that is worth telling.
type Choice struct {
	Property  checker.Property
	Violation checker.Violation
	// Finding explains the violation; nil when no known mechanism does.
	Finding *mechanism.Finding
}

// Choose picks a violation: the first that a mechanism explains, or else the first one. A property and a mechanism, if
// not empty, restrict the choice. It is false when nothing of the kind is there.
func (o *Outcome) Choose(property checker.Property, byMechanism string) (Choice, bool) {
	for i := range o.Mechanisms {
		f := &o.Mechanisms[i]
		if (property == "" || property.Covers(f.Property)) && (byMechanism == "" || isNamed(f.Mechanism, byMechanism)) {
			return Choice{f.Property, f.Violation, f}, true
		}
	}
	for _, v := range o.Verdicts {
		if byMechanism != "" || v.Skipped || len(v.Violations) == 0 || property != "" && !property.Covers(v.Property) {
			continue
		}
		return Choice{Property: v.Property, Violation: v.Violations[0]}, true
	}
	return Choice{}, false
}

// ReplayOf is the replay of a run that broke a promise.
func ReplayOf(setup Setup, outcome *Outcome, choice Choice) *Replay {
	r := &Replay{
		Scenario: setup.Scenario.Name, Implementation: setup.Implementation, Transport: setup.Transport, Seed: setup.Seed,
		Strategy: setup.Strategy, Hash: outcome.Hash, Violated: choice.Property, Kind: choice.Violation.Kind,
		Plan: slices.Clone(outcome.Plan), Decisions: outcome.Decisions,
	}
	if r.Transport == "" {
		r.Transport = Direct
	}
	if setup.Scenario.Source != "" {
		r.Scenario = replayScenario
	}
	if choice.Finding != nil {
		r.Mechanism = choice.Finding.Mechanism.Ref
	}
	if r.Plan == nil {
		r.Plan = faults.Plan{}
	}
	return r
}
