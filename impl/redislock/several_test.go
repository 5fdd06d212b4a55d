package redislock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"

	"github.com/lockstep-sim/lockstep/impl"
)

// onSeveral runs a test with five servers: miniredis each, or databases of one real Redis, which share no keys. down
// makes one of them unreachable.
func onSeveral(t *testing.T, test func(t *testing.T, servers []impl.Redis, down func(i int))) {
	const n = 5
	t.Run("miniredis", func(t *testing.T) {
		var servers []impl.Redis
		var clients []*redis.Client
		for range n {
			store := miniredis.NewMiniRedis()
			t.Cleanup(store.Close)
			client := redis.NewClient(&redis.Options{
				Addr:       "127.0.0.1:1",
				Dialer:     func(context.Context, string, string) (net.Conn, error) { return store.Dial() },
				MaxRetries: -1, DialerRetries: 1, DisableIdentity: true,
			})
			t.Cleanup(func() { client.Close() })
			servers, clients = append(servers, FromGoRedis(client)), append(clients, client)
		}
		test(t, servers, func(i int) { clients[i].Close() })
	})
	t.Run("redis", func(t *testing.T) {
		address := realRedisAddress(t)
		var servers []impl.Redis
		var clients []*redis.Client
		for i := range n {
			client := redis.NewClient(&redis.Options{Addr: address, DB: i, MaxRetries: -1, DisableIdentity: true})
			t.Cleanup(func() { client.Close() })
			if err := client.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			servers, clients = append(servers, FromGoRedis(client)), append(clients, client)
		}
		test(t, servers, func(i int) { clients[i].Close() })
	})
}

