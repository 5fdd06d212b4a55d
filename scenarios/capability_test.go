package scenarios

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/faults"
	"github.com/lockstep-sim/lockstep/sim"
)

// capability is one thing that the bench must be able to do to a lock, and the proof that it can: a scenario in which
// that thing alone makes a lock fail that holds without it.
type capability struct {
	name, does string

	scenario, implementation string
	shows                    string // a property or a mechanism
	// The capability is taken away by one of these: faults of some kinds, a setting of the scenario, or a judgement.
	kinds   []faults.Kind
	apart   []faults.Kind // faults that the scenario has beside them; they are taken away in any case
	neutral func(*Scenario)
	judged  checker.Property
	// without says in words what it is like then.
	without string
}

// seedsOfProof is how many seeds a capability has to show itself in, and how many must hold without it.
const seedsOfProof = 30

var capabilities = []capability{
	{
		name: "TTL", does: "a lease ends, also between two commands of one call",
		scenario: "overstay", implementation: "redis/getset", shows: "R13",
		neutral: func(s *Scenario) { s.Lease = time.Hour }, without: "a lease of an hour",
	},
	{
		name: "YIELD", does: "clients take turns between any two requests",
		scenario: "zk-lost-wakeup", implementation: "zk/fair", shows: "Z16",
		neutral: func(s *Scenario) { s.Latency = sim.Fixed(time.Millisecond) }, without: "every message takes 1 ms",
	},
	{
		name: "LIVENESS", does: "it is judged whether a lock that is wanted gets held",
		scenario: "zk-lost-wakeup", implementation: "zk/fair", shows: "liveness",
		judged: checker.Liveness, without: "safety alone",
	},
	{
		name: "LOSTREPLY", does: "a request is executed and its answer lost",
		scenario: "zk-lost-create", implementation: "zk/fair-repaired!create-untracked", shows: "liveness",
		kinds: []faults.Kind{faults.LoseReply},
	},
	{
		name: "PAUSE", does: "a machine stands still",
		scenario: "slow-unlock", implementation: "redis/getset", shows: "R5",
		kinds: []faults.Kind{faults.Pause},
	},
	{
		name: "TIMERS", does: "the timers of a lock fire late or in another order, and nothing else is late",
		scenario: "starved-timers", implementation: "redis/setnx-px!deadline-untold", shows: "mutual-exclusion",
		kinds: []faults.Kind{faults.StarveTimers, faults.ReorderTimers},
	},
	{
		name: "TIMERS", does: "the timers of a lock fire in another order, by itself",
		scenario: "starved-timers", implementation: "redis/setnx-px!deadline-untold", shows: "mutual-exclusion",
		kinds: []faults.Kind{faults.ReorderTimers}, apart: []faults.Kind{faults.StarveTimers},
	},
	{
		name: "DROPCONN", does: "a connection breaks before a request is executed",
		scenario: "zk-delete-fails", implementation: "zk/fair", shows: "Z20",
		kinds: []faults.Kind{faults.LoseRequest},
	},
	{
		name: "SESSION", does: "the server ends a session before its time",
		scenario: "zk-session-lost", implementation: "zk/fair", shows: "Z8",
		kinds: []faults.Kind{faults.ExpireSession},
	},
	{
		name: "CRASH", does: "a process dies at any step, and comes back as itself or as somebody new",
		scenario: "abandoned", implementation: "redis/getset", shows: "R20",
		kinds: []faults.Kind{faults.Crash},
	},
	{
		name: "WATCH", does: "every watch hears that the connection is gone, and its event is not the one waited for",
		scenario: "zk-blip", implementation: "zk/fair", shows: "mutual-exclusion",
		kinds: []faults.Kind{faults.Cut},
	},
	{
		name: "WATCH", does: "the event of a watch is late, lost or sent twice; no real server loses one",
		scenario: "zk-lost-event", implementation: "zk/go-zookeeper", shows: "liveness",
		kinds: []faults.Kind{faults.LoseEvent, faults.DelayEvent, faults.RepeatEvent},
	},
	{
		name: "PARTITION", does: "a link carries nothing, in one direction or both, with a reset or silently",
		scenario: "zk-partition", implementation: "zk/fair-repaired!no-deadline", shows: "mutual-exclusion",
		kinds: []faults.Kind{faults.Cut},
	},
	{
		name: "PARTITION", does: "a connection is reset and cannot be made again for a while",
		scenario: "pubsub-cut-off", implementation: "redis/pubsub!broken-subscription-ignored", shows: "liveness",
		kinds: []faults.Kind{faults.Cut},
	},
	{
		name: "PARTITION", does: "a link carries nothing in one direction, and still carries the other",
		scenario: "zk-slow-answer", implementation: "zk/fair-repaired!deadline-from-answer", shows: "mutual-exclusion",
		kinds: []faults.Kind{faults.Cut},
	},
	{
		name: "BADARG", does: "waits that make no sense: none, less than none, the longest that there is",
		scenario: "odd-waits", implementation: "redis/getset", shows: "truthful-refusal",
		neutral: func(s *Scenario) {
			programs := maps.Clone(s.Programs)
			for name := range programs {
				programs[name] = s.Programs["c1"]
			}
			s.Programs = programs
		},
		without: "all wait as c1 does",
	},
	{
		name: "BADARG", does: "clients give their nodes names that begin differently",
		scenario: "zk-prefixes", implementation: "zk/fair", shows: "Z11",
		neutral: func(s *Scenario) { s.Differ = nil }, without: "names that begin alike",
	},
	{
		name: "BADARG", does: "a node of somebody else stands where the lock keeps its own",
		scenario: "zk-foreign-child", implementation: "zk/fair-repaired!foreign-nodes-counted", shows: "liveness",
		kinds: []faults.Kind{faults.AddPath},
	},
	{
		name: "BADARG", does: "arguments that nobody expects: odd waits, foreign keys and children, alike or equal tokens",
		scenario: "shared-random", implementation: "redis/setnx-px", shows: "mutual-exclusion",
		neutral: func(s *Scenario) { s.SharedRandom = false }, without: "tokens that differ",
	},
	{
		name: "SHAREDOBJ", does: "several goroutines use one handle, or several handles one identity",
		scenario: "shared-handle", implementation: "redis/getset", shows: "R10",
		neutral: func(s *Scenario) { s.Threads = OwnThreads }, without: "a handle for each thread",
	},
	{
		name: "CANCEL", does: "a call is called off, or told that its time is over, at any step",
		scenario: "cancelled-wait", implementation: "zk/fair", shows: "mutual-exclusion",
		kinds: []faults.Kind{faults.CancelCall},
	},
	{
		name: "CANCEL", does: "a call is told that its time is over, between the execution of its request and the answer",
		scenario: "cancelled-acquire", implementation: "redis/getset-repaired!no-cleanup-after-unknown", shows: "liveness",
		kinds: []faults.Kind{faults.CancelCall},
	},
	{
		name: "PUBSUB", does: "the message of a channel is late, lost or sent twice, or nobody listens yet",
		scenario: "pubsub-lost-message", implementation: "redis/pubsub!no-fallback-timer", shows: "liveness",
		kinds: []faults.Kind{faults.LoseEvent, faults.DelayEvent, faults.RepeatEvent},
	},
	{
		name: "MULTI", does: "several servers keep one lock, and each fails by itself",
		scenario: "redlock-forgotten", implementation: "redis/redlock", shows: "mutual-exclusion",
		kinds: []faults.Kind{faults.Restart, faults.ClockStep},
	},
	{
		name: "DELAYREQ", does: "a request stays in the network and is executed late",
		scenario: "slow-unlock", implementation: "redis/setnx-px!release-without-compare", shows: "mutual-exclusion",
		kinds: []faults.Kind{faults.DelayRequest},
	},
	{
		name: "AUTORETRY", does: "the client library sends a request again by itself",
		scenario: "resent-release", implementation: "redis/getset-repaired", shows: "linearizability",
		neutral: func(s *Scenario) { s.Retries = 0 }, without: "no retries",
	},
	{
		name: "CLOCKSKEW", does: "the clock of a client is ahead, behind, or runs at another rate",
		scenario: "client-clock", implementation: "redis/getset-repaired!expiry-by-client-clock", shows: "mutual-exclusion",
		kinds: []faults.Kind{faults.ClockOffset, faults.ClockDrift},
	},
	{
		name: "CLOCKSKEW", does: "a client takes seconds for milliseconds when it reads its clock",
		scenario: "clock-unit", implementation: "redis/getset-repaired!expiry-by-client-clock", shows: "mutual-exclusion",
		kinds: []faults.Kind{faults.ClockUnit},
	},
	{
		name: "CLOCKJUMP", does: "the clock of a server jumps",
		scenario: "redis-clock-step", implementation: "redis/setnx-px", shows: "mutual-exclusion",
		kinds: []faults.Kind{faults.ClockStep},
	},
	{
		name: "TIMESRV", does: "the time server is away or slow",
		scenario: "time-server-down", implementation: "redis/getset", shows: "R18",
		kinds: []faults.Kind{faults.Down},
	},
	{
		name: "TIMESRV", does: "the time server contradicts itself",
		scenario: "time-jitter", implementation: "redis/getset", shows: "mutual-exclusion",
		kinds: []faults.Kind{faults.ClockJitter},
	},
	{
		name: "ADMIN", does: "a third party removes or adds keys and nodes",
		scenario: "zk-removed", implementation: "zk/fair", shows: "mutual-exclusion",
		kinds: []faults.Kind{faults.RemovePath, faults.AddPath},
	},
	{
		name: "NODERESTART", does: "a server comes back without its data",
		scenario: "empty-restart", implementation: "redis/getset-repaired", shows: "mutual-exclusion",
		kinds: []faults.Kind{faults.Restart},
	},
	{
		name: "NODERESTART", does: "a server comes back without its last writes",
		scenario: "rolled-back", implementation: "redis/setnx-px", shows: "mutual-exclusion",
		kinds: []faults.Kind{faults.RollBack},
	},
	{
		name: "SEQPRESET", does: "the counter of sequential nodes stands near its end",
		scenario: "zk-counter-wrap", implementation: "zk/fair", shows: "Z12",
		kinds: []faults.Kind{faults.PresetCounter},
	},
	{
		name: "SCRIPTFAIL", does: "a script on the server fails midway and keeps what it has written",
		scenario: "failed-script", implementation: "redis/getset-repaired", shows: "liveness",
		kinds: []faults.Kind{faults.FailScript},
	},
	{
		name: "RESOURCE", does: "it is judged who writes to what the lock protects, with and without a check of tokens",
		scenario: "late-write", implementation: "redis/setnx-px", shows: "resource",
		judged: checker.Resource, without: "the lock alone",
	},
}

