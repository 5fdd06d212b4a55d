package sim

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"
)

// Config describes a world before anything is in it.
type Config struct {
	Seed  uint64
	Trace TraceMode
	// Latency is drawn for every message of a link that has no range of its own; 0.5 ms to 2 ms when zero.
	Latency Range
	// RuntimeTimers makes the Go runtime's own clock follow virtual time, which client libraries that use package time
	// need (go-redis, go-zookeeper). Without it a step costs half as much, and package time stands still.
	RuntimeTimers bool
	// Preparation is a span before true time 0 in which machines can connect: the world starts at -Preparation. Until
	// 0, messages take no time, no Tap is asked and nothing is traced; at 0 every link's and clock's stream starts anew.
	// So a run does not depend on how long a client library's greeting is.
	Preparation time.Duration
	// Patience is the real time without any progress after which the run is given up; 20 s when zero.
	Patience time.Duration
	// MaxEvents ends a run that goes on for ever; 50 million when zero.
	MaxEvents uint64
	// Taps see every request and reply; see Tap.
	Taps []Tap
	// Scheduler decides when messages arrive; nil = each takes the latency that is drawn for it.
	Scheduler Scheduler
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
	names   map[string]*Node
	links   map[[2]int]*Link
	order   []*Link // links in order of creation
	streams map[string]*Stream
	keyed   []*Stream // streams in order of creation
	numbers uint32    // streams of events numbered so far
	conns   uint64
	actions uint64
	resumed uint64
	free    []*Message
	spare   []item
	dirty   atomic.Bool // a goroutine may have been woken since the last quiescence
	sleep   *time.Timer // the engine's own, see sleepUntil

	// mutex guards what goroutines of machines touch: outbox, timers, clocks, running goroutines, failure. Nobody waits
	// while holding it. The engine also reads these without it while the world is at rest, when nobody can write.
	mutex    sync.Mutex
	nodes    []*Node
	outbox   []item
	failure  error
	sleeping bool
	progress *atomic.Int64
}

// Numbers of event streams that no machine or link has. They come first in their instant, in this order.
const (
	actionStream  = 0 // what the harness does, above all faults
	resumedStream = 1 // what reaches a machine when it resumes
	firstStream   = 2
)

func newWorld(config Config, progress *atomic.Int64) *World {
	if config.Preparation > 0 {
		// A bubble begins at a full hour. With this, true time 0 is one as well, and a right clock shows it.
		time.Sleep((time.Hour - config.Preparation%time.Hour) % time.Hour)
	}
	w := &World{
		config: config, base: time.Now().Add(config.Preparation), context: context.Background(),
		names: map[string]*Node{}, links: map[[2]int]*Link{}, streams: map[string]*Stream{},
		trace: Trace{mode: config.Trace}, progress: progress, numbers: firstStream,
	}
	if config.Trace != Off {
		w.trace.hash = config.Seed
	}
	if config.RuntimeTimers {
		w.sleep = time.NewTimer(farFuture)
	}
	w.now.Store(-int64(config.Preparation))
	if config.Preparation > 0 {
		w.At(0, w.begin)
	}
	return w
}

// begin ends the preparation: what it drew and counted must not be seen in the run.
func (w *World) begin() {
	for _, l := range w.order {
		*l.stream = *NewStream(w.config.Seed, linkLabel(l.from, l.to))
	}
	for _, n := range w.nodes {
		*n.clock.stream = *NewStream(w.config.Seed, clockLabel(n.name))
		for _, e := range n.ends {
			e.sent = 0
		}
	}
}

// Now is true time since the start of the world. For any goroutine of the world.
func (w *World) Now() time.Duration { return time.Duration(w.sinceStart()) }

// sinceStart is true time as code on any goroutine may ask for it.
func (w *World) sinceStart() int64 {
	if w.config.RuntimeTimers {
		return int64(time.Since(w.base))
	}
	return w.now.Load()
}

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
// count as now. Actions of one instant run in the order of the calls.
func (w *World) At(at time.Duration, f func()) {
	w.actions++
	w.queue.push(event{at: max(int64(at), w.now.Load()), key: key(actionStream, w.actions), action: f})
}

// Note writes a line of the harness into the trace.
func (w *World) Note(text string) {
	w.trace.add(w.now.Load(), KindNote, nil, nil, 0, w.trace.current, hashStrings([]string{text}), plain(text))
}

func (w *World) traceNode(n *Node, what string) {
	index := w.trace.add(w.now.Load(), KindNode, n, nil, 0, w.trace.current, hashStrings([]string{what}), plain(what))
	w.trace.current = index
}

// Failed tells why the run cannot go on; nil while it can.
func (w *World) Failed() error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.failure
}

func (w *World) fail(err error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.failLocked(err)
}

func (w *World) failLocked(err error) {
	if w.failure == nil {
		w.failure = err
		w.wakeEngineLocked()
	}
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
	if at > farFuture {
		at = farFuture
	}
	phase := (at%residues + residues) % residues
	r := at - phase + int64(stream%residues)
	if r < at {
		r += residues
	}
	return r
}

// farFuture bounds the times of events, some 146 years on, so that no sum of two times overflows.
const farFuture = 1 << 62

// key is the order of an event among those of the same time: by stream, then by place within the stream.
func key(stream uint32, place uint64) uint64 { return uint64(stream)<<40 | place }

// finish ends all machines, lets their goroutines unwind and sums up.
func (w *World) finish() Result {
	end := w.now.Load()
	trace := w.trace
	if trace.mode != Off {
		for _, s := range w.keyed {
			trace.hash = mix(trace.hash ^ s.draws)
		}
	}
	w.trace.mode = Off
	w.config.Taps = nil
	for _, n := range w.nodes {
		n.shutDown(context.Canceled, errWorldOver)
	}
	w.unwind()
	w.mutex.Lock()
	leaks := w.runningLocked()
	w.mutex.Unlock()
	return Result{
		Trace: trace, Hash: trace.hash, Events: trace.count, End: time.Duration(end), Leaks: leaks, Err: w.Failed(),
	}
}

// unwind lets the goroutines of a world that is over run to their ends. Whoever sleeps by package time gets an hour of
// it, in growing steps, and the goroutines that libraries run for themselves get some seconds: what is left then is a
// leak.
func (w *World) unwind() {
	for patience := 10 * time.Second; ; patience *= 10 {
		w.drain()
		w.mutex.Lock()
		running := len(w.runningLocked()) > 0
		w.mutex.Unlock()
		first := patience == 10*time.Second
		if patience > time.Hour || !running && !(first && w.config.RuntimeTimers) {
			return
		}
		time.Sleep(patience)
	}
}

// drain takes in what is still asked for until nobody asks any more.
func (w *World) drain() {
	synctest.Wait()
	for w.pending() {
		w.flush()
		synctest.Wait()
	}
}

var errWorldOver = errors.New("the world is over")
