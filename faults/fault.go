package faults

import (
	"fmt"
	"slices"
	"time"
)

// Fault is one thing that goes wrong once: what happens, to whom, how strongly and when.
//
// Which fields count depends on Kind; the others are zero. Check tells whether a value built by hand obeys that.
// Faults that come from Parse or from a drawn Template always do.
type Fault struct {
	Kind Kind
	Node NodeRef // the machine that is struck; empty for the kinds that strike a Link
	Link Link    // the connection that is struck; zero for the kinds that strike a Node

	Manner   Manner   // Crash, LoseRequest, LoseReply, Cut: what the peers see
	Empty    bool     // Restart: a server comes back without its data
	Identity Identity // Restart: whom a client takes itself for
	Timeout  bool     // CancelCall: the call is told that its time is over, not that it was called off
	List     bool     // AddPath: what is added is a list, which is no value that a lock expects

	// By is the added latency of a delay, how far a server is rolled back, how long after an event its repetition leaves,
	// the size of a clock's step, the offset that a clock is set to, the greatest deviation of a single reading of a
	// clock with jitter, or what a clock counts.
	By    time.Duration
	Drift int64         // ClockDrift: parts per million that the clock runs too fast; negative is too slow
	For   time.Duration // how long the fault stays, for the kinds that end by themselves
	// Path is what is counted, added or removed on a server: a key or the path of a node.
	Path  string
	Count int64 // PresetCounter: the number that the counter shows; FailScript: the write that fails, from 1

	When When
}

// Kind says what happens.
type Kind int

// The kinds of faults. The package documentation has a line of text and an example for each.
const (
	Crash        Kind = iota + 1 // the process dies, its connections with it
	Restart                      // a crashed or running machine comes back
	Pause                        // the machine stands still: nothing reaches it, none of its timers fires
	ClockStep                    // its wall clock jumps
	ClockOffset                  // its wall clock is set to true time plus an offset
	ClockDrift                   // both its clocks run at another rate
	ClockJitter                  // each reading of its wall clock is off by a random amount
	LoseRequest                  // the connection is cut before the server executes the request
	LoseReply                    // the server executes the request, then its reply is lost
	DelayRequest                 // one request stays longer in the network
	DelayReply                   // one reply stays longer in the network
	Slow                         // every message of a link takes longer for a while
	Cut                          // a link carries nothing for a while
	Down                         // a machine is away for a while and comes back with its data

	ExpireSession // the server ends a client's session before its time
	PresetCounter // the counter behind the names of sequential nodes shows another number
	AddPath       // a third party adds a key or node on a server
	RemovePath    // a third party removes one
	DelayEvent    // an unasked message, and all that follows it on its connection, stays longer in the network
	LoseEvent     // an unasked message is never sent
	RepeatEvent   // an unasked message is sent once more, later

	StarveTimers  // the timers of a client's lock do not fire for a while
	ReorderTimers // the same, and then the last one fires first
	CancelCall    // the call to the lock that a client is in is called off
	FailScript    // a script fails at one of its writes and keeps the earlier ones
	RollBack      // a server restarts as it was before its last writes
	ClockUnit     // its wall clock counts another unit than milliseconds
)

// Kinds returns all kinds in their order.
func Kinds() []Kind {
	kinds := make([]Kind, 0, len(forms))
	for _, form := range forms {
		kinds = append(kinds, form.kind)
	}
	return kinds
}

// String returns the words that begin a fault of this kind, such as "pause" or "clock step".
func (k Kind) String() string {
	if form, ok := formOf(k); ok {
		return form.title()
	}
	return fmt.Sprintf("Kind(%d)", int(k))
}

// Syntax returns how a fault of this kind is written, such as "pause NODE for DURATION WHEN".
func (k Kind) Syntax() string {
	if form, ok := formOf(k); ok {
		return form.syntax()
	}
	return ""
}

// StrikesRequest says that the fault picks one request of its Link: the one that its When names.
func (k Kind) StrikesRequest() bool { return k == LoseRequest || k == DelayRequest || k == FailScript }

// StrikesReply says that the fault picks one reply on its Link: the one to the request that its When names.
func (k Kind) StrikesReply() bool { return k == LoseReply || k == DelayReply }

// StrikesEvent says that the fault picks one message that the server of its Link sends unasked: the event of a watch,
// or a message of a channel. It is the next one once its When has come.
func (k Kind) StrikesEvent() bool { return k == DelayEvent || k == LoseEvent || k == RepeatEvent }

