package checker

import "time"

// Type says what an Event tells of an operation, in Jepsen's words.
type Type string

// The types of events.
const (
	Invoke Type = "invoke" // a call was made
	OK     Type = "ok"     // it returned and took effect
	Fail   Type = "fail"   // it returned and certainly took no effect
	Info   Type = "info"   // nobody knows whether it took effect; also the type of facts and faults
)

// Processes that are not clients.
const (
	ProcessServer = -1 // a fact observed at a server; "server" in JSONL
	ProcessFault  = -2 // a fault or the heal; "nemesis" in JSONL
)

// What an Event can be about: the F of client operations.
const (
	Acquire    = "acquire"     // blocking lock; an error is info, and a fail, as others write it, says nothing
	TryAcquire = "try-acquire" // one attempt or a timed one; fail means refused
	Release    = "release"     // fail means "not the owner"
	Write      = "write"       // a write to the protected resource; Accepted tells what it did with it
	Lost       = "lost"        // the lock told its holder that the hold is gone (type info)
	Crash      = "crash"       // the process died (type info); its open operations stay open
	Renew      = "renew"       // the lock extended its hold by itself (type info); Deadline is the new one
)

// The F of server facts (ProcessServer). Node is the client whose request caused the fact, or empty.
const (
	// RecordSet: the lock's record on the server now names Owner with Count levels until Deadline (server's clock).
	// Command tells by which command. Previous* tell the record that was replaced, if any.
	RecordSet = "record-set"
	// RecordGone: the record was deleted (Command "DEL", ...) or expired by the server (Command "EXPIRE").
	RecordGone = "record-gone"
	// Applied: the resource executed a write; Node is the writer. Process may name the writing process instead of
	// ProcessServer, which settles whose write it was when a machine had several.
	Applied = "applied"
	// Served: the server executed the request of the call with index Call, at this point of the history. Type is OK or
	// Fail, as the server decided; the caller may have been told something else, or nothing. Of several facts about one
	// call, which may take several requests, the last counts. Where the facts are complete they are the order by which
	// linearizability is judged.
	Served = "served"
)

// Request is a request that a server executed, for whoever explains a history: Command says which, Value its path,
// Error why it was refused, Node and Owner who sent it. With Command "event" it is an event that was sent to Node.
// Order takes from them who stands where in a queue: "create" gives a place, "delete", "closeSession" and "expire" end
// it. No other property judges requests.
const Request = "request"

// Commands of RecordGone that no client sent.
const (
	CommandExpire  = "EXPIRE"  // the server's clock passed the deadline of the record
	CommandRestart = "RESTART" // the server came back without its data
	CommandRemove  = "REMOVE"  // a third party removed it
)

// The F of faults (ProcessFault).
const (
	FaultApplied = "fault" // Command holds the fault's text
	Healed       = "healed"
	WorkloadEnd  = "end" // the workload was stopped; acquires that are still open were cut off by the bench
)

// Event is one line of a history.
type Event struct {
	Index   int64         // unique, rising: decides order
	Time    time.Duration // true time since the start of the run
	Process int           // client process, unique per incarnation; ProcessServer, ProcessFault
	Node    string        // machine
	Type    Type
	F       string
	Key     string // the lock's or the resource's name
	Value   string // argument or result as text; no property judges it
	Error   string
	Clock   time.Time // what the machine's wall clock showed; zero when unknown
	Token   int64     // fencing token, 0 = none
	// Deadline is when the hold ends by itself, in true time as far as the client could know; 0 = it does not say.
	Deadline time.Duration
	// Wait is how long an invoked TryAcquire was ready to wait; 0 = one attempt.
	Wait time.Duration

	Owner    string // identity in the record or of the caller; several processes may share one (that is bug R10)
	Count    int64  // levels of reentrancy after the event, as the client or the record says
	Command  string // what did it: a server command or a fault's text
	Accepted bool   // Write/Applied: accepted by the check on tokens
	Call     int64  // Served: the index of the call whose request was executed

	Previous *Record // RecordSet/RecordGone: what was there before, nil = nothing
	Record   *Record // RecordSet: what is there now
}

// Record is what a lock's record on the server said.
type Record struct {
	Owner string
	Count int64
	// Expires is the deadline in the record (getset) or of the key's TTL, in Unix milliseconds of the clock that
	// judges it; 0 = never.
	Expires int64
	// Now is that clock's reading at this event.
	Now int64
}
