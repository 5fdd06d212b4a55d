package checker

import (
	"fmt"
	"sort"
	"time"
)

// judgeLiveness looks at the time after the last heal. A lock that is waited for must not stay without a holder for
// longer than the bound, nobody may wait for longer than the bound while others enter again and again, and nobody who
// asks again and again may get nothing but errors.
func (a *analysis) judgeLiveness(options Options) Verdict {
	bound := options.LivenessBound
	if bound <= 0 {
		return unknown("no bound was given for how long a lock may stay without a holder")
	}
	if a.healed == none {
		return unknown("the faults were never healed")
	}
	from := instant{a.events[a.healed].Time, a.healed}
	to := instant{a.events[len(a.events)-1].Time, len(a.events)}
	if a.end != none {
		to = instant{a.events[a.end].Time, a.end}
	}
	f := &findings{cap: options.MaxViolations}
	waits, entered, cutOff, longest := 0, 0, 0, time.Duration(0)
	for _, log := range a.locks {
		waiting := a.waitsFor(log, from, to)
		waits += len(waiting)
		for _, w := range waiting {
			if w.cutOff {
				cutOff++
			} else if a.operations[w.operation].outcome == OK {
				entered++
			}
		}
		longest = max(longest, a.judgeGaps(log, waiting, from, to, bound, f))
		a.judgeStarvation(log, waiting, to, options, f)
		a.judgeRemains(log, to, bound, f)
		a.judgeErrors(log, f)
	}
	if f.found > 0 {
		return f.verdict(Verdict{})
	}
	if waits == 0 {
		why := fmt.Sprintf("nobody asked for a lock between the heal at %s and the end at %s", seconds(from.time),
			seconds(to.time))
		if a.seesRecords() && to.time-from.time > bound {
			return holds(why + ", and no record was left behind")
		}
		return unknown(why)
	}
	// A run that is shorter than the bound shows something only when it ran dry: nobody waits any more, and not because
	// everybody gave up.
	if to.time-from.time <= bound && (entered == 0 || cutOff > 0) {
		return unknown(fmt.Sprintf("the workload went on for %s after the heal, which is not longer than the bound of %s",
			seconds(max(to.time-from.time, 0)), seconds(bound)))
	}
	return holds(fmt.Sprintf("after the heal at %s no lock that was waited for stayed without a holder for longer than %s",
		seconds(from.time), seconds(longest)))
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
	var list []change
	for i := range log.claims {
		c := &log.claims[i]
		if start, end := later(c.start, from), earlier(c.end, to); !c.empty() && start.before(end) {
			list = append(list, change{start, 1, 0}, change{end, -1, 0})
		}
	}
	for i := range waits {
		list = append(list, change{waits[i].start, 0, 1}, change{waits[i].end, 0, -1})
	}
	sort.SliceStable(list, func(i, j int) bool {
		x, y := &list[i], &list[j]
		if x.at != y.at {
			return x.at.before(y.at)
		}
		return x.holds+x.waits > y.holds+y.waits
	})
	return list
}

// gap is a stretch in which nobody held a lock, from the first instant at which somebody waited for it to the last.
// Time in which nobody waited does not count, and does not end it: whoever gave up and came back found the lock in
// the same state.
type gap struct {
	open     bool
	waited   time.Duration
	from, to instant
}

// judgeGaps finds the gaps of one lock that are longer than the bound, and returns the length of the longest of all.
func (a *analysis) judgeGaps(
	log *lockLog, waits []wait, from, to instant, bound time.Duration, f *findings,
) (longest time.Duration) {
	holders, waiters := 0, 0
	last := from
	var g gap
	finish := func() {
		longest = max(longest, g.waited)
		if g.waited > bound {
			f.longest = max(f.longest, g.waited)
			f.sum += g.waited
			if f.wants(log.key) {
				f.violations = append(f.violations, a.stuck(log, waits, &g))
			}
		}
		g = gap{}
	}
	for _, x := range changes(log, waits, from, to) {
		if holders == 0 && waiters > 0 {
			if !g.open {
				g.open, g.from = true, last
			}
			g.waited += x.at.time - last.time
			g.to = x.at
		}
		last = x.at
		holders += x.holds
		waiters += x.waits
		if holders > 0 {
			finish()
		}
	}
	finish()
	return longest
}

// stuck describes a gap.
func (a *analysis) stuck(log *lockLog, waits []wait, g *gap) Violation {
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
	v.Text = fmt.Sprintf("nobody held %s %s while %s waited", log.key, span(v.From, v.To), join(a.names(clients)))
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
	text := "its record named " + a.ownerName(owner, a.cause[i])
	if count > 0 {
		text += fmt.Sprintf(" (count %d)", count)
	}
	return text, i
}

