package scenarios

import (
	"fmt"
	"slices"

	"github.com/lockstep-sim/lockstep/impl"
)

// Threads says what the threads of one client machine have in common.
type Threads string

// The ways in which threads can share.
const (
	// OwnThreads are owners of their own: each has its handle, or its part of an object that serves several (impl.Shared).
	OwnThreads Threads = "own"
	// SameIdentity gives each thread a handle of its own and all of them one Owner, as where owners are told apart by
	// their process alone.
	SameIdentity Threads = "identity"
	// SameHandle has all threads use the handle of the first, and its Owner.
	SameHandle Threads = "handle"
)

// areOwners says that each thread is an owner of its own.
func (t Threads) areOwners() bool { return t != SameIdentity && t != SameHandle }

// parseThreads reads the word; "" is OwnThreads.
func parseThreads(word string) (Threads, error) {
	switch t := Threads(word); t {
	case "":
		return OwnThreads, nil
	case OwnThreads, SameIdentity, SameHandle:
		return t, nil
	}
	return "", fmt.Errorf("threads %q: want own, identity or handle", word)
}

// share gives a younger thread the lock that it has from the eldest, and tells whether there is one.
func (c *client) share(eldest *client) bool {
	if c.run.scenario.Threads == SameHandle {
		c.lock = eldest.lock
		return true
	}
	shared, ok := eldest.lock.(impl.Shared)
	if ok {
		c.lock = shared.For(c.owner)
	}
	return ok
}

// thread finds which thread of a machine is meant where only the machine is known, since its threads can share
// connections: the one that owner names, or else one that is in a call to acquire.
func (r *recorder) thread(by *client, owner string) *client {
	if by == nil || !by.threaded {
		return by
	}
	siblings := by.run.clients
	if i := slices.IndexFunc(siblings, func(c *client) bool {
		return c.process == by.process && c.owner.String() == owner
	}); i >= 0 {
		return siblings[i]
	}
	if i := slices.IndexFunc(r.waiting, func(c *client) bool { return c.process == by.process }); i >= 0 {
		return r.waiting[i]
	}
	return by
}
