package reports

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/mechanism"
)

// The ranks of steps: how much the story needs them. The higher ranks go first when there are too many.
const (
	vital     = iota // what the violation and the finding name, and the first cause
	important        // what became of the record, faults, unknown answers
	telling          // who was let in, whose lease ended
	rounding         // calls, refusals, writes
	aside            // holds, also of those involved, in which nothing happened that the violation is about
)

// ranked is a step that may become part of the story.
type ranked struct {
	Step
	order int // position of its event, or of the event that it comes before
	rank  int
}

// teller picks what a story is made of.
type teller struct {
	c         *chronicle
	waiting   bool // the violation is about somebody who waits
	violation checker.Violation
	finding   *mechanism.Finding
	named     []int // positions of the events that the violation and the finding name, in order
	involved  []int // processes, the violation's own first
	// The window is from first to last, positions of events. The record that was in force at its start was set at
	// cause, none if there was none.
	first, last, cause int
	// threads are what the story picks up from before its window: what befell a process since some position.
	threads []thread
}

// thread is a process and the position from which on the story follows it.
type thread struct{ process, from int }

func newTeller(h *checker.History, violation checker.Violation, finding *mechanism.Finding) *teller {
	t := &teller{c: newChronicle(h, lockOf(h, violation)), violation: violation, finding: finding, cause: none}
	switch violation.Kind {
	case checker.KindStuck, checker.KindStarvation, checker.KindPending, checker.KindDeadlock:
		t.waiting = true
	}
	t.nameEvents()
	t.nameHolds()
	t.findInvolved()
	t.findWindow()
	t.findCause()
	t.findRobbers()
	return t
}

// lockOf is the lock that a violation is about. One at a resource is about the lock that guards it.
func lockOf(h *checker.History, v checker.Violation) string {
	only := ""
	for i := range h.Events {
		if e := &h.Events[i]; acquires(e) {
			if e.Key == v.Key {
				return v.Key
			}
			only = e.Key
		}
	}
	if h.Header.Lock != "" {
		return h.Header.Lock
	}
	return only
}

// nameEvents gathers the events that are named. A violation of liveness names every call of those who wait, of which
// the first of each says enough.
func (t *teller) nameEvents() {
	indices := slices.Clone(t.violation.Events)
	if t.finding != nil {
		indices = append(indices, t.finding.Events...)
	}
	asked := map[int]bool{}
	slices.Sort(indices)
	for _, index := range slices.Compact(indices) {
		i, known := t.c.position[index]
		if !known {
			continue
		}
		e := &t.c.events[i]
		if t.waiting && e.Type == checker.Invoke && acquires(e) {
			if asked[e.Process] {
				continue
			}
			asked[e.Process] = true
		}
		t.named = append(t.named, i)
	}
	if t.violation.Kind == checker.KindStuck && len(t.named) > 0 {
		t.nameOrigin()
	}
}

// nameOrigin adds the fact by which the record came to name its present owner: in a lock that is stuck, that is where
// the trouble began.
func (t *teller) nameOrigin() {
	origin := none
	for _, i := range t.named {
		if isFact(&t.c.events[i]) {
			origin = i
		}
	}
	for origin != none {
		e := &t.c.events[origin]
		if e.Record == nil || e.Previous == nil || e.Previous.Owner != e.Record.Owner {
			break
		}
		origin = t.c.factBefore(origin)
	}
	if origin != none && !slices.Contains(t.named, origin) {
		t.named = append(t.named, origin)
		slices.Sort(t.named)
	}
}

// nameHolds adds, for each named write, the hold under which it was sent: the story of a write begins there.
func (t *teller) nameHolds() {
	for _, i := range slices.Clone(t.named) {
		if t.c.events[i].F != checker.Applied {
			continue
		}
		index, process := t.c.events[i].Index, t.c.process(i)
		latest := int64(0)
		for _, claim := range t.c.claims {
			if claim.Process == process && claim.Acquire < index {
				latest = claim.Acquire
			}
		}
		if at, known := t.c.position[latest]; known && !slices.Contains(t.named, at) {
			t.named = append(t.named, at)
		}
	}
	slices.Sort(t.named)
}

