package checker

import (
	"math"
	"sort"
	"strings"
	"time"
)

// term is a stretch during which the record of a lock on the server named one owner: a grant as the server has it,
// whatever the client was told. The terms of a lock with one permit follow each other, unless the server made a grant
// while the record still named another.
type term struct {
	owner  string
	client int // whose it is: the one client that goes by the owner, or that set the record; none when nobody knows
	from   int // the fact by which it began
	last   int // the latest fact that changed the record without ending the term
	to     int // the fact by which it ended, forever while it stood to the end
	ending termEnding
	// over is when its lease is over in true time, if no clock but the true one counts; 0 while it has none.
	over time.Duration
}

// forever is after all positions.
const forever = math.MaxInt

// termEnding says why a term ended.
type termEnding int

const (
	stands      termEnding = iota // it did not
	given                         // its owner gave it back
	lapsed                        // its lease was over by the clock that judges it
	dropped                       // the server lost it, or a third party removed it
	overwritten                   // an acquire of another replaced it, though its lease was not over
	robbed                        // a release of another removed or replaced it, though its lease was not over
)

// displaced says that the server went on as if the term had ended although nothing had ended it.
func (t *term) displaced() bool { return t.ending == overwritten || t.ending == robbed }

// leaseOver is when the lease in a record is over in true time, if its clock runs true from the event on; 0 = never.
func leaseOver(e *Event) time.Duration {
	if e.Record == nil || e.Record.Expires == 0 {
		return 0
	}
	return e.Time + time.Duration(e.Record.Expires-e.Record.Now)*time.Millisecond
}

// termFinder follows the record of one lock.
type termFinder struct {
	a    *analysis
	log  *lockLog
	open []int // terms that stand, in order of their beginnings
}

// findTerms goes through the facts of one lock and gathers its terms in the order of their beginnings.
func (a *analysis) findTerms(log *lockLog) {
	f := termFinder{a: a, log: log}
	for _, i := range log.facts {
		e := &a.events[i]
		if e.F == RecordSet {
			f.set(i, e)
		} else {
			f.gone(i, e)
		}
	}
	log.termEnds = make([]int, len(log.terms))
	latest := none
	for k := range log.terms {
		latest = max(latest, log.terms[k].to)
		log.termEnds[k] = latest
	}
}

// openOf finds the standing term of an owner, as a place in open.
func (f *termFinder) openOf(owner string) int {
	for k := len(f.open) - 1; k >= 0; k-- {
		if f.log.terms[f.open[k]].owner == owner {
			return k
		}
	}
	return none
}

// end ends the standing term at a place in open.
func (f *termFinder) end(k, at int, why termEnding) {
	t := &f.log.terms[f.open[k]]
	t.to, t.ending = at, why
	f.open = append(f.open[:k], f.open[k+1:]...)
}

// set takes a fact by which the record names an owner.
func (f *termFinder) set(i int, e *Event) {
	owner := e.Owner
	if e.Record != nil {
		owner = e.Record.Owner
	}
	if e.Previous != nil {
		if k := f.openOf(e.Previous.Owner); k != none {
			why := f.replaced(i, e, &f.log.terms[f.open[k]])
			if e.Previous.Owner != owner || why == lapsed {
				f.end(k, i, why)
			}
		}
	}
	if k := f.openOf(owner); k != none {
		t := &f.log.terms[f.open[k]]
		t.last, t.over = i, leaseOver(e)
		return
	}
	f.open = append(f.open, len(f.log.terms))
	f.log.terms = append(f.log.terms, term{
		owner: owner, client: f.a.clientNamed(owner, f.a.causeOf(i)), from: i, last: i, to: forever, over: leaseOver(e),
	})
}

// replaced says why a term ended whose record was replaced. The same owner may go on with it, as long as nobody has
// noticed that its lease was over.
func (f *termFinder) replaced(i int, e *Event, t *term) termEnding {
	if lapsedBefore(e) {
		if f.a.continues(i, e) {
			return stands
		}
		return lapsed
	}
	if id := f.a.operationAt(i); id != none && f.a.operations[id].f() == Release {
		if f.a.ownRecord(i, e, t.client) {
			return given
		}
		return robbed
	}
	return overwritten
}

// gone takes a fact by which a record is gone.
func (f *termFinder) gone(i int, e *Event) {
	k := len(f.open) - 1
	if e.Previous != nil {
		k = f.openOf(e.Previous.Owner)
	}
	if k < 0 {
		return
	}
	t := &f.log.terms[f.open[k]]
	why := given
	switch {
	case strings.EqualFold(e.Command, CommandExpire):
		why = lapsed
	case strings.EqualFold(e.Command, CommandRestart), strings.EqualFold(e.Command, CommandRemove), e.Node == "":
		why = dropped
	case f.a.ownRecord(i, e, t.client):
	case lapsedBefore(e):
		why = lapsed
	default:
		why = robbed
	}
	f.end(k, i, why)
}

// clientNamed finds the client that a record means: the setter if it goes by that owner, or the only one that does.
func (a *analysis) clientNamed(owner string, setter int) int {
	clients := a.byOwner[owner]
	if owner == "" || len(clients) == 0 {
		return setter
	}
	if len(clients) == 1 {
		return clients[0]
	}
	for _, c := range clients {
		if c == setter {
			return c
		}
	}
	return none
}

// termIsOf tells whether a term may be of client c.
func (a *analysis) termIsOf(t *term, c int) bool {
	if t.client == c {
		return true
	}
	owner := a.clients[c].owner
	return owner != "" && owner == t.owner
}

// termsIn calls visit with each term that stood at some time after one position and before another, the latest first,
// until visit returns false.
func termsIn(log *lockLog, after, before int, visit func(t *term) bool) {
	k := sort.Search(len(log.terms), func(k int) bool { return log.terms[k].from > before })
	for k--; k >= 0 && log.termEnds[k] >= after; k-- {
		if t := &log.terms[k]; t.to >= after && !visit(t) {
			return
		}
	}
}

// termOf finds the latest term of client c that stood at some time between two positions, nil if there is none.
func (a *analysis) termOf(log *lockLog, c, after, before int) *term {
	var found *term
	termsIn(log, after, before, func(t *term) bool {
		if a.termIsOf(t, c) {
			found = t
		}
		return found == nil
	})
	return found
}
