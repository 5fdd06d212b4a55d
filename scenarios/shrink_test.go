package scenarios

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/mechanism"
	"github.com/lockstep-sim/lockstep/scenarios/strategy"
	"github.com/lockstep-sim/lockstep/sim"
)

// firstShrink runs seeds until one shows a property broken by a mechanism, and makes the shrinking of that.
func firstShrink(t *testing.T, scenario, implementation string, wanted target, with string) *Shrink {
	t.Helper()
	for seed := uint64(1); seed <= 300; seed++ {
		setup := Setup{Scenario: mustLoad(t, scenario), Implementation: implementation, Seed: seed, Strategy: with}
		outcome := mustRun(t, setup)
		choice, shows := outcome.find(wanted)
		if !shows {
			continue
		}
		setup.Plan, setup.FixedPlan, setup.Decisions = outcome.Plan, true, outcome.Decisions
		shrink := &Shrink{Setup: setup, Property: choice.Property, Kind: choice.Violation.Kind}
		if choice.Finding != nil {
			shrink.Mechanism = choice.Finding.Mechanism.Ref
		}
		return shrink
	}
	t.Fatalf("%s with %s: %+v is not found", scenario, implementation, wanted)
	return nil
}

func mustShrink(t *testing.T, s *Shrink) *Shrunk {
	t.Helper()
	shrunk, err := s.Run(t)
	if err != nil {
		t.Fatalf("%s with %s: %v", s.Setup.Scenario.Name, s.Setup.Implementation, err)
	}
	return shrunk
}

// TestShrink shrinks runs of different kinds and checks that the result is small, that it is a file by itself, and that
// it still shows the same.
func TestShrink(t *testing.T) {
	for _, test := range []struct {
		scenario, implementation string
		wanted                   target
		strategy                 string
		most                     Size
	}{
		{"dead-record", "redis/getset", target{mechanism: "R1"}, "", Size{Clients: 3, Operations: 6}},
		{"dead-record", "redis/getset", target{mechanism: "R1"}, strategy.PCT, Size{3, 6, 1, 4}},
		{"paused-holder", "redis/getset", target{mechanism: "R13"}, "", Size{2, 5, 1, 0}},
		{"lost-reply", "redis/getset", target{mechanism: "R9"}, "", Size{2, 8, 1, 1}},
		{"paused-holder", "redis/setnx-px", target{property: checker.Resource}, "", Size{2, 6, 1, 0}},
		{"zk-partition", "zk/fair", target{mechanism: "Z8"}, "", Size{2, 4, 1, 0}},
		{"zk-threads", "zk/fair", target{mechanism: "Z9"}, "", Size{1, 5, 0, 0}},
	} {
		shrink := firstShrink(t, test.scenario, test.implementation, test.wanted, test.strategy)
		shrunk := mustShrink(t, shrink)
		name := test.scenario + " with " + test.implementation + " " + test.strategy
		after := shrunk.After
		if after.Clients > test.most.Clients || after.Operations > test.most.Operations || after.Faults > test.most.Faults ||
			after.Decisions > test.most.Decisions || !shrunk.Complete {
			t.Errorf("%s: %v is left of %v, want at most %v", name, after, shrunk.Before, test.most)
		}
		if choice := shrunk.Choice; choice.Property != shrink.Property || choice.Violation.Kind != shrink.Kind ||
			shrink.Mechanism != "" && choice.Finding.Mechanism.Ref != shrink.Mechanism {
			t.Errorf("%s: it shows %+v", name, choice)
		}
		asFile(t, name, shrunk)
	}
}

// asFile runs a shrunk run from its files alone.
func asFile(t *testing.T, name string, shrunk *Shrunk) {
	t.Helper()
	folder := t.TempDir()
	replay := ReplayOf(shrunk.Setup, shrunk.Outcome, shrunk.Choice)
	replay.Program, replay.Decisions = "test", shrunk.Setup.Decisions
	writeTestFile(t, folder+"/"+ReplayFile, replay.String())
	writeTestFile(t, folder+"/"+replayScenario, string(shrunk.Setup.Scenario.Text))
	read, folder, err := ReadReplay(folder)
	if err != nil {
		t.Fatal(err)
	}
	setup, err := read.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	played, err := read.Play(t, setup)
	if err != nil || !played.Same || !played.Shows {
		t.Errorf("%s: from its files it is another run, or does not show it: %v", name, err)
	}
	script := ScriptOf(shrunk.Setup, shrunk.Outcome, []string{name})
	again, err := ParseScript(folder+"/"+ScriptFile, script.String())
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, script)
	}
	outcome, events, err := again.Play(t)
	if err != nil || outcome.Hash != shrunk.Outcome.Hash || events != script.Expected ||
		again.String() != script.String() {
		t.Errorf("%s: as a script it is another run: %v", name, err)
	}
}

