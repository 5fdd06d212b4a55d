package checker

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// generator makes histories by simulating one lock server and its clients, with integer arithmetic alone. With no
// defect and no noise the histories are legal: the server applies each request at a point between its call and its
// return, or never.
type generator struct {
	clients    int
	operations int
	keys       int  // locks, 0 means 1
	reentrant  bool // an owner may acquire again
	permits    int  // how many clients may hold at one time, 0 means 1
	blocking   bool // acquires wait in line instead of being refused
	timed      int  // percent of tries that are ready to wait, and are refused when their time is up
	lost       int  // percent of replies that are lost; the client then releases until it is told that it owns nothing
	dropped    int  // percent of requests that never arrive; the client cannot tell them from lost replies
	crashes    int  // permille of calls during which the client dies; its machine goes on as another process
	tokens     bool // grants carry fencing tokens
	doors      bool // the server's queue is on record
	facts      bool // the server's record is on record
	served     bool // where the server executed each request is on record
	writes     bool // holders write to a resource
	// lease ends a hold by itself; 0 means never. One in pauses holders, in percent, works for 0.8 to 1.8 leases.
	lease  time.Duration
	pauses int
	// takeover lets the record of an ended lease stay until somebody else takes it over.
	takeover  bool
	deadlines bool // clients know when their leases end
	defect    defect
	noise     int // percent of answers that are replaced by the opposite
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
	endsEarly             // leases end after half of their time
	phantomGrant          // some tries take effect although they are answered as refused
	noDefects             // how many there are
)

// Numbers of the simulated world, in milliseconds.
const (
	meanLatency = 50
	meanHold    = 150
	meanBackOff = 250
	serverEpoch = 1_000_000 // what the server's clock shows at time 0
)

// exponential holds 16 values of an exponential distribution in percent of its mean, at equal steps of probability.
var exponential = [16]int{3, 10, 17, 25, 33, 42, 53, 64, 76, 90, 107, 128, 153, 188, 240, 351}

// generated is the simulated server with its clients.
type generated struct {
	generator
	rng     *rand.Rand
	h       *History
	now     time.Duration
	queue   alarms
	members []member
	locks   []servedLock
	names   []string // by process
	started int
	doubled bool
	highest int64 // at the resource
}

// servedLock is one lock at the server.
type servedLock struct {
	key     string
	holders []holder // at most as many as there are permits, more with a double grant
	line    []int    // members that wait
	token   int64
	grants  int
}

// holder is one grant.
type holder struct {
	process, count, grant int
	expires               time.Duration
}

// member is a client machine: what it has under way, and how many levels it believes to hold of which lock.
type member struct {
	process int
	lock    int
	depth   int
	cleanup bool // it releases until it is told that it owns nothing
	paused  bool
	f       string
	call    int // position of the open call, none between calls
	served  bool
	answer  Type
	token   int64
	serial  int // of the open call, so that alarms of earlier ones are ignored
}

// alarm is something that will happen.
type alarm struct {
	at     time.Duration
	order  int
	kind   alarmKind
	member int // or the lock, for the end of a lease
	serial int // of the call, or of the grant
}

type alarmKind uint8

const (
	actAlarm alarmKind = iota
	arriveAlarm
	replyAlarm
	giveUpAlarm
	leaseAlarm
)

// alarms is a heap, the earliest on top.
type alarms struct {
	list  []alarm
	count int
}

func (q *alarms) less(i, j int) bool {
	x, y := &q.list[i], &q.list[j]
	return x.at < y.at || x.at == y.at && x.order < y.order
}

func (q *alarms) push(x alarm) {
	x.order = q.count
	q.count++
	q.list = append(q.list, x)
	for i := len(q.list) - 1; i > 0 && q.less(i, (i-1)/2); i = (i - 1) / 2 {
		q.list[i], q.list[(i-1)/2] = q.list[(i-1)/2], q.list[i]
	}
}

