package reports

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
)

// none stands for "no such position" wherever a position is kept.
const none = -1

// call is one operation of a client: the positions of its call and its return, none while it is open.
type call struct {
	begin, end int
	facts      []int // the record facts that its requests caused before it returned
}

// stretch is a run of events, both ends included.
type stretch struct{ from, to int }

// chronicle is a history taken apart for telling: who called what, which call changed the record, and who held when.
type chronicle struct {
	events   []checker.Event
	lock     string
	position map[int64]int // by index
	calls    []call
	callAt   []int             // for each event: the call that it begins, ends or was caused by; none
	facts    []int             // positions of the facts about the lock's record, in order
	claims   []checker.Claim   // of the lock, by start
	spans    map[int][]stretch // of each process: from the call of a claim's acquire to the answer to its release
	owners   map[string][]int  // the processes that go by an identity, in order of appearance
	nodes    map[string][]int  // the processes that ran on a machine, in order of appearance
	machine  map[int]string    // of each process
	clocks   clocks
}

// newChronicle takes a history apart, as far as it is about one lock.
func newChronicle(h *checker.History, lock string) *chronicle {
	c := &chronicle{
		events: h.Events, lock: lock, position: map[int64]int{}, callAt: make([]int, len(h.Events)),
		owners: map[string][]int{}, nodes: map[string][]int{}, spans: map[int][]stretch{},
		machine: map[int]string{}, clocks: readClocks(h.Events),
	}
	open := map[int]int{} // the open call of each process
	for i := range c.events {
		e := &c.events[i]
		c.position[e.Index], c.callAt[i] = i, none
		switch {
		case isFact(e):
			c.fact(i, e, open)
		case !byClient(e):
		default:
			c.meet(e)
			c.client(i, e, open)
		}
	}
	for _, claim := range checker.Claims(h) {
		if claim.Lock == lock {
			c.claims = append(c.claims, claim)
			c.spans[claim.Process] = append(c.spans[claim.Process], c.spanOf(&claim))
		}
	}
	return c
}

// spanOf is the stretch from the call by which a claim began to the answer to the call that ended it.
func (c *chronicle) spanOf(claim *checker.Claim) stretch {
	s := stretch{from: c.position[claim.Acquire], to: len(c.events) - 1}
	if id := c.callAt[s.from]; id != none {
		s.from = c.calls[id].begin
	}
	if claim.EndEvent != 0 {
		s.to = c.position[claim.EndEvent]
		if id := c.callAt[s.to]; id != none && c.calls[id].end != none {
			s.to = c.calls[id].end
		}
	}
	return s
}

func isFact(e *checker.Event) bool { return e.F == checker.RecordSet || e.F == checker.RecordGone }

func byClient(e *checker.Event) bool { return e.Process >= 0 && e.F != checker.Applied }

func acquires(e *checker.Event) bool { return e.F == checker.Acquire || e.F == checker.TryAcquire }

// meet gets to know the process of an event and its identity.
func (c *chronicle) meet(e *checker.Event) {
	if _, known := c.machine[e.Process]; !known {
		c.machine[e.Process] = e.Node
		c.nodes[e.Node] = append(c.nodes[e.Node], e.Process)
	}
	if e.Owner != "" && !slices.Contains(c.owners[e.Owner], e.Process) {
		c.owners[e.Owner] = append(c.owners[e.Owner], e.Process)
	}
}

// client pairs calls with returns.
func (c *chronicle) client(i int, e *checker.Event, open map[int]int) {
	switch {
	case e.F == checker.Crash:
		delete(open, e.Process)
	case e.F == checker.Lost || e.F == checker.Renew:
	case e.Type == checker.Invoke:
		open[e.Process] = len(c.calls)
		c.callAt[i] = len(c.calls)
		c.calls = append(c.calls, call{begin: i, end: none})
	default:
		if id, known := open[e.Process]; known {
			c.callAt[i], c.calls[id].end = id, i
			delete(open, e.Process)
		}
	}
}

// fact files a fact about the record under the call that caused it: one that the machine has under way, by its
// identity where there are several, else its latest, whose request came late.
func (c *chronicle) fact(i int, e *checker.Event, open map[int]int) {
	if e.Key != c.lock {
		return
	}
	c.facts = append(c.facts, i)
	best, late := none, none
	for _, process := range c.nodes[e.Node] {
		if id, known := open[process]; known && c.events[c.calls[id].begin].Key == c.lock {
			if best == none || c.events[c.calls[id].begin].Owner == e.Owner {
				best = id
			}
		}
	}
	if best != none {
		c.calls[best].facts = append(c.calls[best].facts, i)
	} else if e.Node != "" {
		late = c.latestCall(e.Node)
	}
	c.callAt[i] = max(best, late)
}