// StrikesProgram says that only the program of the machine can carry the fault out: see InjectorOptions.Act.
func (k Kind) StrikesProgram() bool {
	return k == ExpireSession || k == PresetCounter || k == AddPath || k == RemovePath || k == CancelCall
}

// NodeRef is the name of a machine, or a role that some machine plays when the fault strikes.
//
// The names Holder, Waiter and Next are reserved for roles. Who plays a role is not known to this package: the one who
// applies the fault asks the run, at the moment of striking.
type NodeRef string

// The roles that a NodeRef can name instead of a machine.
const (
	Holder NodeRef = "holder" // the client that believes it holds the lock
	Waiter NodeRef = "waiter" // a client that waits for the lock
	Next   NodeRef = "next"   // the client that is the next in line
)

// IsRole says whether the reference names a role instead of a machine.
func (n NodeRef) IsRole() bool { return slices.Contains(roles, n) }

// roles lists the reserved names.
var roles = []NodeRef{Holder, Waiter, Next}

// Link is what lies between two machines.
//
// For the kinds that pick one message, From is the client and To the server, also when the reply is struck. For Slow
// and Cut it is a direction: only what travels From one To the other is affected, unless Both.
type Link struct {
	From, To NodeRef
	Both     bool // Slow, Cut: the opposite direction too
}

// String renders the link as a>b, or a-b where it means both directions.
func (l Link) String() string {
	if l.Both {
		return string(l.From) + "-" + string(l.To)
	}
	return string(l.From) + ">" + string(l.To)
}

// Manner says what the peers of a connection see when it goes.
type Manner int

// The manners in which a connection goes.
const (
	Reset  Manner = iota // the peer is told at once
	Silent               // the peer is told nothing: the connection stays half-open
)

// String returns the manner as it is written in a fault.
func (m Manner) String() string {
	switch m {
	case Reset:
		return "reset"
	case Silent:
		return "silent"
	default:
		return fmt.Sprintf("Manner(%d)", int(m))
	}
}

// Identity says whom a restarted client takes itself for.
type Identity int

// The identities that a restarted client can have.
const (
	SameIdentity Identity = iota // the owner that it was before, as when a process number is used again
	NewIdentity                  // an owner that nobody has met yet
)

// String returns the identity as it is written in a fault, after the word "as".
func (i Identity) String() string {
	switch i {
	case SameIdentity:
		return "same"
	case NewIdentity:
		return "new"
	default:
		return fmt.Sprintf("Identity(%d)", int(i))
	}
}

// String writes the fault as one line that Parse reads back to an equal value.
func (f Fault) String() string { return Template{low: f, high: f}.String() }

// Equal says whether two faults are the same.
func (f Fault) Equal(other Fault) bool {
	return f.Kind == other.Kind && f.Node == other.Node && f.Link == other.Link &&
		f.Manner == other.Manner && f.Empty == other.Empty && f.Identity == other.Identity &&
		f.By == other.By && f.Drift == other.Drift && f.For == other.For &&
		f.Timeout == other.Timeout && f.List == other.List && f.Path == other.Path && f.Count == other.Count &&
		slices.Equal(f.When, other.When)
}

// Check reports why a fault built by hand is not one that text can say: a number out of bounds, a field that its kind
// does not use, a name that is none. The rules are those of Parse, since it is Parse that is asked.
func (f Fault) Check() error {
	text := f.String()
	back, err := Parse(text)
	if err != nil {
		return fmt.Errorf("fault %q: %w", text, err)
	}
	if !back.Equal(f) {
		return fmt.Errorf("fault %q: a field is set that %s does not use, or a name or command is not in its "+
			"written form: parse the text instead", text, f.Kind)
	}
	return nil
}

// Mentions returns every machine and role that the fault names, in the order of its text.
func (f Fault) Mentions() []NodeRef {
	var refs []NodeRef
	for _, ref := range []NodeRef{f.Node, f.Link.From, f.Link.To} {
		if ref != "" {
			refs = append(refs, ref)
		}
	}
	for _, trigger := range f.When {
		if trigger.Node != "" {
			refs = append(refs, trigger.Node)
		}
	}
	return refs
}

// MarshalText writes the fault as String does. It refuses a fault that could not be read back.
func (f Fault) MarshalText() ([]byte, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	return []byte(f.String()), nil
}

// UnmarshalText reads the fault as Parse does.
func (f *Fault) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*f = parsed
	return nil
}