// findInvolved gathers those that the violation names, those that caused a named event, and those whose record one of
// these replaced.
func (t *teller) findInvolved() {
	add := func(process int) {
		if process != none && process >= 0 && !slices.Contains(t.involved, process) {
			t.involved = append(t.involved, process)
		}
	}
	for _, p := range t.violation.Processes {
		add(p)
	}
	for _, i := range t.named {
		e := &t.c.events[i]
		if e.Key != t.c.lock && isFact(e) {
			continue
		}
		add(t.c.process(i))
		if isFact(e) && e.Previous != nil {
			add(t.c.ownerOf(e.Previous, t.c.factBefore(i)))
		}
		if isFact(e) && e.Record != nil {
			add(t.c.ownerOf(e.Record, i))
		}
	}
}

func (t *teller) involves(process int) bool { return slices.Contains(t.involved, process) }

// findWindow settles where the story begins and ends. It begins with the earliest call that a named event is part of.
// It ends with the violation, or with the answer to the call that ended it.
func (t *teller) findWindow() {
	t.first, t.last = 0, max(len(t.c.events)-1, 0)
	if len(t.named) == 0 {
		return
	}
	t.first, t.last = t.named[0], t.named[len(t.named)-1]
	for _, i := range t.named {
		if id := t.c.callAt[i]; id != none && t.belongs(t.c.calls[id]) {
			t.first = min(t.first, t.c.calls[id].begin)
		}
	}
	if id := t.c.callAt[t.last]; id != none && t.c.calls[id].end != none && t.c.events[t.last].F != checker.Write {
		t.last = max(t.last, t.c.calls[id].end)
	}
	for i := t.last + 1; i < len(t.c.events) && t.c.events[i].Time <= t.violation.To; i++ {
		t.last = i
	}
}

// findCause looks at the record that was in force when the window opened. It is the first cause, unless it was its own
// owner who removed it in time.
func (t *teller) findCause() {
	cause := t.c.factBefore(t.first)
	if cause == none || t.c.events[cause].Record == nil {
		return
	}
	record := t.c.events[cause].Record
	owner := t.c.ownerOf(record, cause)
	for i := t.c.factAfter(cause); i != none && i <= t.last; i = t.c.factAfter(i) {
		e := &t.c.events[i]
		if e.Record != nil && e.Record.Owner == record.Owner {
			continue
		}
		if over, known := lapsed(orEmpty(e.Previous)); e.Record == nil && t.c.process(i) == owner && !(over && known) {
			return
		}
		break
	}
	t.cause = cause
	t.follow(owner, cause)
}

// follow takes up what befell a process from a position on.
func (t *teller) follow(process, from int) {
	if process == none {
		return
	}
	if !t.involves(process) {
		t.involved = append(t.involved, process)
	}
	if from < t.first {
		t.threads = append(t.threads, thread{process: process, from: from})
	}
}

// findRobbers follows those who took the live record of somebody involved away, from the call on by which they did so.
func (t *teller) findRobbers() {
	for _, i := range t.c.facts {
		e := &t.c.events[i]
		if i < t.first || i > t.last || e.Previous == nil || t.c.callAt[i] == none {
			continue
		}
		if over, known := lapsed(e.Previous); over && known || e.Record != nil && e.Record.Owner == e.Previous.Owner {
			continue
		}
		robber := t.c.process(i)
		if victim := t.c.ownerOf(e.Previous, t.c.factBefore(i)); victim != robber && t.involves(victim) {
			t.follow(robber, t.c.calls[t.c.callAt[i]].begin)
		}
	}
}

// belongs tells whether a call may begin the story: not one that had been waiting for long before its first named
// event, as in a wait that the violation is about.
func (t *teller) belongs(c call) bool {
	return !t.waiting || len(c.facts) > 0 || t.c.events[c.begin].Time >= t.violation.From
}

