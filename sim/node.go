package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// ErrCrashed is what a call into the world returns in an incarnation that has crashed.
var ErrCrashed = errors.New("the machine has crashed")

// maxCallsAfterCrash bounds how often code of a crashed incarnation may call into the world before its goroutine is
// ended: code that retries every error for ever would otherwise never stop.
const maxCallsAfterCrash = 1000

// Node is a machine: a name, a clock, connections, and either a Service or goroutines started through its Process.
type Node struct {
	world   *World
	name    string
	number  int    // from 1, in order of creation
	timers  uint32 // stream number of its timers
	clock   bentClock
	service Service

	process   *Process // the current incarnation
	onRestart func(*Process)
	describe  func([]byte) []string
	listeners map[string]*Listener

	paused   bool
	crashed  bool
	silent   bool       // crashed without anything answering for it
	held     []*Message // what it sent while paused
	deferred []event    // what would have reached it while paused
	ends     []*end     // its open connections, in order of opening
	sequence uint64     // places of its timers
}

// NodeConfig describes a machine.
type NodeConfig struct {
	Name string
	// Service makes it a machine that answers without goroutines of its own.
	Service Service
	// Describe names requests to a machine whose program listens by itself (see Service.Describe). Optional.
	Describe func(request []byte) []string
	// OnRestart starts the program of a new incarnation after Restart. Optional.
	OnRestart func(*Process)
}

// NewNode adds a machine to the world. Names are unique. Its first incarnation runs at once.
func (w *World) NewNode(config NodeConfig) *Node {
	if w.names[config.Name] != nil {
		panic(fmt.Sprintf("sim: two machines are named %q", config.Name))
	}
	n := &Node{
		world: w, name: config.Name, number: len(w.nodes) + 1, timers: w.newStreamNumber(),
		service: config.Service, describe: config.Describe, onRestart: config.OnRestart,
		clock: bentClock{stream: w.Stream("clock/" + config.Name)},
	}
	n.clock.bentAt = w.now.Load()
	n.clock.wall, n.clock.monotonic = n.clock.bentAt, n.clock.bentAt
	if n.service != nil {
		n.describe = n.service.Describe
	}
	n.boot()
	w.nodes = append(w.nodes, n)
	w.names[n.name] = n
	return n
}

// Node finds a machine by name; nil when there is none.
func (w *World) Node(name string) *Node { return w.names[name] }

// Nodes lists the machines in order of creation.
func (w *World) Nodes() []*Node { return w.nodes }

// Name is the machine's name.
func (n *Node) Name() string { return n.name }

// Process is the machine's current incarnation.
func (n *Node) Process() *Process { return n.process }

// Paused tells whether the machine stands still.
func (n *Node) Paused() bool { return n.paused }

// Crashed tells whether the machine is down.
func (n *Node) Crashed() bool { return n.crashed }

func (n *Node) boot() {
	parent := n.world.context
	p := &Process{node: n, incarnation: 1}
	if n.process != nil {
		p.incarnation = n.process.incarnation + 1
	}
	p.context, p.cancel = context.WithCancelCause(parent)
	p.clock.process = p
	n.process = p
}

// Pause stops the whole machine: nothing is delivered to it, its timers wait, what it sends stays inside until Resume.
func (n *Node) Pause() {
	if n.paused || n.crashed {
		return
	}
	n.paused = true
	n.world.traceNode(n, "paused")
}

// Resume lets a paused machine go on: first everything that was to reach it, then what it had sent, in order.
func (n *Node) Resume() {
	if !n.paused {
		return
	}
	n.paused = false
	w := n.world
	w.traceNode(n, "resumed")
	deferred, held := n.deferred, n.held
	n.deferred, n.held = nil, nil
	at := w.now.Load()
	for i, e := range deferred {
		e.at = at
		e.key = uint64(i) // before anything else of this instant, in the order of their times
		w.queue.push(e)
	}
	for _, m := range held {
		w.transmit(m)
	}
}

// Crash ends the machine's current incarnation at once. Its connections are cut; peers see a reset unless silent. Its
// goroutines are unwound: blocked calls return ErrCrashed, timers fire, Sleep does not return.
func (n *Node) Crash(silent bool) {
	if n.crashed {
		return
	}
	w := n.world
	what := "crashed, its peers see a reset"
	if silent {
		what = "crashed, its peers see nothing"
	}
	w.traceNode(n, what)
	n.crashed, n.silent, n.paused = true, silent, false
	n.deferred, n.held = nil, nil
	n.process.kill(ErrCrashed)
	for _, e := range n.ends {
		e.cut(ErrCrashed)
		if !silent {
			w.transmitControl(e, messageReset)
		}
	}
	n.ends = n.ends[:0]
	n.listeners = nil
	w.dirty.Store(true)
}