// bare is the scenario without the capability.
func (c *capability) bare(s *Scenario) *Scenario {
	bare := withoutFaults(s, c.kinds)
	if c.neutral != nil {
		c.neutral(bare)
	}
	return bare
}

// withoutFaults is the scenario without its faults of some kinds.
func withoutFaults(s *Scenario, kinds []faults.Kind) *Scenario {
	bare := *s
	bare.Implementations = slices.Clone(s.Implementations)
	drop := func(all []faults.Template) []faults.Template {
		return slices.DeleteFunc(slices.Clone(all), func(t faults.Template) bool {
			return slices.Contains(kinds, t.Low().Kind)
		})
	}
	bare.Faults = drop(s.Faults)
	for i := range bare.Implementations {
		if e := &bare.Implementations[i]; e.Faults != nil {
			e.Faults = append([]faults.Template{}, drop(e.Faults)...)
		}
	}
	return &bare
}

// shown tells whether an outcome shows what the capability is to show.
func (c *capability) shown(o *Outcome) bool {
	q := quarry{property: checker.Property(c.shows)}
	if isMechanism(c.shows) {
		q = quarry{mechanism: c.shows}
	}
	_, ok := o.Choose(q.property, q.mechanism)
	return ok
}

// prove runs the scenario with and without the capability, and returns the first seed that shows it.
func (c *capability) prove(t *testing.T) (first uint64) {
	s, err := Load(c.scenario)
	if err != nil {
		t.Fatal(err)
	}
	s = withoutFaults(s, c.apart)
	setup := Setup{Scenario: s, Implementation: c.implementation}
	var outcome *Outcome
	for setup.Seed = 1; setup.Seed <= seedsOfProof; setup.Seed++ {
		if outcome = mustRun(t, setup); c.shown(outcome) {
			break
		}
	}
	if first = setup.Seed; first > seedsOfProof {
		t.Errorf("%s: %s does not show %s in %d seeds of %s", c.name, c.implementation, c.shows, seedsOfProof, c.scenario)
		return 0
	}
	if c.judged != "" {
		c.holds(t, outcome, first)
		return first
	}
	setup.Scenario = c.bare(s)
	for setup.Seed = 1; setup.Seed <= seedsOfProof; setup.Seed++ {
		c.holds(t, mustRun(t, setup), setup.Seed)
	}
	return first
}

