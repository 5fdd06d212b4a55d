package measure

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
)

// MostHead bounds Run.Head.
const MostHead = 20_000

// The measures of a Collector's memory.
const (
	// batch is how many events of clients are kept before those that are settled are taken out.
	batch = 1 << 15
	// votes bounds how many readings settle what a right clock shows.
	votes = 1 << 16
	// mostNames bounds the locks and the functions of one history.
	mostNames = math.MaxInt16
	// mostLevels bounds what a client may say that it holds.
	mostLevels = 1 << 30
)

// Collector takes the events of a history one by one. Its memory grows by some words for each call, and by the events
// of those clients that have not come to rest: that have levels of a lock to release, or had when they lost it.
type Collector struct {
	run       Run
	batch     int // how many events make the buffer large now
	least     int // how many make it large at least
	clients   map[int]*client
	locks     map[string]int16
	functions map[string]int16
	waiting   int64
	// buffer has the events from which holds follow, of clients that have not come to rest and some others.
	buffer  []checker.Event
	settled []checker.Event // those that were taken out last, for their room
	granted map[int64]int32 // by index of the event that granted it: a call in run.Calls
	began   []held          // holds as found so far
	zeros   map[int64]int   // votes for what a right clock shows at true time 0, in Unix milliseconds
	best    int64           // the vote that leads
	voted   int
	clocks  map[string]*Series // of time since 1970 less true time
	judged  bool               // leases are judged by another clock than the server's
}

// held is a hold with the place of its beginning in the order of events.
type held struct {
	Hold
	acquire int64
}

// client is where one process stands.
type client struct {
	number int32
	dead   bool
	f, key string // of the open call
	call   int32  // the open call in run.Calls, -1 between calls
	// levels are by lock those that it may have yet to release, at least as many as it has; none are left out.
	levels  map[string]int
	left    int // what the open release says that will be left
	settled int // how many events of the buffer it was at rest after
}

// NewCollector starts a run.
func NewCollector(header checker.Header) *Collector {
	return &Collector{
		run: Run{Header: header}, batch: batch, least: batch, clients: map[int]*client{}, locks: map[string]int16{},
		functions: map[string]int16{}, granted: map[int64]int32{}, zeros: map[int64]int{}, clocks: map[string]*Series{},
	}
}

// Of collects a whole history.
func Of(h *checker.History) (*Run, error) {
	if err := h.Validate(); err != nil {
		return nil, err
	}
	c := NewCollector(h.Header)
	for i := range h.Events {
		if err := c.Add(&h.Events[i]); err != nil {
			return nil, err
		}
	}
	return c.Finish(), nil
}

// Add takes the next event. Indices rise and times do not go back, as package checker's Decoder makes sure. The event
// is not kept and may be used again.
func (c *Collector) Add(e *checker.Event) error {
	c.run.Events++
	if e.Time < c.run.End {
		return fmt.Errorf("event %d is earlier than the one before it: sort the events by time and number them anew", e.Index)
	}
	c.run.End = e.Time
	if len(c.run.Head) < MostHead {
		c.run.Head = append(c.run.Head, *e)
	}
	c.reading(e)
	switch {
	case e.Process == checker.ProcessFault:
		c.fault(e)
	case e.F == checker.Request && e.Command == "event":
		c.run.WakeUps = append(c.run.WakeUps, e.Time)
	case e.F == checker.Request:
		c.run.Requests = append(c.run.Requests, e.Time)
	case e.Process >= 0 && e.F != checker.Applied:
		return c.byClient(e)
	}
	return nil
}

// reading takes what a clock shows.
func (c *Collector) reading(e *checker.Event) {
	// Within these years a time is a number of nanoseconds since 1970.
	if year := e.Clock.Year(); e.Clock.IsZero() || year < 1700 || year > 2200 {
		return
	}
	off := e.Clock.UnixNano() - int64(e.Time)
	if c.voted < votes {
		c.voted++
		vote := time.Unix(0, off).UnixMilli()
		if c.zeros[vote]++; c.zeros[vote] > c.zeros[c.best] {
			c.best = vote
		}
	}
	machine := e.Node
	if e.Process == checker.ProcessServer {
		machine = serverClock // Node is then the client whose request it was
	}
	if machine != "" {
		c.clock(machine).Add(e.Time, off)
	}
	if e.Record != nil && e.Record.Now != 0 {
		now := time.UnixMilli(e.Record.Now)
		c.clock(leaseClock).Add(e.Time, off+int64(now.Sub(e.Clock)))
		c.judged = c.judged || now.Sub(e.Clock).Abs() > sameClock
	}
}

