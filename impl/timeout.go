package impl

import (
	"context"
	"errors"
	"time"

	"github.com/jonboulle/clockwork"
)

// WithTimeout is context.WithTimeout on a clock of our choice: the context ends with context.DeadlineExceeded once d
// has passed on clock, with context.Canceled when cancel is called, and with its parent otherwise.
//
// It is built on Clock.AfterFunc, so every clock will do. The context states no deadline of its own: libraries
// compare a stated deadline with the runtime's clock, which may tell another time than this one. As with
// context.WithTimeout, cancel has to be called to free the timer.
func WithTimeout(parent context.Context, clock clockwork.Clock, d time.Duration) (context.Context, context.CancelFunc) {
	inner, end := context.WithCancelCause(parent)
	if d <= 0 {
		end(errTimeout)
		return timeoutContext{parent, inner}, func() {}
	}
	timer := clock.AfterFunc(d, func() { end(errTimeout) })
	cancel := func() {
		timer.Stop()
		end(nil)
	}
	return timeoutContext{parent, inner}, cancel
}

// errTimeout is the cause by which a timeoutContext recognises its own timer. It never leaves this file.
var errTimeout = errors.New("impl: the timer of WithTimeout fired")

// timeoutContext ends when inner does. It must not embed inner: contexts derived from it would then attach
// themselves to inner and end with Canceled instead of asking Err.
type timeoutContext struct {
	context.Context // the parent, for values and for a deadline that it may state
	inner           context.Context
}

func (c timeoutContext) Done() <-chan struct{} { return c.inner.Done() }

func (c timeoutContext) Err() error {
	err := c.inner.Err()
	// The first cause wins, so the answer never changes once it was given.
	if err != nil && context.Cause(c.inner) == errTimeout {
		return context.DeadlineExceeded
	}
	return err
}

func (c timeoutContext) String() string { return "impl.WithTimeout" }
