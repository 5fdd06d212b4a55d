package model

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"
)

// TimedLease is a lock whose holds end by time, for histories that do not tell when they did. Each operation took
// effect at some true time between its call and its return, and the times do not fall along the order.
//
// A way in which the lock may stand keeps the least times that are possible: all constraints are lower bounds on
// differences of times, so if any times fit, the least do. That leaves one choice that is not a time, of an owner that
// acquires again when its lease may or may not be over: one more level, or a new hold. The state keeps both.
type TimedLease struct{}

// TimedLeaseState is the set of the ways in which the lock may stand, the first of them and the others in rising order.
type TimedLeaseState struct {
	first  timedHold
	others string // the fields of each, in eight bytes
}

// timedHold is who owns it at how many levels since when.
type timedHold struct {
	owner, count int32
	lease        time.Duration // 0 means for ever
	// The hold, or its latest renewal, began at the earliest at from. Until bounds it from above: all operations since
	// then came later.
	from, until time.Duration
	now         time.Duration // no later operation took effect before this
}

// forever is later than any time of a history.
const forever = time.Duration(1<<63 - 1)

// Name implements Model.
func (TimedLease) Name() string { return "timed-lease" }

// About implements Model.
func (TimedLease) About() string {
	return "as reentrant; a hold also ends when its lease is over, nobody recorded when"
}

// Start implements Model.
func (TimedLease) Start() State { return TimedLeaseState{first: timedHold{owner: Nobody}} }

// Step implements Model.
func (TimedLease) Step(state State, o *Operation) (State, bool) {
	s := state.(TimedLeaseState)
	if s.others == "" && (o.Action != Acquire || s.first.owner != o.Client) {
		next, legal := s.first.step(o)
		return TimedLeaseState{first: next}, legal
	}
	var reached []timedHold
	for _, h := range s.ways() {
		if next, legal := h.step(o); legal {
			reached = append(reached, next)
		}
		if o.Action == Acquire && h.owner == o.Client {
			if next, legal := h.again(o); legal {
				reached = append(reached, next)
			}
		}
	}
	if len(reached) == 0 {
		return s, false
	}
	return waysOf(reached), true
}

// at takes the times of an operation in, and returns until when it took effect.
func (h *timedHold) at(o *Operation) (latest time.Duration) {
	latest = forever
	if o.Times != nil {
		h.now = max(h.now, o.Times.Called)
		if o.Times.Returned != 0 {
			latest = o.Times.Returned
		}
	}
	h.until = min(h.until, latest)
	return latest
}

// step takes an operation. An acquire by the owner is taken for a new hold, whose lease was over.
func (h timedHold) step(o *Operation) (timedHold, bool) {
	latest := h.at(o)
	mine := h.owner == o.Client
	switch o.Action {
	case Acquire:
		if h.owner != Nobody {
			over, legal := h.over(latest)
			if !legal {
				return h, false
			}
			h = over
		}
		return h.taken(o, latest, 1)
	case Refuse:
		return h.still(latest, h.owner != Nobody && !mine)
	case Release:
		next, legal := h.still(latest, mine)
		if next.count--; next.count <= 0 {
			next = timedHold{owner: Nobody, now: next.now}
		}
		return next, legal
	case Deny:
		if mine {
			return h.over(latest)
		}
		return h, h.now <= latest
	}
	return h, false
}

// again takes an acquire by the owner for one more level, while the lease is not over.
func (h timedHold) again(o *Operation) (timedHold, bool) {
	latest := h.at(o)
	held, legal := h.still(latest, true)
	if !legal {
		return h, false
	}
	return held.taken(o, latest, h.count+1)
}

// taken is the lock after an acquire.
func (h timedHold) taken(o *Operation, latest time.Duration, count int32) (timedHold, bool) {
	next := timedHold{owner: o.Client, count: count, from: h.now, until: latest, now: h.now}
	if o.Times != nil {
		next.lease = o.Times.Lease
	}
	return next, h.now <= latest
}

// still says that the lock is held and its lease not over at the time of an operation.
func (h timedHold) still(latest time.Duration, held bool) (timedHold, bool) {
	if h.lease > 0 {
		h.from = max(h.from, h.now-h.lease+1)
	}
	return h, held && h.now <= latest && h.from <= h.until
}

// over says that the lease is over at the time of an operation.
func (h timedHold) over(latest time.Duration) (timedHold, bool) {
	now := max(h.now, h.from+h.lease)
	return timedHold{owner: Nobody, now: now}, h.lease > 0 && now <= latest
}

// covers says that whatever may follow g may also follow h: they differ in nothing but times, and those of h leave more
// room.
func (h *timedHold) covers(g *timedHold) bool {
	return h.owner == g.owner && h.count == g.count && h.lease == g.lease &&
		h.from <= g.from && h.now <= g.now && h.until >= g.until
}

// fields are what a hold consists of, in the order by which holds are sorted.
func (h *timedHold) fields() [6]int64 {
	return [6]int64{
		int64(h.owner), int64(h.count), int64(h.lease), int64(h.from), int64(h.until), int64(h.now),
	}
}

// waysOf makes the set of some ways, without those that another covers.
func waysOf(list []timedHold) TimedLeaseState {
	slices.SortFunc(list, func(x, y timedHold) int {
		a, b := x.fields(), y.fields()
		return slices.Compare(a[:], b[:])
	})
	list = slices.Compact(list)
	var kept []timedHold
	for i := range list {
		covered := false
		for j := range list {
			covered = covered || i != j && list[j].covers(&list[i])
		}
		if !covered {
			kept = append(kept, list[i])
		}
	}
	var others []byte
	for i := range kept[1:] {
		for _, x := range kept[1+i].fields() {
			others = binary.BigEndian.AppendUint64(others, uint64(x))
		}
	}
	return TimedLeaseState{first: kept[0], others: string(others)}
}

// ways lists the ways in which the lock may stand.
func (s TimedLeaseState) ways() []timedHold {
	list := []timedHold{s.first}
	for rest := []byte(s.others); len(rest) > 0; {
		var x [6]int64
		for i := range x {
			x[i] = int64(binary.BigEndian.Uint64(rest))
			rest = rest[8:]
		}
		list = append(list, timedHold{
			owner: int32(x[0]), count: int32(x[1]), lease: time.Duration(x[2]),
			from: time.Duration(x[3]), until: time.Duration(x[4]), now: time.Duration(x[5]),
		})
	}
	return list
}

// Describe implements State.
func (s TimedLeaseState) Describe(name func(int32) string) string {
	var texts []string
	for _, h := range s.ways() {
		text := heldAt(name, h.owner, h.count)
		if h.owner != Nobody && h.lease != 0 {
			text += fmt.Sprintf(" for %v from %v on", h.lease, h.from)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " or ")
}

// Holder implements Owned. The ways differ in times and levels, and in whether it is free, but never name two holders.
func (s TimedLeaseState) Holder() int32 {
	for _, h := range s.ways() {
		if h.owner != Nobody {
			return h.owner
		}
	}
	return Nobody
}
