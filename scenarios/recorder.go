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
	believers  map[*client]bool // who believes to hold, for faults that strike the holder
	waiting    []*client        // who is in a call to acquire, in order of calls
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

// refresh compares the lock's key with what was last known of it.
func (r *recorder) refresh(command string, by *client) {
	value, ttl, exists := r.server.Peek(r.lock)
	var now *checker.Record
	if exists {
		if now = r.decode(value, ttl, by); value == r.value && r.record != nil && now.Expires == r.record.Expires {
			return
		}
	} else if r.record == nil {
		return
	}
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
	}
	if now == nil && by == nil && command == "" {
		e.Command = checker.CommandExpire
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

// believes keeps track of who believes to hold.
func (r *recorder) believes(c *client, holds bool) {
	if holds {
		r.believers[c] = true
	} else {
		delete(r.believers, c)
	}
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
