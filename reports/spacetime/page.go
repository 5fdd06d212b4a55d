package spacetime

import "time"

// None stands for "no such lane" and "no such event" wherever a number of one is kept.
const None = -1

// Page is all that is to be seen of one run.
//
// Lanes and events are referred to by their number in these slices. Text of any kind may stand in every string.
type Page struct {
	Title    string
	Facts    []Fact // what the run was a run of
	Verdicts []Verdict
	Story    *Story // nil when there is nothing to tell
	Notices  []string
	Lanes    []Lane
	// Events come in the order in which they happened: times never fall, and a cause comes before its effects.
	Events []Event
	Bars   []Bar
	Bands  []Band
}

// Fact is one line about the run.
type Fact struct{ Name, Value string }

// Verdict is the answer to one property.
type Verdict struct {
	Property string
	Result   string // violated, unknown, holds or skipped
	Why      string
	// Event is where the first violation shows, None if there is none.
	Event int
}

// Story is what went wrong, in numbered steps.
type Story struct {
	Headline   string
	Mechanism  string
	Steps      []Step
	Omitted    int
	Conclusion string
	Text       string // the whole story as text, to copy
}

// Step is one step of a story.
type Step struct {
	Number int
	Time   time.Duration
	Who    string
	Lane   int // of whom it is told, None if that is no machine
	Clock  string
	Text   string
	Event  int // None for what is no event, such as the end of a lease
}

// LaneKind says what stands on a lane.
type LaneKind uint8

// Clients call, servers answer.
const (
	Client LaneKind = iota
	Server
)

// Lane is one machine.
type Lane struct {
	Name string
	Kind LaneKind
}

// Kind says what an event is.
type Kind uint8

// The kinds of events. Those up to Note are from the engine's trace, the others from the history.
const (
	Send Kind = iota
	Deliver
	Drop
	Timer
	Node
	Note
	Call
	OK
	Refused
	Unknown
	Record
	Applied
	Fault
	Phase
	Belief
	kinds // how many there are
)

// Event is something that happened on one lane at one instant.
type Event struct {
	Time   time.Duration // true time
	Kind   Kind
	Lane   int // None where it happened to nobody in particular
	Peer   int // Send, Deliver, Drop: the other end; Applied, Record: whose request did it
	Cause  int // what led to it, None if nothing did; the cause of a Deliver or Drop is its Send
	Label  string
	Detail string
	// Control says that the message only opens or ends a connection.
	Control bool
	// Skew is by how much the wall clock of the lane was ahead of true time, if that is known.
	Skew      time.Duration
	SkewKnown bool
	// Bent says that the clock was set or its rate changed here.
	Bent  bool
	Entry uint64 // number in the trace, 0 = it is not from the trace
	Index int64  // number in the history, 0 = it is not from the history
}

// BarKind says what lasted.
type BarKind uint8

// A client believes to hold; it does so while another does; the record names somebody and its lease lasts; the record
// still stands though its lease is over.
const (
	Hold BarKind = iota
	Overlap
	Lease
	LeaseOver
)

// Bar is something that lasted on one lane.
type Bar struct {
	Kind     BarKind
	Lane     int
	Owner    int // the lane of the client that it is about, None if unknown
	From, To time.Duration
	// Start and End are the events with which it began and ended, None where it began or ended with the time alone.
	Start, End int
	// Slot tells bars of one lane apart that last at the same time: of several locks or processes.
	Slot          int
	Label, Detail string
}

// BandKind says what went wrong for a while.
type BandKind uint8

// The kinds of bands.
const (
	Paused  BandKind = iota // stands still
	Down                    // has crashed or is away
	Cut                     // a link carries nothing
	Slow                    // a link is slow
	Clocked                 // a clock is off
	Trouble                 // the violation itself, where it is about nobody's holding
)

// Band is a fault that lasted, on the lanes that it struck; on all where there are none.
type Band struct {
	Kind     BandKind
	Lanes    []int
	From, To time.Duration
	Label    string
}
