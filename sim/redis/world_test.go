package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockstep-sim/lockstep/sim"
)

// builder adds clients to a world with two Redis machines. They note what they see.
type builder func(w *sim.World, redis, other *Machine, note func(string))

// world runs the clients for a minute and returns what they noted, in the order in which they did.
func world(t *testing.T, config sim.Config, build builder) []string {
	t.Helper()
	var noted []string
	result := sim.Run(t, config, func(w *sim.World) {
		one, two := NewMachine(w, Options{Name: "redis"}), NewMachine(w, Options{Name: "other"})
		defer one.Release()
		defer two.Release()
		build(w, one, two, func(line string) { noted = append(noted, line) })
		w.RunUntil(time.Minute, nil)
	})
	if result.Err != nil || len(result.Leaks) > 0 {
		t.Fatalf("error %v, leaks %v", result.Err, result.Leaks)
	}
	return noted
}

// client starts a machine with one goroutine.
func client(w *sim.World, name string, body func(p *sim.Process)) {
	p := w.NewNode(sim.NodeConfig{Name: name}).Process()
	p.Go("main", func() { body(p) })
}

func wantNotes(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestDirectCommandsInAWorld(t *testing.T) {
	got := world(t, sim.Config{Seed: 1}, func(w *sim.World, redis, other *Machine, note func(string)) {
		client(w, "c1", func(p *sim.Process) {
			r := p.NewDirectClient(sim.DirectConfig{Address: "redis"})
			do := func(r *sim.DirectClient, args ...any) {
				reply, err := r.Do(p.Context(), args...)
				note(fmt.Sprintf("%v: %v %v", args, reply, err))
			}
			do(r, "SET", "lock", "a", "PX", 10_000)
			do(r, "SET", "lock", "b", "NX")
			do(r, "LPUSH", "lock", "x")
			do(p.NewDirectClient(sim.DirectConfig{Address: "other"}), "GET", "lock")
			p.Do(0, func() { redis.Node().StepClock(-time.Hour) })
			p.Clock().Sleep(11 * time.Second)
			do(r, "GET", "lock")
			p.Do(0, func() { redis.Node().StepClock(time.Hour) })
			p.Clock().Sleep(time.Second)
			do(r, "GET", "lock")
			do(r, "BLPOP", "queue", 1)
		})
	})
	wantNotes(t, got, []string{
		"[SET lock a PX 10000]: OK <nil>",
		"[SET lock b NX]: <nil> <nil>",
		"[LPUSH lock x]: <nil> " + errWrongType,
		"[GET lock]: <nil> <nil>",
		"[GET lock]: a <nil>",
		"[GET lock]: <nil> <nil>",
		"[BLPOP queue 1]: <nil> <nil>",
	})
}

// dialRedis returns go-redis on a machine of the world.
func dialRedis(p *sim.Process, protocol int) *goredis.Client {
	options := clientOptions(func(ctx context.Context, network, _ string) (net.Conn, error) {
		return p.Dial(ctx, network, "redis:6379")
	})
	options.Protocol = protocol
	return goredis.NewClient(options)
}

func TestGoRedisInAWorld(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) {
			got := world(t, sim.Config{Seed: 1, RuntimeTimers: true},
				func(w *sim.World, _, _ *Machine, note func(string)) {
					client(w, "c1", func(p *sim.Process) { useGoRedis(p, protocol, note) })
				})
			wantNotes(t, got, []string{
				"setnx true <nil>", "setnx false <nil>", "release 1 <nil>", "release 0 <nil>", "hgetall map[f:v] <nil>",
				"transaction 2 <nil>", "watch redis: transaction failed", "blpop [] redis: nil", "blpop [queue v] <nil>",
				"message hello", "pttl 5s",
			})
		})
	}
}

