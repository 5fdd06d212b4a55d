package foreign

import (
	"encoding/binary"
	"math"

	"github.com/lockstep-sim/lockstep/checker"
)

// search looks for an order of the calls of one key that explains all answers: depth first, with what was tried before
// remembered, as in Wing and Gong's algorithm with Lowe's cache.
//
// Calls of unknown outcome need not have happened, and they can come at any time after they were made. What makes a
// search explode is to try them wherever they fit. It is enough to look at the orders with the fewest of them. There
// none leaves the value as it was, none is followed by a call that sets the value whatever it is, and none is the last:
// without it everything else would be explained as well. Of several that do the same, the one that was made first is
// as good as any.
type search struct {
	known   []call   // in order of their calls
	classes [][]call // unknown ones that do the same, each in order of their calls
	done    []bool   // of known
	used    []int    // of each class: so many of the first
	first   int      // the first of known that is not done
	steps   int
	limit   int
	failed  map[string]bool // places from which there is no way
	scratch []byte
}

// judge searches with so many steps at most. The limit counts, so that the answer is a function of the history.
func (p *part) judge(limit int) checker.Result {
	s := &search{limit: limit, failed: make(map[string]bool)}
	classes := make(map[[3]string]int)
	for _, c := range p.calls {
		if c.outcome != checker.Info {
			s.known = append(s.known, c)
			continue
		}
		class := [3]string{c.f, c.argument, c.other}
		k, there := classes[class]
		if !there {
			k = len(s.classes)
			classes[class] = k
			s.classes = append(s.classes, nil)
		}
		s.classes[k] = append(s.classes[k], c)
	}
	s.done, s.used = make([]bool, len(s.known)), make([]int, len(s.classes))
	switch {
	case s.explain("", false):
		return checker.Holds
	case s.steps > s.limit:
		return checker.Unknown
	default:
		return checker.Violated
	}
}

// explain finds an order for what is left, given the value. Fresh says that a call of unknown outcome was the last.
func (s *search) explain(value string, fresh bool) bool {
	if s.first == len(s.known) {
		return true
	}
	place := s.place(value, fresh)
	if s.failed[place] {
		return false
	}
	// Long places count more, so that the limit is one of memory as well.
	if s.steps += 1 + len(place)/64; s.steps > s.limit {
		return false
	}
	if s.next(value, fresh) {
		return true
	}
	if s.steps <= s.limit {
		s.failed[place] = true
	}
	return false
}

// next tries everything that can come next.
func (s *search) next(value string, fresh bool) bool {
	bound := s.bound()
	first := s.first
	for i := first; i < len(s.known) && s.known[i].from < bound; i++ {
		c := &s.known[i]
		if s.done[i] || fresh && c.blind() {
			continue
		}
		after, legal := c.next(value)
		if !legal {
			continue
		}
		s.done[i] = true
		for s.first < len(s.known) && s.done[s.first] {
			s.first++
		}
		if s.explain(after, false) {
			return true
		}
		s.done[i], s.first = false, first
	}
	for k, class := range s.classes {
		if n := s.used[k]; n < len(class) && class[n].from < bound && !(fresh && class[n].blind()) {
			after, _ := class[n].next(value)
			if after == value {
				continue
			}
			s.used[k]++
			if s.explain(after, true) {
				return true
			}
			s.used[k]--
		}
	}
	return false
}

// bound is the first return of what is left: nothing that was called later can come next.
func (s *search) bound() int {
	bound := math.MaxInt
	for i := s.first; i < len(s.known) && s.known[i].from < bound; i++ {
		if !s.done[i] {
			bound = min(bound, s.known[i].to)
		}
	}
	return bound
}

// place names where the search stands: what is done, and the value.
func (s *search) place(value string, fresh bool) string {
	b := binary.AppendUvarint(s.scratch[:0], uint64(s.first))
	// What is done came before the bound, which only rises.
	for i, bound := s.first, s.bound(); i < len(s.known) && s.known[i].from < bound; i++ {
		if s.done[i] {
			b = binary.AppendUvarint(b, uint64(i-s.first))
		}
	}
	b = append(b, 0)
	for _, n := range s.used {
		b = binary.AppendUvarint(b, uint64(n))
	}
	if fresh {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	b = append(b, value...)
	s.scratch = b
	return string(b)
}

// blind says that a call sets the value whatever it was.
func (c *call) blind() bool { return c.f == checker.Write || c.f == put }
