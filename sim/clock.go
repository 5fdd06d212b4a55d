package sim

import (
	"fmt"
	"math/bits"
	"runtime"
	"slices"
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
	// unit is what the wall clock counts where milliseconds are expected, in nanoseconds, and epoch the start of the world
	// since 1970, from where it counts; a unit of 0 is none.
	unit, epoch int64
}

// The slowest and the fastest clock: it never stands still nor turns back, and no reading overflows within 2 years.
const (
	minDrift = -999_999
	maxDrift = 100_000_000
)

func (c *bentClock) elapsed(now int64) int64 {
	d := now - c.bentAt
	return d + scale(d, c.driftPPM)
}

// scale is d*ppm/10^6, rounded towards zero, without overflow for runs of up to years.
func scale(d, ppm int64) int64 {
	return d/1_000_000*ppm + d%1_000_000*ppm/1_000_000
}

func (c *bentClock) readMonotonic(now int64) int64 { return c.monotonic + c.elapsed(now) }

// steadyWall is the wall reading without jitter.
func (c *bentClock) steadyWall(now int64) int64 {
	reading := c.wall + c.elapsed(now)
	if c.unit == 0 {
		return reading
	}
	since1970 := c.epoch + reading
	const millisecond = int64(time.Millisecond)
	return since1970/c.unit*millisecond + since1970%c.unit*millisecond/c.unit - c.epoch
}

