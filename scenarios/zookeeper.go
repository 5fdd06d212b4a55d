package scenarios

import (
	"context"
	"crypto/rand"
	"hash/fnv"
	"io"
	"net"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/faults"
	"github.com/lockstep-sim/lockstep/impl/zklock"
	"github.com/lockstep-sim/lockstep/sim"
	"github.com/lockstep-sim/lockstep/sim/zookeeper"
)

// zooKeeperAddress is where clients dial the machine: the port of a real one.
const zooKeeperAddress = zooKeeperMachine + ":2181"

// ticksPerLease makes the lease of a scenario a session time-out that the server grants: it must be 2 to 20 ticks.
const ticksPerLease = 4

// bufferBytes bounds the two buffers that go-zookeeper makes for each connection, 1.5 MB each if nothing is said.
const bufferBytes = 64 << 10

// addZooKeeper adds the server machine of a scenario on ZooKeeper.
func (r *run) addZooKeeper() {
	q := &queue{run: r, lock: r.scenario.Lock, owners: map[uint64]*client{}, sessions: map[int64]*client{}}
	r.zookeeper = zookeeper.NewMachine(r.world, zookeeper.Options{
		Name: zooKeeperMachine, Tick: r.scenario.Lease / ticksPerLease, OnRequest: q.executed,
		OnAccept: func(conn uint64, from *sim.Node) { q.owners[conn] = r.clientOn(from) },
	})
	q.machine, r.queue = r.zookeeper, q
}

// dialZooKeeper opens the machine's connection to ZooKeeper: an unmodified client library, whose session all threads of
// the machine share.
func (c *client) dialZooKeeper() error {
	p := c.process
	conn, events, err := zk.Connect([]string{zooKeeperAddress}, c.run.scenario.Lease,
		zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			conn, err := p.Dial(p.Context(), network, address)
			if err != nil {
				return nil, err
			}
			return zkConn{Conn: conn, process: p}, nil
		}),
		zk.WithHostProvider(&oneHost{settle: func() { c.settle(librarySettles) }}),
		zk.WithLogger(zkSilence{}), zk.WithLogInfo(false),
		zk.WithMaxBufferSize(bufferBytes), zk.WithMaxConnBufferSize(bufferBytes),
	)
	if err != nil {
		return err
	}
	context.AfterFunc(p.Context(), conn.Close)
	c.zk, c.session = conn, zklock.Watch(c.late(events), func(f func()) { p.Go("events", f) })
	return nil
}

// eventDelay is how long news of the connection take from the library to the locks. When a session is attached again,
// the library sets its watches from a goroutine of its own; a lock that heard of it in the same instant would race with
// that, and which request goes first would be chance.
const eventDelay = 100 * time.Microsecond

// late passes events on after eventDelay.
func (c *client) late(events <-chan zk.Event) <-chan zk.Event {
	out := make(chan zk.Event, cap(events))
	c.process.Go("late events", func() {
		defer close(out)
		for event := range events {
			c.process.Clock().Sleep(eventDelay)
			out <- event
		}
	})
	return out
}

// oneHost is a zk.HostProvider for one server. It reports each further try as a new round, so that the library pauses
// between tries, and refuses what waits to be sent. Before that it lets those that have just been told of a loss send
// what they want to.
type oneHost struct {
	asked  bool
	settle func()
}

func (h *oneHost) Init([]string) error { return nil }
func (h *oneHost) Len() int            { return 1 }
func (h *oneHost) Connected()          { h.asked = false }

func (h *oneHost) Next() (server string, retryStart bool) {
	retryStart = h.asked
	h.asked = true
	if retryStart {
		h.settle()
	}
	return zooKeeperAddress, retryStart
}

// settledZooKeeper is a connection to ZooKeeper on which a call that the client library refused, because a connection
// is gone, returns a little later: in the same instant the library may still be refusing all that waits to be sent, and
// whether it took a new request for one of these would be chance.
type settledZooKeeper struct {
	*zk.Conn
	client *client
}

