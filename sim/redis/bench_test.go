package redis

import (
	"bufio"
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockstep-sim/lockstep/sim"
)

// compareAndDelete is the release of most Redis locks.
const compareAndDelete = "if redis.call('get',KEYS[1]) == ARGV[1] then " +
	"return redis.call('del',KEYS[1]) else return 0 end"

var (
	setnxWords = []string{"SETNX", "lock", "token"}
	delWords   = []string{"DEL", "lock"}
)

// fixedClock stands still.
func fixedClock() time.Time { return time.UnixMilli(1_700_000_000_000) }

// BenchmarkDispatchFloor is the floor of BenchmarkDirectCommand: the store alone, with SETNX and DEL in turn.
func BenchmarkDispatchFloor(b *testing.B) {
	store := startStore()
	peer := server.NewPeer(bufio.NewWriter(io.Discard))
	b.ReportAllocs()
	for i := range b.N {
		words := setnxWords
		if i%2 == 1 {
			words = delWords
		}
		store.Server().Dispatch(peer, words)
		peer.Flush()
	}
}

// BenchmarkServerCommand is the same pair of commands through this package's server, without a world.
func BenchmarkServerCommand(b *testing.B) {
	now := fixedClock()
	c := New(Config{Now: func() time.Time { now = now.Add(time.Millisecond); return now }}).Connect(1, nil)
	b.ReportAllocs()
	for i := range b.N {
		words := setnxWords
		if i%2 == 1 {
			words = delWords
		}
		c.Command(words)
	}
}

// BenchmarkDirectCommand is the same pair of commands sent by a client machine over the direct transport.
func BenchmarkDirectCommand(b *testing.B) {
	b.ReportAllocs()
	inWorld(b, sim.Config{Seed: 1}, func(p *sim.Process) {
		client := p.NewDirectClient(sim.DirectConfig{Address: "redis"})
		for i := range b.N {
			var err error
			if i%2 == 0 {
				_, err = client.Do(p.Context(), "SETNX", "lock", "token")
			} else {
				_, err = client.Do(p.Context(), "DEL", "lock")
			}
			if err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// inWorld runs a client against a Redis machine until the client is done.
func inWorld(b *testing.B, config sim.Config, body func(p *sim.Process)) {
	config.MaxEvents = 1 << 60
	result := sim.Run(&testing.T{}, config, func(w *sim.World) {
		machine := NewMachine(w, Options{Name: "redis"})
		defer machine.Release()
		p := w.NewNode(sim.NodeConfig{Name: "client"}).Process()
		done := false
		p.Go("main", func() {
			body(p)
			p.Do(0, func() { done = true })
		})
		w.RunUntil(1<<60, func() bool { return done })
	})
	if result.Err != nil {
		b.Fatal(result.Err)
	}
}

// clientOptions make go-redis send what it is told to and nothing else.
func clientOptions(dial func(ctx context.Context, network, address string) (net.Conn, error)) *goredis.Options {
	return &goredis.Options{
		Addr: "10.0.0.1:6379", Protocol: 2, DisableIdentity: true, MaxRetries: -1, Dialer: dial,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// BenchmarkPipeFloor is the floor of BenchmarkWireCommand: go-redis and the store over a net.Pipe, in a bubble.
func BenchmarkPipeFloor(b *testing.B) {
	b.ReportAllocs()
	synctest.Test(&testing.T{}, func(*testing.T) {
		store := startStore()
		client := goredis.NewClient(clientOptions(func(context.Context, string, string) (net.Conn, error) {
			return store.Dial()
		}))
		defer store.Close()
		defer func() { _ = client.Close() }()
		setAndDelete(b, client)
	})
}

func setAndDelete(b *testing.B, client *goredis.Client) {
	ctx := context.Background()
	for i := range b.N {
		var err error
		if i%2 == 0 {
			err = client.SetNX(ctx, "lock", "token", 0).Err()
		} else {
			err = client.Del(ctx, "lock").Err()
		}
		if err != nil {
			b.Error(err)
			return
		}
	}
}

// BenchmarkWireCommand is go-redis on a client machine, over the simulated network, to a Redis machine.
func BenchmarkWireCommand(b *testing.B) {
	b.ReportAllocs()
	inWorld(b, sim.Config{Seed: 1, RuntimeTimers: true}, func(p *sim.Process) {
		client := goredis.NewClient(clientOptions(func(ctx context.Context, network, _ string) (net.Conn, error) {
			return p.Dial(ctx, network, "redis:6379")
		}))
		defer func() { _ = client.Close() }()
		setAndDelete(b, client)
	})
}

// BenchmarkEvalMiniredis is the store's own EVAL of a lock's release, with the SET before it.
func BenchmarkEvalMiniredis(b *testing.B) {
	store := startStore()
	peer := server.NewPeer(bufio.NewWriter(io.Discard))
	b.ReportAllocs()
	for range b.N {
		store.Server().Dispatch(peer, []string{"SET", "lock", "token"})
		store.Server().Dispatch(peer, []string{"EVAL", compareAndDelete, "1", "lock", "token"})
		peer.Flush()
	}
}

// BenchmarkEval is the same pair of commands through this package's cached Lua machine.
func BenchmarkEval(b *testing.B) {
	c := New(Config{Now: fixedClock}).Connect(1, nil)
	b.ReportAllocs()
	for range b.N {
		c.Command([]string{"SET", "lock", "token"})
		c.Command([]string{"EVAL", compareAndDelete, "1", "lock", "token"})
	}
}

// BenchmarkPool is what a world pays for its Redis: taking a server, one command, giving it back.
func BenchmarkPool(b *testing.B) {
	config := Config{Now: fixedClock}
	b.ReportAllocs()
	for range b.N {
		s := Get(config)
		s.Connect(1, nil).Command(setnxWords)
		Put(s)
	}
}
