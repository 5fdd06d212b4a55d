package checker

import (
	"slices"

	"github.com/lockstep-sim/lockstep/checker/model"
)

// The search below decides linearizability exactly, in one pass over the events of one lock.
//
// It keeps the set of configurations in which the lock may be: its state, and which of the operations that are under
// way have taken effect already. A step is put off until a return forces it (a step that need not have happened yet
// can be moved to right before the next return), except for steps that change nothing, which are taken as soon as they
// are legal (taking one early takes nothing away from what may follow). The history is linearizable up to an event
// if and only if a configuration remains. While a lock is owned only its owner's steps can change its state, so few
// configurations come up in practice; where they do not stay few the search says so and gives no answer.

// slots bounds the operations that are under way at one time, and again those of unknown outcome.
const slots = 256

// Why a search gave up.
const (
	tooManyOpen   = "too many operations are under way or of unknown outcome at one time"
	tooManyOrders = "too many orders are possible"
)

// slotSet is a set of slots.
type slotSet [slots / 64]uint64

func (s *slotSet) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }
func (s *slotSet) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s *slotSet) remove(i int)   { s[i/64] &^= 1 << (i % 64) }

func (s *slotSet) subset(t *slotSet) bool {
	for i := range s {
		if s[i]&^t[i] != 0 {
			return false
		}
	}
	return true
}

// configuration is one way in which things may stand.
type configuration struct {
	state model.LeaseState
	done  slotSet // operations under way that have taken effect
	used  slotSet // operations of unknown outcome that have taken effect
}

// searchResult is what a search found.
type searchResult struct {
	result  Result
	limit   string          // why it is unknown
	at      int             // up to which position the search came before it gave up
	failing int             // the step that cannot have happened as it was answered
	before  []configuration // the ways in which things stood then
	states  []model.State   // the same, of an exploration
}

// searchBudget is how many configurations a search with a limit looks at in all. It is far above what a history of
// millions of operations takes while few orders are possible.
func searchBudget(limit int) int { return 10_000 * limit }

// moment is one call or return, or a lapse.
type moment struct {
	position int
	step     int32
	returns  bool
}

// packed renders a moment as a number by which moments are sorted: by position, then lapses first, then by step.
func (x moment) packed(lapse bool) uint64 {
	key := uint64(x.position) << 33
	if !lapse {
		key |= 1 << 32
	}
	key |= uint64(x.step) << 1
	if x.returns {
		key |= 1
	}
	return key
}

func unpacked(key uint64) moment {
	return moment{position: int(key >> 33), step: int32(key >> 1 & (1<<31 - 1)), returns: key&1 != 0}
}

// search is the state of one pass.
type search struct {
	*specification
	limit    int
	budget   int // configurations that may still be looked at
	current  []configuration
	slotOf   []int   // per step: its slot, none before its call
	underWay []int32 // per slot: the step, none if free
	unknown  []int32 // per slot of operations of unknown outcome: the step, none if free
	reads    []int32 // read-only steps under way
	loose    []int32 // looseFrees under way
	grants   []int32 // grants under way, and maybeGrants
	byClient []clientSteps
	lapsing  []bool // per step: its hold may end at any time
}

// clientSteps are the steps of one client that may come next.
type clientSteps struct {
	pending int32   // its grant or release under way, none if there is none
	maybe   []int32 // its steps of unknown outcome
}

// linearize searches for a linearization of all steps.
func linearize(m *specification, limit int) searchResult {
	s := &search{
		specification: m, limit: limit, budget: searchBudget(limit), current: []configuration{{state: m.start}},
		slotOf: make([]int, len(m.steps)), byClient: make([]clientSteps, m.clients()), lapsing: make([]bool, m.highestHold()),
	}
	for i := range s.slotOf {
		s.slotOf[i] = none
	}
	for i := range s.byClient {
		s.byClient[i].pending = none
	}
	for _, key := range m.moments() {
		now := unpacked(key)
		x := &m.steps[now.step]
		switch {
		case x.mayLapse():
			s.lapsing[x.Hold-1] = true
		case !now.returns && !x.lapse():
			if !s.begin(now.step) {
				return searchResult{result: Unknown, at: now.position, limit: tooManyOpen}
			}
		default:
			before := s.current
			if !s.force(now.step) {
				return searchResult{result: Unknown, at: now.position, limit: tooManyOrders}
			}
			if len(s.current) == 0 {
				return searchResult{result: Violated, failing: int(now.step), before: before}
			}
			s.end(now.step)
		}
	}
	return searchResult{result: Holds}
}

