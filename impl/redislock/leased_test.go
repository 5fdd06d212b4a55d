package redislock

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"

	"github.com/lockstep-sim/lockstep/impl"
)

// leasedLock is what both leased locks offer.
type leasedLock interface {
	impl.Lock
	impl.Holder
	impl.Fenced
	impl.Leased
	impl.Lossy
}

func environment(server impl.Redis, clock clockwork.Clock) impl.Environment {
	return impl.Environment{
		Clock: clock, Redis: server, Redises: []impl.Redis{server}, Random: rand.Reader, Go: func(f func()) { go f() },
	}
}

func newLeased(t *testing.T, entry impl.Entry, server impl.Redis, settings impl.Settings) leasedLock {
	t.Helper()
	settings.Name = "job"
	if settings.Lease == 0 {
		settings.Lease = time.Hour // tests do not wait for it
	}
	lock, err := entry.New(environment(server, clockwork.NewRealClock()), settings)
	if err != nil {
		t.Fatal(err)
	}
	return lock.(leasedLock)
}

func onEachLeased(t *testing.T, test func(t *testing.T, entry impl.Entry, client *redis.Client)) {
	for _, entry := range []impl.Entry{repairedEntry(), setNXEntry()} {
		t.Run(strings.ReplaceAll(entry.Name, "/", " "), func(t *testing.T) {
			onEachServer(t, func(t *testing.T, client *redis.Client) { test(t, entry, client) })
		})
	}
}

func TestLeasedHold(t *testing.T) {
	onEachLeased(t, func(t *testing.T, entry impl.Entry, client *redis.Client) {
		ctx := t.Context()
		a := newLeased(t, entry, FromGoRedis(client), impl.Settings{Owner: impl.Owner{Machine: "a"}})
		b := newLeased(t, entry, FromGoRedis(client), impl.Settings{Owner: impl.Owner{Machine: "b"}})
		if a.Token() != 0 || !a.Deadline().IsZero() || a.Lost() != nil {
			t.Error("a fresh handle claims a hold")
		}
		if err := b.Unlock(ctx); !errors.Is(err, impl.ErrNotOwner) {
			t.Errorf("unlock without a hold: %v", err)
		}
		if err := a.Lock(ctx); err != nil {
			t.Fatal(err)
		}
		if held, err := a.Held(ctx); !held || err != nil {
			t.Errorf("Held: %v, %v", held, err)
		}
		if held, err := b.Held(ctx); held || err != nil {
			t.Errorf("Held by another: %v, %v", held, err)
		}
		if a.Token() != 1 {
			t.Errorf("first token is %d", a.Token())
		}
		if left := time.Until(a.Deadline()); left > 60*time.Minute-36*time.Second || left < 59*time.Minute {
			t.Errorf("%v left of an hour less one percent", left)
		}
		if got, err := b.TryLock(ctx); got || err != nil {
			t.Errorf("TryLock against a holder: %v, %v", got, err)
		}
		if got, err := b.TryLockFor(ctx, 0); got || err != nil {
			t.Errorf("TryLockFor against a holder: %v, %v", got, err)
		}
		if err := b.Unlock(ctx); !errors.Is(err, impl.ErrNotOwner) {
			t.Errorf("unlock of another's hold: %v", err)
		}
		if err := a.Unlock(ctx); err != nil {
			t.Errorf("unlock: %v", err)
		}
		if keys := client.Keys(ctx, "*").Val(); len(keys) != 1 || keys[0] != "job:token" {
			t.Errorf("after the unlock there are %v", keys)
		}
		if got, err := b.TryLock(ctx); !got || err != nil || b.Token() != 2 {
			t.Errorf("TryLock of the free lock: %v, %v, token %d", got, err, b.Token())
		}
		for _, key := range client.Keys(ctx, "*").Val() {
			if ttl := client.PTTL(ctx, key).Val(); ttl <= 0 && key != "job:token" {
				t.Errorf("%s has no TTL", key)
			}
		}
	})
}

