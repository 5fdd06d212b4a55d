package scenarios

import (
	"context"
	"fmt"
	"testing"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/scenarios/strategy"
	"github.com/lockstep-sim/lockstep/sim"
)

// Exhaust goes through all schedules of a small scenario, first those without a deviation from the usual one, then
// those with up to one, and so on: what it finds first is found in its shortest form. See strategy.Explorer for what a
// deviation is. Of the scenario's faults, every number of a narrow range is tried, and the least of a range of
// durations.
type Exhaust struct {
	Scenario       *Scenario
	Implementation string
	Transport      Transport
	// Property and Mechanism, if not empty, are what is looked for; otherwise it is any broken promise.
	Property  checker.Property
	Mechanism string
	// Deviations is how many there may be at most.
	Deviations int
	// Most ends the search after so many schedules; 0 = no limit.
	Most int
	// Enough ends the search early: once it is closed no further schedule is begun.
	Enough <-chan struct{}
	// All goes on after the first violation.
	All bool
	// Progress is told after each schedule how many were run, and with how many deviations at most; it may be nil.
	Progress func(runs, deviations int)
}

// exhaustSeed decides what no schedule does: which random tokens a lock makes, and the like.
const exhaustSeed = 1

// Exhausted is what came of it.
type Exhausted struct {
	// Complete says that every schedule with up to Deviations deviations was run, or led to what another led to, and
	// Unbounded that there is none with more.
	Complete, Unbounded bool
	Deviations          int // of the last round that was begun
	// Runs counts the schedules of the last round, and Pruned those among them that were given up because another had led
	// to the same; All counts the schedules of all rounds.
	Runs, Pruned, All int
	// Properties counts the verdicts of the last round.
	Properties []PropertyTally
	// Found is the first run that broke a promise; FoundIn is its setup, with its plan and decisions fixed.
	Found   *Outcome
	FoundIn Setup
}

// Run goes through the schedules until all are run, a promise is broken, or ctx ends. An error says that the scenario
// cannot be run, or that one of its runs could not be finished.
func (x *Exhaust) Run(ctx context.Context, t *testing.T) (*Exhausted, error) {
	result := &Exhausted{}
	for bound := 0; bound <= x.Deviations; bound++ {
		result.Complete, result.Deviations, result.Properties = false, bound, nil
		for _, p := range checker.Properties() {
			result.Properties = append(result.Properties, PropertyTally{Property: p})
		}
		e := strategy.NewExplorer(bound)
		more, err := x.round(ctx, t, e, result)
		if err != nil || !more {
			return result, err
		}
		if result.Complete, result.Unbounded = true, !e.Cut; result.Unbounded {
			break
		}
	}
	return result, nil
}

// round runs the schedules of one explorer. It is false when no further round is to be begun.
func (x *Exhaust) round(ctx context.Context, t *testing.T, e *strategy.Explorer, result *Exhausted) (bool, error) {
	for e.Next() {
		setup := Setup{
			Scenario: x.Scenario, Implementation: x.Implementation, Seed: exhaustSeed, Transport: x.Transport,
			Trace: sim.HashOnly, explorer: e,
		}
		outcome, err := Run(t, setup)
		if err == nil {
			err = outcome.Err
		}
		if err != nil {
			return false, fmt.Errorf("schedule %d with up to %d deviations: %w", e.Runs, result.Deviations, err)
		}
		result.All++
		result.Runs, result.Pruned = e.Runs, e.Pruned
		if x.Progress != nil {
			x.Progress(result.All, result.Deviations)
		}
		if x.count(result, setup, outcome) && !x.All || x.Most > 0 && result.All >= x.Most || x.ended(ctx) {
			return false, nil
		}
	}
	return true, nil
}

// ended tells whether no further schedule is to be begun.
func (x *Exhaust) ended(ctx context.Context) bool {
	select {
	case <-x.Enough:
		return true
	default:
		return ctx.Err() != nil
	}
}

// Conclusion is what is to be said of the lock: that it is as expected only if some schedule put it to the test.
func (r *Exhausted) Conclusion() Conclusion {
	conclusion := Inconclusive
	for _, p := range r.Properties {
		switch {
		case p.Violated > 0:
			return Violation
		case p.Holds > 0:
			conclusion = AsExpected
		}
	}
	return conclusion
}

// count takes in a run and tells whether it broke a promise.
func (x *Exhaust) count(result *Exhausted, setup Setup, outcome *Outcome) bool {
	for i, v := range outcome.Verdicts {
		result.Properties[i].count(First{setup.Seed, result.Runs}, seedVerdict{v.Property, v.Result, v.Skipped, v.GaveUp})
	}
	_, broken := outcome.Choose(x.Property, x.Mechanism)
	if broken && result.Found == nil {
		setup.explorer, setup.Plan, setup.FixedPlan = nil, outcome.Plan, true
		setup.Decisions = append([]strategy.Decision{}, outcome.Decisions...)
		result.Found, result.FoundIn = outcome, setup
	}
	return broken
}
