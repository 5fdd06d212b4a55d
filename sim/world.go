package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Config describes a world before anything is in it.
type Config struct {
	Seed  uint64
	Trace TraceMode
	// Latency is drawn for every message of a link that has no range of its own; 0.5 ms to 2 ms when zero.
	Latency Range
	// RuntimeTimers makes the Go runtime's own clock follow virtual time, which client libraries that use package time need (go-redis,
	// go-zookeeper). Without it a step costs half as much, and package time stands still.
	RuntimeTimers bool
	// Preparation is a span before true time 0 in which machines can connect: the world starts at -Preparation. Until
	// 0, messages take no time, no Tap is asked and nothing is traced; at 0 every link's stream starts anew. So a run
	// does not depend on how long a client library's greeting is.
	Preparation time.Duration
	// Patience is the real time without any progress after which the run is given up; 20 s when zero.
	Patience time.Duration
	// MaxEvents ends a run that goes on for ever; 50 million when zero.
	MaxEvents uint64
	// Taps see every request and reply; see Tap.
	Taps []Tap
}

// World is one simulated world. All methods are for the goroutine that Run gave it to (the engine's goroutine: the
// body, a Tap, a Service, an action of At or Process.Do), unless they say otherwise.
type World struct {
	config  Config
	base    time.Time // the runtime's clock at true time 0
	now     atomic.Int64
	context context.Context

	queue   queue
	trace   Trace
	nodes   []*Node
	names   map[string]*Node
	links   map[[2]int]*Link
	order   []*Link // links in order of creation
	streams map[string]*Stream
	keyed   []*Stream // streams in order of creation
	numbers uint32    // streams of events numbered so far
	conns   uint64
	actions uint64
	free    []*Message
	spare   []item
	dirty   atomic.Bool // a goroutine may have been woken since the last quiescence
	over    bool
	sleep   *time.Timer

	mutex    sync.Mutex // guards what goroutines of machines touch: outbox, timers, clocks, running, failure
	outbox   []item
	failure  error
	sleeping bool
	wake     chan struct{}
	progress *atomic.Int64
}

// item is something that a goroutine of a machine asked for. Items of one quiescence are put into an order that does
// not depend on which goroutine ran first.
type item struct {
	node   *Node
	lane   uint64
	call   *directConn
	wire   *wireConn // sends the next length bytes of what it has pending, or its end
	length int
	timer  *timer
	action func()
}

// Result is what Run returns.
type Result struct {
	Trace Trace
	// Hash covers every event, draw count and message of the run.
	Hash   uint64
	Events uint64
	End    time.Duration // true time at the end
	// Leaks names the goroutines that were still blocked after the world had ended, as machine/label.
	Leaks []string
	// Err is set when the run could not be finished: a panic on a machine, no progress, too many events.
	Err error
}

// ErrTooManyEvents ends a run that exceeds Config.MaxEvents.
var ErrTooManyEvents = errors.New("too many events: the world does not come to rest")

// StuckError tells that the world made no progress in real time: some goroutine neither ran to a wait that the world
// can see nor ended. Waiting for a sync.Mutex whose holder waits for the network is the usual reason.
type StuckError struct {
	At    time.Duration // true time
	Names []string      // machine/label of the goroutines that had not ended
	Dump  string        // stacks of all goroutines
}

func (e *StuckError) Error() string {
	return fmt.Sprintf("the world made no progress at %v; running goroutines: %v", e.At, e.Names)
}

// Run makes a world, hands it to body and takes it apart again. body adds machines and lets time pass with RunUntil.
// It is the one way in, for tests and for the command alike.
//
// A world belongs to one Run; several Runs may go on at once from several goroutines.
func Run(t *testing.T, config Config, body func(w *World)) Result {
	if config.Latency == (Range{}) {
		config.Latency = Range{500 * time.Microsecond, 2 * time.Millisecond}
	}
	if config.Patience == 0 {
		config.Patience = 20 * time.Second
	}
	if config.MaxEvents == 0 {
		config.MaxEvents = 50_000_000
	}
	r := &run{config: config, body: body, done: make(chan struct{})}
	go r.inBubble(t)
	return r.watch()
}

