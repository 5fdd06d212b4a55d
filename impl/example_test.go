package impl_test

import (
	"context"
	"fmt"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/lockstep-sim/lockstep/impl"
)

func ExampleCatalogue_Lookup() {
	none := func(impl.Environment, impl.Settings) (impl.Lock, error) { return nil, nil }
	locks, err := impl.NewCatalogue(impl.Entry{
		Name:      "redis/careful",
		Ablations: []impl.Ablation{{Name: "no-compare", About: "unlock deletes whatever is there"}},
		New:       none,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	entry, err := locks.Lookup("redis/careful!no-compare")
	fmt.Println(entry.Name, entry.Ablated, err)
	_, err = locks.Lookup("redis/carefull")
	fmt.Println(err)
	// Output:
	// redis/careful!no-compare [no-compare] <nil>
	// no lock named "redis/carefull"; did you mean "redis/careful"?
}

func ExampleWithTimeout() {
	clock := clockwork.NewFakeClock()
	ctx, cancel := impl.WithTimeout(context.Background(), clock, time.Minute)
	defer cancel()
	clock.Advance(time.Minute)
	<-ctx.Done()
	fmt.Println(ctx.Err())
	// Output: context deadline exceeded
}
