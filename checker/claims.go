package checker

import (
	"sort"
	"time"
)

// instant is a point of true time. Events at the same time are ordered by their position; a deadline comes before
// all events of its time, because whoever reads its clock at that time finds the deadline reached.
type instant struct {
	time     time.Duration
	position int // none for a deadline
}

func (x instant) before(y instant) bool {
	if x.time != y.time {
		return x.time < y.time
	}
	return x.position < y.position
}

// ending says why a claim ended.
type ending int

const (
	unended  ending = iota // it lasted to the end of the history
	released               // the outermost release was called
	refused                // an inner release was told that nothing is held
	expired                // the stated deadline was reached
	lost                   // the lock reported the loss
	crashed                // the process died
)

// byItself says that the hold ended without its holder's doing, and that the holder knows it.
func (e ending) byItself() bool { return e == expired || e == lost }

// claim is a believed hold: the time during which a client may rightly think that the lock is its own.
//
// It starts when the outermost successful acquire returns. It ends at the first of: the call of the outermost
// release, whatever comes of it; an inner release that is told "not the owner"; the deadline that the lock stated; the
// report of a loss; a crash; the end of the history. What ends it is that the client stops to rely on the lock, so
// a release that fails still ended it, and an acquire of unknown outcome never started one.
type claim struct {
	client     int
	acquire    int // the outermost acquire
	last       int // the latest successful acquire inside
	start, end instant
	ending     ending
	token      int64
	deadline   time.Duration // the one that was stated last, 0 = none
}

func (c *claim) empty() bool { return !c.start.before(c.end) }

// givenUp says that the holder released it, or was told that it has nothing to release.
func (c *claim) givenUp() bool { return c.ending == released || c.ending == refused }

// hold is where one client stands with one lock while the history is read.
type hold struct {
	lock     int
	depth    int32 // levels of the open claim
	stale    int32 // levels that the client has yet to release of claims that ended by themselves
	doubtful int32
	unsure   bool  // the latest operation was a release of unknown outcome
	claim    int32 // the open claim, none between claims
	resume   int   // the acquire to go on from when a renewal comes after the deadline
	deadline time.Duration
}

// findClaims reads all events once and gathers the claims of every lock. They come out sorted by their start.
func (a *analysis) findClaims() {
	for _, log := range a.locks {
		log.claims = make([]claim, 0, log.grants)
	}
	for i := range a.events {
		e := &a.events[i]
		if !e.byClient() {
			continue
		}
		c := a.clientNumber(e.Process)
		p := &a.clients[c]
		if p.crashed != none && p.crashed < i {
			continue
		}
		now := instant{e.Time, i}
		switch e.F {
		case Crash, Lost:
			for k := range p.holds {
				if h := &p.holds[k]; e.F == Crash || e.Key == "" || a.locks[h.lock].key == e.Key {
					a.endAt(h, now, map[string]ending{Crash: crashed, Lost: lost}[e.F])
				}
			}
		case Renew:
			if lock, known := a.byKey[e.Key]; known {
				a.renew(a.holdOf(c, lock), e, now)
			}
		case Acquire, TryAcquire:
			if e.Type != Invoke {
				a.acquired(c, a.operationAt(i), now)
			}
		case Release:
			if e.Type == Invoke {
				a.releaseCalled(c, a.operationAt(i), now)
			} else {
				a.releaseReturned(c, a.operationAt(i), now)
			}
		}
	}
	a.endClaims()
}

// endClaims ends what is still open when the history ends.
func (a *analysis) endClaims() {
	last := instant{0, len(a.events)}
	if n := len(a.events); n > 0 {
		last.time = a.events[n-1].Time
	}
	for c := range a.clients {
		for k := range a.clients[c].holds {
			a.endAt(&a.clients[c].holds[k], last, unended)
		}
	}
}

// holdOf finds or adds the hold of a client on a lock. Clients that use many locks get an index of them.
func (a *analysis) holdOf(c, lock int) *hold {
	const few = 8
	p := &a.clients[c]
	if p.holdBy != nil {
		if k, known := p.holdBy[lock]; known {
			return &p.holds[k]
		}
	} else {
		for k := range p.holds {
			if p.holds[k].lock == lock {
				return &p.holds[k]
			}
		}
	}
	p.holds = append(p.holds, hold{lock: lock, claim: none, resume: none})
	if p.holdBy == nil && len(p.holds) > few {
		p.holdBy = make(map[int]int)
		for k := range p.holds {
			p.holdBy[p.holds[k].lock] = k
		}
	}
	if p.holdBy != nil {
		p.holdBy[lock] = len(p.holds) - 1
	}
	return &p.holds[len(p.holds)-1]
}

// endAt ends the open claim of h at now, or at its deadline if that came first.
func (a *analysis) endAt(h *hold, now instant, why ending) {
	if h.claim == none {
		return
	}
	log := a.locks[h.lock]
	c := &log.claims[h.claim]
	if limit := (instant{h.deadline, none}); h.deadline != 0 && limit.before(now) {
		now, why = limit, expired
	}
	c.end, c.ending, c.deadline = now, why, h.deadline
	h.claim = none
	if why.byItself() {
		h.stale, h.depth = h.stale+h.depth, 0
		h.resume = c.last
		log.expiries = append(log.expiries, expiry{position: a.firstAt(now), acquire: c.last})
	}
}

