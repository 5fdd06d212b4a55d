package checker

import (
	"strings"
	"time"
)

// signs follows a history from event to event and tells a Monitor what may be a violation. It may be wrong: a false
// sign costs time, and one that it misses is found when the whole history is judged.
type signs struct {
	monitor *Monitor
	locks   map[string]*watchedLock
	holds   map[int][]*watchedHold  // by process
	highest map[string]watchedToken // by resource: the highest token that was accepted
	// suspects are the machines whose next answer tells whether what they did to another's record was wrong.
	suspects map[string]bool
	unheld   map[int]bool   // processes that called a write without a hold
	writers  map[string]int // by machine: the process that called a write last
	facts    factSigns
}

// watchedToken is a token and whose it is.
type watchedToken struct {
	token  int64
	writer int
}

// watchedLock is what is known of one lock.
type watchedLock struct {
	claims    []*watchedHold // those that may be open
	latest    *watchedHold   // whoever got in last
	record    *Record
	disturbed bool // the record of a live grant was overwritten or removed by another
	changes   int  // how often the record came to name another owner
	unproven  bool // somebody was let in before there was any fact
	token     int64
	given     map[int64]bool
}

// watchedHold is where one process stands with one lock, in the manner of hold.
type watchedHold struct {
	lock         string
	process      int
	node, owner  string
	depth, stale int
	leaving      bool // its last release was called, which ended the claim
	before       int  // its depth when it called a release
	deadline     time.Duration
	token        int64
	changes      int
	called       time.Duration // when the acquire was called that got it
	given        bool          // it has called a release since
}

func (s *signs) init(m *Monitor) {
	s.monitor = m
	s.locks, s.holds = make(map[string]*watchedLock), make(map[int][]*watchedHold)
	s.highest, s.suspects = make(map[string]watchedToken), make(map[string]bool)
	s.unheld, s.writers = make(map[int]bool), make(map[string]int)
	s.facts.init()
}

func (s *signs) lock(key string) *watchedLock {
	l := s.locks[key]
	if l == nil {
		l = &watchedLock{given: make(map[int64]bool)}
		s.locks[key] = l
	}
	return l
}

func (s *signs) hold(e *Event) *watchedHold {
	for _, h := range s.holds[e.Process] {
		if h.lock == e.Key {
			return h
		}
	}
	h := &watchedHold{lock: e.Key, process: e.Process, node: e.Node, owner: e.Owner}
	s.holds[e.Process] = append(s.holds[e.Process], h)
	return h
}

// take takes in one event.
func (s *signs) take(e *Event) {
	switch e.F {
	case RecordSet, RecordGone:
		if s.facts.record(e, s.monitor.options.Margin) {
			s.monitor.sign(NotEarly, e.Time)
		}
		if e.F == RecordSet && s.facts.node(e.Node).refused > 0 {
			s.monitor.sign(PhantomEffect, e.Time)
		}
		s.fact(e)
	case Served:
		s.facts.served(e)
	case Applied:
		s.applied(e)
	case Acquire, TryAcquire:
		if e.Type == Invoke {
			s.facts.called(e)
			s.hold(e).called = e.Time
		} else {
			s.suspect(e)
			s.answered(e)
			s.acquired(e)
			s.facts.closed(e)
		}
	case Release:
		if e.Type == Invoke {
			s.facts.called(e)
			s.releaseCalled(e)
		} else {
			s.suspect(e)
			s.releaseReturned(e)
			s.facts.closed(e)
		}
	case Write:
		if e.Type == Invoke {
			s.unheld[e.Process] = !s.holding(e.Process, e.Time)
			s.facts.late[e.Process] = s.overstaying(e.Process, e.Time)
			s.writers[e.Node] = e.Process
		}
	case Crash, Lost:
		if e.F == Crash {
			s.answered(e)
			s.facts.closed(e)
		}
		for _, h := range s.holds[e.Process] {
			if e.F == Crash || e.Key == "" || e.Key == h.lock {
				h.end()
			}
		}
	case Renew:
		s.renewed(e)
	}
}

// end ends a claim by itself.
func (h *watchedHold) end() { h.stale, h.depth = h.stale+h.depth, 0 }

// expire ends the claim if its deadline came before a time.
func (h *watchedHold) expire(now time.Duration) {
	if h.depth > 0 && !h.leaving && h.deadline != 0 && h.deadline <= now {
		h.end()
	}
}

