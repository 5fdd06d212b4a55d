package scenarios

import (
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/impl/redislock"
	"github.com/lockstep-sim/lockstep/sim"
	"github.com/lockstep-sim/lockstep/sim/redis"
)

// recorder writes the history of one run. Everything reaches it on the engine's goroutine, in the order of events.
type recorder struct {
	world   *sim.World
	history checker.History
	closed  bool

	lock       string
	redis      *sim.Node
	timeServer *sim.Node // judges the deadlines of JSON records; nil = redis does
	server     *redis.Server
	clients    map[uint64]*client // who opened a connection to redis
	tokens     map[string]*client // who put a plain token into the lock's key
	record     *checker.Record    // what the lock's key says
	value      string
	expires    int64         // reading of redis's clock after which the lock's key is gone; 0 = it stays
	jitter     time.Duration // by how much two readings of that clock at one instant can differ
	// holds has who believes to hold, until its last unlock has returned, and the deadline that it relies on, on its own
	// clock (zero = none).
	holds   map[*client]time.Time
	waiting []*client // who is in a call to acquire, in order of calls
}

func (r *recorder) add(e checker.Event) {
	if r.closed {
		return
	}
	e.Index = int64(len(r.history.Events)) + 1
	e.Time = r.world.Now()
	r.history.Events = append(r.history.Events, e)
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

// executed sees each command of the Redis machine and records what became of the lock's record.
func (r *recorder) executed(e redis.Executed) {
	if e.Nested || !r.mayChange(e) {
		return
	}
	r.refresh(strings.ToUpper(e.Args[0]), r.clients[e.Conn])
}

// mayChange tells whether a command can have changed the lock's record. Most commands cannot, and looking costs.
func (r *recorder) mayChange(e redis.Executed) bool {
	switch strings.ToUpper(e.Args[0]) {
	case "GET", "TIME", "PTTL", "TTL", "PING", "HELLO", "CLIENT", "SCRIPT", "MULTI", "EXISTS":
		return false
	case "SETNX":
		return len(e.Raw) > 1 && e.Raw[1] == '1'
	}
	return true
}

// refresh compares the lock's key with what was last known of it. What is different now was done by the command that
// was just executed, but for one thing: a key whose time was over had gone before.
func (r *recorder) refresh(command string, by *client) {
	value, ttl, exists := r.server.Peek(r.lock)
	if r.record != nil && !(exists && value == r.value) && r.overdue() {
		r.changed(checker.CommandExpire, nil, "", nil)
	}
	if !exists {
		if r.record != nil {
			r.changed(command, by, "", nil)
		}
		return
	}
	now := r.decode(value, ttl, by)
	same := r.record != nil && value == r.value && r.near(now.Expires, r.record.Expires)
	if r.expires = 0; ttl >= 0 {
		r.expires = r.redis.Wall().UnixMilli() + ttl.Milliseconds()
	}
	if !same {
		r.changed(command, by, value, now)
	}
}

// overdue tells whether the key had a time to live that is over by the clock of redis.
func (r *recorder) overdue() bool { return r.expires != 0 && r.redis.Wall().UnixMilli() > r.expires }

// near tells whether two deadlines are the same, as far as the jitter of the clock lets see: each is what two readings
// of it make of a time to live.
func (r *recorder) near(a, b int64) bool { return max(a, b)-min(a, b) <= 2*r.jitter.Milliseconds() }

// changed records that the lock's key says something else than before; now is nil when the key is gone.
func (r *recorder) changed(command string, by *client, value string, now *checker.Record) {
	e := checker.Event{
		Process: checker.ProcessServer, Type: checker.Info, F: checker.RecordGone, Key: r.lock, Command: command,
		Clock: r.redis.Wall().Round(0),
	}
	if by != nil {
		e.Node, e.Owner = by.node.Name(), by.owner.String()
	}
	if r.record != nil {
		previous := *r.record
		previous.Now = r.judge(r.value).Wall().UnixMilli()
		e.Previous = &previous
	}
	if now != nil {
		e.F, e.Record, e.Count = checker.RecordSet, now, now.Count
	} else {
		r.expires = 0
	}
	r.record, r.value = now, value
	r.add(e)
}

// judge is the machine whose clock judges the deadline of a record.
func (r *recorder) judge(value string) *sim.Node {
	if r.timeServer != nil && strings.HasPrefix(value, "{") {
		return r.timeServer
	}
	return r.redis
}

// decode reads a record: the JSON of the published lock, or a token that some client put there.
func (r *recorder) decode(value string, ttl time.Duration, by *client) *checker.Record {
	now := r.judge(value).Wall().UnixMilli()
	if parsed, err := redislock.ParseRecord(value); err == nil {
		return &checker.Record{Owner: parsed.Owner().String(), Count: parsed.Count, Expires: parsed.Expires, Now: now}
	}
	if r.tokens[value] == nil && by != nil {
		r.tokens[value] = by
	}
	record := &checker.Record{Owner: value, Count: 1, Now: now}
	if owner := r.tokens[value]; owner != nil {
		record.Owner = owner.owner.String()
	}
	if ttl >= 0 {
		record.Expires = now + ttl.Milliseconds()
	}
	return record
}

// applied records a write that the resource executed.
func (r *recorder) applied(machine string, process int, token int64, accepted bool) {
	r.add(checker.Event{
		Process: process, Node: machine, Type: checker.Info, F: checker.Applied, Key: storeMachine, Token: token,
		Accepted: accepted,
	})
}

// hold takes note that a client believes to hold until a reading of its clock; zero = until it says otherwise.
func (r *recorder) hold(c *client, until time.Time) { r.holds[c] = until }

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
