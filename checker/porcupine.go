package checker

import (
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

// porcupineModel is the sequential lock in Porcupine's terms: the input of an operation is the number of its step.
func (m *specification) porcupineModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return unlocked },
		Step: func(state, input, _ any) (bool, any) {
			next, legal := m.next(state.(lockState), input.(int32))
			return legal, next
		},
	}
}

// porcupineEvents lists calls and returns in the order of the history, never by time: Porcupine takes equal times for
// concurrent. Steps of unknown outcome return at the very end. They are always legal there, so that they need not have
// happened; a step without return would make Porcupine call the history illegal without a word.
func (m *specification) porcupineEvents() []porcupine.Event {
	var events []porcupine.Event
	for _, now := range m.moments() {
		x := &m.steps[now.step]
		kind := porcupine.CallEvent
		if now.returns {
			kind = porcupine.ReturnEvent
		}
		e := porcupine.Event{ClientId: max(x.client, 0), Kind: kind, Value: now.step, Id: int(now.step)}
		events = append(events, e)
		if x.action == lapseOf {
			e.Kind = porcupine.ReturnEvent
			events = append(events, e)
		}
	}
	for i := range m.steps {
		if m.steps[i].ret == none {
			events = append(events, porcupine.Event{
				ClientId: max(m.steps[i].client, 0), Kind: porcupine.ReturnEvent, Value: int32(i), Id: i,
			})
		}
	}
	return events
}

// porcupineResult asks Porcupine for its opinion on all steps. The timeout runs in real time.
func porcupineResult(m *specification, timeout time.Duration) Result {
	switch porcupine.CheckEventsTimeout(m.porcupineModel(), m.porcupineEvents(), timeout) {
	case porcupine.Ok:
		return Holds
	case porcupine.Illegal:
		return Violated
	default:
		return Unknown
	}
}

// upTo is the specification of the history that ends with position: what had not been called by then is left out,
// what had not returned stays open.
func (m *specification) upTo(position int) *specification {
	part := &specification{reentrant: m.reentrant}
	moved := make(map[int]int)
	for i := range m.steps {
		x := m.steps[i]
		if x.call > position {
			continue
		}
		if x.ret > position {
			x.ret = none
			switch x.action {
			case grant:
				x.action = maybeGrant
			case free, looseFree:
				x.action = maybeFree
			case refusal, denial:
				continue
			}
		}
		moved[i] = len(part.steps)
		part.steps = append(part.steps, x)
	}
	kept := part.steps[:0]
	for _, x := range part.steps {
		if x.action == maybeLapse {
			of, known := moved[x.of]
			if !known {
				continue
			}
			x.of = of
		}
		kept = append(kept, x)
	}
	part.steps = kept
	return part
}

// returnsBy counts the steps that were called by a position, which is what upTo would keep.
func (m *specification) calledBy(position int) int {
	return sort.Search(len(m.steps), func(i int) bool {
		return m.steps[i].operation == none || m.steps[i].call > position
	})
}
