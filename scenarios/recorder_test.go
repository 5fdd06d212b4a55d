package scenarios

import (
	"strings"
	"testing"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/mechanism"
	"github.com/lockstep-sim/lockstep/sim"
)

// facts picks what was seen of the lock's record.
func facts(h *checker.History) []checker.Event {
	return eventsOf(h, checker.RecordSet, checker.RecordGone)
}

// overBoth runs a scenario over both transports.
func overBoth(t *testing.T, text, implementation string, test func(t *testing.T, o *Outcome)) {
	for _, transport := range []Transport{Direct, Wire} {
		t.Run(string(transport), func(t *testing.T) {
			s := scenarioOf(t, text)
			test(t, mustRun(t, Setup{Scenario: s, Implementation: implementation, Seed: 1, Transport: transport}))
		})
	}
}

func wantFacts(t *testing.T, o *Outcome, want ...string) {
	t.Helper()
	if got := summary(facts(&o.History)); got != strings.Join(want, "\n") {
		t.Errorf("the record went\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func TestFactsNameTheCommandAndItsClient(t *testing.T) {
	overBoth(t, `
lock: {lease: 1s}
clients: 2
program: {others: [lock, lock, unlock, unlock]}
heal: 0s
until: 1s
`, "redis/getset-repaired", func(t *testing.T, o *Outcome) {
		for _, e := range facts(&o.History) {
			if e.Command != "EVAL" && e.Command != "EVALSHA" || e.Node == "" {
				t.Errorf("event %d tells of %s by %q", e.Index, e.Command, e.Node)
			}
		}
		counts := ""
		for _, e := range facts(&o.History) {
			counts += string("0123456789"[e.Count])
		}
		if counts != "12101210" { // none of the refused attempts
			t.Errorf("the record counted %s, want 12101210", counts)
		}
	})
	overBoth(t, `
lock: {lease: 1s}
clients: 1
program: {c1: [lock, lock, unlock, unlock]}
heal: 0s
until: 1s
`, "redis/getset", func(t *testing.T, o *Outcome) {
		wantFacts(t, o, "c1 info record-set SETNX", "c1 info record-set SET", "c1 info record-set SET",
			"c1 info record-gone DEL")
	})
}

// TestAKeyThatExpiresByItself has nobody delete the key: not the next owner, which finds it gone, nor the late unlock.
func TestAKeyThatExpiresByItself(t *testing.T) {
	const text = `
lock: {lease: 300ms}
clients: 2
program:
  c1: [lock, wait 500ms, unlock]
  c2: [wait 100ms, lock, wait 400ms, unlock]
heal: 0s
until: 1s
`
	overBoth(t, text, "redis/setnx-px", func(t *testing.T, o *Outcome) {
		wantFacts(t, o, "c1 info record-set EVAL", "info record-gone EXPIRE", "c2 info record-set EVALSHA",
			"info record-gone EXPIRE")
		all := facts(&o.History)
		gone, next := all[1], all[2]
		if gone.Owner != "" || gone.Previous.Owner != all[0].Owner || gone.Previous.Now <= gone.Previous.Expires {
			t.Errorf("the key of %s expired as that of %v, by %q", all[0].Owner, gone.Previous, gone.Owner)
		}
		if next.Previous != nil {
			t.Errorf("the next owner replaced %v, want nothing", next.Previous)
		}
		if r := all[0].Record; r.Expires-r.Now != 300 {
			t.Errorf("the record of a key with a TTL of 300 ms says %d ms", r.Expires-r.Now)
		}
	})
	// Nobody but c1 ever looks: the last look is the recorder's.
	alone := strings.Replace(text, "lock, wait 400ms, unlock", "wait 1s", 1)
	alone = strings.Replace(alone, "lock, wait 500ms, unlock", "lock, wait 1s", 1) + "faults: \"crash c1 at 200ms\"\n"
	alone = strings.Replace(alone, "lock, wait 1s]", "lock, wait 1s, unlock]", 1)
	alone = strings.Replace(alone, "heal: 0s", "heal: 250ms", 1)
	overBoth(t, alone, "redis/setnx-px", func(t *testing.T, o *Outcome) {
		wantFacts(t, o, "c1 info record-set EVAL", "info record-gone EXPIRE")
	})
}

func TestARenewalIsSeen(t *testing.T) {
	o := runOf(t, `
lock: {lease: 300ms}
clients: 1
program: {c1: [lock, work 250ms, unlock]}
heal: 0s
until: 1s
implementations: {redis/setnx-px: {knobs: {renew: "on"}}}
`, "redis/setnx-px")
	wantFacts(t, o, "c1 info record-set EVAL", "c1 info record-set EVAL", "c1 info record-set EVALSHA",
		"c1 info record-gone EVAL")
	last := int64(0)
	for _, e := range facts(&o.History)[:3] {
		if e.Record.Expires <= last || e.Record.Expires-e.Record.Now != 300 {
			t.Errorf("the deadline is %d at %d, and was %d", e.Record.Expires, e.Record.Now, last)
		}
		last = e.Record.Expires
	}
	if n := len(eventsOf(&o.History, checker.Renew)); n < 1 {
		t.Error("the client tells of no renewal")
	}
}

// TestJitterIsNoChange looks at a key with a TTL through a clock that errs: nobody writes while c1 holds.
func TestJitterIsNoChange(t *testing.T) {
	o := runOf(t, `
lock: {lease: 2s}
clients: 4
program:
  c1: [lock, wait 500ms, unlock]
  others: [wait 100ms, lock, unlock]
faults: "clock redis jitter 20ms"
heal: 1s
until: 2s
`, "redis/setnx-px")
	all := facts(&o.History)
	if len(all) != 8 || summary(all[:2]) != "c1 info record-set EVAL\nc1 info record-gone EVAL" {
		t.Errorf("the record went\n%s\nwant one set and one removal by each client", summary(all))
	}
}

func TestTheJudgeOfARecordIsSteppedForward(t *testing.T) {
	const text = `
lock: {lease: 1s}
clients: 2
program:
  c1: [lock, wait 500ms, unlock]
  c2: [wait 300ms, lock for 1s, unlock]
heal: 400ms
until: 1s
`
	for _, test := range []struct{ implementation, machine string }{
		{"redis/getset", "timeserver"}, {"redis/setnx-px", "redis"}, {"redis/getset-repaired", "redis"},
	} {
		o := runOf(t, text+"faults: \"clock "+test.machine+" step +1500ms at 200ms\"\n", test.implementation)
		all := facts(&o.History)
		set, next := all[0], all[1]
		if left := set.Record.Expires - set.Record.Now; left < 990 || left > 1001 {
			t.Errorf("%s: the first record has %d ms to live", test.implementation, left)
		}
		passed := next.Previous.Now - set.Record.Now
		if want := (next.Time - set.Time).Milliseconds() + 1500; passed < want-1 || passed > want+1 {
			t.Errorf("%s: %d ms passed on the clock of the judge, want %d", test.implementation, passed, want)
		}
		if len(o.Mechanisms) != 1 || o.Mechanisms[0].Mechanism != mechanism.ClockForward {
			t.Errorf("%s: explained by %v, want R12", test.implementation, o.Mechanisms)
		}
		// The other machine's clock is nobody's business.
		other := map[string]string{"redis": "timeserver", "timeserver": "redis"}[test.machine]
		o = runOf(t, text+"faults: \"clock "+other+" step +1500ms at 200ms\"\n", test.implementation)
		for _, e := range facts(&o.History) {
			if e.Previous != nil && e.Previous.Now > e.Previous.Expires {
				t.Errorf("%s: event %d takes a live record for expired", test.implementation, e.Index)
			}
		}
	}
}

func TestARestartOfRedisIsSeen(t *testing.T) {
	const text = `
lock: {lease: 300ms}
clients: 1
program: {c1: [lock, wait 1s, unlock]}
heal: 700ms
until: 2s
`
	overBoth(t, text+"faults: \"restart redis empty at 100ms\"\n", "redis/setnx-px", func(t *testing.T, o *Outcome) {
		wantFacts(t, o, "c1 info record-set EVAL", "info record-gone RESTART")
	})
	overBoth(t, text+"faults: \"restart redis at 100ms\"\n", "redis/setnx-px", func(t *testing.T, o *Outcome) {
		wantFacts(t, o, "c1 info record-set EVAL", "info record-gone EXPIRE")
	})
	// Its time was over before it came back.
	overBoth(t, text+"faults: \"down redis for 500ms at 100ms\"\n", "redis/setnx-px", func(t *testing.T, o *Outcome) {
		wantFacts(t, o, "c1 info record-set EVAL", "info record-gone EXPIRE")
	})
}

// TestLateRequestsAreThoseOfWhoSentThem has a request arrive when the machine that sent it runs another incarnation.
func TestLateRequestsAreThoseOfWhoSentThem(t *testing.T) {
	o := runOf(t, `
lock: {lease: 1s}
clients: 1
program: {c1: [wait 10ms, try, unlock]}
faults: |
  delay c1>redis by 500ms on c1 before SETNX
  crash c1 silent at 100ms
  restart c1 as new at 101ms
heal: 1s
until: 1500ms
`, "redis/getset")
	all := facts(&o.History)
	if len(all) < 2 {
		t.Fatalf("the record went\n%s", summary(all))
	}
	own := owners(&o.History)
	var late *checker.Event
	for i := range all {
		if all[i].Time > 500*time.Millisecond && all[i].F == checker.RecordSet {
			late = &all[i]
		}
	}
	if late == nil || late.Owner != own[0] || late.Record.Owner != own[0] || own[0] == own[1] {
		t.Errorf("the late record is %v; want one of %s, who sent it", late, own[0])
	}
}

// TestClaimsUnderDrift holds what a client says of its deadline against when its lock tells it that the hold is over:
// both are the same instant of its clock, also when that begins to run at another rate in between, and at the heal.
func TestClaimsUnderDrift(t *testing.T) {
	for _, plan := range []string{
		"clock c1 drift -200000ppm", "clock c1 drift +200000ppm", "clock c1 drift -200000ppm at 500ms",
		"clock c1 drift +200000ppm at 500ms", "clock c1 step -5s at 500ms", "pause c1 for 300ms at 500ms",
	} {
		s := scenarioOf(t, `
lock: {lease: 2s}
clients: 1
program: {c1: [lock, work 10s, unlock]}
heal: 1s
until: 3s
faults: "`+plan+"\"\n")
		o := mustRun(t, Setup{Scenario: s, Implementation: "redis/setnx-px", Seed: 1, Trace: sim.HashOnly})
		deadline, lost := time.Duration(0), time.Duration(0)
		for _, e := range eventsOf(&o.History, checker.Acquire, checker.Renew, checker.Lost) {
			if e.Deadline != 0 {
				deadline = e.Deadline
			}
			if e.F == checker.Lost {
				lost = e.Time
			}
		}
		if d := lost - deadline; lost == 0 || d < -2*time.Microsecond || d > 20*time.Microsecond {
			t.Errorf("%s: the last stated deadline is %v, and the hold was lost at %v", plan, deadline, lost)
		}
	}
}
