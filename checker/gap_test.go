package checker

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lockstep-sim/lockstep/checker/model"
)

var gapDifferential = flag.Int("checker.gaps", 20_000, "random histories on which to compare the gap check")

// randomAnswers makes a small history in which clients are answered at random, with no server behind it. Half of the
// answers follow what a client holds, so that some histories are legal.
func randomAnswers(rng *rand.Rand, reentrant bool) *History {
	h := &History{}
	type state struct {
		process, depth int
		f              string
	}
	clients := make([]state, 2+rng.IntN(4))
	next := len(clients)
	for i := range clients {
		clients[i].process = i
	}
	add := func(p int, t Type, f string) {
		n := len(h.Events)
		h.Events = append(h.Events, Event{
			Index: int64(n), Time: time.Duration(n), Process: p, Node: "c", Type: t, F: f, Key: "job",
		})
	}
	held := none // the process that most likely holds
	for calls, want := 0, 3+rng.IntN(12); ; {
		i := rng.IntN(len(clients))
		c := &clients[i]
		switch {
		case c.f == "" && calls == want:
			open := false
			for _, other := range clients {
				open = open || other.f != ""
			}
			if !open {
				return h
			}
		case c.f == "":
			calls++
			c.f = []string{TryAcquire, TryAcquire, Acquire, Release}[rng.IntN(4)]
			if c.depth > 0 && rng.IntN(3) > 0 {
				c.f = Release
			}
			add(c.process, Invoke, c.f)
		case rng.IntN(12) == 0: // It dies, and another process goes on.
			if rng.IntN(2) == 0 {
				add(c.process, Crash, c.f)
				h.Events[len(h.Events)-1].Type, h.Events[len(h.Events)-1].F = Info, Crash
			} else {
				add(c.process, Info, c.f)
			}
			if held == c.process && rng.IntN(2) == 0 {
				held = none
			}
			*c = state{process: next}
			next++
		default:
			free := held == none || held == c.process && reentrant
			ok := c.f == Acquire || c.f == Release && held == c.process || c.f == TryAcquire && free
			if c.f != Acquire && rng.IntN(20) == 0 {
				ok = !ok
			}
			if c.f == Acquire && !free && rng.IntN(8) > 0 {
				continue // it goes on waiting
			}
			add(c.process, map[bool]Type{true: OK, false: Fail}[ok], c.f)
			switch {
			case ok && c.f == Release:
				if c.depth--; c.depth <= 0 {
					c.depth, held = 0, none
				}
			case ok:
				c.depth++
				held = c.process
			}
			c.f = ""
		}
		if len(h.Events) > 200 {
			return h // everybody waits for a lock that nobody will release
		}
	}
}

// smallRun makes a small history of a simulated server, correct or not.
func smallRun(rng *rand.Rand, reentrant bool) *History {
	return generator{
		clients: 2 + rng.IntN(4), operations: 3 + rng.IntN(10), reentrant: reentrant, blocking: rng.IntN(4) == 0,
		crashes: 100 * rng.IntN(2), noise: 8 * rng.IntN(2), defect: []defect{
			noDefect, noDefect, doubleGrant, foreignRelease, freesAtFirst, refusesFree,
		}[rng.IntN(6)], timed: 20 * rng.IntN(2), served: rng.IntN(2) == 0,
	}.generate(rng.Uint64())
}

// gapsOf asks the gap check about the first lock of a history.
func gapsOf(a *analysis, options Options) (offence int, usable bool) {
	if len(a.locks) == 0 {
		return none, false
	}
	g := gapCheck{
		a: a, reentrant: options.Promises.Reentrant, explained: a.explainedRefusals(),
		clients: make([]gapClient, len(a.clients)),
	}
	if !g.usable(a.locks[0], options) {
		return none, false
	}
	return g.judge(a.locks[0]), true
}

