package checker

import (
	"fmt"
	"slices"
	"sort"
	"time"
)

// Schema is the version of the format that this package writes and reads.
const Schema = 1

// Header says what a history is a history of.
type Header struct {
	// Schema is the version of the format; 0 stands for the current one.
	Schema         int
	Scenario       string
	Implementation string
	Seed           uint64
	Transport      string
	// Lock is the name of the lock under test, Resource that of what it protects.
	Lock     string
	Resource string
	Lease    time.Duration
	// Parameters are the values that were drawn for the run, in the order of drawing.
	Parameters []Parameter
	// Plan holds the faults of the run as text, one each.
	Plan []string
}

// Parameter is one drawn value.
type Parameter struct{ Name, Value string }

// History is everything that was observed of one run, in order.
type History struct {
	Header Header
	Events []Event
}

// lockOperations are what clients ask of a lock.
var lockOperations = []string{Acquire, TryAcquire, Release}

// Locks lists the locks that clients asked for, in order of their names.
func (h *History) Locks() []string {
	var locks []string
	known := make(map[string]bool)
	for i := range h.Events {
		e := &h.Events[i]
		if e.Type == Invoke && e.byClient() && slices.Contains(lockOperations, e.F) && !known[e.Key] {
			known[e.Key] = true
			locks = append(locks, e.Key)
		}
	}
	slices.Sort(locks)
	return locks
}

// Validate reports the first reason for which the history cannot be judged: events out of order, a return without
// its call, a second call of a process that is still in its first. Calls without return are fine: they stay open.
func (h *History) Validate() error {
	_, err := h.firstFault()
	return err
}

// firstFault is Validate with the position of the event that does not fit.
func (h *History) firstFault() (int, error) {
	var processes processes
	for i := range h.Events {
		e := &h.Events[i]
		if i > 0 {
			if err := inOrder(h.Events[i-1].stamp(), e.stamp()); err != nil {
				return i, err
			}
		}
		if err := e.validate(); err != nil {
			return i, err
		}
		if e.Process == ProcessServer && e.F == Served {
			if err := servesCall(h.Events[:i], e); err != nil {
				return i, err
			}
		}
		if !e.byClient() {
			continue
		}
		if err := processes.of(e.Process).follows(h.Events, i); err != nil {
			return i, err
		}
	}
	return 0, nil
}

// servesCall checks that a Served fact names a call among the events before it.
func servesCall(before []Event, e *Event) error {
	k := sort.Search(len(before), func(k int) bool { return before[k].Index >= e.Call })
	if k == len(before) || before[k].Index != e.Call || before[k].Type != Invoke || !before[k].byClient() {
		return fmt.Errorf("event %d says that call %d was served: want the index of a call before it", e.Index, e.Call)
	}
	return nil
}

// inOrder checks that b may come right after a.
func inOrder(a, b stamp) error {
	if b.index <= a.index {
		return fmt.Errorf("event %d comes after event %d: indices must rise", b.index, a.index)
	}
	if b.time < a.time {
		return fmt.Errorf(
			"event %d at %d ns is earlier than event %d at %d ns: sort the events by time and number them anew",
			b.index, b.time.Nanoseconds(), a.index, a.time.Nanoseconds())
	}
	return nil
}

func (e *Event) stamp() stamp { return stamp{e.Index, e.Time} }

// validate checks one event by itself.
func (e *Event) validate() error {
	switch e.Type {
	case Invoke, OK, Fail, Info:
	default:
		return fmt.Errorf("event %d has type %q: want invoke, ok, fail or info", e.Index, e.Type)
	}
	if e.F == "" {
		return fmt.Errorf("event %d has no f: say what it is about, such as %q", e.Index, Acquire)
	}
	if e.Process < ProcessFault {
		return fmt.Errorf("event %d has process %d: want 0 or more for a client", e.Index, e.Process)
	}
	if e.Wait < 0 {
		return fmt.Errorf("event %d has a wait of %d ns: want 0 for one attempt, or more", e.Index, e.Wait.Nanoseconds())
	}
	if e.Deadline < 0 {
		return fmt.Errorf("event %d has a deadline of %d ns: want a time since the start, or 0 for none", e.Index,
			e.Deadline.Nanoseconds())
	}
	if e.Time < 0 {
		return fmt.Errorf("event %d is at %s: times start at 0", e.Index, seconds(e.Time))
	}
	return nil
}

// process is what a client process is doing while the history is read, by positions of events plus one, 0 for none.
type process struct{ open, crashed int }

// processes finds processes by their number. Small numbers, which are the rule, need no map.
type processes struct {
	low  []process
	high map[int]*process
}

func (p *processes) of(number int) *process {
	const most = 1 << 12
	if number < most {
		for number >= len(p.low) {
			p.low = append(p.low, process{})
		}
		return &p.low[number]
	}
	if p.high == nil {
		p.high = make(map[int]*process)
	}
	if p.high[number] == nil {
		p.high[number] = &process{}
	}
	return p.high[number]
}

// follows checks that the event at position i may come now.
func (p *process) follows(events []Event, i int) error {
	e := &events[i]
	switch {
	case e.F == Crash:
		p.crashed, p.open = i+1, 0
		return nil
	case e.standsAlone():
		return nil
	case e.Type == Invoke:
		return p.call(events, i)
	case p.crashed != 0: // What unwinds after a crash is heard by nobody.
		return nil
	case p.open == 0:
		return fmt.Errorf("event %d returns %s for process %d, which called nothing", e.Index, e.F, e.Process)
	}
	call := &events[p.open-1]
	if call.F != e.F || call.Key != e.Key {
		return fmt.Errorf("event %d returns %s of %q for process %d, which called %s of %q at event %d",
			e.Index, e.F, e.Key, e.Process, call.F, call.Key, call.Index)
	}
	p.open = 0
	return nil
}

// call checks that a process may make a call.
func (p *process) call(events []Event, i int) error {
	e := &events[i]
	if p.crashed != 0 {
		return fmt.Errorf("event %d calls %s for process %d, which crashed at event %d: a restarted client needs a new "+
			"process", e.Index, e.F, e.Process, events[p.crashed-1].Index)
	}
	if p.open != 0 {
		before := &events[p.open-1]
		return fmt.Errorf("event %d calls %s for process %d, whose %s of event %d has not returned: give concurrent "+
			"calls processes of their own", e.Index, e.F, e.Process, before.F, before.Index)
	}
	p.open = i + 1
	return nil
}

// byClient tells events of clients from facts and faults.
func (e *Event) byClient() bool { return e.Process >= 0 && e.F != Applied }

// standsAlone says that e is no part of a call: it happens to a process at any time.
func (e *Event) standsAlone() bool { return e.F == Lost || e.F == Crash || e.F == Renew }
