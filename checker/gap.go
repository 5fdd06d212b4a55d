package checker

import (
	"math"
	"slices"
)

// heldFrom is one hold of the gap check: its outermost acquire, and in positions of the history where that returned and
// where its outermost release was called and returned, never where there is none. Large histories have many, hence the
// small numbers.
type heldFrom struct {
	acquire                             int32
	entered, releaseCalled, releaseOver int32
}

// never is after all positions.
const never = math.MaxInt32

// gapClient is where one client stands in the gap check of one lock.
type gapClient struct {
	lock    int  // the number of the lock plus one for which the rest is meant
	depth   int  // levels it holds
	hold    int  // its open hold
	unknown bool // the outcome of its last operation is unknown
}

// gapCheck decides whether the answers of one lock fit one lock object, in one pass over them; gap.md has the proof.
type gapCheck struct {
	a         *analysis
	lock      int
	reentrant bool
	explained refusals
	clients   []gapClient // shared by all locks
	holds     []heldFrom
	// waiting is the refusal in the present gap that returned first, of those that no hold before explains.
	waiting int
	offence int // the operation that cannot have been answered so, none while all is well
}

// usable tells whether the gap check can decide: no hold ends by itself, and whoever has an operation of unknown
// outcome does nothing more with this lock.
func (g *gapCheck) usable(log *lockLog, options Options) bool {
	if !options.Strict && (len(log.lapses) > 0 || len(log.expiries) > 0) {
		return false
	}
	leased := options.Promises.Leased && !options.Strict && len(log.facts) == 0
	for _, id := range log.operations {
		o := &g.a.operations[id]
		c := g.client(o.client)
		if c.unknown || leased && o.outcome() == Info && o.acquires() {
			return false
		}
		c.unknown = o.outcome() == Info
	}
	return true
}

func (g *gapCheck) client(c int) *gapClient {
	p := &g.clients[c]
	if p.lock != g.lock+1 {
		*p = gapClient{lock: g.lock + 1, hold: none}
	}
	return p
}

// judge goes through the answers in the order of their returns, and returns an operation that cannot have been
// answered as it was, none if all can.
func (g *gapCheck) judge(log *lockLog) int {
	g.waiting, g.offence, g.holds = none, none, g.holds[:0]
	g.holds = slices.Grow(g.holds, log.grants)
	for _, id := range log.returns {
		o := &g.a.operations[id]
		c := g.client(o.client)
		switch {
		case o.outcome() == Info:
		case o.acquires() && o.outcome() == OK:
			g.acquired(c, o, id)
		case o.acquires():
			g.refused(c, o, id)
		default:
			g.released(c, o, id)
		}
		if g.offence != none {
			return g.offence
		}
	}
	pending := g.open(log)
	for i := 1; i < len(g.holds); i++ {
		if g.holds[i-1].releaseCalled > g.holds[i].entered {
			return int(g.holds[i].acquire)
		}
	}
	// What no hold explains may be explained by an acquire that nobody saw return: it holds to the end.
	if g.waiting != none && pending > g.a.operations[g.waiting].ret {
		return g.waiting
	}
	return none
}

// acquired takes an acquire that succeeded.
func (g *gapCheck) acquired(c *gapClient, o *operation, id int) {
	if c.depth > 0 {
		if !g.reentrant {
			g.offence = id
		}
		c.depth++
		return
	}
	if g.waiting != none && o.call > g.a.operations[g.waiting].ret {
		g.offence = g.waiting
	}
	g.waiting = none
	c.depth, c.hold = 1, len(g.holds)
	g.holds = append(g.holds, heldFrom{
		acquire: int32(id), entered: int32(o.ret), releaseCalled: never, releaseOver: never,
	})
}

// refused takes a try that was refused.
func (g *gapCheck) refused(c *gapClient, o *operation, id int) {
	if o.f() != TryAcquire || o.timed || g.explained.has(id) {
		return
	}
	if c.depth > 0 {
		if g.reentrant {
			g.offence = id
		}
		return // otherwise it was its own hold that was in the way
	}
	if n := len(g.holds); n > 0 && int(g.holds[n-1].releaseOver) > o.call {
		return
	}
	if g.waiting == none {
		g.waiting = id
	}
}

// released takes the answer to a release.
func (g *gapCheck) released(c *gapClient, o *operation, id int) {
	switch {
	case (o.outcome() == OK) != (c.depth > 0):
		g.offence = id // it freed what it did not hold, or was denied what it held
	case c.depth > 1:
		c.depth--
	case c.depth == 1:
		c.depth = 0
		g.holds[c.hold].releaseCalled, g.holds[c.hold].releaseOver = int32(o.call), int32(o.ret)
	}
}

// open takes the operations of unknown outcome, and returns where the first acquire was called that may hold to the
// end, never if there is none.
func (g *gapCheck) open(log *lockLog) int {
	first := never
	for _, id := range log.operations {
		o := &g.a.operations[id]
		if o.outcome() != Info {
			continue
		}
		c := g.client(o.client)
		switch {
		case o.acquires() && c.depth == 0:
			first = min(first, o.call)
		case o.f() == Release && c.depth == 1:
			g.holds[c.hold].releaseCalled = int32(o.call)
		}
	}
	return first
}
