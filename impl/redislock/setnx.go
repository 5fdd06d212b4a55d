package redislock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockstep-sim/lockstep/impl"
)

// SetNX is the canonical lock on one Redis server: SET key value NX PX to take it, a script that compares and deletes
// to free it. The value is unique to the hold.
//
// The SET is part of a script, together with the INCR of the counter NAME:token: a fencing token has to be drawn in
// the same instant as the lock, or two holders in a row may draw theirs in the wrong order. The hold is valid for the
// lease from before the request, less an allowance for clocks (knob drift), and that is checked after a success. An
// acquisition or release with an unknown result is followed by releases in the background.
//
// It wants Redis 5 or later, and in a cluster a name with a hash tag, as in "{job}".
//
// It is not reentrant: TryLock and TryLockFor by the holder return false, Lock returns impl.ErrHeld.
//
// With knob renew=on a goroutine extends the lease every third of it until the unlock. Renewal does not outlast a
// deadline: once that has passed the hold is lost, and Lost and Unlock tell so.
//
// The server's clock decides when the key goes. A step of it forward ends holds early, and a pause of the holder past
// the deadline goes unnoticed until it wakes: only a resource that checks tokens is safe from both.
type SetNX struct {
	machine
	name, counter string
	owner         impl.Owner
	renew         bool
	scripts       setNXScripts
	off           func(ablation string) bool
	// announce, if not nil, is called before each release: an ablation of PubSub.
	announce func(ctx context.Context, id string) error

	hold *hold // nil while nothing is held
	stop chan struct{}
	// leaving is the value of a hold whose Unlock had an unknown result, for the Unlock that repeats it.
	leaving string
}

var (
	_ impl.Lock   = (*SetNX)(nil)
	_ impl.Holder = (*SetNX)(nil)
	_ impl.Fenced = (*SetNX)(nil)
	_ impl.Leased = (*SetNX)(nil)
	_ impl.Lossy  = (*SetNX)(nil)
)

func setNXEntry() impl.Entry {
	entry := impl.Entry{
		Name:     "redis/setnx-px",
		Backend:  "redis",
		About:    "SET NX PX and compare-and-delete, with a fencing token and optional renewal",
		Promises: impl.Promises{Fenced: true, Leased: true, LossTold: true},
		Knobs: append([]impl.Knob{
			{Name: "renew", Default: "off", About: "on: extend the lease in the background every third of it"},
		}, leaseKnobs...),
		Ablations: setNXAblations,
	}
	entry.New = func(env impl.Environment, settings impl.Settings) (impl.Lock, error) {
		return newSetNX(entry, env, settings)
	}
	return entry
}

// NewSetNX makes a handle on the canonical lock. It connects nothing yet.
func NewSetNX(env impl.Environment, settings impl.Settings) (*SetNX, error) {
	return newSetNX(setNXEntry(), env, settings)
}

func newSetNX(entry impl.Entry, env impl.Environment, settings impl.Settings) (*SetNX, error) {
	m, knobs, err := newMachine(entry, env, settings)
	if err != nil {
		return nil, err
	}
	l := &SetNX{
		machine: m,
		name:    settings.Name,
		counter: settings.Name + ":token",
		owner:   settings.Owner,
		renew:   knobs.Switch("renew"),
		scripts: wholeSetNX(),
		off:     func(ablation string) bool { return without(settings, ablation) },
	}
	if err := knobs.Err(); err != nil {
		return nil, err
	}
	if len(settings.Ablations) > 0 {
		l.scripts = composeSetNX(l.off)
	}
	return l, nil
}

// Lock blocks until the lock is held, ctx ends, or an error leaves the outcome unknown.
func (l *SetNX) Lock(ctx context.Context) error {
	if l.hold != nil {
		return l.explain("lock", l.inTheWay(impl.ErrHeld))
	}
	_, err := l.acquire(ctx, false, 0)
	return err
}

// TryLockFor keeps trying for wait on the machine's monotonic clock, with at least one attempt. An attempt that is
// under way when wait is over is brought to its end. The holder is refused at once.
func (l *SetNX) TryLockFor(ctx context.Context, wait time.Duration) (bool, error) {
	if l.hold != nil {
		return false, l.explain("lock", l.inTheWay(nil))
	}
	return l.acquire(ctx, true, wait)
}

func (l *SetNX) acquire(ctx context.Context, limited bool, wait time.Duration) (bool, error) {
	return l.poll(ctx, limited, wait, l.attempt)
}

// TryLock makes one attempt. The holder is refused without one.
func (l *SetNX) TryLock(ctx context.Context) (bool, error) {
	if l.hold != nil {
		return false, l.explain("lock", l.inTheWay(nil))
	}
	return l.once(ctx, l.attempt)
}

// inTheWay is what a lock call gets while the handle has a hold: held while it is good, impl.ErrLost once it is over
// and waits for its Unlock.
func (l *SetNX) inTheWay(held error) error {
	if l.hold.valid() {
		return held
	}
	return impl.ErrLost
}

// attempt tries once to set the key to id.
func (l *SetNX) attempt(ctx context.Context, id string) (outcome, time.Duration, error) {
	return l.ask(ctx, l.scripts.acquire, id)
}

