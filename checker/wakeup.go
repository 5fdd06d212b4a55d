package checker

import (
	"fmt"
	"sort"
	"time"
)

// judgeWakeUps asks whether a lock that was waited for after the heal stayed without a holder for longer than the
// bound, although its record named nobody, or somebody who was waiting for it. Where the record names somebody who has
// no use for it, that is the matter of Orphan.
//
// A lock with several permits is free while fewer hold than there are permits. How many a client takes, and what the
// record says of each, is not followed: where one took several or a server is on record, such a stretch shows nothing.
func (a *analysis) judgeWakeUps(options Options) Verdict {
	m, otherwise, ok := a.aftermath(options)
	if !ok {
		return otherwise
	}
	f := &findings{cap: options.MaxViolations}
	waits, entered, cutOff, longest := 0, 0, 0, time.Duration(0)
	permits, doubt := options.Promises.Permits, ""
	for _, log := range a.locks {
		waiting := a.waitsFor(log, m.from, m.to)
		waits += len(waiting)
		for _, w := range waiting {
			if w.cutOff {
				cutOff++
			} else if a.operations[w.operation].outcome() == OK {
				entered++
			}
		}
		for _, g := range gaps(log, waiting, &m, permits) {
			switch {
			case g.waited <= min(longest, m.bound):
			case permits > 1 && g.waited > m.bound && (len(log.facts) > 0 || a.nested(log) > 0):
				doubt = log.key
			case permits > 1 || !a.blocked(log, waiting, &g):
				longest = max(longest, g.waited)
				a.addStuck(log, waiting, &g, &m, permits, f)
			}
		}
	}
	if f.found > 0 {
		return f.verdict(Verdict{})
	}
	if doubt != "" {
		return unknown("nothing tells how many permits of " + doubt + " were taken while somebody waited for one")
	}
	if waits == 0 {
		return unknown(fmt.Sprintf("nobody asked for a lock between the heal at %s and the end at %s",
			seconds(m.from.time), seconds(m.to.time)))
	}
	// A run that is shorter than the bound shows something only when it ran dry: nobody waits any more, and not because
	// everybody gave up.
	if m.length() <= m.bound && (entered == 0 || cutOff > 0) {
		return m.short()
	}
	return holds(fmt.Sprintf("after the heal at %s no free lock that was waited for stayed without a holder for longer "+
		"than %s", seconds(m.from.time), seconds(longest)))
}

// gap is a stretch in which nobody came to hold a lock although fewer held it than there are permits, from the first
// instant at which somebody waited for it to the last. Time in which nobody waited does not count, and does not end it:
// whoever gave up and came back found the lock in the same state.
type gap struct {
	open     bool
	waited   time.Duration
	from, to instant
}

// gaps lists the gaps of one lock, in order.
func gaps(log *lockLog, waits []wait, m *aftermath, permits int) []gap {
	var list []gap
	holders, waiters := 0, 0
	last := m.from
	var g gap
	for _, x := range changes(log, waits, m.from, m.to) {
		if holders < permits && waiters > 0 {
			if !g.open {
				g.open, g.from = true, last
			}
			g.waited += x.at.time - last.time
			g.to = x.at
		}
		last = x.at
		holders += x.holds
		waiters += x.waits
		if x.holds > 0 && g.open {
			list = append(list, g)
			g = gap{}
		}
	}
	if g.open {
		list = append(list, g)
	}
	return list
}

// addStuck adds a gap that is longer than the bound.
func (a *analysis) addStuck(log *lockLog, waits []wait, g *gap, m *aftermath, permits int, f *findings) {
	if g.waited <= m.bound {
		return
	}
	f.longest = max(f.longest, g.waited)
	f.sum += g.waited
	if f.wants(log.key) {
		f.violations = append(f.violations, a.stuck(log, waits, g, permits))
	}
}

// blocked tells whether the record stood in the way for the longest part of a gap: it named somebody who did not wait.
func (a *analysis) blocked(log *lockLog, waits []wait, g *gap) bool {
	_, at := a.recordIn(log, g)
	if at == none || a.events[at].F != RecordSet {
		return false
	}
	owner := a.events[at].Owner
	if r := a.events[at].Record; r != nil {
		owner = r.Owner
	}
	t := term{owner: owner, client: a.clientNamed(owner, a.causeOf(at))}
	// Waits come in the order of their beginnings. Few of those that began long before a gap reach into it, but nothing
	// bounds how long before.
	k := sort.Search(len(waits), func(k int) bool { return !waits[k].start.before(g.to) })
	for k--; k >= 0; k-- {
		if w := &waits[k]; g.from.before(w.end) && a.termIsOf(&t, a.operations[w.operation].client) {
			return false
		}
	}
	return true
}

// stuck describes a gap.
func (a *analysis) stuck(log *lockLog, waits []wait, g *gap, permits int) Violation {
	v := Violation{Kind: KindStuck, Key: log.key, From: g.from.time, To: g.to.time}
	var clients, positions []int
	seen := make(map[int]bool)
	for i := range waits {
		if w := &waits[i]; w.start.before(g.to) && g.from.before(w.end) {
			o := &a.operations[w.operation]
			positions = append(positions, o.call)
			if !seen[o.client] {
				seen[o.client] = true
				clients = append(clients, o.client)
			}
		}
	}
	held := "nobody held " + log.key
	if permits > 1 {
		held = fmt.Sprintf("fewer than %d held %s", permits, log.key)
	}
	v.Text = fmt.Sprintf("%s %s while %s waited", held, span(v.From, v.To), join(a.names(clients)))
	if g.waited < v.To-v.From {
		v.Text += fmt.Sprintf(" for %s of it", seconds(g.waited))
	}
	if record, at := a.recordIn(log, g); at != none {
		v.Text += "; " + record
		positions = append(positions, at)
	}
	v.Events = a.indices(positions...)
	a.involve(&v, clients...)
	return v
}

// recordIn renders what the record of a lock said for the longest part of a gap, and gives the fact that tells, none
// if there is none.
func (a *analysis) recordIn(log *lockLog, g *gap) (string, int) {
	first := sort.Search(len(log.facts), func(i int) bool { return a.events[log.facts[i]].Time > g.from.time })
	i, longest := none, time.Duration(-1)
	for k := max(first-1, 0); k < len(log.facts); k++ {
		from, to := max(a.events[log.facts[k]].Time, g.from.time), g.to.time
		if from > to {
			break
		}
		if k+1 < len(log.facts) {
			to = min(to, a.events[log.facts[k+1]].Time)
		}
		if to-from > longest {
			i, longest = log.facts[k], to-from
		}
	}
	if i == none {
		return "", none
	}
	e := &a.events[i]
	if e.F == RecordGone {
		return "its record was gone", i
	}
	owner, count := e.Owner, e.Count
	if e.Record != nil {
		owner, count = e.Record.Owner, e.Record.Count
	}
	text := "its record named " + a.ownerName(owner, a.causeOf(i))
	if count > 0 {
		text += fmt.Sprintf(" (count %d)", count)
	}
	return text, i
}
