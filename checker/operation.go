package checker

import (
	"fmt"
	"slices"
	"sort"
)

// none stands for "no such index" wherever an index is kept.
const none = -1

// operation is one call with its return.
type operation struct {
	lock   int // in analysis.locks, none for operations on other things
	client int // in analysis.clients
	call   int // position of the call in the history
	ret    int // position of the return, none while open for ever
	token  int64

	// There may be a million operations, so their size matters: words are kept as their places in operationWords and
	// outcomeWords.
	word, result uint8
	timed        bool // a try that was ready to wait
	again        bool // a release of what the release before it, of unknown outcome, may have released already

	// The client's own view, see claims.go.
	before int32 // levels held when it was called
	after  int32 // levels held once it had returned
	// stale counts the levels whose hold had ended by itself before the call.
	stale int32
	// doubtful counts the earlier operations of this client on this lock of which nobody knows whether they took effect.
	doubtful int32
	served   int32 // position of the latest fact that tells where the server executed it
	claim    int32 // the claim that was open at the call of a release or after an acquire, in lockLog.claims
}

// The words that operations are about, and their outcomes; the first of each stands for any other.
var (
	operationWords = [...]string{"", Acquire, TryAcquire, Release, Write}
	outcomeWords   = [...]Type{"", OK, Fail, Info}
)

// f says what the operation is about, in the words of events.
func (o *operation) f() string { return operationWords[o.word] }

// outcome is what came of it.
func (o *operation) outcome() Type { return outcomeWords[o.result] }

// placeOf finds a word among those that operations know, 0 when it is none.
func placeOf[W comparable](words []W, word W) uint8 {
	for i := range words {
		if words[i] == word {
			return uint8(i)
		}
	}
	return 0
}

func (o *operation) acquires() bool { return o.f() == Acquire || o.f() == TryAcquire }

// client is one process.
type client struct {
	process int
	node    string
	owner   string
	crashed int // position of its crash, none if it lived
	open    int // its open operation, none between calls
	holds   []hold
	holdBy  map[int]int // by lock, in holds; nil while they are few
	machine *machine
}

// lockLog gathers what concerns one lock.
type lockLog struct {
	key        string
	operations []int // its acquires and releases in the order of their calls
	returns    []int // those of them that returned, in the order of their returns
	served     []int // positions of the facts that tell where the server executed them, the latest of each
	repeated   bool  // served still has facts that are not the latest of their operation
	facts      []int // positions of its record facts
	grants     int   // how many acquires succeeded
	claims     []claim
	expiries   []expiry
	terms      []term
	termEnds   []int // the latest end of the terms up to each
	lapses     []lapse
}

// analysis is a history taken apart once, for all properties.
type analysis struct {
	events     []Event
	clients    []client
	low        []int       // by process, the client plus one; see lowProcesses
	high       map[int]int // by process, the client
	byNode     map[string]*machine
	byOwner    map[string][]int
	operations []operation
	at         []int32 // see operationAt
	cause      []int32 // see causeOf
	locks      []*lockLog
	byKey      map[string]int
	latest     int // the lock that lockOf found last
	writes     []write
	faults     []int // positions of the faults
	requests   []int // positions of the requests to servers
	healed     int   // position of the last heal, none if there was none
	end        int   // position of the end of the workload, none if there was none
}

// machine keeps track of what the clients of one node do while the history is read.
type machine struct {
	clients []int // in order of appearance
	open    []int // operations that are open right now
	writes  []int // write operations in order of their calls
}

// write is one write that the resource executed.
type write struct {
	fact      int // position of the Applied event
	client    int
	operation int // none when the call is unknown
}

