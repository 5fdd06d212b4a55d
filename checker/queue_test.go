package checker

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// queueBug is a bug that is built into a queue of sessions.
type queueBug int

const (
	noBug          queueBug = iota
	keepsRecord             // a release is answered and its record stays
	forgetsNext             // a release wakes nobody
	passesOver              // one client is never served while there is another
	losesAnswer             // one answer to a release never comes
	keepsSession            // the end of a session leaves its record
	wakesAll                // a release wakes everybody that waits
	dawdles                 // a hand-over takes very long now and then
	prefersOne              // one client asks first and is served first
	locksCrosswise          // clients take two locks in opposite orders
)

// queueWorld is a server that keeps a queue of sessions, and its clients. Things happen one after the other.
type queueWorld struct {
	bug     queueBug
	rng     *rand.Rand
	h       *History
	now     time.Duration
	line    []int // clients that wait, in order
	holder  int   // none when free
	record  int   // the client that the record names, none when it is gone
	idle    []int
	healed  bool
	crashed int
}

const (
	queueClients = 6
	queueRounds  = 120
)

// queueHistory makes one history. Its faults heal after a third of it.
func queueHistory(bug queueBug, seed uint64) *History {
	w := &queueWorld{
		bug: bug, rng: rand.New(rand.NewPCG(seed, 7)), holder: none, record: none, crashed: none,
		h: &History{Header: Header{Lock: "/job"}},
	}
	for c := range queueClients {
		w.idle = append(w.idle, c)
	}
	for round := range queueRounds {
		if round == queueRounds/3 {
			w.fault("pause c1 for 10ms", FaultApplied)
			w.fault("", Healed)
			w.healed = true
		}
		w.round(round)
	}
	for w.holder != none && bug != forgetsNext && bug != keepsRecord {
		w.release(w.holder, false)
	}
	if bug == locksCrosswise {
		w.crosswise()
	}
	w.now += 10 * time.Second
	w.fault("", WorkloadEnd)
	return w.h
}

func (w *queueWorld) pass(most int) { w.now += time.Duration(1+w.rng.IntN(most)) * time.Millisecond }

func (w *queueWorld) fault(command, f string) {
	w.add(Event{Process: ProcessFault, Type: Info, F: f, Command: command, Node: "c1"})
}

func (w *queueWorld) add(e Event) {
	e.Index, e.Time = int64(len(w.h.Events)), w.now
	w.h.Events = append(w.h.Events, e)
}

func owner(c int) string { return fmt.Sprintf("o%d", c) }

// call records an event of a client.
func (w *queueWorld) call(c int, t Type, f, key string) {
	w.add(Event{Process: c, Node: fmt.Sprintf("c%d", c), Owner: owner(c), Type: t, F: f, Key: key})
}

// request records that the server executed something for a client.
func (w *queueWorld) request(c int, command string) {
	w.add(Event{
		Process: ProcessServer, Type: Info, F: Request, Key: "/job", Node: fmt.Sprintf("c%d", c), Owner: owner(c),
		Command: command, Value: fmt.Sprintf("/job/%d", c),
	})
}

// names lets the record name a client, or nobody.
func (w *queueWorld) names(c int, command string) {
	e := Event{Process: ProcessServer, Type: Info, F: RecordGone, Key: "/job", Command: command}
	if w.record != none {
		e.Previous = &Record{Owner: owner(w.record), Count: 1}
		if command != CommandExpire {
			e.Node, e.Owner = fmt.Sprintf("c%d", w.record), owner(w.record)
		}
	}
	if w.record != none {
		w.add(e)
	}
	if w.record = c; c != none {
		w.add(Event{
			Process: ProcessServer, Type: Info, F: RecordSet, Key: "/job", Command: "create", Count: 1,
			Record: &Record{Owner: owner(c), Count: 1},
		})
	}
}

// round lets clients ask, and the holder go.
func (w *queueWorld) round(round int) {
	for range 1 + w.rng.IntN(2) {
		w.ask()
	}
	if round == queueRounds/2 && w.holder != none && w.crashed == none && w.bug != prefersOne {
		w.crash()
		return
	}
	if w.holder != none && w.rng.IntN(3) > 0 {
		w.release(w.holder, w.healed && round > queueRounds/2)
	}
}

// ask lets an idle client ask for the lock.
func (w *queueWorld) ask() {
	if len(w.idle) == 0 {
		return
	}
	k := w.rng.IntN(len(w.idle))
	for i, c := range w.idle {
		if w.bug == prefersOne && c == 0 {
			k = i
		}
	}
	c := w.idle[k]
	w.idle = append(w.idle[:k], w.idle[k+1:]...)
	w.pass(20)
	w.call(c, Invoke, Acquire, "/job")
	w.pass(3)
	w.request(c, commandCreate)
	if w.record == none && w.holder == none && len(w.line) == 0 {
		w.names(c, "")
		w.enter(c)
		return
	}
	w.line = append(w.line, c)
}

func (w *queueWorld) enter(c int) {
	w.pass(3)
	w.call(c, OK, Acquire, "/job")
	w.holder = c
	w.pass(20)
}

// next takes the next client from the line.
func (w *queueWorld) next() int {
	if len(w.line) == 0 {
		return none
	}
	k := 0
	for i, c := range w.line {
		if w.bug == prefersOne && c == 0 || w.bug == passesOver && w.line[k] == 1 && c != 1 {
			k = i
		}
	}
	c := w.line[k]
	w.line = append(w.line[:k], w.line[k+1:]...)
	return c
}

// release lets the holder give the lock back and the next one in. Late in the run the bugs show.
func (w *queueWorld) release(c int, late bool) {
	w.call(c, Invoke, Release, "/job")
	w.pass(3)
	if late && w.bug == keepsRecord {
		w.call(c, OK, Release, "/job")
		w.holder = none
		return
	}
	w.request(c, commandDelete)
	waiting := len(w.line)
	next := none
	if !late || w.bug != forgetsNext {
		next = w.next()
	}
	w.names(next, commandDelete)
	w.holder = none
	if !w.healed && w.bug == losesAnswer && w.crashed == none && w.rng.IntN(4) > 0 {
		w.crashed = c // it waits for its answer for ever
	} else {
		w.pass(2)
		w.call(c, OK, Release, "/job")
		w.idle = append(w.idle, c)
	}
	if next == none {
		return
	}
	w.request(next, commandEvent)
	if w.bug == wakesAll {
		for range 2 * waiting {
			w.request(next, "getChildren")
		}
	}
	if w.bug == dawdles && w.rng.IntN(5) == 0 {
		w.now += 500 * time.Millisecond
	}
	w.request(next, "getChildren")
	w.enter(next)
}

// crash kills the holder; its session ends a while later, and its record with it.
func (w *queueWorld) crash() {
	c := w.holder
	w.crashed, w.holder = c, none
	w.call(c, Info, Crash, "/job")
	w.pass(500)
	w.request(c, CommandExpire)
	if w.bug == keepsSession {
		w.now += 4 * time.Second
	}
	next := w.next()
	w.names(next, CommandExpire)
	if next != none {
		w.enter(next)
	}
}

// crosswise lets two clients hold a lock each and wait for that of the other.
func (w *queueWorld) crosswise() {
	for _, step := range []struct {
		client int
		t      Type
		key    string
	}{
		{100, Invoke, "/left"},
		{101, Invoke, "/right"},
		{100, OK, "/left"},
		{101, OK, "/right"},
		{100, Invoke, "/right"},
		{101, Invoke, "/left"},
	} {
		w.pass(20)
		w.call(step.client, step.t, Acquire, step.key)
	}
}
