package checker

import (
	"time"

	"github.com/lockstep-sim/lockstep/checker/model"
)

// phrasing puts what is known of one lock in the words of one model.
type phrasing struct {
	a    *analysis
	log  *lockLog
	lock model.Model
	// lapses says that the model knows holds that end because the server says so, times that it wants to know when
	// operations took effect and how long a lease lasts.
	lapses, times bool
	lease         time.Duration
	takeovers     map[int][]int32 // per acquire that took a dead record over: whose it may have been
	explained     refusals
}

// phrase prepares the words for a model. All locks share explained, see explainedRefusals.
func (a *analysis) phrase(log *lockLog, lock model.Model, lease time.Duration, explained refusals) *phrasing {
	p := &phrasing{a: a, log: log, lock: lock, lease: lease, explained: explained}
	switch lock.(type) {
	case model.Lease:
		p.lapses = true
	case model.TimedLease:
		p.times = true
	case model.Takeover:
		p.takeovers = make(map[int][]int32)
		for _, l := range log.lapses {
			if id := a.operationAt(l.position); id != none && a.operations[id].acquires() {
				p.takeovers[id] = l.owners()
			}
		}
	}
	return p
}

// owners lists those whose hold a lapse may have ended.
func (l *lapse) owners() []int32 {
	owners := make([]int32, len(l.clients))
	for i, c := range l.clients {
		owners[i] = int32(c)
	}
	return owners
}

// says tells whether an operation constrains the lock object. Refusals do not where the lock was waited for until the
// time ran out, or where the record on the server explains them.
func (o *operation) says(explained bool) bool {
	return !o.acquires() || o.outcome() != Fail || o.f() == TryAcquire && !o.timed && !explained
}

// operation puts one operation. It is false for what constrains nothing.
func (p *phrasing) operation(id int) (model.Operation, bool) {
	o := &p.a.operations[id]
	x := model.Operation{Client: int32(o.client), Token: o.token, Lenient: o.outcome() == Info}
	if !o.says(p.explained.has(id)) {
		return x, false
	}
	switch {
	case o.acquires() && o.outcome() == Fail:
		x.Action = model.Refuse
	case o.acquires():
		x.Action = model.Acquire
		if owners, known := p.takeovers[id]; known {
			x.Action, x.Owners = model.TakeOver, owners
		}
	case o.outcome() == Fail:
		x.Action = model.Deny
	default:
		x.Action = model.Release
		// A release whose hold had ended by itself, or may have been released before, may find the lock held or not.
		if o.outcome() == OK && (o.again || p.lapses && o.before == 0 && o.stale > 0) {
			x.Lenient = true
		}
	}
	if p.times {
		x.Times = p.timesOf(o)
	}
	return x, true
}

// timesOf tells when an operation took effect and how long its hold lasts.
func (p *phrasing) timesOf(o *operation) *model.Times {
	t := &model.Times{Called: p.a.events[o.call].Time, Lease: p.lease}
	if o.ret != none && o.outcome() != Info {
		t.Returned = p.a.events[o.ret].Time
		if deadline := p.a.events[o.ret].Deadline; deadline > t.Called && p.lease == 0 {
			t.Lease = deadline - t.Called
		}
	}
	return t
}

// lapseOf puts a lapse.
func (p *phrasing) lapseOf(l *lapse) model.Operation {
	return model.Operation{Action: model.Expire, Client: model.Nobody, Lenient: true, Owners: l.owners()}
}

// steps puts all operations, in the order of their calls.
func (p *phrasing) steps() []step {
	steps := make([]step, 0, len(p.log.operations))
	for _, id := range p.log.operations {
		if x, says := p.operation(id); says {
			o := &p.a.operations[id]
			s := step{Operation: x, operation: id, call: o.call, ret: o.ret}
			if o.outcome() == Info {
				s.ret = none
			}
			steps = append(steps, s)
		}
	}
	return steps
}

// upTo lists the steps of the history that ends with a position: what had not returned by then stays open.
func (p *phrasing) upTo(steps []step, last int) []step {
	var part []step
	for _, x := range steps {
		if x.call > last {
			break
		}
		if x.ret > last {
			x.ret, x.Lenient = none, true
			if x.readOnly() {
				continue
			}
			if x.Times != nil {
				open := *x.Times
				open.Returned = 0
				x.Times = &open
			}
		}
		part = append(part, x)
	}
	return part
}
