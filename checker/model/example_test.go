package model_test

import (
	"fmt"

	"github.com/lockstep-sim/lockstep/checker/model"
)

// A lock that only its owner may release, asked three things in a row.
func Example() {
	lock := model.Owner{}
	state := lock.Start()
	for _, o := range []model.Operation{
		{Action: model.Acquire, Client: 1},
		{Action: model.Refuse, Client: 2},
		{Action: model.Release, Client: 2},
	} {
		next, legal := model.Take(lock, state, &o)
		fmt.Println(legal, next.Describe(func(client int32) string { return fmt.Sprintf("c%d", client) }))
		state = next
	}
	// Output:
	// true held by c1
	// true held by c1
	// false held by c1
}

// Models have short names for command lines.
func ExampleNamed() {
	lock, err := model.Named("semaphore:3")
	fmt.Println(lock.Name(), err)
	_, err = model.Named("owner:3")
	fmt.Println(err)
	// Output:
	// semaphore:3 <nil>
	// model "owner:3": owner has no parameter
}
