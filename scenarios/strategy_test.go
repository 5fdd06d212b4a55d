package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/scenarios/strategy"
	"github.com/lockstep-sim/lockstep/sim"
)

// rerun runs a setup and fails the test when it could not be finished.
func rerun(t *testing.T, setup Setup) *Outcome {
	t.Helper()
	outcome, err := Run(t, setup)
	if err == nil {
		err = outcome.Err
	}
	if err != nil {
		t.Fatalf("%s of %s, seed %d, %s: %v", setup.Implementation, setup.Scenario.Name, setup.Seed, setup.Strategy, err)
	}
	return outcome
}

// TestDecisionsRepeatTheRun runs the library with the strategies that decide, and again with what they decided, written
// down and read back: each run has to be the same, byte for byte.
func TestDecisionsRepeatTheRun(t *testing.T) {
	seeds := uint64(3)
	if testing.Short() {
		seeds = 1
	}
	decided := 0
	for _, s := range Library() {
		for _, e := range s.Implementations {
			for seed := uint64(1); seed <= seeds; seed++ {
				name := []string{strategy.PCT, strategy.Deadline}[seed%2]
				setup := Setup{Scenario: s, Implementation: e.Implementation, Seed: seed, Strategy: name, Trace: sim.HashOnly}
				first := rerun(t, setup)
				setup.Strategy, setup.Decisions = "", []strategy.Decision{}
				for _, d := range first.Decisions {
					back, err := strategy.Parse(d.String())
					if err != nil {
						t.Fatal(err)
					}
					setup.Decisions = append(setup.Decisions, back)
				}
				decided += len(setup.Decisions)
				if again := rerun(t, setup); again.Hash != first.Hash {
					t.Errorf("%s of %s, seed %d: what %s decided makes another run", e.Implementation, s.Name, seed, name)
				}
			}
		}
	}
	if decided == 0 {
		t.Error("nothing was decided")
	}
}

// TestDecisionsAreLenient cuts the list of decisions anywhere and adds one about something that never occurs.
func TestDecisionsAreLenient(t *testing.T) {
	s, err := Load("race-dead-record")
	if err != nil {
		t.Fatal(err)
	}
	setup := Setup{Scenario: s, Implementation: "redis/getset", Seed: 9, Strategy: strategy.Deadline, Trace: sim.HashOnly}
	decisions := rerun(t, setup).Decisions
	if len(decisions) < 3 {
		t.Fatalf("there are only %d decisions", len(decisions))
	}
	for n := range decisions {
		never := strategy.Decision{From: "c9", To: "redis", What: "FLUSHALL", Nth: 3}
		setup.Decisions = append(slices.Clone(decisions[:n]), never)
		rerun(t, setup)
	}
}

// TestSwarmLeavesKindsOut: with the swarm each fault of a scenario is left out of about half of the seeds, and what is
// drawn is what the uniform strategy draws.
func TestSwarmLeavesKindsOut(t *testing.T) {
	s, err := Load("late-getset")
	if err != nil {
		t.Fatal(err)
	}
	const seeds = 60
	kept := make([]int, 2)
	for seed := uint64(1); seed <= seeds; seed++ {
		setup := Setup{Scenario: s, Implementation: "redis/getset", Seed: seed, Strategy: strategy.Swarm, Trace: sim.HashOnly}
		swarm := rerun(t, setup)
		setup.Strategy = strategy.Uniform
		uniform := rerun(t, setup)
		if len(uniform.Plan) != 2 {
			t.Fatalf("seed %d: the uniform plan is %q", seed, uniform.Plan)
		}
		for _, fault := range swarm.Plan {
			i := slices.IndexFunc(uniform.Plan, fault.Equal)
			if i < 0 {
				t.Fatalf("seed %d: the swarm has %q, which is not in %q", seed, fault, uniform.Plan)
			}
			kept[i]++
		}
	}
	for i, n := range kept {
		if n < seeds/4 || n > seeds*3/4 {
			t.Errorf("fault %d is in %d plans of %d, want about half", i+1, n, seeds)
		}
	}
}