// run is the part of a Run that lives outside of the bubble.
type run struct {
	config   Config
	body     func(*World)
	progress atomic.Int64
	world    atomic.Pointer[World]
	done     chan struct{}
	result   Result
	panicked any
}

// inBubble runs the world. A goroutine that is still blocked when the bubble's root leaves makes synctest panic in its
// caller, which is here: what leaked is counted, not fatal.
func (r *run) inBubble(t *testing.T) {
	defer close(r.done)
	defer func() {
		if cause := recover(); cause != nil && r.panicked == nil && len(r.result.Leaks) == 0 {
			r.result.Leaks = append(r.result.Leaks, fmt.Sprintf("a library's goroutine (%v)", cause))
		}
	}()
	synctest.Test(t, func(*testing.T) {
		w := newWorld(r.config, &r.progress)
		r.world.Store(w)
		defer func() { r.result = w.finish() }()
		defer func() {
			if cause := recover(); cause != nil {
				r.panicked = cause
				w.failure = &PanicError{Node: "the harness", Goroutine: "body", Value: cause, Stack: stack(false)}
			}
		}()
		r.body(w)
	})
}

// watch waits for the end of the run, and gives up when real time passes without progress.
func (r *run) watch() Result {
	tick := time.NewTicker(r.config.Patience / 2)
	defer tick.Stop()
	last := int64(-1)
	for {
		select {
		case <-r.done:
			if r.panicked != nil {
				panic(r.panicked)
			}
			return r.result
		case <-tick.C:
			if now := r.progress.Load(); now != last {
				last = now
				continue
			}
			return r.giveUp()
		}
	}
}

// giveUp leaves the bubble behind: nothing can end a goroutine that waits for a mutex.
func (r *run) giveUp() Result {
	failure := &StuckError{Dump: stack(true)}
	if w := r.world.Load(); w != nil {
		failure.At = time.Duration(w.now.Load())
		if w.mutex.TryLock() {
			failure.Names = w.runningLocked()
			w.mutex.Unlock()
		}
	}
	return Result{Err: failure, End: failure.At}
}

func stack(all bool) string {
	buffer := make([]byte, 1<<20)
	return string(buffer[:runtime.Stack(buffer, all)])
}

func newWorld(config Config, progress *atomic.Int64) *World {
	w := &World{
		config: config, base: time.Now().Add(config.Preparation), context: context.Background(),
		names: map[string]*Node{}, links: map[[2]int]*Link{}, streams: map[string]*Stream{},
		trace: Trace{mode: config.Trace, hash: config.Seed}, wake: make(chan struct{}, 1), progress: progress,
		numbers: 1, // number 0 belongs to actions: faults come first in their instant
	}
	w.now.Store(-int64(config.Preparation))
	if config.Preparation > 0 {
		w.At(0, w.begin)
	}
	return w
}

// begin ends the preparation: what it drew and numbered must not be seen in the run.
func (w *World) begin() {
	for _, l := range w.order {
		*l.stream = *NewStream(w.config.Seed, "link/"+l.from.name+">"+l.to.name)
		l.sequence = 0
	}
	for _, n := range w.nodes {
		n.sequence = 0
		for _, e := range n.ends {
			e.sent, e.arrival = 0, 0
		}
	}
}

// Now is true time since the start of the world. For any goroutine of the world.
func (w *World) Now() time.Duration { return time.Duration(w.sinceStart()) }

// Trace is what happened so far.
func (w *World) Trace() *Trace { return &w.trace }

// Stream returns the keyed stream of a label, the same one each time.
func (w *World) Stream(label string) *Stream {
	if s := w.streams[label]; s != nil {
		return s
	}
	s := NewStream(w.config.Seed, label)
	w.streams[label] = s
	w.keyed = append(w.keyed, s)
	return s
}

