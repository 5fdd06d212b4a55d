package zookeeper

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/cryptotest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockstep-sim/lockstep/sim"
)

// TestReattachInAWorld cuts a client's connection: it comes back to its session, its ephemeral node is still there, and
// its watch is registered again and fires for a change of the time in between.
func TestReattachInAWorld(t *testing.T) {
	got := world(t, 1, func(w *sim.World, m *Machine, note func(string, ...any)) {
		p := w.NewNode(sim.NodeConfig{Name: "c1"}).Process()
		other := w.NewNode(sim.NodeConfig{Name: "c2"}).Process()
		away := w.Link(p.Node(), m.Node())
		w.At(5*time.Second, func() { away.Cut(true) })
		w.At(7*time.Second, away.Heal)
		p.Go("main", func() {
			c, _ := dialZooKeeper(p, "zookeeper:2181", 10*time.Second)
			defer c.Close()
			c.Create("/e", nil, zk.FlagEphemeral, openLibraryACL)
			id := c.SessionID()
			_, _, watch, err := c.GetW("/zookeeper")
			note("watch %v", err)
			_, _, deleted, _ := c.ExistsW("/e")
			p.Clock().Sleep(8 * time.Second)
			exists, _, err := c.Exists("/e")
			note("exists %v %v, same session %v", exists, err, id == c.SessionID())
			note("event %v", (<-watch).Type)
			p.Do(0, func() { m.Delete("/e") })
			note("event %v", (<-deleted).Type)
		})
		other.Go("main", func() {
			c, _ := dialZooKeeper(other, "zookeeper:2181", 10*time.Second)
			defer c.Close()
			other.Clock().Sleep(6 * time.Second)
			_, err := c.Set("/zookeeper", []byte("x"), -1)
			note("set %v", err)
		})
	})
	wantNotes(t, got, []string{
		"watch <nil>", "set <nil>", "exists true <nil>, same session true", "event EventNodeDataChanged",
		"event EventNodeDeleted",
	})
}

// TestExpiryInAWorld cuts a client off for longer than its session lasts. The others see its node go by the server's
// clock; the client learns of it when it comes back.
func TestExpiryInAWorld(t *testing.T) {
	got := world(t, 1, func(w *sim.World, m *Machine, note func(string, ...any)) {
		p := w.NewNode(sim.NodeConfig{Name: "c1"}).Process()
		other := w.NewNode(sim.NodeConfig{Name: "c2"}).Process()
		away, back := w.Link(p.Node(), m.Node()), w.Link(m.Node(), p.Node())
		w.At(5*time.Second, func() { away.Cut(false); back.Cut(false) })
		w.At(30*time.Second, func() { away.Heal(); back.Heal() })
		p.Go("main", func() {
			c, events := dialZooKeeper(p, "zookeeper:2181", 6*time.Second)
			defer c.Close()
			c.Create("/e", nil, zk.FlagEphemeral, openLibraryACL)
			for e := range events {
				if e.State == zk.StateExpired {
					note("expired at %v", w.Now().Round(time.Second))
					break
				}
			}
			exists, _, err := c.Exists("/e")
			note("exists %v %v", exists, err)
		})
		other.Go("main", func() {
			c, _ := dialZooKeeper(other, "zookeeper:2181", 10*time.Second)
			defer c.Close()
			other.Clock().Sleep(time.Second)
			_, _, watch, _ := c.ExistsW("/e")
			note("event %v at %v", (<-watch).Type, w.Now().Round(time.Second))
		})
	})
	wantNotes(t, got, []string{"event EventNodeDeleted at 12s", "expired at 30s", "exists false <nil>"})
}

// TestServerClockInAWorld: a step of the wall clock changes what nodes say of their times and no session; a fast
// monotonic clock ends sessions early.
func TestServerClockInAWorld(t *testing.T) {
	got := world(t, 1, func(w *sim.World, m *Machine, note func(string, ...any)) {
		p := w.NewNode(sim.NodeConfig{Name: "c1"}).Process()
		w.At(3*time.Second, func() { m.Node().StepClock(-time.Hour) })
		w.At(20*time.Second, func() { m.Node().SetClockDrift(3_000_000) }) // four times as fast
		p.Go("main", func() {
			c, events := dialZooKeeper(p, "zookeeper:2181", 9*time.Second)
			defer c.Close()
			create := func(path string) int64 {
				c.Create(path, nil, 0, openLibraryACL)
				_, stat, _ := c.Exists(path)
				return stat.Ctime
			}
			before := create("/before")
			p.Clock().Sleep(10 * time.Second)
			passed := time.Duration(create("/after")-before) * time.Millisecond
			note("%v passed", passed.Round(time.Second))
			for e := range events {
				if e.State == zk.StateDisconnected {
					note("cut off at %v", w.Now().Round(100*time.Millisecond))
					break
				}
			}
		})
	})
	// Pings every 3 s keep the session of 9 s alive only while the server's clock is right.
	wantNotes(t, got, []string{"-59m50s passed", "cut off at 23.5s"})
}

// TestRestartInAWorld crashes the server: with its data the session goes on, empty it is unknown.
func TestRestartInAWorld(t *testing.T) {
	for _, empty := range []bool{false, true} {
		got := world(t, 1, func(w *sim.World, m *Machine, note func(string, ...any)) {
			p := w.NewNode(sim.NodeConfig{Name: "c1"}).Process()
			w.At(5*time.Second, func() { m.Node().Crash(false) })
			w.At(7*time.Second, func() { m.Node().Restart(empty) })
			p.Go("main", func() {
				c, _ := dialZooKeeper(p, "zookeeper:2181", 10*time.Second)
				defer c.Close()
				c.Create("/e", nil, zk.FlagEphemeral, openLibraryACL)
				id := c.SessionID()
				p.Clock().Sleep(10 * time.Second)
				p.Do(0, func() {
					note("%d sessions, %v", len(m.Sessions()), m.State().Children("/"))
				})
				p.Clock().Sleep(time.Millisecond)
				note("state %v, same session %v", c.State(), c.SessionID() == id)
			})
		})
		want := []string{"1 sessions, [e zookeeper]", "state StateHasSession, same session true"}
		if empty {
			// The client has seen transactions that the empty server has not, and is refused.
			want = []string{"0 sessions, [zookeeper]", "state StateConnecting, same session true"}
		}
		wantNotes(t, got, want)
	}
}

