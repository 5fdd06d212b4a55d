package scenarios

import (
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/faults"
	"github.com/lockstep-sim/lockstep/scenarios/strategy"
	"github.com/lockstep-sim/lockstep/sim"
)

// recorder writes the history of one run. Everything reaches it on the engine's goroutine, in the order of events.
type recorder struct {
	world   *sim.World
	marks   *strategy.Marks
	history checker.History
	closed  bool
	monitor *checker.Monitor // nil = the run is judged when it has ended
	stopped checker.Property // what the monitor found violated, "" so far

	lock       string
	timeServer *sim.Node          // judges the deadlines of JSON records; nil = redis does
	clients    map[uint64]*client // who opened a connection to a Redis machine
	tokens     map[string]*client // who put a plain token into the lock's key
	stored     []*storedRecord    // what the Redis machines have of the lock, in their order
	majority   *majority          // what they agree on; nil where there is one
	// holds has who believes to hold, until its last unlock has returned, and the deadline that it relies on, on its own
	// clock (zero = none).
	holds   map[*client]time.Time
	waiting []*client // who is in a call to acquire, in order of calls
	// calls is the latest call on the lock of each process, see served.
	calls map[int]*lockCall
	// caused is the latest fact about the lock that the request under way has caused; nil = none yet.
	caused *checker.Event

	injector *faults.Injector // where a fault waits for the end of a lease
	// requests is when a Redis machine executed a command of a client, from true time 0 on.
	requests []time.Duration
}

func (r *recorder) add(e checker.Event) {
	if r.closed {
		return
	}
	e.Index = int64(len(r.history.Events)) + 1
	e.Time = r.world.Now()
	r.called(&e)
	r.history.Events = append(r.history.Events, e)
	if r.monitor != nil && r.stopped == "" {
		if v, violated := r.monitor.Next(); violated {
			r.stopped = v.Property
		}
	}
}

// fault records that a fault struck.
func (r *recorder) fault(text, machine string) {
	e := checker.Event{
		Process: checker.ProcessFault, Type: checker.Info, F: checker.FaultApplied, Node: machine,
		Command: text,
	}
	if node := r.world.Node(machine); node != nil {
		e.Clock = node.Wall().Round(0)
	}
	r.add(e)
}

// phase records one of the bench's own events.
func (r *recorder) phase(f string) {
	r.add(checker.Event{Process: checker.ProcessFault, Type: checker.Info, F: f})
}

// requested counts a command that a Redis machine executed for a client.
func (r *recorder) requested(conn uint64) {
	if now := r.world.Now(); now >= 0 && !r.closed && r.clients[conn] != nil {
		r.requests = append(r.requests, now)
	}
}

// applied records a write that the resource executed.
func (r *recorder) applied(machine string, process int, token int64, accepted bool) {
	r.add(checker.Event{
		Process: process, Node: machine, Type: checker.Info, F: checker.Applied, Key: storeMachine, Token: token,
		Accepted: accepted,
	})
}

// hold takes note that a client believes to hold until a reading of its clock; zero = until it says otherwise.
func (r *recorder) hold(c *client, until time.Time) {
	r.holds[c] = until
	if !until.IsZero() {
		r.marks.Deadline(c.node.TrueTime(c.process.Clock().Until(until)))
	}
}

// letGo takes note that a client does not believe to hold any more.
func (r *recorder) letGo(c *client) { delete(r.holds, c) }

// restate records anew until when a client relies on its hold, after the rate of its clock has changed: events tell
// deadlines in true time, and that follows from the rate.
func (r *recorder) restate(c *client) {
	deadline := r.holds[c]
	if deadline.IsZero() || c.dead {
		return
	}
	rest := c.process.Clock().Until(deadline)
	if rest <= 0 {
		return
	}
	r.add(checker.Event{
		Process: c.number, Node: c.node.Name(), Type: checker.Info, F: checker.Renew, Key: r.lock, Owner: c.owner.String(),
		Clock: c.process.Clock().Now().Round(0), Deadline: c.node.TrueTime(rest), Value: "its clock runs at another rate",
	})
}

// waits keeps track of who is in a call to acquire.
func (r *recorder) waits(c *client, waits bool) {
	for i, other := range r.waiting {
		if other == c {
			r.waiting = append(r.waiting[:i], r.waiting[i+1:]...)
			break
		}
	}
	if waits {
		r.waiting = append(r.waiting, c)
	}
}