// readWall takes a draw from the jitter's stream, if there is jitter.
func (c *bentClock) readWall(now int64) int64 {
	reading := c.steadyWall(now)
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

// when is the first true time, not before the last bend, at which the monotonic clock shows at least reading.
func (c *bentClock) when(reading int64) int64 {
	return min(c.bentAt+c.trueSpan(reading-c.monotonic), farFuture)
}

// trueSpan is the least true time in which the monotonic clock advances by at least local.
func (c *bentClock) trueSpan(local int64) int64 {
	if local <= 0 {
		return 0
	}
	if c.driftPPM == 0 {
		return local
	}
	high, low := bits.Mul64(uint64(local), 1_000_000)
	rate := uint64(1_000_000 + c.driftPPM)
	if high >= rate {
		return farFuture
	}
	span, _ := bits.Div64(high, low, rate)
	if span >= farFuture {
		return farFuture
	}
	// Rounding in scale makes the estimate err by at most a few nanoseconds.
	d := int64(span)
	for d > 0 && d-1+scale(d-1, c.driftPPM) >= local {
		d--
	}
	for d+scale(d, c.driftPPM) < local {
		d++
	}
	return d
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
// Drifts are bounded by -999,999, for -10^6 would stop the clock, and by 10^8.
func (n *Node) SetClockDrift(ppm int64) {
	ppm = min(max(ppm, minDrift), maxDrift)
	n.bendClock(fmt.Sprintf("clock drift set to %d ppm", ppm), func(c *bentClock) { c.driftPPM = ppm })
	n.world.retime(n)
}

// SetClockJitter makes each reading of a machine's wall clock err by up to d to either side.
func (n *Node) SetClockJitter(d time.Duration) {
	n.bendClock(fmt.Sprintf("wall clock jitter set to %v", d), func(c *bentClock) { c.jitter = int64(d) })
}

// SetClockUnit makes a machine's wall clock count another unit since 1970 where milliseconds are expected, as a program
// does that takes seconds for them: with a unit of 1 s it shows a time in January 1970, and goes a thousand times too
// slow. The unit is a millisecond, which is right, to an hour; timers do not notice.
func (n *Node) SetClockUnit(unit time.Duration) {
	unit = min(max(unit, time.Millisecond), time.Hour)
	n.bendClock(fmt.Sprintf("wall clock unit set to %v", unit), func(c *bentClock) {
		if c.unit, c.epoch = int64(unit), n.world.base.UnixNano(); unit == time.Millisecond {
			c.unit = 0
		}
	})
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
	now := w.sinceStart()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return instant(w.base, time.Duration(n.clock.readMonotonic(now)), time.Duration(n.clock.readWall(now)))
}

// readLocked reads the machine's clock for code of this incarnation. After a crash it draws no jitter: how often
// unwinding code looks at the clock is left to chance.
func (p *Process) readLocked(now int64) time.Time {
	c := &p.node.clock
	wall := c.steadyWall(now)
	if !p.dead.Load() {
		wall = c.readWall(now)
	}
	return instant(p.node.world.base, time.Duration(c.readMonotonic(now)), time.Duration(wall))
}

// Monotonic is what the machine's monotonic clock shows, from 0 at the start of the world.
func (n *Node) Monotonic() time.Duration {
	w := n.world
	now := w.sinceStart()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return time.Duration(n.clock.readMonotonic(now))
}

// TrueTime is the true time at which the machine's monotonic clock will have advanced by span, if it goes on as it goes
// now. A span that has passed gives a time that has passed.
func (n *Node) TrueTime(span time.Duration) time.Duration {
	w := n.world
	now := w.sinceStart()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if span < 0 {
		return time.Duration(now) + span
	}
	return time.Duration(now + n.clock.trueSpan(int64(span)))
}

// Clock is the clock of one incarnation of a machine. It implements clockwork.Clock: Now carries both readings, as
// time.Now does, and every timer runs on the machine's monotonic clock.
//
// When the incarnation crashes, its timers fire at once, so that nobody waits for them, and any further Sleep unwinds
// its goroutine.
type Clock struct {
	process *Process
	library bool // its timers are those of a library, see Process.LibraryClock
}

var _ clockwork.Clock = (*Clock)(nil)

// Now reads the machine's clock.
func (c *Clock) Now() time.Time {
	w := c.process.node.world
	now := w.sinceStart()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return c.process.readLocked(now)
}

// Since is the time since t: monotonic when t came from Now of the same machine, as time.Since.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Until is the time until t, as time.Until.
func (c *Clock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

// Sleep returns after d on the machine's monotonic clock. In a crashed incarnation it ends the goroutine.
func (c *Clock) Sleep(d time.Duration) {
	p := c.process
	if d > 0 && !p.dead.Load() {
		t := p.takeIdle()
		t.library = c.library
		t.start(d, 0)
		<-t.channel
		p.putIdle(t)
	}
	if p.dead.Load() {
		runtime.Goexit()
	}
}

// takeIdle returns a timer for Sleep, one that has served if there is any.
func (p *Process) takeIdle() *timer {
	w := p.node.world
	w.mutex.Lock()
	defer w.mutex.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return &timer{process: p, channel: make(chan time.Time, 1)}
	}
	t := p.idle[last]
	p.idle = p.idle[:last]
	return t
}

func (p *Process) putIdle(t *timer) {
	w := p.node.world
	w.mutex.Lock()
	defer w.mutex.Unlock()
	p.idle = append(p.idle, t)
}

// After is NewTimer(d).Chan().
func (c *Clock) After(d time.Duration) <-chan time.Time { return c.NewTimer(d).Chan() }

// NewTimer returns a timer that sends the clock's reading after d.
func (c *Clock) NewTimer(d time.Duration) clockwork.Timer {
	t := &timer{process: c.process, library: c.library, channel: make(chan time.Time, 1)}
	t.start(d, 0)
	return t
}

// AfterFunc runs f in a goroutine of the machine after d.
func (c *Clock) AfterFunc(d time.Duration, f func()) clockwork.Timer {
	t := &timer{process: c.process, library: c.library, function: f}
	t.start(d, 0)
	return t
}

// NewTicker returns a ticker with period d; a slow receiver misses ticks, as with time.NewTicker. It panics when d is
// not positive, as time.NewTicker does.
func (c *Clock) NewTicker(d time.Duration) clockwork.Ticker {
	if d <= 0 {
		panic("sim: a ticker needs a positive period")
	}
	t := &timer{process: c.process, library: c.library, channel: make(chan time.Time, 1)}
	t.start(d, d)
	return ticker{t}
}

// timer is a Timer, or a Ticker when period is set. Its deadline is kept in the machine's monotonic time; the queue
// holds at most one live event for it, the one whose generation is current. Guarded by World.mutex.
type timer struct {
	process  *Process
	library  bool // of Process.LibraryClock
	channel  chan time.Time
	function func()
	period   time.Duration

	active     bool
	deadline   int64  // monotonic clock of the machine
	generation uint64 // rises with every start and stop, so that an older event of the queue is ignored
	queued     uint64 // generation of the event that was queued last
	place      uint64 // in which order the machine's timers were queued
	index      int    // in process.active while active
}

func (t *timer) Chan() <-chan time.Time { return t.channel }

// Stop prevents the timer from firing and tells whether it did so. As with time.Timer since Go 1.23, no stale value is
// received after it, and a value that nobody has received yet counts as one that was prevented.
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
			was = true
		default:
		}
	}
	return was
}

// Reset starts the timer anew and tells whether it had been running, in the sense of Stop.
func (t *timer) Reset(d time.Duration) bool { return t.start(d, t.period) }