// TestGapsAgainstPorcupine compares the gap check with Porcupine on random histories of 3 to 14 operations, legal and
// not, with crashed clients, nested acquires and refused tries.
func TestGapsAgainstPorcupine(t *testing.T) {
	runs := *gapDifferential
	if testing.Short() {
		runs /= 10
	}
	count := make(map[Result]int)
	for seed := range runs {
		rng := rand.New(rand.NewPCG(uint64(seed), 7))
		reentrant := rng.IntN(2) == 0
		h := randomAnswers(rng, reentrant)
		if rng.IntN(2) == 0 {
			h = smallRun(rng, reentrant)
		}
		if err := h.Validate(); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, listing(h))
		}
		options := Options{Promises: Promises{Reentrant: reentrant}}.withDefaults()
		a := analyse(h)
		offence, usable := gapsOf(a, options)
		if !usable {
			if len(a.locks) > 0 {
				t.Fatalf("seed %d: the gap check cannot judge\n%s", seed, listing(h))
			}
			continue
		}
		got := Holds
		if offence != none {
			got = Violated
		}
		want := porcupineResult(a.specify(a.locks[0], options, nil), unlimited)
		count[want]++
		if got != want {
			t.Fatalf("seed %d: the gap check says %s, Porcupine %s\n%s", seed, got, want, listing(h))
		}
	}
	t.Logf("%v", count)
	if count[Holds] < runs/10 || count[Violated] < runs/10 {
		t.Errorf("too one-sided to say much: %v", count)
	}
}

// TestWitnessAgainstGaps compares the replay with the gap check. What can be replayed is legal; what is not legal
// cannot be replayed. A history that is legal but cannot be replayed has a server whose own order is not: only a server
// with a defect has one.
func TestWitnessAgainstGaps(t *testing.T) {
	runs := *gapDifferential
	if testing.Short() {
		runs /= 10
	}
	agreed, abstained := make(map[Result]int), 0
	for seed := range runs {
		rng := rand.New(rand.NewPCG(uint64(seed), 8))
		g := generator{
			clients: 2 + rng.IntN(4), operations: 3 + rng.IntN(12), reentrant: rng.IntN(2) == 0,
			blocking: rng.IntN(4) == 0, crashes: 100 * rng.IntN(2), served: true, noise: 8 * rng.IntN(2),
			defect: []defect{noDefect, doubleGrant, foreignRelease, freesAtFirst, refusesFree, phantomGrant}[rng.IntN(6)],
		}
		h := g.generate(uint64(seed))
		options := Options{Promises: Promises{Reentrant: g.reentrant}}.withDefaults()
		a := analyse(h)
		offence, usable := gapsOf(a, options)
		if !usable || len(a.locks[0].served) == 0 {
			continue
		}
		l := &linearizer{a: a, options: options}
		r := a.phrase(a.locks[0], l.object(), 0, nil).witness(make([]int32, len(a.operations)))
		if !r.usable { // The server let in, or out, somebody who was never told.
			if g.defect == noDefect && g.noise == 0 {
				t.Fatalf("seed %d: the order of a correct server says nothing\n%s", seed, listing(h))
			}
			abstained++
			continue
		}
		legal := r.failing == none
		switch {
		case legal && offence != none:
			t.Fatalf("seed %d: the replay is legal and the gap check says that nothing is\n%s", seed, listing(h))
		case !legal && offence == none && g.defect == noDefect && g.noise == 0:
			t.Fatalf("seed %d: a correct server cannot be replayed\n%s", seed, listing(h))
		case legal:
			agreed[Holds]++
		case offence != none:
			agreed[Violated]++
		default:
			agreed[Unknown]++
		}
	}
	t.Logf("legal in both, illegal in both, illegal in the server's order alone: %v; %d times the order said nothing",
		agreed, abstained)
	if abstained > runs/20 {
		t.Errorf("%d times of %d the order of the server said nothing", abstained, runs)
	}
	for _, r := range []Result{Holds, Violated, Unknown} {
		if agreed[r] == 0 {
			t.Errorf("no history was %s: too one-sided to say much", r)
		}
	}
}

