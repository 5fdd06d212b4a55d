package checker

import "time"

// Claim is a believed hold: the time in which a client may rightly think that a lock is its own. What starts and ends
// one is told in the package documentation under mutual exclusion, whose verdict is about exactly these claims.
type Claim struct {
	Lock    string
	Process int
	Node    string
	// Start and End bound the claim in true time. They are equal where a claim ended at the instant at which it began.
	Start, End time.Duration
	// Acquire is the index of the event by which the outermost acquire returned.
	Acquire int64
	// EndEvent is the index of the event that ended the claim, 0 where no event did: at a deadline and at the end of
	// the history.
	EndEvent int64
	Ending   Ending
	Token    int64 // fencing token, 0 = none
}

// Ending says why a claim ended.
type Ending string

// The endings of claims.
const (
	EndsNot      Ending = "open"     // it lasted to the end of the history
	EndsReleased Ending = "released" // the outermost release was called
	EndsRefused  Ending = "refused"  // an inner release was told that nothing is held
	EndsExpired  Ending = "expired"  // the deadline that the lock had stated was reached
	EndsLost     Ending = "lost"     // the lock reported the loss
	EndsCrashed  Ending = "crashed"  // the process died
)

// exportedEndings names the endings of claims for other packages.
var exportedEndings = map[ending]Ending{
	unended: EndsNot, released: EndsReleased, refused: EndsRefused, expired: EndsExpired, lost: EndsLost,
	crashed: EndsCrashed,
}

// Claims lists the claims of all locks, lock by lock in order of their names, each lock's by their start. A history
// that is not well-formed (see History.Validate) has none.
func Claims(h *History) []Claim {
	if h.Validate() != nil {
		return nil
	}
	a := analyse(h)
	var claims []Claim
	for _, log := range a.locks {
		for i := range log.claims {
			claims = append(claims, a.export(log, &log.claims[i]))
		}
	}
	return claims
}

func (a *analysis) export(log *lockLog, c *claim) Claim {
	p := &a.clients[c.client]
	exported := Claim{
		Lock: log.key, Process: p.process, Node: p.node, Start: c.start.time, End: c.end.time,
		Acquire: a.events[a.operations[c.acquire].ret].Index, Ending: exportedEndings[c.ending], Token: c.token,
	}
	if at := c.end.position; at >= 0 && at < len(a.events) {
		exported.EndEvent = a.events[at].Index
	}
	return exported
}
