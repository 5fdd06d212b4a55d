package checker

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestOvertakingReference compares the count with the tree with a comparison of all pairs.
func TestOvertakingReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "places")
		log, a := &lockLog{key: "job"}, &analysis{byNode: map[string]*machine{}}
		a.events = make([]Event, 8*n+8)
		for i := range a.events {
			a.events[i].Index, a.events[i].Time = int64(i), time.Duration(i)
		}
		positions := rapid.Permutation(numbers(4*n)).Draw(t, "positions")
		var places []place
		for c := range n {
			node := fmt.Sprintf("c%d", c)
			a.clients = append(a.clients, client{process: c, node: node})
			a.byNode[node] = &machine{clients: []int{c}}
			p := positions[4*c : 4*c+4]
			call, ret := min(p[0], p[1], p[2], p[3]), max(p[0], p[1], p[2], p[3])
			a.operations = append(a.operations, operation{
				word: placeOf(operationWords[:], Acquire), client: c, call: call, ret: ret,
			})
			x := place{operation: c, earliest: call, latest: call, entry: ret, waitsUntil: ret}
			if rapid.Bool().Draw(t, "uncertain") {
				x.latest = (call + ret) / 2
			}
			if rapid.IntRange(0, 3).Draw(t, "lost") == 0 {
				x.waitsUntil = rapid.IntRange(x.latest, ret).Draw(t, "until")
			}
			x.entered = rapid.IntRange(0, 4).Draw(t, "entered") > 0
			places = append(places, x)
		}
		allowed := rapid.IntRange(0, 2).Draw(t, "allowed")
		want := map[int]int{}
		for _, p := range places {
			overtakers := 0
			for _, r := range places {
				if r.entered && r.earliest > p.latest && r.entry < p.waitsUntil {
					overtakers++
				}
			}
			if overtakers > allowed {
				want[p.operation] = overtakers
			}
		}
		f := &findings{cap: 100}
		a.overtakings(log, places, allowed, f)
		got := map[int]int{}
		for _, v := range f.violations {
			got[v.Processes[0]] = want[v.Processes[0]]
			if len(v.Processes) != min(want[v.Processes[0]], namesTold)+1 {
				t.Errorf("%d were involved, want %d overtakers: %s", len(v.Processes), want[v.Processes[0]], v.Text)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || f.found != len(want) {
			t.Fatalf("%+v: overtaken (-want +got):\n%s", places, diff)
		}
	})
}

func numbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// TestOverlapReference compares the search for two that waited at one time with a comparison of all pairs.
func TestOverlapReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var places []place
		positions := rapid.Permutation(numbers(12)).Draw(t, "positions")
		for i := range rapid.IntRange(0, 6).Draw(t, "places") {
			from, to := min(positions[2*i], positions[2*i+1]), max(positions[2*i], positions[2*i+1])
			entered := rapid.Bool().Draw(t, "entered")
			places = append(places, place{earliest: from, latest: from, entry: to, entered: entered})
		}
		want := false
		for i, x := range places {
			for _, y := range places[:i] {
				want = want || (x.entered || y.entered) && x.latest < y.entry && y.latest < x.entry
			}
		}
		if got := overlap(places); got != want {
			t.Fatalf("overlap of %+v is %v", places, got)
		}
	})
}

// TestOrderByCall counts from the calls: a bound that is above what happened holds, and one below does not.
func TestOrderByCall(t *testing.T) {
	accused, cleared := 0, 0
	for seed := range uint64(100) {
		g := generator{clients: 6, operations: 200, blocking: true, defect: servesLast}
		h := g.generate(seed)
		most := mostOvertaken(h)
		for _, bound := range []int{1, most - 1, most} {
			if bound < 1 {
				continue
			}
			v := Check(h, Options{Properties: []Property{Order}, Promises: Promises{Fair: true}, OrderBound: bound})[0]
			want := Holds
			if most > bound {
				want = Violated
				accused++
			} else {
				cleared++
			}
			if v.Result != want {
				t.Fatalf("seed %d: %d overtook one, and with a bound of %d: %s", seed, most, bound, v)
			}
		}
	}
	if accused == 0 || cleared == 0 {
		t.Errorf("%d histories were above the bound and %d were not: both must occur", accused, cleared)
	}
}

// mostOvertaken counts by all pairs how often an acquire was overtaken at most, from the calls.
func mostOvertaken(h *History) int {
	a := analyse(h)
	most := 0
	for i := range a.operations {
		n := 0
		for k := range a.operations {
			x, y := &a.operations[i], &a.operations[k]
			got := x.f() == Acquire && y.f() == Acquire && x.outcome() == OK && y.outcome() == OK
			if got && y.call > x.call && y.ret < x.ret {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// TestOrderDoesNotDependOnNames judges histories again with other processes, machines, owners and paths.
func TestOrderDoesNotDependOnNames(t *testing.T) {
	violated := 0
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 5))
		g := generator{clients: 4, operations: 40, blocking: true, doors: true, lost: 4 * rng.IntN(2)}
		if rng.IntN(2) == 0 {
			g.defect = servesLast
		}
		h := g.generate(seed)
		options := Options{Properties: []Property{Order}, Promises: Promises{Fair: true}}
		before := Check(h, options)
		if before[0].Result == Violated {
			violated++
		}
		for i := range h.Events {
			e := &h.Events[i]
			if e.Process >= 0 {
				e.Process = 1000 - 7*e.Process
			}
			e.Node = strings.Replace(e.Node, "c", "machine-", 1)
			e.Value = strings.Replace(e.Value, "job", "queue", 1)
			e.Key = "another lock"
			e.Index = e.Index*3 + 11
			e.Time += time.Hour
		}
		if after := Check(h, options); kinds(before) != kinds(after) {
			t.Fatalf("seed %d: got\n%s\nand with other names\n%s", seed, kinds(before), kinds(after))
		}
	}
	if violated < 20 {
		t.Errorf("only %d of 200 histories violate the order", violated)
	}
}
