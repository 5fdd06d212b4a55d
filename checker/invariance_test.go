package checker

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// invariant are the properties whose verdict on a history is that on its locks one by one.
var invariant = []Property{
	MutualExclusion, GrantExclusivity, Linearizability, ReleaseByOwner, Reentrancy, TokenOrder, TruthfulRefusal,
	PhantomEffect,
}

// TestInvariance judges histories, legal and not, that differ in nothing that matters: with other numbers and names for
// clients, at another time, with other indices, and taken apart by locks. The verdicts stay the same.
func TestInvariance(t *testing.T) {
	violated := 0
	for seed := range uint64(120) {
		g := generator{
			clients: 2 + int(seed%5), operations: 60, keys: 1 + int(seed%3), reentrant: seed%2 == 0, lost: int(seed%4) * 3,
			tokens: true, facts: seed%3 != 0, served: seed%5 == 0, defect: defect(seed % uint64(noDefects)),
			noise: int(seed%7) / 3,
		}
		h := g.generate(seed)
		options := Options{
			Properties: invariant, MaxViolations: 1 << 20, Promises: Promises{Reentrant: g.reentrant, Fenced: true},
		}
		want := Check(h, options)
		for _, v := range want {
			if v.Result == Violated {
				violated++
			}
		}
		for name, same := range map[string]*History{
			"relabelled": relabelled(h), "shifted": shifted(h, time.Hour), "numbered anew": renumbered(h),
		} {
			for i, v := range Check(same, options) {
				if got, want := outline(v), outline(want[i]); got != want {
					t.Errorf("seed %d, %s: got %s, want %s", seed, name, got, want)
				}
			}
		}
		compareSplit(t, seed, h, options, want)
	}
	if violated < 50 {
		t.Errorf("only %d verdicts were violations: the histories say too little", violated)
	}
}

// outline is what a verdict says without names, times and numbers.
func outline(v Verdict) string {
	var kinds []string
	for i := range v.Violations {
		kinds = append(kinds, v.Violations[i].Kind)
	}
	slices.Sort(kinds)
	return fmt.Sprintf("%s %s, skipped %t, gave up %t, %d found %v, %v", v.Property, v.Result, v.Skipped, v.GaveUp,
		v.Found, kinds, v.Longest)
}

// compareSplit judges each lock by itself. A lock alone may not have been put to the test; what is at fault stays at
// fault, and nothing else does.
func compareSplit(t *testing.T, seed uint64, h *History, options Options, want []Verdict) {
	t.Helper()
	found := make([]int, len(want))
	for _, part := range split(h) {
		for i, v := range Check(part, options) {
			found[i] += v.Found
		}
	}
	for i, v := range want {
		if found[i] != v.Found {
			t.Errorf("seed %d, %s: %d found in the locks one by one, want %d", seed, v.Property, found[i], v.Found)
		}
	}
}

// relabelled gives the clients other numbers, machines and owners other names.
func relabelled(h *History) *History {
	same := &History{Header: h.Header, Events: slices.Clone(h.Events)}
	name := func(s *string) {
		if *s != "" {
			*s = "other " + *s
		}
	}
	for i := range same.Events {
		e := &same.Events[i]
		if e.Process >= 0 {
			e.Process = 100_000 - 7*e.Process
		}
		name(&e.Node)
		name(&e.Owner)
		for _, r := range []**Record{&e.Previous, &e.Record} {
			if *r != nil {
				other := **r
				name(&other.Owner)
				*r = &other
			}
		}
	}
	return same
}

// shifted happens later by true time. Clocks show what they showed.
func shifted(h *History, by time.Duration) *History {
	same := &History{Header: h.Header, Events: slices.Clone(h.Events)}
	for i := range same.Events {
		e := &same.Events[i]
		e.Time += by
		if e.Deadline != 0 {
			e.Deadline += by
		}
	}
	return same
}

// renumbered has gaps between its indices.
func renumbered(h *History) *History {
	same := &History{Header: h.Header, Events: slices.Clone(h.Events)}
	for i := range same.Events {
		e := &same.Events[i]
		if e.F == Served {
			e.Call = 5*e.Call + 1000
		}
		e.Index = 5*e.Index + 1000
	}
	return same
}

// split takes a history apart by locks.
func split(h *History) []*History {
	byKey := make(map[string]*History)
	var keys []string
	for _, e := range h.Events {
		if byKey[e.Key] == nil {
			byKey[e.Key] = &History{Header: h.Header}
			keys = append(keys, e.Key)
		}
		byKey[e.Key].Events = append(byKey[e.Key].Events, e)
	}
	var parts []*History
	for _, key := range keys {
		parts = append(parts, byKey[key])
	}
	return parts
}
