package scenarios

import (
	"context"
	"errors"

	"github.com/lockstep-sim/lockstep/faults"
)

// call is the context of a call to the lock that a fault may end: it ends with the machine's, or when interrupted.
//
// It must not embed inner: contexts derived from it would attach themselves to inner and never ask Err.
type call struct {
	context.Context // the machine's
	inner           context.Context
	end             context.CancelCauseFunc
}

// errTimeIsOver is the cause of a call that ended as if its time were over. It never leaves this file.
var errTimeIsOver = errors.New("scenarios: the time of the call is over")

func (c *call) Done() <-chan struct{} { return c.inner.Done() }

func (c *call) Err() error {
	err := c.inner.Err()
	if err != nil && context.Cause(c.inner) == errTimeIsOver {
		return context.DeadlineExceeded
	}
	return err
}

// begin makes the context of a call to the lock. Where no fault of the plan ends calls, it is the machine's own.
func (c *client) begin() (ctx context.Context, end func()) {
	machine := c.process.Context()
	if !c.run.cancels {
		return machine, func() {}
	}
	inner, cancel := context.WithCancelCause(machine)
	under := &call{machine, inner, cancel}
	c.under.Store(under)
	return under, func() {
		c.under.Store(nil)
		cancel(nil)
	}
}

// cancelCalls ends the calls to the lock that the threads of a machine are in, and tells whether there was one. They
// end in an event of their own: a request that is about to leave leaves.
func (r *run) cancelCalls(machine string, fault faults.Fault) bool {
	var cause error
	if fault.Timeout {
		cause = errTimeIsOver
	}
	found := false
	for _, c := range r.clients {
		if under := c.under.Load(); under != nil && c.node.Name() == machine && !c.dead {
			found = true
			r.world.At(r.world.Now(), func() { under.end(cause) })
		}
	}
	return found
}

// cancelsCalls tells whether a plan has a fault that ends calls.
func cancelsCalls(plan faults.Plan) bool {
	for _, fault := range plan {
		if fault.Kind == faults.CancelCall {
			return true
		}
	}
	return false
}
