package foreign

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
)

// DefaultLock is the name of the lock where a file does not name it.
const DefaultLock = "lock"

// step is the time between two events of a file without times.
const step = time.Millisecond

// importer makes a history of the records of a file.
type importer struct {
	format  Format
	entries []*entry
	calls   map[int]*entry  // open calls by process
	crashed map[int]bool    // processes
	held    map[tenure]bool // AtlasDB's tokens
	index   int64           // of the entry before
	assumed []string
}

// tenure is the hold of a process on a lock.
type tenure struct {
	process int
	lock    string
}

func newImporter(format Format) *importer {
	return &importer{
		format: format, calls: make(map[int]*entry), crashed: make(map[int]bool), held: make(map[tenure]bool), index: -1,
	}
}

// assume notes once what was decided.
func (m *importer) assume(what string) {
	if !slices.Contains(m.assumed, what) {
		m.assumed = append(m.assumed, what)
	}
}

// add takes in one record.
func (m *importer) add(v *value, line int) error {
	e, err := newEntry(v, line)
	if err != nil {
		return err
	}
	if err := m.ordered(e); err != nil {
		return err
	}
	switch {
	case e.Process == checker.ProcessFault:
		m.fault(e)
	case e.Process == checker.ProcessServer, e.F == checker.Applied:
	case m.crashed[e.Process] && e.Type == checker.Invoke:
		return e.fault("process %d calls %s after its crash: a restarted client needs a new process", e.Process, e.F)
	case e.F == checker.Crash && e.Type == checker.Info:
		m.crashed[e.Process] = true
		delete(m.calls, e.Process)
	case (e.F == checker.Lost || e.F == checker.Renew) && e.Type == checker.Info:
	default:
		return m.client(e)
	}
	m.entries = append(m.entries, e)
	return nil
}

// ordered checks what can be checked of the order of a file: that its indices rise, and that either all of its
// operations have an index and a time or none.
func (m *importer) ordered(e *entry) error {
	if len(m.entries) > 0 {
		const want = "one operation has %s and another has none: want it in all or in none"
		first := m.entries[0]
		if first.indexed != e.indexed {
			return e.fault(want, "an index")
		}
		if first.timed != e.timed {
			return e.fault(want, "a time")
		}
	}
	if e.indexed {
		if e.Index <= m.index {
			return e.fault("index %d comes after index %d: indices must rise", e.Index, m.index)
		}
		m.index = e.Index
	}
	if e.Time < 0 {
		return e.fault("time %d: want 0 or more", e.Time)
	}
	return nil
}

// fault takes in what was done to the system. It stays as it is where this package wrote it.
func (m *importer) fault(e *entry) {
	switch e.F {
	case checker.FaultApplied, checker.Healed, checker.WorkloadEnd:
		return
	}
	e.Command = e.F
	if e.Value != "" {
		e.Command += " " + e.Value
	}
	e.F = checker.FaultApplied
	e.Type = checker.Info
}

// client takes in a call or a return.
func (m *importer) client(e *entry) error {
	call := m.calls[e.Process]
	f := functions[e.F]
	if f == "" {
		f = e.F
	}
	if e.Type == checker.Invoke {
		if call != nil {
			return e.fault("process %d calls %s while its %s of line %d has not returned", e.Process, e.F, call.F,
				call.line)
		}
		e.F = f
		m.calls[e.Process] = e
		m.object(e)
		if m.format == AtlasDB && e.Key == "" {
			return e.fault("value: want the name of a lock, found %q", shorten(e.Value))
		}
		m.entries = append(m.entries, e)
		return nil
	}
	switch {
	case m.crashed[e.Process]: // heard by nobody
	case call == nil:
		return e.fault("process %d returns %s and had called nothing", e.Process, e.F)
	case call.F != f:
		return e.fault("process %d returns %s and had called %s in line %d", e.Process, e.F, call.F, call.line)
	case e.timed && e.Time < call.Time:
		return e.fault("process %d returns %s at time %d, before the call of line %d at %d", e.Process, e.F, e.Time,
			call.line, call.Time)
	case e.Key != "" && e.Key != call.Key:
		return e.otherKey(call)
	}
	e.F = f
	delete(m.calls, e.Process)
	return m.returned(e, call)
}

// otherKey is the error for a return that names another key than its call.
func (e *entry) otherKey(call *entry) error {
	return e.fault("process %d returns %s of %q and had called that of %q in line %d", e.Process, e.F, e.Key, call.Key,
		call.line)
}

// functions are the names of lock operations in other suites.
var functions = map[string]string{
	"acquire": checker.Acquire, "lock": checker.Acquire,
	"try-acquire": checker.TryAcquire, "tryAcquire": checker.TryAcquire,
	"try-lock": checker.TryAcquire, "tryLock": checker.TryAcquire,
	"release": checker.Release, "unlock": checker.Release,
}

// locks says whether the calls named f are calls of a lock.
func locks(f string) bool {
	return f == checker.Acquire || f == checker.TryAcquire || f == checker.Release
}

// known tells whether a call in the history of a lock shows something.
func known(f string) bool { return locks(f) || f == checker.Write || f == refresh }

// object finds out what a call is made on.
func (m *importer) object(e *entry) {
	if m.format == AtlasDB {
		if e.Key == "" && e.value.kind == text {
			e.Key, e.Value = e.Value, ""
		}
		return
	}
	if !locks(e.F) {
		return
	}
	m.unwrap(e)
	if e.Key == "" {
		e.Key = DefaultLock
		m.assume("all operations without a key are on one lock, named " + DefaultLock)
	}
}

