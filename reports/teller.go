package reports

import (
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
}

func newTeller(h *checker.History, violation checker.Violation, finding *mechanism.Finding) *teller {
	t := &teller{c: newChronicle(h, lockOf(h, violation)), violation: violation, finding: finding, cause: none}
	t.waiting = violation.Kind == checker.KindStuck || violation.Kind == checker.KindStarvation
	t.nameEvents()
	t.findInvolved()
	t.findWindow()
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

// findWindow settles where the story begins and ends. It begins with the earliest call that a named event is part of
// and, before that, with the record that was in force then. It ends with the violation, or with the answer to the call
// that ended it.
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
	t.cause = t.c.factBefore(t.first)
	if t.cause != none && t.c.events[t.cause].Record == nil {
		t.cause = none
	}
	if t.cause != none {
		if owner := t.c.ownerOf(t.c.events[t.cause].Record, t.cause); owner != none && !t.involves(owner) {
			t.involved = append(t.involved, owner)
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
	var steps []ranked
	add := func(i int) {
		if s, ok := t.step(i); ok {
			steps = append(steps, s)
		}
	}
	if t.cause != none {
		add(t.cause)
		steps = append(steps, t.prelude()...)
	}
	for i := t.first; i <= t.last; i++ {
		add(i)
	}
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

// prelude is what befell the owner of the record between the moment at which it was made and the start of the window.
func (t *teller) prelude() []ranked {
	var steps []ranked
	owner := t.c.ownerOf(t.c.events[t.cause].Record, t.cause)
	for i := t.cause + 1; i < t.first; i++ {
		e := &t.c.events[i]
		strikes := e.F == checker.FaultApplied && t.concerns(e, []int{owner})
		ends := byClient(e) && e.Process == owner && (e.F == checker.Crash || e.F == checker.Lost || e.Type == checker.Info)
		if strikes || ends {
			if s, ok := t.step(i); ok {
				steps = append(steps, s)
			}
		}
	}
	return steps
}

// trim leaves out what matters least until the story has a length that can be read.
func trim(steps []ranked) []ranked {
	steps = slices.Clone(steps)
	for len(steps) > comfortableSteps {
		worst := vital
		for _, s := range steps[1 : len(steps)-1] {
			worst = max(worst, s.rank)
		}
		if len(steps) <= maxSteps && worst < rounding {
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
