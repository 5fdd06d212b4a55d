package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
)

// ErrCrashed is what a call into the world returns in an incarnation that has crashed.
var ErrCrashed = errors.New("the machine has crashed")

// maxCallsAfterCrash bounds how often code of a crashed incarnation may call into the world before its goroutine is
// ended: code that retries every error for ever would otherwise never stop.
const maxCallsAfterCrash = 200

// Node is a machine: a name, a clock, connections, and either a Service or goroutines started through its Process.
type Node struct {
	world   *World
	name    string
	number  int    // from 1, in order of creation
	timers  uint32 // stream number of its timers and deadlines
	clock   bentClock
	service Service

	process      *Process   // the current incarnation
	incarnations []*Process // it and the earlier ones of which goroutines may be left; guarded by World.mutex
	onRestart    func(*Process)
	describe     func([]byte) []string
	listeners    map[string]*Listener // guarded by World.mutex

	paused   bool
	crashed  bool
	silent   bool       // crashed without anything answering for it
	held     []*Message // what it was about to send when it was paused, in order
	deferred []event    // what would have reached it while paused, in order
	holding  bool       // timers of its library do not fire, see HoldTimers
	overdue  []event    // those that were due meanwhile, in order
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
		clock: bentClock{stream: w.Stream(clockLabel(config.Name))},
	}
	n.clock.bentAt = w.now.Load()
	n.clock.wall, n.clock.monotonic = n.clock.bentAt, n.clock.bentAt
	if n.service != nil {
		n.describe = n.service.Describe
	}
	n.boot()
	w.mutex.Lock()
	w.nodes = append(w.nodes, n)
	w.mutex.Unlock()
	w.names[n.name] = n
	return n
}

func clockLabel(machine string) string { return "clock/" + machine }

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

// boot starts the next incarnation.
func (n *Node) boot() {
	p := &Process{node: n, incarnation: 1}
	if n.process != nil {
		p.incarnation = n.process.incarnation + 1
	}
	p.context, p.cancel = context.WithCancelCause(n.world.context)
	p.clock.process = p
	p.library = Clock{process: p, library: true}
	n.world.mutex.Lock()
	defer n.world.mutex.Unlock()
	kept := n.incarnations[:0]
	for _, old := range n.incarnations {
		if len(old.running) > 0 {
			kept = append(kept, old)
		}
	}
	n.incarnations = append(kept, p)
	n.process = p
}

// Pause stops the whole machine: nothing is delivered to it, its timers wait, what it sends stays inside until Resume.
// A timer that a library took from package time is not the machine's and does not wait.
func (n *Node) Pause() {
	if n.paused || n.crashed {
		return
	}
	n.paused = true
	n.world.traceNode(n, "paused")
}

// Resume lets a paused machine go on: first it sends what it was about to send, then everything reaches it that was to
// reach it meanwhile, each in order. A time-out that runs for what it was about to send starts now.
func (n *Node) Resume() {
	if !n.paused {
		return
	}
	n.paused = false
	w := n.world
	w.traceNode(n, "resumed")
	deferred, held := n.deferred, n.held
	n.deferred, n.held = nil, nil
	for _, m := range held {
		m.from.postpone(w.now.Load() - m.heldSince)
		w.transmit(m)
	}
	for _, e := range deferred {
		if n.crashed {
			w.discard(e) // by a Tap on what was sent just now
			continue
		}
		w.resumed++
		e.at, e.key = w.now.Load(), key(resumedStream, w.resumed)
		w.queue.push(e)
	}
}

// Crash ends the machine's current incarnation at once. Its connections are cut; peers see a reset unless silent. Its
// goroutines are unwound: blocked calls return ErrCrashed, timers fire, Sleep does not return. Nothing that they do
// from then on reaches the world.
func (n *Node) Crash(silent bool) {
	if n.crashed {
		return
	}
	what := "crashed, its peers see a reset"
	if silent {
		what = "crashed, its peers see nothing"
	}
	n.world.traceNode(n, what)
	n.crashed, n.silent, n.paused, n.holding = true, silent, false, false
	deferred, held := n.deferred, n.held
	n.deferred, n.held, n.overdue = nil, nil, nil
	for _, m := range held {
		n.world.drop(m, "its sender crashed")
	}
	ends := n.shutDown(ErrCrashed, ErrCrashed)
	if !silent {
		for _, e := range ends {
			n.world.transmitControl(e, messageReset)
		}
	}
	for _, e := range deferred {
		n.world.discard(e)
	}
}

