package scenarios

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
)

// calls renders what a client did, with the levels that it counted, times left out.
func calls(h *checker.History, node string) string {
	var words []string
	for _, e := range h.Events {
		if e.Node != node || e.Process < 0 || e.F == checker.Applied {
			continue
		}
		word := string(e.Type) + " " + e.F
		if e.Count > 0 {
			word += fmt.Sprint(" ", e.Count)
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

func TestStepsAreRecorded(t *testing.T) {
	for _, test := range []struct{ name, implementation, steps, want string }{
		{
			"a section", "redis/getset", "[lock, write, work 10ms, unlock]",
			"invoke acquire, ok acquire 1, invoke write, ok write, invoke release, ok release",
		},
		{
			"rounds", "redis/getset", "[try, unlock, repeat 2]",
			"invoke try-acquire, ok try-acquire 1, invoke release, ok release, " +
				"invoke try-acquire, ok try-acquire 1, invoke release, ok release",
		},
		{
			"levels", "redis/getset-repaired", "[lock, nest 2..2 for 1s, unlock]",
			"invoke acquire, ok acquire 1, invoke try-acquire, ok try-acquire 2, invoke try-acquire, ok try-acquire 3, " +
				"invoke release 2, ok release 2, invoke release 1, ok release 1, invoke release, ok release",
		},
		{"no level", "redis/getset", "[lock, nest 0..0, unlock]", "invoke acquire, ok acquire 1, invoke release, ok release"},
		{
			"levels without a limit of time", "redis/getset", "[lock, nest 1..1, unlock]",
			"invoke acquire, ok acquire 1, invoke acquire, ok acquire 2, invoke release 1, ok release 1, " +
				"invoke release, ok release",
		},
		{ // what is inside of the refused attempt is left out, what is around it is not
			"a refused level", "redis/setnx-px", "[lock, try, write, unlock, write, unlock]",
			"invoke acquire, ok acquire 1, invoke try-acquire, fail try-acquire, invoke write, ok write, " +
				"invoke release, ok release",
		},
		{
			"a section that lasts for longer than the hold", "redis/setnx-px", "[lock, write, work 2s, write, unlock]",
			"invoke acquire, ok acquire 1, invoke write, ok write, info lost, invoke release, fail release",
		},
		{ // the published lock does not look at its deadline, and its unlock says nothing
			"the same without leases", "redis/getset", "[lock, write, work 2s, write, unlock]",
			"invoke acquire, ok acquire 1, invoke write, ok write, invoke write, ok write, invoke release, ok release",
		},
		{
			"a section without a look at the clock", "redis/setnx-px", "[lock, wait 2s, write, unlock]",
			"invoke acquire, ok acquire 1, info lost, invoke release, fail release",
		},
	} {
		text := "lock: {lease: 1s}\nclients: 1\nheal: 0s\nuntil: 5s\nprogram: {c1: " + test.steps + "}\n"
		o := runOf(t, text, test.implementation)
		if got := calls(&o.History, "c1"); got != test.want {
			t.Errorf("%s: %s\nwant %s", test.name, got, test.want)
		}
	}
}

// TestUntilAnswered asks a server that is away: for as long as that takes, and with pauses that grow.
func TestUntilAnswered(t *testing.T) {
	const text = `
lock: {lease: 1m}
clients: 1
program: {c1: [wait 10ms, lock until answered, wait 10ms, unlock until answered]}
until: 20s
`
	for _, test := range []struct{ plan, f string }{
		{"down redis for 5s at 1ms", checker.Acquire},
		{"down redis for 5s on c1 before EVAL #2", checker.Release},
		{"cut c1-redis for 5s silent on c1 before EVAL #2", checker.Release},
	} {
		o := runOf(t, text+"faults: \""+test.plan+"\"\n", "redis/setnx-px")
		tries := 0
		var last checker.Event
		for _, e := range eventsOf(&o.History, test.f) {
			if e.Type == checker.Invoke {
				tries++
			}
			last = e
		}
		if last.Type != checker.OK || last.Time < 5*time.Second || last.Time > 8*time.Second || tries < 3 || tries > 20 {
			t.Errorf("%s: the last of %d tries is %s %s at %v", test.plan, tries, last.Type, last.Error, last.Time)
		}
	}
	// Without "until answered" one try is all.
	o := runOf(t, strings.ReplaceAll(text, " until answered", "")+"faults: down redis for 5s at 1ms\n", "redis/setnx-px")
	if got := calls(&o.History, "c1"); got != "invoke acquire, info acquire" {
		t.Errorf("c1 did %s", got)
	}
	// One that crashes while it tries stops there.
	o = runOf(t, text+"faults: |\n  down redis for 5s at 1ms\n  crash c1 at 1s\n", "redis/setnx-px")
	if got := calls(&o.History, "c1"); !strings.HasSuffix(got, "acquire, info crash") {
		t.Errorf("c1 did %s", got)
	}
}

// TestRoundsEnd runs programs again and again that never wait for anything.
func TestRoundsEnd(t *testing.T) {
	for _, steps := range []string{
		"[wait 0s, repeat]", "[lock, unlock, repeat]", "[lock, work 0s, wait 0s, unlock, repeat]",
	} {
		o := runOf(t, "lock: {lease: 1s}\nclients: 1\nheal: 0s\nuntil: 200ms\nprogram: {c1: "+steps+"}\n", "redis/setnx-px")
		if o.End < 200*time.Millisecond || o.End > 250*time.Millisecond {
			t.Errorf("%s: the workload ends at %v, want a little after 200ms", steps, o.End)
		}
	}
	o := runOf(t, "clients: 1\nheal: 0s\nuntil: 200ms\nprogram: {c1: [wait 150ms, repeat 5]}\n", "redis/getset")
	if o.End != 300*time.Millisecond && (o.End < 300*time.Millisecond || o.End > 301*time.Millisecond) {
		t.Errorf("the workload ends at %v: a round that has begun is brought to its end, and no other is begun", o.End)
	}
}

// TestRoles lets faults strike those who play a role.
func TestRoles(t *testing.T) {
	const text = `
lock: {lease: 5s}
clients: 3
program:
  c1: [wait 100ms, lock, wait 50ms, lock, wait 50ms, unlock, wait 50ms, unlock]
  c2: [lock, wait 50ms, unlock]
  c3: [wait 130ms, lock for 1s, unlock]
until: 2s
`
	for _, test := range []struct{ plan, machine string }{
		{"clock holder step +1s at 20ms", "c2"},
		{"clock holder step +1s at 70ms", ""},
		{"clock holder step +1s at 220ms", "c1"},
		{"clock waiter step +1s at 50ms", ""},
		{"clock waiter step +1s at 140ms", "c3"},
		{"clock holder step +1s on holder after SETNX", "c1"}, // when it enters again: it holds once it has heard of it
		{"clock holder step +1s on c2 after SETNX or on c2 before GET", "c2"},
		{"clock holder step +1s on holder before DEL", "c2"}, // until its unlock has returned
		{"clock holder step +1s on holder before DEL #2", "c1"},
		{"clock holder step +1s on holder between GET and SET", "c1"}, // it enters again
		{"clock waiter step +1s on c1 between GET and SET", "c3"},     // who enters again does not wait
		{"clock waiter step +1s on waiter before GET", "c3"},
	} {
		o := runOf(t, text+"faults: \""+test.plan+"\"\n", "redis/getset")
		machine := ""
		for _, e := range eventsOf(&o.History, checker.FaultApplied) {
			machine = e.Node
		}
		if machine != test.machine {
			t.Errorf("%s: it struck %q, want %q", test.plan, machine, test.machine)
		}
	}
	// Who is told that the hold is lost holds no more; who crashed neither.
	for _, plan := range []string{
		"clock holder step +1s at 1500ms", "crash c1 at 100ms\n  clock holder step +1s at 200ms",
	} {
		o := runOf(t, `
lock: {lease: 1s}
clients: 1
program: {c1: [lock, work 2s, wait 2s, unlock]}
until: 3s
faults: |
  `+plan+"\n", "redis/setnx-px")
		for _, e := range eventsOf(&o.History, checker.FaultApplied) {
			if strings.HasPrefix(e.Command, "clock holder") {
				t.Errorf("%s: it struck %s at %v", plan, e.Node, e.Time)
			}
		}
	}
}
