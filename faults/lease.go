package faults

import (
	"slices"
	"time"
)

// leaseKey names a lease: who keeps it and whose it is.
type leaseKey struct{ server, client string }

// leaseEnd is the end of one lease as it stood when the injector was told of it.
type leaseEnd struct {
	at    time.Duration
	moved bool // it will not come like this
}

// FollowsLeases tells whether any fault of the plan waits for the end of a lease, so that Lease and LeaseGone are worth
// calling.
func (i *Injector) FollowsLeases() bool {
	return slices.ContainsFunc(i.armed, func(a *armedFault) bool {
		return slices.ContainsFunc(a.When, func(t Trigger) bool { return t.Moment == AtDeadline })
	})
}

// Lease tells that the lease which a server keeps for a client ends at true time at, as things stand now. It is told
// anew whenever that has changed.
func (i *Injector) Lease(server, client string, at time.Duration) {
	lease := leaseKey{server, client}
	if known := i.leases[lease]; known != nil && known.at == at && !known.moved {
		return
	}
	i.LeaseGone(server, client)
	end := &leaseEnd{at: at}
	i.leases[lease] = end
	for _, a := range i.armed {
		for n, trigger := range a.When {
			moment := at + trigger.At
			if a.done || trigger.Moment != AtDeadline || moment < i.world.Now() || !trigger.isOf(client) {
				continue
			}
			i.world.At(moment, func() {
				if end.moved || a.done {
					return
				}
				if a.counts[n]++; a.counts[n] >= trigger.Nth {
					i.moment(a, nil)
				}
			})
		}
	}
}

// LeaseGone tells that a client has given its lease up, or has it no more. What waits for a moment after an end that
// has come goes on waiting.
func (i *Injector) LeaseGone(server, client string) {
	lease := leaseKey{server, client}
	if end := i.leases[lease]; end != nil && end.at > i.world.Now() {
		end.moved = true
	}
	delete(i.leases, lease)
}

// isOf tells whether a lease of the client is one that the trigger means. Who has the lease is its holder.
func (t Trigger) isOf(client string) bool { return t.Node == Holder || string(t.Node) == client }
