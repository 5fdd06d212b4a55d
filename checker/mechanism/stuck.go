package mechanism

import (
	"slices"
	"sort"
	"strings"

	"github.com/lockstep-sim/lockstep/checker"
)

// stuck explains a lock that nobody holds while others wait: it looks at how its record came to be and why its owner
// does not give it back.
func (l *lock) stuck(v checker.Violation) *Finding {
	last := l.inTheWay(v)
	if last == nil || last.Record == nil {
		return nil
	}
	made := l.beginning(last)
	culprit := l.during(made)
	if culprit == nil {
		return nil
	}
	events, owner := []*checker.Event{made, last}, made.Node
	refused := made.Command == "GETSET" && culprit.outcome() == checker.Fail
	switch {
	case made.Command == "GETSET" && made.Previous == nil:
		return finding(NilGetSet, events, "the GETSET of %s met no record, which it took for a lost race; its own record "+
			"stayed", owner)
	case refused && lapsed(made.Previous):
		return finding(ClockBack, events, "%s took over a dead record, and the clock stepped back before it looked at what "+
			"it had replaced", owner)
	case refused:
		return finding(LoserBlocks, events, "%s lost the race for the record, but its GETSET had left its own there", owner)
	case l.unknownAcquire(made, last):
		return finding(LeftoverLevel, events, "an acquire of %s was executed and its reply lost; the record still counts %d",
			owner, last.Record.Count)
	case l.releaseWithoutTime(last):
		return finding(NoTimeNoRelease, events, "%s could not ask the time server when it unlocked; its record stayed", owner)
	}
	return nil
}

// inTheWay is the fact by which the record came to be that stood in the way: the one that the violation names, or else
// the one that stood when the wait began, or the first after that.
func (l *lock) inTheWay(v checker.Violation) *checker.Event {
	if named := l.named(v); len(named) > 0 {
		return named[len(named)-1]
	}
	after := sort.Search(len(l.facts), func(i int) bool { return l.facts[i].Time > v.From })
	switch {
	case after > 0:
		return l.facts[after-1]
	case len(l.facts) > 0 && l.facts[0].Time < v.To:
		return l.facts[0]
	}
	return nil
}

// unknownAcquire tells whether the record was written, or written on, by an acquire of unknown outcome.
func (l *lock) unknownAcquire(made, last *checker.Event) bool {
	return slices.ContainsFunc(l.between(made.Index-1, last.Index+1), func(f *checker.Event) bool {
		if f.Node != last.Node {
			return false
		}
		c := l.during(f)
		return c != nil && c.acquires() && c.outcome() == checker.Info
	})
}

// releaseWithoutTime tells whether the owner of a record tried to release after it was written and failed to ask for
// the time. Errors name who was asked.
func (l *lock) releaseWithoutTime(record *checker.Event) bool {
	calls := l.byNode[record.Node]
	from := sort.Search(len(calls), func(i int) bool { return calls[i].begin.Index > record.Index })
	return slices.ContainsFunc(calls[from:], func(c *call) bool {
		return c.releases() && c.end != nil && c.end.Type == checker.Info && strings.Contains(c.end.Error, "timeserver")
	})
}

// remains explains a record that is still there long after it was over.
func (l *lock) remains(v checker.Violation) *Finding {
	return finding(DeadRecordStays, l.named(v), "%s", v.Text)
}