// shutDown ends the current incarnation and everything that its goroutines could wait for. It returns the connections
// that were open.
func (n *Node) shutDown(cause, cut error) []*end {
	n.process.kill(cause)
	ends := n.ends
	n.ends = nil
	for _, e := range ends {
		e.cut(cut)
	}
	for _, l := range n.takeListeners() {
		l.closeNow(cut)
	}
	n.world.dirty.Store(true)
	return ends
}

// discard ends what waited for a machine that will not take it.
func (w *World) discard(e event) {
	if e.message != nil {
		w.refuse(e.message)
	}
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
	library     Clock
	context     context.Context
	cancel      context.CancelCauseFunc
	dead        atomic.Bool
	afterDeath  atomic.Int64
	running     []*goroutine // guarded by World.mutex
	active      []*timer     // guarded by World.mutex
	idle        []*timer     // of Sleep, for the next one; guarded by World.mutex
}

// Node is the machine.
func (p *Process) Node() *Node { return p.node }

// Incarnation counts from 1.
func (p *Process) Incarnation() int { return p.incarnation }

// Clock is the machine's clock.
func (p *Process) Clock() *Clock { return &p.clock }

// LibraryClock is Clock for a library that the program uses. It shows the same; its timers are told from those of the
// program, so that HoldTimers can keep them alone from firing.
func (p *Process) LibraryClock() *Clock { return &p.library }

// Context ends when the incarnation crashes (cause ErrCrashed) or the world is over.
func (p *Process) Context() context.Context { return p.context }

// Go starts a goroutine of this incarnation, as soon as the goroutines that run now are blocked: what is started within
// one instant starts one after the other, so that its order is not left to chance. A panic in it ends the run with an
// error that names label.
func (p *Process) Go(label string, f func()) {
	if p.dead.Load() {
		return
	}
	p.node.world.ask(item{class: itemStart, process: p, start: &goroutine{label: label, process: p, function: f}})
}

// Do queues f to run on the engine's goroutine before the next event, and before anything is sent that was asked for
// within the same instant. lane orders what several goroutines of one machine queue within one instant: within a lane
// order of calls, between lanes by number. It is how code on a machine writes to something that the whole world shares,
// such as a history. A crashed incarnation's f is dropped.
func (p *Process) Do(lane uint64, f func()) {
	if p.dead.Load() {
		return
	}
	p.node.world.ask(item{class: itemAction, process: p, lane: lane, action: f})
}

// goroutine is one goroutine of Process.Go.
type goroutine struct {
	label    string
	process  *Process
	function func()
	place    int // in process.running
}

// launch starts a goroutine now. Also in a crashed incarnation, where a timer's function may be what others wait for.
func (p *Process) launch(g *goroutine) {
	w := p.node.world
	w.mutex.Lock()
	p.launchLocked(g)
	w.mutex.Unlock()
}

func (p *Process) launchLocked(g *goroutine) {
	g.place = len(p.running)
	p.running = append(p.running, g)
	p.node.world.dirty.Store(true)
	go g.run()
}

// run is a frame of its own with the goroutine as argument, so that a dump of all stacks tells whose stack it is.
//
//go:noinline
func (g *goroutine) run() {
	defer g.end()
	g.function()
	runtime.KeepAlive(g)
}

// end is what a goroutine does last. A panic fails the run, but not that of an incarnation that has crashed: nothing of
// it counts any more.
func (g *goroutine) end() {
	p := g.process
	w := p.node.world
	cause := recover()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	last := len(p.running) - 1
	p.running[g.place] = p.running[last]
	p.running[g.place].place = g.place
	p.running[last] = nil
	p.running = p.running[:last]
	if cause != nil && !p.dead.Load() {
		w.failLocked(&PanicError{Node: p.node.name, Goroutine: g.label, Value: cause, Stack: string(debug.Stack())})
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
	defer w.mutex.Unlock()
	timers := p.active
	p.active = nil
	for _, t := range timers {
		t.active = false
		t.generation++
		t.releaseLocked(w.now.Load())
	}
	w.dirty.Store(true)
}

// alive is asked by every call that code of this incarnation makes into the world and that can fail, but for the first
// failure of each thing that a goroutine waited for when the crash came. A Service calls on the engine's goroutine,
// which must not end.
func (p *Process) alive() error {
	if !p.dead.Load() {
		return nil
	}
	if p.node.service == nil && p.afterDeath.Add(1) > maxCallsAfterCrash {
		runtime.Goexit()
	}
	return ErrCrashed
}
