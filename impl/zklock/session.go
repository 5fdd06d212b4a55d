package zklock

import (
	"github.com/go-zookeeper/zk"
)

// Session passes the events of one connection on to every lock that uses it.
type Session struct {
	guard     chan struct{} // one slot; guards the fields below
	listeners []chan zk.Event
	ended     bool
}

// listenerBuffer is how many events a listener may leave unread before it misses some.
const listenerBuffer = 64

// Watch starts to pass on events, which is the channel that zk.Connect returned. It goes on until that channel is
// closed, which zk.Conn.Close does. start is as in impl.Environment.Go.
func Watch(events <-chan zk.Event, start func(f func())) *Session {
	s := &Session{guard: make(chan struct{}, 1)}
	start(func() {
		for event := range events {
			s.pass(event)
		}
		s.end()
	})
	return s
}

// Events returns a new channel for impl.Environment.SessionEvents: one for each lock. It is closed when the connection
// is. A listener that does not read misses events: nobody waits for it.
func (s *Session) Events() <-chan zk.Event {
	listener := make(chan zk.Event, listenerBuffer)
	s.guard <- struct{}{}
	defer func() { <-s.guard }()
	if s.ended {
		close(listener)
		return listener
	}
	s.listeners = append(s.listeners, listener)
	return listener
}

func (s *Session) pass(event zk.Event) {
	s.guard <- struct{}{}
	defer func() { <-s.guard }()
	for _, listener := range s.listeners {
		select {
		case listener <- event:
		default:
		}
	}
}

func (s *Session) end() {
	s.guard <- struct{}{}
	defer func() { <-s.guard }()
	s.ended = true
	for _, listener := range s.listeners {
		close(listener)
	}
	s.listeners = nil
}