// start makes the timer run from now on, whether or not it ran before. In a crashed incarnation it fires at once.
func (t *timer) start(d, period time.Duration) bool {
	p := t.process
	w := p.node.world
	now := w.sinceStart()
	dead := p.alive() != nil
	w.mutex.Lock()
	defer w.mutex.Unlock()
	was := t.stopLocked()
	if dead {
		t.releaseLocked(now)
		return was
	}
	t.period = period
	t.generation++
	t.deadline = min(p.node.clock.readMonotonic(now)+min(max(int64(d), 0), farFuture), farFuture)
	p.addTimer(t)
	w.askLocked(item{class: itemTimer, process: p, timer: t})
	return was
}

func (p *Process) addTimer(t *timer) {
	t.active = true
	t.index = len(p.active)
	p.active = append(p.active, t)
}

func (p *Process) removeTimer(t *timer) {
	t.active = false
	t.generation++
	last := len(p.active) - 1
	p.active[t.index] = p.active[last]
	p.active[t.index].index = t.index
	p.active[last] = nil
	p.active = p.active[:last]
}

// queueTimer puts a timer that was started into the queue of events.
func (w *World) queueTimer(t *timer) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if t.active && t.queued != t.generation {
		w.queueTimerLocked(t)
	}
}

func (w *World) queueTimerLocked(t *timer) {
	n := t.process.node
	n.sequence++
	t.queued, t.place = t.generation, n.sequence
	at := max(n.clock.when(t.deadline), w.now.Load())
	w.queue.push(event{at: slot(at, n.timers), key: key(n.timers, n.sequence), timer: t, generation: t.generation})
}

// retime queues what a machine waits for anew after its clock changed its rate. A timer that is not in the queue yet
// will be queued at the new rate.
func (w *World) retime(n *Node) {
	w.mutex.Lock()
	var timers []*timer
	for _, t := range n.process.active {
		if t.queued == t.generation {
			timers = append(timers, t)
		}
	}
	slices.SortFunc(timers, func(a, b *timer) int { return int(a.place) - int(b.place) })
	for _, t := range timers {
		t.generation++
		w.queueTimerLocked(t)
	}
	w.mutex.Unlock()
	for _, e := range n.ends {
		e.retime()
	}
}

// due tells whether an event of the queue is the timer's current one.
func (t *timer) due(e *event) bool { return t.active && e.generation == t.generation }

func (w *World) fireTimer(e event) {
	t := e.timer
	if !t.due(&e) {
		return
	}
	n := t.process.node
	if n.paused {
		n.deferred = append(n.deferred, e)
		return
	}
	if n.holding && t.library {
		n.overdue = append(n.overdue, e)
		return
	}
	w.trace.current = w.trace.add(e.at, KindTimer, n, nil, 0, 0, 0, plain("timer"))
	w.mutex.Lock()
	defer w.mutex.Unlock()
	t.process.removeTimer(t)
	if t.period > 0 {
		// Periods that have passed meanwhile, in a pause, are left out.
		late := max(n.clock.readMonotonic(e.at)-t.deadline, 0)
		t.deadline += int64(t.period) * (1 + late/int64(t.period))
		t.process.addTimer(t)
		w.queueTimerLocked(t)
	}
	t.releaseLocked(w.now.Load())
	w.dirty.Store(true)
}

// HoldTimers keeps the timers of the machine's LibraryClock from firing until ReleaseTimers: what the program does by
// itself goes on, what its library does in the background does not.
func (n *Node) HoldTimers() {
	if n.holding || n.crashed {
		return
	}
	n.holding = true
	n.world.traceNode(n, "timers held")
}

// ReleaseTimers ends HoldTimers. Timers that were due meanwhile fire now, in the order in which they were due, or the
// last one first.
func (n *Node) ReleaseTimers(lastFirst bool) {
	if !n.holding {
		return
	}
	n.holding = false
	w := n.world
	w.traceNode(n, "timers released")
	overdue := n.overdue
	n.overdue = nil
	if lastFirst {
		slices.Reverse(overdue)
	}
	for _, e := range overdue {
		w.resumed++
		e.at, e.key = w.now.Load(), key(resumedStream, w.resumed)
		w.queue.push(e)
	}
}

// releaseLocked sends the reading, or starts the function of AfterFunc.
func (t *timer) releaseLocked(now int64) {
	if t.function != nil {
		t.process.launchLocked(&goroutine{label: "timer", process: t.process, function: t.function})
		return
	}
	select {
	case t.channel <- t.process.readLocked(now):
	default:
	}
}

type ticker struct{ *timer }

func (t ticker) Stop() { t.timer.Stop() }

func (t ticker) Reset(d time.Duration) {
	if d <= 0 {
		panic("sim: a ticker needs a positive period")
	}
	t.timer.start(d, d)
}
