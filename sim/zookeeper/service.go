package zookeeper

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-sim/lockstep/sim"
)

// Machine is a Server as a machine of a world: it answers at the instant at which a request arrives. Its wall clock
// stamps nodes, its monotonic clock ends sessions.
type Machine struct {
	*Server
	world   *sim.World
	node    *sim.Node
	options Options
	clients map[uint64]*sim.Node // by connection
}

// Options are the choices that a world makes for one machine.
type Options struct {
	Name string
	// Tick, Sweep and CounterSticks are the Settings.
	Tick, Sweep   time.Duration
	CounterSticks bool
	// OnRequest, when set, sees every executed request, and every session that ends by itself, after its effect and before
	// its events and its reply leave.
	OnRequest func(Executed)
	// OnAccept, when set, is told who opened each connection.
	OnAccept func(conn uint64, client *sim.Node)
	// OnRestart, when set, is told after the machine came back from a crash.
	OnRestart func()
}

var (
	_ sim.Service   = (*Machine)(nil)
	_ sim.Announcer = (*Machine)(nil)
)

// NewMachine adds a ZooKeeper machine with an empty tree to a world.
func NewMachine(w *sim.World, options Options) *Machine {
	m := &Machine{world: w, options: options, clients: map[uint64]*sim.Node{}}
	m.node = w.NewNode(sim.NodeConfig{Name: options.Name, Service: m})
	m.Server = New(Config{
		Settings: Settings{options.Tick, options.Sweep, options.CounterSticks},
		Wall:     m.node.Wall, Elapsed: m.Elapsed, After: m.after, OnRequest: options.OnRequest,
	})
	return m
}

// Node is the machine's place in the world: its clock, its name, its crashes.
func (m *Machine) Node() *sim.Node { return m.node }

// SessionsOf lists the sessions that a client's connections have spoken for last, in order of their ids. It is how a
// fault finds the session to expire.
func (m *Machine) SessionsOf(client *sim.Node) []SessionInfo {
	return slices.DeleteFunc(m.Sessions(), func(s SessionInfo) bool { return m.clients[s.Conn] != client })
}

// uptime is how long the machine has been up when the world begins, or a little less: a world may begin before true
// time 0, and a monotonic clock is not negative. It is a multiple of all usual ticks.
const uptime = time.Hour

// Elapsed is how long the machine has been up: what the Expiry of a session is to be compared with.
func (m *Machine) Elapsed() time.Duration { return m.node.Monotonic() + uptime }

// after runs f on the engine's goroutine once d has passed on the machine's monotonic clock. A crash drops it.
func (m *Machine) after(d time.Duration, f func()) (cancel func()) {
	process := m.node.Process()
	timer := process.Clock().AfterFunc(d, func() { process.Do(0, f) })
	return func() { timer.Stop() }
}

// Accept opens a session for a new connection.
func (m *Machine) Accept(conn *sim.ServiceConn) sim.Session {
	client := conn.Client()
	m.clients[conn.ID()] = client
	if m.options.OnAccept != nil {
		m.options.OnAccept(conn.ID(), client)
	}
	return connection{m.Connect(conn.ID(), m.addressOf(client), conn)}
}

// addressOf is a client's IP address, which ACLs may speak of: that of the n-th machine of the world ends in n.
func (m *Machine) addressOf(client *sim.Node) string {
	n := slices.Index(m.world.Nodes(), client) + 1
	return fmt.Sprintf("10.0.%d.%d", n>>8&0xff, n&0xff)
}

// Restart is what the world calls when the machine comes back.
func (m *Machine) Restart(empty bool) {
	m.Server.Restart(empty)
	if m.options.OnRestart != nil {
		m.options.OnRestart()
	}
}

// Describe names the words of bytes that are exactly one request.
func (m *Machine) Describe(request []byte) []string { return Describe(request) }

// DescribeReply names the words of one segment that the machine sent: see the function of that name.
func (m *Machine) DescribeReply(segment []byte) []string { return DescribeReply(segment) }

// Unasked tells the events of watches from replies. They go out in frames of their own, ahead of any reply.
func (m *Machine) Unasked(segment []byte) bool {
	return len(segment) >= 8 && string(segment[4:8]) == "\xff\xff\xff\xff"
}

// connection is a Conn as the world sees it.
type connection struct{ *Conn }

// Command refuses the direct transport: ZooKeeper speaks without being asked.
func (connection) Command([]string) (reply any, raw []byte, later bool) {
	return errNoDirect, nil, false
}

var errNoDirect = errors.New("ZooKeeper has no direct transport: dial its machine")
