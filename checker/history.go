package checker

import (
	"fmt"
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

// Validate reports the first reason for which the history cannot be judged: events out of order, a return without
// its call, a second call of a process that is still in its first. Calls without return are fine: they stay open.
func (h *History) Validate() error {
	open := make(map[int]*Event)
	crashed := make(map[int]int64)
	for i := range h.Events {
		e := &h.Events[i]
		if i > 0 {
			if err := inOrder(&h.Events[i-1], e); err != nil {
				return err
			}
		}
		if err := e.validate(); err != nil {
			return err
		}
		if !e.byClient() {
			continue
		}
		if e.F == Crash {
			crashed[e.Process] = e.Index
			delete(open, e.Process)
			continue
		}
		if e.standsAlone() {
			continue
		}
		if err := follows(open, crashed, e); err != nil {
			return err
		}
	}
	return nil
}

// inOrder checks that b may come right after a.
func inOrder(a, b *Event) error {
	if b.Index <= a.Index {
		return fmt.Errorf("event %d comes after event %d: indices must rise", b.Index, a.Index)
	}
	if b.Time < a.Time {
		return fmt.Errorf("event %d at %s is earlier than event %d at %s: sort the events by time and number them anew",
			b.Index, seconds(b.Time), a.Index, seconds(a.Time))
	}
	return nil
}

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
	if e.Time < 0 {
		return fmt.Errorf("event %d is at %s: times start at 0", e.Index, seconds(e.Time))
	}
	return nil
}

// follows checks that the call or return e may come now, and keeps open up to date.
func follows(open map[int]*Event, crashed map[int]int64, e *Event) error {
	at, dead := crashed[e.Process]
	if e.Type == Invoke {
		if dead {
			return fmt.Errorf("event %d calls %s for process %d, which crashed at event %d: a restarted client needs a new "+
				"process", e.Index, e.F, e.Process, at)
		}
		if before := open[e.Process]; before != nil {
			return fmt.Errorf("event %d calls %s for process %d, whose %s of event %d has not returned: give concurrent "+
				"calls processes of their own", e.Index, e.F, e.Process, before.F, before.Index)
		}
		open[e.Process] = e
		return nil
	}
	if dead { // What unwinds after a crash is heard by nobody.
		return nil
	}
	call := open[e.Process]
	if call == nil {
		return fmt.Errorf("event %d returns %s for process %d, which called nothing", e.Index, e.F, e.Process)
	}
	if call.F != e.F || call.Key != e.Key {
		return fmt.Errorf("event %d returns %s of %q for process %d, which called %s of %q at event %d",
			e.Index, e.F, e.Key, e.Process, call.F, call.Key, call.Index)
	}
	delete(open, e.Process)
	return nil
}

// byClient tells events of clients from facts and faults.
func (e *Event) byClient() bool { return e.Process >= 0 && e.F != Applied }

// standsAlone says that e is no part of a call: it happens to a process at any time.
func (e *Event) standsAlone() bool { return e.F == Lost || e.F == Crash || e.F == Renew }
