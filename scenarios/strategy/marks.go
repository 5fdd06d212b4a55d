package strategy

import (
	"slices"
	"time"
)

// Marks counts how often a run came to where locks break, whatever its strategy. A search whose runs never came there
// is not a pass. It is for the engine's goroutine.
type Marks struct {
	deadlines []time.Duration // known ends of leases and sessions, rising
	windows   map[string]*window
	last      map[string]string // by server: the client whose window closed with the last request, untouched
	counts    [markNames]int
}

// Mark is one thing that is counted.
type Mark int

// The marks.
const (
	BeforeDeadline Mark = iota // a request arrived within a tick before a deadline
	AtDeadline                 // a request arrived at a deadline or within a tick after it
	WindowEntered              // another client wrote between what a client read and the write that rests on it
	WindowFollowed             // another client wrote right after such a write

	markNames = 4
)

var markTexts = [markNames]string{
	"requests within a tick before a deadline", "requests within a tick after a deadline",
	"writes between another's read and write", "writes right after another's read and write",
}

func (m Mark) String() string { return markTexts[m] }

// AllMarks lists the marks in their order.
func AllMarks() []Mark { return []Mark{BeforeDeadline, AtDeadline, WindowEntered, WindowFollowed} }

// window is the time between a client's read and the write that rests on it.
type window struct {
	open    bool
	entered bool
}

// NewMarks returns marks that nothing was counted for.
func NewMarks() *Marks { return &Marks{windows: map[string]*window{}, last: map[string]string{}} }

// Count tells how often something was met.
func (m *Marks) Count(mark Mark) int { return m.counts[mark] }

// Counts lists what was counted, in the order of AllMarks.
func (m *Marks) Counts() []int { return slices.Clone(m.counts[:]) }

// tick is the unit in which servers and locks tell deadlines.
const tick = time.Millisecond

// Deadline tells that some lease or session ends at a time, as far as its server or its holder can know.
func (m *Marks) Deadline(at time.Duration) {
	i, known := slices.BinarySearch(m.deadlines, at)
	if !known {
		m.deadlines = slices.Insert(m.deadlines, i, at)
	}
}

// within lists the deadlines from one time to another, both included.
func (m *Marks) within(from, to time.Duration) []time.Duration {
	i, _ := slices.BinarySearch(m.deadlines, from)
	j, _ := slices.BinarySearch(m.deadlines, to+1)
	return m.deadlines[i:max(i, j)]
}

// reads are the commands whose answer a client bases its next one on.
var reads = map[string]bool{
	"SETNX": true, "GET": true, "EXISTS": true, "TTL": true, "PTTL": true, "TIME": true,
	"GETCHILDREN": true, "GETCHILDREN2": true, "GETDATA": true,
}

// Request counts a request that a server is about to execute at a time.
func (m *Marks) Request(client, server, command string, now time.Duration) {
	if len(m.within(now+1, now+tick)) > 0 {
		m.counts[BeforeDeadline]++
	}
	if len(m.within(now-tick+1, now)) > 0 {
		m.counts[AtDeadline]++
	}
	mine := m.windows[client]
	if mine == nil {
		mine = &window{}
		m.windows[client] = mine
	}
	if reads[command] {
		if !mine.open {
			*mine = window{open: true}
		}
		return
	}
	if before := m.last[server]; before != "" && before != client {
		m.counts[WindowFollowed]++
	}
	m.last[server] = ""
	for other, w := range m.windows { // order-free: each is marked by itself
		if other != client && w.open {
			w.entered = true
		}
	}
	if mine.open {
		if mine.entered {
			m.counts[WindowEntered]++
		} else {
			m.last[server] = client
		}
	}
	*mine = window{}
}
