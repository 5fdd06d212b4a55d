package checker

import (
	"fmt"
	"math"
	"sort"
	"strings"
)

// Commands of Request that tell of places in a queue.
const (
	commandCreate       = "create"
	commandDelete       = "delete"
	commandCloseSession = "closeSession"
	commandEvent        = "event"
)

// place is an acquire in the order of asking and in the order of entering, both in positions of the history.
//
// Where the doorway is not known exactly it lies between earliest and latest. A place counts as one that was asked for
// later only by its earliest doorway, and as one that was asked for sooner only by its latest, so that nobody is
// accused because of what is not known.
type place struct {
	operation        int
	earliest, latest int
	entry            int  // the return, or the end of the workload for one that is still open
	waitsUntil       int  // the entry, or where the acquire lost its place in the queue
	entered          bool // it was granted
}

// doors are the requests of one lock that tell who stands where in its queue, as rising positions.
type doors struct {
	asked   map[string][]int // creates in the queue, by machine
	ended   map[string][]int // ends of sessions, by machine
	cleared map[string][]int // ends of records, by the owner that they named
	deleted map[string][]int // deletions, by path
}

// judgeOrder asks whether a fair lock lets its clients in in the order in which they asked.
func (a *analysis) judgeOrder(options Options) Verdict {
	if !options.Promises.Fair {
		return skipped("the lock promises no order")
	}
	f := &findings{cap: options.MaxViolations}
	queues := a.findDoors()
	var unplaced []string // locks on which nothing tells the order of asking
	compared, omitted, overlapped := 0, 0, false
	bound := 0
	for i, log := range a.locks {
		var places []place
		allowed := 0
		if queues[i] != nil {
			var n int
			places, n = a.placesByDoor(log, queues[i])
			omitted += n
		} else if options.OrderBound > 0 {
			places, allowed = a.placesByCall(log), options.OrderBound
			bound = allowed
		} else {
			unplaced = append(unplaced, log.key)
			continue
		}
		for k := range places {
			if places[k].entered {
				compared++
			}
		}
		overlapped = overlap(places) || overlapped
		a.overtakings(log, places, allowed, f)
	}
	switch {
	case f.found > 0:
		return f.verdict(Verdict{})
	case len(unplaced) > 0:
		return unknown("no doorway on record: nothing tells in which order " + some(unplaced) + " was asked for")
	case len(a.locks) == 0:
		return unknown("nobody used a lock")
	case !overlapped:
		return unknown("no two acquires of " + a.lockNames() + " waited at one time, so nothing was put to the test")
	}
	why := plural(compared, "grant") + " in the order of asking"
	if bound > 0 {
		why = fmt.Sprintf("%s, none overtaken more than %s", plural(compared, "grant"), plural(bound, "time"))
	}
	if omitted > 0 {
		why += fmt.Sprintf(" (without a doorway on record: %d more)", omitted)
	}
	return holds(why)
}

// findDoors gathers the requests of each lock; nil for a lock on whose queue there are none.
func (a *analysis) findDoors() []*doors {
	queues := make([]*doors, len(a.locks))
	for i := range a.events {
		e := &a.events[i]
		lock, known := a.byKey[e.Key]
		if !known || e.Error != "" || e.byClient() {
			continue
		}
		if queues[lock] == nil {
			queues[lock] = &doors{
				asked: map[string][]int{}, ended: map[string][]int{}, cleared: map[string][]int{}, deleted: map[string][]int{},
			}
		}
		queues[lock].note(i, e)
	}
	for i, q := range queues {
		if q != nil && len(q.asked) == 0 {
			queues[i] = nil
		}
	}
	return queues
}

// note sorts one fact in. The record of a lock may name whoever is first in its queue, and its end may be all that is
// told of the end of that place.
func (q *doors) note(i int, e *Event) {
	switch {
	case e.F == RecordGone && e.Previous != nil:
		q.cleared[e.Previous.Owner] = append(q.cleared[e.Previous.Owner], i)
	case e.F != Request:
	case e.Command == commandCreate && e.Value != e.Key && e.Node != "":
		q.asked[e.Node] = append(q.asked[e.Node], i)
	case e.Command == commandDelete:
		q.deleted[e.Value] = append(q.deleted[e.Value], i)
	case e.Command == commandCloseSession || strings.EqualFold(e.Command, CommandExpire):
		q.ended[e.Node] = append(q.ended[e.Node], i)
	}
}