// holds expects that no property is violated but the one whose judgement is the capability.
func (c *capability) holds(t *testing.T, o *Outcome, seed uint64) {
	for _, v := range o.Verdicts {
		if !c.judged.Covers(v.Property) && !v.Skipped && v.Result == checker.Violated {
			t.Errorf("%s: without it %s of %s is violated in seed %d of %s", c.name, v.Property, c.implementation, seed,
				c.scenario)
		}
	}
}

// words says what is taken away.
func (c *capability) words() string {
	if c.without != "" {
		return c.without
	}
	names := make([]string, len(c.kinds))
	for i, kind := range c.kinds {
		names[i] = kind.String()
	}
	text := "no " + strings.Join(names, ", ")
	for _, kind := range c.apart {
		text += " (with no " + kind.String() + " in either)"
	}
	return text
}

// TestEveryKindOfFaultIsUsed wants each kind in some scenario of the library by name, not only in pools.
func TestEveryKindOfFaultIsUsed(t *testing.T) {
	used := map[faults.Kind]bool{}
	for _, s := range Library() {
		templates := slices.Clone(s.Faults)
		for _, e := range s.Implementations {
			templates = append(templates, e.Faults...)
		}
		for _, template := range templates {
			used[template.Low().Kind] = true
		}
	}
	for _, kind := range faults.Kinds() {
		if !used[kind] {
			t.Errorf("no scenario has a fault such as %q", kind.Syntax())
		}
	}
}

