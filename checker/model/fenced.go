package model

import "fmt"

// Fenced is a lock each of whose holds carries a token that is higher than all tokens before. An Acquire without a
// token is one whose token nobody knows.
type Fenced struct{}

// FencedState is who owns it and the highest token so far.
type FencedState struct {
	Owner   int32
	Highest int64
}

// Name implements Model.
func (Fenced) Name() string { return "fenced" }

// About implements Model.
func (Fenced) About() string { return "as owner, and each hold has a token higher than all before" }

// Start implements Model.
func (Fenced) Start() State { return FencedState{Owner: Nobody} }

// Step implements Model.
func (Fenced) Step(state State, o *Operation) (State, bool) {
	s := state.(FencedState)
	switch o.Action {
	case Acquire:
		return FencedState{o.Client, max(s.Highest, o.Token)}, s.Owner == Nobody && rises(s.Highest, o.Token)
	case Refuse:
		return s, s.Owner != Nobody
	case Release:
		return FencedState{Nobody, s.Highest}, s.Owner == o.Client
	case Deny:
		return s, s.Owner != o.Client
	}
	return s, false
}

// Objection implements Objector.
func (Fenced) Objection(state State, o *Operation) string {
	if s := state.(FencedState); o.Action == Acquire && s.Owner == Nobody && !rises(s.Highest, o.Token) {
		return notAbove(o.Token, s.Highest)
	}
	return ""
}

// rises tells whether a token may be that of a new hold.
func rises(highest, token int64) bool { return token == 0 || token > highest }

// Describe implements State.
func (s FencedState) Describe(name func(int32) string) string {
	return fmt.Sprintf("%s, token %d", heldAt(name, s.Owner, 1), s.Highest)
}

// Holder implements Owned.
func (s FencedState) Holder() int32 { return s.Owner }

// ReentrantFenced is a fenced lock whose owner may acquire it again, up to Limit levels in all; 0 means any number. The
// token stays the same inside one hold.
type ReentrantFenced struct{ Limit int32 }

// ReentrantFencedState is who owns it at how many levels, the token of this hold and the highest so far.
type ReentrantFencedState struct {
	Owner, Count  int32
	Hold, Highest int64
}

func (m ReentrantFenced) with(n int) Model { return ReentrantFenced{int32(n)} }

// Name implements Model.
func (m ReentrantFenced) Name() string { return withLimit("reentrant-fenced", m.Limit) }

// About implements Model.
func (ReentrantFenced) About() string {
	return "as reentrant, and each hold has one token, higher than all before"
}

// Start implements Model.
func (ReentrantFenced) Start() State { return ReentrantFencedState{Owner: Nobody} }

// Step implements Model.
func (m ReentrantFenced) Step(state State, o *Operation) (State, bool) {
	s := state.(ReentrantFencedState)
	mine := s.Owner == o.Client
	full := m.Limit > 0 && s.Count >= m.Limit
	switch o.Action {
	case Acquire:
		return m.acquire(s, o, mine, full)
	case Refuse:
		return s, s.Owner != Nobody && (!mine || full)
	case Release:
		if s.Count == 1 {
			return ReentrantFencedState{Owner: Nobody, Highest: s.Highest}, mine
		}
		s.Count--
		return s, mine
	case Deny:
		return s, !mine
	}
	return s, false
}

func (m ReentrantFenced) acquire(s ReentrantFencedState, o *Operation, mine, full bool) (State, bool) {
	fresh := rises(s.Highest, o.Token)
	if s.Owner == Nobody {
		return ReentrantFencedState{o.Client, 1, o.Token, max(s.Highest, o.Token)}, fresh
	}
	// The first token that is known is that of the hold.
	same := s.Hold != 0 && o.Token == s.Hold
	next := ReentrantFencedState{s.Owner, s.Count + 1, max(s.Hold, o.Token), max(s.Highest, o.Token)}
	return next, mine && !full && (o.Token == 0 || same || s.Hold == 0 && fresh)
}

// Objection implements Objector.
func (m ReentrantFenced) Objection(state State, o *Operation) string {
	s := state.(ReentrantFencedState)
	mine := s.Owner == o.Client
	switch {
	case o.Action != Acquire || s.Owner != Nobody && !mine:
		return ""
	case mine && m.Limit > 0 && s.Count >= m.Limit:
		return atLimit(m.Limit)
	case mine && s.Hold != 0:
		return fmt.Sprintf("token %d is not that of its hold, %d", o.Token, s.Hold)
	}
	return notAbove(o.Token, s.Highest)
}

// Describe implements State.
func (s ReentrantFencedState) Describe(name func(int32) string) string {
	return fmt.Sprintf("%s, token %d", heldAt(name, s.Owner, s.Count), s.Highest)
}

// Holder implements Owned.
func (s ReentrantFencedState) Holder() int32 { return s.Owner }
