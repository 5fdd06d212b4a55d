package timeserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/jonboulle/clockwork"
)

// Server answers what time it is on Clock.
type Server struct {
	Clock clockwork.Clock
	// Go starts a goroutine; nil means the go statement.
	Go func(f func())
}

// Serve answers on the connections of listener until ctx ends, which closes the listener and every connection and
// returns nil, or until the listener fails.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	var sessions sync.WaitGroup
	defer sessions.Wait()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { listener.Close() })
	defer stop()
	for {
		conn, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return errors.Join(fmt.Errorf("timeserver: accept on %s: %w", listener.Addr(), err), listener.Close())
		}
		sessions.Add(1)
		s.start(func() {
			defer sessions.Done()
			s.ServeConn(ctx, conn)
		})
	}
}

// ServeConn answers on one connection until the peer leaves or talks nonsense, or ctx ends. It closes the connection.
func (s *Server) ServeConn(ctx context.Context, conn net.Conn) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	defer conn.Close()
	var session Session
	var arrived [64]byte
	var answers []byte
	for {
		n, readErr := conn.Read(arrived[:])
		var err error
		answers, err = session.Answer(answers[:0], arrived[:n], s.Clock.Now().UnixMilli())
		// What was asked before the nonsense, or before the peer closed its half, is still answered.
		if len(answers) > 0 {
			if _, writeErr := conn.Write(answers); writeErr != nil {
				return
			}
		}
		if err != nil || readErr != nil {
			return
		}
	}
}

func (s *Server) start(f func()) {
	if s.Go != nil {
		s.Go(f)
		return
	}
	go f() // production: a machine of the simulation sets Go
}