// candidates lists the steps in order.
func (t *teller) candidates() []ranked {
	if len(t.c.events) == 0 {
		return nil
	}
	var steps []ranked
	add := func(i int) {
		if s, ok := t.step(i); ok {
			steps = append(steps, s)
		}
	}
	if t.cause != none {
		add(t.cause)
	}
	for i := range t.first {
		if i != t.cause && t.onThread(i) {
			add(i)
		}
	}
	for i := t.first; i <= t.last; i++ {
		add(i)
	}
	steps = t.joinExtensions(steps)
	steps = append(steps, t.leaseEnds()...)
	steps = append(steps, t.faultEnds()...)
	steps = append(steps, t.claimEnds()...)
	sort.SliceStable(steps, func(i, j int) bool {
		if steps[i].Time != steps[j].Time {
			return steps[i].Time < steps[j].Time
		}
		return steps[i].order < steps[j].order
	})
	if len(steps) > 0 {
		steps[0].rank = vital
	}
	return steps
}

// joinExtensions makes one step of each run of extensions of one record: a lock that renews its lease in the
// background does so over and over.
func (t *teller) joinExtensions(steps []ranked) []ranked {
	var joined []ranked
	last, first, count := none, 0, 0 // the latest extension, the step of the first of its run, and their number
	for _, s := range steps {
		switch i, known := t.c.position[s.Event]; {
		case !known || !isFact(&t.c.events[i]):
			joined = append(joined, s)
		case last != none && t.extends(i) && t.c.factBefore(i) == last:
			count++
			joined[first].rank = min(joined[first].rank, s.rank)
			joined[first].Text = t.prefix(i) + fmt.Sprintf("extends the lease of its record %d times, at last %s (at %s)", count,
				t.c.clocks.until(t.c.events[i].Record, s.Time), seconds(s.Time))
			last = i
		default:
			last, first, count = none, len(joined), 1
			if t.extends(i) {
				last = i
			}
			joined = append(joined, s)
		}
	}
	return joined
}

// onThread tells whether an event from before the window belongs to what the story follows: what struck a process, what
// it was not told, what it did to the record, and the call with which its thread begins.
func (t *teller) onThread(i int) bool {
	e := &t.c.events[i]
	for _, thread := range t.threads {
		if i < thread.from {
			continue
		}
		own := t.c.process(i) == thread.process
		switch {
		case e.F == checker.FaultApplied && t.concerns(e, []int{thread.process}),
			own && i == thread.from,
			own && isFact(e) && e.Key == t.c.lock,
			own && byClient(e) && (e.F == checker.Crash || e.F == checker.Lost || e.Type == checker.Info):
			return true
		}
	}
	return false
}

// beside tells whether an event belongs to a hold, or to an attempt at one, in which nothing is named.
func (t *teller) beside(i int) bool {
	from, to := i, i
	if id := t.c.callAt[i]; id != none {
		from, to = t.c.calls[id].begin, max(t.c.calls[id].end, i)
	}
	process := t.c.process(i)
	for _, s := range t.c.spans[process] {
		if s.from <= to && from <= s.to {
			from, to = min(from, s.from), max(to, s.to)
		}
	}
	for _, n := range t.named {
		if from <= n && n <= to && t.c.process(n) == process {
			return false
		}
	}
	return true
}

// trim leaves out what matters least until the story has a length that can be read.
func trim(steps []ranked) []ranked {
	steps = slices.Clone(steps)
	for len(steps) > asideSteps {
		worst := vital
		for _, s := range steps[1 : len(steps)-1] {
			worst = max(worst, s.rank)
		}
		if len(steps) <= maxSteps && worst < rounding || len(steps) <= comfortableSteps && worst < aside {
			break
		}
		var at []int
		for i := 1; i < len(steps)-1; i++ {
			if steps[i].rank == worst {
				at = append(at, i)
			}
		}
		drop := at[len(at)/2]
		steps = slices.Delete(steps, drop, drop+1)
	}
	return steps
}

// lastFactBy is the last fact about the record at or before an instant, none if there is none.
func (c *chronicle) lastFactBy(at time.Duration) int {
	last := none
	for _, i := range c.facts {
		if c.events[i].Time <= at {
			last = i
		}
	}
	return last
}