// TestCuts judges histories in pieces between points at which the lock was surely held: a history is legal if and only
// if all its pieces are.
func TestCuts(t *testing.T) {
	pieces := 0
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 9))
		g := generator{
			clients: 2 + rng.IntN(4), operations: 5 + rng.IntN(20), reentrant: rng.IntN(2) == 0,
			blocking: rng.IntN(4) == 0, noise: 3 * rng.IntN(2), defect: defect(rng.IntN(int(tokenGoesBack))),
			lease: time.Second * time.Duration(rng.IntN(2)), facts: rng.IntN(2) == 0, lost: 5 * rng.IntN(2),
		}
		if g.lease > 0 {
			g.pauses, g.deadlines = 40, rng.IntN(2) == 0
		}
		h := g.generate(seed)
		options := Options{Promises: Promises{Reentrant: g.reentrant, Leased: g.lease > 0}}.withDefaults()
		a := analyse(h)
		if len(a.locks) == 0 {
			continue
		}
		m := a.specify(a.locks[0], options, a.explainedRefusals())
		whole := linearize(m, options.Configurations).result
		if whole == Unknown {
			continue
		}
		for _, c := range m.cuts() {
			pieces++
			before := linearize(m.upTo(c.position), options.Configurations).result
			after := linearize(m.between(c, len(h.Events)), options.Configurations).result
			if Merge(before, after) != whole {
				t.Fatalf("seed %d: %s, but %s up to event %d and %s from there\n%s", seed, whole, before, c.position, after,
					listing(h))
			}
		}
	}
	if pieces < 1000 {
		t.Errorf("only %d pieces", pieces)
	}
}

// TestPermitsAgainstPorcupine compares the sweep over permits, where it has an answer, with Porcupine.
func TestPermitsAgainstPorcupine(t *testing.T) {
	runs := *gapDifferential / 2
	if testing.Short() {
		runs /= 10
	}
	count := make(map[Result]int)
	for seed := range runs {
		rng := rand.New(rand.NewPCG(uint64(seed), 12))
		g := generator{
			clients: 2 + rng.IntN(5), operations: 4 + rng.IntN(11), permits: 1 + rng.IntN(3), noise: 8 * rng.IntN(2),
			crashes: 100 * rng.IntN(2), defect: []defect{noDefect, doubleGrant, refusesFree}[rng.IntN(3)],
			blocking: rng.IntN(4) == 0,
		}
		lock := model.Semaphore{Permits: 1 + rng.IntN(3)}
		h := g.generate(uint64(seed))
		a := analyse(h)
		if len(a.locks) == 0 {
			continue
		}
		s := permitSweep{a: a, permits: lock.Permits}
		offence, decided := s.judge(a.locks[0])
		if !decided {
			count[Unknown]++
			continue
		}
		got := Holds
		if offence != none {
			got = Violated
		}
		count[got]++
		want := porcupineExplores(lock, a.phrase(a.locks[0], lock, 0, nil).steps(), unlimited)
		if got != want {
			t.Fatalf("seed %d: the sweep says %s, Porcupine %s of %s\n%s", seed, got, want, lock.Name(), listing(h))
		}
	}
	t.Logf("%v", count)
	if count[Holds] < runs/10 || count[Violated] < runs/10 {
		t.Errorf("too one-sided to say much: %v", count)
	}
}

// TestTightLimits judges with a search that gives up nearly at once, so that Porcupine judges pieces. What it finds
// must be what the search finds that has room.
func TestTightLimits(t *testing.T) {
	byPieces := 0
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 13))
		g := generator{
			clients: 2 + rng.IntN(4), operations: 5 + rng.IntN(30), reentrant: rng.IntN(2) == 0, facts: true,
			noise: 3 * rng.IntN(2), defect: defect(rng.IntN(int(tokenGoesBack))), lease: time.Second, pauses: 40,
			lost: 5 * rng.IntN(2),
		}
		h := g.generate(seed)
		options := Options{
			Properties: []Property{Linearizability}, Promises: Promises{Reentrant: g.reentrant, Leased: true},
		}
		want := Check(h, options)[0]
		options.Configurations = 1
		got := Check(h, options)[0]
		if got.Result != want.Result && !got.GaveUp {
			t.Fatalf("seed %d: got %s by %v, want %s\n%s", seed, got, got.By, want, listing(h))
		}
		if len(got.By) > 0 && got.By[0] == rungPorcupine {
			byPieces++
		}
	}
	if byPieces < 100 {
		t.Errorf("pieces decided in %d histories only", byPieces)
	}
}