// firstAt is the position of the event at an instant, or of the first that comes after a deadline.
func (a *analysis) firstAt(x instant) int {
	if x.position != none {
		return x.position
	}
	return sort.Search(len(a.events), func(i int) bool { return a.events[i].Time >= x.time })
}

// outlived notes that the deadline of a hold passed while its release was under way: the server may have found it
// ended, although its holder let go in time. Nobody knows when a release ended that did not return.
func (a *analysis) outlived(h *hold, o *operation, returned bool, now instant) {
	if o.claim == none || h.deadline == 0 {
		return
	}
	log := a.locks[o.lock]
	limit := instant{h.deadline, none}
	if c := &log.claims[o.claim]; c.ending == released && (!returned || limit.before(now)) {
		log.expiries = append(log.expiries, expiry{position: a.firstAt(limit), acquire: c.last})
	}
}

// expire ends the claim of h if its deadline came before now.
func (a *analysis) expire(h *hold, now instant) {
	if h.claim != none && h.deadline != 0 && (instant{h.deadline, none}).before(now) {
		a.endAt(h, now, expired)
	}
}

// start opens a claim at now.
func (a *analysis) start(h *hold, now instant, acquire int) {
	log := a.locks[h.lock]
	h.claim = int32(len(log.claims))
	log.claims = append(log.claims, claim{
		client: a.operations[acquire].client, acquire: acquire, last: acquire, start: now, end: now,
		token: a.operations[acquire].token,
	})
}

// acquired takes the return of an acquire.
func (a *analysis) acquired(c, id int, now instant) {
	o := &a.operations[id]
	h := a.holdOf(c, o.lock)
	a.expire(h, now)
	o.before, o.stale, o.doubtful = h.depth, h.stale, h.doubtful
	h.unsure = false
	switch o.outcome() {
	case Info:
		h.doubtful++
	case OK:
		h.depth++
		deadline := a.events[o.ret].Deadline
		if h.claim == none {
			h.deadline = deadline
			a.start(h, now, id)
		} else {
			a.locks[o.lock].claims[h.claim].last = id
			if deadline != 0 {
				h.deadline = deadline
			}
		}
	}
	o.after, o.claim = h.depth, h.claim
}

// releaseCalled takes the call of a release: the outermost one ends the claim.
//
// A client may state how many levels it will have left. That settles whether it repeats a release of unknown outcome
// or goes on to the next level; levels of holds that ended by themselves are among those that it counts.
func (a *analysis) releaseCalled(c, id int, now instant) {
	o := &a.operations[id]
	h := a.holdOf(c, o.lock)
	a.expire(h, now)
	if left := min(a.events[o.call].Count, 1<<30); left > 0 && h.claim != none {
		h.depth = max(1, int32(left)+1-h.stale)
	}
	o.before, o.stale, o.doubtful, o.claim = h.depth, h.stale, h.doubtful, h.claim
	o.again = h.unsure && o.before == 0
	if h.depth == 1 {
		a.endAt(h, now, released)
	}
	if o.ret == none {
		h.doubtful++
		a.outlived(h, o, false, now)
	}
}

// releaseReturned takes the return of a release.
//
// After one of unknown outcome the client may go on as if it had worked, or try it again. A Count on this event or on
// the next call tells which; without it the former is assumed, because that ends claims sooner and so never accuses
// falsely.
func (a *analysis) releaseReturned(c, id int, now instant) {
	o := &a.operations[id]
	h := a.holdOf(c, o.lock)
	a.outlived(h, o, o.outcome() != Info, now)
	h.unsure = o.outcome() == Info
	switch {
	case o.outcome() == Fail:
		a.endAt(h, now, refused)
		h.depth, h.stale = 0, 0
	case o.outcome() == Info:
		h.doubtful++
		if count := a.events[o.ret].Count; h.depth > 1 && count > 0 {
			h.depth = min(h.depth, int32(min(count, 1<<30)))
		} else if h.depth > 0 {
			h.depth--
		} else if h.stale > 0 {
			h.stale--
		}
	case h.depth > 0:
		h.depth--
	case h.stale > 0:
		h.stale--
	case h.doubtful > 0:
		h.doubtful--
	}
	if h.depth == 0 {
		// A renewal that came while the release was under way had opened the claim again.
		a.endAt(h, now, released)
	}
	o.after = h.depth
}

// renew takes the report that a hold was extended. One that comes after the deadline starts a new claim: from here
// on the client relies on the lock again.
func (a *analysis) renew(h *hold, e *Event, now instant) {
	a.expire(h, now)
	if e.Deadline == 0 {
		return
	}
	h.deadline = e.Deadline
	if h.claim == none && h.resume != none && h.stale > 0 {
		h.depth, h.stale = h.stale, 0
		a.start(h, now, h.resume)
	}
}
