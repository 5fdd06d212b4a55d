package zklock_test

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/cryptotest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockstep-sim/lockstep/impl"
	"github.com/lockstep-sim/lockstep/impl/zklock"
	"github.com/lockstep-sim/lockstep/sim"
	"github.com/lockstep-sim/lockstep/sim/zookeeper"
)

// turns is a run in which clients with the unmodified client library take turns, while one link is cut for a while and
// one machine stands still.
type turns struct {
	lock     string
	clients  int
	faults   bool
	inside   map[string]time.Duration // until when, in true time
	entered  int
	together []string
}

// play runs it and returns the hash of the run.
func (r *turns) play(t *testing.T, seed uint64) uint64 {
	t.Helper()
	cryptotest.SetGlobalRandom(t, seed) // the library draws the ids of its nodes there
	r.inside = map[string]time.Duration{}
	result := sim.Run(t, sim.Config{Seed: seed, Trace: sim.HashOnly, RuntimeTimers: true}, func(w *sim.World) {
		m := zookeeper.NewMachine(w, zookeeper.Options{Name: "zookeeper"})
		for i := range r.clients {
			p := w.NewNode(sim.NodeConfig{Name: fmt.Sprintf("c%d", i+1)}).Process()
			p.Go("main", func() { r.client(t, w, p) })
		}
		if r.faults {
			first := w.Node("c1")
			there, back := w.Link(first, m.Node()), w.Link(m.Node(), first)
			w.At(3*time.Second, func() { there.Cut(false); back.Cut(false) })
			w.At(20*time.Second, func() { there.Heal(); back.Heal() })
			w.At(25*time.Second, w.Node("c2").Pause)
			w.At(45*time.Second, w.Node("c2").Resume)
			w.At(48*time.Second, func() { w.Node("c3").Crash(false) })
		}
		w.RunUntil(2*time.Minute, nil)
	})
	if result.Err != nil || len(result.Leaks) > 0 {
		t.Fatalf("error %v, leaks %v", result.Err, result.Leaks)
	}
	return result.Hash
}

// client enters ten times.
func (r *turns) client(t *testing.T, w *sim.World, p *sim.Process) {
	const lease = 10 * time.Second
	conn, events, err := zk.Connect([]string{"zookeeper:2181"}, lease,
		zk.WithDialer(func(network, address string, _ time.Duration) (net.Conn, error) {
			return p.Dial(context.Background(), network, address)
		}),
		zk.WithHostProvider(&onlyHost{}), zk.WithLogger(silence{}), zk.WithLogInfo(false),
		zk.WithMaxBufferSize(4096), zk.WithMaxConnBufferSize(4096))
	must(t, err)
	defer conn.Close()
	locks, err := impl.NewCatalogue(zklock.Entries()...)
	must(t, err)
	entry, err := locks.Lookup(r.lock)
	must(t, err)
	lock, err := entry.New(impl.Environment{
		Clock: p.Clock(), ZooKeeper: conn, SessionEvents: events,
		Random: w.Stream("random/" + p.Node().Name()), Go: func(f func()) { p.Go("lock", f) },
	}, impl.Settings{Name: "/locks/job", Lease: lease, Owner: impl.Owner{Machine: p.Node().Name()}})
	must(t, err)
	for range 10 {
		err := lock.Lock(p.Context())
		if p.Context().Err() != nil {
			return
		}
		if err == nil {
			r.section(w, p, lock)
			err = lock.Unlock(p.Context())
		}
		if err != nil && !r.faults {
			t.Errorf("%s: %v", p.Node().Name(), err)
		}
		p.Clock().Sleep(time.Second)
	}
}

// section works for a second, or for as long as the lock says that it is held.
func (r *turns) section(w *sim.World, p *sim.Process, lock impl.Lock) {
	name := p.Node().Name()
	p.Do(1, func() {
		r.entered++
		r.inside[name] = 1000 * time.Hour
		r.judge(w)
	})
	var lost <-chan struct{}
	if lossy, ok := lock.(impl.Lossy); ok {
		lost = lossy.Lost()
	}
	for end := p.Clock().Now().Add(time.Second); p.Clock().Until(end) > 0; {
		if leased, ok := lock.(impl.Leased); ok {
			until := leased.Deadline()
			if p.Clock().Until(until) <= 0 {
				break
			}
			left := p.Clock().Until(until)
			p.Do(1, func() { r.inside[name] = p.Node().TrueTime(left) })
		}
		select {
		case <-lost:
			p.Do(1, func() { delete(r.inside, name) })
			return
		default:
			p.Clock().Sleep(100 * time.Millisecond)
		}
	}
	p.Do(1, func() { delete(r.inside, name) })
}

// judge looks who is inside when somebody enters.
func (r *turns) judge(w *sim.World) {
	var names []string
	for i := range r.clients {
		name := fmt.Sprintf("c%d", i+1)
		if until, in := r.inside[name]; in && until > w.Now() && !w.Node(name).Crashed() {
			names = append(names, name)
		}
	}
	if len(names) > 1 {
		r.together = append(r.together, fmt.Sprintf("%s at %v", strings.Join(names, " and "), w.Now()))
	}
}

// onlyHost names one server, in the way that lets zk.Conn wait between attempts.
type onlyHost struct{ tried bool }

func (h *onlyHost) Init([]string) error { return nil }
func (h *onlyHost) Len() int            { return 1 }
func (h *onlyHost) Connected()          { h.tried = false }
func (h *onlyHost) Next() (string, bool) {
	again := h.tried
	h.tried = true
	return "zookeeper:2181", again
}

// TestWorlds runs the locks on simulated machines: each run is the same again whatever the processors do, and without a
// fault everybody gets in and nobody meets anybody.
func TestWorlds(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, entry := range zklock.Entries() {
		for _, faults := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s faults %v", strings.TrimPrefix(entry.Name, "zk/"), faults), func(t *testing.T) {
				for seed := range uint64(5) {
					r := turns{lock: entry.Name, clients: 4, faults: faults}
					hash := r.play(t, seed)
					for _, processors := range []int{1, 2, 4} {
						runtime.GOMAXPROCS(processors)
						again := turns{lock: entry.Name, clients: 4, faults: faults}
						if got := again.play(t, seed); got != hash {
							t.Fatalf("seed %d: hash %x, and with %d processors %x", seed, hash, processors, got)
						}
					}
					if !faults && (r.entered != 40 || len(r.together) > 0) && entry.Name != "zk/fair" {
						t.Errorf("seed %d: entered %d times, together %v", seed, r.entered, r.together)
					}
					if entry.Name == "zk/fair-repaired" && (r.entered < 20 || len(r.together) > 0) {
						t.Errorf("seed %d: entered %d times, together %v", seed, r.entered, r.together)
					}
				}
			})
		}
	}
}
