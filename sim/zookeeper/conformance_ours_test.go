package zookeeper_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/lockstep-sim/lockstep/sim/zookeeper"
)

// ourServer is this package's server behind connections in memory.
type ourServer struct {
	embedded *zookeeper.Embedded
	accept   chan net.Conn
	closed   chan struct{}
	open     []net.Conn
}

// startOurs starts a server that ends with the test. It deals with the end of a counter as ZooKeeper 3.8.0 does, or as
// is documented.
func startOurs(t *testing.T, sweep time.Duration, documented bool) *ourServer {
	s := &ourServer{accept: make(chan net.Conn), closed: make(chan struct{})}
	s.embedded = zookeeper.NewEmbedded(zookeeper.EmbeddedOptions{
		Clock: clockwork.NewRealClock(), Tick: realTick * time.Millisecond, Sweep: sweep, CounterSticks: !documented,
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.embedded.Serve(ctx, s) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

// Accept, Close and Addr make the server its own listener.
func (s *ourServer) Accept() (net.Conn, error) {
	select {
	case conn := <-s.accept:
		return conn, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

func (s *ourServer) Close() error {
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	return nil
}

func (s *ourServer) Addr() net.Addr { return loopback{} }

// loopback is the address of a connection in memory: the one that a client of the real server has.
type loopback struct{ net.Conn }

func (loopback) Network() string        { return "tcp" }
func (loopback) String() string         { return "127.0.0.1:2181" }
func (l loopback) RemoteAddr() net.Addr { return loopback{} }

func (s *ourServer) dial() (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case s.accept <- loopback{far}:
		s.open = append(s.open, far)
		return near, nil
	case <-s.closed:
		return nil, errors.New("the server is closed")
	}
}

func (s *ourServer) setCounter(path string, n int32) error {
	err := fmt.Errorf("%s: no such node", path)
	s.embedded.Do(func(server *zookeeper.Server) {
		if server.SetCounter(path, n) {
			err = nil
		}
	})
	s.restart()
	return err
}

func (s *ourServer) restart() {
	s.embedded.Do(func(server *zookeeper.Server) { server.Restart(false) })
	for _, conn := range s.open { // a process that ends takes its connections with it
		_ = conn.Close()
	}
	s.open = nil
}