// Library is the connection of the library, for a lock that is part of it.
func (s settledZooKeeper) Library() *zk.Conn { return s.Conn }

// How long it takes for things to settle: for the library before it refuses what waits, for a call that it refused, and
// what each of several calls that are refused in one instant takes more, lest their timers meet.
const (
	librarySettles = 50 * time.Microsecond
	callSettles    = 110 * time.Microsecond
	settleSpread   = 61 // steps of a microsecond
)

// settle passes a span, or what is left until the end of the machine.
func (c *client) settle(span time.Duration) {
	timer := c.process.Clock().NewTimer(span)
	defer timer.Stop()
	// ranked: the end of the machine ends the wait, whatever the timer does
	select {
	case <-timer.Chan():
	case <-c.process.Context().Done():
	}
}

// settleCall settles after a call that came to an error. What was called decides how long it takes.
func (c *client) settleCall(call string, err error) {
	switch err {
	case zk.ErrNoServer, zk.ErrConnectionClosed, zk.ErrClosing, zk.ErrSessionExpired:
		sum := fnv.New32a()
		_, _ = io.WriteString(sum, call)
		c.settle(callSettles + time.Duration(sum.Sum32()%settleSpread)*time.Microsecond)
	}
}

func (s settledZooKeeper) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	created, err := s.Conn.Create(path, data, flags, acl)
	s.client.settleCall("create "+path, err)
	return created, err
}

func (s settledZooKeeper) Delete(path string, version int32) error {
	err := s.Conn.Delete(path, version)
	s.client.settleCall("delete "+path, err)
	return err
}

func (s settledZooKeeper) Exists(path string) (bool, *zk.Stat, error) {
	exists, stat, err := s.Conn.Exists(path)
	s.client.settleCall("exists "+path, err)
	return exists, stat, err
}

func (s settledZooKeeper) ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error) {
	exists, stat, events, err := s.Conn.ExistsW(path)
	s.client.settleCall("existsw "+path, err)
	return exists, stat, events, err
}

func (s settledZooKeeper) Get(path string) ([]byte, *zk.Stat, error) {
	data, stat, err := s.Conn.Get(path)
	s.client.settleCall("get "+path, err)
	return data, stat, err
}

func (s settledZooKeeper) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	data, stat, events, err := s.Conn.GetW(path)
	s.client.settleCall("getw "+path, err)
	return data, stat, events, err
}

func (s settledZooKeeper) Children(path string) ([]string, *zk.Stat, error) {
	children, stat, err := s.Conn.Children(path)
	s.client.settleCall("children "+path, err)
	return children, stat, err
}

// zkSilence is a zk.Logger that says nothing.
type zkSilence struct{}

func (zkSilence) Printf(string, ...any) {}

// guids serves the GUIDs that go-zookeeper puts into the names of protected nodes. The library takes them from the
// process-wide reader of crypto/rand, so while a lock of its own runs, that reader is the run's, and only one such run
// goes on in a process. Two clients that ask at the very same instant get theirs in either order.
var guids struct{ busy sync.Mutex }

// seedGUIDs makes the GUIDs of a run a function of its seed, until the returned function is called.
func seedGUIDs(seed uint64) (restore func()) {
	guids.busy.Lock()
	before := rand.Reader
	rand.Reader = &lockedReader{reader: sim.NewStream(seed, "guids")}
	return func() {
		rand.Reader = before
		guids.busy.Unlock()
	}
}

type lockedReader struct {
	mutex  sync.Mutex
	reader io.Reader
}

func (r *lockedReader) Read(p []byte) (int, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.reader.Read(p)
}

