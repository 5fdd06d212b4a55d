package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/faults"
	"github.com/lockstep-sim/lockstep/scenarios/strategy"
	"github.com/lockstep-sim/lockstep/sim"
)

// Shrink makes a run that broke a promise small: fewer faults, clients, operations and decisions, then smaller and
// rounder numbers, and every message as long on its way as any other. What is left breaks the same property in the same
// way, and is the least that this search finds: nothing of it can be left out by itself.
//
// The result has a scenario of its own, in which everything that was changed can be read.
type Shrink struct {
	// Setup is the run. Its plan and decisions must be there: Replay.Load makes such a setup.
	Setup Setup
	// Property, Kind and Mechanism are what must still be seen; an empty Kind or Mechanism leaves that open.
	Property  checker.Property
	Kind      string
	Mechanism string
	// Runs is the most runs to try; 0 = as many as it takes.
	Runs int
	// Enough ends the search early: once it is closed no further run is tried.
	Enough <-chan struct{}
	// Progress is told after each run; it may be nil.
	Progress func(ShrinkProgress)
}

// ShrinkProgress tells how far a Shrink has come.
type ShrinkProgress struct {
	Runs int
	Size Size
}

// Size is how large a run is, as far as a reader has to follow it.
type Size struct {
	Clients    int // those that do something
	Operations int // calls of the lock and writes to the resource
	Faults     int
	Decisions  int
}

// String renders the size in one line.
func (s Size) String() string {
	text := fmt.Sprintf("%s, %s, %s", many(s.Clients, "client"), many(s.Operations, "operation"), many(s.Faults, "fault"))
	if s.Decisions > 0 {
		text += ", " + many(s.Decisions, "decision")
	}
	return text
}

