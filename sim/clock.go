package sim

import (
	"fmt"
	"runtime"
	"time"

	"github.com/jonboulle/clockwork"
)

// bentClock is how one machine's clock relates to true time. Wall and monotonic readings are linear in true time since
// the last bend: reading = base + elapsed + elapsed*driftPPM/10^6.
type bentClock struct {
	bentAt    int64 // true time of the last bend
	wall      int64 // wall reading at bentAt, nanoseconds since the epoch of the world
	monotonic int64
	driftPPM  int64
	jitter    int64
	stream    *Stream // of the jitter
}

func (c *bentClock) elapsed(now int64) int64 {
	d := now - c.bentAt
	return d + scale(d, c.driftPPM)
}

// scale is d*ppm/10^6 without overflow for runs of up to years.
func scale(d, ppm int64) int64 {
	return d/1_000_000*ppm + d%1_000_000*ppm/1_000_000
}

func (c *bentClock) readMonotonic(now int64) int64 { return c.monotonic + c.elapsed(now) }

func (c *bentClock) readWall(now int64) int64 {
	reading := c.wall + c.elapsed(now)
	if c.jitter > 0 {
		reading += c.stream.Between(-c.jitter, c.jitter)
	}
	return reading
}

// settle makes now the instant of the last bend, so that a changed drift bends only what follows.
func (c *bentClock) settle(now int64) {
	elapsed := c.elapsed(now)
	c.wall += elapsed
	c.monotonic += elapsed
	c.bentAt = now
}

// trueSpan is the least true time in which the monotonic clock advances by at least local.
func (c *bentClock) trueSpan(local int64) int64 {
	if local <= 0 {
		return 0
	}
	span := local - scale(local, c.driftPPM)*1_000_000/(1_000_000+c.driftPPM)
	for span+scale(span, c.driftPPM) < local {
		span++
	}
	return span
}

// StepClock moves a machine's wall clock by d at once. Its monotonic clock and its timers do not notice.
func (n *Node) StepClock(d time.Duration) {
	n.bendClock(fmt.Sprintf("wall clock stepped by %v", d), func(c *bentClock) { c.wall += int64(d) })
}

// SetClockOffset makes a machine's wall clock read true time plus d from now on.
func (n *Node) SetClockOffset(d time.Duration) {
	n.bendClock(fmt.Sprintf("wall clock set to true time plus %v", d), func(c *bentClock) { c.wall = c.bentAt + int64(d) })
}

// SetClockDrift makes both of a machine's clocks gain ppm microseconds a second. Timers already running are moved.
// A drift of -10^6 or less would stop or turn the clock; it is taken as -999,999.
func (n *Node) SetClockDrift(ppm int64) {
	ppm = max(ppm, -999_999)
	n.bendClock(fmt.Sprintf("clock drift set to %d ppm", ppm), func(c *bentClock) { c.driftPPM = ppm })
	n.world.retime(n)
}

// SetClockJitter makes each reading of a machine's wall clock err by up to d to either side.
func (n *Node) SetClockJitter(d time.Duration) {
	n.bendClock(fmt.Sprintf("wall clock jitter set to %v", d), func(c *bentClock) { c.jitter = int64(d) })
}

func (n *Node) bendClock(what string, bend func(*bentClock)) {
	w := n.world
	w.mutex.Lock()
	n.clock.settle(w.now.Load())
	bend(&n.clock)
	w.mutex.Unlock()
	w.traceNode(n, what)
}

// Wall is what the machine's wall clock shows. Each call is one reading (which matters under jitter).
func (n *Node) Wall() time.Time {
	w := n.world
	now := int64(w.Now())
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return instant(w.base, time.Duration(n.clock.readMonotonic(now)), time.Duration(n.clock.readWall(now)))
}

// Monotonic is what the machine's monotonic clock shows, from 0 at the start of the world.
func (n *Node) Monotonic() time.Duration {
	w := n.world
	now := int64(w.Now())
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return time.Duration(n.clock.readMonotonic(now))
}

// Clock is the clock of one incarnation of a machine. It implements clockwork.Clock: Now carries both readings, as
// time.Now does, and every timer runs on the machine's monotonic clock.
//
// When the incarnation crashes, its timers are let go at once and any further Sleep unwinds its goroutine.
type Clock struct{ process *Process }

var _ clockwork.Clock = (*Clock)(nil)

// Now reads the machine's clock.
func (c *Clock) Now() time.Time { return c.process.node.Wall() }

