package checker

import (
	"math"
	"time"
)

// factSigns follows what the server did and what its callers were told of it: for the properties that hold one against
// the other. As signs, it tells all that may be a violation, and some that is none.
type factSigns struct {
	calls map[int]*watchedCall     // by process: the latest on a lock
	index map[int64]*watchedCall   // the same by their invocations
	nodes map[string]*watchedNode  // by machine
	late  map[int]bool             // processes whose latest write was sent when their lease may have been over
	locks map[string]*watchedFacts // by lock
}

// watchedCall is the latest call of a process on a lock.
type watchedCall struct {
	index  int64 // of its invocation
	caller watchedOwner
	served Type // what the server decided about it
	free   bool // when it refused it, nobody else had the lock
	open   bool
	// refused says that it returned with a refusal.
	refused bool
}

// watchedNode is what the requests of one machine did to records.
type watchedNode struct {
	open      int // calls
	refused   int // processes whose latest call was refused
	set, gone int64
	count     int64 // levels that the record set last has
}

// watchedFacts is what became of the record of one lock.
type watchedFacts struct {
	now   watchedOwner  // whom it names
	over  time.Duration // until when the lease of the record lasts in true time, 0 = nobody knows
	early bool          // the record of somebody ended before its lease, and nobody has the lock since
	hasty string        // the machine whose request got the lock early; its answer tells whether it was let in
	known bool          // there are facts at all
	// named are the two owners that the record named last, and up to which event.
	named  [2]watchedOwner
	leases map[string]time.Duration // by machine: until when the lease lasts that it asked for last
}

// watchedOwner is who a record names, and the machine whose request put the name there.
type watchedOwner struct {
	owner, node string
	until       int64
}

// is tells whether two may be the same.
func (o watchedOwner) is(other watchedOwner) bool {
	return o.owner != "" && (o.owner == other.owner || o.node != "" && o.node == other.node)
}

func (s *factSigns) init() {
	s.calls, s.nodes = make(map[int]*watchedCall), make(map[string]*watchedNode)
	s.index = make(map[int64]*watchedCall)
	s.late, s.locks = make(map[int]bool), make(map[string]*watchedFacts)
}

func (s *factSigns) lock(key string) *watchedFacts {
	l := s.locks[key]
	if l == nil {
		l = &watchedFacts{leases: make(map[string]time.Duration)}
		s.locks[key] = l
	}
	return l
}

func (s *factSigns) node(name string) *watchedNode {
	n := s.nodes[name]
	if n == nil {
		n = &watchedNode{}
		s.nodes[name] = n
	}
	return n
}

// called takes a call on a lock.
func (s *factSigns) called(e *Event) {
	c := s.calls[e.Process]
	if c == nil {
		c = &watchedCall{}
		s.calls[e.Process] = c
	}
	n := s.node(e.Node)
	if c.refused {
		n.refused--
	}
	n.open++
	delete(s.index, c.index)
	*c = watchedCall{index: e.Index, caller: watchedOwner{owner: e.Owner, node: e.Node}, open: true}
	s.index[e.Index] = c
}

// callOf is the latest call of a process. One that never called, in a history that is not well-formed, has an empty
// one.
func (s *factSigns) callOf(process int) *watchedCall {
	if c := s.calls[process]; c != nil {
		return c
	}
	return &watchedCall{}
}

// closed takes the end of the call of a process, if there is one: its return, or that of the process.
func (s *factSigns) closed(e *Event) {
	if c := s.calls[e.Process]; c != nil && c.open {
		c.open = false
		s.node(c.caller.node).open--
	}
}

// served takes what the server decided about a call.
func (s *factSigns) served(e *Event) {
	if c := s.index[e.Call]; c != nil {
		l := s.lock(e.Key)
		c.served, c.free = e.Type, l.known && (l.now.owner == "" || l.now.is(c.caller))
	}
}