// moments lists calls and returns in the order of the history, packed. A lapse at the position of a call or return
// comes first.
func (m *specification) moments() []uint64 {
	moments := make([]uint64, 0, 2*len(m.steps))
	for i := range m.steps {
		x := &m.steps[i]
		lapse := x.Action == model.Expire
		moments = append(moments, moment{x.call, int32(i), false}.packed(lapse))
		if x.ret != none && !lapse {
			moments = append(moments, moment{x.ret, int32(i), true}.packed(false))
		}
	}
	slices.Sort(moments)
	return moments
}

// take finds a free slot for a step.
func take(table *[]int32, step int32) int {
	for i, held := range *table {
		if held == none {
			(*table)[i] = step
			return i
		}
	}
	if len(*table) == slots {
		return none
	}
	*table = append(*table, step)
	return len(*table) - 1
}

// highestHold is the highest number of a hold that may end at any time, 0 if there is none.
func (m *specification) highestHold() int {
	highest := m.start.Hold
	for i := range m.steps {
		highest = max(highest, m.steps[i].Hold)
	}
	return int(highest)
}

// clients is one more than the highest number of a client.
func (m *specification) clients() int {
	n := m.start.Owner
	for i := range m.steps {
		n = max(n, m.steps[i].Client)
	}
	return int(n) + 1
}

func (s *search) stepsOf(client int32) *clientSteps { return &s.byClient[client] }

// begin takes the call of a step. It fails when there are too many.
func (s *search) begin(id int32) bool {
	x := &s.steps[id]
	table := &s.underWay
	if x.optional() {
		table = &s.unknown
	}
	slot := take(table, id)
	if slot == none {
		return false
	}
	s.slotOf[id] = slot
	c := s.stepsOf(x.Client)
	switch {
	case x.readOnly():
		s.reads = append(s.reads, id)
		for i := range s.current {
			s.readEagerly(&s.current[i])
		}
		return true
	case x.optional():
		c.maybe = append(c.maybe, id)
	default:
		c.pending = id
	}
	if x.loose() {
		s.loose = append(s.loose, id)
	}
	if x.Action == model.Acquire {
		s.grants = append(s.grants, id)
	}
	return true
}

// end forgets a step whose return was taken, and steps of unknown outcome that have happened in every configuration.
func (s *search) end(id int32) {
	x := &s.steps[id]
	if !x.lapse() {
		slot := s.slotOf[id]
		for i := range s.current {
			s.current[i].done.remove(slot)
		}
		s.underWay[slot] = none
		if c := s.stepsOf(x.Client); c.pending == id {
			c.pending = none
		}
		s.reads = without(s.reads, id)
		s.grants = without(s.grants, id)
		s.loose = without(s.loose, id)
		s.current = s.distinct(s.current)
	}
	for slot, u := range s.unknown {
		if u == none {
			continue
		}
		settled := true
		for i := range s.current {
			settled = settled && s.current[i].used.has(slot)
		}
		if settled {
			s.forget(slot, u)
		}
	}
}

// forget drops a step of unknown outcome that has happened for certain.
func (s *search) forget(slot int, id int32) {
	for i := range s.current {
		s.current[i].used.remove(slot)
	}
	s.unknown[slot] = none
	c := s.stepsOf(s.steps[id].Client)
	c.maybe = without(c.maybe, id)
	s.grants = without(s.grants, id)
}

func without(list []int32, x int32) []int32 {
	for i, y := range list {
		if x == y {
			return append(list[:i], list[i+1:]...)
		}
	}
	return list
}

// happened tells whether a step has taken effect in c.
func (s *search) happened(c *configuration, id int32) bool {
	if s.steps[id].optional() {
		return c.used.has(s.slotOf[id])
	}
	return c.done.has(s.slotOf[id])
}

// after takes a step in c. It fails where that is illegal or changes nothing that matters.
func (s *search) after(c *configuration, id int32) (configuration, bool) {
	state, legal := s.next(c.state, id)
	d := configuration{state: state, done: c.done, used: c.used}
	if !legal {
		return d, false
	}
	if s.steps[id].optional() {
		if state == c.state {
			return d, false
		}
		d.used.add(s.slotOf[id])
	} else {
		d.done.add(s.slotOf[id])
	}
	s.readEagerly(&d)
	return d, true
}

// readEagerly takes all read-only steps under way that are legal now.
func (s *search) readEagerly(c *configuration) {
	for _, id := range s.reads {
		if slot := s.slotOf[id]; !c.done.has(slot) {
			if _, legal := s.next(c.state, id); legal {
				c.done.add(slot)
			}
		}
	}
}

