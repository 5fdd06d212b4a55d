package zklock_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/jonboulle/clockwork"

	"github.com/lockstep-sim/lockstep/impl"
	"github.com/lockstep-sim/lockstep/impl/zklock"
	"github.com/lockstep-sim/lockstep/sim/zookeeper"
)

// The tests below have real connections of the client library: to our server in this process, and to a real ZooKeeper
// where there is one.

const (
	tick         = 500 * time.Millisecond
	sessionLimit = 2 * tick // the least that the servers grant
)

func onEachServer(t *testing.T, test func(t *testing.T, address string)) {
	t.Run("embedded", func(t *testing.T) { test(t, startEmbedded(t)) })
	t.Run("real", func(t *testing.T) { test(t, startReal(t)) })
}

func startEmbedded(t *testing.T) (address string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := zookeeper.NewEmbedded(zookeeper.EmbeddedOptions{Clock: clockwork.NewRealClock(), Tick: tick})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// archive is where Debian's package puts ZooKeeper; its manifest names everything else that is needed.
const archive = "/usr/share/java/zookeeper.jar"

func startReal(t *testing.T) (address string) {
	if _, err := exec.LookPath("java"); err != nil {
		unavailable(t, "java is not installed")
	}
	if _, err := os.Stat(archive); err != nil {
		unavailable(t, "ZooKeeper is not installed: "+archive+" is missing")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = free.Addr().String()
	_ = free.Close()
	folder := t.TempDir()
	file := filepath.Join(folder, "zoo.cfg")
	_, port, _ := net.SplitHostPort(address)
	config := fmt.Sprintf("tickTime=%d\ndataDir=%s\nclientPort=%s\nclientPortAddress=127.0.0.1\n"+
		"admin.enableServer=false\n4lw.commands.whitelist=isro\n", tick.Milliseconds(), folder, port)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	process := exec.Command("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dzookeeper.forceSync=no", "-Dzookeeper.jmx.log4j.disable=true", "-Dzookeeper.preAllocSize=1024",
		"-cp", archive, "org.apache.zookeeper.server.ZooKeeperServerMain", file)
	process.Dir = folder
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	})
	return address
}

