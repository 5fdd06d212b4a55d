package main

import "context"

// interruptible does work that knows nothing of contexts, such as reading from a pipe that nobody writes to, or a long
// search. Once the context ends the work is abandoned, so it must not write anything: the command is about to end.
func interruptible[T any](ctx context.Context, work func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if cause := recover(); cause != nil {
				r.err = &exitError{exitInternal, describePanic(cause)}
			}
			done <- r
		}()
		r.value, r.err = work()
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, &exitError{exitUnknown, "interrupted"}
	}
}