// TestCapabilities proves every capability and keeps the table of docs/capabilities.md. Write it anew with -rewrite.
func TestCapabilities(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs every capability with and without, which takes some seconds")
	}
	var table strings.Builder
	table.WriteString(capabilityHead)
	for _, c := range capabilities {
		first := c.prove(t)
		fmt.Fprintf(&table, "| %s | %s | [%s](../scenarios/library/%s.yaml) | %s | %s | %d | %s |\n", c.name, c.does,
			c.scenario, c.scenario, c.implementation, c.shows, first, c.words())
	}
	const path = "../docs/capabilities.md"
	if rewriting() && !t.Failed() {
		if err := os.WriteFile(path, []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if table.String() != string(want) {
		t.Errorf("%s is out of date; run this test with -rewrite and read the difference", path)
	}
}

var capabilityHead = fmt.Sprintf(`# What can go wrong

Each row is something that lockstep can do to a lock, or judge about it, and the proof that this matters: in the
scenario it alone makes the lock fail. With it, the first seed that shows the failure is given; without it, no promise
is broken in %d seeds from the first on. Where the capability is a judgement, that seed breaks no other promise.

| capability | what it does | scenario | lock | shows | first seed | without it |
| --- | --- | --- | --- | --- | --- | --- |
`, seedsOfProof)
