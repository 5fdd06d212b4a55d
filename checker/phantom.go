package checker

import (
	"fmt"
	"sort"
)

// judgePhantoms asks whether what was answered with a refusal changed anything: a try that was refused left its own
// record behind, or a release of somebody who was told that it is not the owner removed its record. Where there are no
// facts about records but what the server decided about each request, that must be what its caller was told.
func (a *analysis) judgePhantoms(options Options) Verdict {
	f := &findings{cap: options.MaxViolations}
	told, refusals := false, 0
	for _, log := range a.locks {
		told = told || len(log.facts) > 0 || len(log.served) > 0
		for _, id := range log.operations {
			if a.operations[id].outcome() == Fail {
				refusals++
			}
		}
		if len(log.facts) > 0 {
			a.phantomRecords(log, f)
			a.phantomReleases(log, f)
		} else {
			a.phantomAnswers(log, f)
		}
	}
	switch {
	case f.found > 0:
		return f.verdict(Verdict{})
	case refusals == 0:
		return unknown("no call was refused")
	case !told:
		return unknown("no fact of a server is on record, so nothing tells what refused calls did")
	}
	return holds(fmt.Sprintf("%s without an effect", plural(refusals, "refusal")))
}

// phantomRecords finds the terms that began by a request whose caller was told that it was refused, and that stood when
// it was told so or began later.
func (a *analysis) phantomRecords(log *lockLog, f *findings) {
	var calls map[int][]int // operations of each client, made when first needed
	for k := range log.terms {
		t := &log.terms[k]
		if id := a.operationAt(t.from); id != none {
			if o := &a.operations[id]; a.refusedAt(t.from) && t.to > o.ret && a.termIsOf(t, o.client) {
				f.add(a.phantom(log, o, t.from))
			}
			continue
		}
		if t.client == none || a.clients[t.client].crashed != none {
			continue
		}
		if calls == nil {
			calls = a.callsOf(log)
		}
		list := calls[t.client]
		i := sort.Search(len(list), func(i int) bool { return a.operations[list[i]].call > t.from }) - 1
		if i < 0 {
			continue
		}
		o := &a.operations[list[i]]
		if o.acquires() && o.outcome() == Fail && o.ret < t.from && o.doubtful == 0 && o.after == 0 && o.stale == 0 {
			f.add(a.phantom(log, o, t.from))
		}
	}
}

// callsOf lists the operations of each client on a lock in the order of their calls.
func (a *analysis) callsOf(log *lockLog) map[int][]int {
	calls := make(map[int][]int)
	for _, id := range log.operations {
		c := a.operations[id].client
		calls[c] = append(calls[c], id)
	}
	return calls
}

// phantomReleases finds the releases of holders that ended a term of their own although they were told that they own
// nothing. A client whose hold is over, be it by its own clock, is told so rightly, and may clear away what is left.
func (a *analysis) phantomReleases(log *lockLog, f *findings) {
	for k := range log.terms {
		t := &log.terms[k]
		if t.ending != given || a.operationAt(t.to) == none || lapsedBefore(&a.events[t.to]) {
			continue
		}
		o := &a.operations[a.operationAt(t.to)]
		if o.f() == Release && o.outcome() == Fail && o.before > 0 && a.termIsOf(t, o.client) {
			f.add(a.phantom(log, o, t.to))
		}
	}
}

// phantomAnswers compares what the server decided about the requests of a lock with what their callers were told. Who
// clears away what is left of a hold that is over is told rightly that it owns nothing. That a grant came to nothing
// before its caller was refused, only facts about records can tell.
func (a *analysis) phantomAnswers(log *lockLog, f *findings) {
	for _, i := range log.served {
		if o := &a.operations[a.operationAt(i)]; a.events[i].Type == OK && o.outcome() == Fail && !a.clearsAway(o, i) {
			f.add(a.phantom(log, o, i))
		}
	}
}

// clearsAway tells whether an operation that the server executed at a position is a release of what was left of a hold:
// of one that was over, by what its client knew or by the clock that judges it, or that an earlier call may have
// released.
func (a *analysis) clearsAway(o *operation, served int) bool {
	if o.f() != Release || served == 0 {
		return false
	}
	before := &a.events[served-1] // the fact that the same request caused
	lapsed := before.F == RecordGone && before.Key == a.events[served].Key && lapsedBefore(before)
	return lapsed || o.before == 0 && (o.stale > 0 || o.doubtful > 0)
}

// phantom describes a refused operation and the fact that shows its effect.
func (a *analysis) phantom(log *lockLog, o *operation, fact int) Violation {
	e, ret := &a.events[fact], &a.events[o.ret]
	v := Violation{Kind: KindPhantomEffect, Key: log.key, Cause: CauseAlgorithm}
	v.From, v.To = min(e.Time, ret.Time), max(e.Time, ret.Time)
	what := "its request had taken effect"
	switch {
	case e.F == RecordSet && fact < o.ret:
		what = "the record that it had put there at " + seconds(e.Time) + " stayed"
	case e.F == RecordSet:
		what = "the record named it from " + seconds(e.Time) + " on"
	case e.F == RecordGone:
		what = "its request had removed its record"
	}
	v.Text = fmt.Sprintf("the %s of %s by %s was refused at %s, but %s", o.f(), log.key, a.name(o.client),
		seconds(ret.Time), what)
	v.Events = a.indices(o.call, o.ret, fact)
	a.involve(&v, o.client)
	return v
}