// TestShrunkScenarioIsLikeAnyOther checks that the scenario of a shrunk run states what it shows, so that a campaign
// passes it.
func TestShrunkScenarioIsLikeAnyOther(t *testing.T) {
	shrunk := mustShrink(t, firstShrink(t, "dead-record", "redis/getset", target{mechanism: "R1"}, ""))
	s, err := Parse("scenario.yaml", shrunk.Setup.Scenario.Text)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := (&Campaign{Scenarios: []*Scenario{s}}).Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1 || rows[0].Judgement.Conclusion != AsExpected || len(rows[0].Expectation.Find) != 1 {
		t.Errorf("%+v: %+v", rows[0].Expectation, rows[0].Judgement)
	}
}

// TestShrunkHasNothingToSpare leaves out by hand what is left, one thing at a time: none of it can go.
func TestShrunkHasNothingToSpare(t *testing.T) {
	shrink := firstShrink(t, "late-getset", "redis/getset", target{mechanism: "R2"}, "")
	shrunk := mustShrink(t, shrink)
	shows := func(c *candidate) bool {
		outcome, err := Run(t, c.setup())
		if err != nil || outcome.Err != nil {
			return false
		}
		_, shows := outcome.find(target{property: shrink.Property, kind: shrink.Kind, mechanism: shrink.Mechanism})
		return shows
	}
	whole := newCandidate(shrunk.Setup)
	if !shows(whole) || len(whole.plan) == 0 {
		t.Fatalf("it does not show it, or has no fault: %v", whole.plan)
	}
	for i := range whole.plan {
		c := whole.clone()
		c.plan = slices.Delete(c.plan, i, i+1)
		if shows(c) {
			t.Errorf("the fault %v can go", whole.plan[i])
		}
	}
	for name, p := range whole.scenario.Programs {
		c := whole.clone()
		c.scenario.Programs[name] = idleProgram
		if !p.idle() && shows(c) {
			t.Errorf("the program of %s can go", name)
		}
		for i, step := range p.Steps {
			if step.Verb == Lock || step.Verb == Try || step.Verb == Unlock || len(p.Steps) == 1 {
				continue
			}
			c := whole.clone()
			c.scenario.Programs[name] = relinked(Program{
				Steps: slices.Delete(slices.Clone(p.Steps), i, i+1), Rounds: p.Rounds,
			})
			if shows(c) {
				t.Errorf("step %d of %s, %v, can go", i+1, name, step)
			}
		}
	}
}

// TestShrinkIsRepeatable checks that a number of runs as budget gives the same result each time, and is kept.
func TestShrinkIsRepeatable(t *testing.T) {
	for _, runs := range []int{10, 60, 0} {
		var texts []string
		for range 2 {
			shrink := firstShrink(t, "paused-holder", "redis/getset", target{mechanism: "R13"}, "")
			shrink.Runs = runs
			shrunk := mustShrink(t, shrink)
			replay := ReplayOf(shrunk.Setup, shrunk.Outcome, shrunk.Choice)
			texts = append(texts, replay.String()+string(shrunk.Setup.Scenario.Text))
			if shrunk.Complete != (runs == 0) {
				t.Errorf("after %d runs of %d, complete is %v", shrunk.Runs, runs, shrunk.Complete)
			}
		}
		if texts[0] != texts[1] {
			t.Errorf("with %d runs:\n%s\nand then\n%s", runs, texts[0], texts[1])
		}
	}
}

func TestShrinkEnds(t *testing.T) {
	shrink := firstShrink(t, "dead-record", "redis/getset", target{mechanism: "R1"}, "")
	enough := make(chan struct{})
	close(enough)
	shrink.Enough = enough
	told := 0
	shrink.Progress = func(ShrinkProgress) { told++ }
	if shrunk := mustShrink(t, shrink); shrunk.Complete || shrunk.Before != shrunk.After {
		t.Errorf("without any time it comes from %v to %v", shrunk.Before, shrunk.After)
	}
	shrink = firstShrink(t, "dead-record", "redis/getset", target{mechanism: "R1"}, "")
	shrink.Mechanism = mechanism.NilGetSet.Ref
	if _, err := shrink.Run(t); !errors.Is(err, ErrNotRepeated) {
		t.Errorf("of a violation that is not there the error is %v", err)
	}
	shrink.Setup.FixedPlan = false
	if _, err := shrink.Run(t); err == nil || !strings.Contains(err.Error(), "replay file") {
		t.Errorf("without a plan the error is %v", err)
	}
}

func TestMinimize(t *testing.T) {
	for _, needed := range []string{"", "0", "7", "0 7", "3 4", "1 2 5", "0 1 2 3 4 5 6 7"} {
		all := []string{"0", "1", "2", "3", "4", "5", "6", "7"}
		tries := 0
		minimize(len(all), func(kept []int) bool {
			tries++
			some := pick(all, kept)
			for _, word := range strings.Fields(needed) {
				if !slices.Contains(some, word) {
					return false
				}
			}
			all = some
			return true
		})
		if got := strings.Join(all, " "); got != needed || tries > 40 {
			t.Errorf("of %q it leaves %q after %d tries", needed, got, tries)
		}
	}
}