func useGoRedis(p *sim.Process, protocol int, note func(string)) {
	ctx := p.Context()
	r := dialRedis(p, protocol)
	defer func() { _ = r.Close() }()
	for range 2 {
		ok, err := r.SetNX(ctx, "lock", "token", 10*time.Second).Result()
		note(fmt.Sprintf("setnx %v %v", ok, err))
	}
	release := goredis.NewScript(compareAndDelete) // EVALSHA first, EVAL after NOSCRIPT
	for range 2 {
		n, err := release.Run(ctx, r, []string{"lock"}, "token").Int()
		note(fmt.Sprintf("release %v %v", n, err))
	}
	r.HSet(ctx, "h", "f", "v")
	hash, err := r.HGetAll(ctx, "h").Result()
	note(fmt.Sprintf("hgetall %v %v", hash, err))

	var n *goredis.IntCmd
	_, err = r.TxPipelined(ctx, func(tx goredis.Pipeliner) error {
		tx.Incr(ctx, "n")
		n = tx.Incr(ctx, "n")
		return nil
	})
	note(fmt.Sprintf("transaction %d %v", n.Val(), err))
	err = r.Watch(ctx, func(tx *goredis.Tx) error {
		r.Incr(ctx, "n")
		_, err := tx.TxPipelined(ctx, func(p goredis.Pipeliner) error { return p.Incr(ctx, "n").Err() })
		return err
	}, "n")
	note(fmt.Sprintf("watch %v", err))

	popped, err := r.BLPop(ctx, time.Second, "queue").Result()
	note(fmt.Sprintf("blpop %v %v", popped, err))
	p.Go("pusher", func() {
		p.Clock().Sleep(2 * time.Second)
		r.RPush(ctx, "queue", "v")
	})
	popped, err = r.BLPop(ctx, 5*time.Second, "queue").Result()
	note(fmt.Sprintf("blpop %v %v", popped, err))

	messages := r.Subscribe(ctx, "c")
	if _, err := messages.Receive(ctx); err != nil {
		note(err.Error())
	}
	r.Publish(ctx, "c", "hello")
	message, err := messages.ReceiveMessage(ctx)
	if err != nil {
		note(err.Error())
		return
	}
	note("message " + message.Payload)
	_ = messages.Close()
	r.Set(ctx, "k", "v", 5*time.Second)
	ttl, _ := r.PTTL(ctx, "k").Result()
	note(fmt.Sprintf("pttl %v", ttl.Round(time.Second)))
}

// TestFeedInAWorld listens over the direct transport: to messages, to nothing, and to the end of the connection.
func TestFeedInAWorld(t *testing.T) {
	got := world(t, sim.Config{Seed: 1, Taps: []sim.Tap{func(point sim.Point, m *sim.Message) {
		if m.Unasked && (point != sim.PointReply || m.Command() != "SUBSCRIBE") {
			t.Errorf("an unasked message at point %d, of %v", point, m.Args)
		}
	}}}, func(w *sim.World, redis, _ *Machine, note func(string)) {
		w.At(10*time.Second, func() { redis.Node().Crash(false) })
		client(w, "c1", func(p *sim.Process) {
			r := p.NewDirectClient(sim.DirectConfig{Address: "redis"})
			_, _, err := r.Feed(p.Context(), "SUBSCRIBE", "a", "b")
			note(fmt.Sprint(err))
			reply, feed, err := r.Feed(p.Context(), "SUBSCRIBE", "a")
			note(fmt.Sprint(reply, err))
			for err == nil {
				reply, err = feed.Next()
				note(fmt.Sprintf("%v %v at %v", reply, err, w.Now().Round(time.Second)))
			}
			_, _, err = r.Feed(p.Context(), "SUBSCRIBE", "a")
			note(fmt.Sprint(err))
		})
		client(w, "c2", func(p *sim.Process) {
			r := p.NewDirectClient(sim.DirectConfig{Address: "redis"})
			_, feed, _ := r.Feed(p.Context(), "SUBSCRIBE", "a")
			p.Clock().Sleep(5 * time.Second) // longer than any answer may take
			r.Do(p.Context(), "PUBLISH", "a", "hello")
			p.Go("closer", func() {
				p.Clock().Sleep(time.Second)
				feed.Close()
				feed.Close()
			})
			for range 2 {
				reply, err := feed.Next()
				note(fmt.Sprintf("c2: %v %v", reply, err))
			}
			reply, err := r.Do(p.Context(), "PUBLISH", "a", "again")
			note(fmt.Sprintf("c2: %v %v", reply, err))
		})
	})
	wantNotes(t, got, []string{
		"feed from redis: ERR a direct call has one reply: subscribe to one channel at a time",
		"[subscribe a 1] <nil>",
		"[message a hello] <nil> at 5s", "c2: [message a hello] <nil>",
		"c2: <nil> connection reset by peer",
		"c2: 1 <nil>", "[message a again] <nil> at 6s",
		"<nil> connection reset by peer at 10s",
		"dial redis: connection refused",
	})
}