func (q *alarms) pop() alarm {
	top := q.list[0]
	last := len(q.list) - 1
	q.list[0] = q.list[last]
	q.list = q.list[:last]
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < last; c++ {
			if q.less(c, least) {
				least = c
			}
		}
		if least == i {
			return top
		}
		q.list[i], q.list[least] = q.list[least], q.list[i]
		i = least
	}
}

// generate makes one history.
func (g generator) generate(seed uint64) *History {
	g.keys, g.permits = max(g.keys, 1), max(g.permits, 1)
	size := 2 * g.operations
	for _, more := range []bool{g.facts, g.served, g.doors, g.writes} {
		if more {
			size += g.operations
		}
	}
	w := &generated{
		generator: g, rng: rand.New(rand.NewPCG(seed, 1)), members: make([]member, g.clients),
		h: &History{Header: Header{Lock: "job", Resource: "store", Lease: g.lease}, Events: make([]Event, 0, size)},
	}
	for k := range g.keys {
		key := "job"
		if k > 0 {
			key = fmt.Sprintf("job-%d", k+1)
		}
		w.locks = append(w.locks, servedLock{key: key})
	}
	for i := range w.members {
		w.members[i] = member{process: i, call: none}
		w.names = append(w.names, fmt.Sprintf("c%d", i))
		w.alarm(actAlarm, i, w.delay(meanBackOff))
	}
	for len(w.queue.list) > 0 {
		x := w.queue.pop()
		w.now = max(w.now, x.at)
		w.handle(x)
	}
	return w.h
}

func (w *generated) alarm(kind alarmKind, m int, after time.Duration) {
	w.queue.push(alarm{at: w.now + after, kind: kind, member: m, serial: w.members[m].serial})
}

func (w *generated) chance(percent int) bool { return percent > 0 && w.rng.IntN(100) < percent }

// delay draws from a distribution that is nearly exponential.
func (w *generated) delay(mean int) time.Duration {
	r := w.rng.Uint32()
	steps := time.Duration(exponential[r%16])*1000 + time.Duration(r>>4%1000)*20
	return time.Duration(mean)*steps*time.Millisecond/100_000 + 1
}

func (w *generated) handle(x alarm) {
	if x.kind == leaseAlarm {
		w.leaseEnds(&w.locks[x.member], x.serial)
		return
	}
	if m := &w.members[x.member]; x.serial != m.serial {
		return
	}
	switch x.kind {
	case actAlarm:
		w.act(x.member)
	case arriveAlarm:
		w.arrive(x.member)
	case giveUpAlarm:
		w.giveUp(x.member)
	case replyAlarm:
		w.reply(x.member)
	}
}

// event records an event; facts of servers name no process.
func (w *generated) event(process int, t Type, f, key string) *Event {
	w.h.Events = append(w.h.Events, Event{
		Index: int64(len(w.h.Events)), Time: w.now, Process: process, Type: t, F: f, Key: key,
	})
	e := &w.h.Events[len(w.h.Events)-1]
	if process >= 0 {
		e.Node = w.node(process)
		if w.facts {
			e.Owner = w.names[process]
		}
	}
	return e
}

// node names the machine of a process.
func (w *generated) node(process int) string { return w.names[process%w.clients] }

// act makes the next call of a client.
func (w *generated) act(i int) {
	m := &w.members[i]
	if w.started >= w.operations && m.depth == 0 && !m.cleanup {
		return
	}
	w.started++
	if m.depth == 0 && !m.cleanup && w.keys > 1 {
		m.lock = w.rng.IntN(w.keys)
	}
	m.f = w.choose(m)
	key := w.locks[m.lock].key
	if m.f == Write {
		key = "store"
	}
	e := w.event(m.process, Invoke, m.f, key)
	if m.f == Write {
		e.Token = m.token
	}
	m.call, m.served = len(w.h.Events)-1, false
	m.serial++
	w.alarm(arriveAlarm, i, w.delay(meanLatency))
	if m.f == TryAcquire && w.chance(w.timed) {
		e.Wait = 20 * meanLatency * time.Millisecond
		w.alarm(giveUpAlarm, i, e.Wait)
	}
	if w.crashes > 0 && w.rng.IntN(1000) < w.crashes {
		w.crash(i)
	}
}

