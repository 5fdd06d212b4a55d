package zookeeper

import (
	"crypto/subtle"
	"encoding/binary"
	"slices"
)

// session is a client's standing with the server. It outlives connections.
type session struct {
	id      int64
	timeout int64 // milliseconds, as negotiated when it began
	// expiry is the elapsed time at which it ends. It lies on a multiple of the tick: after the time-out since the last
	// sign of life is over, and not more than a tick later.
	expiry     int64
	conn       uint64 // the connection that spoke for it last
	attached   bool   // it still does
	ephemerals hashSet
}

// Time-outs that a client may have, in ticks.
const (
	minTicks = 2
	maxTicks = 20
)

// firstSession is the id of the first session of a server that starts now: its own number, which is 1, in the top byte,
// below it the time, and a count.
func firstSession(elapsed int64) int64 {
	return int64(uint64(elapsed)<<24>>8) | 1<<56
}

// bucket is the end of the tick that the elapsed time at falls into.
func (s *State) bucket(at int64) int64 { return (at/s.tick + 1) * s.tick }

// ConnectReply answers a ConnectRequest. A zero session tells the client that its session is over.
type ConnectReply struct {
	Timeout  int64 // milliseconds
	Session  int64
	Password [16]byte
}

// Connect attaches a connection to a new session or to the one that the request names. refused means that the
// connection is to be closed without an answer, since its client has seen transactions that are not here.
//
// Whoever names a session takes it from the connection that spoke for it, which is closed, also if the password turns
// out to be wrong: so does ZooKeeper.
func (s *State) Connect(c *Client, r *ConnectRequest, now Moment) (reply ConnectReply, refused bool) {
	s.begin()
	if r.LastZxid > s.zxid {
		return reply, true
	}
	c.timeout = min(max(int64(r.Timeout), minTicks*s.tick), maxTicks*s.tick)
	c.Session = r.Session
	if r.Session == 0 {
		s.zxid++
		c.Session = s.nextSession
		s.nextSession++
		s.order = append(s.order, c.Session)
		s.sessions[c.Session] = &session{id: c.Session, timeout: c.timeout}
	} else {
		if old := s.sessions[r.Session]; old != nil && old.attached {
			s.Closing = append(s.Closing, old.conn)
			old.attached = false
		}
		password := passwordOf(r.Session)
		if subtle.ConstantTimeCompare(r.Password, password[:]) != 1 {
			return reply, false
		}
	}
	if !s.touch(c, now) {
		return reply, false
	}
	session := s.sessions[c.Session]
	session.conn, session.attached = c.Conn, true
	return ConnectReply{c.timeout, c.Session, passwordOf(c.Session)}, false
}

// touch notes a sign of life of a connection's session, and tells whether the session is there.
func (s *State) touch(c *Client, now Moment) bool {
	session := s.sessions[c.Session]
	if session == nil {
		return false
	}
	session.expiry = s.bucket(now.Elapsed + c.timeout)
	return true
}

// Expire ends a session before its time, as if the server had not heard of it for too long.
func (s *State) Expire(id int64) bool {
	s.begin()
	if s.sessions[id] == nil {
		return false
	}
	s.end(id)
	return true
}

// end removes a session with its ephemeral nodes in one transaction and closes the connection that speaks for it.
func (s *State) end(id int64) {
	session := s.sessions[id]
	s.zxid++
	for _, path := range session.ephemerals.listClone(nil) {
		parent, _ := parentOf(path)
		s.removeNode(parent, path)
	}
	if session.attached {
		s.Closing = append(s.Closing, session.conn)
	}
	delete(s.sessions, id)
	if i, found := slices.BinarySearch(s.order, id); found {
		s.order = slices.Delete(s.order, i, i+1)
	}
}

// passwordOf is the password of a session: sixteen bytes of Java's generator, seeded with the id and a constant. It
// guards against mistakes, not against malice.
func passwordOf(session int64) (password [16]byte) {
	const (
		secret     = 0xb3415c00
		multiplier = 0x5deece66d
		mask       = 1<<48 - 1
	)
	seed := (uint64(session) ^ secret ^ multiplier) & mask
	for i := 0; i < len(password); i += 4 {
		seed = (seed*multiplier + 0xb) & mask
		binary.LittleEndian.PutUint32(password[i:], uint32(seed>>16))
	}
	return password
}

// SessionInfo describes a session for a harness.
type SessionInfo struct {
	ID       int64
	Timeout  int64  // milliseconds
	Expiry   int64  // elapsed milliseconds of the server at which it ends if nothing is heard
	Conn     uint64 // the connection that spoke for it last
	Attached bool   // that connection is still there
	// Ephemerals are the paths of its ephemeral nodes, sorted.
	Ephemerals []string
}

// Sessions lists the sessions in order of their ids.
func (s *State) Sessions() []SessionInfo {
	list := make([]SessionInfo, 0, len(s.order))
	for _, id := range s.order {
		session := s.sessions[id]
		paths := session.ephemerals.list(nil)
		slices.Sort(paths)
		list = append(list, SessionInfo{id, session.timeout, session.expiry, session.conn, session.attached, paths})
	}
	return list
}
