package zookeeper

import (
	"cmp"
	"slices"
	"time"
)

// Config says what a Server takes from the machine that it runs on.
type Config struct {
	Settings
	// Wall reads the machine's wall clock, which may step, and Elapsed its monotonic clock. Both are required.
	Wall    func() time.Time
	Elapsed func() time.Duration
	// After calls f once the duration has passed on the machine's monotonic clock, unless cancelled before. It is
	// required. f must not run concurrently with any other call of the Server.
	After func(d time.Duration, f func()) (cancel func())
	// OnRequest, when set, sees every executed request, and every session that ends by itself, after its effect.
	OnRequest func(Executed)
}

// Executed is something that the server has carried out. Fired is good during the call only.
type Executed struct {
	Conn    uint64 // 0 when no connection asked for it
	Session int64
	Op      Op
	Path    string
	// Created is the path of the node that a create made, with its number if it is sequential.
	Created string
	Err     Code
	Zxid    int64 // the last transaction after it
	// Fired are the events that it caused, in the order in which they were sent.
	Fired []Event
}

// Port is where a connection's bytes go. The sim package's ServiceConn is one.
type Port interface {
	// Write sends bytes to the peer. p is used again after the call.
	Write(p []byte)
	// Close ends the connection after what was written.
	Close()
}

// Server is a ZooKeeper server without a network and without goroutines: every call does its work before it returns.
// Calls must not be concurrent.
type Server struct {
	config Config
	state  *State
	conns  map[uint64]*Conn

	cancel  func() // of the timer
	due     int64  // elapsed time for which the timer is set
	output  []byte
	request Request

	received, sent int64 // frames, for the four-letter words
}

// New makes a server with an empty tree.
func New(config Config) *Server {
	s := &Server{config: config, conns: map[uint64]*Conn{}}
	s.state = NewState(config.Settings, s.now())
	return s
}

// State is what the server knows. Whoever changes it must not forget that connections wait for its events: use the
// methods of the Server.
func (s *Server) State() *State { return s.state }

func (s *Server) now() Moment { return momentOf(s.config.Wall(), s.config.Elapsed()) }

// Connect opens a connection from an IP address. The identity must be unused and not 0.
func (s *Server) Connect(id uint64, address string, port Port) *Conn {
	c := &Conn{server: s, port: port, client: NewClient(id, address)}
	s.conns[id] = c
	return c
}

// Restart ends all connections without a word to them, as the end of a process does. The tree and the sessions stay, as
// with a log that lost nothing, and the sessions' time starts anew; or all is gone.
func (s *Server) Restart(empty bool) {
	for _, c := range s.conns { // order-free: nobody hears of it
		c.gone = true
	}
	s.conns = map[uint64]*Conn{}
	s.received, s.sent = 0, 0
	s.stopTimer()
	s.state.Restart(empty, s.now())
	s.wind()
}

// ExpireSession ends a session at once, as if its time were up. It tells whether there was one.
func (s *Server) ExpireSession(id int64) bool {
	if !s.state.Expire(id) {
		return false
	}
	s.report(Executed{Session: id, Op: OpExpire})
	s.deliver()
	s.wind()
	return true
}

// Delete removes a node as somebody would who has every permission and knows its version. The node must have no
// children.
func (s *Server) Delete(path string) Code {
	code := s.state.Delete(path)
	s.report(Executed{Op: OpDelete, Path: path, Err: code})
	s.deliver()
	return code
}

// SetCounter presets the number of the next sequential child of a node. It tells whether there is such a node.
func (s *Server) SetCounter(path string, number int32) bool { return s.state.SetCounter(path, number) }

// Sessions lists the sessions in order of their ids.
func (s *Server) Sessions() []SessionInfo { return s.state.Sessions() }

// tick is what the timer does.
func (s *Server) tick() {
	s.cancel = nil
	for {
		done, ok := s.state.Tick(s.now())
		switch {
		case !ok:
			s.wind()
			return
		case done.Path != "":
			s.report(Executed{Op: OpDeleteContainer, Path: done.Path})
		default:
			s.report(Executed{Session: done.Session, Op: OpExpire})
		}
		s.deliver()
	}
}

// wind sets the timer for what is due next. A timer that is set for an earlier time stays: a session's time is
// prolonged by every request, and the timer then finds nothing to do and is set anew.
func (s *Server) wind() {
	next, ok := s.state.Next()
	if !ok || s.cancel != nil && s.due <= next {
		return
	}
	s.stopTimer()
	s.due = next
	wait := time.Duration(next)*time.Millisecond - s.config.Elapsed()
	s.cancel = s.config.After(wait, s.tick)
}

func (s *Server) stopTimer() {
	if s.cancel != nil {
		s.cancel()
		s.cancel = nil
	}
}

// report tells of something that was carried out.
func (s *Server) report(e Executed) {
	if s.config.OnRequest == nil {
		return
	}
	e.Zxid, e.Fired = s.state.zxid, s.state.Events
	s.config.OnRequest(e)
}

// deliver sends the events that the state has left and closes the connections that it wants closed.
func (s *Server) deliver() {
	for _, e := range s.state.Events {
		if c := s.conns[e.Conn]; c != nil {
			s.output = appendEvent(s.output[:0], e)
			c.write(s.output)
		}
	}
	for _, id := range s.state.Closing {
		if c := s.conns[id]; c != nil {
			c.close()
		}
	}
}

// connections lists the open connections in order of their ids.
func (s *Server) connections() []*Conn {
	list := make([]*Conn, 0, len(s.conns))
	for _, c := range s.conns { // order-free: sorted below
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *Conn) int { return cmp.Compare(a.client.Conn, b.client.Conn) })
	return list
}