// choose picks what a client calls next.
func (w *generated) choose(m *member) string {
	holds := m.depth > 0
	again := w.reentrant && holds && m.depth < 3 && w.started < w.operations && w.rng.IntN(10) < 4
	switch {
	case m.cleanup:
		return Release
	case holds && w.writes && w.rng.IntN(2) == 0:
		return Write
	case holds && !again, w.defect == foreignRelease && w.rng.IntN(10) == 0:
		return Release
	case w.blocking:
		return Acquire
	default:
		return TryAcquire
	}
}

// crash kills the process of a client during its call. What it sent may still arrive; another process goes on.
func (w *generated) crash(i int) {
	m := &w.members[i]
	w.event(m.process, Info, Crash, "")
	process := len(w.names)
	for process%w.clients != i {
		process++
	}
	for len(w.names) <= process {
		w.names = append(w.names, fmt.Sprintf("%s#%d", w.node(len(w.names)), len(w.names)/w.clients))
	}
	if w.rng.IntN(2) == 0 && m.f != Write {
		l := &w.locks[m.lock]
		if m.f == Release {
			w.free(l, m)
		} else if len(l.holders) < w.permits || w.mine(l, m.process) != none && w.reentrant {
			w.grant(l, m)
		}
	}
	// Whoever waits in line has to be gone from it.
	*m = member{process: process, call: none, lock: m.lock, serial: m.serial + 1}
	w.alarm(actAlarm, i, w.delay(meanBackOff))
}

// mine finds the grant of a process among the holders.
func (w *generated) mine(l *servedLock, process int) int {
	for k := range l.holders {
		if l.holders[k].process == process {
			return k
		}
	}
	return none
}

// arrive executes the request at the server, unless it was dropped.
func (w *generated) arrive(i int) {
	m := &w.members[i]
	if m.f == Write {
		w.write(m)
		w.alarm(replyAlarm, i, w.delay(meanLatency))
		return
	}
	if w.chance(w.dropped) {
		m.answer = Info
		w.alarm(replyAlarm, i, 4*w.delay(meanLatency))
		return
	}
	l := &w.locks[m.lock]
	if m.f == Release {
		w.free(l, m)
	} else if !w.acquire(l, m, i) {
		return // it waits in line
	}
	w.alarm(replyAlarm, i, w.delay(meanLatency))
}

// acquire executes an acquire; false means that it waits in line.
func (w *generated) acquire(l *servedLock, m *member, i int) bool {
	own := w.mine(l, m.process)
	w.takeOver(l, m)
	free := len(l.holders) < w.permits
	double := w.defect == doubleGrant && !w.doubled && w.started > w.operations/2 && !free && own == none
	switch {
	case free && own == none && w.defect == refusesFree && w.rng.IntN(10) == 0:
		w.answer(l, m, Fail)
	case free && own == none && w.defect == phantomGrant && w.rng.IntN(10) == 0:
		w.door(l, m)
		w.grant(l, m)
		m.answer = Fail
	case free && (own == none || w.permits > 1), own != none && w.reentrant, double:
		if own == none {
			w.door(l, m)
		}
		if double {
			l.holders, w.doubled = l.holders[:0], true // the server forgets whom it had granted it
		}
		w.grant(l, m)
	case w.blocking && own == none, w.h.Events[m.call].Wait > 0:
		w.door(l, m)
		l.line = append(l.line, i)
		return false
	default:
		w.answer(l, m, Fail)
	}
	return true
}

