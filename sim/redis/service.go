package redis

import (
	"bytes"
	"slices"
	"time"

	"github.com/lockstep-sim/lockstep/sim"
)

// Machine is a Server as a machine of a world: it answers at the instant at which a request arrives, and its own
// clock drives TIME, expiry and time-outs.
type Machine struct {
	*Server
	node    *sim.Node
	options Options
}

// Options are the choices that a world makes for one machine.
type Options struct {
	Name string
	// Seed decides what the random commands answer.
	Seed uint64
	// OnCommand, when set, sees every executed command after its effect.
	OnCommand func(Executed)
	// OnAccept, when set, is told who opened each connection.
	OnAccept func(conn uint64, client *sim.Node)
	// OnRestart, when set, is told after the machine came back from a crash.
	OnRestart func()
	// ScriptBudget bounds the instructions of one script. 0 means DefaultScriptBudget.
	ScriptBudget int
}

var (
	_ sim.Service   = (*Machine)(nil)
	_ sim.Announcer = (*Machine)(nil)
)

// NewMachine adds a Redis machine to a world. Its server comes from the pool, see Release.
func NewMachine(w *sim.World, options Options) *Machine {
	m := &Machine{options: options}
	m.node = w.NewNode(sim.NodeConfig{Name: options.Name, Service: m})
	m.Server = Get(Config{
		Now: m.node.Wall, After: m.after, Seed: options.Seed, OnCommand: options.OnCommand,
		ScriptBudget: options.ScriptBudget,
	})
	return m
}

// Node is the machine's place in the world: its clock, its name, its crashes.
func (m *Machine) Node() *sim.Node { return m.node }

// Release gives the server to the pool once the world is over. The machine must not be used afterwards.
func (m *Machine) Release() {
	if m.Server != nil {
		Put(m.Server)
		m.Server = nil
	}
}

// after runs f on the engine's goroutine once d has passed on the machine's monotonic clock. A crash drops it.
func (m *Machine) after(d time.Duration, f func()) (cancel func()) {
	process := m.node.Process()
	timer := process.Clock().AfterFunc(d, func() { process.Do(0, f) })
	return func() { timer.Stop() }
}

// Accept opens a session for a new connection.
func (m *Machine) Accept(conn *sim.ServiceConn) sim.Session {
	if m.options.OnAccept != nil {
		m.options.OnAccept(conn.ID(), conn.Client())
	}
	return m.Connect(conn.ID(), conn)
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

// Unasked tells whether a segment to a client begins with a message of a channel.
func (m *Machine) Unasked(segment []byte) bool {
	return slices.ContainsFunc(messageStarts, func(start []byte) bool { return bytes.HasPrefix(segment, start) })
}

// messageStarts are the first bytes of messages, in both versions of the protocol.
var messageStarts = [][]byte{
	[]byte("*3\r\n$7\r\nmessage\r\n"), []byte("*4\r\n$8\r\npmessage\r\n"), []byte("*3\r\n$8\r\nsmessage\r\n"),
	[]byte(">3\r\n$7\r\nmessage\r\n"), []byte(">4\r\n$8\r\npmessage\r\n"), []byte(">3\r\n$8\r\nsmessage\r\n"),
}
