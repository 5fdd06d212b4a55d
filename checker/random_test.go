package checker

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// generator makes histories of a lock by simulating one. With no defects set the histories are legal: the server
// applies each request at a point between call and return.
type generator struct {
	clients    int
	operations int
	reentrant  bool
	blocking   bool // acquires wait in line instead of being refused
	lost       int  // percent of replies that are lost
	defect     defect
	noise      int // percent of answers that are replaced by the opposite
	tokens     bool
	doors      bool // the server's queue is on record
}

// defect is a bug that is built into the server.
type defect int

const (
	noDefect       defect = iota
	doubleGrant           // one grant while another holds
	foreignRelease        // a release by anybody is accepted
	freesAtFirst          // the release of an inner level frees the lock
	refusesFree           // some tries are refused although the lock is free
	tokenGoesBack         // a token is handed out again
	servesLast            // the last in line is served first now and then
)

// world is the simulated server and its clients.
type world struct {
	generator
	rng     *rand.Rand
	h       *History
	now     time.Duration
	owner   int // process, none when free
	count   int
	token   int64
	doubled bool
	members []member
	line    []int // processes that wait
	started int
}

// member is a client: what it has under way, and how many levels it believes to hold.
type member struct {
	depth   int
	call    *Event
	applied bool
	answer  Type
	token   int64
	next    time.Duration
	gone    bool
}

// generate makes one history.
func (g generator) generate(seed uint64) *History {
	w := &world{
		generator: g, rng: rand.New(rand.NewPCG(seed, 1)), h: &History{}, owner: none, members: make([]member, g.clients),
	}
	for i := range w.members {
		w.members[i].next = w.delay(500)
	}
	for w.started < g.operations || w.busy() {
		p := w.earliest()
		if p == none {
			break
		}
		w.now = w.members[p].next
		w.advance(p)
	}
	return w.h
}

func (w *world) delay(mean int) time.Duration {
	return time.Duration(1+w.rng.IntN(2*mean)) * time.Millisecond
}

func (w *world) busy() bool {
	for i := range w.members {
		if m := &w.members[i]; m.call != nil && !m.gone {
			return true
		}
	}
	return false
}

// earliest finds the client whose turn it is; those that wait in line have none.
func (w *world) earliest() int {
	best := none
	for i := range w.members {
		m := &w.members[i]
		if m.gone || m.next < 0 || m.call == nil && w.started >= w.operations {
			continue
		}
		if best == none || m.next < w.members[best].next {
			best = i
		}
	}
	return best
}

func (w *world) record(p int, t Type, f string) *Event {
	w.h.Events = append(w.h.Events, Event{
		Index: int64(len(w.h.Events)), Time: w.now, Process: p, Node: fmt.Sprintf("c%d", p), Type: t, F: f, Key: "job",
	})
	return &w.h.Events[len(w.h.Events)-1]
}

// advance takes the next step of one client: call, apply at the server, or return.
func (w *world) advance(p int) {
	m := &w.members[p]
	switch {
	case m.call == nil:
		w.started++
		f := w.choose(m)
		call := *w.record(p, Invoke, f)
		m.call, m.applied = &call, false
		m.next = w.now + w.delay(100)
	case !m.applied:
		w.apply(p)
	default:
		w.answer(p)
	}
}

// choose picks what a client calls next.
func (w *world) choose(m *member) string {
	again := w.reentrant && m.depth < 3 && w.rng.IntN(10) < 4
	switch {
	case m.depth > 0 && !again, w.defect == foreignRelease && w.rng.IntN(10) == 0:
		return Release
	case w.blocking:
		return Acquire
	default:
		return TryAcquire
	}
}

// apply executes the request at the server.
func (w *world) apply(p int) {
	m := &w.members[p]
	m.applied = true
	m.next = w.now + w.delay(100)
	if m.call.F == Release {
		w.free(p)
		return
	}
	mine := w.owner == p && w.reentrant
	double := w.defect == doubleGrant && !w.doubled && w.started > w.operations/2 && w.owner != none && w.owner != p
	switch {
	case w.owner == none && w.defect == refusesFree && w.rng.IntN(10) == 0:
		m.answer = Fail
	case w.owner == none || mine || double:
		if !mine {
			w.door(p)
		}
		w.grant(p, !mine)
		w.doubled = w.doubled || double
	case w.blocking:
		w.line = append(w.line, p)
		m.next = -1
		w.door(p)
	default:
		m.answer = Fail
	}
}

// door records that a request has got its place in the queue.
func (w *world) door(p int) {
	if w.doors {
		e := w.record(p, Info, Request)
		e.Process, e.Command, e.Value = ProcessServer, commandCreate, fmt.Sprintf("job/%d", len(w.h.Events))
	}
}

func (w *world) grant(p int, fresh bool) {
	m := &w.members[p]
	m.answer = OK
	if !fresh {
		w.count++
		return
	}
	w.owner, w.count = p, 1
	if w.defect != tokenGoesBack || w.rng.IntN(4) > 0 {
		w.token++
	}
	m.token = w.token
}

func (w *world) free(p int) {
	m := &w.members[p]
	m.answer = OK
	if w.owner != p && (w.defect != foreignRelease || w.owner == none) {
		m.answer = Fail
		return
	}
	w.count--
	if w.count == 0 || w.defect == freesAtFirst || w.owner != p {
		w.owner, w.count = none, 0
		if len(w.line) > 0 {
			k := 0
			if w.defect == servesLast && w.rng.IntN(4) == 0 {
				k = len(w.line) - 1
			}
			next := w.line[k]
			w.line = append(w.line[:k], w.line[k+1:]...)
			w.members[next].next = w.now + w.delay(100)
			w.grant(next, true)
		}
	}
}

// answer returns to the client what the server said, or nothing.
func (w *world) answer(p int) {
	m := &w.members[p]
	t := m.answer
	if w.rng.IntN(100) < w.noise {
		t = map[Type]Type{OK: Fail, Fail: OK}[t]
	}
	if w.rng.IntN(100) < w.lost {
		t = Info
	}
	e := w.record(p, t, m.call.F)
	switch {
	case t == Info && m.call.F != Release: // The client gives back what it may have got.
		m.depth++
	case t == OK && m.call.F != Release:
		m.depth++
		if w.tokens {
			e.Token = m.token
		}
	case m.call.F == Release && t == OK:
		m.depth = max(m.depth-1, 0)
	case m.call.F == Release:
		m.depth = 0
	}
	m.call = nil
	m.next = w.now + w.delay(500)
	if m.depth > 0 {
		m.next = w.now + w.delay(300)
	}
}

// listing renders a history for the report of a failed test.
func listing(h *History) string {
	var b strings.Builder
	for i := range h.Events {
		e := &h.Events[i]
		fmt.Fprintf(&b, "%d %v %s %s %s %v\n", e.Index, e.Time, e.Node, e.Type, e.F, e.Deadline)
	}
	return b.String()
}
