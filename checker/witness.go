package checker

import (
	"sort"

	"github.com/lockstep-sim/lockstep/checker/model"
)

// replay is what came out when the requests on one lock were replayed in the order in which its server executed them.
//
// That order is a linearization if there is one at all, and it tells which requests of unknown outcome took effect. So
// there is nothing to search for, however much was lost. And it asks for more than some order that fits the answers:
// the order must be the one that the server says it worked in.
type replay struct {
	usable  bool // the place of every answer in the order is on record
	failing int  // the operation that the lock object would not have answered so, none if there is none
	state   model.State
	at      int   // where the server executed it
	since   []int // positions that show how the present holder got it
}

// witness replays the requests on one lock. Every answer that says something must have one place in the order, between
// its call and its return; of calls without an answer those count that have a place and were decided with OK.
func (p *phrasing) witness(places []int32) replay {
	if !p.placed(places) {
		return replay{}
	}
	a, object := p.a, newObject(p.lock)
	r := replay{usable: true, failing: none}
	lapse, fact, recorded := 0, 0, false
	for _, i := range p.log.served {
		for ; p.lapses && lapse < len(p.log.lapses) && p.log.lapses[lapse].position < i; lapse++ {
			object.operation = p.lapseOf(&p.log.lapses[lapse])
			object.take()
		}
		for ; fact < len(p.log.facts) && p.log.facts[fact] < i; fact++ {
			recorded = a.events[p.log.facts[fact]].F == RecordSet
		}
		id := a.operationAt(i)
		x, says := p.operation(id)
		if !says || x.Action == model.Refuse && recorded {
			continue
		}
		o := &a.operations[id]
		if o.outcome() == Info {
			if a.events[i].Type != OK {
				continue
			}
			x.Lenient = o.again || a.clearsAway(o, i)
		}
		if x.Action == model.Deny && a.events[i].Type == OK && a.clearsAway(o, i) {
			x.Action, x.Lenient = model.Release, true // of what the server may have had of it still
		}
		object.operation = x
		if !object.take() {
			if o.outcome() == Info {
				return replay{} // nobody was told, so nobody was told wrong: what the answers say of it is for the other rungs
			}
			state := object.current()
			r.failing, r.state, r.at, r.since = id, state, i, p.latestAcquire(state, i)
			return r
		}
	}
	return r
}

// lockObject is a model with its state, which takes one operation after the other. The usual model is taken without an
// interface, which spares two allocations for each operation.
type lockObject struct {
	operation model.Operation
	model     model.Model
	state     model.State
	lease     model.Lease
	leased    model.LeaseState
	usual     bool
}

func newObject(m model.Model) *lockObject {
	o := &lockObject{model: m, state: m.Start(), leased: model.FreeLease}
	o.lease, o.usual = m.(model.Lease)
	return o
}

// take takes the operation; false means that it is illegal.
func (o *lockObject) take() bool {
	if !o.usual {
		next, legal := model.Take(o.model, o.state, &o.operation)
		o.state = next
		return legal
	}
	next, legal := o.lease.Next(o.leased, &o.operation)
	if legal {
		o.leased = next
	}
	return legal || o.operation.Lenient
}

func (o *lockObject) current() model.State {
	if o.usual {
		return o.leased
	}
	return o.state
}

// latestAcquire finds where the holder had asked for the lock when the server was at position i.
func (p *phrasing) latestAcquire(state model.State, i int) []int {
	owned, ok := state.(model.Owned)
	if !ok {
		return nil
	}
	for k := sort.SearchInts(p.log.served, i) - 1; k >= 0; k-- {
		at := p.log.served[k]
		o := &p.a.operations[p.a.operationAt(at)]
		if int32(o.client) == owned.Holder() && o.acquires() && p.a.events[at].Type == OK {
			return []int{o.call, at}
		}
	}
	return nil
}

// placed tells whether the order is complete. Places is scratch space with room for every operation.
func (p *phrasing) placed(places []int32) bool {
	if len(p.log.served) == 0 {
		return false
	}
	a := p.a
	for _, id := range p.log.operations {
		places[id] = none
	}
	for _, i := range p.log.served {
		id := a.operationAt(i)
		o := &a.operations[id]
		if places[id] != none || o.outcome() != Info && i > o.ret {
			return false
		}
		places[id] = int32(i)
	}
	for _, id := range p.log.operations {
		if places[id] != none || a.operations[id].outcome() == Info {
			continue
		}
		if _, says := p.operation(id); says {
			return false
		}
	}
	return true
}