// answer notes what the server decided about a request, and where.
func (w *generated) answer(l *servedLock, m *member, t Type) {
	m.answer, m.served = t, true
	if !w.generator.served {
		return
	}
	e := w.event(ProcessServer, t, Served, l.key)
	e.Node, e.Call = w.node(m.process), w.h.Events[m.call].Index
	if k := w.mine(l, m.process); k != none {
		e.Count = int64(l.holders[k].count)
	}
	if t == OK && m.f != Release && w.tokens {
		e.Token = l.token
	}
}

// door records that a request has got its place in the queue.
func (w *generated) door(l *servedLock, m *member) {
	if w.doors {
		e := w.event(ProcessServer, Info, Request, l.key)
		e.Node, e.Command, e.Value = w.node(m.process), commandCreate, fmt.Sprintf("job/%d", len(w.h.Events))
	}
}

// record renders what the record of a grant says.
func (w *generated) record(x *holder) *Record {
	r := &Record{Owner: w.names[x.process], Count: int64(x.count), Now: w.clock()}
	if w.lease > 0 {
		r.Expires = serverEpoch + x.expires.Milliseconds()
	}
	return r
}

func (w *generated) clock() int64 { return serverEpoch + w.now.Milliseconds() }

// fact records a change of the lock's record.
func (w *generated) fact(l *servedLock, m *member, f, command string, previous, now *Record) {
	if !w.facts {
		return
	}
	e := w.event(ProcessServer, Info, f, l.key)
	e.Command, e.Previous, e.Record = command, previous, now
	if m != nil {
		e.Node, e.Owner = w.node(m.process), w.names[m.process]
	}
	if now != nil {
		e.Count = now.Count
	}
}

// takeOver removes dead records in the way of an acquire.
func (w *generated) takeOver(l *servedLock, m *member) {
	if !w.takeover {
		return
	}
	for k := 0; k < len(l.holders); k++ {
		if x := &l.holders[k]; x.expires < w.now-time.Millisecond && x.process != m.process {
			previous := w.record(x)
			l.holders = append(l.holders[:k], l.holders[k+1:]...)
			w.fact(l, m, RecordGone, "GETSET", previous, nil)
			return
		}
	}
}

func (w *generated) grant(l *servedLock, m *member) {
	if k := w.mine(l, m.process); k != none {
		x := &l.holders[k]
		previous := w.record(x)
		x.count++
		w.fact(l, m, RecordSet, "SET", previous, w.record(x))
		w.answer(l, m, OK)
		return
	}
	l.grants++
	x := holder{process: m.process, count: 1, grant: l.grants, expires: w.now + w.lease}
	if w.defect != tokenGoesBack || w.rng.IntN(4) > 0 {
		l.token++
	}
	m.token = l.token
	l.holders = append(l.holders, x)
	w.fact(l, m, RecordSet, "SETNX", nil, w.record(&x))
	if w.lease > 0 && !w.takeover {
		ends := x.expires
		if w.defect == endsEarly {
			ends = w.now + w.lease/2
		}
		w.queue.push(alarm{at: ends, kind: leaseAlarm, member: w.lockNumber(l), serial: x.grant})
	}
	w.answer(l, m, OK)
}

func (w *generated) lockNumber(l *servedLock) int {
	for k := range w.locks {
		if &w.locks[k] == l {
			return k
		}
	}
	return none
}

// leaseEnds lets the server end one grant.
func (w *generated) leaseEnds(l *servedLock, grant int) {
	for k := range l.holders {
		if x := l.holders[k]; x.grant == grant {
			l.holders = append(l.holders[:k], l.holders[k+1:]...)
			previous := w.record(&x)
			previous.Now = previous.Expires + 1
			w.fact(l, nil, RecordGone, CommandExpire, previous, nil)
			w.serveLine(l)
			return
		}
	}
}

