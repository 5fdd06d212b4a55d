package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/scenarios/strategy"
)

// Envelope looks for the size of a fault at which a lock breaks. Where more of it is worse, there is one bound: all
// below it holds, all above it breaks. Bisect finds that bound and looks whether there is only one; Grid shows how two
// magnitudes meet.
type Envelope struct {
	Scenario       *Scenario
	Implementation string
	// Seeds are run at each value, up to the first that breaks.
	Seeds     Seeds
	Transport Transport
	Workers   Workers
	// Property is the one that must hold; "" = mutual exclusion.
	Property checker.Property
	// Progress is told how many values were tried of about how many; it may be nil.
	Progress func(done, all int)
}

// Axis is a magnitude and the values between which it is varied.
type Axis struct {
	Magnitude *Magnitude
	From, To  int64
	// Step is how near the two sides of a bound come to each other (Bisect), which tries From and whole steps above it;
	// 0 = a round number, at most a ten-thousandth of the span.
	Step int64
	// Points is how many values a Grid tries, From and To included.
	Points int
}

// check reports an axis that is none.
func (a *Axis) check() error {
	if a.To <= a.From {
		return fmt.Errorf("vary %q: it must end above %s, where it begins", a.Magnitude, a.Magnitude.ValueText(a.From))
	}
	if a.Step < 0 {
		return fmt.Errorf("vary %q: the step %s is below zero", a.Magnitude, a.Magnitude.ValueText(a.Step))
	}
	return nil
}

// step is how near a bisection goes.
func (a *Axis) step() int64 {
	if a.Step > 0 {
		return a.Step
	}
	const parts = 10_000
	steps := series(1, max((a.To-a.From)/parts, 1))
	return steps[len(steps)-1]
}

// value is the i-th of the points.
func (a *Axis) value(i int) int64 {
	return a.From + (a.To-a.From)/int64(a.Points-1)*int64(i) + (a.To-a.From)%int64(a.Points-1)*int64(i)/int64(a.Points-1)
}

// Probe is what came of one value.
type Probe struct {
	Value int64
	// Scenario is the scenario with that value.
	Scenario *Scenario
	Ran      int
	Broke    bool
	Seed     uint64 // the first that broke, or where none did the first that was run
}

// Bound is what a bisection found.
type Bound struct {
	// Held is the largest value at which every seed held and below which no value that was tried broke, Broke the
	// smallest value at which a seed broke. Either is nil when there is none between From and To.
	Held, Broke *Probe
	// Probes are all values that were tried, rising.
	Probes []*Probe
	// Against lists values that held above one that broke: then there is more than one bound, or the seeds are too few.
	Against []*Probe
}

// checks is how many more values on each side of a bound are tried, to see whether it is the only one.
const checks = 4

// Bisect looks for the smallest value that breaks the property.
func (e *Envelope) Bisect(ctx context.Context, axis Axis) (*Bound, error) {
	if err := errors.Join(e.check(), axis.check()); err != nil {
		return nil, err
	}
	b := &bisection{envelope: e, axis: axis, step: axis.step()}
	b.last = (axis.To - axis.From + b.step - 1) / b.step
	for span := b.last; span > 0; span /= 2 {
		b.all++
	}
	b.all += 2 + 2*checks
	if err := b.run(ctx); err != nil {
		return nil, err
	}
	return b.bound(), nil
}

// bisection is one under way. It counts values in steps.
type bisection struct {
	envelope *Envelope
	axis     Axis
	step     int64
	last     int64 // how many steps it is from the first value to the last
	probes   []*Probe
	all      int
}

// value is what so many steps come to.
func (b *bisection) value(steps int64) int64 { return min(b.axis.From+steps*b.step, b.axis.To) }

// steps counts the steps up to a value.
func (b *bisection) steps(p *Probe) int64 { return (p.Value - b.axis.From + b.step - 1) / b.step }

func (b *bisection) run(ctx context.Context) error {
	for _, steps := range []int64{0, b.last} {
		if _, err := b.probe(ctx, steps); err != nil {
			return err
		}
	}
	if err := b.narrow(ctx); err != nil {
		return err
	}
	// A bisection believes that there is one bound. Look on both sides of it, and where a value says otherwise, narrow the
	// lowest bound there is.
	from, to := int64(0), b.last
	if bound := b.bound(); bound.Held != nil && bound.Broke != nil {
		if err := b.between(ctx, b.steps(bound.Broke), b.last); err != nil {
			return err
		}
		to = b.steps(bound.Held)
	}
	if err := b.between(ctx, from, to); err != nil {
		return err
	}
	return b.narrow(ctx)
}

// narrow halves the span between the largest value that held and the smallest that broke, as long as one lies between.
func (b *bisection) narrow(ctx context.Context) error {
	for {
		bound := b.bound()
		if bound.Held == nil || bound.Broke == nil {
			return nil
		}
		low, high := b.steps(bound.Held), b.steps(bound.Broke)
		if high-low <= 1 {
			return nil
		}
		if _, err := b.probe(ctx, low+(high-low)/2); err != nil {
			return err
		}
	}
}

// between tries some values that part a span evenly.
func (b *bisection) between(ctx context.Context, low, high int64) error {
	for i := int64(1); i <= checks; i++ {
		if _, err := b.probe(ctx, low+(high-low)*i/(checks+1)); err != nil {
			return err
		}
	}
	return nil
}

