package sim

import (
	"cmp"
	"fmt"
	"slices"
	"testing/synctest"
	"time"
)

// item is something that a goroutine of a machine asked for. Items of one quiescence are put into an order that does
// not depend on which goroutine ran first.
type item struct {
	class   itemClass
	process *Process
	lane    uint64
	action  func()
	start   *goroutine
	timer   *timer
	call    *directConn
	wire    *wireConn // sends the next length bytes of what it has pending, or its end
	length  int
}

// itemClass orders what is asked for within one instant. Actions come first, so that what a goroutine reports is known
// before a fault can strike at what it sends next.
type itemClass uint8

const (
	itemAction itemClass = iota
	itemStart
	itemTimer
	itemDial
	itemSend
)

// compare orders by class, machine, and within these by deadline (timers) or lane. What is equal stays in order of
// calls, which only is an order when one goroutine made them.
func (it *item) compare(o *item) int {
	if it.class != o.class {
		return cmp.Compare(it.class, o.class)
	}
	if it.process != o.process {
		if c := cmp.Compare(it.process.node.number, o.process.node.number); c != 0 {
			return c
		}
		return cmp.Compare(it.process.incarnation, o.process.incarnation)
	}
	if it.class == itemTimer {
		return cmp.Compare(it.timer.deadline, o.timer.deadline)
	}
	return cmp.Compare(it.lane, o.lane)
}

// ask queues an item for the engine. For any goroutine.
func (w *World) ask(it item) {
	w.mutex.Lock()
	w.askLocked(it)
	w.mutex.Unlock()
}

func (w *World) askLocked(it item) {
	w.outbox = append(w.outbox, it)
	w.wakeEngineLocked()
}

// wakeEngineLocked ends the engine's sleep at this instant, as soon as all goroutines are blocked again.
func (w *World) wakeEngineLocked() {
	if w.sleeping {
		w.sleeping = false
		w.sleep.Reset(0)
	}
}

// Quiesce waits until every goroutine of the world is blocked and takes in what they asked for.
func (w *World) Quiesce() {
	for w.dirty.Load() || w.pending() {
		if w.dirty.Swap(false) {
			synctest.Wait()
		}
		w.flush()
	}
}

func (w *World) pending() bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return len(w.outbox) > 0
}

// RunUntil lets the world run until true time end. It stops early when the run has failed, or when stop (if given)
// says so; stop is asked before the first event and after each.
func (w *World) RunUntil(end time.Duration, stop func() bool) {
	w.dirty.Store(true) // the body may have woken somebody
	for {
		w.Quiesce()
		if w.Failed() != nil || stop != nil && stop() {
			return
		}
		next := w.next()
		if next == nil || next.at > int64(end) {
			if w.advance(int64(end)) {
				return
			}
		} else if w.advance(next.at) {
			w.step()
		}
	}
}

// next is the earliest event that has something to do, nil when there is none. Those that have not, because their timer
// was stopped or their time-out was moved on, are removed without letting time pass to them.
func (w *World) next() *event {
	for len(w.queue.heap) > 0 {
		e := &w.queue.heap[0]
		switch {
		case e.timer != nil && !e.timer.due(e):
			w.queue.pop()
		case e.deadline != nil && !e.deadline.due(e):
			d, generation := e.deadline, e.generation
			w.queue.pop()
			d.queueAgain(generation)
		default:
			return e
		}
	}
	return nil
}

// advance moves time forward to at. It is false when a timer of the runtime woke somebody on the way who asked for
// something, so that there may be an earlier event now.
func (w *World) advance(at int64) bool {
	if !w.config.RuntimeTimers {
		w.now.Store(max(at, w.now.Load()))
		return true
	}
	undisturbed := true
	if rest := at - w.sinceStart(); rest > 0 {
		undisturbed = w.sleepFor(time.Duration(rest))
	}
	w.now.Store(w.sinceStart())
	if !undisturbed {
		w.trace.current = 0 // no event led to what was asked
	}
	return undisturbed
}

// sleepFor lets the runtime's clock run. It is false when something came up: whoever asks for something, or panics,
// resets the timer to now.
func (w *World) sleepFor(rest time.Duration) bool {
	w.mutex.Lock()
	w.sleeping = true
	w.mutex.Unlock()
	w.sleep.Reset(rest)
	<-w.sleep.C
	synctest.Wait() // timers of the runtime that are due at this very instant come before the event
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.sleeping = false
	return len(w.outbox) == 0 && w.failure == nil
}

// step takes the earliest event and delivers it.
func (w *World) step() {
	e := w.queue.pop()
	if uint64(w.progress.Add(1)) > w.config.MaxEvents {
		w.fail(fmt.Errorf("%w (%d by %v)", ErrTooManyEvents, w.config.MaxEvents, w.Now()))
		return
	}
	w.trace.current = 0
	switch {
	case e.message != nil:
		if !w.waits(&e) {
			w.arrive(e)
		}
	case e.timer != nil:
		w.fireTimer(e)
	case e.deadline != nil:
		e.deadline.expire(e)
	default:
		e.action()
		w.dirty.Store(true)
	}
}

// flush takes in what goroutines asked for since the last quiescence.
func (w *World) flush() {
	w.mutex.Lock()
	items := w.outbox
	w.outbox = w.spare[:0]
	w.mutex.Unlock()
	w.spare = nil
	if len(items) > 1 {
		slices.SortStableFunc(items, func(a, b item) int { return a.compare(&b) })
	}
	for i := range items {
		w.take(&items[i])
		items[i] = item{}
	}
	w.spare = items[:0]
}

// take does what an item asks for. Of an incarnation that has crashed since, nothing is taken but the failure of a dial
// for which somebody waits.
func (w *World) take(it *item) {
	if it.process.dead.Load() && it.class != itemDial {
		return
	}
	switch {
	case it.call != nil:
		it.call.begin()
	case it.wire != nil:
		it.wire.send(it.length)
	case it.timer != nil:
		w.queueTimer(it.timer)
	case it.start != nil:
		// One after the other: what one asks for first is in the outbox before the next one runs.
		it.process.launch(it.start)
		synctest.Wait()
	case it.class == itemAction:
		it.action()
		w.dirty.Store(true) // it may have woken somebody
	default:
		it.action()
	}
}
