package zklock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockstep-sim/lockstep/impl"
)

// Repaired is a fair reentrant lock with the nodes and calls of [Fair] and without its faults. Both may share a
// directory: node names are made and ordered alike, as long as one prefix is used.
//
// What it does differently:
//
//   - A place at the head of the queue is proved before it is believed: after each wake-up the children are listed
//     anew, the own node has to be among them, and at the end it is read and has to belong to the session that the
//     connection has now. Nothing else counts as success, and no error does.
//   - A node holds an id as its data. When the answer to a creation is lost, the node is looked for by that id.
//   - Whatever ends without the lock removes its node, in the background where the connection is lost, for as long as
//     the session lives; so does an unlock. The next call on the handle waits until that has been answered once.
//   - A hold has a deadline: the session's time-out, counted from when the last request was sent that the server has
//     answered. While the hold lasts the own node is read three times per lease, which moves the deadline and finds out
//     that the node is gone. Cut off from the servers an owner so knows in time that it must stop.
//   - Loss is told by Lost and by Unlock, and an owner that has lost its hold cannot enter it again.
//   - Each owner has its own hold, also on one object. Calls of different owners do not wait for each other.
//   - Numbers are compared as numbers, by the shorter way round the server's counter. Nodes of other prefixes are
//     ordered by their creation. Nodes that no session owns are no contenders.
//   - The fencing token is the zxid of the node's creation, which rises with each hold and is equal inside one.
//
// Settings.Lease has to be the session's time-out as the server has granted it, or less: the client does not tell it.
// The knob drift is how much of it is kept back for clocks that run unequally.
//
// What no lease can do: a holder that is paused past its deadline learns of it when it wakes, after the harm. Only a
// resource that checks tokens is safe from it.
//
// Lock and TryLockFor go on when the connection is lost and fail when no request has been answered for a whole lease.
// TryLock makes one attempt and fails at once. When ctx ends, a call returns at once and what it has begun is undone in
// the background.
type Repaired struct {
	*contender
	owner impl.Owner
}

var (
	_ impl.Shared = (*Repaired)(nil)
	_ impl.Holder = (*Repaired)(nil)
	_ impl.Fenced = (*Repaired)(nil)
	_ impl.Leased = (*Repaired)(nil)
	_ impl.Lossy  = (*Repaired)(nil)
)

func repairedEntry() impl.Entry {
	entry := impl.Entry{
		Name:     "zk/fair-repaired",
		Backend:  "zookeeper",
		About:    "the published fair lock's nodes and calls with every place proved, leased and fenced",
		Promises: impl.Promises{Reentrant: true, Fenced: true, Leased: true, Fair: true, LossTold: true},
		Knobs: []impl.Knob{
			nodeKnob, aclKnob,
			{Name: "drift", Default: "10000", About: "how much a clock may go wrong, in parts per million of the lease"},
			{Name: "retry", Default: "50ms", About: "the first pause after a failure; each further pause is twice as long"},
			{Name: "retry-max", Default: "1s", About: "the longest pause after a failure"},
		},
		Ablations: repairedAblations,
	}
	entry.New = func(env impl.Environment, settings impl.Settings) (impl.Lock, error) {
		return newRepaired(entry, env, settings, Options{})
	}
	return entry
}

// NewRepaired makes a handle on the repaired lock. It asks nothing of the server yet.
func NewRepaired(env impl.Environment, settings impl.Settings, options Options) (*Repaired, error) {
	return newRepaired(repairedEntry(), env, settings, options)
}

func newRepaired(entry impl.Entry, env impl.Environment, s impl.Settings, o Options) (*Repaired, error) {
	site, err := newSite(entry, env, s, o)
	if err != nil {
		return nil, err
	}
	return &Repaired{newContender(site), s.Owner}, nil
}

// For returns another owner's handle, with a hold and a place in the queue of its own.
func (l *Repaired) For(owner impl.Owner) impl.Lock {
	if l.off(ownerBlind) {
		return &Repaired{l.contender, owner}
	}
	return &Repaired{newContender(l.site), owner}
}

