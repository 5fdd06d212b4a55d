package redislock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/lockstep-sim/lockstep/impl"
	"github.com/lockstep-sim/lockstep/impl/timeserver"
)

// GetSet is the published reentrant lock on SETNX, GET and GETSET: its server commands, their order and its
// questions to the time server are those of the Java original, faults included. It must not be used to protect
// anything; [Repaired] is the lock to use.
//
// Known faults, by what happens (FAULTS.md has them step by step):
//
//   - A contender that loses the GETSET race has written its own name into the record. Its next try takes that record
//     for its own hold: two holders, without any fault of network or clock.
//   - Nothing is checked after a success: a record may be expired when its owner learns of it.
//   - Unlock, re-entry and the lowering of the count read first and write later; in between the record may have become
//     somebody else's, which is then deleted or overwritten.
//   - Unlock returns nil when the hold had expired, and the record stays. Records have no TTL.
//   - A re-entry after the own expiry starts again at count one.
//   - Owners are told apart by machine, process and thread alone; equal identities enter each other's holds, and so
//     does an owner whose own earlier success had its answer lost.
//   - Without the time server nobody can unlock.
//   - IsLocked answers from a local flag that no unlock clears; Held does not look at the deadline.
//   - Waiting is done without any pause, and measured on the wall clock.
//
// Three things are not as published, since they could not be. Lock and LockInterruptibly fail at their first
// statement there, because they convert a time unit that is null; here they do what they are meant to. Unlock and
// Held fail with a null pointer when there is no record; here Unlock returns an error that wraps impl.ErrNotOwner
// and Held returns false. The sum of start and waiting period cannot overflow here. An interrupt is the end of the
// context: Lock and TryLockFor also look at it between two rounds, where the original would have gone on.
type GetSet struct {
	redis impl.Redis
	time  impl.TimeSource
	clock clockwork.Clock
	key   string
	owner impl.Owner
	lease int64 // milliseconds

	// locked is the flag of the published lock: set by a success, cleared by a failure, left alone by Unlock.
	locked bool
}

var (
	_ impl.Lock   = (*GetSet)(nil)
	_ impl.Holder = (*GetSet)(nil)
)

func getSetEntry() impl.Entry {
	entry := impl.Entry{
		Name:       "redis/getset",
		Backend:    "redis",
		About:      "the published reentrant lock on SETNX, GET and GETSET with a time server; broken, kept as it is",
		Promises:   impl.Promises{Reentrant: true},
		TimeServer: true,
		Knobs: []impl.Knob{
			{Name: "time-timeout", Default: "2s", About: "how long one question to the time server may take"},
		},
	}
	entry.New = func(env impl.Environment, settings impl.Settings) (impl.Lock, error) {
		return newGetSet(entry, env, settings)
	}
	return entry
}

// NewGetSet makes a handle on the published lock. It connects nothing yet.
func NewGetSet(env impl.Environment, settings impl.Settings) (*GetSet, error) {
	return newGetSet(getSetEntry(), env, settings)
}

func newGetSet(entry impl.Entry, env impl.Environment, settings impl.Settings) (*GetSet, error) {
	if err := checkEnvironment(entry, env); err != nil {
		return nil, err
	}
	if err := checkSettings(entry, settings); err != nil {
		return nil, err
	}
	knobs := entry.ReadKnobs(settings)
	timeout := knobs.Duration("time-timeout", time.Millisecond, time.Hour)
	if err := knobs.Err(); err != nil {
		return nil, err
	}
	source := timeserver.NewClient(timeserver.ClientOptions{
		Address: env.TimeServer, Dial: env.Dial, Clock: env.Clock, Timeout: timeout,
	})
	return &GetSet{
		redis: env.Redis, time: source, clock: env.Clock,
		key: settings.Name, owner: settings.Owner, lease: settings.Lease.Milliseconds(),
	}, nil
}

// Lock blocks until the lock is held, ctx ends or a server cannot be asked.
func (l *GetSet) Lock(ctx context.Context) error {
	_, err := l.acquire(ctx, false, 0)
	return err
}

// LockInterruptibly is Lock; it also looks at ctx before it does anything.
func (l *GetSet) LockInterruptibly(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return l.Lock(ctx)
}

// TryLockFor keeps trying until wait has passed on the machine's wall clock: a step of that clock lengthens or
// shortens the wait, down to no attempt at all.
func (l *GetSet) TryLockFor(ctx context.Context, wait time.Duration) (bool, error) {
	return l.acquire(ctx, true, wait.Milliseconds())
}

// acquire is the loop of Lock and TryLockFor. It starts over whenever a round settles nothing, without a pause.
func (l *GetSet) acquire(ctx context.Context, timed bool, wait int64) (bool, error) {
	start := l.clock.Now().UnixMilli()
	for !timed || start+wait >= l.clock.Now().UnixMilli() {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		mine, err := l.newRecord(ctx)
		if err != nil {
			return false, err
		}
		if set, err := l.setIfAbsent(ctx, mine); set || err != nil {
			return l.succeed(set, err)
		}
		current, present, err := l.read(ctx)
		if err != nil {
			return false, err
		}
		if !present { // deleted this very moment
			continue
		}
		if done, err := l.contend(ctx, current, mine); done || err != nil {
			return l.succeed(done, err)
		}
	}
	l.locked = false
	return false, nil
}