// ask is an attempt by the given script.
func (l *SetNX) ask(ctx context.Context, acquire *script, id string) (outcome, time.Duration, error) {
	asked := l.clock.Now()
	reply, err := acquire.numbers(ctx, l.redis, 3, []string{l.name, l.counter}, id, millis(l.lease))
	if err != nil {
		if !refused(err) {
			l.clean(id)
		}
		return denied, 0, l.explain("lock", err)
	}
	rest := time.Duration(reply[2]) * time.Millisecond
	if reply[0] == 0 {
		return denied, rest + time.Millisecond, nil
	}
	deadline := l.deadline(asked, rest)
	if l.off(noValidityCheck) {
		deadline = l.clock.Now().Add(l.lease)
	} else if l.clock.Until(deadline) <= 0 {
		if _, err := l.free(ctx, id); err != nil {
			l.clean(id)
		}
		return tooLate, 0, nil
	}
	l.hold = beginHold(l.clock, id, reply[1], deadline, false)
	l.leaving = ""
	if l.renew {
		l.startRenewal()
	}
	return granted, 0, nil
}

// Unlock frees the lock. impl.ErrNotOwner means that this handle holds nothing, impl.ErrLost that the hold had ended
// before. After any other error nobody knows; the release is sent on in the background, and Unlock may be called
// again.
func (l *SetNX) Unlock(ctx context.Context) error {
	if l.hold == nil {
		return l.unlockAgain(ctx)
	}
	inTime := l.hold.valid()
	id := l.hold.id
	freed, err := l.free(ctx, id)
	if err != nil && refused(err) && inTime {
		return l.explain("unlock", err) // certainly still held
	}
	l.drop()
	if err != nil && !refused(err) {
		l.clean(id)
	}
	switch {
	case !inTime:
		return errors.Join(l.explain("unlock", impl.ErrLost), err)
	case err != nil:
		l.leaving = id
		return l.explain("unlock", err)
	case !freed:
		return l.explain("unlock", impl.ErrLost)
	}
	return nil
}

// unlockAgain repeats a release whose result was unknown. The hold was good when the first was sent, and the section
// ended there, so any answer will do.
func (l *SetNX) unlockAgain(ctx context.Context) error {
	if l.leaving == "" {
		return l.explain("unlock", impl.ErrNotOwner)
	}
	if _, err := l.free(ctx, l.leaving); err != nil {
		return l.explain("unlock", err)
	}
	l.leaving = ""
	return nil
}

// free sends the release and tells whether the key was there.
func (l *SetNX) free(ctx context.Context, id string) (bool, error) {
	if l.announce != nil {
		if err := l.announce(ctx, id); err != nil {
			return false, err
		}
	}
	reply, err := l.scripts.release.numbers(ctx, l.redis, 1, []string{l.name}, id)
	return err == nil && reply[0] == 1, err
}

// clean sends the release until it is answered.
func (l *SetNX) clean(id string) {
	l.insist(func(ctx context.Context) error {
		_, err := l.free(ctx, id)
		return err
	})
}

// drop forgets the hold and stops its renewal.
func (l *SetNX) drop() {
	l.hold.unlock()
	if l.stop != nil && !l.off(renewalNeverStopped) {
		close(l.stop)
	}
	l.hold, l.stop = nil, nil
}

// startRenewal extends the hold in the background, until drop stops it or the hold is lost.
func (l *SetNX) startRenewal() {
	h, stop := l.hold, make(chan struct{})
	l.stop = stop
	l.start(func() {
		for {
			timer := l.clock.NewTimer(l.lease / 3)
			// ranked: a stop is looked for again below
			select {
			case <-timer.Chan():
			case <-stop:
			}
			timer.Stop()
			// A stop has precedence: what was unlocked is not to be extended.
			select {
			case <-stop:
				return
			default:
			}
			if !l.extend(h) && !l.off(renewalNeverStopped) {
				return
			}
		}
	})
}

// extend renews the lease once and tells whether the hold is still worth renewing. An unknown result is not the end:
// the next try may come in time, and if none does the deadline ends the hold.
func (l *SetNX) extend(h *hold) bool {
	asked := l.clock.Now()
	reply, err := l.scripts.extend.numbers(context.Background(), l.redis, 1, []string{l.name}, h.id, millis(l.lease))
	if err != nil {
		return h.valid()
	}
	if reply[0] == 0 {
		h.lose()
		return false
	}
	return h.extend(l.deadline(asked, l.lease))
}

// Held asks the server whether this handle's hold stands.
func (l *SetNX) Held(ctx context.Context) (bool, error) {
	if l.hold == nil {
		return false, nil
	}
	reply, err := l.redis.Do(ctx, "GET", l.name)
	if err != nil {
		return false, l.explain("held", err)
	}
	value, _, err := text("GET", reply)
	return value == l.hold.id, err
}

// Token returns the fencing token of the current hold, 0 when nothing is held.
func (l *SetNX) Token() int64 {
	if l.hold == nil {
		return 0
	}
	return l.hold.token
}

// Deadline returns when the current hold must be taken as over, the zero time when nothing is held. Renewal moves it.
func (l *SetNX) Deadline() time.Time {
	if l.hold == nil || l.off(deadlineUntold) {
		return time.Time{}
	}
	return l.hold.until()
}

// Lost returns the channel that is closed when the current hold ends by itself, nil when nothing is held. Ask for it
// in the goroutine that uses the handle; the channel may then be watched by any.
func (l *SetNX) Lost() <-chan struct{} {
	if l.hold == nil {
		return nil
	}
	return l.hold.lost
}

// Release closes the connection. It unlocks nothing.
func (l *SetNX) Release() error { return closeIfAble(l.redis) }

// explain adds what was tried to an error; nil stays nil.
func (l *SetNX) explain(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("redislock: %s %q by %v: %w", what, l.name, l.owner, err)
}
