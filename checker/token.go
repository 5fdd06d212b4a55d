package checker

import (
	"cmp"
	"fmt"
	"slices"
)

// grantedToken is one hold that carries a token.
type grantedToken struct {
	claim     *claim
	call, ret int
}

// judgeTokens asks whether tokens rise from hold to hold and stay equal inside one, and whether writes carry no tokens
// but those that somebody was given.
//
// A grant that returned before another was called came first; grants that ran at the same time may have come in either
// order, but must differ.
func (a *analysis) judgeTokens(header *Header, options Options) Verdict {
	if !options.Promises.Fenced {
		return skipped("the lock offers no fencing token")
	}
	f := &findings{cap: options.MaxViolations}
	granted, holders := 0, make(map[int]bool)
	for _, log := range a.locks {
		a.insideHolds(log, f)
		grants := a.tokensOf(log)
		for i := range grants {
			holders[grants[i].claim.client] = true
		}
		granted += len(grants)
		a.acrossHolds(log, grants, f)
	}
	if granted > 0 {
		a.unknownTokens(header, f)
	}
	switch {
	case f.found > 0:
		return f.verdict(Verdict{})
	case granted == 0:
		return unknown("no hold carried a token")
	case len(holders) < 2:
		return unknown(fmt.Sprintf("only %s got tokens, so nothing was put to the test", a.anyName(holders)))
	}
	return holds(fmt.Sprintf("the tokens of %s rise", plural(granted, "hold")))
}

// anyName names the only client of a set.
func (a *analysis) anyName(set map[int]bool) string {
	for c := range a.clients {
		if set[c] {
			return a.name(c)
		}
	}
	return "nobody"
}

// insideHolds finds nested acquires that got another token than their hold.
func (a *analysis) insideHolds(log *lockLog, f *findings) {
	for _, id := range log.operations {
		o := &a.operations[id]
		if !o.acquires() || o.outcome() != OK || o.claim == none || o.before == 0 {
			continue
		}
		c := &log.claims[o.claim]
		if o.token == 0 || c.token == 0 || o.token == c.token {
			continue
		}
		v := Violation{Kind: KindTokenChanged, Key: log.key, From: c.start.time, To: a.events[o.ret].Time}
		v.Text = fmt.Sprintf("%s held %s with token %d since %s and got token %d for the same hold at %s",
			a.name(o.client), log.key, c.token, seconds(v.From), o.token, seconds(v.To))
		v.Events = a.indices(a.operations[c.acquire].ret, o.ret)
		a.involve(&v, o.client)
		f.add(v)
	}
}

// tokensOf lists the holds with a token in the order of the calls of their acquires.
func (a *analysis) tokensOf(log *lockLog) []grantedToken {
	var grants []grantedToken
	for i := range log.claims {
		c := &log.claims[i]
		if o := &a.operations[c.acquire]; c.token != 0 && c.start.position == o.ret {
			grants = append(grants, grantedToken{claim: c, call: o.call, ret: o.ret})
		}
	}
	slices.SortFunc(grants, func(x, y grantedToken) int { return cmp.Compare(x.call, y.call) })
	return grants
}

// acrossHolds compares each hold with the highest token of those that were granted for certain before it, and with
// those that have the same token.
func (a *analysis) acrossHolds(log *lockLog, grants []grantedToken, f *findings) {
	byReturn := make([]*grantedToken, len(grants))
	for i := range grants {
		byReturn[i] = &grants[i]
	}
	slices.SortFunc(byReturn, func(x, y *grantedToken) int { return cmp.Compare(x.ret, y.ret) })
	var highest *grantedToken
	first := firstOfToken(grants)
	next := 0
	for i := range grants {
		g := &grants[i]
		for ; next < len(byReturn) && byReturn[next].ret < g.call; next++ {
			if highest == nil || byReturn[next].claim.token > highest.claim.token {
				highest = byReturn[next]
			}
		}
		if same := &grants[first[i]]; same != g {
			if !sameHold(same, g) {
				f.add(a.tokenViolation(log, KindTokenReused, same, g))
			}
		} else if highest != nil && highest.claim.token > g.claim.token {
			f.add(a.tokenViolation(log, KindTokenFell, highest, g))
		}
	}
}

