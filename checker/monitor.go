package checker

import (
	"math"
	"slices"
	"time"
)

// Monitor judges safety while a history is being recorded, so that a run can end where a promise is broken instead of
// at its end. It watches each event for signs, which costs little, and puts the property to Check only where it sees
// one: what it reports is the verdict on the history so far.
//
// A sign is put to the test as soon as an event with a later time is there, since what happens at one instant counts as
// a whole. After a false sign the next one of that property waits until the history has grown by an eighth, so that all
// tests together cost no more than a few passes over the history.
type Monitor struct {
	history *History
	options Options
	seen    int // events looked at
	watched []watched
	signs   signs
}

// watched is one property that a monitor watches.
type watched struct {
	property Property
	sign     bool
	at       time.Duration // the time of the sign
	from     int           // no test before the history is so long
}

// Monitored lists the properties that a Monitor can watch.
func Monitored() []Property {
	return []Property{
		MutualExclusion, GrantExclusivity, ReleaseByOwner, Reentrancy, TokenOrder, NotEarly, UseInLease, Resource,
		ResourceFenced, TruthfulRefusal, PhantomEffect, Clobber,
	}
}

// NewMonitor watches a history that grows by appending. Of Options.Properties it watches those that it can, of none of
// them all.
func NewMonitor(h *History, options Options) *Monitor {
	m := &Monitor{history: h, options: options.withDefaults()}
	for _, p := range Monitored() {
		covers := func(wanted Property) bool { return wanted.Covers(p) }
		if options.Properties == nil || slices.ContainsFunc(options.Properties, covers) {
			m.watched = append(m.watched, watched{property: p})
		}
	}
	m.signs.init(m)
	return m
}

// Next takes in the events that were appended since it was called last. It returns the verdict on the first property
// that turns out to be violated.
func (m *Monitor) Next() (Verdict, bool) {
	for m.seen < len(m.history.Events) {
		e := &m.history.Events[m.seen]
		m.seen++
		if v, violated := m.test(e.Time, m.seen); violated {
			return v, true
		}
		m.signs.take(e)
	}
	return Verdict{}, false
}

// Finish puts the signs to the test that are left when the history is complete.
func (m *Monitor) Finish() (Verdict, bool) {
	if v, violated := m.Next(); violated {
		return v, true
	}
	if m.signs.facts.finish() && m.seen > 0 {
		m.sign(NotEarly, m.history.Events[m.seen-1].Time)
	}
	for i := range m.watched {
		m.watched[i].from = 0
	}
	return m.test(complete, m.seen)
}

// complete is later than any event.
const complete time.Duration = math.MaxInt64

// sign notes that a property may be violated.
func (m *Monitor) sign(p Property, at time.Duration) {
	for i := range m.watched {
		if w := &m.watched[i]; w.property == p && !w.sign {
			w.sign, w.at = true, at
		}
	}
}

// test puts the signs to the test that are older than now, on the first n events.
func (m *Monitor) test(now time.Duration, n int) (Verdict, bool) {
	for i := range m.watched {
		w := &m.watched[i]
		if !w.sign || w.at >= now || n < w.from {
			continue
		}
		options := m.options
		options.Properties, options.growing = []Property{w.property}, now != complete
		v := Check(&History{Header: m.history.Header, Events: m.history.Events[:n:n]}, options)[0]
		if v.Result == Violated {
			return v, true
		}
		w.sign, w.from = false, n+n/8
	}
	return Verdict{}, false
}
