package checker

import (
	"github.com/anishathalye/porcupine"

	"github.com/lockstep-sim/lockstep/checker/model"
)

// stepLimit counts the steps of the lock object that Porcupine tries. Once there are too many no step is legal any
// more, so that Porcupine comes to an end with an answer that means nothing. Steps, unlike seconds, are the same on
// every machine: what is found is a function of the history.
type stepLimit struct {
	left      int
	exhausted bool
}

// take counts one step; false means that there are none left.
func (l *stepLimit) take() bool {
	if l.left == 0 {
		l.exhausted = true
		return false
	}
	l.left--
	return true
}

// result turns Porcupine's answer into one that heeds the limit.
func (l *stepLimit) result(legal bool) Result {
	switch {
	case l.exhausted:
		return Unknown
	case legal:
		return Holds
	default:
		return Violated
	}
}

// porcupineModel is the lock object in Porcupine's terms: the input of an operation is the number of its step.
func (m *specification) porcupineModel(limit *stepLimit) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return m.start },
		Step: func(state, input, _ any) (bool, any) {
			if !limit.take() {
				return false, state
			}
			next, legal := m.next(state.(model.LeaseState), input.(int32))
			return legal, next
		},
	}
}

// porcupineEvents lists calls and returns in the order of the history, never by time: Porcupine takes equal times for
// concurrent. Steps of unknown outcome return at the very end. They are always legal there, so that they need not have
// happened; a step without return would make Porcupine call the history illegal without a word.
func (m *specification) porcupineEvents() []porcupine.Event {
	var events []porcupine.Event
	for _, key := range m.moments() {
		now := unpacked(key)
		x := &m.steps[now.step]
		kind := porcupine.CallEvent
		if now.returns {
			kind = porcupine.ReturnEvent
		}
		e := porcupine.Event{ClientId: max(int(x.Client), 0), Kind: kind, Value: now.step, Id: int(now.step)}
		events = append(events, e)
		if x.lapse() {
			e.Kind = porcupine.ReturnEvent
			events = append(events, e)
		}
	}
	for i := range m.steps {
		if m.steps[i].ret == none {
			events = append(events, porcupine.Event{
				ClientId: max(int(m.steps[i].Client), 0), Kind: porcupine.ReturnEvent, Value: int32(i), Id: i,
			})
		}
	}
	return events
}

// porcupineResult asks Porcupine for its opinion on all steps.
func porcupineResult(m *specification, steps int) Result {
	limit := &stepLimit{left: steps}
	return limit.result(porcupine.CheckEvents(m.porcupineModel(limit), m.porcupineEvents()))
}

// porcupineExplores asks Porcupine about steps of any model.
func porcupineExplores(lock model.Model, steps []step, most int) Result {
	limit := &stepLimit{left: most}
	m := &specification{steps: steps}
	p := porcupine.Model{
		Init: func() any { return lock.Start() },
		Step: func(state, input, _ any) (bool, any) {
			if !limit.take() {
				return false, state
			}
			next, legal := model.Take(lock, state.(model.State), &m.steps[input.(int32)].Operation)
			return legal, next
		},
	}
	return limit.result(porcupine.CheckEvents(p, m.porcupineEvents()))
}
