package checker

import (
	"slices"
	"testing"
)

// tally counts the runs that one property flags and those that it cannot decide.
type tally struct{ flagged, undecided int }

// judge puts all properties to many runs. The reasons for which nothing could be decided are counted too.
func judge(g generator, runs int) (map[Property]tally, map[string]int) {
	options := Options{Promises: Promises{Reentrant: g.reentrant, Fenced: g.tokens, Fair: g.doors}}
	tallies := make(map[Property]tally)
	reasons := make(map[string]int)
	for seed := range runs {
		for _, v := range Check(g.generate(uint64(seed)), options) {
			n := tallies[v.Property]
			switch v.Result {
			case Violated:
				n.flagged++
			case Unknown:
				n.undecided++
				reasons[v.Why]++
			}
			tallies[v.Property] = n
		}
	}
	return tallies, reasons
}

// TestDefects builds known bugs into a server and counts the runs in which each property notices. It is what shows
// that the checkers are worth anything: a correct server is never accused, and each bug is found by the property whose
// it is.
func TestDefects(t *testing.T) {
	const runs = 300
	tests := []struct {
		name    string
		g       generator
		atLeast map[Property]int // runs that must be flagged
		never   []Property       // properties that must not accuse
		// undecided is how many runs the properties that must not accuse may leave open: those in which the one client
		// that got the lock lost an answer and so never gave it back.
		undecided int
	}{
		{
			name: "none", g: generator{tokens: true},
			never: []Property{MutualExclusion, Linearizability, ReleaseByOwner, TokenOrder},
		},
		{
			name: "none, reentrant", g: generator{reentrant: true, tokens: true},
			never: []Property{MutualExclusion, Linearizability, ReleaseByOwner, TokenOrder},
		},
		{
			name: "none, blocking", g: generator{blocking: true, tokens: true},
			never: []Property{MutualExclusion, Linearizability, ReleaseByOwner, TokenOrder},
		},
		{
			name: "none, queue on record", g: generator{blocking: true, reentrant: true, tokens: true, doors: true},
			never: []Property{MutualExclusion, Linearizability, ReleaseByOwner, TokenOrder, Order},
		},
		{
			name: "none, queue on record, replies lost", g: generator{blocking: true, doors: true, lost: 5},
			never: []Property{MutualExclusion, Linearizability, ReleaseByOwner, Order}, undecided: 15,
		},
		{
			name: "none, replies lost", g: generator{reentrant: true, lost: 5},
			never: []Property{MutualExclusion, Linearizability, ReleaseByOwner}, undecided: 15,
		},
		{
			name: "double grant", g: generator{defect: doubleGrant},
			atLeast: map[Property]int{MutualExclusion: 150, Linearizability: 300, ReleaseByOwner: 290},
		},
		{
			name: "release of another's lock accepted", g: generator{defect: foreignRelease},
			atLeast: map[Property]int{MutualExclusion: 250, Linearizability: 300, ReleaseByOwner: 300},
		},
		{
			name: "inner release frees", g: generator{defect: freesAtFirst, reentrant: true},
			atLeast: map[Property]int{MutualExclusion: 250, Linearizability: 300, ReleaseByOwner: 300},
		},
		{
			name: "free lock refused", g: generator{defect: refusesFree},
			atLeast: map[Property]int{Linearizability: 100},
			never:   []Property{MutualExclusion, ReleaseByOwner},
		},
		{
			name: "token handed out again", g: generator{defect: tokenGoesBack, tokens: true},
			atLeast: map[Property]int{TokenOrder: 300},
			never:   []Property{MutualExclusion, Linearizability, ReleaseByOwner},
		},
		{
			name: "last in line served first", g: generator{defect: servesLast, blocking: true, tokens: true, doors: true},
			atLeast: map[Property]int{Order: 300},
			never:   []Property{MutualExclusion, Linearizability, ReleaseByOwner, TokenOrder},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.g.clients, test.g.operations = 5, 300
			tallies, reasons := judge(test.g, runs)
			for _, p := range Properties() {
				got := tallies[p]
				if want, must := test.atLeast[p]; must && got.flagged < want {
					t.Errorf("%s found the bug in %d of %d runs, want at least %d", p, got.flagged, runs, want)
				}
				if slices.Contains(test.never, p) && got.flagged > 0 {
					t.Errorf("%s accused a server that does it right in %d of %d runs", p, got.flagged, runs)
				}
				if slices.Contains(test.never, p) && got.undecided > test.undecided {
					t.Errorf("%s could not decide %d of %d runs: %v", p, got.undecided, runs, reasons)
				}
				t.Logf("%s: %+v of %d", p, got, runs)
			}
		})
	}
}
