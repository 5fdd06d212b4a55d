package scenarios

import (
	"github.com/lockstep-sim/lockstep/checker"
)

// lockCall is a call of a client on the lock, as far as it matters for what the server decides about it.
type lockCall struct {
	index    int64 // of its invocation
	release  bool
	oneTry   bool // it takes the first refusal for an answer
	returned bool
	// unknown says that it returned, and that nobody knows whether it took effect, or that it did although it was
	// refused: a request that undoes it may come.
	unknown bool
	took    bool // the server let it take effect
	// earlier is the latest call before of which nobody knows whether it took effect: a request of it may still be under
	// way, and so may one that undoes it.
	earlier *lockCall
}

// open tells whether a request for the call may still be executed.
func (c *lockCall) open() bool { return c != nil && (!c.returned || c.unknown) }

// called follows the calls of clients on the lock.
func (r *recorder) called(e *checker.Event) {
	if e.Process < 0 || e.Key != r.lock {
		return
	}
	switch e.F {
	case checker.Acquire, checker.TryAcquire, checker.Release:
	default:
		return
	}
	latest := r.calls[e.Process]
	if e.Type != checker.Invoke {
		latest.returned = true
		latest.unknown = e.Type == checker.Info || e.Type == checker.Fail && latest.took && !latest.release
		return
	}
	call := &lockCall{
		index: e.Index, release: e.F == checker.Release, oneTry: e.F == checker.TryAcquire && e.Wait == 0,
	}
	switch {
	case latest.open():
		call.earlier = latest
	case latest != nil:
		call.earlier = latest.earlier
	}
	r.calls[e.Process] = call
}

// callOf is the latest call of a client on the lock; nil when it has not called yet. Threads share connections, so that
// nobody knows for which of their calls a request was: they have none.
func (r *recorder) callOf(c *client) *lockCall {
	if c == nil || c.threaded {
		return nil
	}
	return r.calls[c.number]
}

// change is what a request of a client did to the record of the lock.
type change int

const (
	unchanged change = iota
	gained           // the record names the client, or counts a level more of it
	lowered          // it counts a level less of the client
	lost             // it does not name the client any more
	removed          // the record of somebody else is gone
)

// changeOf says what a fact about the lock that a client caused means for that client.
func changeOf(e *checker.Event, owner string) change {
	own := func(r *checker.Record) bool { return r != nil && r.Owner == owner }
	switch {
	case e.F == checker.RecordSet && own(e.Record) && !own(e.Previous):
		return gained
	case e.F == checker.RecordSet && own(e.Record) && e.Record.Count > e.Previous.Count:
		return gained
	case e.F == checker.RecordSet && own(e.Record) && e.Record.Count == 1 && e.Previous.Expires < e.Previous.Now:
		return gained // a new hold in the place of one that was over
	case e.F == checker.RecordSet && own(e.Record) && e.Record.Count < e.Previous.Count:
		return lowered
	case e.F == checker.RecordGone && own(e.Previous):
		return lost
	case e.F == checker.RecordGone:
		return removed
	}
	return unchanged
}

// served records what the server decided by a request of a client, or by the end of a hold that it waited for. Held is
// the owner whom the record names now, "" when there is no record.
func (r *recorder) served(c *client, what change, held string) {
	call := r.callOf(c)
	if call == nil {
		return
	}
	switch what {
	case gained:
		for call != nil && (!call.open() || call.release) {
			call = call.earlier
		}
		if call != nil {
			call.took = true
			r.decided(call, checker.OK)
		}
	case lowered, lost, removed:
		r.gaveUp(call, what)
	default:
		refused := call.release || call.oneTry && held != ""
		if refused && !call.returned && !call.took && held != c.owner.String() {
			r.decided(call, checker.Fail)
		}
	}
}

// gaveUp records for which call a request took a record away: the latest release that it can have been for, unless an
// acquire of unknown outcome that had brought the record is later still, and was undone. With a record that is lost all
// is gone that such acquires had brought.
func (r *recorder) gaveUp(call *lockCall, what change) {
	released := false
	for ; call != nil; call = call.earlier {
		switch {
		case !call.open():
		case call.release && !call.took && !released:
			released, call.took = true, true
			r.decided(call, checker.OK)
		case !call.release && call.took && what == lost:
			released, call.took = true, false
			r.decided(call, checker.Fail)
		}
	}
}

func (r *recorder) decided(call *lockCall, how checker.Type) {
	r.add(checker.Event{
		Process: checker.ProcessServer, Type: how, F: checker.Served, Key: r.lock, Call: call.index,
	})
}

// holder is whom the record of the lock names; "" when there is none.
func (r *recorder) holder() string {
	record := r.stored[0].record
	if r.majority != nil {
		record = r.majority.record
	}
	if record == nil {
		return ""
	}
	return record.Owner
}