// actOnZooKeeper is what an operator or a third party does to the ZooKeeper machine.
func (r *run) actOnZooKeeper(machine string, fault faults.Fault) bool {
	switch fault.Kind {
	case faults.ExpireSession:
		expired := false
		for _, session := range r.zookeeper.SessionsOf(r.world.Node(machine)) {
			expired = r.zookeeper.ExpireSession(session.ID) || expired
		}
		return expired
	case faults.PresetCounter:
		r.zookeeper.MakePath(fault.Path)
		return r.zookeeper.SetCounter(fault.Path, int32(fault.Count))
	case faults.AddPath:
		return r.zookeeper.MakePath(fault.Path)
	case faults.RemovePath:
		return r.zookeeper.Delete(r.oldest(fault.Path)) == zookeeper.OK
	}
	return false
}

// oldest finds the child that was created first, where the last part of a path is a star.
func (r *run) oldest(wanted string) string {
	dir, last := path.Split(wanted)
	if last != "*" {
		return wanted
	}
	dir = strings.TrimSuffix(dir, "/")
	var first string
	var created int64
	for _, name := range r.zookeeper.State().Children(dir) {
		if _, stat, ok := r.zookeeper.State().Peek(dir + "/" + name); ok && (first == "" || stat.Czxid < created) {
			first, created = dir+"/"+name, stat.Czxid
		}
	}
	return first
}

// queue follows the nodes of a lock on ZooKeeper and records whose turn it is, as the server has it: the owner of the
// node that was created first.
type queue struct {
	run      *run
	machine  *zookeeper.Machine
	lock     string
	owners   map[uint64]*client // by connection
	sessions map[int64]*client
	nodes    []queueNode // in order of creation
	head     *queueNode
}

type queueNode struct {
	path  string
	owner *client // nil for a node of a third party
}

// executed sees each request of the ZooKeeper machine.
func (q *queue) executed(e zookeeper.Executed) {
	owner := q.thread(q.owners[e.Conn], e)
	if owner != nil && e.Session != 0 {
		q.sessions[e.Session] = owner
	}
	op, before := e.Op.String(), q.head
	ends := op == "closeSession" || op == "expire"
	if e.Path == q.lock || strings.HasPrefix(e.Path, q.lock+"/") || ends || len(e.Fired) > 0 {
		q.request(e, op, owner)
	}
	if e.Err == zookeeper.OK && e.Created != "" && path.Dir(e.Created) == q.lock {
		if _, stat, ok := q.machine.State().Peek(e.Created); ok && (stat.EphemeralOwner != 0 || owner == nil) {
			q.nodes = append(q.nodes, queueNode{e.Created, owner})
		}
	}
	q.refresh(e, op, owner)
	q.served(e, owner, before)
	q.follow(e)
}

// served records what the server decided by a request. Whoever becomes the first of the queue has been let in, whatever
// request did that.
func (q *queue) served(e zookeeper.Executed, by *client, before *queueNode) {
	r, held := q.run.recorder, ""
	if q.head != nil {
		held = q.head.record().Owner
	}
	switch {
	case q.head == before:
		if by != nil && (e.Path == q.lock || strings.HasPrefix(e.Path, q.lock+"/")) {
			r.served(by, unchanged, held)
		}
		return
	case before != nil && by != nil && e.Path == before.path && before.owner == by:
		r.served(by, lost, held)
	case before != nil && by != nil && e.Path == before.path:
		r.served(by, removed, held)
	}
	if q.head != nil && q.head.owner != nil {
		r.served(q.head.owner, gained, held)
	}
}

// next is the machine of the one who stands behind the head of the queue; "" when nobody does.
func (q *queue) next() string {
	if len(q.nodes) < 2 || q.nodes[1].owner == nil {
		return ""
	}
	return q.nodes[1].owner.node.Name()
}