// TestDeadlineMeetsDeadlines: steering brings clients to the ends of leases, and in between what another reads and
// writes, more often than chance does. Each mark is counted once a seed.
func TestDeadlineMeetsDeadlines(t *testing.T) {
	s, err := Load("race-dead-record")
	if err != nil {
		t.Fatal(err)
	}
	met := map[string][]int{}
	for _, name := range []string{strategy.Uniform, strategy.Deadline} {
		met[name] = make([]int, len(strategy.AllMarks()))
		for seed := uint64(1); seed <= 100; seed++ {
			o := rerun(t, Setup{Scenario: s, Implementation: "redis/getset", Seed: seed, Strategy: name, Trace: sim.HashOnly})
			for mark, n := range o.Marks {
				met[name][mark] += min(n, 1)
			}
		}
	}
	for _, mark := range strategy.AllMarks() {
		if met[strategy.Deadline][mark] <= met[strategy.Uniform][mark]+4 {
			t.Errorf("%v: in %d of 100 seeds, by chance in %d", mark, met[strategy.Deadline][mark], met[strategy.Uniform][mark])
		}
	}
}

// TestDeadlineNeedsAFifth holds the deadline strategy to its promise: on races with the end of a lease it finds what
// there is to find with at most a fifth of the seeds that the uniform strategy takes.
func TestDeadlineNeedsAFifth(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs some thousand seeds")
	}
	for _, name := range []string{"race-dead-record", "race-unlock"} {
		s, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range s.Implementations {
			if len(e.Find) == 0 {
				continue
			}
			took := map[string]int{}
			for _, strategyName := range []string{strategy.Uniform, strategy.Deadline} {
				took[strategyName] = totalSeeds(t, s, e, strategyName)
			}
			if 5*took[strategy.Deadline] > took[strategy.Uniform] {
				t.Errorf("%s of %s: %v seeds in five ranges", e.Implementation, name, took)
			}
		}
	}
}

// totalSeeds is how many seeds it takes in five ranges to find the first must-find of an expectation. A range is given
// up after 400 seeds.
func totalSeeds(t *testing.T, s *Scenario, e Expectation, name string) int {
	total := 0
	for first := uint64(0); first < 5000; first += 1000 {
		for seed := first + 1; seed <= first+400; seed++ {
			total++
			o := rerun(t, Setup{Scenario: s, Implementation: e.Implementation, Seed: seed, Strategy: name, Trace: sim.HashOnly})
			if o.shows(e.Find[0].What) {
				break
			}
		}
	}
	return total
}

// TestExhaustCompletes goes through all schedules of the small scenarios. How many there are is pinned: it changes only
// where runs do.
func TestExhaustCompletes(t *testing.T) {
	for _, test := range []struct {
		scenario, implementation string
		deviations               int
		unbounded                bool
		runs, pruned             int
		violated                 []checker.Property
	}{
		{"small-crash", "redis/setnx-px", 16, true, 3215, 901, nil},
		{"small-crash", "redis/getset-repaired", 4, false, 915, 101, nil},
		{"small-crash", "redis/getset", 2, false, 382, 4, []checker.Property{checker.MutualExclusion}},
		{"small-dead-record", "redis/getset-repaired", 2, false, 45, 4, nil},
		{"small-dead-record", "redis/setnx-px", 2, false, 45, 4, nil},
		{"small-zk", "zk/fair-repaired", 1, false, 145, 0, nil},
	} {
		if test.unbounded && testing.Short() {
			continue // some thousand schedules
		}
		s, err := Load(test.scenario)
		if err != nil {
			t.Fatal(err)
		}
		x := Exhaust{Scenario: s, Implementation: test.implementation, Deviations: test.deviations, All: true}
		r, err := x.Run(t.Context(), t)
		if err != nil {
			t.Fatal(err)
		}
		if r.Runs != test.runs || r.Pruned != test.pruned {
			t.Errorf("%s in %s: %d schedules, %d of them pruned, with up to %d deviations; want %d and %d",
				test.implementation, test.scenario, r.Runs, r.Pruned, r.Deviations, test.runs, test.pruned)
		}
		if !r.Complete || r.Unbounded != test.unbounded {
			t.Errorf("%s in %s: complete %v, unbounded %v", test.implementation, test.scenario, r.Complete, r.Unbounded)
		}
		for _, p := range r.Properties {
			if want := slices.Contains(test.violated, p.Property); want != (p.Violated > 0) {
				t.Errorf("%s in %s: %s is violated in %d schedules", test.implementation, test.scenario, p.Property, p.Violated)
			}
		}
		if r.Conclusion() == Inconclusive {
			t.Errorf("%s in %s: nothing was put to the test", test.implementation, test.scenario)
		}
	}
}

