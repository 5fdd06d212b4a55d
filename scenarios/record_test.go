package scenarios

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-sim/lockstep/checker"
)

// wantAgreed compares what was recorded of the lock's own record, which is what a majority of the machines has.
func wantAgreed(t *testing.T, o *Outcome, want ...string) []checker.Event {
	t.Helper()
	agreed := slices.DeleteFunc(facts(&o.History), func(e checker.Event) bool { return e.Key != o.History.Header.Lock })
	if got := summary(agreed); got != strings.Join(want, "\n") {
		t.Errorf("the record went\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	return agreed
}

// storedOn is what one machine has of the lock job.
func storedOn(o *Outcome, machine string) []checker.Event {
	return slices.DeleteFunc(facts(&o.History), func(e checker.Event) bool { return e.Key != "job@"+machine })
}

func TestTheRecordOfSeveralMachinesIsTheirMajoritys(t *testing.T) {
	overBoth(t, `
servers: 3
lock: {lease: 1s}
clients: 2
program:
  c1: [lock, wait 100ms, unlock]
  c2: [wait 20ms, lock, unlock]
heal: 0s
until: 1s
`, "redis/redlock", func(t *testing.T, o *Outcome) {
		agreed := wantAgreed(t, o, "c1 info record-set EVAL", "c1 info record-gone EVAL", "c2 info record-set EVALSHA",
			"c2 info record-gone EVALSHA")
		for _, machine := range []string{"redis1", "redis2", "redis3"} {
			if all := storedOn(o, machine); len(all) < 4 || all[0].Owner != agreed[0].Owner {
				t.Errorf("%s went\n%s", machine, summary(all))
			}
		}
		second := slices.Sorted(slices.Values([]int64{
			storedOn(o, "redis1")[0].Index, storedOn(o, "redis2")[0].Index, storedOn(o, "redis3")[0].Index,
		}))[1]
		if agreed[0].Index != second+1 {
			t.Errorf("the record is set by event %d, want right after the second of three machines, %d", agreed[0].Index, second)
		}
	})
}

func TestOneMachineThatForgetsIsNoMajority(t *testing.T) {
	const text = `
servers: 3
lock: {lease: 1s}
clients: 2
program:
  c1: [lock, wait 300ms, unlock]
  c2: [wait 350ms, lock, unlock]
faults: |
  restart redis1 empty at 100ms
heal: 0s
until: 1s
`
	jumps := strings.Replace(text, "at 100ms\n", "at 100ms\n  clock redis2 step +5s at 200ms\n", 1)
	jumps = strings.ReplaceAll(jumps, "heal: 0s", "heal: 300ms")
	forgets := strings.ReplaceAll(text, "heal: 0s", "heal: 300ms")
	overBoth(t, forgets, "redis/redlock", func(t *testing.T, o *Outcome) {
		wantAgreed(t, o, "c1 info record-set EVAL", "c1 info record-gone EVAL", "c2 info record-set EVALSHA",
			"c2 info record-gone EVALSHA")
	})
	overBoth(t, jumps, "redis/redlock", func(t *testing.T, o *Outcome) {
		agreed := wantAgreed(t, o, "c1 info record-set EVAL", "info record-gone EXPIRE", "c2 info record-set EVALSHA",
			"c2 info record-gone EVALSHA")
		if gone := agreed[1]; gone.Previous.Owner != agreed[0].Owner || gone.Previous.Now <= gone.Previous.Expires {
			t.Errorf("the record of %s ended as %+v", agreed[0].Owner, gone.Previous)
		}
	})
}

// TestAnExtensionOnAMajorityIsOneChange: the machines extend one after the other.
func TestAnExtensionOnAMajorityIsOneChange(t *testing.T) {
	overBoth(t, `
servers: 5
lock: {lease: 300ms}
clients: 1
program: {c1: [lock, work 250ms, unlock]}
heal: 0s
until: 1s
implementations: {redis/redlock: {knobs: {renew: "on"}}}
`, "redis/redlock", func(t *testing.T, o *Outcome) {
		agreed := wantAgreed(t, o, "c1 info record-set EVAL", "c1 info record-set EVAL", "c1 info record-set EVALSHA",
			"c1 info record-gone EVAL")
		for i, e := range agreed[1:3] {
			if moved := e.Record.Expires - agreed[i].Record.Expires; moved < 90 || moved > 130 {
				t.Errorf("extension %d moves the deadline by %d ms", i+1, moved)
			}
		}
	})
}

func TestLocksOnOneServerDoNotRunOnSeveral(t *testing.T) {
	s := scenarioOf(t, "servers: 3\nclients: 1\nprogram: {c1: [lock, unlock]}\n")
	_, err := Run(t, Setup{Scenario: s, Implementation: "redis/setnx-px", Seed: 1})
	const want = "redis/setnx-px keeps its lock on one server and scenario test has 3"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("setnx-px on three servers: %v", err)
	}
	alone := scenarioOf(t, "clients: 2\nprogram: {others: [lock, unlock]}\nheal: 0s\nuntil: 1s\n")
	mustRun(t, Setup{Scenario: alone, Implementation: "redis/redlock", Seed: 1})
}
