package scenarios

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/mechanism"
	"github.com/lockstep-sim/lockstep/faults"
	"github.com/lockstep-sim/lockstep/sim"
)

// scenarioOf reads a scenario from its text. It begins with the keys that most tests do not care for.
func scenarioOf(t *testing.T, text string) *Scenario {
	t.Helper()
	s, err := Parse("test.yaml", []byte("name: test\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// runOf runs a scenario given as text once.
func runOf(t *testing.T, text, implementation string) *Outcome {
	t.Helper()
	return mustRun(t, Setup{Scenario: scenarioOf(t, text), Implementation: implementation, Seed: 1, Trace: sim.HashOnly})
}

// historyText is the history as it is written to a file.
func historyText(t *testing.T, h *checker.History) string {
	t.Helper()
	var b bytes.Buffer
	if err := checker.WriteHistory(&b, h); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// eventsOf picks events of a history by what they are about.
func eventsOf(h *checker.History, fs ...string) []checker.Event {
	var picked []checker.Event
	for _, e := range h.Events {
		if slices.Contains(fs, e.F) {
			picked = append(picked, e)
		}
	}
	return picked
}

// summary renders events as a test wants to compare them: who did what, without times.
func summary(events []checker.Event) string {
	lines := make([]string, 0, len(events))
	for _, e := range events {
		line := fmt.Sprintf("%s %s %s", e.Node, e.Type, e.F)
		if e.Command != "" {
			line += " " + e.Command
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Join(lines, "\n")
}

func TestARunIsAFunctionOfItsSetup(t *testing.T) {
	for _, transport := range []Transport{Direct, Wire} {
		rows(func(s *Scenario, implementation string) {
			setup := Setup{Scenario: s, Implementation: implementation, Seed: 7, Trace: sim.HashOnly, Transport: transport}
			one, other := mustRun(t, setup), mustRun(t, setup)
			if one.Hash != other.Hash || one.Events != other.Events || one.End != other.End {
				t.Errorf("%s with %s over %s: hash %016x after %d events at %v, and %016x after %d at %v", s.Name,
					implementation, transport, one.Hash, one.Events, one.End, other.Hash, other.Events, other.End)
			}
			if historyText(t, &one.History) != historyText(t, &other.History) {
				t.Errorf("%s with %s over %s: two histories", s.Name, implementation, transport)
			}
			if testing.Short() {
				return
			}
			// The plan that the seed drew, given by hand, is the same run.
			setup.Plan, setup.FixedPlan = one.Plan, true
			if fixed := mustRun(t, setup); fixed.Hash != one.Hash {
				t.Errorf("%s with %s over %s: another run with the plan that was drawn given by hand:\n%s", s.Name,
					implementation, transport, one.Plan)
			}
		})
	}
}

func TestSetupsThatCannotRun(t *testing.T) {
	const text = "clients: 1\nprogram: {c1: [lock, unlock]}\n"
	plain := scenarioOf(t, text)
	timeless := scenarioOf(t, text+"timeserver: false\n")
	knobs := scenarioOf(t, text+"implementations: {redis/setnx-px: {knobs: {renw: on}}}\n")
	leaseless := scenarioOf(t, text+"lock: {lease: 0s}\n")
	plan, err := faults.ParsePlan("crash c2 at 1s")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name  string
		setup Setup
		want  string
	}{
		{"no such lock", Setup{Scenario: plain, Implementation: "redis/getst"}, `did you mean "redis/getset"`},
		{"no such safeguard", Setup{Scenario: plain, Implementation: "redis/setnx-px!loser-writes"}, "no ablation named"},
		{"no lock", Setup{Scenario: plain}, "no lock named"},
		{"no time server", Setup{Scenario: timeless, Implementation: "redis/getset"}, "scenario test has none"},
		{"no such transport", Setup{Scenario: plain, Implementation: "redis/getset", Transport: "pigeon"}, "direct or wire"},
		{"no such knob", Setup{Scenario: knobs, Implementation: "redis/setnx-px"}, `no knob named "renw"`},
		{"no lease", Setup{Scenario: leaseless, Implementation: "redis/getset"}, "it must be above zero"},
		{
			"no such machine",
			Setup{Scenario: plain, Implementation: "redis/getset", FixedPlan: true, Plan: plan},
			`there is no machine "c2"`,
		},
	} {
		outcome, err := Run(t, test.setup)
		if err == nil || outcome != nil {
			t.Errorf("%s: it runs", test.name)
		} else if !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: the error is %q; want one line that says %s", test.name, err, test.want)
		}
	}
	// A lock that needs none runs without a time server.
	mustRun(t, Setup{Scenario: timeless, Implementation: "redis/setnx-px"})
}

// TestHistoriesMakeSense looks at many histories for what must be true of each.
func TestHistoriesMakeSense(t *testing.T) {
	for _, transport := range []Transport{Direct, Wire} {
		rows(func(s *Scenario, implementation string) {
			seeds := uint64(20)
			switch {
			case s.Until > 10*time.Second || testing.Short():
				seeds = 1
			case transport == Wire:
				seeds = 2
			}
			for seed := uint64(1); seed <= seeds; seed++ {
				o := mustRun(t, Setup{Scenario: s, Implementation: implementation, Seed: seed, Transport: transport})
				if err := makesSense(s, o); err != nil {
					t.Errorf("%s with %s over %s, seed %d: %v", s.Name, implementation, transport, seed, err)
				}
			}
		})
	}
}

func makesSense(s *Scenario, o *Outcome) error {
	h := &o.History
	if err := h.Validate(); err != nil {
		return err
	}
	type identity struct{ node, owner string }
	who := map[int]identity{}
	ended := false
	for _, e := range h.Events {
		byClient := e.Process >= 0 && e.F != checker.Applied
		switch {
		case ended && (byClient || e.Process == checker.ProcessFault):
			return fmt.Errorf("event %d, %s of %s, comes after the end", e.Index, e.F, e.Node)
		case byClient && who[e.Process] == identity{}:
			who[e.Process] = identity{e.Node, e.Owner}
		case byClient && who[e.Process] != identity{e.Node, e.Owner}:
			return fmt.Errorf("event %d: process %d is %s on %s, and was %v before", e.Index, e.Process, e.Owner, e.Node,
				who[e.Process])
		case e.F == checker.Applied && who[e.Process].node != e.Node:
			return fmt.Errorf("event %d: a write of process %d comes from %s, where it does not run", e.Index, e.Process, e.Node)
		}
		ended = ended || e.F == checker.WorkloadEnd
		if err := eventMakesSense(s, &e); err != nil {
			return fmt.Errorf("event %d, %s of %s: %w", e.Index, e.F, e.Node, err)
		}
	}
	if n := len(eventsOf(h, checker.Healed)); n != 1 || !ended {
		return fmt.Errorf("%d heals and ended %v: want one, and an end", n, ended)
	}
	struck := 0
	for _, n := range o.Strikes {
		struck += n
	}
	if n := len(eventsOf(h, checker.FaultApplied)); n != struck {
		return fmt.Errorf("%d faults are recorded and %d struck", n, struck)
	}
	return nil
}

func eventMakesSense(s *Scenario, e *checker.Event) error {
	switch {
	case e.Node != "" && !slices.Contains(s.Machines(), e.Node):
		return fmt.Errorf("there is no machine %s", e.Node)
	case e.Process >= 0 && e.F != checker.Applied && e.F != checker.Crash && e.Clock.IsZero():
		return fmt.Errorf("it has no reading of a clock")
	case strings.Contains(e.Error, "\n"):
		return fmt.Errorf("its error has several lines: %q", e.Error)
	case e.F == checker.RecordSet && e.Record == nil:
		return fmt.Errorf("it tells no record")
	case e.F == checker.RecordGone && (e.Record != nil || e.Previous == nil):
		return fmt.Errorf("it tells the record %v and not the one before", e.Record)
	case e.F == checker.RecordSet && e.Command == "":
		return fmt.Errorf("it does not tell by which command the record came")
	case e.F == checker.RecordSet && s.Server == redisMachine && e.Command != checker.CommandRestart &&
		(e.Node == "" || e.Owner == ""):
		// In a queue the next one is first when another goes, whoever made it go; and a server that comes back without its
		// last writes has the record that was there before.
		return fmt.Errorf("it does not tell who wrote the record")
	case e.F == checker.RecordGone && e.Node == "" && e.Command != checker.CommandExpire &&
		e.Command != checker.CommandRestart && e.Command != checker.CommandRemove:
		return fmt.Errorf("it does not tell who removed the record by %s", e.Command)
	case e.Type == checker.OK && e.Deadline != 0 && e.Deadline <= e.Time:
		return fmt.Errorf("the hold is over at %v, when it begins at %v", e.Deadline, e.Time)
	}
	return nil
}

// owners lists the owner of each process.
func owners(h *checker.History) map[int]string {
	all := map[int]string{}
	for _, e := range h.Events {
		if e.Process >= 0 && e.Owner != "" {
			all[e.Process] = e.Owner
		}
	}
	return all
}

func TestIdentities(t *testing.T) {
	const program = `
clients: 2
program: {others: [lock for 1s, wait 50ms, unlock, wait 200ms, repeat 3]}
until: 3s
`
	const c1, c2 = "28-D2-44-0E-0D-01/22001/11", "28-D2-44-0E-0D-02/22002/11"
	for _, test := range []struct {
		name, text string
		want       map[int]string
	}{
		{"own", program, map[int]string{0: c1, 1: c2}},
		{"shared", program + "identity: shared\n", map[int]string{0: c1, 1: c1}},
		{"restarted", program + "faults: \"restart c2 at 500ms\"\n", map[int]string{0: c1, 1: c2, 2: c2}},
		{
			"restarted as new", program + "faults: \"restart c2 as new at 500ms\"\n",
			map[int]string{0: c1, 1: c2, 2: "28-D2-44-0E-0D-02/23002/11"},
		},
		{
			"restarted as new, then as the same", program + "faults: |\n  restart c2 as new at 500ms\n  restart c2 at 600ms\n",
			map[int]string{0: c1, 1: c2, 2: "28-D2-44-0E-0D-02/23002/11", 3: "28-D2-44-0E-0D-02/23002/11"},
		},
		{ // nobody has met it yet, although all had one identity
			"shared, restarted as new",
			program + "identity: shared\nfaults: |\n  restart c1 as new at 500ms\n  restart c2 as new at 500ms\n",
			map[int]string{0: c1, 1: c1, 2: "28-D2-44-0E-0D-01/23001/11", 3: "28-D2-44-0E-0D-02/23002/11"},
		},
		{"away for a while", program + "faults: \"down c1 for 100ms at 500ms\"\n", map[int]string{0: c1, 1: c2, 2: c1}},
	} {
		o := runOf(t, test.text, "redis/getset")
		if got := owners(&o.History); !maps.Equal(got, test.want) {
			t.Errorf("%s: the owners are %v, want %v", test.name, got, test.want)
		}
	}
	// Identities stay apart for as many clients as a scenario can have, over several restarts.
	seen := map[string]bool{}
	s := &Scenario{}
	for number := 1; number <= 1000; number++ {
		for generation := range 4 {
			owner := s.owner(number, generation).String()
			if seen[owner] {
				t.Fatalf("client %d has the identity %s of another", number, owner)
			}
			seen[owner] = true
		}
	}
}

// TestARestartedClientIsWaitedFor makes all programs end before a client comes back and begins anew.
func TestARestartedClientIsWaitedFor(t *testing.T) {
	o := runOf(t, `
clients: 2
program: {others: [lock for 1s, wait 20ms, unlock]}
faults: "restart c2 at 1s"
heal: 2s
until: 3s
`, "redis/setnx-px")
	got := summary(eventsOf(&o.History, checker.Crash, checker.Healed, checker.WorkloadEnd))
	if want := "c2 info crash\ninfo healed\ninfo end"; got != want {
		t.Errorf("the run went\n%s\nwant\n%s", got, want)
	}
	releases := eventsOf(&o.History, checker.Release)
	last := releases[len(releases)-1]
	if last.Process != 2 || last.Type != checker.OK || last.Time < time.Second || o.End != 2*time.Second {
		t.Errorf("the last release was %s by process %d at %v, the end at %v", last.Type, last.Process, last.Time, o.End)
	}
}

// TestACrashLeavesCallsOpen crashes a client while it waits for the answer to its acquire.
func TestACrashLeavesCallsOpen(t *testing.T) {
	for _, transport := range []Transport{Direct, Wire} {
		s := scenarioOf(t, `
clients: 2
program:
  c1: [lock, work 100ms, unlock]
  c2: [wait 1s, lock for 1s, unlock]
faults: "crash c1 on c1 after SETNX"
until: 2s
`)
		o := mustRun(t, Setup{Scenario: s, Implementation: "redis/getset", Seed: 1, Transport: transport})
		var of []checker.Event
		for _, e := range o.History.Events {
			if e.Node == "c1" {
				of = append(of, e)
			}
		}
		want := "c1 invoke acquire\nc1 info record-set SETNX\n" +
			"c1 info fault crash c1 on c1 after SETNX\nc1 info crash"
		if got := summary(of); got != want {
			t.Errorf("over %s, c1 did\n%s\nwant\n%s", transport, got, want)
		}
	}
}

// TestWhatIsUnderWayAtTheEndArrives sends a write that stays in the network for longer than its client waits, and
// longer than anything else goes on.
func TestWhatIsUnderWayAtTheEndArrives(t *testing.T) {
	o := runOf(t, `
lock: {lease: 10s}
clients: 2
program:
  c1: [lock, write, unlock]
  c2: [wait 2100ms, lock for 1s, write, unlock]
faults: "delay c1>store by 3s on c1 before WRITE"
heal: 1s
until: 4s
grace: 1s
`, "redis/setnx-px")
	got := summary(eventsOf(&o.History, checker.Write, checker.Applied, checker.WorkloadEnd))
	want := `c1 invoke write
c1 info write
c2 invoke write
c2 info applied
c2 ok write
info end
c1 info applied`
	if got != want {
		t.Errorf("the writes went\n%s\nwant\n%s", got, want)
	}
	for _, v := range o.Verdicts {
		if v.Property == checker.Resource && v.Result != checker.Violated {
			t.Errorf("the late write is no violation: %v", v)
		}
	}
	if o.End > 3*time.Second {
		t.Errorf("the workload ended at %v, want the time at which the last program did", o.End)
	}
}

// TestEveryAblationIsToBeFound holds the catalogue against the scenarios: a safeguard is worth as much as the scenario
// that fails without it.
func TestEveryAblationIsToBeFound(t *testing.T) {
	found := map[string]bool{}
	rows(func(s *Scenario, implementation string) {
		e, _ := s.Expects(implementation)
		if len(e.Find) > 0 {
			found[implementation] = true
		}
	})
	for _, entry := range Catalogue().List() {
		var missing []string
		for _, ablation := range entry.Ablations {
			if !found[entry.Name+"!"+ablation.Name] {
				missing = append(missing, ablation.Name)
			}
		}
		if len(missing) > 0 {
			t.Errorf("no scenario has to find that %s is broken without: %s", entry.Name, strings.Join(missing, ", "))
		}
	}
}

// TestEveryMechanismIsToBeFound holds the list of mechanisms against the scenarios.
func TestEveryMechanismIsToBeFound(t *testing.T) {
	found := map[string]string{}
	rows(func(s *Scenario, implementation string) {
		e, _ := s.Expects(implementation)
		for _, find := range e.Find {
			if m, ok := mechanism.Named(find.What); ok {
				found[m.Ref] = s.Name
			}
		}
	})
	for _, m := range mechanism.All() {
		if found[m.Ref] == "" {
			t.Errorf("no scenario has to find %s, %s", m.Ref, m.Name)
		}
	}
}
