package zklock

import (
	"context"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockstep-sim/lockstep/impl"
)

// Fair is the published fair lock: a queue of ephemeral sequential nodes, each owner watching the node before its own.
// Its requests and their order are those of the Java original, faults included. It must not be used to protect
// anything; [Repaired] is the lock to use.
//
// Known faults, by what happens (FAULTS.md has them step by step):
//
//   - Lock returns nil after any error and after an interrupted wait; the timed try succeeds when its time is over.
//   - After a wake-up nothing is looked at: whatever opened the latch, and be it a lost connection, counts as the
//     predecessor's release. So does a predecessor that is gone when it is to be watched.
//   - The own node is not looked for either: after an unlock whose answer was lost, or after the end of the session,
//     its old path stands for a place at the head of the queue.
//   - The latch is made after the watch was set. An event in between opens nothing, and the owner waits for good.
//   - All watches of an object share one latch, so a watch left by an earlier wait opens the latch of a later one.
//   - Nodes are put in order as strings: other prefixes and numbers below zero sort in front.
//   - A refused try, an interrupted wait and a lost answer leave their node in the queue.
//   - Any thread may enter and leave the hold of another, and waits with the monitor held.
//
// An interrupt of the thread is the end of the context. An owner that was interrupted in Lock has got nil, as in the
// original, where it could have looked at its thread's flag: here it is ctx.Err(). A call that waits for the monitor
// ends with ctx, too, which a Java thread cannot; it returns ctx.Err() or false.
//
// What is not as published: the constructor's two requests, which make the directory and whose errors are dropped, are
// the first two of the first call. Lock returns an error when ctx ends before it has the monitor. After an error the
// original interrupts its own thread, so that the thread's next wait of any kind ends at once; a goroutine has no such
// flag. A Java client is dead once its session has expired, where the Go client opens a new one, in which the lock goes
// on. The window between watch and latch, which in Java is as long as the scheduler makes it, is the knob latch-delay;
// at 0s only the scheduler decides.
//
// Java delivers changes of the connection to every watch: so they open the latch here, as far as
// Environment.SessionEvents tells of them.
//
// A handle may be used by several goroutines. For gives handles of other owners on the same object.
type Fair struct {
	*fairObject
	owner impl.Owner
}

// fairObject is the Java object, which threads share.
type fairObject struct {
	place
	latches
	window  time.Duration
	monitor monitor

	// The monitor guards these.
	begun bool
	state int    // levels held; any thread's
	id    string // path of the own node, "" = none
}

var (
	_ impl.Lock   = (*Fair)(nil)
	_ impl.Shared = (*Fair)(nil)
)

func fairEntry() impl.Entry {
	entry := impl.Entry{
		Name:     "zk/fair",
		Backend:  "zookeeper",
		About:    "the published lock on a queue of sequential nodes with watches; broken, kept as it is",
		Promises: impl.Promises{Reentrant: true, Fair: true},
		Knobs: []impl.Knob{nodeKnob, aclKnob, {
			Name: "latch-delay", Default: "100us",
			About: "how long a thread takes from setting its watch to making the latch that the watch opens",
		}},
	}
	entry.New = func(env impl.Environment, settings impl.Settings) (impl.Lock, error) {
		return newFair(entry, env, settings, Options{})
	}
	return entry
}

// NewFair makes a handle on the published lock. It asks nothing of the server yet.
func NewFair(env impl.Environment, settings impl.Settings, options Options) (*Fair, error) {
	return newFair(fairEntry(), env, settings, options)
}

func newFair(entry impl.Entry, env impl.Environment, s impl.Settings, o Options) (*Fair, error) {
	p, knobs, err := newPlace(entry, env, s, o)
	if err != nil {
		return nil, err
	}
	object := &fairObject{place: p, window: knobs.Duration("latch-delay", 0, longest), monitor: newMonitor()}
	if err := knobs.Err(); err != nil {
		return nil, err
	}
	object.events = env.SessionEvents
	return &Fair{object, s.Owner}, nil
}

// For returns the handle of another thread on the same object. The object does not tell threads apart.
func (l *Fair) For(owner impl.Owner) impl.Lock { return &Fair{l.fairObject, owner} }

// patience is what an attempt does with somebody in front of it.
type patience int

const (
	leave    patience = iota // give up at once
	stay                     // wait for good
	stayLong                 // wait for a time, and then enter
)

// Lock returns nil, held or not, except where ctx ends before the monitor was free.
func (l *Fair) Lock(ctx context.Context) error {
	if err := l.monitor.enter(ctx); err != nil {
		return err
	}
	defer l.monitor.leave()
	if _, err := l.acquire(ctx, stay, 0); err != nil {
		l.log("lock", err)
	}
	return nil
}

