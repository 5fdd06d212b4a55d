package redislock_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"

	"github.com/lockstep-sim/lockstep/impl"
	"github.com/lockstep-sim/lockstep/impl/redislock"
)

// In production the client dials a Redis server; here it is given one in the same process.
func Example() {
	server := miniredis.NewMiniRedis()
	defer server.Close()
	client := redis.NewClient(&redis.Options{
		Addr:       "127.0.0.1:6379",
		MaxRetries: -1, // never send a command twice
		Dialer:     func(context.Context, string, string) (net.Conn, error) { return server.Dial() },
	})
	defer client.Close()

	lock, err := redislock.NewRepaired(impl.Environment{
		Clock:  clockwork.NewRealClock(),
		Redis:  redislock.FromGoRedis(client),
		Random: rand.Reader,
		Go:     func(f func()) { go f() },
	}, impl.Settings{
		Name:  "job",
		Owner: impl.Owner{Machine: "28-D2-44-0E-0D-9A", Process: int64(os.Getpid()), Thread: 11},
		Lease: 10 * time.Second,
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	held, err := lock.TryLockFor(ctx, 3*time.Second)
	if !held || err != nil {
		fmt.Println("somebody else is at it", err)
		return
	}
	// Send the token along with whatever the lock protects, and stop when Lost is closed.
	fmt.Println("working with token", lock.Token())
	if err := lock.Unlock(ctx); errors.Is(err, impl.ErrLost) {
		fmt.Println("the work was not protected to its end")
	}
	// Output: working with token 1
}

// Redlock is held on a majority: here two of five servers are down.
func ExampleNewRedlock() {
	var servers []impl.Redis
	for range 5 {
		server := miniredis.NewMiniRedis()
		defer server.Close()
		client := redis.NewClient(&redis.Options{
			Addr:       "127.0.0.1:6379",
			MaxRetries: -1,
			Dialer:     func(context.Context, string, string) (net.Conn, error) { return server.Dial() },
		})
		defer client.Close()
		servers = append(servers, redislock.FromGoRedis(client))
		if len(servers) <= 2 {
			client.Close() // cannot be reached any more
		}
	}
	lock, err := redislock.NewRedlock(impl.Environment{
		Clock: clockwork.NewRealClock(), Redises: servers, Random: rand.Reader, Go: func(f func()) { go f() },
	}, impl.Settings{
		Name: "job", Lease: 10 * time.Second, Knobs: map[string]string{"ask-timeout": "1s"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	held, err := lock.TryLock(context.Background())
	fmt.Println(held, err)
	fmt.Println(lock.Unlock(context.Background()))
	// Output:
	// true <nil>
	// <nil>
}

func ExampleParseRecord() {
	record, err := redislock.ParseRecord(
		`{"count":1,"expires":1475068172329,"jvmPid":22224,"mac":"28-D2-44-0E-0D-9A","threadId":11}`)
	fmt.Println(record.Owner(), record.Count, err)
	// Output: 28-D2-44-0E-0D-9A/22224/11 1 <nil>
}
