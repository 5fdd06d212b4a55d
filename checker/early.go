package checker

import (
	"fmt"
	"time"
)

// judgeEarly asks whether a hold ever passed to another before its lease was over, although it had not been released.
// A lease is as long as its record says, from the moment of its last change on, in true time: that is what its holder
// was promised, and what a clock makes of it may be less. Where no server is on record the lease of the header counts,
// from the call of the acquire on.
func (a *analysis) judgeEarly(header *Header, options Options) Verdict {
	f := &findings{cap: options.MaxViolations}
	leases, ended := 0, 0
	for _, log := range a.locks {
		var n, m int
		switch {
		case len(log.facts) > 0:
			n, m = a.earlyTerms(log, options, f)
		case options.Promises.Permits == 1:
			n, m = a.earlyAnswers(log, header, options, f)
		}
		leases += n
		ended += m
	}
	switch {
	case f.found > 0:
		return f.verdict(Verdict{})
	case leases == 0 && !options.Promises.Leased:
		return skipped("the lock has no lease")
	case leases == 0:
		return unknown("nothing tells how long the leases of " + a.lockNames() + " are")
	case ended == 0:
		return unknown(fmt.Sprintf("none of %s passed to another before it was released, so nothing was put to the test",
			plural(leases, "lease")))
	}
	return holds(fmt.Sprintf("%s passed to another unreleased, none before its time", plural(ended, "lease")))
}

// earlyTerms judges the terms of one lock. It counts those with a lease, and those after which another came though
// their owner had not given them back.
func (a *analysis) earlyTerms(log *lockLog, options Options, f *findings) (leases, ended int) {
	released := a.releasesOf(log)
	for k := range log.terms {
		t := &log.terms[k]
		if t.over == 0 {
			continue
		}
		leases++
		next := k + 1
		for next < len(log.terms) && log.terms[next].from < t.to {
			next++ // with several permits
		}
		if t.ending == given || t.ending == stands || t.ending == dropped || next == len(log.terms) {
			continue
		}
		n := &log.terms[next]
		calledFree := t.client != none && calledBetween(released[t.client], t.last, n.from)
		if n.owner == t.owner || calledFree || a.refusedAt(n.from) || options.growing && a.undecided(n.from) {
			continue
		}
		ended++
		ends := &a.events[t.to]
		early := t.over - ends.Time
		if early <= options.Margin || a.events[n.from].Time >= t.over-options.Margin {
			continue
		}
		v := Violation{Kind: KindEarlyGrant, Key: log.key, From: a.events[n.from].Time, To: t.over}
		v.Text = fmt.Sprintf("%s passed to %s at %s, %s before the lease of %s was over", log.key,
			a.ownerName(n.owner, n.client), seconds(v.From), seconds(t.over-v.From), a.ownerName(t.owner, t.client))
		v.Cause = CauseAlgorithm
		if t.ending == lapsed {
			v.Cause = a.clockFault(t.to)
		}
		v.Events = a.indices(t.last, t.to, n.from)
		for _, c := range []int{n.client, t.client} {
			if c != none {
				a.involve(&v, c)
			}
		}
		f.add(v)
	}
	return leases, ended
}

// refusedAt tells whether the request behind a fact was answered with a refusal.
func (a *analysis) refusedAt(fact int) bool {
	id := a.operationAt(fact)
	return id != none && a.operations[id].acquires() && a.operations[id].outcome() == Fail
}

// undecided tells whether the request behind a fact may still be answered with a refusal.
func (a *analysis) undecided(fact int) bool {
	id := a.operationAt(fact)
	return id != none && a.operations[id].ret == none && a.clients[a.operations[id].client].crashed == none
}

// clockFault is skew if a clock was tampered with before a position, and early expiry otherwise.
func (a *analysis) clockFault(at int) Cause {
	if a.faultBetween(faultClock, "", 0, at) {
		return CauseSkew
	}
	return CauseEarly
}

// earlyAnswers judges what clients were told, each claim against the next one of another client.
func (a *analysis) earlyAnswers(log *lockLog, header *Header, options Options, f *findings) (leases, ended int) {
	released := a.releasesOf(log)
	for k := range log.claims {
		c := &log.claims[k]
		over, known := a.leaseEnd(c, header, options)
		if !known {
			continue
		}
		leases++
		if k+1 == len(log.claims) || log.claims[k+1].client == c.client {
			continue
		}
		n := &log.claims[k+1]
		// Anything that may have been a release since excuses the server.
		if calledBetween(released[c.client], a.operations[c.acquire].ret, n.start.position) {
			continue
		}
		ended++
		told := a.operations[n.acquire].ret
		if a.events[told].Time >= over-options.Margin {
			continue
		}
		v := Violation{Kind: KindEarlyGrant, Key: log.key, From: a.events[told].Time, To: over}
		v.Text = fmt.Sprintf("%s was given to %s at %s, %s before the lease of %s was over", log.key, a.name(n.client),
			seconds(v.From), seconds(over-v.From), a.name(c.client))
		v.Events = a.indices(a.operations[c.acquire].call, a.operations[c.acquire].ret, told)
		a.involve(&v, n.client, c.client)
		f.add(v)
	}
	return leases, ended
}

// leaseEnd is the least time at which the lease of a claim can be over: that of the header after the call of its
// acquire, or the deadline that was stated with it. It is not known where neither is on record.
func (a *analysis) leaseEnd(c *claim, header *Header, options Options) (time.Duration, bool) {
	o := &a.operations[c.acquire]
	if options.Promises.Leased && header.Lease > 0 {
		return a.events[o.call].Time + header.Lease, true
	}
	deadline := a.events[o.ret].Deadline
	return deadline, deadline > a.events[o.call].Time
}

// calledBetween tells whether a call, of those at some rising positions, lies between two positions.
func calledBetween(calls []int, from, to int) bool {
	i := firstAfter(len(calls), func(i int) int { return calls[i] }, from)
	return i < len(calls) && calls[i] < to
}

// releasesOf lists the positions at which each client called a release of the lock, in rising order, since operations
// come in the order of their calls.
func (a *analysis) releasesOf(log *lockLog) map[int][]int {
	calls := make(map[int][]int)
	for _, id := range log.operations {
		if o := &a.operations[id]; o.f() == Release {
			calls[o.client] = append(calls[o.client], o.call)
		}
	}
	return calls
}
