package checker

import "strings"

// The words with which the text of a fault begins, as far as they explain violations.
const (
	faultPause = "pause"
	faultClock = "clock"
)

// faultBetween tells whether a fault of a kind struck a machine between two positions; "" is any machine.
func (a *analysis) faultBetween(kind, node string, from, to int) bool {
	k := firstAfter(len(a.faults), func(i int) int { return a.faults[i] }, from-1)
	for ; k < len(a.faults) && a.faults[k] < to; k++ {
		e := &a.events[a.faults[k]]
		if word, _, _ := strings.Cut(e.Command, " "); word == kind && (node == "" || e.Node == node) {
			return true
		}
	}
	return false
}

// causeOfLoss says why the hold of a claim was over, or counted as over, at a position at which its client still relied
// on it: its clock or that of a server was wrong, it stood still, the server ended the hold before its time, or none of
// these, and then the lock itself is to blame. It is empty where the history does not tell.
func (a *analysis) causeOfLoss(log *lockLog, c *claim, at int) Cause {
	o := &a.operations[c.acquire]
	if len(log.facts) == 0 {
		return a.faultOf(c, at)
	}
	t := a.termOf(log, c.client, o.call, at)
	switch {
	case t == nil || t.displaced():
		return CauseAlgorithm
	case t.ending == dropped && t.to < at:
		return CauseEarly
	case t.ending != lapsed || t.to >= at:
		return CauseAlgorithm // the record still names it, or it gave it back
	}
	if cause := a.faultOf(c, at); cause != "" {
		return cause
	}
	if t.over != 0 && a.events[t.to].Time < t.over {
		return CauseEarly
	}
	return CauseAlgorithm
}

// faultOf says which fault explains that a client relied on a claim for too long.
func (a *analysis) faultOf(c *claim, at int) Cause {
	o := &a.operations[c.acquire]
	if a.faultBetween(faultPause, a.clients[c.client].node, o.call, at) {
		return CausePause
	}
	if a.faultBetween(faultClock, "", 0, at) {
		return CauseSkew
	}
	return ""
}

// causeOfOverlap says why two clients believed at one time that they held a lock: x did so first, y came in at its
// start.
func (a *analysis) causeOfOverlap(log *lockLog, x, y *claim) Cause {
	if len(log.facts) > 0 {
		o := &a.operations[y.acquire]
		if o.before == 0 && a.termOf(log, y.client, o.call, o.ret) == nil && !a.heldBefore(o) {
			return CauseAlgorithm // it was let in without a grant
		}
	}
	return a.causeOfLoss(log, x, y.start.position)
}
