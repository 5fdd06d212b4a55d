package scenarios

import (
	"slices"
	"testing"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/sim"
)

// TestStopAt runs seeds of the library in full and with an end at the first violation. A run that is not ended must be
// the same as without a monitor; one that is ended must be the beginning of the full run, and show what that shows.
func TestStopAt(t *testing.T) {
	stopped, events, ran := 0, 0, 0
	for _, row := range []struct{ scenario, implementation string }{
		{"dead-record", "redis/getset"},
		{"paused-holder", "redis/getset"},
		{"paused-holder", "redis/setnx-px!token-reused"},
		{"slow-unlock", "redis/getset"},
		{"late-getset", "redis/getset-repaired"},
		{"zk-leaver", "zk/fair"},
		{"zk-partition", "zk/fair-repaired!error-enters"},
		{"zk-fairness", "zk/go-zookeeper"},
	} {
		s, err := Load(row.scenario)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(6) {
			setup := Setup{Scenario: s, Implementation: row.implementation, Seed: seed + 1, Trace: sim.HashOnly}
			full := finishedRun(t, setup)
			setup.StopAt = checker.Monitored()
			short := finishedRun(t, setup)
			first := firstMonitored(full.Verdicts)
			switch {
			case short.Stopped == "" && first != "":
				t.Errorf("%v, seed %d: it violates %s and was not ended", row, setup.Seed, first)
			case short.Stopped == "" && short.Hash != full.Hash:
				t.Errorf("%v, seed %d: it ran differently with a monitor", row, setup.Seed)
			case short.Stopped != "":
				stopped++
				events += len(short.History.Events)
				ran += len(full.History.Events)
				compareStopped(t, full, short)
			}
		}
	}
	t.Logf("%d runs were ended after %d of %d events", stopped, events, ran)
	if stopped < 20 || events >= ran {
		t.Errorf("%d runs were ended, after %d of %d events", stopped, events, ran)
	}
}

func finishedRun(t *testing.T, setup Setup) *Outcome {
	t.Helper()
	o, err := Run(t, setup)
	if err == nil {
		err = o.Err
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// firstMonitored finds a violated property among those that a monitor watches.
func firstMonitored(verdicts []checker.Verdict) checker.Property {
	for _, v := range verdicts {
		if v.Result == checker.Violated && slices.Contains(checker.Monitored(), v.Property) {
			return v.Property
		}
	}
	return ""
}

// compareStopped holds a run that was ended early against the full one.
func compareStopped(t *testing.T, full, short *Outcome) {
	t.Helper()
	n := len(short.History.Events) - 1 // the last event tells that the workload has ended
	for i := range n {
		if a, b := &full.History.Events[i], &short.History.Events[i]; a.Index != b.Index || a.Time != b.Time || a.F != b.F {
			t.Fatalf("event %d differs: %v and %v", i, a, b)
		}
	}
	verdict := func(o *Outcome) checker.Verdict {
		return o.Verdicts[slices.IndexFunc(o.Verdicts, func(v checker.Verdict) bool { return v.Property == short.Stopped })]
	}
	a, b := verdict(full), verdict(short)
	if a.Result != checker.Violated || b.Result != checker.Violated {
		t.Fatalf("stopped at %s, which is %s then and %s in the full run", short.Stopped, b, a)
	}
	x := b.Violations[0]
	if !slices.ContainsFunc(a.Violations, func(y checker.Violation) bool {
		return x.Kind == y.Kind && x.Key == y.Key && x.From == y.From && slices.Equal(x.Processes, y.Processes)
	}) {
		t.Errorf("the run was ended at %q, which the full run does not show", x.Text)
	}
}

// TestTrimLibrary trims violations of runs of the library.
func TestTrimLibrary(t *testing.T) {
	for _, row := range []struct{ scenario, implementation string }{
		{"dead-record", "redis/getset"},
		{"zk-lost-create", "zk/fair"},
		{"abandoned", "redis/getset"},
		{"paused-holder", "redis/setnx-px!token-reused"},
	} {
		s, err := Load(row.scenario)
		if err != nil {
			t.Fatal(err)
		}
		setup := Setup{Scenario: s, Implementation: row.implementation, Seed: 5, Trace: sim.HashOnly}
		r, err := newRun(setup)
		if err != nil {
			t.Fatal(err)
		}
		o := finishedRun(t, setup)
		for _, v := range o.Verdicts {
			if v.Result != checker.Violated {
				continue
			}
			short, ok := checker.Trim(&o.History, v.Property, v.Violations[0], r.judging())
			if !ok {
				t.Fatalf("%v: %s cannot be trimmed", row, v)
			}
			options := r.judging()
			options.Properties = []checker.Property{v.Property}
			if again := checker.Check(short, options)[0]; again.Result != checker.Violated {
				t.Errorf("%v: trimmed it is %s", row, again)
			}
			if len(short.Events) >= len(o.History.Events) {
				t.Errorf("%v: %s: none of %d events was left out", row, v.Property, len(o.History.Events))
			}
			t.Logf("%v: %s: %d of %d events", row, v.Property, len(short.Events), len(o.History.Events))
		}
	}
}

// TestHuntStopsEarly hunts for one property with and without an early end: the seed must be the same, and a hunt for a
// mechanism must not be cut short.
func TestHuntStopsEarly(t *testing.T) {
	s := mustLoad(t, "dead-record")
	hunt := func(h Hunt) *Catch {
		t.Helper()
		h.Scenario, h.Implementation, h.Seeds, h.Workers = s, "redis/getset", SeedsUpTo(50), testWorkers(2, "serve")
		catch, err := h.Run(t.Context())
		if err != nil || !catch.Found {
			t.Fatalf("nothing found: %v", err)
		}
		return catch
	}
	full := hunt(Hunt{Property: checker.MutualExclusion})
	early := hunt(Hunt{Property: checker.MutualExclusion, StopEarly: true})
	if early.Seed != full.Seed || early.Stopped != checker.MutualExclusion || full.Stopped != "" {
		t.Errorf("found seed %d, ended by %q; in full it is seed %d", early.Seed, early.Stopped, full.Seed)
	}
	whole := hunt(Hunt{Mechanism: "R1", StopEarly: true})
	if whole.Stopped != "" {
		t.Errorf("the hunt for a mechanism was cut short by %s", whole.Stopped)
	}
}

// TestEarlyHuntsFindTheSame hunts for what the library must find of properties alone, with and without an early end.
func TestEarlyHuntsFindTheSame(t *testing.T) {
	const every = 6 // so that the sample is spread over the library
	number, stopped := 0, 0
	for _, s := range Library() {
		for _, e := range s.Implementations {
			onlyProperties := len(e.Find) > 0 && !slices.ContainsFunc(e.Find, func(f MustFind) bool {
				return isMechanism(f.What)
			})
			if number++; !onlyProperties || number%every != 0 {
				continue
			}
			hunt := Hunt{
				Scenario: s, Implementation: e.Implementation, Seeds: SeedsUpTo(60), Workers: testWorkers(1, "serve"),
			}
			full, err := hunt.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			hunt.StopEarly = true
			early, err := hunt.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if early.Found != full.Found || early.Seed != full.Seed || early.Strategy != full.Strategy {
				t.Errorf("%s, %s: found %v in seed %d, and in full %v in seed %d", s.Name, e.Implementation, early.Found,
					early.Seed, full.Found, full.Seed)
			}
			if early.Stopped != "" {
				stopped++
			}
		}
	}
	if stopped < 3 {
		t.Errorf("%d hunts found a run that was ended early", stopped)
	}
}