// TestPruningLosesNothing runs every schedule of small worlds to its end, and those that the explorer does not give up:
// what the clients do and are told has to be the same, taken together.
func TestPruningLosesNothing(t *testing.T) {
	for _, test := range []struct {
		scenario, implementation string
		deviations               int
	}{
		{"small-crash", "redis/setnx-px", 3},
		{"small-dead-record", "redis/getset", 1},
		{"small-zk", "zk/fair-repaired", 1},
	} {
		s, err := Load(test.scenario)
		if err != nil {
			t.Fatal(err)
		}
		all, kept := strategy.NewExplorer(test.deviations), strategy.NewExplorer(test.deviations)
		all.KeepAll()
		want, got := whatHappened(t, s, test.implementation, all), whatHappened(t, s, test.implementation, kept)
		if len(want) < 2 {
			t.Errorf("%s in %s: there is only one course of events", test.implementation, test.scenario)
		}
		for course := range want {
			if !got[course] {
				t.Errorf("%s in %s: this is lost:\n%s", test.implementation, test.scenario, course)
			}
		}
	}
}

// whatHappened lists what the clients of each schedule did and were told, in order and without times.
func whatHappened(t *testing.T, s *Scenario, implementation string, e *strategy.Explorer) map[string]bool {
	t.Helper()
	courses := map[string]bool{}
	for e.Next() {
		o := rerun(t, Setup{
			Scenario: s, Implementation: implementation, Seed: exhaustSeed, Trace: sim.HashOnly, explorer: e,
		})
		if o.givenUp {
			continue
		}
		var course strings.Builder
		for _, x := range o.History.Events {
			if x.F != checker.FaultApplied && x.F != checker.Request {
				fmt.Fprintln(&course, x.Process, x.F, x.Type, x.Key)
			}
		}
		courses[course.String()] = true
	}
	return courses
}

// TestExhaustFindsShortest: the loser of the race for a dead record is found in the very first schedule, and what is
// found runs again the same from its plan and decisions.
func TestExhaustFindsShortest(t *testing.T) {
	s, err := Load("small-dead-record")
	if err != nil {
		t.Fatal(err)
	}
	x := Exhaust{Scenario: s, Implementation: "redis/getset", Mechanism: "R1", Deviations: 3}
	r, err := x.Run(t.Context(), t)
	if err != nil {
		t.Fatal(err)
	}
	if r.Found == nil || r.Deviations != 0 {
		t.Fatalf("found %v with %d deviations, want it with none", r.Found != nil, r.Deviations)
	}
	if again := rerun(t, r.FoundIn); again.Hash != r.Found.Hash || !again.shows("R1") {
		t.Error("it does not run again the same")
	}
}

// TestExhaustEnds stops at a number of schedules and says that it is not complete.
func TestExhaustEnds(t *testing.T) {
	s, err := Load("small-crash")
	if err != nil {
		t.Fatal(err)
	}
	x := Exhaust{Scenario: s, Implementation: "redis/setnx-px", Deviations: 3, Most: 5}
	r, err := x.Run(t.Context(), t)
	if err != nil {
		t.Fatal(err)
	}
	if r.Complete || r.All != 5 {
		t.Errorf("complete %v after %d schedules, want it to end after 5", r.Complete, r.All)
	}
}