// claims tells whether the claim is open at a time.
func (h *watchedHold) claims(now time.Duration) bool {
	h.expire(now)
	return h.depth > 0 && !h.leaving
}

func (s *signs) holding(process int, now time.Duration) bool {
	for _, h := range s.holds[process] {
		if h.claims(now) {
			return true
		}
	}
	return false
}

// overstaying tells whether the lease of some hold of a process may be over.
func (s *signs) overstaying(process int, now time.Duration) bool {
	for _, h := range s.holds[process] {
		h.expire(now)
		if s.facts.overstays(h, now) {
			return true
		}
	}
	return false
}

// refused takes an acquire that was told that another has the lock.
func (s *signs) refused(e *Event) {
	taken := 0
	for _, other := range s.lock(e.Key).claims {
		if other.process != e.Process && other.claims(e.Time) {
			taken++
		}
	}
	permits := s.monitor.options.Promises.Permits
	untrue, phantom := s.facts.refusedTry(e, taken >= permits)
	if untrue || permits > 1 {
		s.monitor.sign(TruthfulRefusal, e.Time)
	}
	if phantom {
		s.monitor.sign(PhantomEffect, e.Time)
	}
}

// acquired takes the return of an acquire.
func (s *signs) acquired(e *Event) {
	if e.Type == Fail {
		s.refused(e)
	}
	if e.Type != OK {
		return
	}
	h, l := s.hold(e), s.lock(e.Key)
	h.expire(e.Time)
	h.depth++
	if s.facts.miscounts(e, h.depth) {
		s.monitor.sign(Reentrancy, e.Time)
	}
	if h.depth > 1 {
		if e.Deadline != 0 {
			h.deadline = e.Deadline
		}
		if e.Token != 0 && e.Token != h.token {
			s.monitor.sign(TokenOrder, e.Time)
		}
		l.given[e.Token] = true
		return
	}
	h.deadline, h.token, h.changes = e.Deadline, e.Token, l.changes
	if s.earlyAfter(l.latest, h, e.Time) {
		s.monitor.sign(NotEarly, e.Time)
	}
	h.given = false
	s.entered(l, h, e)
	if e.Token != 0 {
		if e.Token <= l.token {
			s.monitor.sign(TokenOrder, e.Time)
		}
		l.token = max(l.token, e.Token)
		l.given[e.Token] = true
	}
	l.unproven = l.unproven || l.changes == 0
	if l.disturbed || l.changes > 0 && (l.record == nil || l.record.Owner != e.Owner) {
		s.monitor.sign(GrantExclusivity, e.Time)
	}
}

// earlyAfter tells whether a hold may have passed to another before its lease was over, by what clients were told.
func (s *signs) earlyAfter(before, h *watchedHold, now time.Duration) bool {
	if before == nil || before.process == h.process || before.given {
		return false
	}
	over := before.deadline
	if lease := s.monitor.history.Header.Lease; s.monitor.options.Promises.Leased && lease > 0 {
		over = before.called + lease
	}
	return now < over-s.monitor.options.Margin
}

// entered notes a claim that begins, and looks whether there is one too many.
func (s *signs) entered(l *watchedLock, h *watchedHold, e *Event) {
	open := l.claims[:0]
	for _, other := range l.claims {
		if other.claims(e.Time) && other != h {
			open = append(open, other)
		}
	}
	if len(open) >= s.monitor.options.Promises.Permits {
		s.monitor.sign(MutualExclusion, e.Time)
	}
	l.claims = append(open, h)
	l.latest = h
}

// releaseCalled takes the call of a release.
func (s *signs) releaseCalled(e *Event) {
	h := s.hold(e)
	h.expire(e.Time)
	if left := min(e.Count, 1<<30); left > 0 && h.depth > 0 {
		h.depth = max(1, int(left)+1-h.stale)
	}
	h.leaving, h.before = h.depth == 1, h.depth
	h.given = true
}