// Since is the time since t: monotonic when t came from Now of the same machine, as time.Since.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Until is the time until t, as time.Until.
func (c *Clock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

// Sleep returns after d on the machine's monotonic clock. In a crashed incarnation it ends the goroutine.
func (c *Clock) Sleep(d time.Duration) {
	if !c.process.dead.Load() {
		<-c.NewTimer(d).Chan()
	}
	if c.process.dead.Load() {
		runtime.Goexit()
	}
}

// After is NewTimer(d).Chan().
func (c *Clock) After(d time.Duration) <-chan time.Time { return c.NewTimer(d).Chan() }

// NewTimer returns a timer that sends the clock's reading after d.
func (c *Clock) NewTimer(d time.Duration) clockwork.Timer {
	t := &timer{process: c.process, channel: make(chan time.Time, 1)}
	t.start(d)
	return t
}

// AfterFunc runs f in a goroutine of the machine after d.
func (c *Clock) AfterFunc(d time.Duration, f func()) clockwork.Timer {
	t := &timer{process: c.process, function: f}
	t.start(d)
	return t
}

// NewTicker returns a ticker with period d; a slow receiver misses ticks, as with time.NewTicker. It panics when d is not positive, as time.NewTicker does.
func (c *Clock) NewTicker(d time.Duration) clockwork.Ticker {
	if d <= 0 {
		panic("sim: a ticker needs a positive period")
	}
	t := &timer{process: c.process, channel: make(chan time.Time, 1), period: d}
	t.start(d)
	return ticker{t}
}

// timer is a Timer, or a Ticker when period is set. Its deadline is kept in the machine's monotonic time; the queue
// holds at most one live event for it, the one whose generation is current. Guarded by World.mutex.
type timer struct {
	process  *Process
	channel  chan time.Time
	function func()
	period   time.Duration

	active     bool
	deadline   int64  // monotonic clock of the machine
	generation uint64 // rises with every start, so that an older event of the queue is ignored
	queued     uint64 // generation of the event that was queued last
	place      uint64 // in which order the machine's timers were queued
	index      int    // in process.active while active
}

func (t *timer) Chan() <-chan time.Time { return t.channel }

// Stop prevents the timer from firing and tells whether it did so. As with time.Timer, no stale value is received
// after it.
func (t *timer) Stop() bool {
	w := t.process.node.world
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return t.stopLocked()
}

func (t *timer) stopLocked() bool {
	was := t.active
	if was {
		t.process.removeTimer(t)
	}
	if t.channel != nil {
		select {
		case <-t.channel:
		default:
		}
	}
	return was
}

// Reset starts the timer anew and tells whether it had been running.
func (t *timer) Reset(d time.Duration) bool {
	w := t.process.node.world
	w.mutex.Lock()
	was := t.stopLocked()
	w.mutex.Unlock()
	t.start(d)
	return was
}

func (t *timer) start(d time.Duration) {
	p := t.process
	w := p.node.world
	now := int64(w.Now())
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if p.dead.Load() {
		t.releaseLocked(now)
		return
	}
	t.generation++
	t.deadline = p.node.clock.readMonotonic(now) + max(int64(d), 0)
	p.addTimer(t)
	w.outbox = append(w.outbox, item{node: p.node, timer: t})
	w.wakeEngine()
}

// fire hands the reading to whoever waits. Called by the engine.
func (t *timer) fire() {
	w := t.process.node.world
	w.mutex.Lock()
	t.process.removeTimer(t)
	now := w.now.Load()
	if t.period > 0 {
		t.generation++
		t.deadline += int64(t.period)
		t.process.addTimer(t)
		w.outbox = append(w.outbox, item{node: t.process.node, timer: t})
	}
	function := t.releaseLocked(now)
	w.mutex.Unlock()
	if function != nil {
		t.process.Go("timer", function)
	}
}

// releaseLocked sends the reading and returns the function to run, if the timer has one.
func (t *timer) releaseLocked(now int64) func() {
	if t.function != nil {
		return t.function
	}
	c := &t.process.node.clock
	w := t.process.node.world
	select {
	case t.channel <- instant(w.base, time.Duration(c.readMonotonic(now)), time.Duration(c.readWall(now))):
	default:
	}
	return nil
}

type ticker struct{ *timer }

func (t ticker) Stop() { t.timer.Stop() }

func (t ticker) Reset(d time.Duration) {
	if d <= 0 {
		panic("sim: a ticker needs a positive period")
	}
	t.timer.Stop()
	t.timer.period = d
	t.timer.start(d)
}

// TrueTime is the true time at which the machine's monotonic clock will have advanced by span, if it goes on as it goes
// now. A span that has passed gives a time that has passed.
func (n *Node) TrueTime(span time.Duration) time.Duration {
	w := n.world
	now := int64(w.Now())
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if span < 0 {
		return time.Duration(now) + span
	}
	return time.Duration(now + n.clock.trueSpan(int64(span)))
}