// probe tries one value, once.
func (b *bisection) probe(ctx context.Context, steps int64) (*Probe, error) {
	value := b.value(steps)
	i, known := slices.BinarySearchFunc(b.probes, value, func(p *Probe, v int64) int { return cmp.Compare(p.Value, v) })
	if known {
		return b.probes[i], nil
	}
	s := b.envelope.Scenario.alone(b.envelope.Implementation)
	if err := b.axis.Magnitude.apply(s, value); err != nil {
		return nil, err
	}
	p, err := b.envelope.try(ctx, s)
	if err != nil {
		return nil, err
	}
	p.Value = value
	b.probes = slices.Insert(b.probes, i, p)
	if b.envelope.Progress != nil {
		b.envelope.Progress(len(b.probes), max(b.all, len(b.probes)))
	}
	return p, nil
}

// bound reads the bound off the probes.
func (b *bisection) bound() *Bound {
	bound := &Bound{Probes: b.probes}
	for _, p := range b.probes {
		switch {
		case p.Broke && bound.Broke == nil:
			bound.Broke = p
		case !p.Broke && bound.Broke == nil:
			bound.Held = p
		case !p.Broke:
			bound.Against = append(bound.Against, p)
		}
	}
	return bound
}

func (e *Envelope) property() checker.Property {
	if e.Property == "" {
		return checker.MutualExclusion
	}
	return e.Property
}

// check reports a search that cannot be made.
func (e *Envelope) check() error {
	if !isProperty(string(e.property())) {
		return fmt.Errorf("no property is named %q: want one of %v", e.Property, checker.Properties())
	}
	_, err := newRun(Setup{Scenario: e.Scenario, Implementation: e.Implementation, Seed: 1})
	return err
}

// Strategy is what the seeds are run with: the scenario's own, as in a campaign.
func (e *Envelope) Strategy() string {
	if e.Scenario.Strategy == "" {
		return strategy.Uniform
	}
	return e.Scenario.Strategy
}

// try runs the seeds until one breaks the property.
func (e *Envelope) try(ctx context.Context, s *Scenario) (*Probe, error) {
	s.asFile()
	hunt := Hunt{
		Scenario: s, Implementation: e.Implementation, Seeds: e.Seeds, Transport: e.Transport, Workers: e.Workers,
		Property: e.property(), Strategies: []string{e.Strategy()},
	}
	catch, err := hunt.Run(ctx)
	if err != nil {
		return nil, err
	}
	if catch.Row.Interrupted {
		return nil, errInterrupted
	}
	if err := unfinished(catch.Row); err != nil {
		return nil, err
	}
	p := &Probe{Scenario: s, Ran: catch.Row.Ran, Broke: catch.Found, Seed: e.Seeds.At(0)}
	if catch.Found {
		p.Seed = catch.Seed
	}
	return p, nil
}

// errInterrupted ends an envelope search early.
var errInterrupted = errors.New("interrupted; nothing is written")

// unfinished reports a run without a result: there is nothing to say of its value then.
func unfinished(row *Row) error {
	if len(row.Failures) == 0 {
		return nil
	}
	first := row.Failures[0]
	return fmt.Errorf("scenario %s with %s, seed %d could not be finished: %s", row.Scenario.Name, row.Implementation,
		first.Seed, first.Text)
}

// Cell is what came of one pair of values.
type Cell struct {
	X, Y     int64
	Scenario *Scenario
	Ran      int
	Violated int    // seeds that broke the property
	Untested int    // seeds that did not put it to the test
	Seed     uint64 // the first that broke it; 0 = none did
}

// Grid runs all seeds for each pair of values, and counts. Cells come row by row, the first axis running faster.
func (e *Envelope) Grid(ctx context.Context, x, y Axis) ([]Cell, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	var cells []Cell
	campaign := &Campaign{
		Implementations: []string{e.Implementation}, Seeds: e.Seeds, Transport: e.Transport, Workers: e.Workers,
	}
	for _, axis := range []*Axis{&x, &y} {
		if err := axis.check(); err != nil {
			return nil, err
		}
		if axis.Points < 2 {
			return nil, fmt.Errorf("vary %q: a grid wants at least 2 values of it", axis.Magnitude)
		}
	}
	if x.Magnitude.same(y.Magnitude) {
		return nil, fmt.Errorf("vary %q and %q: they are the same number; want two that differ", x.Magnitude, y.Magnitude)
	}
	for j := range y.Points {
		for i := range x.Points {
			cell := Cell{X: x.value(i), Y: y.value(j), Scenario: e.Scenario.alone(e.Implementation)}
			if err := x.Magnitude.apply(cell.Scenario, cell.X); err != nil {
				return nil, err
			}
			if err := y.Magnitude.apply(cell.Scenario, cell.Y); err != nil {
				return nil, err
			}
			cell.Scenario.asFile()
			cells = append(cells, cell)
			campaign.Scenarios = append(campaign.Scenarios, cell.Scenario)
		}
	}
	if e.Progress != nil {
		campaign.Progress = func(p Progress) { e.Progress(p.Done, p.All) }
	}
	rows, err := campaign.Run(ctx)
	if err != nil {
		return nil, err
	}
	for i, row := range rows {
		if err := e.count(&cells[i], row); err != nil {
			return nil, err
		}
	}
	return cells, nil
}

// count takes over what a row has counted.
func (e *Envelope) count(cell *Cell, row *Row) error {
	if row.Interrupted {
		return errInterrupted
	}
	if err := unfinished(row); err != nil {
		return err
	}
	for _, p := range row.Properties {
		if p.Property == e.property() {
			cell.Ran, cell.Violated, cell.Untested = row.Ran, p.Violated, p.Unknown
			cell.Seed = p.FirstViolated.Seed
		}
	}
	return nil
}