// releaseReturned takes the return of a release.
func (s *signs) releaseReturned(e *Event) {
	h, l := s.hold(e), s.lock(e.Key)
	h.leaving = false
	if gone := s.facts.node(e.Node).gone > s.facts.callOf(e.Process).index; gone && h.before > 1 {
		s.monitor.sign(Reentrancy, e.Time)
	}
	if e.Type == Fail && s.facts.refusedRelease(e) {
		s.monitor.sign(PhantomEffect, e.Time)
	}
	switch {
	case e.Type == OK && h.depth == 0 && h.stale == 0, e.Type == Fail && h.before > 0:
		s.monitor.sign(ReleaseByOwner, e.Time)
	case s.monitor.options.Promises.LossTold && e.Type == OK && h.changes != l.changes:
		s.monitor.sign(ReleaseByOwner, e.Time)
	}
	switch {
	case e.Type == Fail:
		h.depth, h.stale = 0, 0
	case e.Type == Info && h.depth > 1 && e.Count > 0:
		h.depth = min(h.depth, int(min(e.Count, 1<<30)))
	case h.depth > 0:
		h.depth--
	case h.stale > 0:
		h.stale--
	}
	if e.Type == OK && s.facts.miscounts(e, h.depth) {
		s.monitor.sign(Reentrancy, e.Time)
	}
}

// renewed takes a deadline that was moved.
func (s *signs) renewed(e *Event) {
	h := s.hold(e)
	h.expire(e.Time)
	if e.Deadline == 0 {
		return
	}
	h.deadline = e.Deadline
	if h.depth == 0 && h.stale > 0 {
		h.depth, h.stale = h.stale, 0
		s.entered(s.lock(e.Key), h, e)
	}
}

// fact takes what became of a record.
func (s *signs) fact(e *Event) {
	l := s.lock(e.Key)
	if e.F == RecordSet && (l.record == nil || e.Record == nil || l.record.Owner != e.Record.Owner) {
		l.changes++
	}
	if l.unproven {
		l.unproven = false
		s.monitor.sign(GrantExclusivity, e.Time)
	}
	if e.F == RecordSet && e.Previous == nil && l.record != nil {
		l.disturbed = true
	}
	l.record = e.Record
	if e.Previous == nil || e.Node == "" || e.Previous.Owner == e.Owner || strings.EqualFold(e.Command, CommandExpire) {
		return
	}
	s.suspects[e.Node] = true
	s.monitor.sign(ReleaseByOwner, e.Time)
	if !lapsedBefore(e) {
		l.disturbed = true
		s.monitor.sign(Clobber, e.Time)
	}
}

// suspect takes an answer to a machine that has tampered with another's record: only now it may be clear what that was.
func (s *signs) suspect(e *Event) {
	if !s.suspects[e.Node] {
		return
	}
	delete(s.suspects, e.Node)
	for _, p := range []Property{ReleaseByOwner, Clobber} {
		s.monitor.sign(p, e.Time)
	}
}

// answered takes an answer to an acquire, or the end of a machine.
func (s *signs) answered(e *Event) {
	if s.facts.answered(e) {
		s.monitor.sign(NotEarly, e.Time)
	}
}

// applied takes a write that the resource executed.
func (s *signs) applied(e *Event) {
	key := e.Key
	if s.locks[key] == nil {
		key = s.monitor.history.Header.Lock
	}
	l := s.locks[key]
	if l == nil && len(s.locks) == 1 {
		for _, only := range s.locks { // order-free: there is but one
			l = only
		}
	}
	if s.facts.late[s.writerOf(e)] {
		s.monitor.sign(UseInLease, e.Time)
	}
	if l != nil {
		stranger := l.latest == nil || !l.latest.claims(e.Time) || l.latest.node != e.Node ||
			e.Process >= 0 && l.latest.process != e.Process || s.unheld[l.latest.process]
		if stranger {
			s.monitor.sign(Resource, e.Time)
		}
		if e.Token != 0 && !l.given[e.Token] {
			s.monitor.sign(TokenOrder, e.Time)
		}
	}
	if !e.Accepted {
		return
	}
	writer := s.writerOf(e)
	top, any := s.highest[e.Key]
	if any && (e.Token < top.token || e.Token == top.token && top.writer != writer) {
		s.monitor.sign(ResourceFenced, e.Time)
	}
	if !any || e.Token > top.token {
		s.highest[e.Key] = watchedToken{e.Token, writer}
	}
}

// writerOf is the process whose write the resource executed, as far as that is known.
func (s *signs) writerOf(e *Event) int {
	if known, ok := s.writers[e.Node]; e.Process < 0 && ok {
		return known
	}
	return e.Process
}
