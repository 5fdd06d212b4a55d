package checker

import "strings"

// expiry marks the point from which the holder itself no longer counts on a hold: the server may have ended it, or
// may end it at any later time.
type expiry struct {
	position int // the first event that comes after
	acquire  int // the latest acquire of the hold
}

// lapse is the point at which the server is known to have ended a hold.
type lapse struct {
	position int
	clients  []int // those whose hold it may be
}

// lapsedBefore tells whether the record that a fact replaced or removed had passed its deadline by the clock that
// judges it.
func lapsedBefore(e *Event) bool {
	if e.F == RecordGone && strings.EqualFold(e.Command, CommandExpire) {
		return true
	}
	if e.Previous == nil || e.Previous.Expires == 0 {
		return false
	}
	now := e.Previous.Now
	if now == 0 && e.Record != nil {
		now = e.Record.Now
	}
	return e.Previous.Expires < now
}

// findLapses goes through the facts of one lock and gathers the ends of holds that the server decided.
func (a *analysis) findLapses(log *lockLog) {
	setter := none // the client that set the present record
	for _, i := range log.facts {
		e := &a.events[i]
		if lapsedBefore(e) && !a.continues(i, e) {
			owner := ""
			if e.Previous != nil {
				owner = e.Previous.Owner
			}
			if clients := a.ownersOf(owner, setter); len(clients) > 0 {
				log.lapses = append(log.lapses, lapse{position: i, clients: clients})
			}
		}
		setter = none
		if e.F == RecordSet {
			setter = a.causeOf(i)
		}
	}
}

// continues tells whether a fact goes on with the hold of a record although it had passed its deadline: nobody
// noticed, so nothing ended. An acquire that starts again at the first level begins a new hold, and a release whose
// sender is not told that it worked found that the hold had ended.
func (a *analysis) continues(i int, e *Event) bool {
	if e.Previous == nil || e.Previous.Owner == "" {
		return false
	}
	var o *operation
	if id := a.operationAt(i); id != none {
		o = &a.operations[id]
	}
	if e.F == RecordSet {
		fresh := o != nil && o.acquires() && e.Record != nil && e.Record.Count <= 1
		return e.Record != nil && e.Record.Owner == e.Previous.Owner && !fresh
	}
	return e.Owner == e.Previous.Owner && o != nil && o.f() == Release && o.outcome() == OK
}

// ownersOf finds the clients that a record may name: those of its owner and the one that set it.
func (a *analysis) ownersOf(owner string, setter int) []int {
	var clients []int
	if owner != "" {
		clients = append(clients, a.byOwner[owner]...)
	}
	for _, c := range clients {
		if c == setter {
			return clients
		}
	}
	if setter != none {
		clients = append(clients, setter)
	}
	return clients
}

// ownerName renders the owner of a record by the machines that go by it, or as it stands where none does.
func (a *analysis) ownerName(owner string, setter int) string {
	clients := a.byOwner[owner]
	if owner == "" || len(clients) == 0 {
		if setter == none {
			return owner
		}
		clients = []int{setter}
	}
	if len(clients) == 1 {
		return a.name(clients[0])
	}
	for _, c := range clients {
		if c == setter {
			return a.name(c)
		}
	}
	return owner
}
