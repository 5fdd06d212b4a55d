package zklock

import (
	"context"
	"sync/atomic"
)

// operation is a call that its caller may leave before it has come to an end: when ctx ends. Exactly one of the two
// decides: either the caller has left, and the operation is told so when it wants to answer, or the caller gets the
// answer.
type operation struct {
	ctx     context.Context
	decided atomic.Bool
	result  chan result
}

type result struct {
	held bool
	err  error
}

func newOperation(ctx context.Context) *operation {
	return &operation{ctx: ctx, result: make(chan result, 1)}
}

// claim decides that the caller gets an answer, unless it has left. Who claims has to deliver.
func (o *operation) claim() bool { return o.decided.CompareAndSwap(false, true) }

// deliver gives the caller its result.
func (o *operation) deliver(held bool, err error) { o.result <- result{held, err} }

// answer gives the caller its result and tells whether the caller was still there to take it.
func (o *operation) answer(held bool, err error) bool {
	claimed := o.claim()
	if claimed {
		o.deliver(held, err)
	}
	return claimed
}

// wait is the caller's side: it returns the answer, or the error of ctx if that ends first.
func (o *operation) wait() (bool, error) {
	// ranked: who comes first is decided by the swap
	select {
	case r := <-o.result:
		return r.held, r.err
	case <-o.ctx.Done():
	}
	if o.claim() {
		return false, o.ctx.Err()
	}
	r := <-o.result
	return r.held, r.err
}
