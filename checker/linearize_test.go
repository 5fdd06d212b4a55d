package checker

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"
)

// unlimited lets Porcupine take as many steps as it likes.
const unlimited = -1

var differential = flag.Int("checker.differential", 20_000, "random histories to compare with Porcupine")

// TestAgainstPorcupine compares the search with Porcupine on small random histories, legal and illegal ones, with lost
// replies, lapses and deadlines among them. The two share the sequential lock but nothing of the search.
func TestAgainstPorcupine(t *testing.T) {
	runs := *differential
	if testing.Short() {
		runs /= 10
	}
	count := make(map[Result]int)
	for seed := range runs {
		rng := rand.New(rand.NewPCG(uint64(seed), 2))
		g := generator{
			clients: 2 + rng.IntN(4), operations: 3 + rng.IntN(12), reentrant: rng.IntN(2) == 0,
			blocking: rng.IntN(4) == 0, lost: 20 * rng.IntN(2), noise: 8 * rng.IntN(2),
			defect: defect(rng.IntN(5)),
		}
		h := g.generate(uint64(seed))
		options := Options{Promises: Promises{Reentrant: g.reentrant, Leased: rng.IntN(2) == 0}}.withDefaults()
		blemish(h, rng, options.Promises.Leased)
		if err := h.Validate(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		a := analyse(h)
		for _, log := range a.locks {
			m := a.specify(log, options, a.explainedRefusals())
			want := porcupineResult(m, unlimited)
			got := linearize(m, options.Configurations)
			count[want]++
			if got.result != want {
				t.Fatalf("seed %d: the search says %s (%s), Porcupine %s\n%s", seed, got.result, got.limit, want, listing(h))
			}
			if got.result == Violated {
				comparePrefix(t, seed, m, got)
			}
		}
	}
	t.Logf("%v", count)
	if count[Holds] < runs/10 || count[Violated] < runs/10 {
		t.Errorf("too one-sided to say much: %v", count)
	}
}

// comparePrefix checks that the failing step is the first that Porcupine cannot explain either.
func comparePrefix(t *testing.T, seed int, m *specification, got searchResult) {
	t.Helper()
	failing := &m.steps[got.failing]
	if r := porcupineResult(m.upTo(failing.ret), unlimited); r != Violated {
		t.Fatalf("seed %d: Porcupine says %s of the history up to the failing step", seed, r)
	}
	if r := porcupineResult(m.upTo(failing.ret-1), unlimited); r != Holds {
		t.Fatalf("seed %d: Porcupine says %s of the history before the failing step", seed, r)
	}
}

// blemish adds what the generator's server does not know: lapses and deadlines, which make some illegal histories
// legal and the other way round.
func blemish(h *History, rng *rand.Rand, leased bool) {
	if leased {
		for i := range h.Events {
			if e := &h.Events[i]; e.Type == OK && e.F != Release && rng.IntN(2) == 0 {
				e.Deadline = e.Time + time.Duration(rng.IntN(600))*time.Millisecond
			}
		}
		return
	}
	if rng.IntN(2) == 0 || len(h.Events) == 0 {
		return
	}
	var events []Event
	for _, e := range h.Events {
		events = append(events, e)
		if rng.IntN(5) == 0 {
			fact := Event{Time: e.Time, Process: ProcessServer, Type: Info, F: RecordGone, Key: "job", Command: CommandExpire}
			fact.Previous = &Record{Owner: e.Node}
			events = append(events, fact)
		}
	}
	for i := range events {
		events[i].Index = int64(i)
		if events[i].Process >= 0 {
			events[i].Owner = events[i].Node
		}
	}
	h.Events = events
}

// TestSearchLimits checks that what is too much for the search is said to be unknown, and never takes for ever.
func TestSearchLimits(t *testing.T) {
	h := &History{}
	add := func(p int, typ Type, f string) {
		i := len(h.Events)
		h.Events = append(h.Events, Event{
			Index: int64(i), Time: time.Duration(i), Process: p, Node: "c", Type: typ, F: f, Key: "job",
		})
	}
	for p := range slots + 1 {
		add(p, Invoke, Acquire)
	}
	add(0, OK, Acquire)
	v := Check(h, Options{Properties: []Property{Linearizability}})[0]
	if v.Result != Unknown {
		t.Errorf("got %s, want unknown", v)
	}
}

// TestManyClients checks histories that a search without the lock's structure does not finish: many clients whose
// tries fail, and many lost replies.
func TestManyClients(t *testing.T) {
	for _, g := range []generator{
		{clients: 100, operations: 3000},
		{clients: 100, operations: 3000, blocking: true},
		{clients: 100, operations: 3000, defect: doubleGrant},
		{clients: 10, operations: 1000, lost: 2, reentrant: true},
	} {
		want := Holds
		if g.defect == doubleGrant {
			want = Violated
		}
		for seed := range uint64(3) {
			options := Options{Properties: []Property{Linearizability}, Promises: Promises{Reentrant: g.reentrant}}
			v := Check(g.generate(seed), options)[0]
			if v.Result != want {
				t.Errorf("%+v, seed %d: got %s, want %s", g, seed, v, want)
			}
		}
	}
}
