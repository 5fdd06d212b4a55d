package redislock

import (
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

// hold is one hold of a leased lock as its owner knows it: from the success of the outermost acquisition to the last
// unlock. It ends early, and says so on a channel, when its deadline passes or when the server disowns it.
//
// The deadline is counted from before the request that began or extended the lease, so it comes before the server's.
type hold struct {
	id    string // names this hold on the server
	token int64
	clock clockwork.Clock
	lost  chan struct{} // closed once the hold is known to be gone
	quiet bool          // an ablation: lost is never closed

	mutex    sync.Mutex // never held across a wait
	deadline time.Time
	state    holdState
	timer    clockwork.Timer
}

type holdState int

const (
	holding  holdState = iota
	gone               // ended by itself; stays so until it is unlocked
	unlocked           // given up by its owner
)

// beginHold starts a hold and the watch over its deadline.
func beginHold(clock clockwork.Clock, id string, token int64, deadline time.Time, quiet bool) *hold {
	h := &hold{id: id, token: token, clock: clock, deadline: deadline, quiet: quiet, lost: make(chan struct{})}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.watch()
	return h
}

// watch sets the timer for what is left of the lease. The mutex is held.
func (h *hold) watch() {
	// Never below the precision of a timer, lest a rounding keeps it firing on the spot.
	left := max(h.clock.Until(h.deadline), time.Microsecond)
	h.timer = h.clock.AfterFunc(left, h.check)
}

// check ends the hold when its deadline has passed, and watches on when it was extended.
func (h *hold) check() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.state != holding {
		return
	}
	if h.clock.Until(h.deadline) > 0 {
		h.watch()
		return
	}
	h.loseLocked()
}

// valid tells whether the hold is still good by the machine's own clock. It does not wait for the timer.
func (h *hold) valid() bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.state == holding && h.clock.Until(h.deadline) > 0
}

// isOver tells whether the hold has ended, by itself or by its owner.
func (h *hold) isOver() bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.state != holding
}

// extend moves the deadline and tells whether the hold was still good when the news came. A hold that was over by
// then stays over, since its owner may have been told so.
func (h *hold) extend(deadline time.Time) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.state != holding || h.clock.Until(h.deadline) <= 0 {
		return false
	}
	if deadline.After(h.deadline) {
		h.deadline = deadline
	}
	return true
}

// lose ends the hold because the server no longer has it.
func (h *hold) lose() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.loseLocked()
}

func (h *hold) loseLocked() {
	if h.state != holding {
		return
	}
	h.state = gone
	h.timer.Stop()
	if !h.quiet {
		close(h.lost)
	}
}

// unlock ends the hold because its owner gave it up. The channel stays open: nothing was lost.
func (h *hold) unlock() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.state == holding {
		h.state = unlocked
		h.timer.Stop()
	}
}

func (h *hold) until() time.Time {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.deadline
}