// analyse takes the history apart. The history must be valid.
func analyse(h *History) *analysis {
	a := &analysis{
		events:     h.Events,
		operations: make([]operation, 0, len(h.Events)/2+1),
		high:       make(map[int]int),
		byNode:     make(map[string]*machine),
		byOwner:    make(map[string][]int),
		byKey:      make(map[string]int),
		at:         make([]int32, len(h.Events)),
		cause:      make([]int32, len(h.Events)),
		healed:     none,
		end:        none,
	}
	for i := range h.Events {
		a.at[i], a.cause[i] = none, none
		e := &h.Events[i]
		switch {
		case e.byClient():
			a.clientEvent(i, e)
		case e.F == RecordSet || e.F == RecordGone:
			a.recordFact(i, e)
		case e.F == Applied:
			a.appliedFact(i, e)
		case e.F == Served:
			a.servedFact(i, e)
		case e.F == Request:
			a.requests = append(a.requests, i)
		case e.F == FaultApplied:
			a.faults = append(a.faults, i)
		case e.F == Healed:
			a.healed = i
		case e.F == WorkloadEnd:
			a.end = i
		}
	}
	a.sortLocks()
	a.findClaims()
	for _, log := range a.locks {
		if log.repeated {
			log.served = slices.DeleteFunc(log.served, func(i int) bool { return a.operationAt(i) == none })
		}
		a.findLapses(log)
		a.findTerms(log)
	}
	return a
}

// operationAt is the operation that an event calls or returns, or that caused the fact; none where there is none.
func (a *analysis) operationAt(i int) int { return int(a.at[i]) }

// causeOf is the client that caused a fact; none when nobody knows.
func (a *analysis) causeOf(i int) int { return int(a.cause[i]) }

// sortLocks puts the locks in order of their names, which is the order of all reports, and drops the names that
// only facts mention: they are not locks.
func (a *analysis) sortLocks() {
	order := make([]int, 0, len(a.locks))
	for i, log := range a.locks {
		if len(log.operations) > 0 {
			order = append(order, i)
		}
	}
	sort.Slice(order, func(i, j int) bool { return a.locks[order[i]].key < a.locks[order[j]].key })
	moved := make([]int, len(a.locks))
	for i := range moved {
		moved[i] = none
	}
	locks := make([]*lockLog, len(order))
	a.byKey = make(map[string]int, len(order))
	for to, from := range order {
		locks[to], moved[from] = a.locks[from], to
		a.byKey[locks[to].key] = to
	}
	a.locks = locks
	for i := range a.operations {
		if o := &a.operations[i]; o.lock != none {
			o.lock = moved[o.lock]
		}
	}
}

// lowProcesses bounds the numbers of processes that are looked up without a map, which are nearly all.
const lowProcesses = 1 << 12

// clientNumber finds the client of a process, none if it is not known.
func (a *analysis) clientNumber(process int) int {
	if process < lowProcesses {
		if process < 0 || process >= len(a.low) {
			return none
		}
		return a.low[process] - 1
	}
	if c, known := a.high[process]; known {
		return c
	}
	return none
}

// addClient adds the client of a process that was not known.
func (a *analysis) addClient(e *Event) int {
	c := len(a.clients)
	if e.Process < lowProcesses {
		for len(a.low) <= e.Process {
			a.low = append(a.low, 0)
		}
		a.low[e.Process] = c + 1
	} else {
		a.high[e.Process] = c
	}
	m := a.machineOf(e.Node)
	m.clients = append(m.clients, c)
	a.clients = append(a.clients, client{process: e.Process, node: e.Node, machine: m, crashed: none, open: none})
	return c
}

// clientOf finds or adds the client of an event.
func (a *analysis) clientOf(e *Event) int {
	c := a.clientNumber(e.Process)
	if c == none {
		c = a.addClient(e)
	}
	if p := &a.clients[c]; p.owner == "" && e.Owner != "" {
		p.owner = e.Owner
		a.byOwner[e.Owner] = append(a.byOwner[e.Owner], c)
	}
	return c
}

func (a *analysis) machineOf(node string) *machine {
	m := a.byNode[node]
	if m == nil {
		m = &machine{}
		a.byNode[node] = m
	}
	return m
}

