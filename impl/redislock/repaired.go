package redislock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/lockstep-sim/lockstep/impl"
)

// Repaired is a reentrant lock with the record and the calls of [GetSet] and without its faults, as far as a lease on
// one Redis server can be without. It wants Redis 5 or later, and in a cluster a name with a hash tag, as in "{job}".
//
// What it does differently:
//
//   - Every transition is one script: nothing happens between looking and writing, and a refused attempt writes
//     nothing.
//   - A hold has an id of its own, kept beside the record under NAME:hold. Who merely has the same identity, or finds a
//     record that an attempt of its own left behind, is not the holder. A hold thus belongs to one handle.
//   - A handle counts its levels itself and writes the count as a value, so a transition sent twice does no harm. An
//     Unlock with an unknown result has not given up its level: call it again, or let the lease end.
//   - After a success the deadline is checked, on the monotonic clock and from before the request. A hold whose
//     deadline has passed cannot be entered again; it has to be unlocked, level by level, each with impl.ErrLost.
//   - Loss is told by Lost and by Unlock.
//   - Each hold has a fencing token from the counter NAME:token, equal for all of its levels. The counter stays for
//     good: removing it would make tokens go back.
//   - When an acquisition or the last unlock has an unknown result, the handle goes on sending the release in the
//     background until it is answered or the lease is over, so that the leftover does not block others. (A request
//     that the network delivers after its own release still blocks them for one lease.) The caller gets the error.
//   - Deadlines are written and judged by the clock of the Redis machine, which no unlock needs. All keys but the
//     counter have a TTL of the deadline and one lease more.
//
// What no lease can do: a holder that is paused past its deadline learns of it when it wakes, after the harm. Only a
// resource that checks tokens is safe from it. And a lease is as good as the clock that ends it: when the clock of the
// Redis machine steps forward, holds end early by that much, as the TTL of any key does; when it steps back, records
// of dead holders stay for that much longer, at most until their TTL ends them.
type Repaired struct {
	machine
	scripts *repairedScripts
	keys    []string
	owner   impl.Owner
	tail    string
	off     func(ablation string) bool

	hold  *hold // nil while nothing is held
	level int64 // levels of the hold; what the server's record shows, save while a call is under way
	// leaving is the id of a hold whose last Unlock had an unknown result, for the Unlock that repeats it.
	leaving string
}

var (
	_ impl.Lock   = (*Repaired)(nil)
	_ impl.Holder = (*Repaired)(nil)
	_ impl.Fenced = (*Repaired)(nil)
	_ impl.Leased = (*Repaired)(nil)
	_ impl.Lossy  = (*Repaired)(nil)
)

func repairedEntry() impl.Entry {
	entry := impl.Entry{
		Name:      "redis/getset-repaired",
		Backend:   "redis",
		About:     "the published lock's record and calls with every transition atomic, checked and fenced",
		Promises:  impl.Promises{Reentrant: true, Fenced: true, Leased: true, LossTold: true},
		Knobs:     leaseKnobs,
		Ablations: repairedAblations,
	}
	entry.New = func(env impl.Environment, settings impl.Settings) (impl.Lock, error) {
		return newRepaired(entry, env, settings)
	}
	return entry
}

// NewRepaired makes a handle on the repaired lock. It connects nothing yet.
func NewRepaired(env impl.Environment, settings impl.Settings) (*Repaired, error) {
	return newRepaired(repairedEntry(), env, settings)
}

func newRepaired(entry impl.Entry, env impl.Environment, settings impl.Settings) (*Repaired, error) {
	m, _, err := newMachine(entry, env, settings)
	if err != nil {
		return nil, err
	}
	l := &Repaired{
		machine: m,
		scripts: wholeScripts(),
		keys:    []string{settings.Name, settings.Name + ":hold", settings.Name + ":token"},
		owner:   settings.Owner,
		tail:    recordTail(settings.Owner),
		off:     func(ablation string) bool { return without(settings, ablation) },
	}
	if len(settings.Ablations) > 0 {
		l.scripts = composeScripts(l.off)
	}
	return l, nil
}

// Lock blocks until the lock is held, ctx ends, or an error leaves the outcome unknown.
func (l *Repaired) Lock(ctx context.Context) error {
	_, err := l.acquire(ctx, false, 0)
	return err
}

// LockInterruptibly is Lock, which always listens to ctx. It is here for the likeness to GetSet.
func (l *Repaired) LockInterruptibly(ctx context.Context) error { return l.Lock(ctx) }

