package checker

import (
	"container/heap"
	"fmt"
	"sort"
)

// judgeExclusion sweeps over the claims of each lock: two that overlap in true time are a violation, whatever the
// server thought. A claim that ends at the time at which another starts does not overlap it, whatever the order of the
// two events: histories from elsewhere have clocks too coarse to tell.
func (a *analysis) judgeExclusion(options Options) Verdict {
	f := &findings{cap: options.MaxViolations}
	holds, handovers := 0, 0
	for _, log := range a.locks {
		n, h := countHolds(log.claims)
		holds += n
		handovers += h
		a.sweep(log, f)
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
	return holdsVerdict(holds, handovers)
}

func holdsVerdict(n, handovers int) Verdict {
	return holds(fmt.Sprintf("%s with %s between clients, no two at once",
		plural(n, "hold"), plural(handovers, "hand-over")))
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

// sweep finds the overlaps among the claims of one lock in O(n log n), plus the time it takes to list them: all that
// are still open when another starts overlap it.
func (a *analysis) sweep(log *lockLog, f *findings) {
	var active claimsByEnd
	var covered instant // up to here at least two held, as far as the sweep has come
	var furthest instant
	for i := range log.claims {
		c := &log.claims[i]
		if c.empty() {
			continue
		}
		for len(active) > 0 && active[0].end.time <= c.start.time {
			heap.Pop(&active)
		}
		if len(active) > 0 {
			end := earlier(c.end, furthest)
			f.longest = max(f.longest, end.time-c.start.time)
			if from := later(c.start, covered); from.before(end) {
				f.sum += end.time - from.time
				covered = end
			}
			a.listOverlaps(log, c, active, f)
		}
		furthest = later(furthest, c.end)
		heap.Push(&active, c)
	}
}

// listOverlaps reports c together with each claim that was open when it started.
func (a *analysis) listOverlaps(log *lockLog, c *claim, active claimsByEnd, f *findings) {
	if f.perKey[log.key] >= f.cap {
		f.found += len(active)
		return
	}
	others := append(claimsByEnd(nil), active...)
	sort.Slice(others, func(i, j int) bool { return others[i].start.before(others[j].start) })
	for _, o := range others {
		if f.wants(log.key) {
			f.violations = append(f.violations, a.overlap(log.key, o, c))
		}
	}
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