func TestLeasedLoss(t *testing.T) {
	onEachLeased(t, func(t *testing.T, entry impl.Entry, client *redis.Client) {
		ctx := t.Context()
		a := newLeased(t, entry, FromGoRedis(client), impl.Settings{})
		if err := a.Lock(ctx); err != nil {
			t.Fatal(err)
		}
		client.FlushDB(ctx)
		if held, err := a.Held(ctx); held || err != nil {
			t.Errorf("Held: %v, %v", held, err)
		}
		if err := a.Unlock(ctx); !errors.Is(err, impl.ErrLost) {
			t.Errorf("unlock of a lost hold: %v", err)
		}
		if err := a.Unlock(ctx); !errors.Is(err, impl.ErrNotOwner) {
			t.Errorf("unlock after that: %v", err)
		}
	})
}

// TestLeasedOnRestartedServer runs a call on a server that has lost its scripts.
func TestLeasedOnRestartedServer(t *testing.T) {
	onEachLeased(t, func(t *testing.T, entry impl.Entry, client *redis.Client) {
		ctx := t.Context()
		record := &transcript{redis: FromGoRedis(client)}
		a := newLeased(t, entry, record, impl.Settings{})
		if err := a.Lock(ctx); err != nil {
			t.Fatal(err)
		}
		client.ScriptFlush(ctx)
		if err := a.Unlock(ctx); err != nil {
			t.Fatal(err)
		}
		if err := a.Lock(ctx); err != nil {
			t.Fatal(err)
		}
		var commands []string
		for _, line := range record.lines {
			commands = append(commands, strings.Fields(line)[0])
		}
		const want = "EVALSHA EVAL EVALSHA EVAL EVALSHA EVAL"
		if got := strings.Join(commands, " "); got != want {
			t.Errorf("commands %s, want %s", got, want)
		}
	})
}

// TestLeasedBrokenCounter leaves nothing behind when no token can be drawn.
func TestLeasedBrokenCounter(t *testing.T) {
	onEachLeased(t, func(t *testing.T, entry impl.Entry, client *redis.Client) {
		ctx := t.Context()
		client.Set(ctx, "job:token", "not a number", 0)
		a := newLeased(t, entry, FromGoRedis(client), impl.Settings{})
		var refusal impl.RedisError
		if got, err := a.TryLock(ctx); got || !errors.As(err, &refusal) {
			t.Errorf("TryLock: %v, %v", got, err)
		}
		if keys := client.Keys(ctx, "*").Val(); len(keys) != 1 {
			t.Errorf("the refused attempt left %v", keys)
		}
	})
}

// TestLeasedCancelled ends the context of a waiter while it rests and while it asks.
func TestLeasedCancelled(t *testing.T) {
	onEachLeased(t, func(t *testing.T, entry impl.Entry, client *redis.Client) {
		a := newLeased(t, entry, FromGoRedis(client), impl.Settings{})
		if err := a.Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		asked := &cancelling{redis: FromGoRedis(client), after: 3, cancel: cancel}
		b := newLeased(t, entry, asked, impl.Settings{Knobs: map[string]string{"retry": "1ms"}})
		if err := b.Lock(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Lock: %v", err)
		}
		if b.Token() != 0 {
			t.Error("the cancelled waiter holds")
		}
		if got, err := b.TryLock(ctx); got || !errors.Is(err, context.Canceled) {
			t.Errorf("TryLock with an ended context: %v, %v", got, err)
		}
		if held, err := a.Held(t.Context()); !held || err != nil {
			t.Errorf("the holder: %v, %v", held, err)
		}
	})
}

// cancelling cancels a context after some commands.
type cancelling struct {
	redis  impl.Redis
	after  int
	cancel func()
}

func (c *cancelling) Do(ctx context.Context, args ...any) (any, error) {
	reply, err := c.redis.Do(ctx, args...)
	if c.after--; c.after == 0 {
		c.cancel()
	}
	return reply, err
}