// of lists the creates that client c may have sent between two positions: those of its machine, without those that
// name another owner.
func (q *doors) of(a *analysis, c *client, from, to int) []int {
	all := q.asked[c.node]
	position := func(i int) int { return all[i] }
	all = all[firstAfter(len(all), position, from):firstAfter(len(all), position, to)]
	var own []int
	for _, i := range all {
		if owner := a.events[i].Owner; owner == "" || c.owner == "" || owner == c.owner {
			own = append(own, i)
		}
	}
	return own
}

// lostPlace is where an acquire that asked by the given creates lost its place in the queue, math.MaxInt if it kept it.
func (q *doors) lostPlace(a *analysis, c *client, creates []int) int {
	after := creates[len(creates)-1]
	first := math.MaxInt
	look := func(list []int) {
		if k := firstAfter(len(list), func(i int) int { return list[i] }, after); k < len(list) {
			first = min(first, list[k])
		}
	}
	look(q.ended[c.node])
	if c.owner != "" {
		look(q.cleared[c.owner])
	}
	for _, i := range creates {
		if path := a.events[i].Value; path != "" {
			look(q.deleted[path])
		}
	}
	return first
}

// contends tells whether an acquire takes part in the order, and where it ends. Refused and failed ones do not, nor
// does a single attempt, which stands in no queue. One that is still open when the workload ends has waited until then.
func (a *analysis) contends(o *operation) (entry int, entered, ok bool) {
	switch {
	case !o.acquires() || o.f() == TryAcquire && !o.timed || o.before > 0:
		return none, false, false
	case o.outcome() == OK:
		return o.ret, true, true
	case a.end != none && o.call < a.end && (o.ret == none || o.ret > a.end) && a.clients[o.client].crashed == none:
		return a.end, false, true
	}
	return none, false, false
}

// placesByDoor lists the acquires of one lock whose doorway is on record, and counts the granted ones whose is not.
func (a *analysis) placesByDoor(log *lockLog, q *doors) (places []place, omitted int) {
	for _, id := range log.operations {
		o := &a.operations[id]
		entry, entered, ok := a.contends(o)
		if !ok {
			continue
		}
		c := &a.clients[o.client]
		creates := q.of(a, c, o.call, entry)
		if len(creates) == 0 {
			if entered {
				omitted++
			}
			continue
		}
		places = append(places, place{
			operation: id, earliest: creates[0], latest: creates[len(creates)-1], entry: entry,
			waitsUntil: min(entry, q.lostPlace(a, c, creates)), entered: entered,
		})
	}
	return places, omitted
}

// placesByCall lists the acquires of one lock in the order of their calls. Whoever may still hold from before enters
// again without a queue and is left out.
func (a *analysis) placesByCall(log *lockLog) []place {
	latest := make(map[int]*claim) // by client
	for i := range log.claims {
		latest[log.claims[i].client] = &log.claims[i]
	}
	places := make([]place, 0, log.grants)
	for _, id := range log.operations {
		o := &a.operations[id]
		entry, entered, ok := a.contends(o)
		if !ok || o.stale > 0 || o.doubtful > 0 {
			continue
		}
		if held := latest[o.client]; !entered && held != nil && !held.givenUp() {
			continue
		}
		places = append(places, place{
			operation: id, earliest: o.call, latest: o.call, entry: entry, waitsUntil: entry, entered: entered,
		})
	}
	return places
}

// overlap tells whether two places, one of which was entered, were waited for at one time: without that, order is not
// put to the test.
func overlap(places []place) bool {
	byDoor := make([]*place, len(places))
	for i := range places {
		byDoor[i] = &places[i]
	}
	sort.Slice(byDoor, func(i, j int) bool { return byDoor[i].latest < byDoor[j].latest })
	anybody, entered := none, none // until when one of those that asked sooner waited
	for _, p := range byDoor {
		if p.latest < entered || p.entered && p.latest < anybody {
			return true
		}
		anybody = max(anybody, p.entry)
		if p.entered {
			entered = max(entered, p.entry)
		}
	}
	return false
}

