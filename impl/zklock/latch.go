package zklock

import (
	"context"
	"sync/atomic"

	"github.com/go-zookeeper/zk"
)

// latches is the one latch field of the published lock and what opens it: the events of all watches that were ever set
// and, while any is out, those of the session.
type latches struct {
	events  <-chan zk.Event
	current atomic.Pointer[latch] // nil before the first wait
	out     atomic.Int64          // watches that have not fired
}

// latch lets one waiter through once it is opened.
type latch struct {
	opened chan struct{}
	done   atomic.Bool
}

// renew puts a new latch in the place of the one before, which nobody can open any more.
func (l *latches) renew() *latch {
	next := &latch{opened: make(chan struct{})}
	l.current.Store(next)
	return next
}

// open opens the latch that is there now, if any. It does not know for whom it was meant.
func (l *latches) open() {
	if latch := l.current.Load(); latch != nil && latch.done.CompareAndSwap(false, true) {
		close(latch.opened)
	}
}

// watch opens the latch at the event of a watch.
func (l *latches) watch(start func(func()), watch <-chan zk.Event) {
	l.out.Add(1)
	start(func() {
		<-watch
		l.out.Add(-1)
		l.open()
	})
}

// listen opens the latch at each change of the session that a Java client tells its watches of.
func (l *latches) listen(start func(func())) {
	if l.events == nil {
		return
	}
	start(func() {
		for event := range l.events {
			if event.Type == zk.EventSession && toldToWatches(event.State) && l.out.Load() > 0 {
				l.open()
			}
		}
	})
}

func toldToWatches(state zk.State) bool {
	return state == zk.StateDisconnected || state == zk.StateHasSession || state == zk.StateExpired
}

// interrupted returns the error of ctx, unless the latch is open.
func (l *latch) interrupted(ctx context.Context) error {
	if l.done.Load() {
		return nil
	}
	return ctx.Err()
}
