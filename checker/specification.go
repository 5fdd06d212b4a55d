package checker

import "github.com/lockstep-sim/lockstep/checker/model"

// step is one operation as the lock object sees it, and between which positions of the history it took effect.
type step struct {
	model.Operation
	operation int // in analysis.operations, none for what the server did by itself
	call      int
	ret       int // none if it may happen at any time after the call, or never
}

// readOnly says that the step never changes the state, so that it may be taken as soon as it is legal.
func (s *step) readOnly() bool { return s.Action == model.Refuse || s.Action == model.Deny }

// optional says that the step need not happen at all: its outcome is unknown, or it is the end of a hold that may end
// at any time.
func (s *step) optional() bool { return s.Lenient && s.ret == none }

// loose says that the step is a release whose hold had ended by itself: it may find the lock held or not.
func (s *step) loose() bool { return s.Action == model.Release && s.Lenient && s.ret != none }

// lapse says that the step is the end of a hold that the server decided at one point.
func (s *step) lapse() bool { return s.Action == model.Expire && s.ret != none }

// mayLapse says that the step is the end of a hold that may end at any time.
func (s *step) mayLapse() bool { return s.Action == model.Expire && s.ret == none }

// specification is the lock object and what was asked of it.
type specification struct {
	lock  model.Lease
	start model.LeaseState
	steps []step
}

// next takes step number id in state s. It is pure.
func (m *specification) next(s model.LeaseState, id int32) (model.LeaseState, bool) {
	x := &m.steps[id].Operation
	next, legal := m.lock.Next(s, x)
	if !legal {
		return s, x.Lenient
	}
	return next, true
}

// specify turns what is known of one lock into steps of the lock object, in the order of their calls, and after them
// the ends of holds that nobody asked for.
func (a *analysis) specify(log *lockLog, options Options, explained refusals) *specification {
	m := &specification{lock: model.Lease{Exclusive: !options.Promises.Reentrant}, start: model.FreeLease}
	m.steps = make([]step, 0, len(log.operations)+len(log.lapses)+len(log.expiries))
	lapses := !options.Strict && (len(log.expiries) > 0 || options.Promises.Leased)
	var stepOf map[int]int
	if lapses {
		stepOf = make(map[int]int, len(log.operations))
	}
	words := a.phrase(log, m.lock, 0, explained)
	words.lapses = !options.Strict
	for _, id := range log.operations {
		x, says := words.operation(id)
		if !says {
			continue
		}
		o := &a.operations[id]
		s := step{Operation: x, operation: id, call: o.call, ret: o.ret}
		if o.outcome() == Info {
			s.ret = none
		}
		if lapses {
			stepOf[id] = len(m.steps)
		}
		m.steps = append(m.steps, s)
	}
	if !options.Strict {
		a.specifyLapses(m, log, words, stepOf, options)
	}
	return m
}

// specifyLapses adds the ends of holds that nobody asked for.
func (a *analysis) specifyLapses(
	m *specification, log *lockLog, words *phrasing, stepOf map[int]int, options Options,
) {
	calls := len(m.steps)
	for i := range log.lapses {
		l := &log.lapses[i]
		m.steps = append(m.steps, step{
			Operation: words.lapseOf(l), operation: none, call: l.position, ret: l.position,
		})
	}
	for _, x := range log.expiries {
		if of, known := stepOf[x.acquire]; known {
			m.addMayLapse(of, x.position)
		}
	}
	if options.Promises.Leased && len(log.facts) == 0 {
		// The hold of an acquire that nobody saw return has a lease too, but no deadline that anybody knows.
		for id := range calls {
			if s := &m.steps[id]; s.Action == model.Acquire && s.Lenient {
				m.addMayLapse(id, s.call)
			}
		}
	}
}

// addMayLapse adds that the hold of step number of may end at any time after a position.
func (m *specification) addMayLapse(of, position int) {
	m.steps[of].Hold = int32(of) + 1
	m.steps = append(m.steps, step{
		Operation: model.Operation{
			Action: model.Expire, Client: m.steps[of].Client, Lenient: true, Hold: int32(of) + 1,
		},
		operation: none, call: position, ret: none,
	})
}

// refusals is a set of operations; nil is empty.
type refusals []bool

func (r refusals) has(operation int) bool { return r != nil && r[operation] }

// explainedRefusals finds the refused tries for which the record on the server is explanation enough: it named
// another at some time between call and return, or the client itself had set it for a moment and took it back. The
// lock object knows neither records nor such moments.
func (a *analysis) explainedRefusals() refusals {
	var explained refusals
	for _, log := range a.locks {
		if len(log.facts) == 0 {
			continue
		}
		if explained == nil {
			explained = make(refusals, len(a.operations))
		}
		next := 0 // the first fact after the call
		for _, id := range log.operations {
			o := &a.operations[id]
			for next < len(log.facts) && log.facts[next] < o.call {
				next++
			}
			if o.f() == TryAcquire && o.outcome() == Fail {
				explained[id] = a.explains(log, next, o)
			}
		}
	}
	return explained
}

// explains tells whether the record explains a refusal; next is the first fact after its call.
func (a *analysis) explains(log *lockLog, next int, o *operation) bool {
	if next > 0 {
		if before := log.facts[next-1]; a.events[before].F == RecordSet && a.causeOf(before) != o.client {
			return true
		}
	}
	// A record of another, or one that it caused itself: either explains. So does one that was removed here.
	return next < len(log.facts) && log.facts[next] < o.ret
}