// At runs f on the engine's goroutine at true time at, before anything else of that instant. Times that have passed
// count as now.
func (w *World) At(at time.Duration, f func()) {
	w.actions++
	w.queue.push(event{at: max(int64(at), w.now.Load()), key: w.actions, action: f})
}

// Note writes a line of the harness into the trace.
func (w *World) Note(text string) {
	w.trace.add(w.now.Load(), KindNote, nil, nil, 0, w.trace.current, hashStrings([]string{text}), plain(text))
}

func (w *World) traceNode(n *Node, what string) {
	index := w.trace.add(w.now.Load(), KindNode, n, nil, 0, w.trace.current, hashStrings([]string{what}), plain(what))
	w.trace.current = index
}

// Quiesce waits until every goroutine of the world is blocked and takes in what they asked for.
func (w *World) Quiesce() {
	for w.dirty.Load() || w.pending() {
		w.dirty.Store(false)
		synctest.Wait()
		w.flush()
	}
}

func (w *World) pending() bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return len(w.outbox) > 0
}

// Failed tells why the run cannot go on; nil while it can.
func (w *World) Failed() error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.failure
}

// RunUntil lets the world run until true time end. It stops early when the run has failed, or when stop (if given)
// says so after an event.
func (w *World) RunUntil(end time.Duration, stop func() bool) {
	for {
		w.Quiesce()
		if w.Failed() != nil || stop != nil && stop() {
			return
		}
		if len(w.queue.heap) == 0 || w.queue.heap[0].at > int64(end) {
			if w.advance(int64(end)) {
				return
			}
			continue
		}
		if !w.advance(w.queue.heap[0].at) {
			continue
		}
		w.step()
	}
}

// advance moves time forward to at. It is false when a timer of the runtime woke somebody on the way who asked for
// something, so that there may be an earlier event now.
func (w *World) advance(at int64) bool {
	if !w.config.RuntimeTimers {
		w.now.Store(max(at, w.now.Load()))
		return true
	}
	for {
		now := w.sinceStart()
		w.now.Store(min(at, now))
		if now >= at {
			return true
		}
		if !w.sleepUntil(at) {
			w.now.Store(w.sinceStart())
			w.dirty.Store(true)
			return false
		}
	}
}

// sleepUntil lets the runtime's clock run to at. It is false when it was stopped by something new in the outbox.
func (w *World) sleepUntil(at int64) bool {
	w.mutex.Lock()
	w.sleeping = true
	w.mutex.Unlock()
	rest := time.Duration(at - w.sinceStart())
	if w.sleep == nil {
		w.sleep = time.NewTimer(rest)
	} else {
		w.sleep.Reset(rest)
	}
	undisturbed := true
	select {
	case <-w.sleep.C:
		synctest.Wait() // timers of the runtime that are due at this very instant come before the event
	case <-w.wake:
		w.sleep.Stop()
		undisturbed = false
	}
	w.mutex.Lock()
	w.sleeping = false
	undisturbed = undisturbed && len(w.outbox) == 0
	w.mutex.Unlock()
	select {
	case <-w.wake:
	default:
	}
	return undisturbed
}

