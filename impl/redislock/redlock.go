package redislock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockstep-sim/lockstep/impl"
)

// Redlock is the lock on several Redis servers that know nothing of each other: it is held by whoever has the key on a
// majority of them.
//
// An attempt asks all servers for the key, with a value of its own and a time limit for each, at once or one after the
// other (knob ask). It has won with a majority, and the hold is valid for the lease from before the first request, less
// an allowance for the clocks (knob drift). An attempt that has not won, or too late, gives back what it has or may
// have, on every server, whatever became of its caller's context; answers that come when nobody waits for them any more
// are given back as well. Then it pauses for a random time, since contenders that march in step would split the votes
// again.
//
// A server that is silent for half of the time limit is asked once more, as its first answer may be lost with its
// connection; it still has one vote.
//
// It has no fencing token: no server sees all holds. It is not reentrant: TryLock and TryLockFor by the holder return
// false, Lock returns impl.ErrHeld. A refusal may also mean that nobody got a majority.
//
// With knob renew=on a goroutine extends the lease every third of it, by the same rule of majority and validity. A
// server that has lost the key gets it again but does not count: a majority that never let go is what keeps others out.
//
// It stands or falls with the servers' clocks and memories. One of a bare majority that forgets the key, because its
// clock jumps or it restarts empty, lets the next one in: a server has to stay away for a lease after a crash. Pauses
// of the holder are as with SetNX, and no token helps.
type Redlock struct {
	machine
	name    string
	owner   impl.Owner
	servers []impl.Redis
	quorum  int

	askTimeout        time.Duration
	sequential, renew bool
	scripts           redlockScripts
	off               func(ablation string) bool

	hold    *hold // nil while nothing is held
	stop    chan struct{}
	leaving string // the hold whose Unlock had an unknown result, for the Unlock that repeats it
	// extending has one slot, taken by an extension under way: an unlock comes after it.
	extending chan struct{}
}

var (
	_ impl.Lock   = (*Redlock)(nil)
	_ impl.Holder = (*Redlock)(nil)
	_ impl.Leased = (*Redlock)(nil)
	_ impl.Lossy  = (*Redlock)(nil)
)

func redlockEntry() impl.Entry {
	entry := impl.Entry{
		Name:     "redis/redlock",
		Backend:  "redis",
		Servers:  true,
		About:    "Redlock: the key on a majority of several independent servers, with optional renewal",
		Promises: impl.Promises{Leased: true, LossTold: true},
		Knobs: append([]impl.Knob{
			{Name: "renew", Default: "off", About: "on: extend the lease in the background every third of it"},
			{Name: "ask", Default: "parallel", About: "parallel: ask all servers at once; sequential: one after the other"},
			{Name: "ask-timeout", Default: "50ms", About: "how long to wait for the answer of one server"},
		}, leaseKnobs...),
		Ablations: redlockAblations,
	}
	entry.New = func(env impl.Environment, settings impl.Settings) (impl.Lock, error) {
		return newRedlock(entry, env, settings)
	}
	return entry
}

// NewRedlock makes a handle on the lock on several servers. It connects nothing yet.
func NewRedlock(env impl.Environment, settings impl.Settings) (*Redlock, error) {
	return newRedlock(redlockEntry(), env, settings)
}

func newRedlock(entry impl.Entry, env impl.Environment, settings impl.Settings) (*Redlock, error) {
	m, knobs, err := newMachine(entry, env, settings)
	if err != nil {
		return nil, err
	}
	l := &Redlock{
		machine:    m,
		name:       settings.Name,
		owner:      settings.Owner,
		servers:    env.Redises,
		quorum:     len(env.Redises)/2 + 1,
		askTimeout: knobs.Duration("ask-timeout", time.Millisecond, time.Hour),
		renew:      knobs.Switch("renew"),
		scripts:    wholeRedlock(),
		off:        func(ablation string) bool { return without(settings, ablation) },
		extending:  make(chan struct{}, 1),
	}
	ask := knobs.Text("ask", `"parallel" or "sequential"`, func(text string) bool {
		return text == "parallel" || text == "sequential"
	})
	l.sequential = ask == "sequential"
	if err := knobs.Err(); err != nil {
		return nil, err
	}
	if len(settings.Ablations) > 0 {
		l.cripple()
	}
	return l, nil
}

// cripple takes away the safeguards that are off and lie in numbers or scripts.
func (l *Redlock) cripple() {
	l.scripts = composeRedlock(l.off)
	if l.off(halfIsEnough) {
		l.quorum = max(len(l.servers)/2, 1)
	}
	if l.off(noDriftAllowance) {
		l.allowance = 0
	}
}