// TryLockFor keeps trying for wait on the machine's monotonic clock, with at least one attempt. An attempt that is
// under way when wait is over is brought to its end.
func (l *Repaired) TryLockFor(ctx context.Context, wait time.Duration) (bool, error) {
	return l.acquire(ctx, true, wait)
}

func (l *Repaired) acquire(ctx context.Context, limited bool, wait time.Duration) (bool, error) {
	if entered, err := l.reenter(ctx); entered || err != nil {
		return entered, err
	}
	return l.poll(ctx, limited, wait, l.attempt)
}

// TryLock makes one attempt.
func (l *Repaired) TryLock(ctx context.Context) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if entered, err := l.reenter(ctx); entered || err != nil {
		return entered, err
	}
	return l.once(ctx, l.attempt)
}

// reenter adds a level to the hold, if there is one. It returns false and no error when there is none.
func (l *Repaired) reenter(ctx context.Context) (bool, error) {
	if l.hold == nil {
		return false, nil
	}
	if !l.hold.valid() {
		if l.off(reentryAfterLoss) {
			l.drop()
			return false, nil
		}
		return false, l.lostError("lock")
	}
	asked := l.clock.Now()
	reply, err := l.call(ctx, l.scripts.enter, 2, l.hold.id, l.level+1)
	if err != nil {
		return false, l.callError("lock", err)
	}
	if reply[0] == 0 {
		l.hold.lose()
		return false, l.lostError("lock")
	}
	deadline := l.deadline(asked, time.Duration(reply[1])*time.Millisecond)
	if l.off(noValidityCheck) {
		deadline = l.clock.Now().Add(l.lease)
	}
	if !l.hold.extend(deadline) {
		return false, l.lostError("lock")
	}
	l.level++
	return true, nil
}

// attempt tries once to begin a hold of the given id.
func (l *Repaired) attempt(ctx context.Context, id string) (outcome, time.Duration, error) {
	asked := l.clock.Now()
	reply, err := l.ask(ctx, id)
	if err != nil {
		if !refused(err) {
			l.clean(id)
		}
		return denied, 0, l.callError("lock", err)
	}
	rest := time.Duration(reply[2]) * time.Millisecond
	if reply[0] == 0 {
		return denied, rest + time.Millisecond, nil // a record lives through its last millisecond
	}
	deadline := l.deadline(asked, rest)
	if l.off(noValidityCheck) {
		deadline = l.clock.Now().Add(l.lease)
	} else if l.clock.Until(deadline) <= 0 {
		if _, err := l.call(ctx, l.scripts.release, 1, id, 0); err != nil {
			l.clean(id)
		}
		return tooLate, 0, nil
	}
	l.hold = beginHold(l.clock, id, reply[1], deadline, l.off(noLossReport))
	l.level, l.leaving = 1, ""
	return granted, 0, nil
}

// ask sends the request for a hold and returns {granted, token, milliseconds left of the lease that stands now}.
func (l *Repaired) ask(ctx context.Context, id string) ([]int64, error) {
	if !l.off(loserWrites) {
		return l.call(ctx, l.scripts.acquire, 3, id, 1)
	}
	state, err := l.call(ctx, l.scripts.inspect, 4, id, 0)
	if err != nil {
		return nil, err
	}
	if live, mine := state[0], state[1]; live == 1 {
		return []int64{mine, state[2], state[3]}, nil
	}
	return l.call(ctx, l.scripts.take, 3, id, 1)
}

// Unlock gives up one level. impl.ErrNotOwner means that this handle holds nothing; impl.ErrLost that the hold had
// ended before, and that this level is given up nevertheless. After any other error the level is still held, as far
// as anybody knows, and Unlock may be called again.
func (l *Repaired) Unlock(ctx context.Context) error {
	switch {
	case l.hold == nil && l.leaving != "":
		return l.releaseAgain(ctx)
	case l.hold == nil:
		return fmt.Errorf("redislock: unlock %q by %v: nothing is held: %w", l.keys[0], l.owner, impl.ErrNotOwner)
	case !l.hold.valid():
		return l.unlockLost(ctx)
	case l.level > 1:
		return l.lower(ctx)
	default:
		return l.release(ctx)
	}
}

// lower gives up an inner level.
func (l *Repaired) lower(ctx context.Context) error {
	reply, err := l.call(ctx, l.scripts.lower, 1, l.hold.id, l.level-1)
	if err != nil {
		return l.callError("unlock", err)
	}
	l.level--
	if reply[0] == 0 {
		l.hold.lose()
		return l.reportLoss()
	}
	return nil
}

