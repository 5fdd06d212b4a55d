package model

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
