package checker

import (
	"fmt"
	"sort"
)

// grantTold is an acquire that was answered with success, and the term under which it was.
type grantTold struct {
	operation int
	at        int   // from here on the server takes it as granted
	term      *term // nil when the server never had it
}

// judgeGrants asks whether the server ever had more grants at once than there are permits. A grant begins when the
// record names its owner; it ends when its owner releases it, when its lease is over by the clock that judges it, or
// when the server loses it. That another overwrites or removes the record does not end it: that is how a server comes
// to make the next grant too soon. Nobody may be let in whom the record never named.
func (a *analysis) judgeGrants(options Options) Verdict {
	f := &findings{cap: options.MaxViolations}
	terms, granted, passed := 0, 0, false
	for _, log := range a.locks {
		if len(log.facts) == 0 {
			continue
		}
		terms += len(log.terms)
		grants := a.grantsTold(log)
		granted += len(grants)
		for i := 1; i < len(grants) && !passed; i++ {
			passed = a.operations[grants[i].operation].client != a.operations[grants[i-1].operation].client
		}
		a.judgeGrantsOf(log, grants, options.Promises.Permits, f)
	}
	switch {
	case f.found > 0:
		return f.verdict(Verdict{})
	case len(a.locks) == 0:
		return unknown("nobody used a lock")
	case terms == 0:
		return unknown("no fact of a server is on record, so nothing tells what it granted")
	case granted == 0:
		return unknown("nobody ever got " + a.lockNames())
	case !passed:
		return unknown("the server granted no lock to one client after another, so nothing was put to the test")
	}
	return holds(fmt.Sprintf("%s of the server, never more than %d at once", plural(granted, "grant"),
		options.Promises.Permits))
}

// grantsTold lists the outermost acquires of a lock that succeeded, in the order in which the server granted them.
func (a *analysis) grantsTold(log *lockLog) []grantTold {
	var grants []grantTold
	for k := range log.claims {
		c := &log.claims[k]
		o := &a.operations[c.acquire]
		if c.start.position != o.ret {
			continue // it goes on after a renewal
		}
		t := a.termOf(log, o.client, o.call, o.ret)
		g := grantTold{operation: c.acquire, at: o.ret, term: t}
		if t != nil {
			g.at = a.grantedAt(log, c.acquire, t)
		}
		grants = append(grants, g)
	}
	sort.SliceStable(grants, func(i, j int) bool { return grants[i].at < grants[j].at })
	return grants
}

// grantedAt finds where the server granted an acquire under a term: by the last change that the acquire made to the
// record before it returned, or where the term began, if that was after its call.
func (a *analysis) grantedAt(log *lockLog, id int, t *term) int {
	o := &a.operations[id]
	first := max(o.call, t.from)
	k := firstAfter(len(log.facts), func(i int) int { return log.facts[i] }, o.ret)
	for k--; k >= 0 && log.facts[k] > first; k-- {
		if a.operationAt(log.facts[k]) == id {
			return log.facts[k]
		}
	}
	return first
}

// judgeGrantsOf sweeps over the grants of one lock and keeps those that nothing has ended yet.
func (a *analysis) judgeGrantsOf(log *lockLog, grants []grantTold, permits int, f *findings) {
	var running []grantTold
	for _, g := range grants {
		o := &a.operations[g.operation]
		if g.term == nil {
			if !a.heldBefore(o) && !a.strangerIn(log, o) {
				f.add(a.ungranted(log, o))
			}
			continue
		}
		still := running[:0]
		for _, r := range running {
			// A client that is granted again has ended what it had before.
			if a.operations[r.operation].client != o.client && !a.grantOver(log, &r, g.at) {
				still = append(still, r)
			}
		}
		if len(still) >= permits && (permits > 1 || still[len(still)-1].term.owner != g.term.owner) {
			f.add(a.grantOverlap(log, &still[len(still)-1], &g))
		}
		running = append(still, g)
	}
}

// heldBefore tells whether the client may have had the lock before it called: then the lock need not ask the server.
func (a *analysis) heldBefore(o *operation) bool {
	return o.before > 0 || o.stale > 0 || o.doubtful > 0
}

// grantOver tells whether a grant was over when the server made another at a position.
func (a *analysis) grantOver(log *lockLog, g *grantTold, at int) bool {
	t := g.term
	if t.to > at {
		return false
	}
	if !t.displaced() {
		return true
	}
	// Its owner may have given it up since, or its lease may have come to its end.
	o := &a.operations[g.operation]
	if c := &log.claims[o.claim]; c.givenUp() && c.end.position < at {
		return true
	}
	e, now := &a.events[t.last], &a.events[at]
	return e.Record != nil && e.Record.Expires != 0 && (now.Record != nil && e.Record.Expires < now.Record.Now ||
		now.Record == nil && leaseOver(e) < now.Time)
}

// strangerIn tells whether the record named nobody that is known during an operation: then it does not tell whom the
// lock takes for its holder.
func (a *analysis) strangerIn(log *lockLog, o *operation) bool {
	stranger := false
	termsIn(log, o.call, o.ret, func(t *term) bool {
		stranger = t.client == none && len(a.byOwner[t.owner]) == 0
		return !stranger
	})
	return stranger
}

func (a *analysis) ungranted(log *lockLog, o *operation) Violation {
	v := Violation{Kind: KindUngranted, Key: log.key, Cause: CauseAlgorithm}
	v.From, v.To = a.events[o.call].Time, a.events[o.ret].Time
	v.Text = fmt.Sprintf("%s was told at %s that it holds %s, although the record had not named it since it asked",
		a.name(o.client), seconds(v.To), log.key)
	positions := []int{o.call, o.ret}
	involved := []int{o.client}
	termsIn(log, o.call, o.ret, func(t *term) bool {
		v.Text += "; it named " + a.ownerName(t.owner, t.client)
		positions = append(positions, t.from)
		if t.client != none {
			involved = append(involved, t.client)
		}
		return false
	})
	v.Events = a.indices(positions...)
	a.involve(&v, involved...)
	return v
}

func (a *analysis) grantOverlap(log *lockLog, x, y *grantTold) Violation {
	first, second := &a.operations[x.operation], &a.operations[y.operation]
	v := Violation{Kind: KindGrantOverlap, Key: log.key, Cause: CauseAlgorithm, From: a.events[y.at].Time}
	v.To = a.events[second.ret].Time
	v.Text = fmt.Sprintf("the server granted %s to %s at %s although the grant of %s of %s went on", log.key,
		a.name(second.client), seconds(v.From), a.name(first.client), seconds(a.events[x.at].Time))
	positions := []int{x.at, y.at, second.ret}
	if x.term.to < y.at {
		e := &a.events[x.term.to]
		v.Text += fmt.Sprintf("; %s had %s its record at %s", a.sender(x.term.to, e),
			map[termEnding]string{overwritten: "replaced", robbed: "taken away"}[x.term.ending], seconds(e.Time))
		positions = append(positions, x.term.to)
	}
	v.Events = a.indices(positions...)
	a.involve(&v, second.client, first.client)
	return v
}
