package zklock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockstep-sim/lockstep/impl"
)

// GoZooKeeper is the lock of the library github.com/go-zookeeper/zk, zk.Lock, unmodified. It wants a *zk.Conn as
// Environment.ZooKeeper.
//
// The library's lock knows neither context nor attempt. TryLock returns an error that wraps errors.ErrUnsupported. When
// ctx ends, or the time of TryLockFor, the library's call goes on: its node keeps its place in the queue, and should
// it get the lock after all, it gives it back. Until then every other call on the handle waits.
//
// FAULTS.md lists what is known of the library's own faults.
type GoZooKeeper struct {
	place
	lock    *zk.Lock // the monitor guards it
	monitor monitor
}

var _ impl.Lock = (*GoZooKeeper)(nil)

func goZooKeeperEntry() impl.Entry {
	entry := impl.Entry{
		Name:     "zk/go-zookeeper",
		Backend:  "zookeeper",
		About:    "zk.Lock of the client library go-zookeeper, unmodified",
		Promises: impl.Promises{Fair: true},
		Knobs:    []impl.Knob{aclKnob},
	}
	entry.New = func(env impl.Environment, settings impl.Settings) (impl.Lock, error) {
		return newGoZooKeeper(entry, env, settings, Options{})
	}
	return entry
}

// NewGoZooKeeper makes a handle on the library's lock. It asks nothing of the server yet.
func NewGoZooKeeper(env impl.Environment, settings impl.Settings, options Options) (*GoZooKeeper, error) {
	return newGoZooKeeper(goZooKeeperEntry(), env, settings, options)
}

func newGoZooKeeper(entry impl.Entry, env impl.Environment, s impl.Settings, o Options) (*GoZooKeeper, error) {
	p, _, err := newPlace(entry, env, s, o)
	if err != nil {
		return nil, err
	}
	conn, ok := env.ZooKeeper.(*zk.Conn)
	if wrapper, wraps := env.ZooKeeper.(interface{ Library() *zk.Conn }); wraps {
		conn, ok = wrapper.Library(), true
	}
	if !ok {
		return nil, fmt.Errorf("%s: Environment.ZooKeeper is a %T; the library's lock works on a *zk.Conn only",
			entry.Name, env.ZooKeeper)
	}
	return &GoZooKeeper{place: p, lock: zk.NewLock(conn, p.dir, p.acl), monitor: newMonitor()}, nil
}

// Lock blocks until the lock is held, ctx ends or the library gives up, which may leave a node in the queue.
func (l *GoZooKeeper) Lock(ctx context.Context) error {
	_, err := l.call(ctx, l.lock.Lock, func() {
		if err := l.lock.Unlock(); err != nil {
			l.log("unlock", err)
		}
	})
	return l.wrap("lock", err)
}

// TryLock returns an error: the library cannot try.
func (l *GoZooKeeper) TryLock(context.Context) (bool, error) {
	return false, fmt.Errorf("zklock: zk.Lock cannot try %q once: %w", l.dir, errors.ErrUnsupported)
}

// TryLockFor is Lock that ends after wait.
func (l *GoZooKeeper) TryLockFor(ctx context.Context, wait time.Duration) (bool, error) {
	limited, cancel := impl.WithTimeout(ctx, l.clock, wait)
	defer cancel()
	err := l.Lock(limited)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}

// Unlock deletes the node, if the library still knows of one.
func (l *GoZooKeeper) Unlock(ctx context.Context) error {
	_, err := l.call(ctx, l.lock.Unlock, func() {})
	return l.wrap("unlock", err)
}

// call runs a call of the library, which holds the monitor until it returns, be it long after ctx. What it did then is
// undone.
func (l *GoZooKeeper) call(ctx context.Context, f func() error, undo func()) (bool, error) {
	if err := l.monitor.enter(ctx); err != nil {
		return false, err
	}
	o := newOperation(ctx)
	l.start(func() {
		defer l.monitor.leave()
		err := f()
		if !o.answer(err == nil, err) && err == nil {
			undo()
		}
	})
	return o.wait()
}

func (l *GoZooKeeper) wrap(what string, err error) error {
	switch err {
	case nil:
		return nil
	case zk.ErrDeadlock:
		return fmt.Errorf("zklock: %s %q: %w: %w", what, l.dir, impl.ErrHeld, err)
	case zk.ErrNotLocked:
		return fmt.Errorf("zklock: %s %q: %w: %w", what, l.dir, impl.ErrNotOwner, err)
	}
	return fmt.Errorf("zklock: %s %q: %w", what, l.dir, err)
}
