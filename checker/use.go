package checker

import (
	"fmt"
	"time"
)

// judgeUse asks of each write whether it was sent before the lease of its hold was over. The end of a lease is what the
// server's record says, in true time; where no server is on record it is the deadline that the client was told. What
// was sent in time and arrived late is the matter of Resource.
func (a *analysis) judgeUse(header *Header, options Options) Verdict {
	f := &findings{cap: options.MaxViolations}
	judged, ended := 0, false
	for _, log := range a.locks {
		ended = ended || a.leaseEnded(log)
	}
	successions := make([]succession, len(a.locks))
	for k := range a.writes {
		w := &a.writes[k]
		lock, known := a.guard(header, a.events[w.fact].Key)
		if !known || w.client == none || w.operation == none {
			continue
		}
		s := &successions[lock]
		if s.own == nil {
			*s = newSuccession(a.locks[lock])
		}
		judged += a.judgeUseOf(a.locks[lock], s, w, f)
	}
	switch {
	case f.found > 0:
		return f.verdict(Verdict{})
	case judged == 0 && !options.Promises.Leased:
		return skipped("the lock has no lease")
	case len(a.writes) == 0:
		return unknown("no write reached a resource")
	case judged == 0:
		return unknown("no write was sent under a hold whose lease is known")
	case !ended:
		return unknown("no lease ended before its hold was released, so nothing was put to the test")
	}
	return holds(fmt.Sprintf("%s sent before the lease was over", plural(judged, "write")))
}

// leaseEnded tells whether some hold of a lock ended with its lease, so that a client could be late.
func (a *analysis) leaseEnded(log *lockLog) bool {
	for k := range log.terms {
		if t := &log.terms[k]; t.ending == lapsed || t.over != 0 && t.ending == given && a.events[t.to].Time > t.over {
			return true
		}
	}
	for k := range log.claims {
		if log.claims[k].ending == expired {
			return true
		}
	}
	return false
}

// judgeUseOf judges one write and returns 1 if the end of its lease is known.
func (a *analysis) judgeUseOf(log *lockLog, s *succession, w *write, f *findings) int {
	call := a.operations[w.operation].call
	sent := instant{a.events[call].Time, call}
	i := s.latestOf(w.client, sent)
	if i == none || s.claims[i].givenUp() && s.claims[i].end.before(sent) {
		return 0 // sent without a hold: the matter of Resource
	}
	c := &s.claims[i]
	over, fact := a.leaseOf(log, c, sent)
	if over == 0 {
		return 0
	}
	if sent.time <= over {
		return 1
	}
	v := Violation{Kind: KindLateWrite, Key: a.events[w.fact].Key, From: over, To: sent.time}
	v.Text = fmt.Sprintf("%s sent a write to %s at %s, %s after its lease of %s was over", a.name(w.client), v.Key,
		seconds(sent.time), seconds(sent.time-over), log.key)
	v.Cause = a.faultOf(c, call)
	if v.Cause == "" && len(log.facts) > 0 {
		v.Cause = CauseAlgorithm
	}
	v.Events = a.indices(a.operations[c.acquire].ret, fact, call, w.fact)
	a.involve(&v, w.client)
	f.add(v)
	f.longest = max(f.longest, sent.time-over)
	f.sum += sent.time - over
	return 1
}

// leaseOf finds when the lease of a claim was over as seen at an instant, 0 where nothing tells, and the fact that
// tells.
func (a *analysis) leaseOf(log *lockLog, c *claim, sent instant) (over time.Duration, fact int) {
	if len(log.facts) == 0 {
		if c.ending == expired {
			return c.end.time, none
		}
		return 0, none
	}
	t := a.termOf(log, c.client, a.operations[c.acquire].call, sent.position)
	switch {
	case t == nil || t.displaced() || t.ending == dropped:
		return 0, none
	case t.over != 0:
		return t.over, t.last
	case t.ending == lapsed:
		return a.events[t.to].Time, t.to
	}
	return 0, none
}
