package checker

import (
	"fmt"
	"sort"
	"strings"
	"time"
)

// judgeRelease asks two things of each lock: that no release touches another's record, and that clients are told the
// truth about their releases.
func (a *analysis) judgeRelease(header *Header, options Options) Verdict {
	f := &findings{cap: options.MaxViolations}
	releases := 0
	for _, log := range a.locks {
		a.foreignReleases(log, f)
		releases += a.answers(log, header.Lease, options.Promises, f)
	}
	if f.found > 0 {
		return f.verdict(Verdict{})
	}
	if len(a.locks) == 0 {
		return unknown("nobody used a lock")
	}
	if releases == 0 {
		return unknown("no release of " + a.lockNames() + " was answered")
	}
	return holds(fmt.Sprintf("%s, each by the holder", plural(releases, "release")))
}

// foreignReleases finds the facts in which a request removed a record that was not its sender's.
//
// A removal is one if the record was live. If the record was replaced, then only if the request belongs to a release:
// taking over is what an acquire is for. If it had lapsed, then only if that release was told that it worked: the
// record may have been gone by itself, and this request the first to notice. Owner strings and senders must both
// differ: a lock may write a fresh token for each hold, and then only the sender tells whose it is.
func (a *analysis) foreignReleases(log *lockLog, f *findings) {
	setter, set := none, none
	for _, i := range log.facts {
		e := &a.events[i]
		if a.foreign(i, e, setter) {
			v := Violation{Kind: KindForeignRelease, Key: log.key, From: e.Time, To: e.Time}
			v.Text = fmt.Sprintf("at %s a release by %s %s the record of %s that named %s", seconds(e.Time), a.sender(i, e),
				map[bool]string{true: "replaced", false: "removed"}[e.F == RecordSet], log.key,
				a.ownerName(e.Previous.Owner, setter))
			positions := []int{set, i}
			if id := a.operationAt(i); id != none {
				positions = append(positions, a.operations[id].call)
			}
			v.Events = a.indices(positions...)
			for _, c := range []int{a.causeOf(i), setter} {
				if c != none {
					a.involve(&v, c)
				}
			}
			f.add(v)
		}
		setter, set = none, none
		if e.F == RecordSet {
			setter, set = a.causeOf(i), i
		}
	}
}

func (a *analysis) foreign(i int, e *Event, setter int) bool {
	if e.Previous == nil || e.Previous.Owner == "" || e.Node == "" || a.ownRecord(i, e, setter) {
		return false
	}
	releases, worked := false, false
	if id := a.operationAt(i); id != none {
		releases = a.operations[id].f() == Release
		worked = releases && a.operations[id].outcome() == OK
	}
	if e.F == RecordSet {
		return releases
	}
	if strings.EqualFold(e.Command, CommandExpire) || strings.EqualFold(e.Command, CommandRestart) {
		return false
	}
	return worked || !lapsedBefore(e)
}

// ownRecord tells whether the record that fact i replaced or removed may have been the sender's own.
func (a *analysis) ownRecord(i int, e *Event, setter int) bool {
	cause := a.causeOf(i)
	requester := e.Owner
	if requester == "" && cause != none {
		requester = a.clients[cause].owner
	}
	if e.Previous.Owner == requester || cause != none && cause == setter {
		return true
	}
	if cause == none || setter == none || a.clients[cause].node == a.clients[setter].node {
		// Nobody knows which process of the machine sent it: a request may arrive after its sender's end.
		return e.Owner == "" || len(a.byOwner[e.Previous.Owner]) == 0
	}
	return false
}

// sender renders who sent the request behind a fact.
func (a *analysis) sender(i int, e *Event) string {
	if c := a.causeOf(i); c != none {
		return a.name(c)
	}
	return e.Node
}

