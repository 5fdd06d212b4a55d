package scenarios

import (
	"context"
	"crypto/rand"
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
			return deadWriter{Conn: conn, process: p}, nil
		}),
		zk.WithHostProvider(&oneHost{}), zk.WithLogger(zkSilence{}), zk.WithLogInfo(false),
		zk.WithMaxBufferSize(bufferBytes), zk.WithMaxConnBufferSize(bufferBytes),
	)
	if err != nil {
		return err
	}
	context.AfterFunc(p.Context(), conn.Close)
	c.zk, c.session = conn, zklock.Watch(c.late(events), func(f func()) { p.Go("events", f) })
	return nil
}

// deadWriter is a connection that takes what a machine writes after its end as if it went out. go-zookeeper has room
// for two results of a request, the second for a Close at the same moment; a write that fails makes a third, and its
// main goroutine would stay blocked for good.
type deadWriter struct {
	net.Conn
	process *sim.Process
}

func (c deadWriter) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if err != nil && c.process.Context().Err() != nil {
		return len(p), nil
	}
	return n, err
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
// between tries.
type oneHost struct{ asked bool }

func (h *oneHost) Init([]string) error { return nil }
func (h *oneHost) Len() int            { return 1 }
func (h *oneHost) Connected()          { h.asked = false }

func (h *oneHost) Next() (server string, retryStart bool) {
	retryStart = h.asked
	h.asked = true
	return zooKeeperAddress, retryStart
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
	op := e.Op.String()
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
	q.follow(e)
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
		if n.path == e.Path && n.owner != nil && n.owner.node == first.node {
			return n.owner
		}
	}
	for _, c := range q.run.recorder.waiting {
		if c.node == first.node {
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
