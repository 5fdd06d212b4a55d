package checker

import (
	"testing"
	"time"

	"github.com/lockstep-sim/lockstep/checker/model"
)

// column is one way to judge a history; it tells whether it flags it.
type column struct {
	name  string
	flags func(a *analysis, options Options) bool
}

// The columns of the matrix of seeded bugs. The first is what most people use, and is wrong in both directions.
var (
	plainMutex = column{"plain mutex", func(a *analysis, options Options) bool {
		words := a.phrase(a.locks[0], model.Mutex{}, 0, nil)
		return porcupineExplores(model.Mutex{}, words.steps(), options.PorcupineSteps) == Violated
	}}
	ownerAware = column{"owner-aware, Porcupine", func(a *analysis, options Options) bool {
		return porcupineResult(a.specify(a.locks[0], options, nil), options.PorcupineSteps) == Violated
	}}
	withoutTries = column{"without failed tries", func(a *analysis, options Options) bool {
		m := a.specify(a.locks[0], options, nil)
		kept := m.steps[:0]
		for _, x := range m.steps {
			if x.Action != model.Refuse {
				kept = append(kept, x)
			}
		}
		m.steps = kept
		return porcupineResult(m, options.PorcupineSteps) == Violated
	}}
	byGaps = column{"gap check", func(a *analysis, options Options) bool {
		offence, usable := gapsOf(a, options)
		return usable && offence != none
	}}
	bySearch = column{"search", func(a *analysis, options Options) bool {
		return linearize(a.specify(a.locks[0], options, nil), options.Configurations).result == Violated
	}}
	byClaims = column{"claims", func(a *analysis, options Options) bool {
		return a.judgeExclusion(options).Result == Violated
	}}
	byWitness = column{"witness", func(a *analysis, options Options) bool {
		l := &linearizer{a: a, options: options}
		r := a.phrase(a.locks[0], l.object(), 0, nil).witness(make([]int32, len(a.operations)))
		return r.usable && r.failing != none
	}}
)

// TestMatrix builds bugs into a server and counts the runs, of 300 with 300 operations of 5 clients each, that each
// checker flags. No checker that is used here may flag a correct server; what each has to find is what it found when
// the matrix was made, so that none gets weaker unnoticed.
func TestMatrix(t *testing.T) {
	const runs = 300
	columns := []column{plainMutex, ownerAware, withoutTries, byGaps, bySearch, byClaims, byWitness}
	tests := []struct {
		name      string
		defect    defect
		reentrant bool
		least     [7]int // by column
		most      [7]int
	}{
		{name: "none"},
		{name: "none, reentrant", reentrant: true, least: [7]int{300}, most: [7]int{300}},
		{
			name: "double grant", defect: doubleGrant,
			least: [7]int{290, 300, 300, 300, 300, 150, 300}, most: [7]int{300, 300, 300, 300, 300, 300, 300},
		},
		{
			name: "release of another's lock accepted", defect: foreignRelease,
			least: [7]int{0, 300, 300, 300, 300, 250, 300}, most: [7]int{0, 300, 300, 300, 300, 300, 300},
		},
		{
			name: "inner release frees", defect: freesAtFirst, reentrant: true,
			least: [7]int{0, 300, 300, 300, 300, 250, 300}, most: [7]int{300, 300, 300, 300, 300, 300, 300},
		},
		{
			name: "free lock refused", defect: refusesFree,
			least: [7]int{0, 100, 0, 100, 100, 0, 290}, most: [7]int{300, 300, 0, 300, 300, 0, 300},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := generator{clients: 5, operations: 300, defect: test.defect, reentrant: test.reentrant, served: true}
			options := Options{Promises: Promises{Reentrant: g.reentrant}}.withDefaults()
			var flagged [7]int
			for seed := range uint64(runs) {
				a := analyse(g.generate(seed))
				for i, c := range columns {
					if c.flags(a, options) {
						flagged[i]++
					}
				}
			}
			for i, c := range columns {
				t.Logf("%-24s %3d of %d", c.name, flagged[i], runs)
				if flagged[i] < test.least[i] || flagged[i] > test.most[i] {
					t.Errorf("%s flagged %d of %d runs, want %d to %d", c.name, flagged[i], runs, test.least[i], test.most[i])
				}
			}
			if flagged[3] != flagged[4] {
				t.Errorf("the gap check flagged %d runs and the search %d", flagged[3], flagged[4])
			}
		})
	}
}

// TestLeases shows what each way to specify a lock with leases is worth, over 100 runs of 400 operations in which one
// holder in ten works longer than its lease: how many runs of a correct server it flags, and how many of one with a
// double grant.
func TestLeases(t *testing.T) {
	const runs = 100
	base := generator{clients: 5, operations: 400, lease: 3 * time.Second, pauses: 10}
	told := base
	told.facts = true
	wary := base
	wary.deadlines = true
	brief := base
	brief.pauses = 0
	leased := Promises{Leased: true}
	linear := []Property{Linearizability}
	tests := []struct {
		name             string
		g                generator
		options          Options
		correct, defects [2]int // least and most runs that are flagged
	}{
		{
			name: "mutex without expiry", g: base, correct: [2]int{100, 100}, defects: [2]int{100, 100},
			options: Options{Properties: linear, Strict: true},
		},
		{ // An expiry that may come at any time allows everything. It is not judged at all.
			name: "leases of which nobody tells the end", g: base,
			options: Options{Properties: linear, Promises: leased},
		},
		{
			name: "the server tells when holds expire", g: told, defects: [2]int{100, 100},
			options: Options{Properties: linear, Promises: leased},
		},
		{
			name: "clients tell when their leases end", g: wary, defects: [2]int{95, 100},
			options: Options{Properties: linear, Promises: leased},
		},
		{
			name: "timed, without a log of the server", g: base, defects: [2]int{95, 100},
			options: Options{Properties: linear, Model: model.TimedLease{}},
		},
		{
			name: "overlap of claims", g: base, correct: [2]int{95, 100}, defects: [2]int{100, 100},
			options: Options{Properties: []Property{MutualExclusion}},
		},
		{
			name: "overlap of claims, nobody pauses", g: brief, defects: [2]int{40, 100},
			options: Options{Properties: []Property{MutualExclusion}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, defective := range []bool{false, true} {
				g, want := test.g, test.correct
				if defective {
					g.defect, want = doubleGrant, test.defects
				}
				flagged := 0
				for seed := range uint64(runs) {
					if v := Check(g.generate(seed), test.options)[0]; v.Result == Violated {
						flagged++
					}
				}
				t.Logf("double grant %v: %d of %d flagged", defective, flagged, runs)
				if flagged < want[0] || flagged > want[1] {
					t.Errorf("double grant %v: flagged %d of %d runs, want %d to %d", defective, flagged, runs, want[0], want[1])
				}
			}
		})
	}
}
