package checker

import (
	"slices"
	"sort"
)

// Trim cuts a history down to what shows a violation: a small history that is well-formed, has the events that the
// violation names, and is still violated in the same property, by a violation of the same kind, on the same key and by
// the same processes. Nothing can be left out of it without losing that. A call is left out with its return and with
// the facts that it caused, and an acquire with the release that gives its level back, so that no hold seems to last
// that did not. Events keep their indices and times, so that they can be found in the whole history.
// The faults that fell into the time that is left are kept beside it, for whoever reads it.
//
// The options are those of the Check that found the violation. If the history does not show it, Trim returns false.
func Trim(h *History, p Property, v Violation, options Options) (*History, bool) {
	options.Properties = []Property{p}
	options.MaxViolations = max(options.MaxViolations, trimmedViolations)
	t := trimmer{history: h, options: options, violation: &v, tests: trimTests}
	if h.Validate() != nil || !t.shows(h.Events) {
		return nil, false
	}
	// What belongs together may change with what is left out, so that more can be left out then.
	for before := len(h.Events) + 1; len(t.history.Events) < before && t.tests > 0; {
		before = len(t.history.Events)
		t.cut()
		t.group()
		t.minimize()
		t.history = &History{Header: h.Header, Events: t.events(nil)}
	}
	return &History{Header: h.Header, Events: t.withFaults(h.Events)}, true
}

const (
	// trimTests bounds how often the property is judged while a history is trimmed; what is left after that many is as
	// small as it gets.
	trimTests = 4000
	// trimmedViolations is how many violations are looked through for the one that is to be kept.
	trimmedViolations = 1000
)

// trimmer is a history that is being trimmed. It consists of units, which are left out as a whole.
type trimmer struct {
	history   *History
	options   Options
	violation *Violation
	tests     int
	last      int     // what comes from here on is left out already
	units     [][]int // the units that may be left out, as positions, by their first events
	pinned    []int   // what stays in any case
}

// shows tells whether events show the violation.
func (t *trimmer) shows(events []Event) bool {
	t.tests--
	for _, found := range Check(&History{Header: t.history.Header, Events: events}, t.options)[0].Violations {
		if found.Kind == t.violation.Kind && found.Key == t.violation.Key &&
			slices.Equal(found.Processes, t.violation.Processes) {
			return true
		}
	}
	return false
}

// cut drops what comes after the violation, as far as it can be told by halving: a longer beginning nearly always shows
// what a shorter one does.
func (t *trimmer) cut() {
	events := t.history.Events
	least := 0
	for _, index := range t.violation.Events {
		least = max(least, t.position(index)+1)
	}
	n := sort.Search(len(events)-least, func(k int) bool { return t.shows(events[:least+k]) })
	t.last = least + n
	if t.last == len(events) || !t.shows(events[:t.last]) {
		t.last = len(events)
	}
}

// position finds the event with an index.
func (t *trimmer) position(index int64) int {
	events := t.history.Events
	return sort.Search(len(events), func(i int) bool { return events[i].Index >= index })
}

// group makes units of the events: each operation with its facts, the release of a level together with its acquire,
// and each other event by itself. Those that the
// violation names are pinned, and so is the heal, from which on liveness is judged, with the end of the workload.
func (t *trimmer) group() {
	t.units, t.pinned = nil, nil
	named := make(map[int]bool)
	for _, index := range t.violation.Events {
		named[t.position(index)] = true
	}
	a := analyse(&History{Header: t.history.Header, Events: t.history.Events[:t.last]})
	place := make(map[int]int) // by operation
	begun := levels(a)
	var units [][]int
	for i := range a.events {
		id := a.operationAt(i)
		if k, known := place[id]; id != none && known {
			units[k] = append(units[k], i)
			continue
		}
		if of, known := begun[id]; known {
			place[id] = place[of]
			units[place[of]] = append(units[place[of]], i)
			continue
		}
		if id != none {
			place[id] = len(units)
		}
		units = append(units, []int{i})
	}
	for _, unit := range units {
		stays := func(i int) bool {
			return named[i] || a.events[i].F == Healed || a.events[i].F == WorkloadEnd
		}
		if slices.ContainsFunc(unit, stays) {
			t.pinned = append(t.pinned, unit...)
		} else {
			t.units = append(t.units, unit)
		}
	}
}

// levels finds for each release the acquire of the level that it gives back.
func levels(a *analysis) map[int]int {
	type holder struct{ client, lock int }
	open := make(map[holder][]int)
	begun := make(map[int]int)
	for id := range a.operations {
		o := &a.operations[id]
		who := holder{o.client, o.lock}
		switch held := open[who]; {
		case o.acquires() && o.outcome() == OK:
			open[who] = append(held, id)
		case o.f() == Release && len(held) > 0:
			begun[id] = held[len(held)-1]
			open[who] = held[:len(held)-1]
		}
	}
	return begun
}

// events puts together what is left, without some units.
func (t *trimmer) events(without map[int]bool) []Event {
	positions := slices.Clone(t.pinned)
	for k, unit := range t.units {
		if !without[k] {
			positions = append(positions, unit...)
		}
	}
	slices.Sort(positions)
	events := make([]Event, len(positions))
	for k, i := range positions {
		events[k] = t.history.Events[i]
	}
	return events
}

// minimize leaves out as many units as it can: large parts first, then smaller ones, down to single units, until none
// can be left out any more.
func (t *trimmer) minimize() {
	for size := max(len(t.units)/2, 1); ; {
		again := false
		for from := 0; from < len(t.units) && t.tests > 0; {
			to := min(from+size, len(t.units))
			without := make(map[int]bool, to-from)
			for k := from; k < to; k++ {
				without[k] = true
			}
			if t.shows(t.events(without)) {
				t.units = slices.Delete(t.units, from, to)
				again = true
			} else {
				from = to
			}
		}
		switch {
		case t.tests <= 0, size == 1 && !again:
			return
		case !again || size > len(t.units):
			size = max(min(size, len(t.units))/2, 1)
		}
	}
}

// withFaults gives what is left together with the faults that fell into its time, unless these spoil it.
func (t *trimmer) withFaults(all []Event) []Event {
	left := t.history.Events
	if len(left) == 0 {
		return left
	}
	var events []Event
	next := 0
	for i := range all {
		switch e := &all[i]; {
		case next < len(left) && e.Index == left[next].Index:
			events = append(events, *e)
			next++
		case next > 0 && next < len(left) && e.F == FaultApplied:
			events = append(events, *e)
		}
	}
	if t.shows(events) {
		return events
	}
	return left
}
