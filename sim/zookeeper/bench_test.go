package zookeeper

import (
	"fmt"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/jonboulle/clockwork"

	"github.com/lockstep-sim/lockstep/sim"
)

// stateWithSession is a state machine and a client of it.
func stateWithSession(b *testing.B) (*State, *Client) {
	s, c := NewState(Settings{}, Moment{}), NewClient(1, "127.0.0.1")
	if reply, refused := s.Connect(c, &ConnectRequest{Timeout: 10_000}, Moment{}); refused || reply.Session == 0 {
		b.Fatal("no session")
	}
	b.ReportAllocs()
	return s, c
}

func mustExecute(b *testing.B, s *State, c *Client, r *Request) *Reply {
	p := s.Execute(c, r, Moment{Wall: 1, Elapsed: 1})
	if p == nil || p.Err != OK {
		b.Fatalf("%v: %v", r.Words(), p)
	}
	return p
}

// BenchmarkGetData is the state machine alone: reading one node.
func BenchmarkGetData(b *testing.B) {
	s, c := stateWithSession(b)
	mustExecute(b, s, c, &Request{Op: OpCreate, Path: "/a", Data: []byte("x"), ACL: openACL, TTL: -1})
	r := &Request{Op: OpGetData, Path: "/a"}
	for b.Loop() {
		mustExecute(b, s, c, r)
	}
}

// BenchmarkCreateDelete is the state machine alone: creating an ephemeral sequential node and deleting it.
func BenchmarkCreateDelete(b *testing.B) {
	s, c := stateWithSession(b)
	mustExecute(b, s, c, &Request{Op: OpCreate, Path: "/lock", ACL: openACL, TTL: -1})
	create := &Request{
		Op: OpCreate, Path: "/lock/node-", ACL: openACL, TTL: -1, Flags: FlagEphemeral | FlagSequential,
	}
	remove := &Request{Op: OpDelete, Version: -1}
	for b.Loop() {
		remove.Path = mustExecute(b, s, c, create).Path
		mustExecute(b, s, c, remove)
	}
}

// BenchmarkBytes is a connection's share of a request: reading its frame, getData, writing the reply's frame.
func BenchmarkBytes(b *testing.B) {
	b.ReportAllocs()
	s := New(Config{
		Wall:    func() time.Time { return time.Unix(0, 0) },
		Elapsed: func() time.Duration { return 0 },
		After:   func(time.Duration, func()) func() { return func() {} },
	})
	c := s.Connect(1, "127.0.0.1", discard{})
	c.Bytes(connectFrame(0, nil))
	request := requestFrame(1, OpGetData, appendBool(appendString(nil, "/zookeeper"), false))
	for b.Loop() {
		c.Bytes(request)
	}
}

type discard struct{}

func (discard) Write([]byte) {}
func (discard) Close()       {}

// connectFrame is a request for a new session of ten seconds, or for an old one.
func connectFrame(session int64, password []byte) []byte {
	b, start := beginFrame(nil)
	b = appendInt64(appendInt32(b, 0), 0)
	b = appendInt64(appendInt32(b, 10_000), session)
	return endFrame(appendBool(appendBuffer(b, password), false), start)
}

func requestFrame(xid int32, op Op, body []byte) []byte {
	b, start := beginFrame(nil)
	return endFrame(append(appendInt32(appendInt32(b, xid), int32(op)), body...), start)
}

// inWorld runs a client against a ZooKeeper machine until the client is done.
func inWorld(b *testing.B, body func(p *sim.Process)) {
	result := sim.Run(&testing.T{}, sim.Config{Seed: 1, RuntimeTimers: true, MaxEvents: 1 << 60}, func(w *sim.World) {
		NewMachine(w, Options{Name: "zookeeper"})
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

// benchmarkRequests reads one node over and over.
func benchmarkRequests(b *testing.B, c *zk.Conn) {
	for range b.N {
		if _, _, err := c.Get("/zookeeper"); err != nil {
			b.Error(err)
			return
		}
	}
}

// BenchmarkWireRequest is zk.Conn on a client machine, over the simulated network, to a ZooKeeper machine.
func BenchmarkWireRequest(b *testing.B) {
	b.ReportAllocs()
	inWorld(b, func(p *sim.Process) {
		c, _ := dialZooKeeper(p, "zookeeper:2181", 10*time.Second)
		defer c.Close()
		benchmarkRequests(b, c)
	})
}

// BenchmarkPipeFloor is the floor of BenchmarkWireRequest: zk.Conn and the same state machine over a net.Pipe, in a
// bubble.
func BenchmarkPipeFloor(b *testing.B) {
	b.ReportAllocs()
	synctest.Test(&testing.T{}, func(*testing.T) {
		e := NewEmbedded(EmbeddedOptions{Clock: clockwork.NewRealClock()})
		c, _, err := zk.Connect([]string{"pipe:1"}, 10*time.Second,
			zk.WithDialer(func(string, string, time.Duration) (net.Conn, error) { return pipeTo(e), nil }),
			zk.WithHostProvider(&onlyHost{address: "pipe:1"}), zk.WithLogger(quiet{}), zk.WithLogInfo(false),
			zk.WithMaxBufferSize(4096), zk.WithMaxConnBufferSize(4096))
		if err != nil {
			b.Error(err)
			return
		}
		benchmarkRequests(b, c)
		c.Close()
	})
}

// pipeTo connects to a server without any network. The server's goroutine reads and writes in turn.
func pipeTo(e *Embedded) net.Conn {
	near, far := net.Pipe()
	go func() {
		conn := e.connect(far, pipePort{far})
		buffer := make([]byte, 4096)
		for {
			n, err := far.Read(buffer)
			if err != nil {
				e.Do(func(s *Server) {
					conn.Closed()
					s.stopTimer()
				})
				return
			}
			e.Do(func(*Server) { conn.Bytes(buffer[:n]) })
		}
	}()
	return near
}

type pipePort struct{ conn net.Conn }

func (p pipePort) Write(b []byte) { _, _ = p.conn.Write(b) }
func (p pipePort) Close()         { _ = p.conn.Close() }

// BenchmarkThousandClients opens a thousand sessions in one world and reports what each costs in memory.
func BenchmarkThousandClients(b *testing.B) {
	const clients = 1000
	for range b.N {
		var before, during runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		result := sim.Run(&testing.T{}, sim.Config{Seed: 1, RuntimeTimers: true}, func(w *sim.World) {
			m := NewMachine(w, Options{Name: "zookeeper"})
			for i := range clients {
				p := w.NewNode(sim.NodeConfig{Name: fmt.Sprintf("c%d", i)}).Process()
				p.Go("main", func() {
					c, _ := dialZooKeeper(p, "zookeeper:2181", 10*time.Second)
					defer c.Close()
					if _, err := c.Create("/n-", nil, zk.FlagEphemeral|zk.FlagSequence, openLibraryACL); err != nil {
						b.Error(err)
					}
					<-p.Context().Done()
				})
			}
			w.RunUntil(30*time.Second, nil)
			runtime.GC()
			runtime.ReadMemStats(&during)
			if got := len(m.Sessions()); got != clients {
				b.Errorf("%d sessions", got)
			}
		})
		if result.Err != nil {
			b.Fatal(result.Err)
		}
		b.ReportMetric(float64(during.Sys)/(1<<20), "MB")
		b.ReportMetric(float64(during.HeapAlloc-before.HeapAlloc)/clients, "B/client")
	}
}