// wakeEngine is called with the mutex held after something was put into the outbox.
func (w *World) wakeEngine() {
	if w.sleeping {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// step takes the earliest event and delivers it.
func (w *World) step() {
	e := w.queue.pop()
	w.progress.Add(1)
	if uint64(w.progress.Load()) > w.config.MaxEvents {
		w.fail(fmt.Errorf("%w (%d by %v)", ErrTooManyEvents, w.config.MaxEvents, w.Now()))
		return
	}
	w.trace.current = 0
	switch {
	case e.message != nil:
		w.arrive(e)
	case e.timer != nil:
		w.fireTimer(e)
	case e.deadline != nil:
		e.deadline.expire(e)
	default:
		e.action()
		w.dirty.Store(true)
	}
}

func (w *World) fail(err error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.failure == nil {
		w.failure = err
	}
}

func (w *World) fireTimer(e event) {
	t := e.timer
	w.mutex.Lock()
	current := t.active && e.generation == t.generation
	w.mutex.Unlock()
	if !current {
		return
	}
	n := t.process.node
	if n.paused {
		n.deferred = append(n.deferred, e)
		return
	}
	w.trace.current = w.trace.add(e.at, KindTimer, n, nil, 0, 0, 0, plain("timer"))
	t.fire()
	w.dirty.Store(true)
}

// flush takes in what goroutines asked for since the last quiescence.
func (w *World) flush() {
	w.mutex.Lock()
	items := w.outbox
	w.outbox = w.spare[:0]
	w.mutex.Unlock()
	if len(items) > 1 {
		slices.SortStableFunc(items, func(a, b item) int {
			if a.node != b.node {
				return a.node.number - b.node.number
			}
			if a.lane < b.lane {
				return -1
			} else if a.lane > b.lane {
				return 1
			}
			return 0
		})
	}
	for i := range items {
		switch it := &items[i]; {
		case it.call != nil:
			it.call.begin()
		case it.wire != nil:
			it.wire.send(it.length)
		case it.timer != nil:
			w.queueTimer(it.timer)
		default:
			it.action()
		}
		items[i] = item{}
	}
	w.spare = items[:0]
}

// residues is how many event streams have instants of their own. Every event time of stream s is s modulo residues
// nanoseconds, so that events of two streams do not meet by accident; if they do, because there are more streams, the
// stream's number decides.
const residues = 4096

func (w *World) newStreamNumber() uint32 {
	w.numbers++
	return w.numbers - 1
}

// slot is the first instant not before at that belongs to the stream.
func slot(at int64, stream uint32) int64 {
	r := at - at%residues + int64(stream%residues)
	if r < at {
		r += residues
	}
	return r
}

func (w *World) queueTimer(t *timer) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if !t.active || t.queued == t.generation {
		return
	}
	n := t.process.node
	n.sequence++
	t.queued, t.place = t.generation, n.sequence
	now := w.now.Load()
	at := now + n.clock.trueSpan(t.deadline-n.clock.readMonotonic(now))
	w.queue.push(event{
		at: slot(at, n.timers), key: uint64(n.timers)<<40 | n.sequence, timer: t, generation: t.generation,
	})
}

// retime queues a machine's timers anew after its clock changed its rate.
func (w *World) retime(n *Node) {
	w.mutex.Lock()
	timers := slices.Clone(n.process.active)
	for _, t := range timers {
		t.generation++
	}
	w.mutex.Unlock()
	slices.SortFunc(timers, func(a, b *timer) int { return int(a.place) - int(b.place) })
	for _, t := range timers {
		w.queueTimer(t)
	}
}

// finish ends all machines, lets their goroutines unwind and sums up.
func (w *World) finish() Result {
	end := w.now.Load()
	trace := w.trace
	for _, s := range w.keyed {
		trace.hash = mix(trace.hash ^ s.draws)
	}
	w.over = true
	w.trace.mode = Off
	w.config.Taps = nil
	for _, n := range w.nodes {
		n.process.kill(context.Canceled)
		for _, e := range n.ends {
			e.cut(errWorldOver)
		}
		for _, address := range n.listenerAddresses() {
			n.listeners[address].closeNow(errWorldOver)
		}
	}
	synctest.Wait()
	w.mutex.Lock()
	leaks := w.runningLocked()
	w.mutex.Unlock()
	return Result{
		Trace: trace, Hash: trace.hash, Events: trace.count, End: time.Duration(end), Leaks: leaks, Err: w.Failed(),
	}
}

// runningLocked names the goroutines that have not ended, in order of machines.
func (w *World) runningLocked() []string {
	var names []string
	for _, n := range w.nodes {
		from := len(names)
		for _, g := range n.process.running {
			names = append(names, n.name+"/"+g.label)
		}
		slices.Sort(names[from:])
	}
	return names
}

var errWorldOver = errors.New("the world is over")

func exitGoroutine() { runtime.Goexit() }