// TestLeasedContention lets many handles count in a variable that nothing but the lock protects; under the race
// detector this also shows that a hold happens before the next. Tokens rise.
func TestLeasedContention(t *testing.T) {
	const contenders, rounds = 4, 20
	onEachLeased(t, func(t *testing.T, entry impl.Entry, client *redis.Client) {
		var inside, count int
		var last int64
		var guard sync.Mutex // publishes the variables between goroutines, the lock keeps them consistent
		var all sync.WaitGroup
		for range contenders {
			lock := newLeased(t, entry, FromGoRedis(client), impl.Settings{Knobs: map[string]string{
				"retry": "1ms", "retry-max": "2ms",
			}})
			all.Go(func() {
				for range rounds {
					if err := lock.Lock(t.Context()); err != nil {
						t.Error(err)
						return
					}
					guard.Lock()
					inside++
					if inside != 1 || lock.Token() <= last {
						t.Errorf("%d inside, token %d after %d", inside, lock.Token(), last)
					}
					last = lock.Token()
					guard.Unlock()
					guard.Lock()
					inside--
					count++
					guard.Unlock()
					if err := lock.Unlock(t.Context()); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		if count != contenders*rounds {
			t.Errorf("%d sections, want %d", count, contenders*rounds)
		}
	})
}

func TestRepairedReentry(t *testing.T) {
	onEachServer(t, func(t *testing.T, client *redis.Client) {
		ctx := t.Context()
		a := newLeased(t, repairedEntry(), FromGoRedis(client), impl.Settings{Owner: publishedOwner}).(*Repaired)
		namesake := newLeased(t, repairedEntry(), FromGoRedis(client), impl.Settings{Owner: publishedOwner})
		for level := int64(1); level <= 3; level++ {
			if err := a.LockInterruptibly(ctx); err != nil {
				t.Fatal(err)
			}
			record, err := ParseRecord(client.Get(ctx, "job").Val())
			if err != nil || record.Count != level || record.Owner() != publishedOwner || a.Token() != 1 {
				t.Fatalf("level %d: record %v, %v, token %d", level, record, err, a.Token())
			}
			if got := client.Get(ctx, "job").Val(); got != record.String() {
				t.Errorf("the record is written as %s, not as %s", got, record)
			}
		}
		if got, err := namesake.TryLock(ctx); got || err != nil {
			t.Errorf("a namesake: %v, %v", got, err)
		}
		for level := int64(2); level >= 0; level-- {
			if locked, err := a.IsLocked(ctx); !locked || err != nil {
				t.Errorf("IsLocked: %v, %v", locked, err)
			}
			if err := a.Unlock(ctx); err != nil {
				t.Fatal(err)
			}
			record, _ := ParseRecord(client.Get(ctx, "job").Val())
			if level > 0 && record.Count != level {
				t.Errorf("level %d: record %v", level, record)
			}
		}
		if locked, err := a.IsLocked(ctx); locked || err != nil {
			t.Errorf("IsLocked: %v, %v", locked, err)
		}
		if err := a.Release(); err != nil {
			t.Error(err)
		}
		if err := a.Lock(ctx); err == nil {
			t.Error("Lock after Release succeeded")
		}
	})
}

// TestRepairedTakesOverDeadRecords writes the record of a dead holder, as the published program would leave it.
func TestRepairedTakesOverDeadRecords(t *testing.T) {
	onEachServer(t, func(t *testing.T, client *redis.Client) {
		ctx := t.Context()
		client.Set(ctx, "job", publishedRecord, 0)
		a := newLeased(t, repairedEntry(), FromGoRedis(client), impl.Settings{Owner: impl.Owner{Machine: "a"}})
		if got, err := a.TryLock(ctx); !got || err != nil {
			t.Errorf("TryLock: %v, %v", got, err)
		}
		live := newRecord(publishedOwner, 1<<52).String()
		client.Set(ctx, "job", live, 0)
		b := newLeased(t, repairedEntry(), FromGoRedis(client), impl.Settings{Owner: impl.Owner{Machine: "b"}})
		if got, err := b.TryLock(ctx); got || err != nil || client.Get(ctx, "job").Val() != live {
			t.Errorf("TryLock of a live record: %v, %v", got, err)
		}
		client.Set(ctx, "job", "hello", 0)
		if got, err := b.TryLock(ctx); got || err == nil || client.Get(ctx, "job").Val() != "hello" {
			t.Errorf("TryLock of what is no record: %v, %v", got, err)
		}
	})
}
