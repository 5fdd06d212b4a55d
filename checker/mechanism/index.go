package mechanism

import (
	"slices"
	"sort"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
)

// lock is what a history tells of one lock, in order.
type lock struct {
	lease     time.Duration    // as the header says; 0 = it does not
	facts     []*checker.Event // RecordSet and RecordGone
	requests  []*checker.Event // Request
	byProcess map[int][]*call
	byNode    map[string][]*call
	spread    bool                     // several servers keep it
	copies    map[int64]*checker.Event // facts about one server's record, by index
}

// call is one acquire or release of a process; end is nil while it is open.
type call struct {
	begin, end *checker.Event
	// stands is the acquire whose success began the hold that stands once the call has returned, nil for none.
	stands *call
}

func (c *call) node() string { return c.begin.Node }

// outcome is Info for a call that is still open: nobody knows.
func (c *call) outcome() checker.Type {
	if c.end == nil {
		return checker.Info
	}
	return c.end.Type
}

func (c *call) acquires() bool {
	return c.begin.F == checker.Acquire || c.begin.F == checker.TryAcquire
}

func (c *call) releases() bool { return c.begin.F == checker.Release }

// index takes a history apart by locks.
func index(h *checker.History) map[string]*lock {
	locks := map[string]*lock{}
	of := func(key string) *lock {
		l := locks[key]
		if l == nil {
			l = &lock{
				lease: h.Header.Lease, byProcess: map[int][]*call{}, byNode: map[string][]*call{},
				copies: map[int64]*checker.Event{},
			}
			locks[key] = l
		}
		return l
	}
	for i := range h.Events {
		e := &h.Events[i]
		switch e.F {
		case checker.RecordSet, checker.RecordGone:
			l := of(e.Key)
			l.facts = append(l.facts, e)
		case checker.Request:
			l := of(e.Key)
			l.requests = append(l.requests, e)
		case checker.Acquire, checker.TryAcquire, checker.Release:
			of(e.Key).add(e)
		}
	}
	spread(locks)
	for _, l := range locks { // order-free: each lock is looked at by itself
		for _, calls := range l.byProcess { // order-free: each process is looked at by itself
			follow(calls)
		}
	}
	return locks
}

// add takes in the call or the return of an operation.
func (l *lock) add(e *checker.Event) {
	calls := l.byProcess[e.Process]
	if e.Type == checker.Invoke {
		c := &call{begin: e}
		l.byProcess[e.Process] = append(calls, c)
		l.byNode[e.Node] = append(l.byNode[e.Node], c)
	} else if n := len(calls); n > 0 && calls[n-1].end == nil {
		calls[n-1].end = e
	}
}

// follow counts the levels of one process and notes which acquire began the hold that stands after each call.
func follow(calls []*call) {
	depth := 0
	var outermost *call
	for _, c := range calls {
		switch {
		case c.end == nil:
		case c.acquires() && c.end.Type == checker.OK:
			if depth == 0 || c.end.Count == 1 { // the client says itself that it is the first level
				outermost, depth = c, 0
			}
			depth++
		case c.releases() && c.end.Type != checker.Info && depth > 0:
			depth--
		}
		if depth > 0 {
			c.stands = outermost
		}
	}
}

// acquired is the call whose success began the hold of a process that stands at time t, nil when none does.
func (l *lock) acquired(process int, t time.Duration) *call {
	calls := l.byProcess[process]
	k := sort.Search(len(calls), func(i int) bool { return calls[i].end == nil || calls[i].end.Time > t })
	if k == 0 {
		return nil
	}
	return calls[k-1].stands
}

// between are the facts whose indices lie strictly between two others.
func (l *lock) between(after, before int64) []*checker.Event {
	from := sort.Search(len(l.facts), func(i int) bool { return l.facts[i].Index > after })
	to := sort.Search(len(l.facts), func(i int) bool { return l.facts[i].Index >= before })
	return l.facts[min(from, to):to]
}

// named are the facts that a violation names.
func (l *lock) named(v checker.Violation) []*checker.Event {
	var facts []*checker.Event
	for _, n := range v.Events {
		facts = append(facts, l.between(n-1, n+1)...)
	}
	return facts
}

// lookBack is over how many later calls of its machine a request can be late.
const lookBack = 8

// during is the call that sent the command of a fact, nil when nobody knows: the latest of the machine that can have
// sent such a command. The request may have been late and the call over.
func (l *lock) during(fact *checker.Event) *call {
	calls := l.byNode[fact.Node]
	k := sort.Search(len(calls), func(i int) bool { return calls[i].begin.Index > fact.Index })
	for i := k - 1; i >= max(k-lookBack, 0); i-- {
		if calls[i].sends(fact) {
			return calls[i]
		}
	}
	if k == 0 {
		return nil
	}
	return calls[k-1]
}

// sends tells whether a call can have sent the command of a fact.
func (c *call) sends(fact *checker.Event) bool {
	if fact.Owner != "" && c.begin.Owner != "" && fact.Owner != c.begin.Owner {
		return false
	}
	switch fact.Command {
	case "SETNX", "GETSET":
		return c.acquires()
	case "DEL":
		return c.releases()
	default:
		return true
	}
}

// ownRecord is the last fact of a call by which the record came to name its caller, nil when none did.
func (l *lock) ownRecord(c *call) *checker.Event {
	if c.end == nil {
		return nil
	}
	for _, f := range slices.Backward(l.between(c.begin.Index, c.end.Index)) {
		if f.Node == c.node() && names(f, c.begin.Owner) {
			return f
		}
	}
	return nil
}

// names tells whether the record names an owner after a fact.
func names(f *checker.Event, owner string) bool { return f.Record != nil && f.Record.Owner == owner }

// beginning is the fact with which the hold began that a record tells of: the last SETNX or GETSET of its owner, or
// else the first of the unbroken row of facts that name it.
func (l *lock) beginning(record *checker.Event) *checker.Event {
	first := record
	k := sort.Search(len(l.facts), func(i int) bool { return l.facts[i].Index > record.Index })
	for _, f := range slices.Backward(l.facts[:k]) {
		if !names(f, record.Record.Owner) {
			break
		}
		first = f
		if f.Command == "GETSET" || f.Command == "SETNX" {
			break
		}
	}
	return first
}

// lapsed tells whether a record had passed its deadline by the clock that judges it.
func lapsed(r *checker.Record) bool { return r != nil && r.Expires != 0 && r.Expires < r.Now }

// due is the true time at which the record that a fact set lapses if the clock that judges it goes right. It is false
// for a record that never does.
func due(f *checker.Event) (time.Duration, bool) {
	return f.Time + time.Duration(f.Record.Expires-f.Record.Now)*time.Millisecond, f.Record.Expires != 0
}

// over tells whether the time of a record was over at true time t, if the clock that judges it goes right.
func over(record *checker.Event, t time.Duration) bool {
	end, ends := due(record)
	return ends && t > end
}

// slack is by how much of its time to live a record may lapse early without anybody's clock having jumped: clocks
// drift.
const slack = 20

// early tells whether a record was over at true time t well before it was due.
func early(record *checker.Event, t time.Duration) bool {
	end, ends := due(record)
	return ends && t < end-(end-record.Time)/slack
}