func TestSimplerNumbers(t *testing.T) {
	for _, test := range []struct {
		value int64
		least int64
		want  []int64
	}{
		{7, 1, []int64{1, 2, 5}},
		{1, 1, nil},
		{-30, 1, []int64{-1, -2, -5, -10, -20}},
		{1234, 1, []int64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 1200, 1300, 1230, 1240}},
		{100, 50, []int64{50}},
	} {
		n := number{value: test.value, least: test.least}
		if got := n.simpler(); !slices.Equal(got, test.want) {
			t.Errorf("simpler than %d is %v, want %v", test.value, got, test.want)
		}
	}
	n := number{value: int64(163 * time.Millisecond), duration: true}
	if got := n.simpler(); got[0] != int64(time.Millisecond) {
		t.Errorf("simpler than 163 ms is first %v", time.Duration(got[0]))
	}
}

func TestRoundest(t *testing.T) {
	for _, test := range []struct{ from, to, want time.Duration }{
		{500 * time.Microsecond, 2 * time.Millisecond, time.Millisecond},
		{3 * time.Millisecond, 7 * time.Millisecond, 3 * time.Millisecond},
		{1234, 1239, 1234},
		{1199 * time.Millisecond, 1301 * time.Millisecond, 1200 * time.Millisecond},
		{5, 5, 5},
		{0, 0, 0},
	} {
		if got := roundest(test.from, test.to); got != test.want {
			t.Errorf("the roundest from %v to %v is %v, want %v", test.from, test.to, got, test.want)
		}
	}
}

// TestRename checks that a machine takes its programs, knobs, faults and decisions along.
func TestRename(t *testing.T) {
	s, err := Parse("x.yaml", []byte(`name: x
server: zookeeper
clients: 3
program:
  c1: [wait 1ms]
  c3, c3/2: [lock, unlock]
  c2: [lock, work 1s, unlock]
differ:
  c3: {node: a-}
faults: |
  pause c3 for 1s on c3 after CREATE
  cut c3-zookeeper for 1s at 1s
`))
	if err != nil {
		t.Fatal(err)
	}
	c := newCandidate(Setup{Scenario: s, Implementation: "zk/fair", Seed: 1, FixedPlan: true})
	for _, template := range s.Faults {
		c.plan = append(c.plan, template.Low())
	}
	for _, text := range []string{
		"c3>zookeeper CREATE #1 takes 1ms", "zookeeper>c3 CREATE #1 takes 1ms", "c3/2 wait #1 takes 1s",
		"c1 wait #1 takes 1s",
	} {
		d, err := strategy.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		c.decisions = append(c.decisions, d)
	}
	before := c.key()
	got := c.without("c1").rename("c3", "c1")
	if c.key() != before {
		t.Error("the candidate that was there has changed")
	}
	var lines []string
	for _, name := range programNames(got.scenario.Programs) {
		lines = append(lines, name+": "+got.scenario.Programs[name].String())
	}
	lines = append(lines, strings.Split(strings.TrimSpace(got.plan.String()), "\n")...)
	for _, d := range got.decisions {
		lines = append(lines, d.String())
	}
	want := `c1: lock, unlock
c1/2: lock, unlock
c2: lock, work 1s, unlock
pause c1 for 1s on c1 after CREATE
cut c1-zookeeper for 1s at 1s
c1>zookeeper CREATE #1 takes 1ms
zookeeper>c1 CREATE #1 takes 1ms
c1/2 wait #1 takes 1s`
	if text := strings.Join(lines, "\n"); text != want || got.scenario.Differ["c1"]["node"] != "a-" ||
		got.scenario.Clients != 2 {
		t.Errorf("it is\n%s\nwith %v\nwant\n%s", text, got.scenario.Differ, want)
	}
}

// TestSettledRunsNeedNoSeed checks that a shrunk run whose times are all fixed is nearly the same with any seed.
func TestSettledRunsNeedNoSeed(t *testing.T) {
	shrunk := mustShrink(t, firstShrink(t, "dead-record", "redis/getset", target{mechanism: "R1"}, ""))
	c := newCandidate(shrunk.Setup)
	if !c.settled() || c.scenario.Latency != sim.Fixed(time.Millisecond) {
		t.Fatalf("it is left to its seed:\n%s", c.scenario.YAML())
	}
	for seed := uint64(1); seed <= 20; seed++ {
		c.seed = seed
		outcome := mustRun(t, c.setup())
		if _, shows := outcome.find(target{mechanism: "R1"}); !shows {
			t.Errorf("with seed %d it does not show", seed)
		}
	}
}
