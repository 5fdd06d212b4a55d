package checker

import (
	"sort"

	"github.com/lockstep-sim/lockstep/checker/model"
)

// cut is a position at which the lock is surely held, so that its state is known whatever the order of what came before
// it. A history can be judged in pieces between cuts.
type cut struct {
	position int
	state    model.LeaseState
}

// standingOf is what is certain of one client while cuts are looked for.
type standingOf struct {
	depth int32 // levels it holds at most
	// doubtful says that a hold of its may have ended by itself, so that it may hold less. It is certain again when the
	// depth is 0.
	doubtful bool
	pending  pendingStep
}

// pendingStep is what a client has under way.
type pendingStep uint8

const (
	nothingPending pendingStep = iota
	acquirePending
	releasePending
)

// unexplained tells whether what is under way may not be over at a position at which another holds: an acquire whose
// hold may have ended by itself, and a release of which it is not certain that it has a hold to end.
func (s *standingOf) unexplained() bool {
	return s.pending == acquirePending && s.doubtful || s.pending == releasePending && (s.doubtful || s.depth == 0)
}

// cuts finds the positions at which the lock is surely held: right after the return of an acquire, before its client
// has called anything else.
//
// At such a position every release and every refusal that is under way has an explanation in the past: a release of a
// client that held can only have ended an earlier hold, a refusal and a denial are true at this very position. An
// acquire of another that is under way has not taken effect: it would have had to end again before, which takes an
// answer that it has not got, or a lapse, which makes its client doubtful. An operation of unknown outcome may take
// effect at any later time, so that nothing is certain once there was one.
func (m *specification) cuts() []cut {
	clients := make([]standingOf, m.clients())
	unexplained := 0
	change := func(c int32, update func(*standingOf)) {
		s := &clients[c]
		if s.unexplained() {
			unexplained--
		}
		update(s)
		if s.unexplained() {
			unexplained++
		}
	}
	doubt := func(s *standingOf) { s.doubtful = s.doubtful || s.depth > 0 || s.pending == acquirePending }
	var cuts []cut
	for _, key := range m.moments() {
		now := unpacked(key)
		x := &m.steps[now.step]
		switch {
		case x.mayLapse():
			change(x.Client, doubt)
		case x.lapse():
			for _, c := range x.Owners {
				if int(c) < len(clients) {
					change(c, doubt)
				}
			}
		case x.optional():
			return cuts
		case !now.returns:
			change(x.Client, func(s *standingOf) { s.call(x) })
		default:
			change(x.Client, func(s *standingOf) { s.settle(x) })
			s := &clients[x.Client]
			if x.Action == model.Acquire && !s.doubtful && unexplained == 0 {
				cuts = append(cuts, cut{now.position, model.LeaseState{Owner: x.Client, Count: s.depth, Hold: x.Hold}})
			}
		}
	}
	return cuts
}

// call takes the call of one step.
func (s *standingOf) call(x *step) {
	switch {
	case x.Action == model.Acquire:
		s.pending = acquirePending
	case x.Action == model.Release && !x.Lenient:
		s.pending = releasePending
	}
}

// settle takes the answer of one step.
func (s *standingOf) settle(x *step) {
	s.pending = nothingPending
	switch x.Action {
	case model.Acquire:
		s.depth++
	case model.Release:
		s.depth = max(s.depth-1, 0)
	case model.Deny:
		s.depth = 0
	}
	if s.depth == 0 {
		s.doubtful = false
	}
}

// between is the specification of the piece of history after a cut up to position last. What had not been called by
// then is left out, what had not returned stays open. The cut before the first event is beginning.
func (m *specification) between(from cut, last int) *specification {
	part := &specification{lock: m.lock, start: from.state}
	part.start.Hold = 0
	moved := make(map[int32]int32) // numbers of holds
	for i := range m.steps {
		x := m.steps[i]
		if x.call > last || x.ret != none && x.ret <= from.position || x.mayLapse() {
			continue
		}
		if x.call <= from.position && x.Action != model.Acquire {
			continue // it has its explanation before the cut
		}
		if x.ret > last {
			x.ret = none
			x.Lenient = true
			if x.readOnly() {
				continue
			}
		}
		if x.Hold != 0 {
			hold := int32(len(part.steps)) + 1
			moved[x.Hold], x.Hold = hold, hold
		}
		part.steps = append(part.steps, x)
	}
	// The hold of the cut has a number of its own, beyond those of all steps.
	if from.state.Hold != 0 {
		part.start.Hold = int32(len(m.steps)) + 1
		moved[from.state.Hold] = part.start.Hold
	}
	for i := range m.steps {
		x := m.steps[i]
		if hold, known := moved[x.Hold]; known && x.mayLapse() && x.call <= last {
			x.Hold = hold
			part.steps = append(part.steps, x)
		}
	}
	return part
}

// beginning is the cut before the first event.
func (m *specification) beginning() cut { return cut{none, m.start} }

// upTo is the specification of the history that ends with a position.
func (m *specification) upTo(last int) *specification { return m.between(m.beginning(), last) }

// around finds the last cut before a position, and the first at or after it, none if there is none.
func around(cuts []cut, beginning cut, position int) (before cut, after int) {
	k := sort.Search(len(cuts), func(i int) bool { return cuts[i].position >= position })
	before, after = beginning, none
	if k > 0 {
		before = cuts[k-1]
	}
	if k < len(cuts) {
		after = k
	}
	return before, after
}
