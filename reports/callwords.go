package reports

import (
	"fmt"
	"slices"

	"github.com/lockstep-sim/lockstep/checker"
)

// acquireWords tells the call or the return of an acquire.
func (t *teller) acquireWords(i int) (string, int) {
	e := &t.c.events[i]
	switch {
	case e.Type == checker.Invoke && slices.Contains(t.c.holding(e.Time, none), e.Process):
		return "asks for " + t.c.lock + " once more", rounding
	case e.Type == checker.Invoke && e.F == checker.Acquire:
		return "asks for " + t.c.lock + t.identity(i), rounding
	case e.Type == checker.Invoke && e.Wait > 0:
		return "asks for " + t.c.lock + " and will wait up to " + seconds(e.Wait) + t.identity(i), rounding
	case e.Type == checker.Invoke:
		return "tries once to get " + t.c.lock + t.identity(i), rounding
	case e.Type == checker.Fail:
		return "is refused " + t.c.lock + t.leftBehind(i), t.refusalRank(i)
	case e.Type == checker.Info:
		rank := rounding
		if id := t.c.callAt[i]; id != none && len(t.c.calls[id].facts) > 0 {
			rank = important
		}
		return "gets an error in place of an answer: it does not know whether it has " + t.c.lock, rank
	}
	claim, outermost := t.c.claimOf(i)
	if !outermost {
		level := ""
		if e.Count > 0 {
			level = fmt.Sprintf(", level %d", e.Count)
		}
		return "is told that it holds " + t.c.lock + " once more" + level + tokenWords(e.Token), telling
	}
	text := "is told that it holds " + t.c.lock + tokenWords(e.Token)
	if e.Deadline != 0 {
		text += ", and relies on it until " + seconds(e.Deadline)
	}
	text += t.truth(i)
	if others := t.c.holding(claim.Start, claim.Process); len(others) > 0 {
		verb := map[bool]string{true: "believes", false: "believe"}[len(others) == 1]
		text += "; " + t.c.names(others) + " still " + verb + " the same"
	}
	return text, telling
}

// identity says that the caller's identity is also another machine's.
func (t *teller) identity(i int) string {
	machines := t.c.sharers(t.c.events[i].Owner)
	if len(machines) == 0 {
		return ""
	}
	return ", by the identity that " + join(machines) + " share"
}

// leftBehind says that the record names a client that was refused.
func (t *teller) leftBehind(i int) string {
	fact := t.c.factBefore(i)
	if fact == none || t.c.events[fact].Record == nil {
		return ""
	}
	if t.c.ownerOf(t.c.events[fact].Record, fact) == t.c.events[i].Process && t.c.process(fact) == t.c.events[i].Process {
		return ", although the record names it"
	}
	return ""
}

func (t *teller) refusalRank(i int) int {
	if t.leftBehind(i) != "" {
		return important
	}
	return rounding
}

// truth says what the record said when a client was told that it holds, if that was something else.
func (t *teller) truth(i int) string {
	fact := t.c.factBefore(i)
	if fact == none {
		return ""
	}
	e := &t.c.events[fact]
	if e.Record == nil {
		return ", although there is no record any more"
	}
	if slices.Contains(t.c.owners[e.Record.Owner], t.c.events[i].Process) {
		if end, ok := t.c.leaseEnd(fact); ok && end <= t.c.events[i].Time {
			return ", although its lease is over"
		}
		return ""
	}
	return ", although the record names " + t.c.ownerName(e.Record, fact)
}

// releaseWords tells the call or the return of a release. What it did to the record has steps of its own, beside which
// an answer that all is well says nothing.
func (t *teller) releaseWords(i int) (string, int) {
	e := &t.c.events[i]
	id := t.c.callAt[i]
	changed := id != none && len(t.c.calls[id].facts) > 0
	switch {
	case e.Type == checker.Invoke && t.endsOverlap(i):
		return "stops working under " + t.c.lock + " and unlocks it", telling
	case e.Type == checker.Invoke && changed && !slices.Contains(t.named, i) && !t.interrupted(id):
		return "", rounding
	case e.Type == checker.Invoke && e.Count > 0:
		return "gives back one level of " + t.c.lock, rounding
	case e.Type == checker.Invoke:
		return "unlocks " + t.c.lock, rounding
	case e.Type == checker.Fail:
		return "is told that it is not the owner of " + t.c.lock, important
	case e.Type == checker.Info:
		return "gets an error from its unlock: it does not know whether that took effect", important
	case changed && !slices.Contains(t.named, i):
		return "", rounding
	case changed:
		return "is told that it has given back " + t.gaveBack(e), rounding
	}
	return "is told that it has given back " + t.gaveBack(e) + ", but no record was changed", telling
}

// interrupted tells whether something happened between a call and what it did to the record: then the two are told
// apart.
func (t *teller) interrupted(id int) bool {
	c := t.c.calls[id]
	for i := c.begin + 1; i < c.facts[0]; i++ {
		if e := &t.c.events[i]; isFact(e) && e.Key == t.c.lock || e.F == checker.FaultApplied && t.concerns(e, t.involved) {
			return true
		}
	}
	return false
}

func (t *teller) gaveBack(e *checker.Event) string {
	if e.Count > 0 {
		return "one level of " + t.c.lock + " and keeps " + plural(e.Count, "level")
	}
	return t.c.lock
}

// endsOverlap tells whether a call ended the violation.
func (t *teller) endsOverlap(i int) bool {
	if t.violation.Kind != checker.KindOverlap {
		return false
	}
	for _, claim := range t.c.claims {
		if claim.EndEvent == t.c.events[i].Index && claim.End == t.violation.To {
			return true
		}
	}
	return false
}

// writeStep tells a write that reached the resource: in stories about the resource all that are named, elsewhere only
// those of former holders.
func (t *teller) writeStep(i int, s *ranked) bool {
	e := &t.c.events[i]
	process := t.c.process(i)
	if !t.involves(process) {
		return false
	}
	named := slices.Contains(t.named, i)
	successor := t.successor(process, i)
	if !named && (successor == none || t.waiting || t.toldWrite(process, i)) {
		return false
	}
	s.Who = t.c.name(process)
	s.Text = "its write reaches " + e.Key + tokenWords(e.Token)
	switch {
	case e.Token == 0 && t.violation.Kind == checker.KindTokenAccepted:
		s.Text += " without a token and is accepted"
	case e.Token != 0 && e.Accepted:
		s.Text += " and is accepted"
	case e.Token != 0:
		s.Text += " and is refused"
	}
	if successor != none {
		s.Text += ", though " + t.c.name(successor) + " has become the holder since"
	}
	return true
}

// toldWrite tells whether an earlier write of a process was already told: one says enough.
func (t *teller) toldWrite(process, before int) bool {
	for i := t.first; i < before; i++ {
		if t.c.events[i].F == checker.Applied && t.c.process(i) == process && t.successor(process, i) != none {
			return true
		}
	}
	return false
}

// successor is who was the last to begin to hold after the last hold of a process had begun and before an event, none
// if nobody did.
func (t *teller) successor(process, at int) int {
	index := t.c.events[at].Index
	own, other := false, none
	for _, claim := range t.c.claims {
		switch {
		case claim.Acquire > index:
		case claim.Process == process:
			own, other = true, none
		case own:
			other = claim.Process
		}
	}
	return other
}

func tokenWords(token int64) string {
	if token == 0 {
		return ""
	}
	return fmt.Sprintf(" with token %d", token)
}
