package zookeeper

import (
	"maps"
	"slices"
	"time"
)

// Moment is what a machine's clocks show, in milliseconds: the wall clock, which stamps nodes, and the monotonic one,
// which ends sessions.
type Moment struct{ Wall, Elapsed int64 }

// momentOf cuts readings to milliseconds, as ZooKeeper does.
func momentOf(wall time.Time, elapsed time.Duration) Moment {
	return Moment{Wall: wall.UnixMilli(), Elapsed: elapsed.Milliseconds()}
}

// Client is one connection as the State knows it.
type Client struct {
	// Conn identifies the connection among those of the server.
	Conn uint64
	// Session is the session that it speaks for, 0 before it has one.
	Session int64
	timeout int64 // milliseconds, as this connection has negotiated it
	proved  []ID  // in the order in which they were proved
	ids     []ID
}

// NewClient is a connection from an IP address, which is one of its identities.
func NewClient(conn uint64, address string) *Client {
	c := &Client{Conn: conn}
	c.prove(ID{"ip", address})
	return c
}

// Event is what a watch tells its connection.
type Event struct {
	Conn uint64
	Type EventType
	Path string
}

// State is everything that a ZooKeeper server knows, as a pure state machine: connections, requests and the time go in;
// replies, the events of watches, and connections to be closed come out. Nothing happens by itself: Tick must be called
// when Next says so.
//
// After each call, Events holds what is to be sent before the reply, in order, and Closing the connections that the
// server closes. Both are good until the next call.
type State struct {
	Events  []Event
	Closing []uint64

	tick        int64 // milliseconds
	sweepEvery  int64 // milliseconds between two looks at container and TTL nodes
	sticks      bool  // Settings.CounterSticks
	tree        tree
	zxid        int64
	data        watches // also of the existence of nodes
	children    watches
	sessions    map[int64]*session
	order       []int64 // ids of the sessions, ascending
	nextSession int64
	start       int64 // elapsed time at the start of the server
	swept       int64 // elapsed time of the last look at container and TTL nodes
	reply       Reply
}

// Times that a server goes by, as ZooKeeper has them when it is not told.
const (
	// DefaultTick is the unit of session time-outs: sessions last from two of it to twenty.
	DefaultTick = 2 * time.Second
	// DefaultSweep is how often the server looks for container and TTL nodes that are to go.
	DefaultSweep = time.Minute
)

// Settings are what an operator can choose.
type Settings struct {
	// Tick is the unit of session time-outs; DefaultTick when it is not at least a millisecond.
	Tick time.Duration
	// Sweep is the time between two looks at container and TTL nodes; DefaultSweep when not at least a millisecond.
	Sweep time.Duration
	// CounterSticks decides what follows after the sequential name with the number 2147483647. ZooKeeper up to 3.5, and
	// this server when it is false, goes on with -2147483648. ZooKeeper since 3.6 offers 2147483647 for ever, so that the
	// next create fails with NodeExists.
	CounterSticks bool
}

// NewState is the state of a new server whose clocks show now.
func NewState(settings Settings, now Moment) *State {
	if settings.Tick < time.Millisecond {
		settings.Tick = DefaultTick
	}
	if settings.Sweep < time.Millisecond {
		settings.Sweep = DefaultSweep
	}
	s := &State{
		tick: settings.Tick.Milliseconds(), sweepEvery: settings.Sweep.Milliseconds(), sticks: settings.CounterSticks,
	}
	s.reset(now)
	return s
}

func (s *State) reset(now Moment) {
	s.tree, s.zxid = newTree(), 0
	s.sessions, s.order = map[int64]*session{}, nil
	s.boot(now)
}

// boot begins a new life of the server's process on the data that is there.
func (s *State) boot(now Moment) {
	s.Events, s.Closing = nil, nil
	s.data, s.children = watches{}, watches{}
	s.start, s.swept = now.Elapsed, now.Elapsed
	s.nextSession = firstSession(now.Elapsed)
	if n := len(s.order); n > 0 && s.nextSession <= s.order[n-1] {
		s.nextSession = s.order[n-1] + 1
	}
}

// Restart ends all connections, as the end of the server's process does, and starts it again: with its data, in which
// case the sessions live on and their time starts anew, or without.
func (s *State) Restart(empty bool, now Moment) {
	if empty {
		s.reset(now)
		return
	}
	s.boot(now)
	for _, id := range s.order {
		session := s.sessions[id]
		session.attached = false
		session.expiry = s.bucket(now.Elapsed + session.timeout)
	}
}

// Zxid is the last transaction.
func (s *State) Zxid() int64 { return s.zxid }

// begin empties what the last call left.
func (s *State) begin() {
	s.Events, s.Closing = s.Events[:0], s.Closing[:0]
}

// Disconnect forgets a connection and its watches. Its session lives on.
func (s *State) Disconnect(c *Client) {
	s.data.removeConn(c.Conn)
	s.children.removeConn(c.Conn)
	if session := s.sessions[c.Session]; session != nil && session.conn == c.Conn {
		session.attached = false
	}
}

