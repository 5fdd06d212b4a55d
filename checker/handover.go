package checker

import (
	"fmt"
	"slices"
	"time"
)

// passing is a hand-over: a release, and the first acquire of another client that was waiting for it.
type passing struct {
	log      *lockLog
	from, to int // the client that released, and the one that got in
	release  int // where the server executed the release, or where it was called if that is not on record
	entry    int // where the acquire returned
}

// passings lists the hand-overs of all locks, in order for each lock. What happened before the last heal says more of
// the faults than of the lock, and is left out.
func (a *analysis) passings() []passing {
	var list []passing
	for _, log := range a.locks {
		list = slices.Grow(list, len(log.claims))
		last := none // the claim before
		for k := range log.claims {
			c := &log.claims[k]
			if c.empty() {
				continue
			}
			before := last
			last = k
			if before == none {
				continue
			}
			b, o := &log.claims[before], &a.operations[c.acquire]
			if b.client == c.client || !b.givenUp() || b.end.position < a.healed {
				continue
			}
			p := passing{log: log, from: b.client, to: c.client, release: a.releasedAt(log, b), entry: o.ret}
			if o.call < p.release && p.release < p.entry && c.start.position == o.ret {
				list = append(list, p)
			}
		}
	}
	return list
}

// releasedAt finds where the server freed what a claim held: its fact, or else the call of the release.
func (a *analysis) releasedAt(log *lockLog, c *claim) int {
	if t := a.termOf(log, c.client, a.operations[c.acquire].call, c.end.position); t != nil && t.ending == given {
		return max(t.to, c.end.position)
	}
	return c.end.position
}

// judgeHerd counts the requests that a hand-over takes: those of the machines that wait, and the events that the server
// sends them, between the release and the return of the next acquire.
func (a *analysis) judgeHerd(options Options) Verdict {
	f := &findings{cap: options.MaxViolations}
	if len(a.requests) == 0 {
		return unknown("no request to a server is on record")
	}
	n, sum, most := 0, 0, 0
	for _, p := range a.passings() {
		requests := a.requestsIn(&p)
		n, sum, most = n+1, sum+requests, max(most, requests)
		if options.HerdBound <= 0 || requests <= options.HerdBound {
			continue
		}
		v := a.passingViolation(KindHerd, &p)
		v.Text = fmt.Sprintf("%s took %s to pass from %s to %s at %s (allowed is %d)", p.log.key,
			plural(requests, "request"), a.name(p.from), a.name(p.to), seconds(v.From), options.HerdBound)
		f.add(v)
	}
	if f.found > 0 {
		return f.verdict(Verdict{})
	}
	if n == 0 {
		return unknown("no lock passed from its holder to a client that waited for it")
	}
	return measured(options.HerdBound > 0, fmt.Sprintf("%s.%d requests for each of %s, at most %d",
		fmt.Sprint(sum/n), sum*10/n%10, plural(n, "hand-over"), most))
}

// requestsIn counts the requests of a hand-over.
func (a *analysis) requestsIn(p *passing) int {
	position := func(k int) int { return a.requests[k] }
	first := firstAfter(len(a.requests), position, p.release)
	last := firstAfter(len(a.requests), position, p.entry)
	n := 0
	for _, i := range a.requests[first:last] {
		if e := &a.events[i]; e.Key == p.log.key && e.Node != "" && e.Node != a.clients[p.from].node {
			n++
		}
	}
	return n
}

func (a *analysis) passingViolation(kind string, p *passing) Violation {
	v := Violation{Kind: kind, Key: p.log.key, From: a.events[p.release].Time, To: a.events[p.entry].Time}
	v.Events = a.indices(p.release, p.entry)
	a.involve(&v, p.to, p.from)
	return v
}

// judgeHandOvers measures the time from the release to the return of the next acquire, where a client was waiting.
func (a *analysis) judgeHandOvers(options Options) Verdict {
	f := &findings{cap: options.MaxViolations}
	var took []time.Duration
	for _, p := range a.passings() {
		d := a.events[p.entry].Time - a.events[p.release].Time
		took = append(took, d)
		if options.HandOverBound <= 0 || d <= options.HandOverBound {
			continue
		}
		v := a.passingViolation(KindSlowHandOver, &p)
		v.Text = fmt.Sprintf("%s took %s to pass from %s to %s, which waited for it, at %s (allowed are %s)", p.log.key,
			seconds(d), a.name(p.from), a.name(p.to), seconds(v.From), seconds(options.HandOverBound))
		f.longest = max(f.longest, d)
		f.add(v)
	}
	if f.found > 0 {
		return f.verdict(Verdict{})
	}
	if len(took) == 0 {
		return unknown("no lock passed from its holder to a client that waited for it")
	}
	slices.Sort(took)
	return measured(options.HandOverBound > 0, fmt.Sprintf("%s, half of them within %s, the longest took %s",
		plural(len(took), "hand-over"), seconds(took[len(took)/2]), seconds(took[len(took)-1])))
}

// measured is the verdict on a cost that is within its bound, or that has none.
func measured(bounded bool, figures string) Verdict {
	if bounded {
		return holds(figures)
	}
	return skipped(figures + " (no bound was given)")
}
