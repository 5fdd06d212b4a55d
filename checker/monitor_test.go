package checker

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// watchedGenerator draws a server, with or without a bug.
func watchedGenerator(rng *rand.Rand) generator {
	g := generator{
		clients: 2 + rng.IntN(5), operations: 40 + rng.IntN(100), reentrant: rng.IntN(3) == 0, blocking: rng.IntN(3) == 0,
		tokens: true, facts: rng.IntN(4) > 0, writes: rng.IntN(2) == 0, lost: 4 * rng.IntN(2), crashes: 10 * rng.IntN(2),
		deadlines: rng.IntN(2) == 0, noise: 3 * rng.IntN(2) * rng.IntN(2), keys: 1 + rng.IntN(2)*rng.IntN(2),
	}
	if g.keys > 1 {
		g.writes = false // which lock protects the resource would not be told
	}
	if rng.IntN(2) == 0 {
		g.lease, g.pauses = 400*time.Millisecond, 10
	}
	if rng.IntN(3) > 0 {
		g.defect = defect(rng.IntN(int(noDefects)))
	}
	return g
}

// watch feeds a history event by event to a monitor. It returns how many events it took, and the verdict.
func watch(h *History, options Options) (int, Verdict, bool) {
	growing := &History{Header: h.Header}
	m := NewMonitor(growing, options)
	for i := range h.Events {
		growing.Events = append(growing.Events, h.Events[i])
		if v, violated := m.Next(); violated {
			return i + 1, v, true
		}
	}
	v, violated := m.Finish()
	return len(h.Events), v, violated
}

// same compares what two verdicts say of their first violation, but for what a longer history may add: how long it
// lasted, and by which events it ended.
func same(x, y *Violation) bool {
	return x.Kind == y.Kind && x.Key == y.Key && x.From == y.From && fmt.Sprint(x.Processes) == fmt.Sprint(y.Processes)
}

// violatedBefore tells whether the first n events, without the last instant of them, show a violation already.
func violatedBefore(h *History, n int, options Options) bool {
	if n == 0 || n == len(h.Events)-1 {
		return false
	}
	for last := h.Events[n-1].Time; n > 0 && h.Events[n-1].Time == last; {
		n--
	}
	options.growing = true
	return Check(&History{Header: h.Header, Events: h.Events[:n]}, options)[0].Result == Violated
}

// TestMonitorAgrees feeds random histories, legal and not, event by event to monitors of one property each. A monitor
// must speak up exactly where the whole history violates the property, about a violation that the whole history has
// too, and mostly as soon as the history so far shows it: after a false sign it may take a little longer.
func TestMonitorAgrees(t *testing.T) {
	spoke, late := map[Property]int{}, map[Property]int{}
	for seed := range uint64(1500) {
		rng := rand.New(rand.NewPCG(seed, 9))
		g := watchedGenerator(rng)
		h := g.generate(seed)
		switch rng.IntN(4) {
		case 0:
			h = unchecked(func(uint64) *History { return h })(seed)
		case 1:
			if g.facts && g.keys == 1 {
				h = clobbering(func(uint64) *History { return h })(seed)
			}
		}
		options := Options{Promises: Promises{
			Reentrant: g.reentrant, Fenced: true, Leased: g.lease > 0, LossTold: rng.IntN(2) == 0,
		}, MaxViolations: 10_000}
		for _, p := range Monitored() {
			options.Properties = []Property{p}
			whole := Check(h, options)[0]
			n, v, violated := watch(h, options)
			if violated != (whole.Result == Violated) {
				t.Fatalf("seed %d: the monitor says %q after %d of %d events, the whole history says %q\n%s",
					seed, v, n, len(h.Events), whole, listing(h))
			}
			if !violated {
				continue
			}
			spoke[p]++
			// Two may begin at one instant and be told in another order; none may be older than what the monitor told.
			first := &v.Violations[0]
			found := false
			for i := range whole.Violations {
				found = found || same(first, &whole.Violations[i])
			}
			if !found || p == MutualExclusion && !same(first, &whole.Violations[0]) {
				t.Fatalf("seed %d: the monitor says %q after %d events, the whole history says %q", seed, v, n, whole)
			}
			if violatedBefore(h, n-1, options) {
				late[p]++
			}
		}
	}
	for _, p := range Monitored() {
		t.Logf("%s: violated in %d of 1,500 histories, told late in %d", p, spoke[p], late[p])
		if late[p] > spoke[p]/4 {
			t.Errorf("the monitor of %s was late in %d of %d histories", p, late[p], spoke[p])
		}
		if spoke[p] < 20 {
			t.Errorf("%s was violated in %d histories only, so the monitor was not put to the test", p, spoke[p])
		}
	}
}

// TestMonitorTakesAnything feeds answers without calls, and calls without answers, to a monitor: it may say what it
// likes, but must not fall over.
func TestMonitorTakesAnything(t *testing.T) {
	h := (&generator{clients: 3, operations: 200, reentrant: true, tokens: true, facts: true, writes: true}).generate(1)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		broken := &History{Header: h.Header}
		for i := range h.Events {
			if rng.IntN(4) > 0 {
				broken.Events = append(broken.Events, h.Events[i])
			}
		}
		watch(broken, Options{Promises: Promises{Reentrant: true}})
	}
}
