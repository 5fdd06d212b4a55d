package checker

import (
	"container/heap"
	"fmt"
	"slices"
	"sort"
	"time"
)

// judgeExclusion sweeps over the claims of each lock: more at one true time than there are permits are a violation,
// whatever the server thought. A claim that ends at the time at which another starts does not overlap it, whatever the
// order of the two events: histories from elsewhere have clocks too coarse to tell. One that nothing ended outlasts the
// history, so that it overlaps all that start after it, at the last time of the history too.
//
// A client that takes several permits counts once: how many levels it has left is the matter of Linearizability.
func (a *analysis) judgeExclusion(options Options) Verdict {
	f := &findings{cap: options.MaxViolations}
	holds, handovers := 0, 0
	for _, log := range a.locks {
		n, h := countHolds(log.claims)
		holds += n
		handovers += h
		a.sweep(log, options.Promises.Permits, f)
	}
	if f.found > 0 {
		v := f.verdict(Verdict{})
		v.Why = fmt.Sprintf("%s; %s in all, %s in total, the longest %s",
			v.Violations[0].Text, plural(f.found, "overlap"), seconds(f.sum), seconds(f.longest))
		return v
	}
	if otherwise, short := a.unexercised(holds); short {
		return otherwise
	}
	return holdsVerdict(holds, handovers, options.Promises.Permits)
}

func holdsVerdict(n, handovers, permits int) Verdict {
	most := "no two"
	if permits > 1 {
		most = fmt.Sprintf("never more than %d", permits)
	}
	return holds(fmt.Sprintf("%s with %s between clients, %s at once",
		plural(n, "hold"), plural(handovers, "hand-over"), most))
}

// countHolds counts claims that lasted, and how often one was followed by that of another client.
func countHolds(claims []claim) (n, handovers int) {
	last := none
	for i := range claims {
		c := &claims[i]
		if c.empty() {
			continue
		}
		n++
		if last != none && last != c.client {
			handovers++
		}
		last = c.client
	}
	return n, handovers
}

// unexercised gives the verdict for histories in which clients could not get in each other's way.
func (a *analysis) unexercised(n int) (Verdict, bool) {
	if len(a.locks) == 0 {
		return unknown("nobody used a lock"), true
	}
	if n == 0 {
		return unknown("nobody ever held " + a.lockNames()), true
	}
	for _, log := range a.locks {
		first := none
		for i := range log.claims {
			c := &log.claims[i]
			switch {
			case c.empty():
			case first == none:
				first = c.client
			case first != c.client:
				return Verdict{}, false
			}
		}
	}
	return unknown(fmt.Sprintf("no lock passed from one client to another, so nothing was put to the test (%s)",
		plural(n, "hold"))), true
}

// lockNames renders the names of a few locks.
func (a *analysis) lockNames() string {
	var names []string
	for i, log := range a.locks {
		if i == 3 && len(a.locks) > 4 {
			names = append(names, fmt.Sprintf("%d other locks", len(a.locks)-3))
			break
		}
		names = append(names, log.key)
	}
	return join(names)
}

// claimsByEnd is a heap of claims, the first to end on top.
type claimsByEnd []*claim

func (h claimsByEnd) Len() int           { return len(h) }
func (h claimsByEnd) Less(i, j int) bool { return h[i].end.before(h[j].end) }
func (h claimsByEnd) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *claimsByEnd) Push(x any)        { *h = append(*h, x.(*claim)) }
func (h *claimsByEnd) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

// takenUntil are the latest ends of claims so far, as many as there are permits, the earliest of them on top: until
// then all permits are taken.
type takenUntil []instant

func (h takenUntil) Len() int           { return len(h) }
func (h takenUntil) Less(i, j int) bool { return h[i].before(h[j]) }
func (h takenUntil) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *takenUntil) Push(x any)        { *h = append(*h, x.(instant)) }
func (h *takenUntil) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

// add takes one more end, and forgets the earliest if there are more than permits then.
func (h *takenUntil) add(end instant, permits int) {
	switch {
	case len(*h) < permits:
		heap.Push(h, end)
	case (*h)[0].before(end):
		(*h)[0] = end
		heap.Fix(h, 0)
	}
}

// over tells whether a claim has ended when another starts at a time.
func (c *claim) over(at time.Duration) bool { return c.ending != unended && c.end.time <= at }

// outlives tells whether c ends later than d; of those that end at one instant, the one that starts first does.
func (c *claim) outlives(d *claim) bool {
	if c.end == d.end {
		return c.start.before(d.start)
	}
	return d.end.before(c.end)
}

