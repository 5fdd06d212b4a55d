package model

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Semaphore is held by as many at one time as it has permits. A client may take several.
type Semaphore struct{ Permits int }

// SemaphoreState lists who has a permit: one client number in four bytes for each permit that is taken, rising.
type SemaphoreState string

const wordSize = 4

func (m Semaphore) with(n int) Model { return Semaphore{n} }

// Name implements Model.
func (m Semaphore) Name() string { return fmt.Sprintf("semaphore:%d", m.Permits) }

// About implements Model.
func (Semaphore) About() string { return "as many holds at one time as there are permits" }

// Start implements Model.
func (Semaphore) Start() State { return SemaphoreState("") }

// Step implements Model.
func (m Semaphore) Step(state State, o *Operation) (State, bool) {
	s := state.(SemaphoreState)
	at, has := s.find(o.Client)
	full := len(s) >= m.Permits*wordSize
	switch o.Action {
	case Acquire:
		if full {
			return s, false
		}
		return s[:at] + word(o.Client) + s[at:], true
	case Refuse:
		return s, full
	case Release:
		if !has {
			return s, false
		}
		return s[:at] + s[at+wordSize:], true
	case Deny:
		return s, !has
	}
	return s, false
}

// Objection implements Objector.
func (m Semaphore) Objection(state State, o *Operation) string {
	_, has := state.(SemaphoreState).find(o.Client)
	switch {
	case o.Action == Acquire:
		return "all permits were taken"
	case o.Action == Refuse:
		return "a permit was free"
	case has:
		return "it had a permit"
	}
	return "it had no permit"
}

func word(client int32) SemaphoreState {
	var b [wordSize]byte
	binary.BigEndian.PutUint32(b[:], uint32(client))
	return SemaphoreState(b[:])
}

// Holders lists who has a permit, once for each.
func (s SemaphoreState) Holders() []int32 {
	var clients []int32
	for at := 0; at < len(s); at += wordSize {
		clients = append(clients, int32(binary.BigEndian.Uint32([]byte(s[at:at+wordSize]))))
	}
	return clients
}

// find returns where the permits of a client stand, or would stand.
func (s SemaphoreState) find(client int32) (at int, has bool) {
	own := word(client)
	for at < len(s) && s[at:at+wordSize] < own {
		at += wordSize
	}
	return at, at < len(s) && s[at:at+wordSize] == own
}

// Describe implements State.
func (s SemaphoreState) Describe(name func(int32) string) string {
	if s == "" {
		return "free"
	}
	var names []string
	for _, client := range s.Holders() {
		names = append(names, name(client))
	}
	return "held by " + strings.Join(names, ", ")
}
