package checker

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// addClient adds client number c, which acquires a lock at a time.
func addClient(a *analysis, c int, now time.Duration) {
	node := fmt.Sprintf("c%d", c)
	a.clients = append(a.clients, client{process: c, node: node})
	a.byNode[node] = &machine{clients: []int{c}}
	a.operations = append(a.operations, operation{ret: c})
	a.events = append(a.events, Event{Index: int64(c), Time: now})
}

// TestSweepReference compares the sweep over claims with a comparison of all pairs.
func TestSweepReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := &lockLog{key: "job"}
		a := &analysis{byNode: map[string]*machine{}}
		now := 0
		for range rapid.IntRange(0, 12).Draw(t, "claims") {
			now += rapid.IntRange(0, 3).Draw(t, "gap")
			c := len(a.clients)
			addClient(a, c, time.Duration(now))
			log.claims = append(log.claims, claim{
				client: c, acquire: c, start: instant{time.Duration(now), c},
				end:    instant{time.Duration(now + rapid.IntRange(0, 6).Draw(t, "length")), 1000},
				ending: released,
			})
		}
		for i := range log.claims { // some last to the end
			if c := &log.claims[i]; rapid.IntRange(0, 4).Draw(t, "unended") == 0 {
				c.end, c.ending = instant{time.Duration(now), 2000}, unended
			}
		}
		pairs, longest, covered := allPairs(log.claims)
		f := &findings{cap: rapid.IntRange(1, 100).Draw(t, "cap")}
		a.sweep(log, 1, f)
		if f.found != pairs || f.longest != longest || f.sum != covered {
			t.Fatalf("got %d overlaps, longest %d, %d in total; want %d, %d, %d",
				f.found, f.longest, f.sum, pairs, longest, covered)
		}
		if len(f.violations) != min(pairs, f.cap) {
			t.Fatalf("listed %d of %d with a cap of %d", len(f.violations), pairs, f.cap)
		}
	})
}

// TestPermitSweepReference compares the sweep for several permits with a count of who holds at each time.
func TestPermitSweepReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		permits := rapid.IntRange(1, 3).Draw(t, "permits")
		log := &lockLog{key: "job"}
		a := &analysis{byNode: map[string]*machine{}}
		now := 0
		for c := range rapid.IntRange(0, 12).Draw(t, "claims") {
			now += rapid.IntRange(0, 3).Draw(t, "gap")
			addClient(a, c, time.Duration(now))
			log.claims = append(log.claims, claim{
				client: c, acquire: c, start: instant{time.Duration(now), c}, ending: released,
				end: instant{time.Duration(now + rapid.IntRange(1, 6).Draw(t, "length")), 1000},
			})
		}
		starts, covered := 0, time.Duration(0)
		holders := func(at time.Duration, started int) (n int) {
			for i := range log.claims[:started] {
				if x := &log.claims[i]; x.start.time <= at && at < x.end.time {
					n++
				}
			}
			return n
		}
		for i := range log.claims {
			if holders(log.claims[i].start.time, i) >= permits {
				starts++
			}
		}
		for at := range time.Duration(now + 10) {
			if holders(at, len(log.claims)) > permits {
				covered++
			}
		}
		f := &findings{cap: 100}
		a.sweep(log, permits, f)
		if permits > 1 && f.found != starts || f.sum != covered || (starts > 0) != (f.found > 0) {
			t.Fatalf("got %d with %d in total, want %d with %d", f.found, f.sum, starts, covered)
		}
		for _, v := range f.violations {
			for _, at := range []time.Duration{v.From, v.To - 1} {
				if v.To > v.From && holders(at, len(log.claims)) <= permits {
					t.Fatalf("%q: no more than %d held at %d", v.Text, permits, at)
				}
			}
		}
	})
}

func allPairs(claims []claim) (pairs int, longest, covered time.Duration) {
	two := make(map[time.Duration]bool) // nanoseconds in which two held
	for i := range claims {
		for j := range i {
			x, y := &claims[j], &claims[i]
			if x.empty() || y.empty() || x.over(y.start.time) {
				continue
			}
			pairs++
			end := min(x.end.time, y.end.time)
			longest = max(longest, end-y.start.time)
			for at := y.start.time; at < end; at++ {
				two[at] = true
			}
		}
	}
	return pairs, longest, time.Duration(len(two))
}

