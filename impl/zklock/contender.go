package zklock

import (
	"encoding/hex"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockstep-sim/lockstep/impl"
)

// site is what all owners on one object of the repaired lock have in common.
type site struct {
	place
	lease     time.Duration
	allowance time.Duration // how much earlier than the lease an owner takes its hold as over
	retry     time.Duration
	retryMax  time.Duration
	name      string // of a node, without its number
	session   func() *Session
	off       func(ablation string) bool
	random    io.Reader
	drawing   chan struct{} // one slot; guards random
}

// leastMargin is what is kept back of every lease, for good measure.
const leastMargin = 2 * time.Millisecond

func newSite(entry impl.Entry, env impl.Environment, s impl.Settings, o Options) (*site, error) {
	p, knobs, err := newPlace(entry, env, s, o)
	if err != nil {
		return nil, err
	}
	drift := knobs.Integer("drift", 0, 999_999)
	t := &site{
		place:     p,
		lease:     s.Lease,
		allowance: s.Lease/1_000_000*time.Duration(drift) + leastMargin,
		retry:     knobs.Duration("retry", time.Millisecond, longest),
		retryMax:  knobs.Duration("retry-max", time.Millisecond, longest),
		name:      p.prefix[len(p.dir)+1:],
		session:   sync.OnceValue(func() *Session { return Watch(env.SessionEvents, env.Go) }),
		off:       func(ablation string) bool { return without(s, ablation) },
		random:    env.Random,
		drawing:   make(chan struct{}, 1),
	}
	if err := knobs.Err(); err != nil {
		return nil, err
	}
	if t.lease <= t.allowance {
		return nil, fmt.Errorf("%s: of a lease of %v, %v are kept back for the clocks and nothing is left; "+
			"take a longer lease", entry.Name, t.lease, t.allowance)
	}
	return t, nil
}

// newID draws what no other node has as its data.
func (t *site) newID() (string, error) {
	t.drawing <- struct{}{}
	defer func() { <-t.drawing }()
	var id [16]byte
	if _, err := io.ReadFull(t.random, id[:]); err != nil {
		return "", fmt.Errorf("drawing the id of a node: %w", err)
	}
	return hex.EncodeToString(id[:]), nil
}

// deadline is when a hold is over whose session was proved alive by a request sent at asked.
func (t *site) deadline(asked time.Time) time.Time {
	switch {
	case t.off(noDeadline):
		return t.clock.Now().Add(1000 * longest)
	case t.off(deadlineFromAnswer):
		return t.clock.Now().Add(t.lease)
	}
	return asked.Add(t.lease - t.allowance)
}

// period is the time from one proof that a hold stands to the next.
func (t *site) period() time.Duration { return t.lease / 3 }

// node is a node of the queue that the own session has made.
type node struct {
	path    string
	id      string // its data
	session int64
	// doubtful says that more than one creation with this id may have been executed.
	doubtful bool
}

// contender is what one owner has: its hold, or its place in the queue. With the ablation owner-blind all owners of an
// object have one.
type contender struct {
	*site
	current atomic.Pointer[hold] // nil while nothing is held
	closed  atomic.Bool          // the connection is, for good
	nudge   chan struct{}        // one slot: a session was begun or found again
	turn    monitor              // held by each call until its last request is answered, also after its caller left

	// The turn guards these.
	listening bool
	level     int
	leaving   *node           // whose last Unlock had an unknown result
	permanent map[string]bool // nodes in the directory that no session owns
	watched   string          // the path that watch is set on
	watch     <-chan zk.Event
	token     int64 // of the first hold, for an ablation
	stale     *node // for an ablation
}

func newContender(t *site) *contender {
	return &contender{site: t, nudge: make(chan struct{}, 1), turn: newMonitor(), permanent: map[string]bool{}}
}

// listen starts to look at what becomes of the session. The turn is held.
func (c *contender) listen() {
	if c.listening {
		return
	}
	c.listening = true
	events := c.session().Events()
	c.start(func() {
		for event := range events {
			if event.Type == zk.EventSession {
				c.compareSession()
			}
			if event.State == zk.StateHasSession {
				c.wake()
			}
		}
		c.closed.Store(true)
		if h := c.current.Load(); h != nil {
			h.lose()
		}
		c.wake()
	})
}

// compareSession ends the hold when its session is not that of the connection any more.
func (c *contender) compareSession() {
	if h := c.current.Load(); h != nil && h.node.session != c.zookeeper.SessionID() {
		h.lose()
	}
}

func (c *contender) wake() {
	select {
	case c.nudge <- struct{}{}:
	default:
	}
}

// enter makes h the current hold.
func (c *contender) enter(h *hold) {
	h.quiet = c.off(noLossReport)
	if c.token == 0 {
		c.token = h.token
	}
	if c.off(tokenReused) {
		h.token = c.token
	}
	c.level, c.leaving, c.stale = 1, nil, nil
	h.begin(c.period(), func() { c.start(func() { c.prove(h) }) })
	c.current.Store(h)
	c.compareSession() // it may have changed before there was a hold to lose
}

// drop forgets the hold.
func (c *contender) drop() {
	c.current.Store(nil)
	c.level = 0
}

// prove reads the node of a hold: that it is there proves the session alive, and moves the deadline.
func (c *contender) prove(h *hold) {
	asked := c.clock.Now()
	stands, err := c.stands(h.node)
	switch {
	case stands || err == nil && c.off(ownNodeUnverified):
		h.extend(c.deadline(asked), c.period())
	case err == nil || err == zk.ErrSessionExpired:
		h.lose()
	default: // nobody knows: ask again soon
		h.extend(time.Time{}, c.period()/4)
	}
}

// stands asks whether a node is there and of its session.
func (c *contender) stands(n node) (bool, error) {
	exists, stat, err := c.zookeeper.Exists(n.path)
	return err == nil && exists && stat.EphemeralOwner == n.session, err
}

func (c *contender) lossError() error {
	if c.off(noLossReport) {
		return nil
	}
	return impl.ErrLost
}
