package zklock

import (
	"time"

	"github.com/jonboulle/clockwork"
)

// hold is one hold as its owner knows it: from the success of the outermost acquisition to the last unlock. It ends
// early, and says so on a channel, when its deadline passes or when its node or session turns out to be gone.
//
// The server ends a session no earlier than its time-out after it last heard of the client. It has heard of the client
// when it executed a request, so at or after the moment when that was sent: the deadline counts from there.
type hold struct {
	node  node
	token int64
	clock clockwork.Clock
	lost  chan struct{} // closed once the hold is known to be gone
	quiet bool          // an ablation: lost is never closed

	guard    chan struct{} // one slot; guards the fields below, never held across a wait
	deadline time.Time
	state    holdState
	timer    clockwork.Timer // of the deadline
	beat     clockwork.Timer // of the next proof that the session is alive
}

type holdState int

const (
	holding  holdState = iota
	gone               // ended by itself; stays so until it is unlocked
	unlocked           // given up by its owner
)

func newHold(clock clockwork.Clock, n node, token int64, deadline time.Time) *hold {
	return &hold{
		node: n, token: token, clock: clock, deadline: deadline,
		lost: make(chan struct{}), guard: make(chan struct{}, 1),
	}
}

// begin starts the watch over the deadline and calls prove after each period, until the hold ends.
func (h *hold) begin(period time.Duration, prove func()) {
	h.lock()
	defer h.unlock()
	h.watch()
	h.beat = h.clock.AfterFunc(period, prove)
}

func (h *hold) lock()   { h.guard <- struct{}{} }
func (h *hold) unlock() { <-h.guard }

// watch sets the timer for what is left. The guard is held.
func (h *hold) watch() {
	// Never below the precision of a timer, lest a rounding keeps it firing on the spot.
	left := max(h.clock.Until(h.deadline), time.Microsecond)
	h.timer = h.clock.AfterFunc(left, h.check)
}

// check ends the hold when its deadline has passed, and watches on when it was moved.
func (h *hold) check() {
	h.lock()
	defer h.unlock()
	switch {
	case h.state != holding:
	case h.clock.Until(h.deadline) > 0:
		h.watch()
	default:
		h.end(gone)
	}
}

// valid tells whether the hold is still good by the machine's own clock. It does not wait for the timer.
func (h *hold) valid() bool {
	h.lock()
	defer h.unlock()
	if h.state == holding && h.clock.Until(h.deadline) <= 0 {
		h.end(gone)
	}
	return h.state == holding
}

// extend moves the deadline and asks for the next proof after a period. A hold that was over by the time when the news
// came stays over, since its owner may have been told so.
func (h *hold) extend(deadline time.Time, period time.Duration) {
	h.lock()
	defer h.unlock()
	if h.state != holding || h.clock.Until(h.deadline) <= 0 {
		return
	}
	if deadline.After(h.deadline) {
		h.deadline = deadline
	}
	h.beat.Reset(period)
}

// lose ends the hold because the server no longer has its node.
func (h *hold) lose() {
	h.lock()
	defer h.unlock()
	if h.state == holding {
		h.end(gone)
	}
}

// giveUp ends the hold because its owner unlocks it, and tells whether it was still good.
func (h *hold) giveUp() bool {
	h.lock()
	defer h.unlock()
	if h.state == holding && h.clock.Until(h.deadline) <= 0 {
		h.end(gone)
	}
	good := h.state == holding
	if good {
		h.end(unlocked)
	}
	return good
}

// takeBack undoes giveUp, where the server refused to delete the node.
func (h *hold) takeBack(period time.Duration) {
	h.lock()
	defer h.unlock()
	if h.state != unlocked {
		return
	}
	h.state = holding
	h.watch()
	h.beat.Reset(period)
}

// end makes it over. The guard is held.
func (h *hold) end(as holdState) {
	h.state = as
	h.timer.Stop()
	h.beat.Stop()
	if as == gone && !h.quiet {
		close(h.lost)
	}
}

func (h *hold) until() time.Time {
	h.lock()
	defer h.unlock()
	return h.deadline
}
