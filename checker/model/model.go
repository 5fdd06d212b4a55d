package model

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Nobody stands for no client.
const Nobody = -1

// Action says what an operation asked for and how it was answered.
type Action uint8

// The actions.
const (
	Acquire  Action = iota // an acquire that succeeded
	Refuse                 // a try that was refused because the lock was held
	Release                // a release that succeeded
	Deny                   // a release that was told "not the owner"
	Expire                 // the server ended the hold of one of Owners, or the grant number Hold
	TakeOver               // an acquire that took over the dead record of one of Owners
)

// Operation is one step of a lock object.
type Operation struct {
	Action Action
	Client int32
	// Lenient operations are legal everywhere. Where they cannot act they change nothing, as if they had not happened:
	// this is how an operation of unknown outcome is put, and the release of a hold that may have ended by itself.
	Lenient bool
	// Hold numbers an Acquire whose hold may expire, and names that one in an Expire. 0 means none.
	Hold   int32
	Owners []int32
	Token  int64 // of an Acquire, 0 when unknown
	// Times is for TimedLease alone.
	Times *Times
}

// Times are the true times between which an operation took effect, and how long the hold of an Acquire lasts. Returned
// 0 means that it never returned, Lease 0 that the hold lasts until it is released.
type Times struct{ Called, Returned, Lease time.Duration }

// State is what a lock object remembers. States of one model can be compared with ==.
type State interface {
	// Describe renders the state with the names of clients: "held by c1".
	Describe(name func(client int32) string) string
}

// Owned states name the one client that holds the lock, or Nobody.
type Owned interface{ Holder() int32 }

// Objector models say in words why they take an operation for illegal in a state, where it is not for who holds the
// lock: "token 4 is not above 5". An empty text means that who holds it is the reason.
type Objector interface {
	Objection(State, *Operation) string
}

// Model is a sequential lock object.
type Model interface {
	// Name is the short name of the model, with its parameter if it has one: "semaphore:3".
	Name() string
	// About says in one line what the lock promises.
	About() string
	// Start is the state of a lock that nobody has used.
	Start() State
	// Step takes an operation in a state. It is pure. False means that the operation cannot have been answered so.
	Step(State, *Operation) (State, bool)
}

// Take takes an operation, lenient ones included.
func Take(m Model, s State, o *Operation) (State, bool) {
	next, legal := m.Step(s, o)
	if !legal {
		return s, o.Lenient
	}
	return next, true
}

// All lists one model of each kind.
func All() []Model {
	return []Model{
		Mutex{}, Owner{}, Reentrant{}, Fenced{}, ReentrantFenced{}, Semaphore{Permits: 2}, Lease{}, Takeover{}, TimedLease{},
	}
}

// Named finds the model with a name. Those with a parameter take it after a colon: reentrant:2 allows two levels,
// semaphore:3 has three permits.
func Named(name string) (Model, error) {
	kind, text, given := strings.Cut(name, ":")
	parameter := 0
	if given {
		n, err := strconv.ParseInt(text, 10, 31)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("model %q: want a number of at least 1 after the colon", name)
		}
		parameter = int(n)
	}
	var names []string
	for _, m := range All() {
		base, _, _ := strings.Cut(m.Name(), ":")
		names = append(names, base)
		if base != kind {
			continue
		}
		if !given {
			return m, nil
		}
		if with, ok := m.(parametric); ok {
			return with.with(parameter), nil
		}
		return nil, fmt.Errorf("model %q: %s has no parameter", name, kind)
	}
	return nil, fmt.Errorf("there is no model %q: want one of %s", name, strings.Join(names, ", "))
}

// parametric models have a number in their names.
type parametric interface{ with(n int) Model }

// withLimit adds a limit to a name, unless there is none.
func withLimit(name string, limit int32) string {
	if limit <= 0 {
		return name
	}
	return fmt.Sprintf("%s:%d", name, limit)
}

// notAbove says that a token cannot be that of a new hold.
func notAbove(token, highest int64) string {
	return fmt.Sprintf("token %d is not above %d", token, highest)
}

// atLimit says that a holder cannot enter once more.
func atLimit(limit int32) string {
	if limit == 1 {
		return "it held it already, and the limit is one level"
	}
	return fmt.Sprintf("it held it already at the limit of %d levels", limit)
}

// among tells whether client is one of clients.
func among(client int32, clients []int32) bool {
	for _, c := range clients {
		if c == client {
			return true
		}
	}
	return false
}