// release gives up the last level.
func (l *Repaired) release(ctx context.Context) error {
	id := l.hold.id
	reply, err := l.call(ctx, l.scripts.release, 1, id, 0)
	switch {
	case err != nil && refused(err):
		return l.callError("unlock", err)
	case err != nil:
		l.drop()
		l.leaving = id
		l.clean(id)
		return l.callError("unlock", err)
	}
	l.drop()
	if reply[0] == 0 {
		return l.reportLoss()
	}
	return nil
}

// releaseAgain repeats a release whose result was unknown. The hold was good when the first was sent, and the section
// ended there, so any answer will do.
func (l *Repaired) releaseAgain(ctx context.Context) error {
	if _, err := l.call(ctx, l.scripts.release, 1, l.leaving, 0); err != nil {
		return l.callError("unlock", err)
	}
	l.leaving = ""
	return nil
}

// unlockLost gives up one level of a hold that is over. With the last one the record is removed, in case it is still
// there: the server's deadline is a little later than the own.
func (l *Repaired) unlockLost(ctx context.Context) error {
	l.level--
	if l.level > 0 {
		return l.reportLoss()
	}
	id := l.hold.id
	l.drop()
	_, err := l.call(ctx, l.scripts.release, 1, id, 0)
	if err != nil && !refused(err) {
		l.clean(id)
	}
	return errors.Join(l.reportLoss(), err)
}

// drop forgets the hold.
func (l *Repaired) drop() {
	l.hold.unlock()
	l.hold, l.level = nil, 0
}

// clean sends the release of a hold until it is answered.
func (l *Repaired) clean(id string) {
	if l.off(noCleanupAfterUnknown) {
		return
	}
	l.insist(func(ctx context.Context) error {
		_, err := l.call(ctx, l.scripts.release, 1, id, 0)
		return err
	})
}

// IsLocked tells whether anybody holds the lock.
func (l *Repaired) IsLocked(ctx context.Context) (bool, error) {
	state, err := l.call(ctx, l.scripts.inspect, 4, "", 0)
	if err != nil {
		return false, err
	}
	return state[0] == 1, nil
}

// Held asks the server whether this handle's hold stands.
func (l *Repaired) Held(ctx context.Context) (bool, error) {
	if l.hold == nil {
		return false, nil
	}
	state, err := l.call(ctx, l.scripts.inspect, 4, l.hold.id, 0)
	if err != nil {
		return false, err
	}
	return state[0] == 1 && state[1] == 1, nil
}

// Token returns the fencing token of the current hold, 0 when nothing is held.
func (l *Repaired) Token() int64 {
	if l.hold == nil {
		return 0
	}
	return l.hold.token
}

// Deadline returns when the current hold must be taken as over, the zero time when nothing is held.
func (l *Repaired) Deadline() time.Time {
	if l.hold == nil {
		return time.Time{}
	}
	return l.hold.until()
}

// Lost returns the channel that is closed when the current hold ends by itself, nil when nothing is held. Ask for it
// in the goroutine that uses the handle; the channel may then be watched by any.
func (l *Repaired) Lost() <-chan struct{} {
	if l.hold == nil {
		return nil
	}
	return l.hold.lost
}

// Release closes the connection. It unlocks nothing.
func (l *Repaired) Release() error { return closeIfAble(l.redis) }

// call runs one of the scripts for the hold id; n is how many numbers it answers.
func (l *Repaired) call(ctx context.Context, s *script, n int, id string, level int64) ([]int64, error) {
	args := []string{id, l.tail, millis(l.lease), strconv.FormatInt(level, 10)}
	if l.off(expiryByClientClock) {
		args = append(args, strconv.FormatInt(l.clock.Now().UnixMilli(), 10))
	}
	return s.numbers(ctx, l.redis, n, l.keys, args...)
}

// reportLoss is what Unlock returns for a hold that had ended.
func (l *Repaired) reportLoss() error {
	if l.off(noLossReport) {
		return nil
	}
	return l.lostError("unlock")
}

func (l *Repaired) lostError(what string) error {
	return fmt.Errorf("redislock: %s %q by %v: %w", what, l.keys[0], l.owner, impl.ErrLost)
}

func (l *Repaired) callError(what string, err error) error {
	return fmt.Errorf("redislock: %s %q by %v: %w", what, l.keys[0], l.owner, err)
}
