package checker

import (
	"fmt"
	"math"
	"sort"
)

// judgeRefusals asks of each refused try whether another had the lock at some time between its call and its return. A
// try that was ready to wait says nothing of one instant and is left out.
//
// With the facts of a server, another had the lock while its record named another, over or not; where it is on record
// when the server refused, that moment counts. Without them another
// may have had it from the call of its acquire to the return of its release; what this leaves open is the matter of
// Linearizability.
func (a *analysis) judgeRefusals(options Options) Verdict {
	f := &findings{cap: options.MaxViolations}
	refusals := 0
	for _, log := range a.locks {
		var possible []stretch
		if len(log.facts) == 0 {
			possible = a.possibleHolds(log)
		}
		ends, decided := latestEnds(possible), a.decisions(log)
		for _, id := range log.operations {
			o := &a.operations[id]
			if o.f() != TryAcquire || o.outcome() != Fail || o.timed || o.before > 0 || o.stale > 0 {
				continue
			}
			refusals++
			from, to := o.call, o.ret
			if at, known := decided[id]; known {
				from, to = at, at
			}
			if len(log.facts) > 0 && a.takenDuring(log, o.client, from, to, options.Promises.Permits) ||
				len(log.facts) == 0 && coveredDuring(possible, ends, o, options.Promises.Permits) {
				continue
			}
			f.add(a.falseRefusal(log, o, options.Promises.Permits))
		}
	}
	switch {
	case f.found > 0:
		return f.verdict(Verdict{})
	case refusals == 0:
		return unknown("no try was refused")
	}
	if options.Promises.Permits > 1 {
		return holds(fmt.Sprintf("%s, each while others had all permits", plural(refusals, "refusal")))
	}
	return holds(fmt.Sprintf("%s, each while another had the lock", plural(refusals, "refusal")))
}

func (a *analysis) falseRefusal(log *lockLog, o *operation, permits int) Violation {
	v := Violation{Kind: KindFalseRefusal, Key: log.key, From: a.events[o.call].Time, To: a.events[o.ret].Time}
	v.Text = fmt.Sprintf("%s was refused %s, which nobody else had %s", a.name(o.client), log.key, span(v.From, v.To))
	if permits > 1 {
		v.Text = fmt.Sprintf("%s was refused %s although a permit was free %s", a.name(o.client), log.key, span(v.From, v.To))
	}
	v.Cause = CauseAlgorithm
	v.Events = a.indices(o.call, o.ret)
	a.involve(&v, o.client)
	return v
}

// decisions notes where the server refused tries, as far as that is on record.
func (a *analysis) decisions(log *lockLog) map[int]int {
	at := make(map[int]int)
	for _, i := range log.served {
		if id := a.operationAt(i); a.events[i].Type == Fail && a.operations[id].f() == TryAcquire {
			at[id] = i
		}
	}
	return at
}

// takenDuring tells whether at some time between two positions the record named others than a client, as many as there
// are permits.
func (a *analysis) takenDuring(log *lockLog, client, from, to, permits int) bool {
	var standing []stretch
	taken := false
	termsIn(log, from, to, func(t *term) bool {
		if a.termIsOf(t, client) {
			return true
		}
		standing = append(standing, stretch{t.from, t.to})
		taken = permits == 1 || deepest(standing, from) >= permits
		return !taken
	})
	return taken
}

// deepest is how many of a few stretches there are at one position at most.
func deepest(list []stretch, from int) int {
	most := 0
	for _, x := range list {
		at, n := max(x.from, from), 0
		for _, y := range list {
			if y.from <= at && at < y.to {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// stretch is a range of positions.
type stretch struct {
	from, to int
}

// possibleHolds lists when clients may have held a lock, by position, in the order of their beginnings.
func (a *analysis) possibleHolds(log *lockLog) []stretch {
	// A client may hold from the call of an acquire that was not refused to the return of the release that ends its
	// claim. Whatever else ends a claim says nothing of the server.
	var list []stretch
	pending := make(map[int]int) // by client: the place in list of what it may hold
	for _, id := range log.operations {
		o := &a.operations[id]
		k, has := pending[o.client]
		switch {
		case o.acquires() && o.outcome() != Fail && !has:
			pending[o.client] = len(list)
			list = append(list, stretch{o.call, math.MaxInt})
		case o.f() == Release && has && (o.outcome() == Fail || o.outcome() == OK && o.after == 0 && o.stale == 0):
			list[k].to = o.ret
			delete(pending, o.client)
		}
	}
	return list
}

// coveredDuring tells whether others may have held all permits at some time during an operation. The ends are the
// latest of all stretches up to each.
func coveredDuring(possible []stretch, ends []int, o *operation, permits int) bool {
	k := sort.Search(len(possible), func(i int) bool { return possible[i].from > o.ret })
	n := 0
	for k--; k >= 0 && ends[k] > o.call; k-- {
		if possible[k].to > o.call {
			if n++; n >= permits {
				return true
			}
		}
	}
	return false
}

// latestEnds gives for each stretch the latest end of those up to it.
func latestEnds(list []stretch) []int {
	ends, latest := make([]int, len(list)), none
	for i := range list {
		latest = max(latest, list[i].to)
		ends[i] = latest
	}
	return ends
}