// answers compares what clients were told about their releases with what they held. It returns how many were answered.
func (a *analysis) answers(log *lockLog, lease time.Duration, promises Promises, f *findings) int {
	answered := 0
	for _, id := range log.operations {
		o := &a.operations[id]
		if o.f() != Release || o.outcome() == Info {
			continue
		}
		answered++
		switch {
		case o.outcome() == OK && o.before == 0 && o.stale == 0 && o.doubtful == 0:
			v := Violation{Kind: KindReleaseWithoutHold, Key: log.key}
			v.Text = fmt.Sprintf("%s released %s at %s without holding it, and was told that it had",
				a.name(o.client), log.key, seconds(a.events[o.ret].Time))
			a.addAnswer(f, v, o)
		case promises.LossTold && o.outcome() == OK && (o.stale > 0 || o.before == 1):
			if taken := a.takenOver(log, o); taken != none {
				v := Violation{Kind: KindLossUntold, Key: log.key}
				next := a.ownerName(a.events[taken].Record.Owner, a.causeOf(taken))
				v.Text = fmt.Sprintf("%s released %s at %s and was told that all is well, but %s had taken it over at %s",
					a.name(o.client), log.key, seconds(a.events[o.ret].Time), next, seconds(a.events[taken].Time))
				a.addAnswer(f, v, o, taken)
			}
		case o.outcome() == Fail && o.before > 0 && o.doubtful == 0 && !a.excused(log, lease, o):
			held := &log.claims[o.claim]
			v := Violation{Kind: KindHolderRefused, Key: log.key}
			v.Text = fmt.Sprintf("%s held %s since %s and was told at %s that it is not the owner",
				a.name(o.client), log.key, seconds(held.start.time), seconds(a.events[o.ret].Time))
			a.addAnswer(f, v, o, a.operations[held.acquire].ret)
		}
	}
	return answered
}

// takenOver finds the first fact by which another client got the lock after a client had won it and before it called
// its release. What happens from then on may be the release's own doing.
func (a *analysis) takenOver(log *lockLog, o *operation) int {
	var last *claim
	called := instant{a.events[o.call].Time, o.call}
	begun := sort.Search(len(log.claims), func(i int) bool { return called.before(log.claims[i].start) })
	for i := begun - 1; i >= 0 && last == nil; i-- {
		if c := &log.claims[i]; c.client == o.client {
			last = c
		}
	}
	if last == nil {
		return none
	}
	from := a.operations[last.acquire].ret
	for k := firstAfter(len(log.facts), func(i int) int { return log.facts[i] }, from); k < len(log.facts); k++ {
		i := log.facts[k]
		if i > o.call {
			break
		}
		e := &a.events[i]
		if e.F == RecordSet && e.Record != nil && e.Record.Owner != "" && e.Record.Owner != a.clients[o.client].owner {
			return i
		}
	}
	return none
}

func (a *analysis) addAnswer(f *findings, v Violation, o *operation, positions ...int) {
	v.From, v.To = a.events[o.call].Time, a.events[o.ret].Time
	v.Events = a.indices(append(positions, o.call, o.ret)...)
	a.involve(&v, o.client)
	f.add(v)
}

// excused tells whether a failed release of a holder has an explanation that is nobody's fault: its hold lapsed, or
// ended by itself while the release was under way, or the server lost the record. Where neither a deadline nor a server
// is on record, the hold may have ended when the lease of the header was over, from the call of the acquire on.
func (a *analysis) excused(log *lockLog, lease time.Duration, o *operation) bool {
	if o.claim == none {
		return true
	}
	held := &log.claims[o.claim]
	if held.ending.byItself() {
		return true
	}
	from := a.operations[held.acquire].call
	if len(log.facts) == 0 && a.leaseOver(held, lease, a.events[o.ret].Time) {
		return true
	}
	k := firstAfter(len(log.lapses), func(i int) int { return log.lapses[i].position }, from)
	for ; k < len(log.lapses); k++ {
		l := &log.lapses[k]
		if l.position > o.ret {
			break
		}
		for _, c := range l.clients {
			if c == o.client {
				return true
			}
		}
	}
	k = firstAfter(len(log.facts), func(i int) int { return log.facts[i] }, from)
	for ; k < len(log.facts); k++ {
		i := log.facts[k]
		if i > o.ret {
			break
		}
		if e := &a.events[i]; e.F == RecordGone && (e.Node == "" || strings.EqualFold(e.Command, CommandRestart)) {
			return true
		}
	}
	return false
}

// leaseOver tells whether the lease of a claim was over at a time: the deadline that was stated for it last, or else
// the lease of the header.
func (a *analysis) leaseOver(c *claim, lease, at time.Duration) bool {
	if c.deadline != 0 {
		return c.deadline <= at
	}
	return lease > 0 && a.events[a.operations[c.acquire].call].Time+lease <= at
}

// firstAfter finds the first of n rising positions that is above x.
func firstAfter(n int, position func(int) int, x int) int {
	low, high := 0, n
	for low < high {
		if middle := (low + high) / 2; position(middle) > x {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}