// lockOf finds or adds the lock named key. Mostly it is the one that was asked for before.
func (a *analysis) lockOf(key string) int {
	if a.latest < len(a.locks) && a.locks[a.latest].key == key {
		return a.latest
	}
	i, known := a.byKey[key]
	if !known {
		i = len(a.locks)
		a.byKey[key] = i
		a.locks = append(a.locks, &lockLog{key: key})
	}
	a.latest = i
	return i
}

// clientEvent pairs calls with returns.
func (a *analysis) clientEvent(i int, e *Event) {
	c := a.clientOf(e)
	p := &a.clients[c]
	switch {
	case e.F == Crash:
		p.crashed = i
		a.close(c)
	case e.standsAlone(), p.crashed != none:
	case e.Type == Invoke:
		a.call(i, e, c)
	default:
		a.at[i] = int32(p.open)
		o := &a.operations[p.open]
		o.ret, o.result = i, placeOf(outcomeWords[:], e.Type)
		if e.Token != 0 {
			o.token = e.Token
		}
		if o.lock != none {
			log := a.locks[o.lock]
			log.returns = append(log.returns, p.open)
			if o.acquires() && o.outcome() == OK {
				log.grants++
			}
		}
		a.close(c)
	}
}

// call opens an operation.
func (a *analysis) call(i int, e *Event, c int) {
	o := operation{
		word: placeOf(operationWords[:], e.F), lock: none, client: c, call: i, ret: none,
		result: placeOf(outcomeWords[:], Info), token: e.Token, timed: e.Wait > 0, claim: none,
		served: none,
	}
	id := len(a.operations)
	m := a.clients[c].machine
	switch e.F {
	case Acquire, TryAcquire, Release:
		o.lock = a.lockOf(e.Key)
		log := a.locks[o.lock]
		log.operations = append(log.operations, id)
	case Write:
		m.writes = append(m.writes, id)
	}
	a.operations = append(a.operations, o)
	a.at[i] = int32(id)
	a.clients[c].open = id
	m.open = append(m.open, id)
}

// close ends the open operation of a client, if there is one.
func (a *analysis) close(c int) {
	p := &a.clients[c]
	if p.open == none {
		return
	}
	m := p.machine
	for i, id := range m.open {
		if id == p.open {
			m.open = append(m.open[:i], m.open[i+1:]...)
			break
		}
	}
	p.open = none
}

// recordFact notes a fact about a record and who caused it: the client of the node that has an operation on the
// lock under way or, for a request that arrives after its caller gave up, the latest client of the node. One that goes
// by another name than the owner whose request it was is not to blame, if an earlier one went by that.
func (a *analysis) recordFact(i int, e *Event) {
	lock := a.lockOf(e.Key)
	log := a.locks[lock]
	log.facts = append(log.facts, i)
	if e.Node == "" {
		return
	}
	m := a.byNode[e.Node]
	if m == nil {
		return
	}
	candidates := 0
	for _, id := range m.open {
		if o := &a.operations[id]; o.lock == lock {
			candidates++
			a.at[i], a.cause[i] = int32(id), int32(o.client)
			if owner := a.clients[o.client].owner; owner != "" && owner == e.Owner {
				return
			}
		}
	}
	switch {
	case candidates > 1:
		a.at[i], a.cause[i] = none, none
	case candidates == 0:
		a.cause[i] = int32(m.clients[len(m.clients)-1])
	}
	if c := a.causeOf(i); c == none || e.Owner == "" || a.clients[c].owner == e.Owner {
		return
	}
	for _, c := range slices.Backward(m.clients) {
		if a.clients[c].owner == e.Owner {
			a.at[i], a.cause[i] = none, int32(c)
			return
		}
	}
}