// TryLock makes one attempt, with one more SETNX when the record vanishes under it. The record made at the start is
// used for all of it.
func (l *GetSet) TryLock(ctx context.Context) (bool, error) {
	mine, err := l.newRecord(ctx)
	if err != nil {
		return false, err
	}
	if set, err := l.setIfAbsent(ctx, mine); set || err != nil {
		return l.succeed(set, err)
	}
	current, present, err := l.read(ctx)
	if err != nil {
		return false, err
	}
	var done bool
	if present {
		done, err = l.contend(ctx, current, mine)
	} else {
		done, err = l.setIfAbsent(ctx, mine)
	}
	if err != nil {
		return false, err
	}
	l.locked = done
	return done, nil
}

// succeed sets the flag for a success and passes an error through, which leaves the flag alone as an exception does.
func (l *GetSet) succeed(done bool, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	l.locked = done
	return done, nil
}

// contend deals with a record that is there: takes it over when it has expired, enters again when it is the own.
func (l *GetSet) contend(ctx context.Context, current Record, mine string) (bool, error) {
	expired, err := l.expired(ctx, current)
	if err != nil {
		return false, err
	}
	if expired {
		return l.takeOver(ctx, mine)
	}
	if current.Owner() != l.owner {
		return false, nil
	}
	now, err := l.time.Millis(ctx)
	if err != nil {
		return false, err
	}
	current.Expires = now + l.lease + 1
	current.Count++
	return true, l.write(ctx, current)
}

// takeOver writes the own record and then looks at what it replaced. When that was alive the attempt has failed, but
// the record now names the loser: this is where the published lock breaks first.
func (l *GetSet) takeOver(ctx context.Context, mine string) (bool, error) {
	reply, err := l.send(ctx, "GETSET", mine)
	if err != nil {
		return false, err
	}
	replaced, present, err := decode("GETSET", reply)
	if !present || err != nil {
		return false, err
	}
	return l.expired(ctx, replaced)
}

// Unlock gives up one level. A hold that has expired is left alone and reported as unlocked. Without a record, or
// with somebody else's, the error wraps impl.ErrNotOwner.
func (l *GetSet) Unlock(ctx context.Context) error {
	current, present, err := l.read(ctx)
	if err != nil {
		return err
	}
	if !present {
		return fmt.Errorf("redislock: unlock %q by %v: no record: %w", l.key, l.owner, impl.ErrNotOwner)
	}
	if expired, err := l.expired(ctx, current); expired || err != nil {
		return err
	}
	if current.Owner() != l.owner {
		return fmt.Errorf("redislock: unlock %q by %v: held by %v: %w", l.key, l.owner, current.Owner(), impl.ErrNotOwner)
	}
	if current.Count == 1 {
		_, err := l.send(ctx, "DEL")
		return err
	}
	current.Count-- // also from zero and below, which then never comes to one
	return l.write(ctx, current)
}

// IsLocked tells whether the lock is held, by anybody, as long as this handle's last attempt was a success.
func (l *GetSet) IsLocked(ctx context.Context) (bool, error) {
	if !l.locked {
		return false, nil
	}
	current, present, err := l.read(ctx)
	if !present || err != nil {
		return false, err
	}
	expired, err := l.expired(ctx, current)
	return !expired && err == nil, err
}

// Held tells whether the record names this owner, be it expired or not.
func (l *GetSet) Held(ctx context.Context) (bool, error) {
	current, present, err := l.read(ctx)
	return present && current.Owner() == l.owner, err
}

// Release closes the connections to both servers. It unlocks nothing.
func (l *GetSet) Release() error { return errors.Join(closeIfAble(l.redis), closeIfAble(l.time)) }

// newRecord asks for the time and renders the record of a first level.
func (l *GetSet) newRecord(ctx context.Context) (string, error) {
	now, err := l.time.Millis(ctx)
	if err != nil {
		return "", err
	}
	return newRecord(l.owner, now+l.lease+1).String(), nil
}

// expired judges a record by the time server's clock.
func (l *GetSet) expired(ctx context.Context, record Record) (bool, error) {
	now, err := l.time.Millis(ctx)
	return err == nil && record.Expires < now, err
}

func (l *GetSet) setIfAbsent(ctx context.Context, record string) (bool, error) {
	reply, err := l.send(ctx, "SETNX", record)
	if err != nil {
		return false, err
	}
	set, ok := reply.(int64)
	if !ok {
		return false, fmt.Errorf("redislock: unexpected reply to SETNX: %T where a number was due", reply)
	}
	return set == 1, nil
}

func (l *GetSet) read(ctx context.Context) (record Record, present bool, err error) {
	reply, err := l.send(ctx, "GET")
	if err != nil {
		return Record{}, false, err
	}
	return decode("GET", reply)
}

func (l *GetSet) write(ctx context.Context, record Record) error {
	_, err := l.send(ctx, "SET", record.String())
	return err
}

// send sends one command on the lock's key.
func (l *GetSet) send(ctx context.Context, command string, value ...string) (any, error) {
	args := make([]any, 0, 3)
	args = append(args, command, l.key)
	for _, v := range value {
		args = append(args, v)
	}
	reply, err := l.redis.Do(ctx, args...)
	if err != nil {
		return nil, fmt.Errorf("redislock: %s %q: %w", command, l.key, err)
	}
	return reply, nil
}

// decode reads a reply that is a record or nil.
func decode(command string, reply any) (record Record, present bool, err error) {
	value, present, err := text(command, reply)
	if !present || err != nil {
		return Record{}, false, err
	}
	record, err = ParseRecord(value)
	return record, err == nil, err
}
