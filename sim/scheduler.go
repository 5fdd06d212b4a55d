package sim

import (
	"strings"
	"time"
)

// Scheduler decides when messages arrive, within what the network allows. Without one, each message takes the latency
// that its link's stream gives. With one, the run is a function of the scheduler too.
//
// It is asked on the engine's goroutine, for every message from true time 0 on, those that open and end connections
// included. Whatever it answers, bytes of one connection stay in order, and what faults add to a message (Link.Slow,
// Message.Delay) comes on top.
type Scheduler interface {
	// Depart is asked when a message sets out. allowed is what the link may take and drawn what its stream gave. The
	// answer is the latency after which the message may arrive at the earliest; it is not held to the allowed range, so
	// that a schedule that was written down can be followed.
	Depart(m *Message, allowed Range, drawn time.Duration) time.Duration
	// Arrive is asked when a message can be handed over, and it must be by the time of by at the latest. An answer that
	// lies after now and not after by makes it wait: it is asked again at that time. Anything else hands it over.
	Arrive(m *Message, by time.Duration) time.Duration
}

// scheduled is what a message carries while a Scheduler decides about it.
type scheduled struct {
	sent int64  // when it set out
	by   int64  // when it has to be handed over at the latest; 0 = nobody is asked
	on   int64  // what faults have added to its latency
	turn uint64 // its place among the messages of its end, from 1
}

// Sent is the true time at which the message set out. Good for a Scheduler only.
func (m *Message) Sent() time.Duration { return time.Duration(m.scheduled.sent) }

// Travelled is the latency of the message if it were handed over now, without what faults have added: what Depart
// would have to answer for the same arrival. Good for a Scheduler only.
func (m *Message) Travelled() time.Duration {
	return time.Duration(m.from.node.world.now.Load() - m.scheduled.sent - m.scheduled.on)
}

// What names what the message is about in one word: the command of a request, in upper case, and of the request that a
// reply answers; "event" for what a server says unasked, and in lower case what the connection itself says ("open",
// "opened", "end", "reset"), or "data" for bytes that are no whole request.
func (m *Message) What() string {
	switch {
	case m.Unasked:
		return "event"
	case messageClass(m.kind) != messageData:
		return messageNames[m.kind]
	case len(m.Args) == 0:
		return messageNames[messageData]
	default:
		return strings.ToUpper(m.Args[0])
	}
}

// Sum is a hash of what the message says, equal over both transports.
func (m *Message) Sum() uint64 { return m.sum() }

// Upcoming is the true time of the earliest event that is still to come; false when there is none. While a Scheduler is
// asked, the message that it is asked about is not among them.
func (w *World) Upcoming() (time.Duration, bool) {
	if e := w.next(); e != nil {
		return time.Duration(e.at), true
	}
	return 0, false
}

// depart asks the Scheduler for the latency of a message and notes what Arrive needs.
func (w *World) depart(l *Link, m *Message, drawn, added time.Duration) time.Duration {
	now := w.now.Load()
	m.scheduled = scheduled{sent: now, on: int64(added), turn: m.scheduled.turn}
	latency := max(w.config.Scheduler.Depart(m, l.latency, drawn), 0)
	m.scheduled.by = now + int64(max(l.latency.Max, latency)+added)
	return latency
}

// queued gives a scheduled message its turn: those of one end are handed over in the order in which they were queued.
func (e *end) queued(m *Message) {
	if m.scheduled.by != 0 {
		e.turns++
		m.scheduled.turn = e.turns
	}
}

// waits asks the Scheduler about a message that can be handed over and tells whether it has to wait.
func (w *World) waits(e *event) bool {
	m := e.message
	s := &m.scheduled
	if s.by == 0 {
		return false
	}
	from := m.from
	if s.turn > from.turn+1 {
		from.behind = append(from.behind, *e)
		return true
	}
	now := w.now.Load()
	if s.turn > 1 && from.handed == now {
		e.at = slot(now+1, from.link.number) // messages of one end never arrive at the same time
		w.queue.push(*e)
		return true
	}
	until := int64(w.config.Scheduler.Arrive(m, time.Duration(s.by)))
	if until > now && until <= s.by {
		w.queue.push(event{at: slot(until, from.link.number), key: e.key, message: m})
		return true
	}
	s.by = 0
	from.turn, from.handed = s.turn, now
	for i := range from.behind { // they find out by themselves whose turn it is
		next := from.behind[i]
		next.at = slot(now+1, from.link.number)
		w.queue.push(next)
		from.behind[i] = event{}
	}
	from.behind = from.behind[:0]
	return false
}
