package checker

import (
	"fmt"
	"sort"
)

// judgeDeadlock asks whether clients ever waited for each other's locks, each in a call for what the next one held, for
// longer than the bound or until the end.
func (a *analysis) judgeDeadlock(options Options) Verdict {
	if len(a.locks) < 2 {
		return unknown("there is but one lock, and it takes two to wait for each other")
	}
	if options.LivenessBound <= 0 {
		return unknown("no bound was given for how long clients may wait for each other")
	}
	if options.Promises.Permits > 1 {
		return unknown("who waits for a lock with several permits waits for no one holder, so circles are not followed")
	}
	f := &findings{cap: options.MaxViolations}
	g := newWaitGraph(a)
	nested := 0
	for id := range a.operations {
		o := &a.operations[id]
		if !o.acquires() || o.f() == TryAcquire && !o.timed {
			continue
		}
		g.advance(o.call)
		if len(g.held[o.client]) == 0 {
			continue
		}
		nested++
		if cycle := g.cycle(id); cycle != nil {
			a.judgeCycle(cycle, options, f)
		}
	}
	switch {
	case f.found > 0:
		return f.verdict(Verdict{})
	case nested == 0:
		return unknown("nobody waited for one lock while it held another")
	}
	return holds(fmt.Sprintf("%s while holding another lock, none in a circle", plural(nested, "wait")))
}

// judgeCycle adds a circle of acquires that lasted for longer than the bound. It is closed by the call of the first,
// and lasts until one of them ends.
func (a *analysis) judgeCycle(circle []int, options Options, f *findings) {
	from := a.events[a.operations[circle[0]].call]
	to := a.events[len(a.events)-1].Time
	var positions, involved []int
	text := ""
	for _, id := range circle {
		o := &a.operations[id]
		if o.ret != none {
			to = min(to, a.events[o.ret].Time)
		}
		if at := a.clients[o.client].crashed; at != none {
			to = min(to, a.events[at].Time)
		}
		positions = append(positions, o.call)
		involved = append(involved, o.client)
		text += fmt.Sprintf("%s waited for %s, ", a.name(o.client), a.locks[o.lock].key)
	}
	if to-from.Time <= options.LivenessBound {
		return
	}
	v := Violation{Kind: KindDeadlock, Key: from.Key, From: from.Time, To: to}
	v.Text = fmt.Sprintf("%seach held by the next in the circle, %s", text, span(from.Time, to))
	v.Events = a.indices(positions...)
	a.involve(&v, involved...)
	f.add(v)
}

// waitGraph knows who holds what and who waits for what, at a position of the history that only moves forward.
type waitGraph struct {
	a       *analysis
	changes []claimChange // of all locks, in order
	next    int
	holders [][]int // by lock: the clients that hold it
	held    [][]int // by client: the locks that it holds
	calls   [][]int // by client: its operations
}

// claimChange is where a claim starts or ends.
type claimChange struct {
	at           instant
	client, lock int
	starts       bool
}

func newWaitGraph(a *analysis) *waitGraph {
	clients := len(a.clients)
	g := &waitGraph{
		a: a, holders: make([][]int, len(a.locks)), held: make([][]int, clients), calls: make([][]int, clients),
	}
	for id := range a.operations {
		c := a.operations[id].client
		g.calls[c] = append(g.calls[c], id)
	}
	for k, log := range a.locks {
		for i := range log.claims {
			if c := &log.claims[i]; !c.empty() {
				g.changes = append(g.changes, claimChange{c.start, c.client, k, true}, claimChange{c.end, c.client, k, false})
			}
		}
	}
	sort.SliceStable(g.changes, func(i, j int) bool { return g.changes[i].at.before(g.changes[j].at) })
	return g
}

// advance brings the graph to the state just before a position.
func (g *waitGraph) advance(position int) {
	now := instant{g.a.events[position].Time, position}
	for ; g.next < len(g.changes) && g.changes[g.next].at.before(now); g.next++ {
		x := &g.changes[g.next]
		if x.starts {
			g.holders[x.lock] = append(g.holders[x.lock], x.client)
			g.held[x.client] = append(g.held[x.client], x.lock)
			continue
		}
		g.holders[x.lock] = removed(g.holders[x.lock], x.client)
		g.held[x.client] = removed(g.held[x.client], x.lock)
	}
}

func removed(list []int, x int) []int {
	for i := range list {
		if list[i] == x {
			return append(list[:i], list[i+1:]...)
		}
	}
	return list
}

// cycle follows from an acquire that is just being called who waits for whom, and returns the acquires of the circle
// that it closes, nil if it closes none. A lock with several holders keeps nobody waiting for one of them.
func (g *waitGraph) cycle(id int) []int {
	a := g.a
	call := a.operations[id].call
	var circle []int
	for range len(a.clients) + 1 {
		circle = append(circle, id)
		holders := g.holders[a.operations[id].lock]
		if len(holders) != 1 {
			return nil
		}
		if holders[0] == a.operations[circle[0]].client {
			if len(circle) == 1 {
				return nil // it holds the lock already: a matter of reentrancy
			}
			return circle
		}
		id = g.waiting(holders[0], call)
		if id == none {
			return nil
		}
	}
	return nil
}

// waiting finds the acquire in which a client is at a position, none if it is in none.
func (g *waitGraph) waiting(client, position int) int {
	list := g.calls[client]
	i := firstAfter(len(list), func(i int) int { return g.a.operations[list[i]].call }, position) - 1
	if i < 0 {
		return none
	}
	o := &g.a.operations[list[i]]
	if !o.acquires() || o.f() == TryAcquire && !o.timed || o.ret != none && o.ret < position {
		return none
	}
	return list[i]
}
