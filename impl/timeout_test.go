package impl

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
)

// foreignClock hides the type of a clock, so that nothing can special-case it.
type foreignClock struct{ clockwork.Clock }

func TestWithTimeout(t *testing.T) {
	type world struct {
		clock  *clockwork.FakeClock
		parent context.CancelFunc
		cancel context.CancelFunc
	}
	for _, test := range []struct {
		name string
		do   func(w world)
		want error
	}{
		{"running", func(w world) { w.clock.Advance(time.Second - 1) }, nil},
		{"timed out", func(w world) { w.clock.Advance(time.Second) }, context.DeadlineExceeded},
		{"cancelled", func(w world) { w.cancel() }, context.Canceled},
		{"parent cancelled", func(w world) { w.parent() }, context.Canceled},
		{"cancelled, then the time passes", func(w world) { w.cancel(); w.clock.Advance(time.Hour) }, context.Canceled},
		{
			"timed out, then cancelled",
			func(w world) { w.clock.Advance(time.Hour); synctest.Wait(); w.cancel() },
			context.DeadlineExceeded,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := clockwork.NewFakeClock()
				parent, cancelParent := context.WithCancel(context.Background())
				defer cancelParent()
				ctx, cancel := WithTimeout(parent, foreignClock{clock}, time.Second)
				child, cancelChild := context.WithCancel(ctx)
				defer cancelChild()
				defer cancel()
				test.do(world{clock, cancelParent, cancel})
				synctest.Wait()
				for name, c := range map[string]context.Context{"context": ctx, "child": child} {
					if err := c.Err(); !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
						t.Errorf("%s: error %v, want %v", name, err, test.want)
					}
					select {
					case <-c.Done():
						if test.want == nil {
							t.Errorf("%s is done", name)
						}
					default:
						if test.want != nil {
							t.Errorf("%s is not done", name)
						}
					}
				}
			})
		})
	}
}

func TestWithTimeoutOfNothing(t *testing.T) {
	ctx, cancel := WithTimeout(t.Context(), clockwork.NewFakeClock(), 0)
	defer cancel()
	if err := ctx.Err(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

func TestWithTimeoutStatesNoDeadlineOfItsOwn(t *testing.T) {
	ctx, cancel := WithTimeout(context.Background(), clockwork.NewFakeClock(), time.Second)
	defer cancel()
	if deadline, ok := ctx.Deadline(); ok {
		t.Errorf("deadline %v", deadline)
	}
	type key struct{}
	ctx, cancel = WithTimeout(context.WithValue(context.Background(), key{}, 1), clockwork.NewFakeClock(), time.Second)
	defer cancel()
	if ctx.Value(key{}) != 1 {
		t.Error("the parent's value is gone")
	}
}

func TestWithTimeoutInheritsATimedOutParent(t *testing.T) {
	parent, cancel := WithTimeout(t.Context(), clockwork.NewFakeClock(), 0)
	defer cancel()
	ctx, cancel := WithTimeout(parent, clockwork.NewFakeClock(), time.Hour)
	defer cancel()
	<-ctx.Done()
	if err := ctx.Err(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}
