package checker

import "fmt"

// judgeClobber asks whether somebody who was not let in changed the live record of who was: its owner, its count or its
// end. Whoever overwrites a live record and is let in by just that got a grant too many, which is the matter of
// GrantExclusivity.
func (a *analysis) judgeClobber(options Options) Verdict {
	f := &findings{cap: options.MaxViolations}
	told, met := false, 0
	for _, log := range a.locks {
		told = told || len(log.facts) > 0
		setter, set := none, none
		for k, i := range log.facts {
			e := &a.events[i]
			if e.F == RecordSet && e.Previous != nil && !a.ownRecord(i, e, setter) {
				met++
				if !lapsedBefore(e) && a.clobbers(log, k) {
					f.add(a.clobbered(log, i, setter, set))
				}
			}
			setter, set = none, none
			if e.F == RecordSet {
				setter, set = a.causeOf(i), i
			}
		}
	}
	switch {
	case f.found > 0:
		return f.verdict(Verdict{})
	case !told:
		return unknown("no fact of a server is on record")
	case met == 0:
		return unknown("no request wrote over the record of another, so nothing was put to the test")
	}
	return holds(fmt.Sprintf("%s written over, each after its lease was over or by the next holder",
		plural(met, "record")))
}

// clobbers tells whether fact number k of a lock, which wrote over the live record of another, did not let its sender
// in: it was no acquire, the acquire did not succeed, or it had to write once more to succeed. While the acquire is
// still under way nobody knows.
func (a *analysis) clobbers(log *lockLog, k int) bool {
	i := log.facts[k]
	id := a.operationAt(i)
	if id == none {
		return a.causeOf(i) != none // whose call was over
	}
	o := &a.operations[id]
	decided := o.ret != none || a.clients[o.client].crashed != none
	return o.f() != Release && (decided && o.outcome() != OK || a.changesAgain(log, k, id))
}

// clobbered describes the fact i that wrote over the record which setter had set by the fact set.
func (a *analysis) clobbered(log *lockLog, i, setter, set int) Violation {
	e := &a.events[i]
	v := Violation{Kind: KindClobbered, Key: log.key, From: e.Time, To: e.Time, Cause: CauseAlgorithm}
	what := "replaced"
	if e.Record != nil && e.Record.Owner == e.Previous.Owner {
		what = "changed"
	}
	v.Text = fmt.Sprintf("at %s %s, which was not let in by that, %s the live record of %s in %s", seconds(e.Time),
		a.sender(i, e), what, a.ownerName(e.Previous.Owner, setter), log.key)
	positions, involved := []int{set, i}, []int{}
	if id := a.operationAt(i); id != none {
		positions = append(positions, a.operations[id].call)
	}
	for _, c := range []int{a.causeOf(i), setter} {
		if c != none {
			involved = append(involved, c)
		}
	}
	v.Events = a.indices(positions...)
	a.involve(&v, involved...)
	return v
}
