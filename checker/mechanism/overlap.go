package mechanism

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
)

// overlap explains how two processes came to hold at once: it looks for the fact by which the record of the one that
// held first stopped to name it.
func (l *lock) overlap(v checker.Violation) *Finding {
	if len(v.Processes) != 2 {
		return nil
	}
	one, two := l.acquired(v.Processes[0], v.From), l.acquired(v.Processes[1], v.From)
	if one == nil || two == nil {
		return nil
	}
	if one.end.Index > two.end.Index {
		one, two = two, one
	}
	if f := l.outvoted(one, two); f != nil {
		return f
	}
	own := l.ownRecord(one)
	if own == nil {
		return nil
	}
	loss := l.loss(own, one.begin.Owner, two.end.Index)
	switch {
	case loss != nil:
		return l.robbed(one, own, loss)
	case two.begin.Owner == one.begin.Owner:
		return finding(SharedIdentity, []*checker.Event{own}, "%s and %s are both %s; the record named %s, so %s was let in",
			one.node(), two.node(), one.begin.Owner, one.node(), two.node())
	default:
		return l.late(two)
	}
}

// loss is the first fact after own, and before the event limit, after which the record does not name owner any more, or
// names it by the GETSET of another that goes by the same name.
func (l *lock) loss(own *checker.Event, owner string, limit int64) *checker.Event {
	for _, f := range l.between(own.Index, limit) {
		if !names(f, owner) || f.Node != own.Node && f.Command == "GETSET" {
			return f
		}
	}
	return nil
}

// late explains a client that entered although another's record stood all the time: it went by what it had learned long
// before.
func (l *lock) late(c *call) *Finding {
	own := l.ownRecord(c)
	if own == nil {
		return nil
	}
	name, events, age := c.node(), []*checker.Event{own}, c.end.Time-own.Time
	if own.Command == "GETSET" && own.Previous != nil && !lapsed(own.Previous) {
		return finding(StaleCheck, events, "the GETSET of %s had replaced the live record of another; %s judged that "+
			"record %s later and took it for expired", name, name, age)
	}
	if loss := l.loss(own, c.begin.Owner, c.end.Index); loss != nil && !lapsed(own.Record) && !over(own, c.end.Time) {
		return l.robbed(c, own, loss) // before it knew of its success
	}
	return finding(DeadOnArrival, events, "%s took its record for a hold %s after it was written, when its lease had "+
		"ended", name, age)
}

// robbed names the mechanism by which the holder of call one, whose record own was, lost it.
func (l *lock) robbed(one *call, own, loss *checker.Event) *Finding {
	began := l.beginning(l.latest(own, loss))
	own = l.latest(own, loss)
	victim, robber := one.node(), loss.Node
	events := []*checker.Event{own, loss}
	switch {
	case loss.Record != nil && robber != victim:
		return l.overwritten(victim, began, own, loss)
	case loss.Record != nil:
		return nil
	case robber == victim:
		return l.ownDelete(one, loss)
	case robber != "":
		return finding(ForeignDelete, events, "%s deleted the record of %s with its own unlock", robber, victim)
	case loss.Command == checker.CommandExpire:
		return l.takenOver(own, loss)
	default:
		return l.forgotten(own, loss)
	}
}

