package foreign

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
)

// SupplyLease says how long a hold lasts by itself where the file does not. A hold without a deadline of its own then
// ends so long after the call that got it: that is as long as its client may rely on it, for no server counts from
// before the call. It tells whether there was anything to supply: a file that has a lease, or is about something else
// than a lock, stays as it is.
func (r *Recording) SupplyLease(lease time.Duration) bool {
	if r.Object != Lock || r.Header.Lease != 0 || lease <= 0 {
		return false
	}
	r.Header.Lease = lease
	r.Assumed = slices.DeleteFunc(r.Assumed, func(assumed string) bool { return assumed == noLease })
	called := make(map[int]time.Duration) // by process: when its open call was made
	supplied := false
	for i := range r.Events {
		e := &r.Events[i]
		acquires := e.F == checker.Acquire || e.F == checker.TryAcquire
		switch from, open := called[e.Process]; {
		case e.Process < 0:
		case e.Type == checker.Invoke:
			called[e.Process] = e.Time
		case e.Deadline != 0:
		case e.F == checker.Renew && e.Type == checker.Info:
			e.Deadline, supplied = later(e.Time, lease), true
		case acquires && e.Type == checker.OK && open:
			e.Deadline, supplied = later(from, lease), true
		}
	}
	if supplied {
		const form = "a hold without a deadline ends by itself %v after the call that got it"
		r.Assumed = append(r.Assumed, fmt.Sprintf(form, lease))
	}
	return true
}

// later adds to a time, and stays at the last one that there is.
func later(t, by time.Duration) time.Duration {
	const last = time.Duration(1<<63 - 1)
	if t > last-by {
		return last
	}
	return t + by
}