// Lock blocks until the lock is held or ctx ends.
func (l *Redlock) Lock(ctx context.Context) error {
	if l.hold != nil {
		return l.explain("lock", l.inTheWay(impl.ErrHeld))
	}
	_, err := l.poll(ctx, false, 0, l.attempt)
	return err
}

// TryLockFor keeps trying for wait on the machine's monotonic clock, with at least one attempt. An attempt that is
// under way when wait is over is brought to its end. The holder is refused at once.
func (l *Redlock) TryLockFor(ctx context.Context, wait time.Duration) (bool, error) {
	if l.hold != nil {
		return false, l.explain("lock", l.inTheWay(nil))
	}
	return l.poll(ctx, true, wait, l.attempt)
}

// TryLock makes one attempt. The holder is refused without one.
func (l *Redlock) TryLock(ctx context.Context) (bool, error) {
	if l.hold != nil {
		return false, l.explain("lock", l.inTheWay(nil))
	}
	return l.once(ctx, l.attempt)
}

// inTheWay is what a lock call gets while the handle has a hold: held while it is good, impl.ErrLost once it is over
// and waits for its Unlock.
func (l *Redlock) inTheWay(held error) error {
	if l.hold.valid() {
		return held
	}
	return impl.ErrLost
}

// now is the time from which validity counts: a reading with a monotonic part, so that no step of the wall clock
// prolongs a hold.
func (l *Redlock) now() time.Time {
	if l.off(wallClockValidity) {
		return l.clock.Now().Round(0)
	}
	return l.clock.Now()
}

// attempt asks all servers once to set the key to id. The result tooLate has the next attempt draw another id: a
// release of this one may still be on its way to some server, and must not meet the key of the next.
func (l *Redlock) attempt(ctx context.Context, id string) (outcome, time.Duration, error) {
	asked := l.now()
	r := l.ask(ctx, l.everywhere(), func(ctx context.Context, server impl.Redis) (int64, error) {
		return l.one(ctx, server, l.scripts.acquire, id, millis(l.lease))
	}, true)
	deadline := l.deadline(asked, l.lease)
	if l.off(noValidityCheck) {
		deadline = l.deadline(l.now(), l.lease)
	}
	if r.votes() >= l.quorum && ctx.Err() == nil && l.clock.Until(deadline) > 0 {
		l.hold = beginHold(l.clock, id, 0, deadline, false)
		l.leaving = ""
		r.giveBackLate(id, l.hold.isOver)
		if l.renew {
			l.startRenewal()
		}
		return granted, 0, nil
	}
	l.giveBack(r, id)
	if err := ctx.Err(); err != nil {
		return denied, 0, l.explain("lock", err)
	}
	if l.off(idReused) {
		return denied, 0, nil
	}
	return tooLate, 0, nil
}

// one runs a script that is about this lock on one server.
func (l *Redlock) one(ctx context.Context, server impl.Redis, s *script, args ...string) (int64, error) {
	reply, err := s.numbers(ctx, server, 1, []string{l.name}, args...)
	if err != nil {
		return 0, err
	}
	return reply[0], nil
}

func (l *Redlock) everywhere() []int {
	all := make([]int, len(l.servers))
	for i := range all {
		all[i] = i
	}
	return all
}

// giveBack ends a failed attempt: every server that may have the key is to delete it. It waits for the answers as long
// as for those of an attempt; what is not answered by then goes on in the background.
func (l *Redlock) giveBack(r *round, id string) {
	if l.off(noCleanup) {
		return
	}
	var have []int
	for i, came := range r.replies {
		if came == yes || !came.definite() && !l.off(cleanupOfGrantedOnly) {
			have = append(have, i)
		}
	}
	if !l.off(cleanupOfGrantedOnly) {
		r.giveBackLate(id, func() bool { return true })
	}
	l.release(context.Background(), have, id)
}

// release deletes the key of a hold on some servers, and goes on in the background where that is not answered.
func (l *Redlock) release(ctx context.Context, servers []int, id string) *round {
	r := l.ask(ctx, servers, func(ctx context.Context, server impl.Redis) (int64, error) {
		return l.one(ctx, server, l.scripts.release, id)
	}, false)
	for _, i := range servers {
		if !r.replies[i].definite() {
			l.clean(i, id)
		}
	}
	return r
}

// clean sends the release to one server until it is answered.
func (l *Redlock) clean(server int, id string) {
	l.insist(func(ctx context.Context) error {
		_, err := l.one(ctx, l.servers[server], l.scripts.release, id)
		return err
	})
}