// unwrap takes apart the value of a lock operation. A pair is that of Jepsen's independent tests, whose first part is
// the key; a map names the client, and the fence that it was given.
func (m *importer) unwrap(e *entry) {
	v := e.value
	if v.kind == list && len(v.items) == 2 {
		m.assume("the value of a lock operation that is a pair is its key with its value")
		key := v.items[0]
		if e.Key == "" {
			word(&key, &e.Key)
		}
		v = v.items[1]
		e.Value = v.plain()
	}
	if client := v.member("client"); client != nil && e.Owner == "" {
		word(client, &e.Owner)
	}
	if fence := v.member("fence"); fence != nil && e.Token == 0 {
		if n, ok := fence.integer(); ok {
			e.Token = n
		}
	}
}

// returned takes in a return, which need not repeat what the call said. The call is nil after a crash.
func (m *importer) returned(e, call *entry) error {
	if call == nil {
		m.entries = append(m.entries, e)
		return nil
	}
	if m.format == AtlasDB {
		return m.answered(e, call)
	}
	if locks(e.F) {
		m.unwrap(e)
		if e.Key != "" && e.Key != call.Key {
			return e.otherKey(call)
		}
	} else if v := &e.value; v.kind == keyword && e.Error == "" && e.Type != checker.OK {
		e.Error, e.Value = v.text, "" // as in :info :write :timed-out
	}
	e.Key = call.Key
	m.entries = append(m.entries, e)
	return nil
}

// recording puts the events in order.
func (m *importer) recording() (*Recording, error) {
	if len(m.entries) == 0 {
		return nil, fmt.Errorf("there is no operation in it")
	}
	if err := m.sort(); err != nil {
		return nil, err
	}
	r := &Recording{Format: m.format}
	r.Header.Schema = checker.Schema
	r.Events = make([]checker.Event, len(m.entries))
	for i, e := range m.entries {
		r.Events[i] = e.Event
	}
	r.Object = objectOf(&r.History)
	r.Assumed = append(m.assumed, assumptions(&r.History, r.Object)...)
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return r, nil
}

// noLease is what is assumed of a lock of which nothing tells that its holds end by themselves.
const noLease = "no lease is known: a hold lasts until its release is called or its loss is told"

// assumptions says how what is not on record is understood.
func assumptions(h *checker.History, object Object) []string {
	open := make(map[int]bool)
	owners := make(map[string]int)
	leased, shared := h.Header.Lease != 0, false
	var others []string // calls that are none of a lock
	for i := range h.Events {
		e := &h.Events[i]
		leased = leased || e.Deadline != 0
		if e.Process >= 0 && e.Owner != "" {
			first, known := owners[e.Owner]
			shared = shared || known && first != e.Process
			owners[e.Owner] = e.Process
		}
		switch {
		case e.Process < 0:
		case e.Type == checker.Invoke:
			open[e.Process] = true
			if object == Lock && !known(e.F) && !slices.Contains(others, e.F) {
				others = append(others, e.F)
			}
		case e.F != checker.Lost && e.F != checker.Renew: // which happen at any time
			delete(open, e.Process)
		}
	}
	var assumed []string
	if n := len(open); n > 0 {
		assumed = append(assumed, counted(n, "call")+" without a return: may have taken effect or not, at any time after")
	}
	if len(others) > 0 {
		assumed = append(assumed, "calls of "+strings.Join(others, ", ")+" are none of a lock and show nothing")
	}
	if object == Lock && !leased {
		assumed = append(assumed, noLease)
	}
	switch {
	case shared:
		assumed = append(assumed, "each process is a client of its own, although some name the same owner")
	case len(owners) == 0:
		assumed = append(assumed, "each process is a client of its own")
	}
	return assumed
}

// sort puts the events in order of time, those of one time in that of the file, and numbers them where the file does
// not. Test suites take the time before they write an event down, so that lines may stand a little out of order.
func (m *importer) sort() error {
	numbered, timed := m.entries[0].indexed, m.entries[0].timed
	if !timed {
		m.assume("no times are known: events are shown a millisecond apart, in the order of the file")
		for i, e := range m.entries {
			e.Time = time.Duration(i) * step
		}
	}
	earlier := func(a, b *entry) int { return int(min(max(a.Time-b.Time, -1), 1)) }
	if !slices.IsSortedFunc(m.entries, earlier) {
		last := make(map[int]*entry)
		for _, e := range m.entries {
			if before := last[e.Process]; e.Process >= 0 && before != nil && e.Time < before.Time {
				return e.fault("process %d is at time %d, and was at %d in line %d", e.Process, e.Time, before.Time, before.line)
			}
			last[e.Process] = e
		}
		slices.SortStableFunc(m.entries, earlier)
		numbered = false
		m.assume("events were put in order of their times and numbered anew")
	}
	if !numbered || !m.dense() {
		m.number()
	}
	return nil
}

// number gives the events new indices. What names an event by its old one follows.
func (m *importer) number() {
	moved := make(map[int64]int64)
	for i, e := range m.entries {
		moved[e.Index] = int64(i)
		e.Index = int64(i)
	}
	for _, e := range m.entries {
		if e.Call != 0 {
			e.Call = moved[e.Call]
		}
	}
}

// dense says whether the indices rise, which they do unless events were put in between.
func (m *importer) dense() bool {
	for i, e := range m.entries {
		if i > 0 && e.Index <= m.entries[i-1].Index {
			return false
		}
	}
	return true
}