// Lock blocks until the lock is held, ctx ends, or the servers cannot be reached for a whole lease.
func (l *Repaired) Lock(ctx context.Context) error {
	_, err := l.acquire(ctx, false)
	if err != nil && l.off(errorEnters) {
		return nil
	}
	return err
}

// TryLock makes one attempt.
func (l *Repaired) TryLock(ctx context.Context) (bool, error) { return l.acquire(ctx, true) }

// TryLockFor returns false when the lock was not won within wait on the machine's monotonic clock. Without a wait it
// is TryLock.
func (l *Repaired) TryLockFor(ctx context.Context, wait time.Duration) (bool, error) {
	if wait <= 0 {
		return l.TryLock(ctx)
	}
	limited, cancel := impl.WithTimeout(ctx, l.clock, wait)
	defer cancel()
	won, err := l.acquire(limited, false)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return l.off(waitIgnored), nil
	}
	return won, err
}

// acquire enters the own hold again, or competes for one.
func (l *Repaired) acquire(ctx context.Context, once bool) (bool, error) {
	if err := l.turn.enter(ctx); err != nil {
		return false, l.wrap("lock", err)
	}
	l.listen()
	if h := l.current.Load(); h != nil {
		defer l.turn.leave()
		if !h.valid() {
			return false, l.wrap("lock", impl.ErrLost)
		}
		l.level++
		return true, nil
	}
	o := newOperation(ctx)
	l.start(func() {
		defer l.turn.leave()
		l.compete(o, once)
	})
	won, err := o.wait()
	return won, l.wrap("lock", err)
}

// Unlock gives up one level. impl.ErrNotOwner means that this owner holds nothing; impl.ErrLost that the hold had ended
// before, and that this level is given up nevertheless. After any other error the level is still held, as far as
// anybody knows, and Unlock may be called again.
func (l *Repaired) Unlock(ctx context.Context) error {
	if err := l.turn.enter(ctx); err != nil {
		return l.wrap("unlock", err)
	}
	h := l.current.Load()
	switch {
	case h == nil && l.leaving == nil:
		l.turn.leave()
		return l.wrap("unlock", impl.ErrNotOwner)
	case h == nil:
		return l.request(ctx, func(o *operation) { l.releaseAgain(o, *l.leaving) })
	case l.level > 1:
		l.level--
		defer l.turn.leave()
		if !h.valid() {
			return l.reportLoss()
		}
		return nil
	case h.giveUp():
		return l.request(ctx, func(o *operation) { l.release(o, h) })
	default:
		l.drop()
		return l.request(ctx, func(o *operation) {
			o.answer(false, l.lossError())
			l.remove(h.node)
		})
	}
}

// request runs an operation that ends an unlock. The turn is held, and left at its end.
func (l *Repaired) request(ctx context.Context, operate func(o *operation)) error {
	o := newOperation(ctx)
	l.start(func() {
		defer l.turn.leave()
		operate(o)
	})
	_, err := o.wait()
	return l.wrap("unlock", err)
}

func (l *Repaired) reportLoss() error { return l.wrap("unlock", l.lossError()) }

// Held asks the server whether the own node is there and of the session that the connection has now.
func (l *Repaired) Held(ctx context.Context) (bool, error) {
	h := l.current.Load()
	if h == nil {
		return false, nil
	}
	held, err := await(ctx, &l.place, func() (bool, error) { return l.stands(h.node) })
	return held, l.wrap("ask for", err)
}

// Token returns the fencing token of the current hold, 0 when nothing is held.
func (l *Repaired) Token() int64 {
	if h := l.current.Load(); h != nil {
		return h.token
	}
	return 0
}

// Deadline returns when the current hold must be taken as over, unless it is moved before; the zero time when nothing
// is held.
func (l *Repaired) Deadline() time.Time {
	if h := l.current.Load(); h != nil {
		return h.until()
	}
	return time.Time{}
}

// Lost returns a channel that is closed when the current hold ends by itself, nil when nothing is held.
func (l *Repaired) Lost() <-chan struct{} {
	if h := l.current.Load(); h != nil {
		return h.lost
	}
	return nil
}

func (l *Repaired) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("zklock: %s %q by %v: %w", what, l.dir, l.owner, err)
}
