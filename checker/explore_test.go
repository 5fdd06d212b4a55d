package checker

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lockstep-sim/lockstep/checker/model"
)

// manyModels are all models with small parameters.
func manyModels() []model.Model {
	return append(model.All(), model.Semaphore{Permits: 3}, model.Reentrant{Limit: 2}, model.ReentrantFenced{Limit: 2})
}

// TestExploreAgainstPorcupine compares the search for any model with Porcupine on small random histories.
func TestExploreAgainstPorcupine(t *testing.T) {
	runs := *differential / 2
	if testing.Short() {
		runs /= 10
	}
	count := make(map[string]map[Result]int)
	for _, m := range manyModels() {
		count[m.Name()] = make(map[Result]int)
	}
	for seed := range runs {
		rng := rand.New(rand.NewPCG(uint64(seed), 11))
		lock := manyModels()[rng.IntN(len(manyModels()))]
		g := generator{
			clients: 2 + rng.IntN(4), operations: 3 + rng.IntN(12), reentrant: rng.IntN(2) == 0, tokens: rng.IntN(2) == 0,
			blocking: rng.IntN(4) == 0, lost: 10 * rng.IntN(2), noise: 8 * rng.IntN(2), permits: 1 + rng.IntN(3),
			lease: time.Second * time.Duration(rng.IntN(2)), facts: rng.IntN(2) == 0, defect: defect(rng.IntN(int(noDefects))),
		}
		if g.lease > 0 {
			g.pauses, g.takeover = 30, rng.IntN(2) == 0
		}
		h := g.generate(uint64(seed))
		a := analyse(h)
		if len(a.locks) == 0 {
			continue
		}
		steps := a.phrase(a.locks[0], lock, g.lease, a.explainedRefusals()).steps()
		got := explore(lock, steps, 1<<20)
		want := porcupineExplores(lock, steps, unlimited)
		count[lock.Name()][want]++
		if got.result != want {
			t.Fatalf("seed %d, %s: the search says %s (%s), Porcupine %s\n%s", seed, lock.Name(), got.result, got.limit, want,
				listing(h))
		}
	}
	for name, results := range count {
		if results[Holds] == 0 || results[Violated] == 0 {
			t.Errorf("%s: too one-sided to say much: %v", name, results)
		}
	}
}

// TestChosenModels judges runs of servers of several kinds by several models: each server conforms to the model of its
// kind, and to others only as far as they ask for no more.
func TestChosenModels(t *testing.T) {
	plain := generator{clients: 4, operations: 60, tokens: true, served: true}
	nested, three := plain, plain
	nested.reentrant = true
	three.permits, three.tokens = 3, false
	again := plain
	again.defect = tokenGoesBack
	dead := generator{
		clients: 4, operations: 200, served: true, facts: true, takeover: true, lease: 3 * time.Second, pauses: 10,
	}
	tests := []struct {
		name  string
		g     generator
		model string
		want  Result
	}{
		{"plain", plain, "mutex", Holds},
		{"plain", plain, "owner", Holds},
		{"plain", plain, "fenced", Holds},
		{"plain", plain, "lease", Unknown}, // nothing tells when the leases end
		{"plain", plain, "semaphore:1", Holds},
		{"plain", plain, "semaphore:2", Violated},
		{"nested", nested, "mutex", Violated},
		{"nested", nested, "owner", Violated},
		{"nested", nested, "reentrant", Holds},
		{"nested", nested, "reentrant:1", Violated},
		{"nested", nested, "reentrant-fenced", Holds},
		{"token again", again, "fenced", Violated},
		{"token again", again, "owner", Holds},
		{"three permits", three, "semaphore:3", Holds},
		{"three permits", three, "owner", Violated},
		{"dead records", dead, "takeover", Holds},
		{"dead records", dead, "reentrant", Violated},
		{"dead records", dead, "lease", Holds},
	}
	for _, test := range tests {
		t.Run(test.name+" as "+test.model, func(t *testing.T) {
			lock, err := model.Named(test.model)
			if err != nil {
				t.Fatal(err)
			}
			for _, served := range []bool{true, false} {
				test.g.served = served
				h := test.g.generate(1)
				v := Check(h, Options{
					Properties: []Property{Linearizability}, Model: lock, Promises: Promises{Leased: test.model == "lease"},
				})[0]
				want := test.want
				if want == Unknown && served {
					want = Holds // the order of the server settles it
				}
				if v.Result != want {
					t.Errorf("served %v: got %s, want %s", served, v, want)
				}
			}
		})
	}
}

// TestManyPermits judges a lock with several permits and many clients, whose orders are too many to follow.
func TestManyPermits(t *testing.T) {
	for _, test := range []struct {
		defect defect
		want   Result
	}{{noDefect, Holds}, {doubleGrant, Violated}} {
		g := generator{clients: 100, operations: 3000, permits: 4, blocking: true, defect: test.defect}
		options := Options{Properties: []Property{Linearizability}, Promises: Promises{Permits: 4}}
		if v := Check(g.generate(1), options)[0]; v.Result != test.want || v.By[0] != rungSweep {
			t.Errorf("defect %d: got %s by %v, want %s", test.defect, v, v.By, test.want)
		}
	}
}
