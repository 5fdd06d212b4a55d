package model

import "fmt"

// Mutex is a lock that knows no owners. Whoever releases it may be anybody, so that it misses every release of
// another's hold, and a refused release says nothing.
type Mutex struct{}

// MutexState tells whether it is held.
type MutexState bool

// Name implements Model.
func (Mutex) Name() string { return "mutex" }

// About implements Model.
func (Mutex) About() string { return "one hold at a time, anybody may release it" }

// Start implements Model.
func (Mutex) Start() State { return MutexState(false) }

// Step implements Model.
func (Mutex) Step(state State, o *Operation) (State, bool) {
	held := state.(MutexState)
	switch o.Action {
	case Acquire:
		return MutexState(true), !bool(held)
	case Refuse:
		return held, bool(held)
	case Release:
		return MutexState(false), bool(held)
	case Deny:
		return held, true
	}
	return held, false
}

// Describe implements State.
func (s MutexState) Describe(func(int32) string) string {
	if s {
		return "held"
	}
	return "free"
}

// Owner is a lock that only its owner may release.
type Owner struct{}

// OwnerState is who owns it, Nobody when it is free.
type OwnerState int32

// Name implements Model.
func (Owner) Name() string { return "owner" }

// About implements Model.
func (Owner) About() string { return "one hold at a time, only its owner may release it" }

// Start implements Model.
func (Owner) Start() State { return OwnerState(Nobody) }

// Step implements Model.
func (Owner) Step(state State, o *Operation) (State, bool) {
	owner := state.(OwnerState)
	switch o.Action {
	case Acquire:
		return OwnerState(o.Client), owner == Nobody
	case Refuse:
		return owner, owner != Nobody
	case Release:
		return OwnerState(Nobody), owner == OwnerState(o.Client)
	case Deny:
		return owner, owner != OwnerState(o.Client)
	}
	return owner, false
}

// Describe implements State.
func (s OwnerState) Describe(name func(int32) string) string { return heldAt(name, int32(s), 1) }

// Holder implements Owned.
func (s OwnerState) Holder() int32 { return int32(s) }

// Reentrant is a lock whose owner may acquire it again, up to Limit levels in all; 0 means any number.
type Reentrant struct{ Limit int32 }

// ReentrantState is who owns it at how many levels.
type ReentrantState struct{ Owner, Count int32 }

func (m Reentrant) with(n int) Model { return Reentrant{int32(n)} }

// Name implements Model.
func (m Reentrant) Name() string { return withLimit("reentrant", m.Limit) }

// About implements Model.
func (Reentrant) About() string { return "its owner may acquire it again; as many releases free it" }

// Start implements Model.
func (Reentrant) Start() State { return ReentrantState{Owner: Nobody} }

// Step implements Model.
func (m Reentrant) Step(state State, o *Operation) (State, bool) {
	s := state.(ReentrantState)
	mine := s.Owner == o.Client
	full := m.Limit > 0 && s.Count >= m.Limit
	switch o.Action {
	case Acquire:
		return ReentrantState{o.Client, s.Count + 1}, s.Owner == Nobody || mine && !full
	case Refuse:
		return s, s.Owner != Nobody && (!mine || full)
	case Release:
		if s.Count == 1 {
			return ReentrantState{Owner: Nobody}, mine
		}
		return ReentrantState{s.Owner, s.Count - 1}, mine
	case Deny:
		return s, !mine
	}
	return s, false
}

// Objection implements Objector.
func (m Reentrant) Objection(state State, o *Operation) string {
	s := state.(ReentrantState)
	if o.Action == Acquire && s.Owner == o.Client && m.Limit > 0 && s.Count >= m.Limit {
		return atLimit(m.Limit)
	}
	return ""
}

// Describe implements State.
func (s ReentrantState) Describe(name func(int32) string) string {
	return heldAt(name, s.Owner, s.Count)
}

// Holder implements Owned.
func (s ReentrantState) Holder() int32 { return s.Owner }

// heldAt renders an owner with its levels.
func heldAt(name func(int32) string, owner, count int32) string {
	switch {
	case owner == Nobody:
		return "free"
	case count == 1:
		return "held by " + name(owner)
	}
	return fmt.Sprintf("held by %s at %d levels", name(owner), count)
}
