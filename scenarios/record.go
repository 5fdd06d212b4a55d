package scenarios

import (
	"slices"
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/impl/redislock"
	"github.com/lockstep-sim/lockstep/sim"
	"github.com/lockstep-sim/lockstep/sim/redis"
)

// storedRecord is what is known of the lock's record on one Redis machine. Every change of it is a fact of the history:
// of the lock itself where one machine keeps it, else of "LOCK@MACHINE", and what the machines agree on is the lock's.
type storedRecord struct {
	recorder *recorder
	machine  *redis.Machine
	key      string          // that its facts are about
	record   *checker.Record // what the lock's key says
	value    string
	expires  int64         // reading of the machine's clock after which the key is gone; 0 = it stays
	jitter   time.Duration // by how much two readings of that clock at one instant can differ
	leased   string        // the client machine whose lease the record is
}

// executed sees each command of the machine and records what became of the record.
func (s *storedRecord) executed(e redis.Executed) {
	if e.Nested {
		return
	}
	r, by := s.recorder, s.recorder.clients[e.Conn]
	r.requested(e.Conn)
	r.caused = nil
	command := strings.ToUpper(e.Args[0])
	if e.Conn == 0 && command == "DEL" {
		command = checker.CommandRemove
	}
	switch {
	case mayChange(e):
		s.refresh(command, by)
	case r.callOf(by) != nil && s.record != nil && s.overdue():
		s.refresh("", nil) // what is read is that the record is gone
	}
	if what := unchanged; by != nil {
		if r.caused != nil {
			what = changeOf(r.caused, by.owner.String())
		}
		r.served(by, what, r.holder())
	}
}

// mayChange tells whether a command can have changed the lock's record. Most commands cannot, and looking costs.
func mayChange(e redis.Executed) bool {
	switch strings.ToUpper(e.Args[0]) {
	case "GET", "TIME", "PTTL", "TTL", "PING", "HELLO", "CLIENT", "SCRIPT", "MULTI", "EXISTS", "SUBSCRIBE", "PUBLISH":
		return false
	case "SETNX":
		return len(e.Raw) > 1 && e.Raw[1] == '1'
	}
	return true
}

// refresh compares the lock's key with what was last known of it. What is different now was done by the command that
// was just executed, but for one thing: a key whose time was over had gone before.
func (s *storedRecord) refresh(command string, by *client) {
	r := s.recorder
	r.sweep(s)
	value, ttl, exists := s.machine.Peek(r.lock)
	if s.record != nil && !(exists && value == s.value) && s.overdue() {
		s.changed(checker.CommandExpire, nil, "", nil)
	}
	if !exists {
		if s.record != nil {
			s.changed(command, r.thread(by, s.record.Owner), "", nil)
		}
		return
	}
	now := s.decode(value, ttl, r.thread(by, ""))
	same := s.record != nil && value == s.value && s.near(now.Expires, s.record.Expires)
	if s.expires = 0; ttl >= 0 {
		s.expires = s.machine.Node().Wall().UnixMilli() + ttl.Milliseconds()
	}
	if !same {
		s.changed(command, r.thread(by, now.Owner), value, now)
	}
}

// overdue tells whether the key had a time to live that is over by the clock of its machine.
func (s *storedRecord) overdue() bool {
	return s.expires != 0 && s.machine.Node().Wall().UnixMilli() > s.expires
}

// near tells whether two deadlines are the same, as far as the jitter of the clock lets see: each is what two readings
// of it make of a time to live.
func (s *storedRecord) near(a, b int64) bool { return max(a, b)-min(a, b) <= 2*s.jitter.Milliseconds() }

// changed records that the lock's key says something else than before; now is nil when the key is gone.
func (s *storedRecord) changed(command string, by *client, value string, now *checker.Record) {
	r := s.recorder
	var before *checker.Record
	if s.record != nil {
		previous := *s.record
		previous.Now = s.judge(s.value).Wall().UnixMilli()
		before = &previous
	}
	if now == nil {
		s.expires = 0
	}
	s.record, s.value = now, value
	r.fact(s.key, command, by, before, now, s.machine.Node())
	if now != nil {
		r.deadline(s.judge(value), now)
	}
	s.follow(by, now)
	r.agree(command, by)
}

// fact records that what a key says has changed, by the clock of a machine.
func (r *recorder) fact(key, command string, by *client, before, now *checker.Record, machine *sim.Node) {
	e := checker.Event{
		Process: checker.ProcessServer, Type: checker.Info, F: checker.RecordGone, Key: key, Command: command,
		Clock: machine.Wall().Round(0), Previous: before,
	}
	if by != nil {
		e.Node, e.Owner = by.node.Name(), by.owner.String()
	}
	if now != nil {
		e.F, e.Record, e.Count = checker.RecordSet, now, now.Count
	}
	r.add(e)
	if key == r.lock && by != nil {
		r.caused = &e
	}
}