// servedFact notes where the server executed a request. One that names no call on this lock is left out.
func (a *analysis) servedFact(i int, e *Event) {
	call := a.positionOf(e.Call, i)
	if call == none || a.operationAt(call) == none || a.operations[a.operationAt(call)].call != call {
		return
	}
	if o := &a.operations[a.operationAt(call)]; o.lock != none && a.locks[o.lock].key == e.Key {
		log := a.locks[o.lock]
		if o.served != none {
			a.at[o.served], a.cause[o.served] = none, none
			log.repeated = true
		}
		o.served = int32(i)
		log.served = append(log.served, i)
		a.at[i], a.cause[i] = a.at[call], int32(o.client)
		if i > 0 && e.Type == OK && a.isRecordOf(i-1, e.Key, &a.clients[o.client]) {
			a.at[i-1], a.cause[i-1] = a.at[i], a.cause[i]
		}
	}
}

// isRecordOf tells whether an event is a fact about the record of a lock that a client's request caused.
func (a *analysis) isRecordOf(i int, key string, c *client) bool {
	e := &a.events[i]
	return (e.F == RecordSet || e.F == RecordGone) && e.Key == key && e.Node != "" && e.Node == c.node
}

// positionOf finds the event with an index among those before position limit, none if there is none. Indices mostly
// rise by one, so that it is mostly found at the first look.
func (a *analysis) positionOf(index int64, limit int) int {
	if guess := index - a.events[0].Index; guess >= 0 && guess < int64(limit) && a.events[guess].Index == index {
		return int(guess)
	}
	k := sort.Search(limit, func(k int) bool { return a.events[k].Index >= index })
	if k == limit || a.events[k].Index != index {
		return none
	}
	return k
}

// appliedFact notes an executed write and finds its writer.
func (a *analysis) appliedFact(i int, e *Event) {
	w := write{fact: i, client: none, operation: none}
	if e.Process >= 0 {
		w.client = a.clientNumber(e.Process)
	}
	m := a.byNode[e.Node]
	if w.client != none {
		m = a.clients[w.client].machine
	}
	if m != nil {
		a.matchWrite(&w, m, e)
	}
	a.writes = append(a.writes, w)
}

// matchWrite finds the call of a write: the latest of the machine with the same token that is not matched yet.
func (a *analysis) matchWrite(w *write, m *machine, e *Event) {
	// A machine has few writes under way; older ones were lost.
	const depth = 64
	for n, k := 0, len(m.writes)-1; k >= 0 && n < depth; n, k = n+1, k-1 {
		id := m.writes[k]
		o := &a.operations[id]
		call := &a.events[o.call]
		if call.Key != e.Key || call.Token != e.Token || w.client != none && w.client != o.client {
			continue
		}
		w.client, w.operation = o.client, id
		m.writes = append(m.writes[:k], m.writes[k+1:]...)
		return
	}
	if w.client == none && len(m.clients) > 0 {
		w.client = m.clients[len(m.clients)-1]
	}
}

// name renders a client as its machine; the process is added where a machine had several.
func (a *analysis) name(c int) string {
	p := &a.clients[c]
	if p.node == "" {
		return fmt.Sprintf("process %d", p.process)
	}
	if len(a.byNode[p.node].clients) == 1 {
		return p.node
	}
	return fmt.Sprintf("%s (process %d)", p.node, p.process)
}

// names renders several clients, each once.
func (a *analysis) names(clients []int) []string {
	var names []string
	seen := make(map[int]bool, len(clients))
	for _, c := range clients {
		if !seen[c] {
			seen[c] = true
			names = append(names, a.name(c))
		}
	}
	return names
}

// involve fills in who took part in a violation.
func (a *analysis) involve(v *Violation, clients ...int) {
	for _, c := range clients {
		v.Processes = append(v.Processes, a.clients[c].process)
		v.Nodes = append(v.Nodes, a.clients[c].node)
	}
}

// indices turns positions into indices of events, sorted and each once; none is left out.
func (a *analysis) indices(positions ...int) []int64 {
	var indices []int64
	for _, p := range positions {
		if p != none {
			indices = append(indices, a.events[p].Index)
		}
	}
	sort.Slice(indices, func(i, j int) bool { return indices[i] < indices[j] })
	unique := indices[:0]
	for i, x := range indices {
		if i == 0 || x != indices[i-1] {
			unique = append(unique, x)
		}
	}
	return unique
}