// force replaces the configurations by all that can be reached from them and in which step id has taken effect. For
// a lapse, which takes effect here and nowhere else, these are all that can be reached, with the lapse taken last.
// It fails when there are too many.
func (s *search) force(id int32) bool {
	lapse := s.steps[id].lapse()
	var reached, queue []configuration
	for i := range s.current {
		if c := &s.current[i]; !lapse && s.happened(c, id) {
			reached = append(reached, *c)
		} else {
			queue = append(queue, *c)
		}
	}
	// First in, first out: what has used fewer steps of unknown outcome comes first and makes the others superfluous.
	var seen frontier
	for head := 0; head < len(queue); head++ {
		if s.budget--; len(queue) > s.limit || len(reached) > s.limit || s.budget < 0 {
			return false
		}
		c := queue[head]
		if lapse {
			state, _ := s.next(c.state, id)
			d := configuration{state: state, done: c.done, used: c.used}
			s.readEagerly(&d)
			reached = append(reached, d)
		}
		for _, d := range s.moves(&c, id) {
			if !lapse && s.happened(&d, id) {
				reached = append(reached, d)
			} else if seen.admit(&d) {
				queue = append(queue, d)
			}
		}
	}
	s.current = s.distinct(reached)
	return true
}

// standing is a configuration without the steps of unknown outcome that it has used.
type standing struct {
	state model.LeaseState
	done  slotSet
}

// frontier remembers configurations, and for which standing they have used what.
type frontier map[standing][]slotSet

// admit adds c, unless one is known that has used no more to get to the same standing: that one can do all that c can.
func (f *frontier) admit(c *configuration) bool {
	key := standing{c.state, c.done}
	for i := range (*f)[key] {
		if (*f)[key][i].subset(&c.used) {
			return false
		}
	}
	if *f == nil {
		*f = make(frontier)
	}
	(*f)[key] = append((*f)[key], c.used)
	return true
}

// moves lists what may happen next in c that can help step id to take effect.
func (s *search) moves(c *configuration, id int32) []configuration {
	var result []configuration
	try := func(x int32) {
		if x != none && !s.happened(c, x) {
			if d, legal := s.after(c, x); legal {
				result = append(result, d)
			}
		}
	}
	for _, x := range s.loose {
		try(x)
	}
	if c.state.Owner == model.Nobody {
		for _, g := range s.grants {
			if s.helps(g, id) {
				try(g)
			}
		}
		return result
	}
	own := s.stepsOf(c.state.Owner)
	if own.pending != none && !s.steps[own.pending].loose() {
		try(own.pending)
	}
	for _, x := range own.maybe {
		try(x)
	}
	if hold := c.state.Hold; hold != 0 && s.lapsing[hold-1] {
		d := configuration{state: model.FreeLease, done: c.done, used: c.used}
		s.readEagerly(&d)
		result = append(result, d)
	}
	return result
}

// mayEnd tells whether the hold of an acquire may end at any time from now on.
func (s *search) mayEnd(x *step) bool { return x.Hold != 0 && s.lapsing[x.Hold-1] }

// helps tells whether granting the free lock to step g can be of use for step id: it is that step, or a refusal that
// needs the lock held, or the hold can end again before that step.
func (s *search) helps(g, id int32) bool {
	x, target := &s.steps[g], &s.steps[id]
	if g == id || target.Action == model.Refuse || x.Client == target.Client || s.mayEnd(x) {
		return true
	}
	if slices.Contains(target.Owners, x.Client) {
		return true
	}
	c := s.stepsOf(x.Client)
	if c.pending != none && c.pending != g {
		return true
	}
	for _, y := range c.maybe {
		if s.steps[y].Action == model.Release || s.mayEnd(&s.steps[y]) {
			return true
		}
	}
	return false
}

// distinct removes configurations that others make superfluous: equal but for steps of unknown outcome, of which it
// has used more.
func (s *search) distinct(list []configuration) []configuration {
	if len(list) < 2 {
		return list
	}
	kept := make(map[standing][]int, len(list))
	result := list[:0:0]
next:
	for i := range list {
		c := &list[i]
		key := standing{c.state, c.done}
		for _, k := range kept[key] {
			if result[k].used.subset(&c.used) {
				continue next
			}
		}
		// Those that c makes superfluous give their place to c.
		placed := false
		var remaining []int
		for _, k := range kept[key] {
			if !c.used.subset(&result[k].used) {
				remaining = append(remaining, k)
				continue
			}
			if !placed {
				result[k], placed = *c, true
				remaining = append(remaining, k)
			}
		}
		if !placed {
			result = append(result, *c)
			remaining = append(remaining, len(result)-1)
		}
		kept[key] = remaining
	}
	return result
}