// follow tells the injector when the lease ends that the record now stands for.
func (s *storedRecord) follow(by *client, now *checker.Record) {
	injector, name := s.recorder.injector, s.machine.Node().Name()
	if injector == nil {
		return
	}
	if s.leased != "" && (now == nil || by == nil || by.node.Name() != s.leased) {
		injector.LeaseGone(name, s.leased)
		s.leased = ""
	}
	if now != nil && by != nil && now.Expires != 0 {
		judge := s.judge(s.value)
		s.leased = by.node.Name()
		rest := time.UnixMilli(now.Expires).Sub(judge.Wall().Round(0))
		injector.Lease(name, s.leased, judge.TrueTime(rest))
	}
}

// deadline passes on when a record will have expired by the clock that judges it.
func (r *recorder) deadline(judge *sim.Node, now *checker.Record) {
	if now.Expires > now.Now {
		r.marks.Deadline(judge.TrueTime(time.Duration(now.Expires-now.Now) * time.Millisecond))
	}
}

// judge is the machine whose clock judges the deadline of a record.
func (s *storedRecord) judge(value string) *sim.Node {
	if s.recorder.timeServer != nil && strings.HasPrefix(value, "{") {
		return s.recorder.timeServer
	}
	return s.machine.Node()
}

// decode reads a record: the JSON of the published lock, or a token that some client put there.
func (s *storedRecord) decode(value string, ttl time.Duration, by *client) *checker.Record {
	r := s.recorder
	now := s.judge(value).Wall().UnixMilli()
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

// majority is the record of a lock on several machines: the one that most of them have.
type majority struct {
	record *checker.Record // nil = no record is on a majority
	value  string
	judge  *sim.Node     // the machine by whose clock no majority will have it any more
	ends   time.Duration // the true time of that, if clocks go right
	lease  time.Duration // of the lock
}

// sweep records of a lock on several machines which keys have gone by themselves since anybody looked. Each machine is
// the judge of its own keys; the one where a command was just executed is looked at by itself.
func (r *recorder) sweep(except *storedRecord) {
	if r.majority == nil {
		return
	}
	for _, s := range r.stored {
		if s != except && s.record != nil && s.overdue() {
			s.changed(checker.CommandExpire, nil, "", nil)
		}
	}
}

// lookAgain records what has expired by itself, which is seen only when somebody looks.
func (r *recorder) lookAgain() {
	for _, s := range r.stored {
		s.refresh("", nil)
	}
}

// agree records what the machines agree on after one of them has changed: the lock's record is the value that a
// majority of them has, for as long as a majority has it.
func (r *recorder) agree(command string, by *client) {
	m := r.majority
	if m == nil {
		return
	}
	value, now, judge := r.common()
	ends := time.Duration(0)
	if now != nil {
		ends = judge.TrueTime(time.Duration(now.Expires-now.Now) * time.Millisecond)
	}
	extended := by != nil && r.tokens[value] == by && ends-m.ends > m.lease/10 // more than one round of requests spreads
	m.ends = ends
	switch {
	case now == nil && m.record == nil:
		return
	case now != nil && m.record != nil && value == m.value && !extended:
		m.record.Expires, m.judge = now.Expires, judge // one machine more or less
		return
	}
	var before, set *checker.Record
	if m.record != nil {
		previous := *m.record
		previous.Now = m.judge.Wall().UnixMilli()
		before = &previous
	}
	if now != nil {
		copied := *now
		set, m.judge = &copied, judge
	}
	m.record, m.value = now, value
	r.fact(r.lock, command, by, before, set, m.judge)
}

// common finds the value that a majority of the machines has, and the machine with whose clock that ends: so many
// others keep it for longer that they are no majority.
func (r *recorder) common() (value string, record *checker.Record, judge *sim.Node) {
	for _, s := range r.stored {
		if s.record == nil {
			continue
		}
		same := slices.DeleteFunc(slices.Clone(r.stored), func(o *storedRecord) bool {
			return o.record == nil || o.value != s.value
		})
		if quorum := len(r.stored)/2 + 1; len(same) >= quorum {
			slices.SortStableFunc(same, func(a, b *storedRecord) int { return int(b.rest() - a.rest()) })
			last := same[quorum-1]
			judge = last.machine.Node()
			now := *last.record
			now.Expires, now.Now = last.expires, judge.Wall().UnixMilli()
			return s.value, &now, judge
		}
	}
	return "", nil, nil
}

// rest is how long the key will stay by the clock of its machine.
func (s *storedRecord) rest() time.Duration {
	if s.expires == 0 {
		return maxSpan
	}
	return time.Duration(s.expires-s.machine.Node().Wall().UnixMilli()) * time.Millisecond
}