// overwritten names the mechanism by which another wrote over the record of a holder.
func (l *lock) overwritten(victim string, began, own, loss *checker.Event) *Finding {
	robber, culprit := loss.Node, l.during(loss)
	events := []*checker.Event{own, loss}
	plain := loss.Command != "GETSET" && loss.Command != "SETNX"
	switch {
	case plain && culprit != nil && culprit.releases():
		return finding(DecrementResurrects, events, "an inner unlock of %s put its own record, dead since before, over "+
			"that of %s", robber, victim)
	case plain && culprit != nil && loss.Record.Count > 1:
		return finding(ReentryOverwrites, events, "a re-entry of %s overwrote the record of %s", robber, victim)
	case lapsed(loss.Previous):
		return l.takenOver(own, loss)
	case loss.Command != "GETSET":
		return nil
	case culprit != nil && culprit.outcome() == checker.OK && !l.wroteAgain(culprit, loss):
		return finding(StaleCheck, events, "the GETSET of %s replaced the live record of %s; %s judged it after a pause "+
			"and took it for expired", robber, victim, robber)
	case began.Command == "SETNX":
		return finding(LateGetSet, events, "the GETSET of %s came late and replaced the fresh record of %s", robber, victim)
	default:
		return finding(LoserEnters, events, "%s lost the race for the dead record, but its GETSET replaced the live record "+
			"of %s by its own", robber, victim)
	}
}

// latest is the last fact before limit by which the record of the same owner was set.
func (l *lock) latest(own, limit *checker.Event) *checker.Event {
	for _, f := range slices.Backward(l.between(own.Index, limit.Index)) {
		if names(f, own.Record.Owner) {
			return f
		}
	}
	return own
}

// takenOver names why a record that a client believed in had lapsed when another took it over, or the server removed
// it.
func (l *lock) takenOver(own, loss *checker.Event) *Finding {
	events := []*checker.Event{own, loss}
	switch {
	case lapsed(own.Record):
		return finding(DeadOnArrival, events, "the record of %s was %d ms past its deadline when it was written",
			own.Node, own.Record.Now-own.Record.Expires)
	case early(own, loss.Time):
		return l.tooSoon(own, loss)
	case loss.Node == "":
		return finding(NoHolderCheck, events, "the lease of %s ended, the server removed its record, and %s went on",
			own.Node, own.Node)
	default:
		return finding(NoHolderCheck, events, "the lease of %s ended, %s took over, and %s went on", own.Node, loss.Node,
			own.Node)
	}
}

// tooSoon explains a record that counted as expired long before it was due.
func (l *lock) tooSoon(own, loss *checker.Event) *Finding {
	lease := l.lease
	if lease == 0 {
		end, _ := due(own)
		lease = end - own.Time
	}
	events := []*checker.Event{own, loss}
	return finding(ClockForward, events, "the record of %s counted as expired %s after it was written, with a lease of "+
		"%s", own.Node, rounded(loss.Time-own.Time), rounded(lease))
}

func rounded(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// ownDelete explains a client that deleted its own record while it believed to hold.
func (l *lock) ownDelete(one *call, loss *checker.Event) *Finding {
	for _, f := range l.between(one.end.Index, loss.Index) {
		if f.Node == one.node() && f.Command == "GETSET" && f.Previous != nil && f.Previous.Owner == one.begin.Owner {
			return finding(CountReset, []*checker.Event{f, loss}, "%s took over its own expired record, which said 1 level "+
				"from then on; its next unlock deleted it", one.node())
		}
	}
	for _, c := range l.byProcess[one.begin.Process] {
		if c.begin.Index > loss.Index {
			break
		}
		if c.begin.Index > one.end.Index && c.releases() && c.outcome() == checker.Info {
			return finding(LostDecrement, []*checker.Event{c.begin, loss}, "%s repeated an unlock that had been executed, and "+
				"released the outer level with it", one.node())
		}
	}
	return nil
}

// wroteAgain tells whether the client of a call wrote the record once more in it, after fact.
func (l *lock) wroteAgain(c *call, fact *checker.Event) bool {
	return slices.ContainsFunc(l.between(fact.Index, c.end.Index), func(f *checker.Event) bool {
		return f.Node == c.node()
	})
}

func finding(m Mechanism, events []*checker.Event, format string, args ...any) *Finding {
	f := &Finding{Mechanism: m, Text: fmt.Sprintf(format, args...)}
	for _, e := range events {
		f.Events = append(f.Events, e.Index)
	}
	slices.Sort(f.Events)
	f.Events = slices.Compact(f.Events)
	return f
}