func TestRestartInAWorld(t *testing.T) {
	for _, empty := range []bool{false, true} {
		got := world(t, sim.Config{Seed: 1}, func(w *sim.World, redis, _ *Machine, note func(string)) {
			w.At(5*time.Second, func() { redis.Node().Crash(false) })
			w.At(6*time.Second, func() { redis.Node().Restart(empty) })
			client(w, "c1", func(p *sim.Process) {
				r := p.NewDirectClient(sim.DirectConfig{Address: "redis", Timeout: 20 * time.Second})
				_, err := r.Do(p.Context(), "SET", "k", "v", "PX", 30_000)
				note(fmt.Sprint(err))
				_, err = r.Do(p.Context(), "BLPOP", "queue", 10)
				note(fmt.Sprint(errors.Is(err, sim.ErrReset)))
				p.Clock().Sleep(2 * time.Second)
				reply, err := r.Do(p.Context(), "GET", "k")
				note(fmt.Sprintf("%v %v", reply, err))
				p.Clock().Sleep(30 * time.Second) // the time-out of the lost BLPOP passes
				reply, err = r.Do(p.Context(), "LLEN", "queue")
				note(fmt.Sprintf("%v %v", reply, err))
			})
		})
		kept := "v <nil>"
		if empty {
			kept = "<nil> <nil>"
		}
		wantNotes(t, got, []string{"<nil>", "true", kept, "0 <nil>"})
	}
}

// TestWorldsRepeat runs contending clients of blocking commands and messages twice.
func TestWorldsRepeat(t *testing.T) {
	run := func() (uint64, string) {
		var seen strings.Builder
		result := sim.Run(t, sim.Config{Seed: 7, RuntimeTimers: true, Trace: sim.HashOnly}, func(w *sim.World) {
			m := NewMachine(w, Options{Name: "redis", OnCommand: func(e Executed) {
				fmt.Fprintf(&seen, "%d %q %q\n", e.Conn, e.Args, e.Raw)
			}})
			defer m.Release()
			for i := range 5 {
				client(w, fmt.Sprintf("c%d", i), func(p *sim.Process) {
					r := dialRedis(p, 2)
					defer func() { _ = r.Close() }()
					for round := range 10 {
						r.RPush(p.Context(), "queue", fmt.Sprint(i, round))
						r.BLPop(p.Context(), time.Second, "queue")
						r.Publish(p.Context(), "c", "m")
						goredis.NewScript(compareAndDelete).Run(p.Context(), r, []string{"lock"}, i)
						r.SetNX(p.Context(), "lock", i, 100*time.Millisecond)
					}
				})
			}
			w.RunUntil(time.Minute, nil)
		})
		if result.Err != nil {
			t.Fatal(result.Err)
		}
		return result.Hash, seen.String()
	}
	firstHash, first := run()
	for range 3 {
		if hash, again := run(); hash != firstHash || again != first {
			t.Fatal("the same world went another way")
		}
	}
}
