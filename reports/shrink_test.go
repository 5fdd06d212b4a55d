package reports

import (
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/scenarios"
)

var shrinkAll = flag.Bool("shrink.all", false, "shrink everything that the library must find, and print the table")

// shrinkEvery is the share of the library's finds that is shrunk by default: one in so many, so that the sample is
// spread over all kinds of locks and faults.
const shrinkEvery = 12

// shrinkRuns stands for the ten seconds that a hunt gives the shrinking: in so many runs it has to come to its end.
const shrinkRuns = 1000

// TestShrunkRunsAreSmall shrinks what must be found and measures what a reader has to follow: at the median at most 3
// faults, 10 operations of clients and 12 steps of the story, those included that the story leaves out. How long it
// may take is counted in runs. With -shrink.all it takes the whole library.
func TestShrunkRunsAreSmall(t *testing.T) {
	var faults, operations, steps []int
	var times []time.Duration
	number := 0
	for _, s := range scenarios.Library() {
		for _, e := range s.Implementations {
			for _, find := range e.Find {
				if number++; !*shrinkAll && number%shrinkEvery != 0 {
					continue
				}
				shrunk, took := shrink(t, s, e.Implementation, find)
				if shrunk == nil {
					continue
				}
				c := shrunk.Choice
				story := Tell(&shrunk.Outcome.History, c.Property, c.Violation, c.Finding)
				t.Logf("%-20s %-42s %-16s %4d runs %5.2fs, %2d steps and %d left out, %v, was %v", s.Name, e.Implementation,
					find.What, shrunk.Runs, took.Seconds(), len(story.Steps), story.Omitted, shrunk.After, shrunk.Before)
				if !*shrinkAll && (!shrunk.Complete || shrunk.Runs > shrinkRuns) {
					t.Errorf("%s, %s: %s: the shrinking took %d runs, want at most %d", s.Name, e.Implementation, find.What,
						shrunk.Runs, shrinkRuns)
				}
				faults, operations = append(faults, shrunk.After.Faults), append(operations, shrunk.After.Operations)
				steps, times = append(steps, len(story.Steps)+story.Omitted), append(times, took)
			}
		}
	}
	for _, n := range [][]int{faults, operations, steps} {
		slices.Sort(n)
	}
	slices.Sort(times)
	if len(faults) == 0 {
		t.Fatal("nothing was shrunk")
	}
	middle, last := len(faults)/2, len(faults)-1
	t.Logf("%d runs: faults %d at the median, %d at most; operations %d, %d; steps %d, %d; time %v, %v", len(faults),
		faults[middle], faults[last], operations[middle], operations[last], steps[middle], steps[last], times[middle],
		times[last])
	if faults[middle] > 3 || operations[middle] > 10 || steps[middle] > 12 {
		t.Errorf("medians of %d faults, %d operations and %d steps, want at most 3, 10 and 12", faults[middle],
			operations[middle], steps[middle])
	}
}

// shrink finds the first seed that shows a must-find, and shrinks it, which takes so long; nil when there is none.
func shrink(
	t *testing.T, s *scenarios.Scenario, implementation string, find scenarios.MustFind,
) (*scenarios.Shrunk, time.Duration) {
	t.Helper()
	property, mechanism := checker.Property(""), find.What
	if checker.Property(find.What).About() != "" {
		property, mechanism = checker.Property(find.What), ""
	}
	for seed := uint64(1); seed <= uint64(find.Within); seed++ {
		setup := scenarios.Setup{Scenario: s, Implementation: implementation, Seed: seed, Strategy: s.Strategy}
		outcome, err := scenarios.Run(new(testing.T), setup)
		if err != nil || outcome.Err != nil {
			t.Fatal(err, outcome)
		}
		choice, shows := outcome.Choose(property, mechanism)
		if !shows {
			continue
		}
		setup.Plan, setup.FixedPlan, setup.Decisions = outcome.Plan, true, outcome.Decisions
		shrink := scenarios.Shrink{Setup: setup, Property: choice.Property, Kind: choice.Violation.Kind}
		if choice.Finding != nil {
			shrink.Mechanism = choice.Finding.Mechanism.Ref
		}
		start := time.Now()
		shrunk, err := shrink.Run(new(testing.T))
		if err != nil {
			t.Errorf("%s, %s: %s: %v", s.Name, implementation, find.What, err)
			return nil, 0
		}
		return shrunk, time.Since(start)
	}
	t.Errorf("%s, %s: %s is not found in %d seeds", s.Name, implementation, find.What, find.Within)
	return nil, 0
}