// overtakings finds the places that more than the allowed number overtook: they asked later and entered sooner. It goes
// from the last doorway to the first and keeps the entries of those that asked later in a tree that counts.
func (a *analysis) overtakings(log *lockLog, places []place, allowed int, f *findings) {
	byDoor := make([]*place, len(places))    // the latest doorway first
	rivals := make([]*place, 0, len(places)) // those that entered
	for i := range places {
		byDoor[i] = &places[i]
		if places[i].entered {
			rivals = append(rivals, &places[i])
		}
	}
	sort.Slice(byDoor, func(i, j int) bool { return byDoor[i].latest > byDoor[j].latest })
	entries := make([]int, len(rivals))
	for i, r := range rivals {
		entries[i] = r.entry
	}
	sort.Ints(entries)
	sort.Slice(rivals, func(i, j int) bool { return rivals[i].earliest > rivals[j].earliest })
	tree, next := make(counter, len(entries)+1), 0
	for _, p := range byDoor {
		for ; next < len(rivals) && rivals[next].earliest > p.latest; next++ {
			tree.add(sort.SearchInts(entries, rivals[next].entry))
		}
		if n := tree.below(sort.SearchInts(entries, p.waitsUntil)); n > allowed && f.wants(log.key) {
			f.violations = append(f.violations, a.overtaken(log, p, rivals[:next], n, allowed))
		}
	}
}

// namesTold is how many overtakers, or locks, are named where there may be many.
const namesTold = 4

// overtaken describes one violation. Among the later ones, which asked after p, are its n overtakers.
func (a *analysis) overtaken(log *lockLog, p *place, later []*place, n, allowed int) Violation {
	o := &a.operations[p.operation]
	v := Violation{
		Kind: KindOvertaken, Key: log.key, From: a.events[p.latest].Time, To: a.events[p.entry].Time,
	}
	var overtakers []*place
	for _, r := range later {
		if r.entry < p.waitsUntil {
			overtakers = append(overtakers, r)
		}
	}
	sort.Slice(overtakers, func(i, j int) bool { return overtakers[i].entry < overtakers[j].entry })
	positions, involved := []int{o.call, p.latest, p.entry}, []int{o.client}
	var clients []int
	seen := make(map[int]bool)
	for _, r := range overtakers {
		c := a.operations[r.operation].client
		if !seen[c] && len(clients) < namesTold {
			positions = append(positions, a.operations[r.operation].call, r.latest, r.entry)
			involved = append(involved, c)
		}
		if !seen[c] {
			seen[c] = true
			clients = append(clients, c)
		}
	}
	v.Text = fmt.Sprintf("%s asked for %s at %s, before %s did, and %s", a.name(o.client), log.key, seconds(v.From),
		some(a.names(clients)), p.gotIn(len(clients)))
	switch {
	case allowed > 0:
		v.Text += fmt.Sprintf(" (overtaken %s, allowed is %d)", plural(n, "time"), allowed)
	case n > len(clients):
		v.Text += fmt.Sprintf(" (overtaken %s)", plural(n, "time"))
	}
	v.Events = a.indices(positions...)
	a.involve(&v, involved...)
	return v
}

// gotIn says what became of somebody whom so many overtook.
func (p *place) gotIn(clients int) string {
	them, they := "them", "they"
	if clients == 1 {
		them, they = "it", "it"
	}
	if p.entered {
		return "got in after " + them
	}
	return "was left waiting while " + they + " got in"
}

// some joins the first of many names.
func some(names []string) string {
	if len(names) > namesTold {
		others := fmt.Sprintf("%d others", len(names)-namesTold+1)
		names = append(names[:namesTold-1:namesTold-1], others)
	}
	return join(names)
}

// counter is a Fenwick tree: it counts ranks, each in logarithmic time. Ranks start at 0, and it has one slot more than
// there are ranks.
type counter []int

func (c counter) add(rank int) {
	for i := rank + 1; i < len(c); i += i & -i {
		c[i]++
	}
}

// below counts the ranks under the given one.
func (c counter) below(rank int) int {
	n := 0
	for i := rank; i > 0; i -= i & -i {
		n += c[i]
	}
	return n
}