// clock finds or adds the series of a machine's clock.
func (c *Collector) clock(machine string) *Series {
	s := c.clocks[machine]
	if s == nil {
		s = &Series{}
		c.clocks[machine] = s
	}
	return s
}

// The clocks that are named by what they are for: that of the server that keeps the lock, and the one that judges
// leases where it is another, such as that of a time server.
const (
	serverClock = "server"
	leaseClock  = "lease clock"
	// sameClock is by how much two readings in milliseconds can differ and still be of one clock.
	sameClock = 2 * time.Millisecond
)

func (c *Collector) fault(e *checker.Event) {
	switch e.F {
	case checker.FaultApplied:
		c.run.Faults = append(c.run.Faults, Fault{Text: e.Command, Machine: e.Node, At: e.Time})
	case checker.Healed:
		c.run.Faults = append(c.run.Faults, Fault{Healed: true, At: e.Time})
	}
}

// byClient pairs calls with returns.
func (c *Collector) byClient(e *checker.Event) error {
	p := c.client(e)
	if p.dead {
		if e.Type == checker.Invoke {
			return fmt.Errorf("event %d calls %s for process %d, which has crashed: a restarted client needs a new process",
				e.Index, e.F, e.Process)
		}
		return nil // what unwinds after a crash is heard by nobody
	}
	switch {
	case e.F == checker.Crash:
		if p.call >= 0 {
			c.ended(p, e, Open)
		}
		p.dead = true
	case e.F == checker.Lost || e.F == checker.Renew:
	case e.Type == checker.Invoke:
		if p.call >= 0 {
			return fmt.Errorf("event %d calls %s for process %d, whose %s has not returned: give concurrent calls processes of "+
				"their own", e.Index, e.F, e.Process, p.f)
		}
		if err := c.called(p, e); err != nil {
			return err
		}
	case p.call < 0 || p.f != e.F || p.key != e.Key:
		return fmt.Errorf("event %d returns %s of %q for process %d, which has not called that", e.Index, e.F, e.Key,
			e.Process)
	default:
		c.returned(p, e)
	}
	return c.keep(p, e)
}

func (c *Collector) client(e *checker.Event) *client {
	p := c.clients[e.Process]
	if p == nil {
		p = &client{number: int32(len(c.run.Clients)), call: -1, levels: map[string]int{}}
		c.clients[e.Process] = p
		c.run.Clients = append(c.run.Clients, Client{e.Process, e.Node})
	}
	return p
}

// number finds or adds a name.
func number(names *[]string, known map[string]int16, name string) (int16, error) {
	n, ok := known[name]
	if !ok {
		if len(*names) == mostNames {
			return 0, fmt.Errorf("more than %d different names of locks or calls: this is too many to measure", mostNames)
		}
		name = strings.Clone(name)
		n = int16(len(*names))
		known[name] = n
		*names = append(*names, name)
	}
	return n, nil
}

func (c *Collector) called(p *client, e *checker.Event) error {
	f, err := number(&c.run.Functions, c.functions, e.F)
	if err != nil {
		return err
	}
	call := Call{Client: p.number, F: f, Lock: -1, Outcome: Open, Asked: e.Time}
	if concernsLock(e.F) {
		if call.Lock, err = number(&c.run.Locks, c.locks, e.Key); err != nil {
			return err
		}
	}
	call.Waits = e.F == checker.Acquire || e.F == checker.TryAcquire && e.Wait > 0
	p.f, p.key, p.call = e.F, e.Key, int32(len(c.run.Calls))
	c.run.Calls = append(c.run.Calls, call)
	if call.Waits {
		c.waits(e.Time, +1)
	}
	if p.left = 0; e.F == checker.Release {
		p.left = int(min(max(e.Count, 0), mostLevels))
	}
	return nil
}

func concernsLock(f string) bool {
	return f == checker.Acquire || f == checker.TryAcquire || f == checker.Release
}

func (c *Collector) waits(at time.Duration, more int64) {
	c.waiting += more
	c.run.Queue.Add(at, c.waiting)
}

func (c *Collector) returned(p *client, e *checker.Event) {
	acquires := e.F == checker.Acquire || e.F == checker.TryAcquire
	outcome := map[checker.Type]Outcome{checker.OK: Done, checker.Fail: Refused, checker.Info: Unknown}[e.Type]
	switch {
	case acquires && outcome == Done:
		p.levels[e.Key]++
		c.granted[e.Index] = p.call
		outcome = Reentered // until it turns out that a hold began with it
	case e.F == checker.Release:
		p.released(e)
	}
	c.ended(p, e, outcome)
}

