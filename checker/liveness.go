package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// aftermath is the time that liveness is judged on: from the last heal to the end of the workload.
type aftermath struct {
	from, to instant
	bound    time.Duration
}

// length is how long the aftermath is.
func (m *aftermath) length() time.Duration { return max(m.to.time-m.from.time, 0) }

// short says that the aftermath is too short to show anything by itself.
func (m *aftermath) short() Verdict {
	return unknown(fmt.Sprintf("the workload went on for %s after the heal, which is not longer than the bound of %s",
		seconds(m.length()), seconds(m.bound)))
}

// aftermath finds the time to judge, or says why there is none.
func (a *analysis) aftermath(options Options) (m aftermath, otherwise Verdict, ok bool) {
	if options.LivenessBound <= 0 {
		return m, unknown("no bound was given for how long a lock may stay without a holder"), false
	}
	if a.healed == none {
		return m, unknown("the faults were never healed"), false
	}
	m = aftermath{bound: options.LivenessBound, from: instant{a.events[a.healed].Time, a.healed}}
	m.to = instant{a.events[len(a.events)-1].Time, len(a.events)}
	if a.end != none {
		m.to = instant{a.events[a.end].Time, a.end}
	}
	return m, Verdict{}, true
}

// wait is the part of an acquire that falls into the time that is judged.
type wait struct {
	operation  int
	start, end instant
	cutOff     bool // it was still open when the workload ended
}

// waitsFor lists the acquires of live clients that were open between from and to.
func (a *analysis) waitsFor(log *lockLog, from, to instant) []wait {
	var waits []wait
	for _, id := range log.operations {
		o := &a.operations[id]
		if !o.acquires() {
			continue
		}
		w := wait{operation: id, start: later(instant{a.events[o.call].Time, o.call}, from), end: to, cutOff: true}
		if o.ret != none {
			if end := (instant{a.events[o.ret].Time, o.ret}); end.before(to) {
				w.end, w.cutOff = end, false
			}
		}
		if at := a.clients[o.client].crashed; at != none && o.ret == none {
			if end := (instant{a.events[at].Time, at}); end.before(w.end) {
				w.end, w.cutOff = end, false
			}
		}
		if w.start.before(w.end) {
			waits = append(waits, w)
		}
	}
	return waits
}

// change is a point at which somebody starts or ends to hold or to wait.
type change struct {
	at    instant
	holds int
	waits int
}

// changes lists all starts and ends between from and to in order, starts before ends at one instant.
func changes(log *lockLog, waits []wait, from, to instant) []change {
	list := make([]change, 0, 2*(len(log.claims)+len(waits)))
	for i := range log.claims {
		c := &log.claims[i]
		if start, end := later(c.start, from), earlier(c.end, to); !c.empty() && start.before(end) {
			list = append(list, change{start, 1, 0}, change{end, -1, 0})
		}
	}
	for i := range waits {
		list = append(list, change{waits[i].start, 0, 1}, change{waits[i].end, 0, -1})
	}
	slices.SortFunc(list, func(x, y change) int {
		return cmp.Or(cmp.Compare(x.at.time, y.at.time), cmp.Compare(x.at.position, y.at.position),
			cmp.Compare(y.holds+y.waits, x.holds+x.waits))
	})
	return list
}
