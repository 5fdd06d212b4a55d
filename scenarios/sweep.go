package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/measure"
	"github.com/lockstep-sim/lockstep/sim"
)

// Quantity is what a Sweep can vary of a scenario.
type Quantity string

// The quantities. Further clients do what the last one of the scenario does.
const (
	VaryClients Quantity = "clients"
	VaryLease   Quantity = "lease"
	VaryLatency Quantity = "latency" // how long one message travels: a duration or a range
)

// Variation is a scenario with one quantity set to something else.
type Variation struct {
	Quantity Quantity `json:"quantity"`
	Value    string   `json:"value"` // as a scenario has it
}

// ParseVariations reads a quantity with its values, such as "clients=2,4,8", "lease=1s,10s" or "latency=1ms,2ms..5ms".
// They come back in rising order.
func ParseVariations(text string) ([]Variation, error) {
	quantity, list, ok := strings.Cut(text, "=")
	if !ok {
		return nil, fmt.Errorf("%q: want a quantity and its values, such as clients=2,4,8", text)
	}
	var all []Variation
	for word := range strings.SplitSeq(list, ",") {
		v := Variation{Quantity(strings.TrimSpace(quantity)), strings.TrimSpace(word)}
		if _, err := v.apply(&Scenario{Programs: map[string]Program{}}); err != nil {
			return nil, err
		}
		if slices.Contains(all, v) {
			return nil, fmt.Errorf("%s: %s is named twice", v.Quantity, v.Value)
		}
		all = append(all, v)
	}
	slices.SortStableFunc(all, func(a, b Variation) int { return int(min(max(a.Number()-b.Number(), -1), 1)) })
	return all, nil
}

// String renders the variation as "clients=4".
func (v Variation) String() string { return string(v.Quantity) + "=" + v.Value }

// Number is the value as a number of clients or of nanoseconds; of a range, its middle. It is for axes and for order.
func (v Variation) Number() int64 {
	if v.Quantity == VaryClients {
		n, _ := strconv.ParseInt(v.Value, 10, 64)
		return n
	}
	r, _ := parseRange(v.Value)
	return int64(r.Min+r.Max) / 2
}

// apply is the scenario varied. A grace of two leases, which a scenario has when it does not say, stays that.
func (v Variation) apply(s *Scenario) (*Scenario, error) {
	varied := *s
	switch v.Quantity {
	case VaryClients:
		n, err := strconv.Atoi(v.Value)
		if err != nil || n < 1 || n > MostHerd {
			return nil, fmt.Errorf("clients=%s: want numbers from 1 to %d", v.Value, MostHerd)
		}
		return s.withClients(n), nil
	case VaryLease:
		lease, err := parseSpan(v.Value)
		if err != nil || lease == 0 {
			return nil, fmt.Errorf("lease=%s: want durations above zero, such as 500ms", v.Value)
		}
		if varied.Lease = lease; s.Grace == 2*s.Lease {
			varied.Grace = 2 * lease
		}
	case VaryLatency:
		latency, err := parseRange(v.Value)
		if err != nil || latency.Max == 0 {
			return nil, fmt.Errorf("latency=%s: want durations or ranges above zero, such as 1ms or 1ms..3ms", v.Value)
		}
		varied.Latency = latency
	default:
		return nil, fmt.Errorf("%q cannot be varied: want %s, %s or %s", v.Quantity, VaryClients, VaryLease, VaryLatency)
	}
	return &varied, nil
}

// Sweep runs a scenario with several implementations while one quantity is varied, many seeds each, and measures every
// run. What comes out does not depend on how many workers there are.
type Sweep struct {
	Scenario        *Scenario
	Implementations []string
	Variations      []Variation
	Seeds           Seeds
	Transport       Transport
	Workers         Workers
	// Enough ends the sweep early: once it is closed no further seed is begun.
	Enough <-chan struct{}
	// Progress is told how many runs of all are done; it may be nil.
	Progress func(done, all int)
}

