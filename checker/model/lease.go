package model

import (
	"fmt"
	"time"
)

// Lease is a lock whose holds end by release, or where the history says that they expired: Expire ends the hold of one
// of its Owners, or that of the Acquire with the same number. An Expire that finds no such hold is illegal unless it is
// lenient. Exclusive locks cannot be acquired again by their owner; the others can, as often as they like.
type Lease struct{ Exclusive bool }

// LeaseState is who owns it at how many levels, and by which Acquire it was last taken if that may expire.
type LeaseState struct{ Owner, Count, Hold int32 }

// FreeLease is the state in which nobody holds it.
var FreeLease = LeaseState{Owner: Nobody}

// Name implements Model.
func (Lease) Name() string { return "lease" }

// About implements Model.
func (Lease) About() string {
	return "as reentrant; a hold also ends where the server's log says that it expired"
}

// Start implements Model.
func (Lease) Start() State { return FreeLease }

// Step implements Model.
func (m Lease) Step(state State, o *Operation) (State, bool) { return m.Next(state.(LeaseState), o) }

// Next is Step without the interface, for searches that take many steps.
func (m Lease) Next(s LeaseState, o *Operation) (LeaseState, bool) {
	mine := s.Owner == o.Client
	switch o.Action {
	case Acquire:
		switch {
		case s.Owner == Nobody:
			return LeaseState{o.Client, 1, o.Hold}, true
		case mine && !m.Exclusive:
			return LeaseState{s.Owner, s.Count + 1, o.Hold}, true
		}
		return s, false
	case Refuse:
		return s, s.Owner != Nobody && (m.Exclusive || !mine)
	case Release:
		switch {
		case !mine:
			return s, false
		case s.Count > 1:
			return LeaseState{s.Owner, s.Count - 1, s.Hold}, true
		}
		return FreeLease, true
	case Deny:
		return s, !mine
	case Expire:
		if s.Owner != Nobody && (o.Hold != 0 && s.Hold == o.Hold || among(s.Owner, o.Owners)) {
			return FreeLease, true
		}
	}
	return s, false
}

// Describe implements State.
func (s LeaseState) Describe(name func(int32) string) string { return heldAt(name, s.Owner, s.Count) }

// Holder implements Owned.
func (s LeaseState) Holder() int32 { return s.Owner }

// Takeover is a lock whose dead records stay until another client replaces them, as locks with SETNX and GETSET do. It
// is the client that decides that a hold has ended, so a hold ends by release or by the TakeOver of another; whether
// that came too early is not for this model to say.
type Takeover struct{}

// Name implements Model.
func (Takeover) Name() string { return "takeover" }

// About implements Model.
func (Takeover) About() string {
	return "as reentrant; a hold also ends when another takes its dead record over"
}

// Start implements Model.
func (Takeover) Start() State { return ReentrantState{Owner: Nobody} }

// Step implements Model.
func (Takeover) Step(state State, o *Operation) (State, bool) {
	if o.Action != TakeOver {
		return Reentrant{}.Step(state, o)
	}
	s := state.(ReentrantState)
	return ReentrantState{o.Client, 1}, s.Owner == Nobody || among(s.Owner, o.Owners)
}

// TimedLease is a lock whose holds end by time, for histories that do not tell when they did. Each operation took
// effect at some true time between its call and its return, and the times do not fall along the order.
//
// The state keeps the least times that are possible: all constraints are lower bounds on differences of times, so if
// any times fit, the least do. That leaves one choice that is not a time, of an owner that acquires again when its
// lease may or may not be over: it is taken as not over where it can be.
type TimedLease struct{}

// TimedLeaseState is who owns it at how many levels since when.
type TimedLeaseState struct {
	Owner, Count int32
	Lease        time.Duration // 0 means for ever
	// The hold, or its latest renewal, began at the earliest at From. Until bounds it from above: all operations since
	// then came later.
	From, Until time.Duration
	Now         time.Duration // no later operation took effect before this
}

// forever is later than any time of a history.
const forever = time.Duration(1<<63 - 1)

// Name implements Model.
func (TimedLease) Name() string { return "timed-lease" }

// About implements Model.
func (TimedLease) About() string {
	return "as reentrant; a hold also ends when its lease is over, nobody recorded when"
}

// Start implements Model.
func (TimedLease) Start() State { return TimedLeaseState{Owner: Nobody} }

// Step implements Model.
func (TimedLease) Step(state State, o *Operation) (State, bool) {
	s := state.(TimedLeaseState)
	latest := forever
	if o.Times != nil {
		s.Now = max(s.Now, o.Times.Called)
		if o.Times.Returned != 0 {
			latest = o.Times.Returned
		}
	}
	s.Until = min(s.Until, latest)
	mine := s.Owner == o.Client
	switch o.Action {
	case Acquire:
		return s.acquire(o, latest, mine)
	case Refuse:
		return s.still(latest, s.Owner != Nobody && !mine)
	case Release:
		next, legal := s.still(latest, mine)
		if next.Count--; next.Count <= 0 {
			next = TimedLeaseState{Owner: Nobody, Now: next.Now}
		}
		return next, legal
	case Deny:
		if mine {
			return s.over(latest)
		}
		return s, s.Now <= latest
	}
	return s, false
}

// still says that the lock is held and its lease not over at the time of an operation.
func (s TimedLeaseState) still(latest time.Duration, held bool) (TimedLeaseState, bool) {
	if s.Lease > 0 {
		s.From = max(s.From, s.Now-s.Lease+1)
	}
	return s, held && s.Now <= latest && s.From <= s.Until
}

// over says that the lease is over at the time of an operation.
func (s TimedLeaseState) over(latest time.Duration) (TimedLeaseState, bool) {
	now := max(s.Now, s.From+s.Lease)
	return TimedLeaseState{Owner: Nobody, Now: now}, s.Lease > 0 && now <= latest
}

func (s TimedLeaseState) acquire(o *Operation, latest time.Duration, mine bool) (State, bool) {
	count := int32(1)
	if s.Owner != Nobody {
		if again, legal := s.still(latest, mine); legal {
			s, count = again, s.Count+1
		} else if s, legal = s.over(latest); !legal {
			return s, false
		}
	}
	next := TimedLeaseState{Owner: o.Client, Count: count, From: s.Now, Until: latest, Now: s.Now}
	if o.Times != nil {
		next.Lease = o.Times.Lease
	}
	return next, s.Now <= latest
}

// Describe implements State.
func (s TimedLeaseState) Describe(name func(int32) string) string {
	if s.Owner == Nobody || s.Lease == 0 {
		return heldAt(name, s.Owner, s.Count)
	}
	return fmt.Sprintf("%s for %v from %v on", heldAt(name, s.Owner, s.Count), s.Lease, s.From)
}

// Holder implements Owned.
func (s TimedLeaseState) Holder() int32 { return s.Owner }