// unavailable skips a test, or fails it where everything must be there.
func unavailable(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// silence is a logger for the client library.
type silence struct{}

func (silence) Printf(string, ...any) {}

// connect makes a connection of its own and what a lock is given of it. It waits until there is a session.
func connect(t *testing.T, address string) (*zk.Conn, impl.Environment) {
	t.Helper()
	conn, events, err := zk.Connect([]string{address}, sessionLimit, zk.WithLogger(silence{}), zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	started := func(f func()) { go f() }
	session := zklock.Watch(events, started)
	told := session.Events()
	if conn.State() != zk.StateHasSession {
		for event := range told {
			if event.State == zk.StateHasSession {
				break
			}
		}
	}
	return conn, impl.Environment{
		Clock: clockwork.NewRealClock(), ZooKeeper: conn, SessionEvents: session.Events(), Random: rand.Reader, Go: started,
	}
}

func settings(name string) impl.Settings {
	return impl.Settings{Name: name, Lease: sessionLimit, Owner: impl.Owner{Machine: "here", Process: 1, Thread: 1}}
}

func lookUp(t *testing.T, name string) impl.Entry {
	t.Helper()
	locks, err := impl.NewCatalogue(zklock.Entries()...)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := locks.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return entry
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestTakingTurns has four owners that enter ten times each, and nobody else inside.
func TestTakingTurns(t *testing.T) {
	onEachServer(t, func(t *testing.T, address string) {
		for _, name := range []string{"zk/polling", "zk/fair-repaired", "zk/go-zookeeper"} {
			t.Run(strings.ReplaceAll(name, "/", " "), func(t *testing.T) {
				const owners, turns = 4, 10
				var inside, entered, token atomic.Int64
				var all sync.WaitGroup
				for range owners {
					_, env := connect(t, address)
					s := settings("/turns/" + strings.ReplaceAll(name, "/", "-"))
					if name == "zk/polling" {
						s.Knobs = map[string]string{"interval": "1ms"}
					}
					lock, err := lookUp(t, name).New(env, s)
					must(t, err)
					all.Go(func() {
						for range turns {
							if err := lock.Lock(t.Context()); err != nil {
								t.Error(err)
								return
							}
							if n := inside.Add(1); n != 1 {
								t.Errorf("%d inside", n)
							}
							if fenced, ok := lock.(impl.Fenced); ok && token.Swap(fenced.Token()) >= fenced.Token() {
								t.Error("a token did not rise")
							}
							entered.Add(1)
							inside.Add(-1)
							if err := lock.Unlock(t.Context()); err != nil {
								t.Error(err)
								return
							}
						}
					})
				}
				all.Wait()
				if n := entered.Load(); n != owners*turns {
					t.Errorf("entered %d times", n)
				}
			})
		}
	})
}

// TestPublishedLock goes through its calls one after the other: what it does under contention is not to be relied on.
func TestPublishedLock(t *testing.T) {
	onEachServer(t, func(t *testing.T, address string) {
		conn, envA := connect(t, address)
		_, envB := connect(t, address)
		a, err := lookUp(t, "zk/fair").New(envA, settings("job"))
		must(t, err)
		b, err := lookUp(t, "zk/fair").New(envB, settings("job"))
		must(t, err)
		for range 2 {
			must(t, a.Lock(t.Context()))
		}
		if got, err := b.TryLock(t.Context()); got || err != nil {
			t.Errorf("a try beside a holder: %v, %v", got, err)
		}
		for range 2 {
			must(t, a.Unlock(t.Context()))
		}
		names, _, err := conn.Children("/job")
		if err != nil || len(names) != 1 || names[0] != "lock-0000000001" {
			t.Errorf("nodes: %v, %v", names, err)
		}
		if got, err := b.TryLock(t.Context()); !got || err != nil {
			t.Errorf("the next try: %v, %v", got, err)
		}
		must(t, b.Unlock(t.Context()))
	})
}

// TestCutOff has a holder that nobody hears of any more. When the next one gets in, the holder knows that it is out.
func TestCutOff(t *testing.T) {
	onEachServer(t, func(t *testing.T, address string) {
		relay := startRelay(t, address)
		_, envA := connect(t, relay.address())
		_, envB := connect(t, address)
		a, err := zklock.NewRepaired(envA, settings("/cut/off"), zklock.Options{})
		must(t, err)
		b, err := zklock.NewRepaired(envB, settings("/cut/off"), zklock.Options{})
		must(t, err)
		must(t, a.Lock(t.Context()))
		lost := a.Lost()
		relay.stop()
		must(t, b.Lock(t.Context()))
		if now := time.Now(); now.Before(a.Deadline()) {
			t.Errorf("b got in %v before a's deadline", a.Deadline().Sub(now))
		}
		<-lost
		if err := a.Unlock(t.Context()); !errors.Is(err, impl.ErrLost) {
			t.Errorf("a's unlock: %v", err)
		}
		must(t, b.Unlock(t.Context()))
	})
}

// TestGoZooKeeper pins what the library's lock does, its faults among it.
func TestGoZooKeeper(t *testing.T) {
	onEachServer(t, func(t *testing.T, address string) {
		connA, envA := connect(t, address)
		_, envB := connect(t, address)
		a, err := lookUp(t, "zk/go-zookeeper").New(envA, settings("/go"))
		must(t, err)
		b, err := lookUp(t, "zk/go-zookeeper").New(envB, settings("/go"))
		must(t, err)
		if _, err := a.TryLock(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("TryLock: %v", err)
		}
		if err := a.Unlock(t.Context()); !errors.Is(err, impl.ErrNotOwner) {
			t.Errorf("Unlock of nothing: %v", err)
		}
		must(t, a.Lock(t.Context()))
		if err := a.Lock(t.Context()); !errors.Is(err, impl.ErrHeld) {
			t.Errorf("Lock again: %v", err)
		}
		// B's time is over; what it began gives the lock back by itself.
		if got, err := b.TryLockFor(t.Context(), time.Millisecond); got || err != nil {
			t.Errorf("TryLockFor beside a holder: %v, %v", got, err)
		}
		must(t, a.Unlock(t.Context()))
		must(t, a.Lock(t.Context()))
		// Somebody removes A's node: the handle is stuck for good.
		names, _, err := connA.Children("/go")
		must(t, err)
		for _, name := range names {
			if err := connA.Delete("/go/"+name, -1); err != nil && err != zk.ErrNoNode {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := a.Unlock(t.Context()); !errors.Is(err, zk.ErrNoNode) {
				t.Errorf("Unlock without a node: %v", err)
			}
			if err := a.Lock(t.Context()); !errors.Is(err, impl.ErrHeld) {
				t.Errorf("Lock after that: %v", err)
			}
		}
	})
}

// relay passes bytes on until it is stopped; then it swallows them, and no connection ends.
type relay struct {
	listener net.Listener
	target   string
	stopped  chan struct{}
}

func startRelay(t *testing.T, target string) *relay {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	r := &relay{listener: listener, target: target, stopped: make(chan struct{})}
	t.Cleanup(func() { _ = listener.Close() })
	go r.serve()
	return r
}

func (r *relay) address() string { return r.listener.Addr().String() }

func (r *relay) stop() { close(r.stopped) }

func (r *relay) serve() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", r.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		go r.pass(server, client)
		go r.pass(client, server)
	}
}

func (r *relay) pass(to, from net.Conn) {
	defer func() { _ = to.Close() }()
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		select {
		case <-r.stopped:
			_, _ = io.Copy(io.Discard, from)
			return
		default:
		}
		if _, failed := to.Write(buffer[:n]); err != nil || failed != nil {
			return
		}
	}
}