// firstOfToken finds for each grant the first one with the same token.
func firstOfToken(grants []grantedToken) []int {
	byToken := make([]int, len(grants))
	for i := range byToken {
		byToken[i] = i
	}
	slices.SortFunc(byToken, func(i, j int) int {
		return cmp.Or(cmp.Compare(grants[i].claim.token, grants[j].claim.token), cmp.Compare(i, j))
	})
	first := make([]int, len(grants))
	for k, i := range byToken {
		first[i] = i
		if k > 0 && grants[byToken[k-1]].claim.token == grants[i].claim.token {
			first[i] = first[byToken[k-1]]
		}
	}
	return first
}

// unknownTokens finds the writes whose token no acquire of the lock that guards the resource had been given by then,
// once tokens were given at all: not every history records them.
func (a *analysis) unknownTokens(header *Header, f *findings) {
	given := make([]map[int64]int, len(a.locks)) // where each token was told first
	first := make([]int, len(a.locks))
	for k := range a.writes {
		w := &a.writes[k]
		e := &a.events[w.fact]
		lock, known := a.guard(header, e.Key)
		if e.Token == 0 || !known {
			continue
		}
		if given[lock] == nil {
			given[lock], first[lock] = a.tokensGiven(a.locks[lock])
		}
		if at, told := given[lock][e.Token]; told && at < w.fact || w.fact < first[lock] {
			continue
		}
		v := Violation{Kind: KindTokenUnknown, Key: e.Key, From: e.Time, To: e.Time}
		v.Text = fmt.Sprintf("the write of %s to %s at %s carried token %d, which nobody had been given with %s",
			a.writerName(w, e), e.Key, seconds(e.Time), e.Token, a.locks[lock].key)
		v.Events = a.indices(w.fact)
		if w.client != none {
			a.involve(&v, w.client)
		}
		f.add(v)
	}
}

// tokensGiven notes where each token of a lock was told first, and where the first of all was.
func (a *analysis) tokensGiven(log *lockLog) (given map[int64]int, first int) {
	given, first = make(map[int64]int), forever
	for _, id := range log.operations {
		o := &a.operations[id]
		if !o.acquires() || o.outcome() != OK || o.token == 0 {
			continue
		}
		if at, told := given[o.token]; !told || o.ret < at {
			given[o.token] = o.ret
		}
		first = min(first, o.ret)
	}
	return given, first
}

// sameHold tells whether y may be the same hold as x on the server: the client took x as ended before the server did,
// and was let in again.
func sameHold(x, y *grantedToken) bool {
	return x.claim.client == y.claim.client && x.claim.ending.byItself()
}

func (a *analysis) tokenViolation(log *lockLog, kind string, x, y *grantedToken) Violation {
	v := Violation{Kind: kind, Key: log.key, From: x.claim.start.time, To: y.claim.start.time}
	v.Text = fmt.Sprintf("%s got %s with token %d at %s after %s had got it with token %d at %s",
		a.name(y.claim.client), log.key, y.claim.token, seconds(y.claim.start.time),
		a.name(x.claim.client), x.claim.token, seconds(x.claim.start.time))
	if y.claim.start.before(x.claim.start) {
		v.From, v.To = v.To, v.From
		v.Text = fmt.Sprintf("%s and %s got %s with the same token %d", a.name(x.claim.client), a.name(y.claim.client),
			log.key, x.claim.token)
	}
	v.Events = a.indices(x.ret, y.ret)
	a.involve(&v, y.claim.client, x.claim.client)
	return v
}