// TestTokenReference compares the order of tokens with a comparison of all pairs of holds.
func TestTokenReference(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		h := generator{clients: 2 + rng.IntN(3), operations: 4 + rng.IntN(16), blocking: true, tokens: true}.generate(seed)
		for i := range h.Events {
			if h.Events[i].Token != 0 && rng.IntN(6) == 0 {
				h.Events[i].Token += int64(rng.IntN(5)) - 2
			}
		}
		a := analyse(h)
		want := Holds
		for _, x := range a.tokensOf(a.locks[0]) {
			for _, y := range a.tokensOf(a.locks[0]) {
				if x.ret < y.call && x.claim.token > y.claim.token || x.ret != y.ret && x.claim.token == y.claim.token {
					want = Violated
				}
			}
		}
		v := Check(h, Options{Properties: []Property{TokenOrder}, Promises: Promises{Fenced: true}})[0]
		if got := v.Result; got != want && (got != Unknown || want == Violated) {
			t.Fatalf("seed %d: got %s, want %s\n%s", seed, v, want, listing(h))
		}
	}
}

// TestNamesDoNotMatter judges histories again with other processes, machines and indices, and at a later time. What is
// found must be the same.
func TestNamesDoNotMatter(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 4))
		g := generator{
			clients: 4, operations: 40, reentrant: rng.IntN(2) == 0, lost: 4 * rng.IntN(2), noise: 4 * rng.IntN(2),
			defect: defect(rng.IntN(6)), tokens: true,
		}
		h := g.generate(seed)
		options := Options{Promises: Promises{Reentrant: g.reentrant, Fenced: true}}
		before := kinds(Check(h, options))
		for i := range h.Events {
			e := &h.Events[i]
			e.Process = 1000 - 7*e.Process
			e.Node = "machine-" + e.Node
			e.Index = e.Index*3 + 11
			e.Time += time.Hour
			e.Key = "another lock"
		}
		if after := kinds(Check(h, options)); before != after {
			t.Fatalf("seed %d: got\n%s\nand with other names\n%s", seed, before, after)
		}
	}
}

// kinds renders all of verdicts that must not depend on names.
func kinds(verdicts []Verdict) string {
	s := ""
	for _, v := range verdicts {
		var list []string
		for _, x := range v.Violations {
			list = append(list, fmt.Sprint(x.Kind, len(x.Events), x.To-x.From))
		}
		sort.Strings(list)
		s += fmt.Sprintln(v.Property, v.Result, v.Found, v.Sum, v.Longest, list)
	}
	return s
}

// TestCheckIsDeterministic judges one history many times.
func TestCheckIsDeterministic(t *testing.T) {
	for seed := range uint64(20) {
		g := generator{clients: 5, operations: 200, reentrant: true, defect: freesAtFirst, lost: 3, tokens: true}
		h := g.generate(seed)
		options := Options{Promises: Promises{Reentrant: true, Fenced: true}}
		first := render(Check(h, options))
		for range 10 {
			if again := render(Check(h, options)); again != first {
				t.Fatalf("seed %d: got\n%s\nand then\n%s", seed, first, again)
			}
		}
	}
}

func TestMerge(t *testing.T) {
	tests := []struct {
		results []Result
		want    Result
	}{
		{nil, Unknown},
		{[]Result{Holds}, Holds},
		{[]Result{Holds, Unknown}, Unknown},
		{[]Result{Unknown, Violated, Holds}, Violated},
		{[]Result{Holds, ""}, Unknown},
	}
	for _, test := range tests {
		if got := Merge(test.results...); got != test.want {
			t.Errorf("Merge(%v) = %s, want %s", test.results, got, test.want)
		}
	}
	verdicts := []Verdict{{Result: Holds}, {Result: Unknown, Skipped: true}}
	if got := Overall(verdicts); got != Holds {
		t.Errorf("a skipped property counts: got %s", got)
	}
	if got := Overall(verdicts[1:]); got != Unknown {
		t.Errorf("nothing judged: got %s", got)
	}
}

func TestSeconds(t *testing.T) {
	tests := []struct {
		d    time.Duration
		want string
	}{
		{0, "0.000 s"},
		{10004 * time.Millisecond, "10.004 s"},
		{499_999, "0.000 s"},
		{500_000, "0.001 s"},
		{999_500_000, "1.000 s"},
		{-1500 * time.Millisecond, "-1.500 s"},
		{1<<63 - 1, "9223372036.855 s"},
		{-1 << 63, "-9223372036.855 s"},
	}
	for _, test := range tests {
		if got := seconds(test.d); got != test.want {
			t.Errorf("seconds(%d) = %s, want %s", test.d, got, test.want)
		}
	}
	if got, want := span(1, 2), "from 0.000000001 s to 0.000000002 s"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