// free executes a release.
func (w *generated) free(l *servedLock, m *member) {
	k := w.mine(l, m.process)
	if k == none && w.defect == foreignRelease && len(l.holders) > 0 {
		k = 0
	}
	if k == none {
		w.answer(l, m, Fail)
		return
	}
	x := &l.holders[k]
	previous := w.record(x)
	x.count--
	if x.count > 0 && w.defect != freesAtFirst && x.process == m.process {
		w.fact(l, m, RecordSet, "SET", previous, w.record(x))
		w.answer(l, m, OK)
		return
	}
	l.holders = append(l.holders[:k], l.holders[k+1:]...)
	w.fact(l, m, RecordGone, "DEL", previous, nil)
	w.answer(l, m, OK)
	w.serveLine(l)
}

// serveLine grants the lock to the next in line.
func (w *generated) serveLine(l *servedLock) {
	for len(l.line) > 0 && len(l.holders) < w.permits {
		k := 0
		if w.defect == servesLast && w.rng.IntN(4) == 0 {
			k = len(l.line) - 1
		}
		i := l.line[k]
		l.line = append(l.line[:k], l.line[k+1:]...)
		if m := &w.members[i]; m.call != none && !m.served && m.f != Release && m.f != Write {
			w.grant(l, m)
			w.alarm(replyAlarm, i, w.delay(meanLatency))
		}
	}
}

// giveUp refuses a try whose time is up, unless it was served already.
func (w *generated) giveUp(i int) {
	m := &w.members[i]
	l := &w.locks[m.lock]
	for k, waiting := range l.line {
		if waiting == i {
			l.line = append(l.line[:k], l.line[k+1:]...)
			w.answer(l, m, Fail)
			w.reply(i)
			return
		}
	}
}

// write executes a write at the resource, which lets no token pass that is lower than the highest.
func (w *generated) write(m *member) {
	e := w.event(m.process, Info, Applied, "store")
	e.Token = m.token
	e.Accepted = !w.tokens || m.token >= w.highest
	w.highest = max(w.highest, m.token)
	m.answer = OK
}

// reply returns to the client what the server said, or nothing.
func (w *generated) reply(i int) {
	m := &w.members[i]
	t := m.answer
	if m.f != Write {
		if w.chance(w.noise) && t != Info {
			t = map[Type]Type{OK: Fail, Fail: OK}[t]
		}
		if w.chance(w.lost) {
			t = Info
		}
	}
	call := w.h.Events[m.call]
	e := w.event(m.process, t, m.f, call.Key)
	m.call = none
	m.serial++
	switch {
	case m.f == Write:
		e.Token, e.Accepted = call.Token, true
	case t == Info:
		m.cleanup = true
	case t == OK && m.f != Release:
		w.entered(m, e, call.Time)
	case m.f == Release && t == OK:
		m.depth = max(m.depth-1, 0)
	case m.f == Release:
		m.depth, m.cleanup, m.paused = 0, false, false
	}
	w.alarm(actAlarm, i, w.pause(m))
}

// entered notes that a client was told that it holds the lock.
func (w *generated) entered(m *member, e *Event, called time.Duration) {
	m.depth++
	if w.tokens {
		e.Token = m.token
	}
	if w.lease > 0 && w.deadlines {
		e.Deadline = called + w.lease
	}
	m.paused = m.depth == 1 && w.chance(w.pauses)
}

// pause is how long a client takes until its next call.
func (w *generated) pause(m *member) time.Duration {
	switch {
	case m.paused:
		m.paused = false
		return w.lease*4/5 + time.Duration(w.rng.Int64N(int64(w.lease)))
	case m.depth > 0 || m.cleanup:
		return w.delay(meanHold)
	}
	return w.delay(meanBackOff)
}

// listing renders a history for the report of a failed test.
func listing(h *History) string {
	var b strings.Builder
	for i := range h.Events {
		e := &h.Events[i]
		fmt.Fprintf(&b, "%d %v %s %s %s %v %d\n", e.Index, e.Time, e.Node, e.Type, e.F, e.Deadline, e.Call)
	}
	return b.String()
}