// follow tells the injector when the session of a request ends, if nothing more is heard of it.
func (q *queue) follow(e zookeeper.Executed) {
	injector, owner := q.run.recorder.injector, q.sessions[e.Session]
	if injector == nil || owner == nil {
		return
	}
	sessions := q.machine.Sessions()
	i := slices.IndexFunc(sessions, func(s zookeeper.SessionInfo) bool { return s.ID == e.Session })
	if i < 0 {
		injector.LeaseGone(zooKeeperMachine, owner.node.Name())
		return
	}
	rest := time.Duration(sessions[i].Expiry)*time.Millisecond - q.machine.Elapsed()
	injector.Lease(zooKeeperMachine, owner.node.Name(), q.machine.Node().TrueTime(rest))
}

// thread finds which thread of a machine sent a request: they share a connection. Who removes a node is who made it,
// and who makes one is in a call to acquire.
func (q *queue) thread(first *client, e zookeeper.Executed) *client {
	if first == nil {
		return nil
	}
	for _, n := range q.nodes {
		if n.path == e.Path && n.owner != nil && n.owner.process == first.process {
			return n.owner
		}
	}
	for _, c := range q.run.recorder.waiting {
		if c.process == first.process {
			return c
		}
	}
	return first
}

// request records what was asked and answered, for whoever explains a violation.
func (q *queue) request(e zookeeper.Executed, op string, owner *client) {
	event := checker.Event{
		Process: checker.ProcessServer, Type: checker.Info, F: checker.Request, Key: q.lock, Command: op, Value: e.Path,
	}
	if e.Created != "" {
		event.Value = e.Created
	}
	if e.Err != zookeeper.OK {
		event.Error = e.Err.String()
	}
	if owner == nil {
		owner = q.sessions[e.Session]
	}
	if owner != nil {
		event.Node, event.Owner = owner.node.Name(), owner.owner.String()
	}
	q.run.recorder.add(event)
	for _, fired := range e.Fired {
		if to := q.owners[fired.Conn]; to != nil {
			q.run.recorder.add(checker.Event{
				Process: checker.ProcessServer, Type: checker.Info, F: checker.Request, Key: q.lock, Command: "event",
				Value: fired.Path, Node: to.node.Name(), Owner: to.owner.String(),
			})
		}
	}
}

// refresh drops the nodes that are gone and records it when the first of the queue is another.
func (q *queue) refresh(e zookeeper.Executed, op string, by *client) {
	state := q.machine.State()
	q.nodes = slices.DeleteFunc(q.nodes, func(n queueNode) bool {
		_, _, exists := state.Peek(n.path)
		return !exists
	})
	before := q.head
	if before != nil && len(q.nodes) > 0 && q.nodes[0].path == before.path {
		return
	}
	q.head = nil
	if before != nil {
		gone := q.fact(checker.RecordGone, op)
		gone.Previous = before.record()
		if by != nil && e.Path == before.path {
			gone.Node, gone.Owner = by.node.Name(), by.owner.String()
		} else if op == "closeSession" && by != nil && by == before.owner {
			gone.Node, gone.Owner = by.node.Name(), by.owner.String()
		} else if op == "expire" || op == "closeSession" {
			gone.Command = checker.CommandExpire
		} else if by == nil {
			gone.Command = checker.CommandRemove
		}
		q.run.recorder.add(gone)
	}
	if len(q.nodes) == 0 {
		return
	}
	head := q.nodes[0]
	q.head = &head
	set := q.fact(checker.RecordSet, op)
	set.Record, set.Count, set.Value = head.record(), 1, head.path
	if by != nil && by == head.owner {
		set.Node, set.Owner = by.node.Name(), by.owner.String()
	}
	q.run.recorder.add(set)
}

func (q *queue) fact(f, op string) checker.Event {
	return checker.Event{
		Process: checker.ProcessServer, Type: checker.Info, F: f, Key: q.lock, Command: op,
		Clock: q.machine.Node().Wall().Round(0),
	}
}

// record says whom a node names. A node of a third party names its own path.
func (n *queueNode) record() *checker.Record {
	if n.owner == nil {
		return &checker.Record{Owner: n.path, Count: 1}
	}
	return &checker.Record{Owner: n.owner.owner.String(), Count: 1}
}