// redlockOn makes a handle with a time limit that a slow test machine meets.
func redlockOn(t *testing.T, servers []impl.Redis, knobs map[string]string) *Redlock {
	t.Helper()
	settings := impl.Settings{Name: "job", Lease: time.Hour, Knobs: map[string]string{
		"ask-timeout": "10s", "retry": "1ms", "retry-max": "5ms",
	}}
	for name, value := range knobs {
		settings.Knobs[name] = value
	}
	lock, err := NewRedlock(impl.Environment{
		Clock: clockwork.NewRealClock(), Redises: servers, Random: rand.Reader, Go: func(f func()) { go f() },
	}, settings)
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

func TestRedlockHold(t *testing.T) {
	for _, ask := range []string{"parallel", "sequential"} {
		t.Run(ask, func(t *testing.T) {
			onSeveral(t, func(t *testing.T, servers []impl.Redis, down func(int)) {
				ctx := t.Context()
				knobs := map[string]string{"ask": ask}
				a, b := redlockOn(t, servers, knobs), redlockOn(t, servers, knobs)
				if err := a.Unlock(ctx); !errors.Is(err, impl.ErrNotOwner) {
					t.Errorf("unlock without a hold: %v", err)
				}
				down(1)
				if got, err := a.TryLock(ctx); !got || err != nil {
					t.Fatalf("TryLock with four of five servers: %v, %v", got, err)
				}
				if left := time.Until(a.Deadline()); left > 60*time.Minute-36*time.Second || left < 59*time.Minute {
					t.Errorf("%v left of an hour less one percent", left)
				}
				if got, err := b.TryLock(ctx); got || err != nil {
					t.Errorf("TryLock against a holder: %v, %v", got, err)
				}
				down(3)
				if held, err := a.Held(ctx); !held || err != nil {
					t.Errorf("Held with three of five servers: %v, %v", held, err)
				}
				if err := a.Unlock(ctx); err != nil {
					t.Errorf("unlock: %v", err)
				}
				if got, err := b.TryLock(ctx); !got || err != nil {
					t.Errorf("TryLock of the free lock: %v, %v", got, err)
				}
				down(4)
				if held, err := b.Held(ctx); held || err == nil {
					t.Errorf("Held with two of five servers: %v, %v", held, err)
				}
				if err := b.Unlock(ctx); err == nil || errors.Is(err, impl.ErrLost) || errors.Is(err, impl.ErrNotOwner) {
					t.Errorf("unlock with two of five servers: %v, want that nobody knows", err)
				}
				if got, err := a.TryLockFor(ctx, 20*time.Millisecond); got || err != nil {
					t.Errorf("TryLockFor without a majority: %v, %v", got, err)
				}
			})
		})
	}
}

// TestRedlockContention lets handles on three servers count in a variable that nothing but the lock protects.
func TestRedlockContention(t *testing.T) {
	const contenders, rounds = 3, 5
	onSeveral(t, func(t *testing.T, servers []impl.Redis, _ func(int)) {
		var inside, count int
		var guard sync.Mutex // publishes the variables between goroutines, the lock keeps them consistent
		var all sync.WaitGroup
		for range contenders {
			lock := redlockOn(t, servers[:3], nil)
			all.Go(func() {
				for range rounds {
					if err := lock.Lock(t.Context()); err != nil {
						t.Error(err)
						return
					}
					guard.Lock()
					if inside++; inside != 1 {
						t.Errorf("%d inside", inside)
					}
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

// TestPubSubHandsOver has waiters that only a message can wake in time: the lease, and with it the longest sleep, is an
// hour. Each section ends when the next waiter is in.
func TestPubSubHandsOver(t *testing.T) {
	const waiters = 4
	onEachServer(t, func(t *testing.T, client *redis.Client) {
		var inside sync.Mutex
		holder := newLeased(t, pubSubEntry(), FromGoRedis(client), impl.Settings{})
		if err := holder.Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
		var all, listening sync.WaitGroup
		listening.Add(waiters)
		tokens := make(chan int64, waiters)
		for range waiters {
			subscriber := announced{FromGoRedis(client).(impl.RedisSubscriber), listening.Done}
			lock := newLeased(t, pubSubEntry(), subscriber, impl.Settings{})
			all.Go(func() {
				if err := lock.Lock(t.Context()); err != nil {
					t.Error(err)
					return
				}
				if !inside.TryLock() {
					t.Error("two inside")
					return
				}
				tokens <- lock.Token()
				inside.Unlock()
				if err := lock.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		listening.Wait()
		if err := holder.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		all.Wait()
		close(tokens)
		for want := int64(2); want < waiters+2; want++ {
			if got := <-tokens; got != want {
				t.Errorf("token %d, want %d", got, want)
			}
		}
	})
}

// announced tells of each subscription.
type announced struct {
	impl.RedisSubscriber
	subscribed func()
}

func (a announced) Subscribe(ctx context.Context, channel string) (impl.Subscription, error) {
	defer a.subscribed()
	return a.RedisSubscriber.Subscribe(ctx, channel)
}

// TestSubscription receives from a real client library, in order, until either side ends it.
func TestSubscription(t *testing.T) {
	onEachServer(t, func(t *testing.T, client *redis.Client) {
		ctx := t.Context()
		subscriber := FromGoRedis(client).(impl.RedisSubscriber)
		one, err := subscriber.Subscribe(ctx, "channel")
		if err != nil {
			t.Fatal(err)
		}
		texts := make(chan string, 10)
		go func() {
			defer close(texts)
			for {
				text, err := one.Receive()
				if err != nil {
					return
				}
				texts <- text
			}
		}()
		for i := range 3 {
			client.Publish(ctx, "another", "unheard")
			client.Publish(ctx, "channel", i)
		}
		for i := range 3 {
			if text := <-texts; text != fmt.Sprint(i) {
				t.Errorf("received %q, want %d", text, i)
			}
		}
		one.Close()
		one.Close()
		if text, more := <-texts; more {
			t.Errorf("received %q after Close", text)
		}
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := subscriber.Subscribe(cancelled, "channel"); err == nil {
			t.Error("a cancelled call subscribed")
		}
		client.Close()
		if _, err := subscriber.Subscribe(ctx, "channel"); err != nil {
			t.Errorf("a subscription has connections of its own: %v", err)
		}
	})
}

// TestSubscriptionIsNotMended breaks the connection: the library would connect again without a word.
func TestSubscriptionIsNotMended(t *testing.T) {
	server := miniredis.NewMiniRedis()
	t.Cleanup(server.Close)
	var conns []net.Conn
	client := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:1",
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			conn, err := server.Dial()
			conns = append(conns, conn)
			return conn, err
		},
		MaxRetries: -1, DisableIdentity: true,
	})
	t.Cleanup(func() { client.Close() })
	subscription, err := FromGoRedis(client).(impl.RedisSubscriber).Subscribe(t.Context(), "channel")
	if err != nil {
		t.Fatal(err)
	}
	dialled := len(conns)
	conns[dialled-1].Close()
	if text, err := subscription.Receive(); err == nil {
		t.Errorf("received %q over a connection that is no more", text)
	}
	if len(conns) != dialled {
		t.Error("the library dialled again")
	}
}