// sweep finds the overlaps among the claims of one lock in O(n log n), plus the time it takes to list them: all that
// are still open when another starts overlap it.
func (a *analysis) sweep(log *lockLog, permits int, f *findings) {
	var active claimsByEnd
	var covered instant // up to here too many held, as far as the sweep has come
	var taken takenUntil
	for i := range log.claims {
		c := &log.claims[i]
		if c.empty() {
			continue
		}
		for len(active) > 0 && active[0].over(c.start.time) {
			heap.Pop(&active)
		}
		if len(active) >= permits {
			end := earlier(c.end, taken[0])
			f.longest = max(f.longest, end.time-c.start.time)
			if from := later(c.start, covered); from.before(end) {
				f.sum += end.time - from.time
				covered = end
			}
			if permits > 1 {
				a.listExcess(log, c, active, permits, f)
			} else {
				a.listOverlaps(log, c, active, f)
			}
		}
		taken.add(c.end, permits)
		heap.Push(&active, c)
	}
}

// listOverlaps reports c together with each claim that was open when it started.
func (a *analysis) listOverlaps(log *lockLog, c *claim, active claimsByEnd, f *findings) {
	if f.perKey[log.key] >= f.cap {
		f.found += len(active)
		return
	}
	for _, o := range byStart(active) {
		if f.wants(log.key) {
			f.violations = append(f.violations, a.overlap(log.key, o, c))
		}
	}
}

// listExcess reports c once, together with the claims that kept all permits taken for the longest.
func (a *analysis) listExcess(log *lockLog, c *claim, active claimsByEnd, permits int, f *findings) {
	if !f.wants(log.key) {
		return
	}
	others := slices.Clone(active)
	sort.Slice(others, func(i, j int) bool { return others[j].outlives(others[i]) })
	others = byStart(others[len(others)-permits:])
	f.violations = append(f.violations, a.excessClaims(log.key, append(others, c)))
}

// byStart lists claims in the order of their starts.
func byStart(claims claimsByEnd) claimsByEnd {
	sorted := slices.Clone(claims)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].start.before(sorted[j].start) })
	return sorted
}

// excessClaims describes claims that are one more than there are permits, by their starts.
func (a *analysis) excessClaims(key string, claims []*claim) Violation {
	last := claims[len(claims)-1]
	end := last.end
	var positions, clients []int
	for _, c := range claims {
		end = earlier(end, c.end)
		positions = append(positions, a.operations[c.acquire].ret)
		clients = append(clients, c.client)
	}
	positions = append(positions, last.start.position)
	if end.position != none && end.position < len(a.events) {
		positions = append(positions, end.position)
	}
	v := Violation{
		Kind: KindOverlap, Key: key, From: last.start.time, To: end.time, Events: a.indices(positions...),
		Text: fmt.Sprintf("%s all believed they held %s, which has %s, %s", join(a.names(clients)), key,
			plural(len(claims)-1, "permit"), span(last.start.time, end.time)),
	}
	a.involve(&v, clients...)
	return v
}

// overlap describes two claims of which b started while a lasted.
func (a *analysis) overlap(key string, x, y *claim) Violation {
	end := earlier(x.end, y.end)
	positions := []int{a.operations[x.acquire].ret, y.start.position}
	if end.position != none && end.position < len(a.events) {
		positions = append(positions, end.position)
	}
	v := Violation{
		Kind: KindOverlap, Key: key, From: y.start.time, To: end.time, Events: a.indices(positions...),
		Text: fmt.Sprintf("%s and %s both believed they held %s %s",
			a.name(x.client), a.name(y.client), key, span(y.start.time, end.time)),
	}
	if lock, known := a.byKey[key]; known {
		v.Cause = a.causeOfOverlap(a.locks[lock], x, y)
	}
	a.involve(&v, x.client, y.client)
	return v
}

func earlier(x, y instant) instant {
	if y.before(x) {
		return y
	}
	return x
}

func later(x, y instant) instant {
	if x.before(y) {
		return y
	}
	return x
}

// sortViolations puts violations in order of time, then of their first event.
func sortViolations(violations []Violation) {
	first := func(v *Violation) int64 {
		if len(v.Events) == 0 {
			return 0
		}
		return v.Events[0]
	}
	sort.SliceStable(violations, func(i, j int) bool {
		x, y := &violations[i], &violations[j]
		if x.From != y.From {
			return x.From < y.From
		}
		return first(x) < first(y)
	})
}
