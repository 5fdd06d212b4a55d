package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/sim"
)

// threadScenario has two threads of one machine and a second machine contend; KEYS are further keys.
const threadScenario = `name: threads
lock: {name: job, lease: 2s}
clients: 2
KEYS
program:
  c1: [lock, write, work 50ms..100ms, write, unlock, repeat 3]
  c1/2: [wait 1ms..50ms, lock for 4s, write, work 20ms..60ms, write, unlock, repeat 3]
  c2: [wait 1ms..50ms, lock for 4s, write, work 20ms..60ms, write, unlock, repeat 3]
heal: 0s
until: 4s
grace: 4s
`

func runText(t *testing.T, text string, setup Setup) *Outcome {
	t.Helper()
	s, err := Parse("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	setup.Scenario = s
	return mustRun(t, setup)
}

// TestThreadsOnRedis lets threads of one machine share nothing, an identity or a handle. The facts name the thread that
// did it, although the server sees machines only.
func TestThreadsOnRedis(t *testing.T) {
	for _, test := range []struct {
		keys, implementation string
		safe                 bool
	}{
		{"threads: own", "redis/getset-repaired", true},
		{"threads: own", "redis/setnx-px", true},
		{"threads: identity", "redis/getset-repaired", true},
		{"threads: identity", "redis/getset", false},
		{"threads: handle", "redis/getset", false},
	} {
		for _, transport := range []Transport{Direct, Wire} {
			violated := false
			for seed := range uint64(5) {
				o := runText(t, strings.Replace(threadScenario, "KEYS", test.keys, 1),
					Setup{Implementation: test.implementation, Seed: seed, Transport: transport})
				for _, v := range o.Verdicts {
					violated = violated || v.Property == checker.MutualExclusion && v.Result == checker.Violated
				}
				checkAuthors(t, o, test.keys == "threads: own")
			}
			if violated == test.safe {
				t.Errorf("%s with %s, %s: mutual exclusion violated: %v", test.implementation, test.keys, transport, violated)
			}
		}
	}
}

// checkAuthors expects every record to be the work of its owner, and as many owners as there are threads with
// identities of their own.
func checkAuthors(t *testing.T, o *Outcome, own bool) {
	t.Helper()
	var owners []string
	for _, e := range o.History.Events {
		if e.F == checker.RecordSet && e.Owner != e.Record.Owner {
			t.Errorf("%s wrote the record of %s", e.Owner, e.Record.Owner)
		}
		if e.F == checker.RecordSet && !slices.Contains(owners, e.Owner) {
			owners = append(owners, e.Owner)
		}
	}
	if want := map[bool]int{true: 3, false: 2}[own]; len(owners) != want {
		t.Errorf("the owners are %v, want %d", owners, want)
	}
}

// TestRetriesOverBothTransports loses the answer of one request and counts how often its kind was executed.
func TestRetriesOverBothTransports(t *testing.T) {
	const text = `name: retries
lock: {name: job, lease: 2s}
clients: 1
retries: N
program:
  c1: [try, unlock]
faults: |
  lose reply of c1>redis on c1 before SETNX
  lose reply of c1>redis on c1 before SETNX #2
heal: 100ms
until: 200ms
`
	for retries, want := range []string{
		0: "SETNX; c1 is not told", 1: "SETNX SETNX; c1 is not told",
		2: "SETNX SETNX SETNX GET SET GET SET; c1 holds", // its own record is entered, and left at level one
	} {
		for _, transport := range []Transport{Direct, Wire} {
			o := runText(t, strings.Replace(text, "retries: N", fmt.Sprint("retries: ", retries), 1),
				Setup{Implementation: "redis/getset", Seed: 1, Transport: transport, Trace: sim.Full})
			var sent []string
			for _, e := range o.Trace.Entries {
				word, _, _ := strings.Cut(e.Text, " ")
				if e.Kind == sim.KindDeliver && e.To == redisMachine && strings.ToUpper(word) == word && word != "" {
					sent = append(sent, word)
				}
			}
			got := strings.Join(sent, " ") + "; c1 "
			told := "is not told"
			for _, e := range o.History.Events {
				if e.F == checker.TryAcquire && e.Type == checker.OK {
					told = "holds"
				}
			}
			if got += told; got != want {
				t.Errorf("%d retries, %s: got %q, want %q", retries, transport, got, want)
			}
		}
	}
}

// TestResend counts tries.
func TestResend(t *testing.T) {
	refused := errors.New("refused by the server")
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, test := range []struct {
		name    string
		ctx     context.Context
		retries int
		err     error
		want    int
	}{
		{"answered", context.Background(), 3, nil, 1},
		{"refused", context.Background(), 3, refused, 1},
		{"unanswered", context.Background(), 3, sim.ErrReset, 4},
		{"late", context.Background(), 1, sim.ErrTimeout, 2},
		{"no server", context.Background(), 2, fmt.Errorf("dial: %w", sim.ErrRefused), 3},
		{"no retries", context.Background(), 0, sim.ErrReset, 1},
		{"called off", ended, 3, sim.ErrReset, 1},
		{"crashed", context.Background(), 3, sim.ErrCrashed, 1},
	} {
		tries := 0
		_, err := resend(test.ctx, test.retries, func() (any, error) { tries++; return nil, test.err })
		if tries != test.want || err != test.err {
			t.Errorf("%s: %d tries and %v, want %d and %v", test.name, tries, err, test.want, test.err)
		}
	}
}

// TestSwarmIsPartOfTheRun draws faults from a pool: the header has them, equal seeds have equal ones, and a plan that
// is given replaces them.
func TestSwarmIsPartOfTheRun(t *testing.T) {
	text := strings.Replace(threadScenario, "KEYS", "swarm: all but crash\nfaults: |\n  pause c2 for 10ms at 20ms", 1)
	text = strings.Replace(text, "heal: 0s", "heal: 1s", 1)
	drawn := 0
	for seed := range uint64(8) {
		setup := Setup{Implementation: "redis/setnx-px", Seed: seed, Trace: sim.HashOnly}
		one, again := runText(t, text, setup), runText(t, text, setup)
		if one.Hash != again.Hash || one.Plan.String() != again.Plan.String() {
			t.Errorf("seed %d is not the same twice", seed)
		}
		if got := strings.Join(one.History.Header.Plan, "\n") + "\n"; got != one.Plan.String() {
			t.Errorf("the header has\n%sthe plan is\n%s", got, one.Plan)
		}
		if one.Plan[0].String() != "pause c2 for 10ms at 20ms" {
			t.Errorf("what is written does not come first: %v", one.Plan[0])
		}
		for _, fault := range one.Plan[1:] {
			if drawn++; strings.HasPrefix(fault.String(), "crash") || strings.HasPrefix(fault.String(), "expire") {
				t.Errorf("%q is not in the pool", fault)
			}
		}
		setup.Plan, setup.FixedPlan = one.Plan[:1], true
		if fixed := runText(t, text, setup); len(fixed.Plan) != 1 {
			t.Errorf("a given plan is extended: %v", fixed.Plan)
		}
	}
	if drawn < 20 {
		t.Errorf("only %d faults in 8 seeds", drawn)
	}
}