// released takes the return of a release. Where the client says how many levels are left, it may know better.
func (p *client) released(e *checker.Event) {
	levels := max(p.levels[e.Key]-1, p.left)
	if e.Type == checker.Info {
		levels = max(levels, int(min(e.Count, int64(p.levels[e.Key]))))
	}
	if e.Type == checker.Fail || levels <= 0 {
		delete(p.levels, e.Key) // whoever is told that it holds nothing has nothing to release
		return
	}
	p.levels[e.Key] = levels
}

// ended settles a call.
func (c *Collector) ended(p *client, e *checker.Event, outcome Outcome) {
	call := &c.run.Calls[p.call]
	call.Outcome, call.Took = outcome, e.Time-call.Asked
	if call.Waits {
		c.waits(e.Time, -1)
	}
	p.call = -1
}

// keep puts an event that holds follow from into the buffer, and empties that when it has become large. Holds of one
// client follow from its own events alone, so those up to a moment at which it was at rest can be taken out.
func (c *Collector) keep(p *client, e *checker.Event) error {
	if !concernsLock(e.F) && e.F != checker.Lost && e.F != checker.Renew && e.F != checker.Crash {
		return nil
	}
	c.buffer = append(c.buffer, *e)
	if p.dead || p.call < 0 && len(p.levels) == 0 {
		p.settled = len(c.buffer)
	}
	if len(c.buffer) < c.batch {
		return nil
	}
	settled, rest := c.settled[:0], c.buffer[:0]
	for i := range c.buffer {
		if i < c.clients[c.buffer[i].Process].settled {
			settled = append(settled, c.buffer[i])
		} else {
			rest = append(rest, c.buffer[i])
		}
	}
	for i := range settled {
		c.clients[settled[i].Process].settled = 0
	}
	c.settled, c.buffer = settled, rest
	c.batch = max(c.least, 2*len(rest))
	c.settle(settled)
	return nil
}

// settle finds the holds that follow from events.
func (c *Collector) settle(events []checker.Event) {
	part := checker.History{Header: c.run.Header, Events: events}
	for _, claim := range checker.Claims(&part) {
		h := held{Hold{c.locks[claim.Lock], c.clients[claim.Process].number, claim.Start, claim.End}, claim.Acquire}
		c.began = append(c.began, h)
		if call, ok := c.granted[claim.Acquire]; ok {
			c.run.Calls[call].Outcome = Done
		}
	}
	for i := range events {
		delete(c.granted, events[i].Index)
	}
}

// Finish ends the history. The Collector is of no use afterwards.
func (c *Collector) Finish() *Run {
	r := &c.run
	if n := len(c.buffer); n > 0 {
		// What is held to the end is held until the last event of all.
		c.buffer = append(c.buffer, checker.Event{
			Index: c.buffer[n-1].Index + 1, Time: r.End, Process: checker.ProcessFault, Type: checker.Info,
			F: checker.WorkloadEnd,
		})
	}
	c.settle(c.buffer)
	for _, known := range r.Clients {
		if p := c.clients[known.Process]; p.call >= 0 {
			r.Calls[p.call].Took = r.End - r.Calls[p.call].Asked
		}
	}
	slices.SortFunc(c.began, func(a, b held) int {
		if a.Lock != b.Lock {
			return int(a.Lock) - int(b.Lock)
		}
		if a.Start != b.Start {
			return int(min(max(a.Start-b.Start, -1), 1))
		}
		return int(min(max(a.acquire-b.acquire, -1), 1))
	})
	r.Holds = make([]Hold, len(c.began))
	for i := range c.began {
		r.Holds[i] = c.began[i].Hold
	}
	c.finishClocks()
	return r
}

// finishClocks makes what clocks showed into how far they were off.
func (c *Collector) finishClocks() {
	zero := time.UnixMilli(c.best).UnixNano()
	if !c.judged {
		delete(c.clocks, leaseClock)
	}
	for _, machine := range slices.Sorted(maps.Keys(c.clocks)) {
		s := c.clocks[machine]
		for i := range s.Points {
			p := &s.Points[i]
			p.First, p.Last, p.Least, p.Greatest = p.First-zero, p.Last-zero, p.Least-zero, p.Greatest-zero
		}
		c.run.Clocks = append(c.run.Clocks, Clock{machine, *s})
	}
}
