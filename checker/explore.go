package checker

import (
	"slices"

	"github.com/lockstep-sim/lockstep/checker/model"
)

// exploration is the search of linearize.go for any model: it keeps the states in which the lock object may be,
// together with the operations under way that have taken effect, and puts a step off until a return forces it. It knows
// nothing of locks that would tell which steps can help, so it is for the models that linearize.go does not know.
type exploration struct {
	lock     model.Model
	steps    []step
	limit    int
	budget   int // possibilities that may still be looked at
	slotOf   []int
	underWay []int32 // per slot: the step, none if free; those of unknown outcome keep theirs
	current  []possibility
}

// possibility is one way in which things may stand.
type possibility struct {
	state model.State
	done  slotSet
}

// explore searches for a linearization of all steps.
func explore(lock model.Model, steps []step, limit int) searchResult {
	s := &exploration{
		lock: lock, steps: steps, limit: limit, budget: searchBudget(limit), slotOf: make([]int, len(steps)),
		current: []possibility{{state: lock.Start()}},
	}
	m := specification{steps: steps}
	for _, key := range m.moments() {
		now := unpacked(key)
		switch {
		case !now.returns:
			slot := take(&s.underWay, now.step)
			if slot == none {
				return searchResult{result: Unknown, at: now.position, limit: tooManyOpen}
			}
			s.slotOf[now.step] = slot
			for i := range s.current {
				s.readEagerly(&s.current[i])
			}
		default:
			before := s.current
			if !s.force(now.step) {
				return searchResult{result: Unknown, at: now.position, limit: tooManyOrders}
			}
			if len(s.current) == 0 {
				found := searchResult{result: Violated, failing: int(now.step)}
				for i := range before {
					found.states = append(found.states, before[i].state)
				}
				return found
			}
		}
	}
	return searchResult{result: Holds}
}

// readEagerly takes all steps under way that are legal and change nothing.
func (s *exploration) readEagerly(p *possibility) {
	for slot, id := range s.underWay {
		if id == none || p.done.has(slot) || !s.steps[id].readOnly() {
			continue
		}
		if next, legal := s.lock.Step(p.state, &s.steps[id].Operation); legal && next == p.state {
			p.done.add(slot)
		}
	}
}

// force replaces the possibilities by all that can be reached from them and in which step id has taken effect. It
// fails when there are too many.
func (s *exploration) force(id int32) bool {
	slot := s.slotOf[id]
	var reached []possibility
	seen := make(map[possibility]bool, len(s.current))
	queue := slices.Clone(s.current)
	for _, p := range queue {
		seen[p] = true
	}
	for head := 0; head < len(queue); head++ {
		if s.budget--; len(queue) > s.limit || s.budget < 0 {
			return false
		}
		p := queue[head]
		if p.done.has(slot) {
			reached = append(reached, p)
			continue
		}
		for other, x := range s.underWay {
			if x == none || p.done.has(other) {
				continue
			}
			next, legal := model.Take(s.lock, p.state, &s.steps[x].Operation)
			if !legal || s.steps[x].optional() && next == p.state {
				continue
			}
			q := possibility{state: next, done: p.done}
			q.done.add(other)
			s.readEagerly(&q)
			if !seen[q] {
				seen[q] = true
				queue = append(queue, q)
			}
		}
	}
	s.underWay[slot] = none
	for i := range reached {
		reached[i].done.remove(slot)
	}
	// What differed only in the order of the step that is over now is the same.
	clear(seen)
	s.current = reached[:0]
	for _, p := range reached {
		if !seen[p] {
			seen[p] = true
			s.current = append(s.current, p)
		}
	}
	return true
}