// Unlock frees the lock. impl.ErrNotOwner means that this handle holds nothing, impl.ErrLost that the hold had ended
// before: its time was over, or a majority did not have its key any more. After any other error nobody knows; the
// release is sent on in the background, and Unlock may be called again.
func (l *Redlock) Unlock(ctx context.Context) error {
	if l.hold == nil {
		return l.unlockAgain(ctx)
	}
	inTime, id := l.hold.valid(), l.hold.id
	l.hold.unlock()
	if l.stop != nil {
		close(l.stop)
	}
	l.hold, l.stop = nil, nil
	l.extending <- struct{}{}
	defer func() { <-l.extending }()
	r := l.release(ctx, l.everywhere(), id)
	deleted := r.count(yes)
	switch {
	case !inTime || deleted+r.unanswered() < l.quorum:
		return l.explain("unlock", impl.ErrLost)
	case deleted < l.quorum:
		l.leaving = id
		return l.explain("unlock", r.shortfall(ctx))
	}
	return nil
}

// unlockAgain repeats a release whose result was unknown. The hold was good when the first was sent, and the section
// ended there, so any answers of a majority will do.
func (l *Redlock) unlockAgain(ctx context.Context) error {
	if l.leaving == "" {
		return l.explain("unlock", impl.ErrNotOwner)
	}
	r := l.release(ctx, l.everywhere(), l.leaving)
	if len(l.servers)-r.unanswered() < l.quorum {
		return l.explain("unlock", r.shortfall(ctx))
	}
	l.leaving = ""
	return nil
}

// startRenewal extends the hold in the background, until it is unlocked or lost.
func (l *Redlock) startRenewal() {
	h, stop := l.hold, make(chan struct{})
	l.stop = stop
	l.start(func() {
		for {
			timer := l.clock.NewTimer(l.lease / 3)
			// ranked: extend looks whether the hold was unlocked
			select {
			case <-timer.Chan():
			case <-stop:
			}
			timer.Stop()
			if !l.extend(h) {
				return
			}
		}
	})
}

// extend renews the lease once and tells whether the hold is still worth renewing. What a majority extends is valid for
// a lease from before it was asked; without one the deadline stays where it is.
func (l *Redlock) extend(h *hold) bool {
	l.extending <- struct{}{}
	defer func() { <-l.extending }()
	if h.isOver() {
		return false
	}
	asked := l.now()
	r := l.ask(context.Background(), l.everywhere(), func(ctx context.Context, server impl.Redis) (int64, error) {
		return l.one(ctx, server, l.scripts.extend, h.id, millis(l.lease))
	}, false)
	r.giveBackLate(h.id, h.isOver)
	extended := r.count(yes)
	switch {
	case extended >= l.quorum || extended > 0 && l.off(extensionWithoutQuorum):
		return h.extend(l.deadline(asked, l.lease))
	case extended+r.unanswered() < l.quorum:
		h.lose()
		return false
	}
	return h.valid()
}

// Held asks the servers whether this handle's hold stands: a majority has its key, and its time is not over now that
// they have answered.
func (l *Redlock) Held(ctx context.Context) (bool, error) {
	if l.hold == nil {
		return false, nil
	}
	h := l.hold
	r := l.ask(ctx, l.everywhere(), func(ctx context.Context, server impl.Redis) (int64, error) {
		reply, err := server.Do(ctx, "GET", l.name)
		if err != nil {
			return 0, err
		}
		value, _, err := text("GET", reply)
		if value != h.id {
			return int64(no), err
		}
		return int64(yes), err
	}, false)
	if stands := r.count(yes); stands < l.quorum && stands+r.unanswered() >= l.quorum {
		return false, l.explain("held", r.shortfall(ctx))
	} else if stands < l.quorum {
		return false, nil
	}
	return h.valid(), nil
}

// Deadline returns when the current hold must be taken as over, the zero time when nothing is held. Renewal moves it.
func (l *Redlock) Deadline() time.Time {
	if l.hold == nil {
		return time.Time{}
	}
	return l.hold.until()
}

// Lost returns the channel that is closed when the current hold ends by itself, nil when nothing is held. Ask for it
// in the goroutine that uses the handle; the channel may then be watched by any.
func (l *Redlock) Lost() <-chan struct{} {
	if l.hold == nil {
		return nil
	}
	return l.hold.lost
}

// Release closes the connections. It unlocks nothing.
func (l *Redlock) Release() error {
	var all []error
	for _, server := range l.servers {
		all = append(all, closeIfAble(server))
	}
	return errors.Join(all...)
}

// explain adds what was tried to an error; nil stays nil.
func (l *Redlock) explain(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("redislock: %s %q by %v: %w", what, l.name, l.owner, err)
}