// TestHooksInAWorld drives the machine as faults do.
func TestHooksInAWorld(t *testing.T) {
	var words []string
	tap := func(point sim.Point, m *sim.Message) {
		if point == sim.PointArrive {
			words = append(words, m.Command())
		}
	}
	var executed []string
	result := sim.Run(t, sim.Config{Seed: 1, RuntimeTimers: true, Taps: []sim.Tap{tap}}, func(w *sim.World) {
		m := NewMachine(w, Options{Name: "zookeeper", OnRequest: func(e Executed) {
			executed = append(executed, fmt.Sprintf("%v %s%s %v", e.Op, e.Path, e.Created, e.Err))
		}})
		p := w.NewNode(sim.NodeConfig{Name: "c1"}).Process()
		p.Go("main", func() {
			c, _ := dialZooKeeper(p, "zookeeper:2181", 30*time.Second)
			defer c.Close()
			c.Create("/q", nil, 0, openLibraryACL)
			p.Do(0, func() { m.SetCounter("/q", 2147483647) })
			p.Clock().Sleep(time.Second)
			c.Create("/q/n-", nil, zk.FlagEphemeral|zk.FlagSequence, openLibraryACL)
			c.Create("/q/n-", nil, zk.FlagEphemeral|zk.FlagSequence, openLibraryACL)
			p.Do(0, func() {
				for _, s := range m.SessionsOf(p.Node()) {
					m.ExpireSession(s.ID)
				}
			})
			p.Clock().Sleep(time.Second)
		})
		w.RunUntil(10*time.Second, nil)
	})
	if result.Err != nil || len(result.Leaks) > 0 {
		t.Fatal(result.Err, result.Leaks)
	}
	want := []string{
		"connect  ok", "create /q/q ok", "create /q/n-/q/n-2147483647 ok", "create /q/n-/q/n--2147483648 ok",
		"expire  ok", "connect  SessionExpired",
	}
	if got := executed[:min(len(want), len(executed))]; !slices.Equal(got, want) {
		t.Errorf("executed\n%s", strings.Join(executed, "\n"))
	}
	if got := strings.Join(words[:4], " "); got != "CONNECT CREATE CREATE CREATE" {
		t.Errorf("taps saw %s", got)
	}
}

// contend runs clients that take the library's own lock in turn, under cut links, an expired session and a restart of
// the server, and returns the world's hash.
func contend(t *testing.T, clients int, seed uint64) (hash uint64, holds int) {
	t.Helper()
	t.Run("run", func(t *testing.T) {
		cryptotest.SetGlobalRandom(t, seed) // the library's lock draws a GUID
		result := sim.Run(t, sim.Config{Seed: seed, RuntimeTimers: true}, func(w *sim.World) {
			m := NewMachine(w, Options{Name: "zookeeper"})
			for i := range clients {
				p := w.NewNode(sim.NodeConfig{Name: fmt.Sprintf("c%d", i)}).Process()
				p.Go("main", func() {
					holdInTurn(p, func() { holds++ })
				})
			}
			first := w.Node("c0")
			w.At(6*time.Second, func() { w.Link(first, m.Node()).Cut(true) })
			w.At(8*time.Second, w.HealLinks)
			w.At(12*time.Second, func() {
				for _, s := range m.SessionsOf(first) {
					m.ExpireSession(s.ID)
				}
			})
			w.At(15*time.Second, func() { m.Node().Restart(false) })
			w.RunUntil(25*time.Second, nil)
		})
		if result.Err != nil || len(result.Leaks) > 0 {
			t.Fatalf("error %v, leaks %v", result.Err, result.Leaks)
		}
		hash = result.Hash
	})
	return hash, holds
}

// holdInTurn takes the lock, holds it for a little while and gives it back, over and over.
func holdInTurn(p *sim.Process, held func()) {
	c, _ := dialZooKeeper(p, "zookeeper:2181", 4*time.Second)
	context.AfterFunc(p.Context(), c.Close) // ends a wait for the lock
	for p.Context().Err() == nil {
		lock := zk.NewLock(c, "/lock", openLibraryACL)
		if err := lock.Lock(); err != nil {
			p.Clock().Sleep(100 * time.Millisecond)
			continue
		}
		p.Do(0, held)
		p.Clock().Sleep(50 * time.Millisecond)
		_ = lock.Unlock()
	}
}

// TestWorldsRepeat: the unmodified client library gives the same world again, however many processors there are.
func TestWorldsRepeat(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, clients := range []int{3, 8, 50} {
		for seed := range uint64(3) {
			runtime.GOMAXPROCS(2)
			want, holds := contend(t, clients, seed)
			if holds < 10 {
				t.Errorf("%d clients, seed %d: only %d holds", clients, seed, holds)
			}
			for _, processors := range []int{1, 2, 4} {
				runtime.GOMAXPROCS(processors)
				if hash, _ := contend(t, clients, seed); hash != want {
					t.Errorf("%d clients, seed %d, GOMAXPROCS %d: %x, before %x", clients, seed, processors, hash, want)
				}
			}
		}
	}
}