// SweepRun is what came of one run of a sweep.
type SweepRun struct {
	Implementation string
	Knobs          string // other than the implementation's own
	Variation      Variation
	Clients        int
	Lease          time.Duration
	Latency        sim.Range
	Seed           uint64
	// Result is the worst verdict on what the lock promises; empty where the run failed, and Error says why.
	Result  checker.Result
	Error   string
	Summary *measure.Summary // nil where the run failed
}

// Run runs the sweep. The runs come by implementation, by variation and by seed. Those that had not begun before
// ctx ended, or Enough was closed, are left out. An error says that it could not be run at all.
func (s *Sweep) Run(ctx context.Context) ([]SweepRun, error) {
	r := &sweepRun{sweep: s}
	if err := r.plan(); err != nil {
		return nil, err
	}
	err := s.Workers.run(ctx, r.next, r.absorb)
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil, err
	}
	var ran []SweepRun
	for i := range r.runs {
		if r.answered[i] {
			ran = append(ran, r.runs[i])
		}
	}
	return ran, nil
}

// sweepRun is a sweep under way.
type sweepRun struct {
	sweep    *Sweep
	source   *source
	runs     []SweepRun
	answered []bool
	rows     []int // of each run: its implementation and variation
	cursor   int
	done     int
}

// plan lists the runs and checks that each can be set up.
func (r *sweepRun) plan() error {
	s := r.sweep
	r.source = &source{s.Scenario.Source, string(s.Scenario.Text)}
	if r.source.Name == "" {
		r.source.Name = s.Scenario.Name
	}
	row := 0
	for _, implementation := range s.Implementations {
		expectation, _ := s.Scenario.Expects(implementation)
		for _, v := range s.Variations {
			varied, err := v.apply(s.Scenario)
			if err != nil {
				return err
			}
			for i := range s.Seeds.Len() {
				seed := s.Seeds.At(i)
				setup := Setup{Scenario: varied, Implementation: implementation, Seed: seed, Transport: s.Transport}
				if _, err := newRun(setup); i == 0 && err != nil {
					return fmt.Errorf("%s: %w", v, err)
				}
				r.runs = append(r.runs, SweepRun{
					Implementation: implementation, Knobs: knobsText(expectation.Knobs), Variation: v, Clients: varied.Clients,
					Lease: varied.Lease, Latency: varied.Latency, Seed: seed,
				})
				r.rows = append(r.rows, row)
			}
			row++
		}
	}
	r.answered = make([]bool, len(r.runs))
	return nil
}

func (r *sweepRun) next() (task, bool) {
	select {
	case <-r.sweep.Enough:
		return task{}, false
	default:
	}
	if r.cursor == len(r.runs) {
		return task{}, false
	}
	run := &r.runs[r.cursor]
	t := task{
		Row: r.rows[r.cursor], Place: r.cursor, Scenario: r.source, Variation: &run.Variation,
		Implementation: run.Implementation, Transport: r.sweep.Transport, Seed: run.Seed,
	}
	r.cursor++
	return t, true
}

func (r *sweepRun) absorb(result seedResult) {
	run := &r.runs[result.Place]
	run.Error, run.Summary = result.Error, result.Summary
	if run.Error == "" && run.Summary == nil {
		run.Error = "the run was not measured"
	}
	if run.Error == "" {
		run.Result = worst(result.Verdicts)
	}
	r.answered[result.Place] = true
	r.done++
	if r.sweep.Progress != nil {
		r.sweep.Progress(r.done, len(r.runs))
	}
}

// worst is what the verdicts on all that was promised come to. A property that a run did not put to the test says
// nothing, as long as another was.
func worst(verdicts []seedVerdict) checker.Result {
	var results []checker.Result
	for _, v := range verdicts {
		if !v.Skipped && (v.Result != checker.Unknown || v.GaveUp) {
			results = append(results, v.Result)
		}
	}
	return checker.Merge(results...)
}

// summarise measures a run. Requests of ZooKeeper are in its history, those of Redis are not.
func summarise(outcome *Outcome) (*measure.Summary, error) {
	run, err := measure.Of(&outcome.History)
	if err != nil {
		return nil, err
	}
	run.Requests = append(run.Requests, outcome.Requests...)
	return run.Summary(), nil
}
