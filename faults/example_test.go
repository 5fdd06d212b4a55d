package faults_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lockstep-sim/lockstep/faults"
)

func ExampleParse() {
	fault, err := faults.Parse("pause holder for 12000ms on holder before del")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(fault)
	fmt.Println(fault.Kind, fault.Node, fault.For, fault.When[0].Command)
	// Output:
	// pause holder for 12s on holder before DEL
	// pause holder 12s DEL
}

// An error has the column, what was expected there, and the usage once it is clear what was meant.
func ExampleParse_error() {
	_, err := faults.Parse("pause c1 fro 5s at 2s")
	fmt.Println(err)
	// Output:
	// column 10: expected "for", found "fro"; did you mean "for"? (usage: pause NODE for DURATION WHEN)
}

// stream adapts a generator. In a simulated world, each template has a stream of its own.
type stream struct{ *rand.Rand }

func (s stream) Between(low, high int64) int64 { return low + s.Int64N(high-low+1) }

func ExampleDraw() {
	templates, err := faults.ParseTemplates(`
		pause holder for 8s..15s on holder before DEL #1..3
		clock c2 step -5s..+5s at 2s # either way
		maybe 1/2 crash c1 at 5s..20s
	`)
	if err != nil {
		fmt.Println(err)
		return
	}
	const seed = 7
	plan := faults.Draw(templates, func(i int) faults.Stream {
		return stream{rand.New(rand.NewPCG(seed, uint64(i)))}
	})
	fmt.Print(plan)
	// Output:
	// pause holder for 9.886s on holder before DEL
	// clock c2 step +1.179s at 2s
	// crash c1 at 19.487s
}

func ExampleValidate() {
	plan, err := faults.ParsePlan("crash c1 at 5s\ncut c2-reids for 6s at 8s\n")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(faults.Validate(plan, []string{"c1", "c2", "redis"}))
	// Output:
	// plan, entry 2: fault "cut c2-reids for 6s at 8s": there is no machine "reids"; did you mean "redis"?
}

// A swarm needs no text: it says which kinds may strike whom. Half of the kinds are off in any one seed.
func ExampleSwarm() {
	kinds, err := faults.ParseKinds("crash, pause, lose reply, cut")
	if err != nil {
		fmt.Println(err)
		return
	}
	swarm := faults.Swarm{
		Kinds: kinds, Clients: []string{"c1", "c2"}, Servers: []string{"redis"},
		Horizon: 10 * time.Second, Lease: time.Second,
	}
	const seed = 6
	fmt.Print(swarm.Draw(func(kind string) faults.Stream {
		return stream{rand.New(rand.NewPCG(seed, uint64(len(kind))))}
	}))
	// Output:
	// crash c1 at deadline of holder -1ms
	// crash waiter silent on next after *
	// pause redis for 10.026ms at 3.099s
	// pause c2 for 67.837ms on c1 before * #2
	// lose reply of holder>redis on holder after * #4
	// cut holder-redis for 703ms at 8.042s
}
