package checker

import (
	"fmt"
	"sort"
	"time"
)

// judgeOrphans asks whether, after the heal, a record names somebody who has no use for it: who neither believes to
// hold nor is in a call about the lock. Such a record may stay for the bound, and for the bound after its own deadline
// if it has one. One that is over at the end but still there will be removed by nobody, unless somebody happens to ask
// for that lock again.
func (a *analysis) judgeOrphans(options Options) Verdict {
	m, otherwise, ok := a.aftermath(options)
	if !ok {
		return otherwise
	}
	f := &findings{cap: options.MaxViolations}
	records := 0
	for _, log := range a.locks {
		waiting := a.waitsFor(log, m.from, m.to)
		blocked := false
		for _, g := range gaps(log, waiting, &m, 1) {
			if g.waited > m.bound && a.blocked(log, waiting, &g) {
				blocked = true
				a.addStuck(log, waiting, &g, &m, 1, f)
			}
		}
		a.judgeRemains(log, m.to, m.bound, f)
		if !blocked {
			a.judgeIdle(log, &m, f)
		}
		for k := range log.terms {
			if log.terms[k].to > m.from.position {
				records++
			}
		}
	}
	switch {
	case f.found > 0:
		return f.verdict(Verdict{})
	case !a.seesRecords():
		return unknown("no fact of a server is on record, so nothing tells what was left behind")
	case m.length() <= m.bound:
		return m.short()
	case records == 0:
		return holds("no record was left behind")
	}
	return holds(fmt.Sprintf("after the heal at %s none of %s stayed for longer than somebody had use for it",
		seconds(m.from.time), plural(records, "record")))
}

// judgeIdle finds the terms without a lease whose owner had no use for them for longer than the bound.
func (a *analysis) judgeIdle(log *lockLog, m *aftermath, f *findings) {
	var uses map[int][]use
	for k := range log.terms {
		t := &log.terms[k]
		if t.client == none || t.over != 0 {
			continue
		}
		from, to := later(instant{a.events[t.from].Time, t.from}, m.from), m.to
		if t.to < len(a.events) {
			to = earlier(to, instant{a.events[t.to].Time, t.to})
		}
		if to.time-from.time <= m.bound {
			continue
		}
		if uses == nil {
			uses = a.usesOf(log, m.to)
		}
		if since, idle := idleIn(uses[t.client], from, to, m); idle {
			f.add(a.orphan(log, t, since, to))
		}
	}
}

// use is a time in which a client has use for a record: it holds, or it is in a call about the lock.
type use struct{ from, to instant }

// usesOf lists the uses of each client by their beginnings.
func (a *analysis) usesOf(log *lockLog, end instant) map[int][]use {
	uses := make(map[int][]use)
	for _, id := range log.operations {
		o := &a.operations[id]
		u := use{instant{a.events[o.call].Time, o.call}, end}
		if o.ret != none {
			u.to = instant{a.events[o.ret].Time, o.ret}
		}
		if at := a.clients[o.client].crashed; at != none {
			u.to = earlier(u.to, instant{a.events[at].Time, at})
		}
		uses[o.client] = append(uses[o.client], u)
	}
	for k := range log.claims {
		c := &log.claims[k]
		uses[c.client] = append(uses[c.client], use{c.start, c.end})
	}
	for _, list := range uses { // order-free: each is sorted by itself
		sort.SliceStable(list, func(i, j int) bool { return list[i].from.before(list[j].from) })
	}
	return uses
}

// idleIn finds the first stretch between two instants that is longer than the bound and without a use.
func idleIn(uses []use, from, to instant, m *aftermath) (since instant, idle bool) {
	since = from
	for i := range uses {
		u := &uses[i]
		if u.from.time-since.time > m.bound || !u.from.before(to) {
			break
		}
		since = later(since, u.to)
	}
	end := to
	for i := range uses {
		if since.before(uses[i].from) {
			end = earlier(end, uses[i].from)
			break
		}
	}
	return since, end.time-since.time > m.bound
}

// orphan describes a term for which its owner had no use since an instant.
func (a *analysis) orphan(log *lockLog, t *term, since, to instant) Violation {
	v := Violation{Kind: KindOrphan, Key: log.key, From: since.time, To: to.time, Cause: CauseAlgorithm}
	p := &a.clients[t.client]
	state := "which was in no call and did not hold it"
	positions := []int{t.from}
	if p.crashed != none && p.crashed <= since.position {
		state = "which had crashed"
		positions = append(positions, p.crashed)
	}
	v.Text = fmt.Sprintf("the record of %s named %s, %s, %s, and has no end of its own", log.key, a.name(t.client), state,
		span(v.From, v.To))
	v.Events = a.indices(positions...)
	a.involve(&v, t.client)
	return v
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
		a.ownerName(e.Record.Owner, a.causeOf(i)), log.key, seconds(deadline), seconds(to.time))
	if c := a.causeOf(i); c != none {
		a.involve(&v, c)
	}
	f.add(v)
}
