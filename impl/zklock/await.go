package zklock

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"
)

// await runs a request, which knows no context, and returns its answer, or the end of ctx if that comes first. The
// request then goes on alone; whether it takes effect is not known.
func await[T any](ctx context.Context, p *place, request func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	answered := make(chan answer, 1)
	p.start(func() {
		value, err := request()
		answered <- answer{value, err}
	})
	// ranked: an answer that is there wins over the end of ctx, which looks for it
	select {
	case a := <-answered:
		return a.value, a.err
	case <-ctx.Done():
	}
	select {
	case a := <-answered:
		return a.value, a.err
	default:
		return none, ctx.Err()
	}
}

// awaitDone is await for a request that answers nothing.
func awaitDone(ctx context.Context, p *place, request func() error) error {
	_, err := await(ctx, p, func() (struct{}, error) { return struct{}{}, request() })
	return err
}

// rest waits for d on the machine's clock, or until ctx ends, which has precedence.
func (p *place) rest(ctx context.Context, d time.Duration) error {
	timer := p.clock.NewTimer(d)
	defer timer.Stop()
	// ranked: the error of ctx is returned even where the timer fired too
	select {
	case <-timer.Chan():
	case <-ctx.Done():
	}
	return ctx.Err()
}

// refused tells whether err is the server's answer, so that the request certainly had no effect.
func refused(err error) bool {
	switch err {
	case zk.ErrAPIError, zk.ErrNoNode, zk.ErrNoAuth, zk.ErrBadVersion, zk.ErrNoChildrenForEphemerals, zk.ErrNodeExists,
		zk.ErrNotEmpty, zk.ErrInvalidACL, zk.ErrAuthFailed, zk.ErrBadArguments,
		zk.ErrInvalidPath, zk.ErrInvalidFlags:
		return true
	}
	return false
}

// monitor is what a Java monitor is to threads, as one slot of a channel: it may be held across a wait.
type monitor chan struct{}

func newMonitor() monitor { return make(monitor, 1) }

// enter waits for the monitor until ctx ends.
func (m monitor) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// ranked: whoever has entered leaves again, and looks at ctx first
	select {
	case m <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m monitor) leave() { <-m }
