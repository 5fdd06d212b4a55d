package checker

import (
	"fmt"
	"strings"
	"time"
)

// judgeSessions asks whether what belonged to a session is gone within the bound after its end. A machine that sends
// requests after that has another session, and what it has by then may be of that one.
func (a *analysis) judgeSessions(options Options) Verdict {
	if options.LivenessBound <= 0 {
		return unknown("no bound was given for how long a record may outlive its session")
	}
	f := &findings{cap: options.MaxViolations}
	ended, owning := 0, 0
	for k, i := range a.requests {
		e := &a.events[i]
		if e.Error != "" || e.Node == "" ||
			e.Command != commandCloseSession && !strings.EqualFold(e.Command, CommandExpire) {
			continue
		}
		ended++
		for _, log := range a.locks {
			owning += a.judgeSession(log, k, options, f)
		}
	}
	switch {
	case f.found > 0:
		return f.verdict(Verdict{})
	case ended == 0:
		return unknown("no session ended")
	case owning == 0:
		return unknown(fmt.Sprintf("%s ended, none of them with a record", plural(ended, "session")))
	}
	return holds(fmt.Sprintf("%s ended, and the records of %s with them", plural(ended, "session"),
		plural(owning, "session")))
}

// judgeSession judges the end of a session, which is request number k, for one lock. It returns 1 if the session had a
// record there.
func (a *analysis) judgeSession(log *lockLog, k int, options Options, f *findings) int {
	i := a.requests[k]
	e := &a.events[i]
	owning := 0
	termsIn(log, i, len(a.events), func(t *term) bool {
		if t.client == none || a.clients[t.client].node != e.Node || e.Owner != "" && e.Owner != t.owner {
			return true
		}
		if t.from < i {
			owning = 1
		}
		end := a.events[len(a.events)-1].Time
		if t.to < len(a.events) {
			end = a.events[t.to].Time
		}
		from := max(e.Time, a.events[t.from].Time)
		if end-from <= options.LivenessBound || a.requestedAfter(k, t.to, from+options.LivenessBound) {
			return true
		}
		owning = 1
		v := Violation{Kind: KindSessionRemains, Key: log.key, From: e.Time, To: end, Cause: CauseAlgorithm}
		v.Text = fmt.Sprintf("the session of %s ended at %s, and the record of %s named it for %s after that",
			a.name(t.client), seconds(e.Time), log.key, seconds(end-from))
		v.Events = a.indices(t.from, i)
		a.involve(&v, t.client)
		f.add(v)
		return true
	})
	return owning
}

// requestedAfter tells whether the machine whose session ended with request number k sent a request after that, before
// a position and a time.
func (a *analysis) requestedAfter(k, before int, until time.Duration) bool {
	node := a.events[a.requests[k]].Node
	for _, i := range a.requests[k+1:] {
		e := &a.events[i]
		if i >= before || e.Time > until {
			return false
		}
		if e.Node == node && e.Command != commandEvent && !strings.EqualFold(e.Command, CommandExpire) {
			return true
		}
	}
	return false
}