// Execute carries out a request and returns its reply, good until the next call. It returns nil when the request gets
// none, because its session is gone.
func (s *State) Execute(c *Client, r *Request, now Moment) *Reply {
	s.begin()
	s.reply = Reply{
		Op: r.Op, Xid: r.Xid, Children: s.reply.Children[:0], Results: s.reply.Results[:0],
	}
	p := &s.reply
	if r.Op == OpAuth {
		s.auth(c, r)
		return p
	}
	if !s.touch(c, now) {
		return nil
	}
	switch {
	case !r.Op.known():
		p.Zxid, p.Err, p.Close = -1, Unimplemented, true
		return p
	case !r.isRead():
		s.write(c, r, now)
	case r.Malformed:
		p.Err = MarshallingError
	default:
		s.read(c, r)
	}
	p.Zxid = s.zxid
	return p
}

// known tells whether a client may ask for it.
func (o Op) known() bool {
	switch o {
	case OpConnect, OpExpire:
		return false
	}
	return opNames[o] != ""
}

// auth proves an identity; a failure ends the connection.
func (s *State) auth(c *Client, r *Request) {
	if r.Malformed {
		s.reply.Silent, s.reply.Close = true, true
	} else if !c.authenticate(r.Scheme, r.Data) {
		s.reply.Err, s.reply.Close = AuthFailed, true
	}
}

// fire sends the event of a change to those who watch for it, as far as they may read the node. (Before its last
// releases, ZooKeeper 3.8 told the others, too.)
func (s *State) fire(path string, event EventType, told []*Client, acl []ACL) {
	for _, c := range told {
		if allowed(acl, PermRead, c.ids) {
			s.Events = append(s.Events, Event{c.Conn, event, path})
		}
	}
}

// Next is the elapsed time in milliseconds at which Tick has something to do next, if nothing happens before.
func (s *State) Next() (elapsed int64, ok bool) {
	for _, id := range s.order {
		if at := s.sessions[id].expiry; !ok || at < elapsed {
			elapsed, ok = at, true
		}
	}
	if at, sweeps := s.nextSweep(); sweeps && (!ok || at < elapsed) {
		elapsed, ok = at, true
	}
	return elapsed, ok
}

// nextSweep is the elapsed time of the next look at container and TTL nodes, if there are any.
func (s *State) nextSweep() (elapsed int64, ok bool) {
	return s.swept + s.sweepEvery, len(s.tree.fading) > 0
}

// Due is something that happened because its time had come: a session ended, or a node was removed that nobody needs.
type Due struct {
	Session int64
	Path    string
}

// Tick does one thing whose time has come: it ends a session that was silent for too long or deletes a container or TTL
// node. It is to be called until it finds nothing more to do.
func (s *State) Tick(now Moment) (done Due, ok bool) {
	s.begin()
	for _, id := range s.order {
		if s.sessions[id].expiry <= now.Elapsed {
			s.end(id)
			return Due{Session: id}, true
		}
	}
	if now.Elapsed-s.swept < s.sweepEvery {
		return Due{}, false
	}
	if path := s.faded(now); path != "" {
		s.zxid++
		parent, _ := parentOf(path)
		s.removeNode(parent, path)
		return Due{Path: path}, true
	}
	s.swept = s.lastSweep(now)
	return Due{}, false
}

// lastSweep is the time of the last sweep that a server makes that sweeps whether there is anything to do or not.
func (s *State) lastSweep(now Moment) int64 { return now.Elapsed - (now.Elapsed-s.start)%s.sweepEvery }

// faded finds a node that is to go: a container that had children and has none, or a childless TTL node that was not
// changed for its time. A look at all of them removes them in order of their paths.
func (s *State) faded(now Moment) string {
	for _, path := range slices.Sorted(maps.Keys(s.tree.fading)) {
		n := s.tree.nodes[path]
		isOver := n.creates > 0
		if isTTL(n.owner) {
			isOver = now.Wall-n.mtime > n.owner&^ttlMask
		}
		if isOver && n.children.size == 0 {
			return path
		}
	}
	return ""
}

// Delete removes a childless node whoever may own it, in a transaction of its own.
func (s *State) Delete(path string) Code {
	s.begin()
	parent, ok := parentOf(path)
	n := s.tree.nodes[path]
	switch {
	case !ok || isSpecial(path):
		return BadArguments
	case n == nil:
		return NoNode
	case n.children.size > 0:
		return NotEmpty
	}
	s.zxid++
	s.removeNode(parent, path)
	return OK
}

// SetCounter presets the number of the next sequential child of a node.
func (s *State) SetCounter(path string, number int32) bool {
	n := s.tree.nodes[path]
	if n != nil {
		n.creates = number
	}
	return n != nil
}

// Peek reads a node without any effect.
func (s *State) Peek(path string) (data []byte, stat Stat, ok bool) {
	n := s.tree.nodes[path]
	if n == nil {
		return nil, Stat{}, false
	}
	return n.data, n.stat(), true
}

// Children lists the children of a node, sorted, without any effect.
func (s *State) Children(path string) []string {
	n := s.tree.nodes[path]
	if n == nil {
		return nil
	}
	names := n.children.list(nil)
	slices.Sort(names)
	return names
}