// latestCall is the last call on the lock that began on a machine so far.
func (c *chronicle) latestCall(node string) int {
	for id := len(c.calls) - 1; id >= 0; id-- {
		if b := &c.events[c.calls[id].begin]; b.Node == node && b.Key == c.lock {
			return id
		}
	}
	return none
}

// late tells whether a fact was caused by a request whose caller had given up on it.
func (c *chronicle) late(i int) bool {
	id := c.callAt[i]
	return id != none && c.calls[id].end != none && c.calls[id].end < i
}

// process is who caused an event: the client itself, or the one whose request the server executed; none if unknown.
func (c *chronicle) process(i int) int {
	e := &c.events[i]
	switch {
	case e.Process >= 0:
		return e.Process
	case c.callAt[i] != none:
		return c.events[c.calls[c.callAt[i]].begin].Process
	}
	if on := c.nodes[e.Node]; e.Process != checker.ProcessFault && len(on) > 0 {
		return on[len(on)-1]
	}
	return none
}

// factBefore is the last fact about the record before a position, none if there is none.
func (c *chronicle) factBefore(position int) int {
	k, _ := slices.BinarySearch(c.facts, position)
	if k == 0 {
		return none
	}
	return c.facts[k-1]
}

// factAfter is the first fact about the record after a position, none if there is none.
func (c *chronicle) factAfter(position int) int {
	k, _ := slices.BinarySearch(c.facts, position+1)
	if k == len(c.facts) {
		return none
	}
	return c.facts[k]
}

// claimOf is the claim that began with the return at a position.
func (c *chronicle) claimOf(position int) (checker.Claim, bool) {
	index := c.events[position].Index
	for _, claim := range c.claims {
		if claim.Acquire == index && claim.Start == c.events[position].Time {
			return claim, true
		}
	}
	return checker.Claim{}, false
}

// holding lists the processes other than one that believe to hold at an instant.
func (c *chronicle) holding(at time.Duration, except int) []int {
	var holders []int
	for _, claim := range c.claims {
		if claim.Start <= at && at < claim.End && claim.Process != except && !slices.Contains(holders, claim.Process) {
			holders = append(holders, claim.Process)
		}
	}
	return holders
}

// name renders a process as its machine. Where the machine was restarted it says which incarnation is meant.
func (c *chronicle) name(process int) string {
	node := c.machine[process]
	switch {
	case process < 0:
		return "somebody"
	case node == "":
		return fmt.Sprintf("process %d", process)
	case len(c.nodes[node]) > 1:
		return fmt.Sprintf("%s (process %d)", node, process)
	}
	return node
}

func (c *chronicle) names(processes []int) string {
	var names []string
	for _, p := range processes {
		if name := c.name(p); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return join(names)
}

// ownerOf is the process that a record names: of those with its identity the one that wrote it, as far as that is
// known. The record is the one that the fact at position set.
func (c *chronicle) ownerOf(r *checker.Record, position int) int {
	processes := c.owners[r.Owner]
	writer := none
	if position != none {
		writer = c.process(position)
	}
	switch {
	case len(processes) == 0, slices.Contains(processes, writer):
		return writer
	}
	return processes[0]
}

// ownerName renders whom a record names.
func (c *chronicle) ownerName(r *checker.Record, position int) string {
	if owner := c.ownerOf(r, position); owner != none {
		return c.name(owner)
	}
	if r.Owner == "" {
		return "somebody"
	}
	return fmt.Sprintf("%q", r.Owner)
}

// sharers lists the machines that go by the identity of a process, if there is more than one.
func (c *chronicle) sharers(identity string) []string {
	var machines []string
	for _, p := range c.owners[identity] {
		if m := c.machine[p]; !slices.Contains(machines, m) {
			machines = append(machines, m)
		}
	}
	if len(machines) < 2 {
		return nil
	}
	return machines
}

// join renders a list of names: "c1", "c1 and c2", "c1, c2 and c3".
func join(names []string) string {
	switch len(names) {
	case 0:
		return "nobody"
	case 1:
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// plural renders a count with its noun: "1 level", "2 levels".
func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