// record takes what became of a record; it tells whether a hold passed on early, if no call is open that may have got
// it: its answer comes first.
func (s *factSigns) record(e *Event, margin time.Duration) (early bool) {
	l := s.lock(e.Key)
	l.known = true
	now, by := watchedOwner{}, s.node(e.Node)
	if e.F == RecordSet && e.Record != nil {
		now = watchedOwner{owner: e.Record.Owner, node: e.Node}
	}
	if l.now.owner != "" && now.owner != l.now.owner {
		own := e.Node != "" && e.Owner == l.now.owner // its owner gave it back
		l.early = !own && l.over != 0 && e.Time < l.over-margin
	}
	if early = l.early && e.F == RecordSet; early && by.open > 0 {
		l.hasty, early = e.Node, false
	}
	if e.F == RecordGone {
		by.gone = e.Index
	} else {
		by.set, by.count = e.Index, e.Count
		if e.Record != nil && e.Record.Count > 0 {
			by.count = e.Record.Count
		}
		l.early = false
	}
	l.name(now, e.Index)
	if l.over = 0; e.Record != nil && e.Record.Expires > e.Record.Now {
		l.over = e.Time + time.Duration(e.Record.Expires-e.Record.Now)*time.Millisecond
		if e.Node != "" {
			l.leases[e.Node] = l.over
		}
	}
	return early
}

// name notes whom the record names from an event on.
func (l *watchedFacts) name(now watchedOwner, index int64) {
	if now.owner == l.now.owner && now.owner != "" {
		return
	}
	if l.now.owner != "" {
		l.named[0].until = index
	}
	if l.now = now; now.owner == "" {
		return
	}
	if l.named[0].owner != now.owner {
		l.named[1] = l.named[0]
	}
	l.named[0] = now
	l.named[0].until = math.MaxInt64
}

// takenSince tells whether the record surely named another than somebody at some time from an event on.
func (l *watchedFacts) takenSince(caller watchedOwner, index int64) bool {
	for _, other := range l.named {
		if other.owner != "" && !other.is(caller) && other.until >= index {
			return true
		}
	}
	return false
}

// answered takes an answer to a machine, or its end: only now it may be clear that it got the lock early.
func (s *factSigns) answered(e *Event) (early bool) {
	for key, l := range s.locks { // order-free: the locks do not depend on each other
		if l.hasty != "" && l.hasty == e.Node && (e.F == Crash || key == e.Key) {
			l.hasty, early = "", true
		}
	}
	return early
}

// finish tells whether somebody got a lock early who was not answered.
func (s *factSigns) finish() (early bool) {
	for _, l := range s.locks { // order-free: any one will do
		early = early || l.hasty != ""
	}
	return early
}

// refusedRelease tells whether a release that was refused may have taken effect all the same.
func (s *factSigns) refusedRelease(e *Event) bool {
	c := s.callOf(e.Process)
	return s.node(e.Node).gone > c.index || c.served == OK
}

// refusedTry takes the refusal of a call that asked for the lock; it tells whether nobody else may have had it, and
// whether the call may have taken effect all the same. Taken says that another believed to have the lock just now.
func (s *factSigns) refusedTry(e *Event, taken bool) (untrue, phantom bool) {
	l, c := s.lock(e.Key), s.callOf(e.Process)
	c.refused = true
	s.node(c.caller.node).refused++
	if !l.known {
		return !taken, c.served == OK
	}
	return c.free || !l.takenSince(c.caller, c.index), l.now.is(c.caller)
}

// miscounts tells whether the record may count other levels than a client that was told so many.
func (s *factSigns) miscounts(e *Event, levels int) bool {
	n := s.node(e.Node)
	return n.set > s.callOf(e.Process).index && n.count != int64(levels)
}

// overstays tells whether the lease of a hold may be over.
func (s *factSigns) overstays(h *watchedHold, now time.Duration) bool {
	l := s.lock(h.lock)
	over := l.leases[h.node]
	return h.depth == 0 && h.stale > 0 || over != 0 && now > over || l.known && l.now.owner != h.owner
}
