package measure

import (
	"slices"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
)

// Outcome is what came of a call.
type Outcome uint8

// The outcomes of calls.
const (
	Done      Outcome = iota // it did what was asked; of an acquire: the caller has got the lock
	Reentered                // an acquire by somebody who held the lock already
	Refused
	Unknown // an error in place of an answer
	Open    // no answer before the end, or before the caller's
)

// String names the outcome.
func (o Outcome) String() string {
	return [...]string{"done", "re-entry", "refused", "unknown", "open"}[o]
}

// Call is one call of a client.
type Call struct {
	Client  int32 // in Run.Clients
	F       int16 // in Run.Functions
	Lock    int16 // in Run.Locks, -1 for a call that is about something else
	Outcome Outcome
	// Waits says that it is an acquire that waits for its turn. One attempt that is refused at once does not.
	Waits bool
	Asked time.Duration
	Took  time.Duration
}

// Hold is a time in which a client believed to hold a lock.
type Hold struct {
	Lock       int16
	Client     int32
	Start, End time.Duration
}

// Client is one process of a machine.
type Client struct {
	Process int
	Machine string
}

// Fault is something that went wrong by plan, or the moment at which everything was healed.
type Fault struct {
	Text    string
	Machine string
	Healed  bool
	At      time.Duration
}

// Clock is how far the wall clock of a machine was from what most clocks showed, in nanoseconds.
type Clock struct {
	Machine string
	Off     Series
}

// Run is what has been collected of one history.
type Run struct {
	Header    checker.Header
	Events    int64
	End       time.Duration // of the history, in true time
	Clients   []Client
	Locks     []string
	Functions []string // what calls were about, such as checker.Acquire
	Calls     []Call   // in the order in which they were made
	Holds     []Hold   // by lock, and by start
	Queue     Series   // how many waited for any of the locks
	Clocks    []Clock  // by name of machine
	Faults    []Fault
	// Requests and WakeUps are when the server executed a request and when it sent the event of a watch.
	Requests, WakeUps []time.Duration
	// Head is the beginning of the history: all of it, or its first MostHead events.
	Head []checker.Event
}

// Whole says that Head is the whole history.
func (r *Run) Whole() bool { return int64(len(r.Head)) == r.Events }

// IsAcquire tells whether a call asks for a lock.
func (r *Run) IsAcquire(c *Call) bool {
	f := r.Functions[c.F]
	return f == checker.Acquire || f == checker.TryAcquire
}

// Waits is how long those waited who got a lock.
func (r *Run) Waits() *Distribution {
	d := &Distribution{}
	for i := range r.Calls {
		if c := &r.Calls[i]; c.Outcome == Done && r.IsAcquire(c) {
			d.Add(int64(c.Took))
		}
	}
	return d
}

// ofLock is the part of Holds that is about one lock.
func (r *Run) ofLock(lock int) []Hold {
	from, _ := slices.BinarySearchFunc(r.Holds, int16(lock), func(h Hold, l int16) int { return int(h.Lock) - int(l) })
	to, _ := slices.BinarySearchFunc(r.Holds, int16(lock)+1, func(h Hold, l int16) int { return int(h.Lock) - int(l) })
	return r.Holds[from:to]
}

// HandOver is the time between the end of a hold and the start of the next, in which somebody waited.
type HandOver struct{ From, To time.Duration }

// HandOvers lists the hand-overs, lock by lock. Where the next hold began before the last one had ended, or where
// nobody waited at its end, nothing was handed over.
func (r *Run) HandOvers() []HandOver {
	var all []HandOver
	for lock := range r.Locks {
		waited := r.waited(lock)
		end := time.Duration(-1)
		for _, h := range r.ofLock(lock) {
			if end >= 0 && h.Start >= end && waited(end) {
				all = append(all, HandOver{end, h.Start})
			}
			end = max(end, h.End)
		}
	}
	return all
}

// waited makes a function that tells whether somebody waited for a lock at an instant. It must be asked for instants
// that do not go back.
func (r *Run) waited(lock int) func(at time.Duration) bool {
	next := 0
	var until time.Duration = -1 // the latest end of a wait that began so far
	return func(at time.Duration) bool {
		for ; next < len(r.Calls) && r.Calls[next].Asked <= at; next++ {
			if c := &r.Calls[next]; c.Waits && int(c.Lock) == lock {
				until = max(until, c.Asked+c.Took)
			}
		}
		return until > at
	}
}

// HandOverTimes is how long hand-overs took.
func (r *Run) HandOverTimes() *Distribution {
	d := &Distribution{}
	for _, h := range r.HandOvers() {
		d.Add(int64(h.To - h.From))
	}
	return d
}

// Overlaps is how long each stretch lasted in which two or more believed to hold one lock.
func (r *Run) Overlaps() *Distribution {
	d := &Distribution{}
	for lock := range r.Locks {
		var from, to time.Duration = 0, -1 // the stretch
		end := time.Duration(-1)           // of the hold that lasts longest so far
		for _, h := range r.ofLock(lock) {
			if both := min(end, h.End); h.Start < both {
				if h.Start > to {
					d.stretch(from, to)
					from = h.Start
				}
				to = max(to, both)
			}
			end = max(end, h.End)
		}
		d.stretch(from, to)
	}
	return d
}

func (d *Distribution) stretch(from, to time.Duration) {
	if from < to {
		d.Add(int64(to - from))
	}
}

// Overtakes is for each wait that ended with the lock how many got it in that time who had asked later.
func (r *Run) Overtakes() *Distribution {
	d := &Distribution{}
	for lock := range r.Locks {
		var asked, got []instant // of the waits in the order of asking; got has the place in asked
		for i := range r.Calls {
			if c := &r.Calls[i]; c.Waits && c.Outcome == Done && int(c.Lock) == lock {
				got = append(got, instant{c.Asked + c.Took, len(asked)})
				asked = append(asked, instant{c.Asked, i})
			}
		}
		slices.SortStableFunc(got, func(a, b instant) int { return int(min(max(a.at-b.at, -1), 1)) })
		before := newCounter(len(asked)) // by order of asking: who has got it so far
		for n, g := range got {
			// All that got it so far, but for those who asked before.
			d.Add(int64(n - before.below(g.place)))
			before.count(g.place)
		}
	}
	return d
}

type instant struct {
	at    time.Duration
	place int
}

// counter counts places and tells how many lie below one: a Fenwick tree.
type counter []int

func newCounter(places int) counter { return make(counter, places+1) }

func (c counter) count(place int) {
	for i := place + 1; i < len(c); i += i & -i {
		c[i]++
	}
}

func (c counter) below(place int) int {
	n := 0
	for i := place; i > 0; i -= i & -i {
		n += c[i]
	}
	return n
}
