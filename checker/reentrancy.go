package checker

import "fmt"

// judgeReentrancy asks whether record and client count the same levels, as far as the record tells, and whether a hold
// is freed by the release of its last level and by no other.
func (a *analysis) judgeReentrancy(options Options) Verdict {
	f := &findings{cap: options.MaxViolations}
	nested, told := 0, false
	for _, log := range a.locks {
		nested += a.nested(log)
		told = told || len(log.facts) > 0
		a.counts(log, f)
		a.freedInside(log, f)
	}
	switch {
	case f.found > 0:
		return f.verdict(Verdict{})
	case !options.Promises.Reentrant:
		return skipped("the lock does not promise that its holder may enter again")
	case nested == 0:
		return unknown("nobody entered a lock that it held already")
	case !told:
		return unknown("no fact of a server is on record, so nothing tells how many levels it counts")
	}
	return holds(fmt.Sprintf("%s of holders that entered again, counted right", plural(nested, "acquire")))
}

// nested counts the acquires of a lock by those who held it already.
func (a *analysis) nested(log *lockLog) int {
	n := 0
	for _, id := range log.operations {
		if o := &a.operations[id]; o.acquires() && o.outcome() == OK && o.before > 0 {
			n++
		}
	}
	return n
}

// freedInside finds the holds that a release freed although levels of them were left.
func (a *analysis) freedInside(log *lockLog, f *findings) {
	for k := range log.terms {
		t := &log.terms[k]
		if t.ending != given || a.operationAt(t.to) == none {
			continue
		}
		o := &a.operations[a.operationAt(t.to)]
		unsure := o.outcome() != OK && (o.doubtful > 0 || o.outcome() == Fail)
		if o.f() != Release || o.before < 2 || o.stale > 0 || o.claim == none || unsure {
			continue
		}
		e := &a.events[t.to]
		v := Violation{Kind: KindFreedInside, Key: log.key, From: e.Time, To: e.Time}
		v.Text = fmt.Sprintf("at %s %s released one of %s of %s, which freed them all", seconds(e.Time),
			a.name(o.client), plural(int(o.before), "level"), log.key)
		v.Events = a.indices(a.operations[log.claims[o.claim].acquire].ret, o.call, t.to)
		a.involve(&v, o.client)
		f.add(v)
	}
}

// counts compares, after each successful acquire and release, the levels that the client holds with those in its
// record, as far as the record tells.
func (a *analysis) counts(log *lockLog, f *findings) {
	for k, i := range log.facts {
		id := a.operationAt(i)
		if id == none || a.events[i].F == RecordGone {
			continue
		}
		o := &a.operations[id]
		if o.outcome() != OK || o.stale > 0 || !o.acquires() && o.before == 0 || a.changesAgain(log, k, id) {
			continue
		}
		e := &a.events[i]
		var count int64
		switch {
		case e.Record != nil && e.Record.Count > 0:
			count = e.Record.Count
		case e.Record == nil && e.Count > 0:
			count = e.Count
		default:
			continue
		}
		if count == int64(o.after) {
			continue
		}
		v := Violation{Kind: KindWrongCount, Key: log.key}
		v.Text = fmt.Sprintf("after its %s at %s %s holds %s of %s but its record counts %d",
			o.f(), seconds(a.events[o.ret].Time), a.name(o.client), plural(int(o.after), "level"), log.key, count)
		a.addAnswer(f, v, o, i)
	}
}

// changesAgain tells whether an operation changed the record once more after fact number k of its lock and before it
// returned. Only the last change is held against what the client was told.
func (a *analysis) changesAgain(log *lockLog, k, id int) bool {
	ret := a.operations[id].ret
	for k++; k < len(log.facts) && (ret == none || log.facts[k] < ret); k++ {
		if a.operationAt(log.facts[k]) == id {
			return true
		}
	}
	return false
}
