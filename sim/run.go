package sim

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Result is what Run returns.
type Result struct {
	Trace Trace
	// Hash covers every event, draw count and message of the run; 0 when Config.Trace is Off.
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
	At time.Duration // true time
	// Names are the goroutines that are to blame, as machine/label: those of Process.Go that neither ended nor wait for
	// something inside of the world. When none can be told from the stacks (it may be a goroutine that a library
	// started), all that have not ended.
	Names []string
	Dump  string // stacks of all goroutines
}

func (e *StuckError) Error() string {
	names := strings.Join(e.Names, ", ")
	return fmt.Sprintf("the world made no progress at %v; goroutines that hold it up: %s", e.At, names)
}

// Run makes a world, hands it to body and takes it apart again. body adds machines and lets time pass with RunUntil.
// It is the one way in, for tests and for the command alike. A panic of body, or of anything else on the engine's
// goroutine, is passed on to the caller once the world has been taken apart, as an error that is a *PanicError.
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

	// What follows is written inside and read after done.
	result   Result
	returned bool // body came to its end
	finished bool // the world was taken apart
	panicked *PanicError
}

// inBubble runs the world. Goroutines that are still blocked when the bubble's root leaves make synctest panic in its
// caller, which is here: what leaked is counted, not fatal.
func (r *run) inBubble(t *testing.T) {
	defer close(r.done)
	defer func() {
		cause := recover()
		switch {
		case cause == nil:
		case !r.finished:
			r.result.Err = fmt.Errorf("the run's own goroutine waits for something outside of the world: %v", cause)
		case len(r.result.Leaks) == 0:
			r.result.Leaks = []string{fmt.Sprintf("a library's goroutine (%v)", cause)}
		}
	}()
	synctest.Test(t, func(*testing.T) {
		// A goroutine of its own, so that body may leave by t.FailNow or t.SkipNow, which package testing would take for
		// a fault of its own inner test.
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r.play()
		}()
		<-ended
	})
}

// play runs body in a new world and takes the world apart.
func (r *run) play() {
	w := newWorld(r.config, &r.progress)
	r.world.Store(w)
	defer func() {
		r.result = w.finish()
		r.finished = true
	}()
	defer func() {
		if cause := recover(); cause != nil {
			r.panicked = &PanicError{Node: "the harness", Goroutine: "body", Value: cause, Stack: stack(false)}
			w.fail(r.panicked)
		}
	}()
	r.body(w)
	r.returned = true
}

// looks is how often the watchdog looks within the patience.
const looks = 8

// watch waits for the end of the run, and gives up when real time passes without progress.
func (r *run) watch() Result {
	tick := time.NewTicker(max(r.config.Patience/looks, time.Millisecond))
	defer tick.Stop()
	last, idle := int64(-1), 0
	for {
		select {
		case <-r.done:
			return r.leave()
		case <-tick.C:
			if now := r.progress.Load(); now != last {
				last, idle = now, 0
				continue
			}
			if idle++; idle >= looks {
				return r.giveUp()
			}
		}
	}
}

// leave passes on how body ended: by return, by a panic, or by runtime.Goexit, which is how testing.T.FailNow leaves.
func (r *run) leave() Result {
	if r.panicked != nil {
		panic(bodyPanic{r.panicked})
	}
	if r.finished && !r.returned {
		runtime.Goexit()
	}
	return r.result
}

// bodyPanic brings the stack of the goroutine that panicked to where the panic goes on.
type bodyPanic struct{ *PanicError }

func (p bodyPanic) Error() string { return p.PanicError.Error() + "\n\n" + p.Stack }
func (p bodyPanic) Unwrap() error { return p.PanicError }

// giveUp leaves the bubble behind: nothing can end a goroutine that waits for a mutex. Should the world only have been
// slow, it finds itself failed and stops.
func (r *run) giveUp() Result {
	failure := &StuckError{Dump: stack(true)}
	if w := r.world.Load(); w != nil {
		failure.At = time.Duration(w.now.Load())
		if w.mutex.TryLock() {
			failure.Names = w.blockedLocked(failure.Dump)
			if w.failure == nil {
				w.failure = failure
			}
			w.mutex.Unlock()
		}
	}
	return Result{Err: failure, End: failure.At}
}

func stack(all bool) string {
	for size := 1 << 16; ; size *= 2 {
		buffer := make([]byte, size)
		if n := runtime.Stack(buffer, all); n < size || size >= 1<<26 {
			return string(buffer[:n])
		}
	}
}

// blockedLocked names the goroutines that keep the world from coming to rest, or, when the stacks do not tell, all that
// have not ended. A goroutine is found in the dump by the argument of its first frame, see goroutine.run.
func (w *World) blockedLocked(dump string) []string {
	var names []string
	for block := range strings.SplitSeq(dump, "\n\n") {
		header, frames, _ := strings.Cut(block, "\n")
		if !strings.Contains(header, "synctest bubble") || strings.Contains(header, "(durable)") {
			continue
		}
		w.eachRunning(func(n *Node, g *goroutine) {
			if strings.Contains(frames, fmt.Sprintf("sim.(*goroutine).run(%p", g)) {
				names = append(names, n.name+"/"+g.label)
			}
		})
	}
	if len(names) == 0 {
		return w.runningLocked()
	}
	slices.Sort(names)
	return names
}

// runningLocked names the goroutines that have not ended, in order of machines.
func (w *World) runningLocked() []string {
	var names []string
	from, node := 0, (*Node)(nil)
	w.eachRunning(func(n *Node, g *goroutine) {
		if n != node {
			slices.Sort(names[from:])
			from, node = len(names), n
		}
		names = append(names, n.name+"/"+g.label)
	})
	slices.Sort(names[from:])
	return names
}

// eachRunning visits the goroutines of Process.Go that have not ended, those of crashed incarnations included.
func (w *World) eachRunning(visit func(*Node, *goroutine)) {
	for _, n := range w.nodes {
		for _, p := range n.incarnations {
			for _, g := range p.running {
				visit(n, g)
			}
		}
	}
}
