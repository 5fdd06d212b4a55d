package checker

// action is what one step of the sequential lock does.
type action uint8

const (
	grant      action = iota // an acquire that succeeded
	maybeGrant               // an acquire of unknown outcome: it may succeed once, at any time after its call, or never
	refusal                  // a try that was refused: the lock was held
	free                     // a release that succeeded
	maybeFree                // a release of unknown outcome
	looseFree                // a release whose hold had ended by itself: it may find the lock held or not
	denial                   // a release that was told "not the owner"
	lapseOf                  // the server ended the hold of one of some clients
	maybeLapse               // the hold of one acquire may end at any later time
)

// step is one operation as the sequential lock sees it.
type step struct {
	action    action
	client    int
	operation int // in analysis.operations, none for lapses
	call      int // position in the history
	ret       int // position, none if it may happen at any time after the call
	clients   []int
	of        int  // maybeLapse: the step of the acquire whose hold may end
	mayLapse  bool // some maybeLapse is of this step
}

// readOnly says that the step never changes the state, so that it may be taken as soon as it is legal.
func (s *step) readOnly() bool { return s.action == refusal || s.action == denial }

// optional says that the step need not happen at all.
func (s *step) optional() bool {
	return s.action == maybeGrant || s.action == maybeFree || s.action == maybeLapse
}

// lockState is the state of the sequential lock: who owns it at how many levels, and by which acquire it was last
// taken, if that matters because its hold may end by itself.
type lockState struct {
	owner int32 // none when free
	count int32
	last  int32
}

var unlocked = lockState{owner: none, last: none}

// specification is the sequential lock: an owner-aware mutex, reentrant or not.
type specification struct {
	reentrant bool
	steps     []step
}

// next takes step number id in state s. It is pure. The optional steps are always legal and change nothing where
// they cannot act, which is the same as if they had not happened.
func (m *specification) next(s lockState, id int32) (lockState, bool) {
	x := &m.steps[id]
	mine := s.owner == int32(x.client)
	last := int32(none)
	if x.mayLapse {
		last = id
	}
	switch x.action {
	case grant, maybeGrant:
		switch {
		case s.owner == none:
			return lockState{int32(x.client), 1, last}, true
		case mine && m.reentrant:
			return lockState{s.owner, s.count + 1, last}, true
		}
		return s, x.action == maybeGrant
	case free, maybeFree, looseFree:
		switch {
		case !mine:
			return s, x.action != free
		case s.count > 1:
			return lockState{s.owner, s.count - 1, s.last}, true
		}
		return unlocked, true
	case refusal:
		return s, s.owner != none && !(mine && m.reentrant)
	case denial:
		return s, !mine
	case maybeLapse:
		if s.owner != none && s.last == int32(x.of) {
			return unlocked, true
		}
		return s, true
	default:
		for _, c := range x.clients {
			if s.owner == int32(c) {
				return unlocked, true
			}
		}
		return s, true
	}
}

// specify turns what is known of one lock into steps of the sequential lock, in the order of their calls. What
// constrains nothing is left out: refusals by a lock that had been waited for until the time ran out, and refusals
// that the record on the server explains.
func (a *analysis) specify(log *lockLog, options Options) *specification {
	m := &specification{reentrant: options.Promises.Reentrant}
	stepOf := make(map[int]int, len(log.operations))
	explained := a.explainedRefusals(log)
	for _, id := range log.operations {
		o := &a.operations[id]
		s := step{client: o.client, operation: id, call: o.call, ret: o.ret}
		ok := true
		switch {
		case o.outcome == Info:
			s.ret = none
			s.action = maybeFree
			if o.acquires() {
				s.action = maybeGrant
			}
		case o.acquires() && o.outcome == OK:
			s.action = grant
		case o.acquires():
			s.action = refusal
			ok = o.f == TryAcquire && !o.timed && !explained[id]
		case o.outcome == Fail:
			s.action = denial
		case o.before == 0 && o.stale > 0 && !options.Strict:
			s.action = looseFree
		default:
			s.action = free
		}
		if ok {
			stepOf[id] = len(m.steps)
			m.steps = append(m.steps, s)
		}
	}
	if options.Strict {
		return m
	}
	for _, l := range log.lapses {
		m.steps = append(m.steps, step{
			action: lapseOf, operation: none, client: none, call: l.position, ret: l.position, clients: l.clients,
		})
	}
	for _, x := range log.expiries {
		if of, known := stepOf[x.acquire]; known {
			m.mayLapse(of, x.position)
		}
	}
	if options.Promises.Leased && len(log.facts) == 0 {
		// The hold of an acquire that nobody saw return has a lease too, but no deadline that anybody knows.
		for id, n := 0, len(m.steps); id < n; id++ {
			if s := &m.steps[id]; s.action == maybeGrant {
				m.mayLapse(id, s.call)
			}
		}
	}
	return m
}

// mayLapse adds that the hold of step number of may end at any time after a position.
func (m *specification) mayLapse(of, position int) {
	m.steps[of].mayLapse = true
	m.steps = append(m.steps, step{
		action: maybeLapse, operation: none, client: m.steps[of].client, call: position, ret: none, of: of,
	})
}

// explainedRefusals finds the refused tries for which the record on the server is explanation enough: it named
// another at some time between call and return, or the client itself had set it for a moment and took it back. The
// lock of the specification knows neither records nor such moments.
func (a *analysis) explainedRefusals(log *lockLog) map[int]bool {
	explained := make(map[int]bool)
	if len(log.facts) == 0 {
		return explained
	}
	type present struct {
		position int
		setter   int // none when gone
		there    bool
	}
	timeline := make([]present, 0, len(log.facts))
	for _, i := range log.facts {
		timeline = append(timeline, present{i, a.cause[i], a.events[i].F == RecordSet})
	}
	next := 0 // the first fact after the call
	for _, id := range log.operations {
		o := &a.operations[id]
		for next < len(timeline) && timeline[next].position < o.call {
			next++
		}
		if o.f != TryAcquire || o.outcome != Fail {
			continue
		}
		if next > 0 && timeline[next-1].there && timeline[next-1].setter != o.client {
			explained[id] = true
		}
		for k := next; !explained[id] && k < len(timeline) && timeline[k].position < o.ret; k++ {
			// A record of another, or one that it caused itself: either explains. So does one that was removed here.
			explained[id] = true
		}
	}
	return explained
}