// judgeStarvation finds acquires that were cut off at the end after a wait longer than the bound while others entered
// more often than is allowed.
func (a *analysis) judgeStarvation(log *lockLog, waits []wait, to instant, options Options, f *findings) {
	starts := newSuccession(log)
	for i := range waits {
		w := &waits[i]
		if !w.cutOff || to.time-w.start.time <= options.LivenessBound {
			continue
		}
		client := a.operations[w.operation].client
		entered := starts.latest(to) - starts.latest(w.start)
		if entered <= options.Overtakes {
			continue
		}
		v := Violation{
			Kind: KindStarvation, Key: log.key, From: w.start.time, To: to.time,
			Events: a.indices(a.operations[w.operation].call),
		}
		v.Text = fmt.Sprintf("%s waited for %s %s while others entered %d times",
			a.name(client), log.key, span(v.From, v.To), entered)
		a.involve(&v, client)
		f.add(v)
	}
}

// seesRecords tells whether the history has facts of a server, so that a record left behind would show.
func (a *analysis) seesRecords() bool {
	for _, log := range a.locks {
		if len(log.facts) > 0 {
			return true
		}
	}
	return false
}

// judgeRemains finds a record that is still there at the end although its own deadline passed longer than the bound
// ago: nobody will remove it unless somebody happens to ask for that lock again. A record without a deadline is
// somebody's until its owner's process has died.
func (a *analysis) judgeRemains(log *lockLog, to instant, bound time.Duration, f *findings) {
	if len(log.facts) == 0 {
		return
	}
	i := log.facts[len(log.facts)-1]
	e := &a.events[i]
	if e.F != RecordSet || e.Record == nil || e.Record.Expires == 0 {
		return
	}
	deadline := e.Time + time.Duration(e.Record.Expires-e.Record.Now)*time.Millisecond
	if to.time-deadline <= bound {
		return
	}
	v := Violation{Kind: KindRemains, Key: log.key, From: deadline, To: to.time, Events: a.indices(i)}
	v.Text = fmt.Sprintf("the record of %s in %s was over at %s and was still there at the end, at %s",
		a.ownerName(e.Record.Owner, a.cause[i]), log.key, seconds(deadline), seconds(to.time))
	if c := a.cause[i]; c != none {
		a.involve(&v, c)
	}
	f.add(v)
}

// errorsInRow is how many errors one after another, and no success, show that a client will not get in any more.
const errorsInRow = 3

// errorRow is what a client was told about its acquires after the heal.
type errorRow struct {
	answered int   // acquires that were called after the heal and returned
	got      bool  // one returned with success
	row      []int // the errors since the last refusal, as operations
	longest  []int
}

// judgeErrors finds the live clients whose acquires ended in nothing but errors although the faults were over. A
// refusal is an answer like any other: it begins the row anew.
func (a *analysis) judgeErrors(log *lockLog, f *findings) {
	rows := make(map[int]*errorRow)
	var asking []int // clients in the order of their first calls
	for _, id := range log.operations {
		o := &a.operations[id]
		if !o.acquires() || o.ret < a.healed || a.end != none && o.ret > a.end || a.clients[o.client].crashed != none {
			continue
		}
		r := rows[o.client]
		if r == nil {
			r = &errorRow{}
			rows[o.client] = r
			asking = append(asking, o.client)
		}
		r.got = r.got || o.outcome == OK
		if o.call < a.healed {
			continue
		}
		r.answered++
		if o.outcome != Info {
			r.row = nil
			continue
		}
		if r.row = append(r.row, id); len(r.row) > len(r.longest) {
			r.longest = r.row
		}
	}
	for _, c := range asking {
		if r := rows[c]; !r.got && len(r.longest) >= errorsInRow {
			f.add(a.onlyErrors(log, c, r))
		}
	}
}

// onlyErrors describes the errors of one client by the first and the last of them.
func (a *analysis) onlyErrors(log *lockLog, c int, r *errorRow) Violation {
	first, last := &a.operations[r.longest[0]], &a.operations[r.longest[len(r.longest)-1]]
	v := Violation{
		Kind: KindErrors, Key: log.key, From: a.events[first.call].Time, To: a.events[last.ret].Time,
		Events: a.indices(first.call, first.ret, last.call, last.ret),
	}
	inRow := ""
	if r.answered > len(r.longest) {
		inRow = " in a row"
	}
	v.Text = fmt.Sprintf("%s asked for %s %d times%s after the heal and got an error each time",
		a.name(c), log.key, len(r.longest), inRow)
	a.involve(&v, c)
	return v
}