func many(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Shrunk is what a Shrink has come to.
type Shrunk struct {
	// Setup is the small run. Its scenario is a file of its own.
	Setup         Setup
	Outcome       *Outcome
	Choice        Choice
	Before, After Size
	Runs          int
	// Complete says that nothing is left to try; otherwise the search was ended.
	Complete bool
}

// ErrNotRepeated says that a run did not show its violation when it was run again, so there is nothing to shrink.
var ErrNotRepeated = errors.New("the violation does not show when it is run again")

// target is the violation to keep.
type target struct {
	property  checker.Property
	kind      string        // "" = any
	mechanism string        // "" = any or none
	lasting   time.Duration // how long the violation lasts at least
}

// find picks the violation that a target means.
func (o *Outcome) find(wanted target) (Choice, bool) {
	fits := func(p checker.Property, v checker.Violation) bool {
		return (wanted.property == "" || wanted.property.Covers(p)) && (wanted.kind == "" || v.Kind == wanted.kind) &&
			v.To-v.From >= wanted.lasting
	}
	for i := range o.Mechanisms {
		f := &o.Mechanisms[i]
		if fits(f.Property, f.Violation) && (wanted.mechanism == "" || isNamed(f.Mechanism, wanted.mechanism)) {
			return Choice{f.Property, f.Violation, f}, true
		}
	}
	if wanted.mechanism != "" {
		return Choice{}, false
	}
	for _, verdict := range o.Verdicts {
		if verdict.Skipped || verdict.Result != checker.Violated {
			continue
		}
		for _, violation := range verdict.Violations {
			if fits(verdict.Property, violation) {
				return Choice{Property: verdict.Property, Violation: violation}, true
			}
		}
	}
	return Choice{}, false
}

// Run shrinks. t is what Run wants. ErrNotRepeated says that the violation does not show to begin with.
func (s *Shrink) Run(t *testing.T) (*Shrunk, error) {
	r := &shrinking{
		Shrink: s, t: t, target: target{property: s.Property, kind: s.Kind, mechanism: s.Mechanism}, tried: map[string]bool{},
		limit: s.Runs,
	}
	if !s.Setup.FixedPlan {
		return nil, errors.New("a run is shrunk by its plan, and it has none: take the setup of a replay file")
	}
	first := newCandidate(s.Setup)
	r.best = first
	r.tried[first.key()] = true
	if err := r.begin(first); err != nil {
		return nil, err
	}
	before := r.size
	r.search()
	return r.result(before)
}

// leastLasting is how long a violation still lasts when it has been shrunk, if it lasted so long before: one that lasts
// for no time that a reader can see is hard to believe.
const leastLasting = 5 * time.Millisecond

// shrinking is a Shrink under way.
type shrinking struct {
	*Shrink
	t      *testing.T
	target target
	best   *candidate // the smallest that shows the target
	size   Size       // of best
	tried  map[string]bool
	runs   int
	limit  int  // the most runs to try, 0 = none
	over   bool // the budget is spent
}

// begin makes sure that the run can be repeated, in the form in which it is going to be changed.
func (r *shrinking) begin(first *candidate) error {
	r.runs++
	outcome, err := Run(r.t, first.setup())
	if err != nil {
		return err
	}
	if outcome.Err != nil {
		return outcome.Err
	}
	choice, shows := outcome.find(r.target)
	if !shows {
		return ErrNotRepeated
	}
	r.target.lasting = min(choice.Violation.To-choice.Violation.From, leastLasting)
	r.size = first.size(outcome)
	return nil
}

// enough tells whether no further run may be tried.
func (r *shrinking) enough() bool {
	select {
	case <-r.Enough:
		r.over = true
	default:
	}
	r.over = r.over || r.limit > 0 && r.runs >= r.limit
	return r.over
}

// try runs a candidate and takes it over if it shows the target. A candidate that was tried before is not run again.
func (r *shrinking) try(c *candidate) bool {
	if c == nil || r.enough() {
		return false
	}
	key := c.key()
	if r.tried[key] {
		return false
	}
	r.tried[key] = true
	outcome := r.run(c)
	if outcome == nil {
		return false
	}
	if _, shows := outcome.find(r.target); !shows {
		return false
	}
	r.best, r.size = c, c.size(outcome)
	return true
}

// run runs a candidate; nil when it does not make a run.
func (r *shrinking) run(c *candidate) *Outcome {
	r.runs++
	outcome, err := Run(r.t, c.setup())
	if r.Progress != nil {
		r.Progress(ShrinkProgress{r.runs, r.size})
	}
	if err != nil || outcome.Err != nil || len(outcome.Leaks) > 0 {
		return nil
	}
	return outcome
}

// otherSeeds is how many other seeds are tried with what is left out: as long as much is drawn, leaving something out
// changes what is drawn for the rest.
const otherSeeds = 3

// tryAny tries a candidate with its seed and with some others.
func (r *shrinking) tryAny(c *candidate) bool {
	if c == nil {
		return false
	}
	if r.try(c) {
		return true
	}
	for seed := uint64(1); seed <= otherSeeds && !c.settled(); seed++ {
		other := c.clone()
		other.seed = seed
		if r.try(other) {
			return true
		}
	}
	return false
}

// search applies every pass until none of them finds anything more.
func (r *shrinking) search() {
	r.repeat(r.dropFaults, r.dropClients, r.dropRounds, r.dropSteps)
	r.settle()
	r.repeat(
		r.dropFaults, r.dropClients, r.dropRounds, r.unroll, r.dropSteps, r.dropTriggers, r.dropDecisions, r.plain,
	)
	r.repeat(r.dropFaults, r.dropSteps, r.dropDecisions, r.roundNumbers, r.renumber, r.plain)
}

// repeat applies passes until a round of them changes nothing.
func (r *shrinking) repeat(passes ...func()) {
	for before := (*candidate)(nil); before != r.best && !r.over; {
		before = r.best
		for _, pass := range passes {
			pass()
		}
	}
}

// result runs the smallest candidate once more, as the file that it is going to be.
func (r *shrinking) result(before Size) (*Shrunk, error) {
	setup := r.best.setup()
	setup.Scenario = r.best.file()
	setup.Trace = sim.Full
	outcome, err := Run(r.t, setup)
	if err != nil {
		return nil, err
	}
	choice, shows := outcome.find(r.target)
	if outcome.Err != nil || !shows {
		return nil, fmt.Errorf("the shrunk run does not show the violation once it is a file: %w",
			errors.Join(outcome.Err, ErrNotRepeated))
	}
	r.expect(setup.Scenario, outcome)
	return &Shrunk{
		Setup: setup, Outcome: outcome, Choice: choice, Before: before, After: r.best.size(outcome), Runs: r.runs,
		Complete: !r.over,
	}, nil
}

// seedsOfExpectation is how far a seed may be for the scenario of a shrunk run to state that it must be found.
const seedsOfExpectation = 100

// expect writes into the scenario of a shrunk run what it must show, so that it is a scenario like any other: the
// violation within the seed at which it was found, and whatever else is violated up to there. A run that depends on
// decisions states nothing: without them it is another one.
func (r *shrinking) expect(s *Scenario, outcome *Outcome) {
	if len(r.best.decisions) > 0 || r.best.seed > seedsOfExpectation {
		return
	}
	what := string(r.target.property)
	if r.target.mechanism != "" {
		what = r.target.mechanism
	}
	e := &s.Implementations[0]
	e.Find = []MustFind{{what, max(int(r.best.seed), 1)}}
	setup := r.best.setup()
	setup.Scenario = s
	for seed := uint64(1); seed <= uint64(DefaultSeeds(*e).Len()); seed++ {
		setup.Seed = seed
		if seed != r.best.seed {
			if outcome = r.run(&candidate{base: setup, scenario: s, plan: r.best.plan, seed: seed}); outcome == nil {
				continue
			}
		}
		for _, verdict := range outcome.Verdicts {
			if verdict.Result == checker.Violated && !verdict.Skipped && !slices.Contains(e.Allow, verdict.Property) {
				e.Allow = append(e.Allow, verdict.Property)
			}
		}
	}
	slices.Sort(e.Allow)
	s.asFile()
}

// candidate is a run that may show the target. It is never changed once it was tried.
type candidate struct {
	base      Setup // what stays as it is
	scenario  *Scenario
	plan      faults.Plan
	decisions []strategy.Decision // nil = no schedule is followed
	seed      uint64
}

func newCandidate(setup Setup) *candidate {
	s := setup.Scenario.alone(setup.Implementation)
	s.Strategy, s.Swarm = "", nil // the plan and the decisions say what they have done
	s.Programs = map[string]Program{}
	for name, p := range setup.Scenario.Programs { // order-free: a map is copied
		s.Programs[name] = p
	}
	return &candidate{base: setup, scenario: s, plan: setup.Plan, decisions: setup.Decisions, seed: setup.Seed}
}

// clone makes a candidate to be changed. Programs are replaced as a whole, never written into.
func (c *candidate) clone() *candidate {
	d := *c
	s := *c.scenario
	s.Programs = map[string]Program{}
	for name, p := range c.scenario.Programs { // order-free: a map is copied
		s.Programs[name] = p
	}
	d.scenario, d.plan, d.decisions = &s, slices.Clone(c.plan), slices.Clone(c.decisions)
	return &d
}

// setup is the run that the candidate stands for.
func (c *candidate) setup() Setup {
	setup := c.base
	setup.Scenario, setup.Plan, setup.FixedPlan, setup.Seed = c.scenario, c.plan, true, c.seed
	setup.Decisions, setup.Trace, setup.Strategy = c.decisions, sim.HashOnly, ""
	return setup
}

// file is the candidate's scenario as a file: its faults are those of the plan, as far as they are fixed text.
func (c *candidate) file() *Scenario {
	s := *c.scenario
	const suffix, longest = "-shrunk", 64
	origin := strings.TrimSuffix(s.Name, suffix)
	if len(origin)+len(suffix) <= longest {
		s.Name = origin + suffix
	}
	s.About = fmt.Sprintf("A run of %s, made as small as it goes.", origin)
	s.Faults = nil
	for _, fault := range c.plan {
		s.Faults = append(s.Faults, faults.Fixed(fault))
	}
	s.asFile()
	return &s
}

// key tells candidates apart.
func (c *candidate) key() string {
	var b strings.Builder
	b.Write(c.scenario.YAML())
	b.WriteString(c.plan.String())
	for _, d := range c.decisions {
		b.WriteString(d.String() + "\n")
	}
	fmt.Fprint(&b, c.decisions != nil, c.seed)
	return b.String()
}

// size measures what came of the candidate.
func (c *candidate) size(o *Outcome) Size {
	size := Size{Faults: len(c.plan), Decisions: len(c.decisions)}
	busy := map[string]bool{}
	for _, e := range o.History.Events {
		if e.Type == checker.Invoke {
			size.Operations++
			busy[e.Node] = true
		}
	}
	size.Clients = len(busy)
	return size
}

// settled says that next to nothing is left to the seed: every message and every span takes one time.
func (c *candidate) settled() bool {
	if c.scenario.Latency.Min != c.scenario.Latency.Max {
		return false
	}
	for _, p := range c.scenario.Programs { // order-free: it is asked whether all are
		for _, step := range p.Steps {
			if step.For.Min != step.For.Max || step.Levels[0] != step.Levels[1] {
				return false
			}
		}
	}
	return true
}
