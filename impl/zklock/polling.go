package zklock

import (
	"context"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockstep-sim/lockstep/impl"
)

// Polling is the simple lock that the published fair lock was written to improve on: whoever makes the one ephemeral
// node holds, and everybody else tries again after a pause. It is here for the comparison of spinning and herd with
// watch and queue.
//
// Its faults (FAULTS.md numbers them): nobody is told that a session has ended, and the unlock of who has lost its
// session deletes the node of the next holder; a node whose creation was executed and not answered blocks everybody,
// its own maker included, until the session ends; who polls luckily overtakes.
type Polling struct {
	place
	interval time.Duration
	monitor  monitor
	held     bool // the monitor guards it
}

var _ impl.Lock = (*Polling)(nil)

func pollingEntry() impl.Entry {
	entry := impl.Entry{
		Name:    "zk/polling",
		Backend: "zookeeper",
		About:   "one ephemeral node, and everybody tries to make it again and again",
		Knobs: []impl.Knob{
			nodeKnob, aclKnob,
			{Name: "interval", Default: "100ms", About: "the pause between two attempts"},
		},
	}
	entry.New = func(env impl.Environment, settings impl.Settings) (impl.Lock, error) {
		return newPolling(entry, env, settings, Options{})
	}
	return entry
}

// NewPolling makes a handle on the polling lock. It asks nothing of the server yet.
func NewPolling(env impl.Environment, settings impl.Settings, options Options) (*Polling, error) {
	return newPolling(pollingEntry(), env, settings, options)
}

func newPolling(entry impl.Entry, env impl.Environment, s impl.Settings, o Options) (*Polling, error) {
	p, knobs, err := newPlace(entry, env, s, o)
	if err != nil {
		return nil, err
	}
	l := &Polling{place: p, interval: knobs.Duration("interval", time.Millisecond, longest), monitor: newMonitor()}
	return l, knobs.Err()
}

// Lock tries until the lock is held, ctx ends, or a request fails.
func (l *Polling) Lock(ctx context.Context) error {
	_, err := l.poll(ctx, false, 0)
	return err
}

// TryLock makes one attempt.
func (l *Polling) TryLock(ctx context.Context) (bool, error) { return l.poll(ctx, true, 0) }

// TryLockFor tries until wait is over, and then once more.
func (l *Polling) TryLockFor(ctx context.Context, wait time.Duration) (bool, error) {
	return l.poll(ctx, true, wait)
}

func (l *Polling) poll(ctx context.Context, limited bool, wait time.Duration) (bool, error) {
	if err := l.monitor.enter(ctx); err != nil {
		return false, err
	}
	defer l.monitor.leave()
	if l.held {
		return false, fmt.Errorf("zklock: lock %q: %w", l.prefix, impl.ErrHeld)
	}
	started := l.clock.Now()
	for {
		made, err := await(ctx, &l.place, l.attempt)
		if made || err != nil {
			l.held = made
			return made, l.wrap("lock", err)
		}
		rest := l.interval
		if limited {
			left := wait - l.clock.Since(started)
			if left <= 0 {
				return false, nil
			}
			rest = min(rest, left)
		}
		if err := l.rest(ctx, rest); err != nil {
			return false, l.wrap("lock", err)
		}
	}
}

// attempt tries to make the node, and the directory where it is missing.
func (l *Polling) attempt() (bool, error) {
	for range maxDirectories {
		_, err := l.zookeeper.Create(l.prefix, nil, zk.FlagEphemeral, l.acl)
		switch err {
		case zk.ErrNodeExists:
			return false, nil
		case zk.ErrNoNode:
			if err := l.makeDirectory(); err != nil {
				return false, err
			}
		default:
			return err == nil, err
		}
	}
	return false, zk.ErrNoNode
}

// Unlock deletes the node, whose ever it is by now. After an error that leaves the result unknown it may be called
// again.
func (l *Polling) Unlock(ctx context.Context) error {
	if err := l.monitor.enter(ctx); err != nil {
		return err
	}
	defer l.monitor.leave()
	if !l.held {
		return fmt.Errorf("zklock: unlock %q: nothing is held: %w", l.prefix, impl.ErrNotOwner)
	}
	err := awaitDone(ctx, &l.place, func() error { return l.zookeeper.Delete(l.prefix, -1) })
	l.held = err != nil && err != zk.ErrNoNode
	if err == zk.ErrNoNode {
		return fmt.Errorf("zklock: unlock %q: no node: %w", l.prefix, impl.ErrLost)
	}
	return l.wrap("unlock", err)
}

func (l *Polling) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("zklock: %s %q: %w", what, l.prefix, err)
}