// TryLock makes one attempt. Refused, its node stays in the queue.
func (l *Fair) TryLock(ctx context.Context) (bool, error) { return l.try(ctx, leave, 0) }

// TryLockFor returns true when wait is over, as it does when the lock came free.
func (l *Fair) TryLockFor(ctx context.Context, wait time.Duration) (bool, error) {
	return l.try(ctx, stayLong, wait)
}

func (l *Fair) try(ctx context.Context, p patience, wait time.Duration) (bool, error) {
	if err := l.monitor.enter(ctx); err != nil {
		return false, err
	}
	defer l.monitor.leave()
	entered, err := l.acquire(ctx, p, wait)
	if err != nil {
		l.log("tryLock", err)
		return err == zk.ErrNodeExists, nil
	}
	return entered, nil
}

// acquire is the body of all three. The monitor is held.
func (o *fairObject) acquire(ctx context.Context, p patience, wait time.Duration) (bool, error) {
	o.init(ctx)
	if o.state <= 0 {
		predecessor, err := o.enqueue(ctx)
		if err != nil {
			return false, err
		}
		if predecessor != "" {
			if p == leave {
				return false, nil
			}
			if err := o.wait(ctx, predecessor, p, wait); err != nil {
				return false, err
			}
		}
	}
	o.state++
	return true, nil
}

// init is what the constructor does in the original.
func (o *fairObject) init(ctx context.Context) {
	if o.begun {
		return
	}
	o.begun = true
	o.listen(o.start)
	exists, err := await(ctx, &o.place, func() (bool, error) {
		exists, _, err := o.zookeeper.Exists(o.dir)
		return exists, err
	})
	if err == nil && !exists {
		_, err = await(ctx, &o.place, func() (string, error) { return o.zookeeper.Create(o.dir, nil, 0, o.acl) })
	}
	if err != nil {
		o.log("init", err)
	}
}

// enqueue makes the own node, unless there is the path of one, and returns the path that comes just before it as a
// string, "" for none.
func (o *fairObject) enqueue(ctx context.Context) (predecessor string, err error) {
	if o.id == "" {
		o.id, err = await(ctx, &o.place, func() (string, error) {
			return o.zookeeper.Create(o.prefix, nil, zk.FlagEphemeralSequential, o.acl)
		})
		if err != nil {
			o.id = "" // the client also returns a path with an error
			return "", err
		}
	}
	names, err := await(ctx, &o.place, func() ([]string, error) {
		names, _, err := o.zookeeper.Children(o.dir)
		return names, err
	})
	if err != nil {
		return "", err
	}
	for _, name := range names {
		path := o.dir + "/" + name
		if strings.Compare(path, o.id) < 0 && strings.Compare(path, predecessor) > 0 {
			predecessor = path
		}
	}
	return predecessor, nil
}

// wait watches the predecessor and waits for the latch, if the predecessor is there. What opened the latch is not
// asked.
func (o *fairObject) wait(ctx context.Context, predecessor string, p patience, wait time.Duration) error {
	present, err := await(ctx, &o.place, func() (bool, error) {
		present, _, watch, err := o.zookeeper.ExistsW(predecessor)
		if err == nil {
			o.watch(o.start, watch) // also on a node that is not there, which may never come
		}
		return present, err
	})
	if err != nil || !present {
		return err
	}
	if o.window > 0 { // an event that comes now finds no latch, or an old one
		o.clock.Sleep(o.window)
	}
	latch := o.renew()
	if p == stay {
		// ranked: an interrupt counts only where the latch is shut, as looked at below
		select {
		case <-latch.opened:
		case <-ctx.Done():
		}
		return latch.interrupted(ctx)
	}
	timer := o.clock.NewTimer(wait)
	defer timer.Stop()
	// ranked: latch and timer lead to the same, and an interrupt counts only where the latch is shut
	select {
	case <-latch.opened:
	case <-timer.Chan():
		return nil
	case <-ctx.Done():
	}
	return latch.interrupted(ctx)
}

// Unlock gives up one level, whoever holds it; at none left the node is deleted, if it can be. It returns nil, except
// where ctx ends before the monitor was free.
func (l *Fair) Unlock(ctx context.Context) error {
	if err := l.monitor.enter(ctx); err != nil {
		return err
	}
	defer l.monitor.leave()
	l.init(ctx)
	if l.state > 0 {
		l.state--
	}
	if l.state == 0 {
		if err := awaitDone(ctx, &l.place, func() error { return l.zookeeper.Delete(l.id, -1) }); err != nil {
			l.log("unlock", err)
			return nil
		}
		l.id = ""
	}
	return nil
}