// Restart brings a machine back: a new incarnation, all connections gone; a running one is crashed first. A Service
// keeps its data unless empty.
func (n *Node) Restart(empty bool) {
	n.Crash(false)
	w := n.world
	w.traceNode(n, "restarted")
	n.crashed = false
	n.boot()
	if n.service != nil {
		n.service.Restart(empty)
	}
	if n.onRestart != nil {
		n.onRestart(n.process)
	}
	w.dirty.Store(true)
}

// Process is one incarnation of a machine: what the code on it is given. All of it may be used from any goroutine of
// the incarnation.
type Process struct {
	node        *Node
	incarnation int
	clock       Clock
	context     context.Context
	cancel      context.CancelCauseFunc
	dead        atomic.Bool
	afterDeath  atomic.Int64
	running     []*goroutine // guarded by World.mutex
	active      []*timer     // guarded by World.mutex
}

type goroutine struct {
	label string
	place int
}

// Node is the machine.
func (p *Process) Node() *Node { return p.node }

// Incarnation counts from 1.
func (p *Process) Incarnation() int { return p.incarnation }

// Clock is the machine's clock.
func (p *Process) Clock() *Clock { return &p.clock }

// Context ends when the incarnation crashes (cause ErrCrashed) or the world is over.
func (p *Process) Context() context.Context { return p.context }

// Go starts a goroutine of this incarnation. A panic in it ends the run with an error that names label.
func (p *Process) Go(label string, f func()) {
	w := p.node.world
	if p.dead.Load() {
		return
	}
	g := &goroutine{label: label}
	w.mutex.Lock()
	g.place = len(p.running)
	p.running = append(p.running, g)
	w.mutex.Unlock()
	w.dirty.Store(true)
	go func() {
		defer p.finish(g)
		f()
	}()
}

func (p *Process) finish(g *goroutine) {
	w := p.node.world
	cause := recover()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	last := len(p.running) - 1
	p.running[g.place] = p.running[last]
	p.running[g.place].place = g.place
	p.running = p.running[:last]
	if cause != nil && w.failure == nil {
		w.failure = &PanicError{Node: p.node.name, Goroutine: g.label, Value: cause, Stack: string(debug.Stack())}
	}
}

// PanicError tells that code on a machine panicked. The run ends there.
type PanicError struct {
	Node, Goroutine string
	Value           any
	Stack           string
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("goroutine %q on %s panicked: %v", e.Goroutine, e.Node, e.Value)
}

// kill ends the incarnation: context, timers and later calls.
func (p *Process) kill(cause error) {
	w := p.node.world
	p.dead.Store(true)
	p.cancel(cause)
	w.mutex.Lock()
	timers := p.active
	p.active = nil
	for _, t := range timers {
		t.active = false
		t.generation++
		if t.function == nil {
			t.releaseLocked(w.now.Load())
		}
	}
	w.mutex.Unlock()
	w.dirty.Store(true)
}

// alive is asked by every call that code of this incarnation makes into the world.
func (p *Process) alive() error {
	if !p.dead.Load() {
		return nil
	}
	if p.afterDeath.Add(1) > maxCallsAfterCrash {
		exitGoroutine()
	}
	return ErrCrashed
}

func (p *Process) addTimer(t *timer) {
	t.active = true
	t.index = len(p.active)
	p.active = append(p.active, t)
}

func (p *Process) removeTimer(t *timer) {
	t.active = false
	t.generation++
	if t.index >= len(p.active) || p.active[t.index] != t {
		return // released by kill
	}
	last := len(p.active) - 1
	p.active[t.index] = p.active[last]
	p.active[t.index].index = t.index
	p.active = p.active[:last]
}

// Do queues f to run on the engine's goroutine before the next event, after the calls that are already under way at
// this instant. lane orders what several goroutines of one machine queue within one instant: within a lane order of
// calls, between lanes by number. It is how code on a machine writes to something that the whole world shares, such as
// a history. A crashed incarnation's f is dropped.
func (p *Process) Do(lane uint64, f func()) {
	if p.dead.Load() {
		return
	}
	w := p.node.world
	w.mutex.Lock()
	w.outbox = append(w.outbox, item{node: p.node, lane: lane, action: f})
	w.wakeEngine()
	w.mutex.Unlock()
}

// listener finds who listens at an address of this machine.
func (n *Node) listener(address string) *Listener { return n.listeners[address] }

// sinceStart is true time as code on any goroutine may ask for it.
func (w *World) sinceStart() int64 {
	if w.config.RuntimeTimers {
		return int64(time.Since(w.base))
	}
	return w.now.Load()
}
