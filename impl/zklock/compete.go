package zklock

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// attempt is one try to win the lock, from the making of a node to the hold or the removal of the node.
type attempt struct {
	*contender
	*operation
	once        bool
	id          string    // of all the nodes that it makes
	session     int64     // when the last of them was asked for
	doubtful    bool      // a node may have been made without an answer
	node        *node     // in the queue, nil = none
	czxid       int64     // of the node, 0 = not known yet
	directories int       // how often the directory was made
	failing     time.Time // since when no request was answered, zero = the last one was
	pause       time.Duration
}

// errRefused ends an attempt that may not wait. It never leaves this file.
var errRefused = errors.New("zklock: somebody else holds the lock")

// compete tries to win the lock and answers its caller. Whatever it has made and nobody wants it removes. The turn is
// held.
func (c *contender) compete(o *operation, once bool) {
	a := &attempt{contender: c, operation: o, once: once}
	h, err := a.win()
	switch {
	case err == nil && o.claim():
		c.enter(h)
		o.deliver(true, nil)
		return
	case err == errRefused:
		o.answer(false, nil)
		if c.off(triedNodeStays) {
			return
		}
	default:
		o.answer(false, err)
	}
	n := node{id: a.id, session: a.session, doubtful: a.doubtful}
	switch {
	case a.node != nil:
		c.remove(*a.node)
	case n.doubtful:
		c.sweep(n)
	}
}

// win goes on until the lock is won or something ends the attempt.
func (a *attempt) win() (*hold, error) {
	for {
		if err := a.ctx.Err(); err != nil {
			return nil, err
		}
		h, err := a.advance()
		switch {
		case h != nil:
			return h, nil
		case err == nil:
			a.failing = time.Time{}
		case err == errRefused:
			return nil, err
		default:
			if err := a.bear(err); err != nil {
				return nil, err
			}
		}
	}
}

// bear decides what a failed request means: it returns nil, after a pause, where the attempt goes on.
func (a *attempt) bear(err error) error {
	now := a.clock.Now()
	if a.failing.IsZero() {
		a.failing, a.pause = now, a.retry
	}
	if err == zk.ErrSessionExpired {
		a.abandonNode()
	}
	switch {
	case a.ctx.Err() != nil:
		return a.ctx.Err()
	case a.once || refused(err) || a.closed.Load() || now.Sub(a.failing) >= a.lease:
		return err
	}
	pause := a.pause
	a.pause = min(2*pause, a.retryMax)
	return a.rest(a.ctx, pause)
}

// abandonNode forgets a node that is gone, or will be with the session that it was made in.
func (a *attempt) abandonNode() { a.node, a.czxid = nil, 0 }

// advance makes one step towards the lock: into the queue, on to the next wait, or to the hold.
func (a *attempt) advance() (*hold, error) {
	if a.node == nil {
		return nil, a.join()
	}
	select {
	case <-a.nudge: // a change of the session that the list will show
	default:
	}
	names, _, err := a.zookeeper.Children(a.dir)
	if err == zk.ErrNoNode { // somebody has deleted the directory
		a.abandonNode()
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	own := strings.TrimPrefix(a.node.path, a.dir+"/")
	if !slices.Contains(names, own) && a.stale == nil {
		a.abandonNode()
		return nil, nil
	}
	predecessor, err := a.predecessor(names, own)
	switch {
	case err != nil:
		return nil, err
	case predecessor == "":
		return a.prove()
	case a.once:
		return nil, a.refuse(predecessor)
	default:
		return a.wait(predecessor)
	}
}

// join puts a node into the queue. After a creation without an answer it looks for the node first.
func (a *attempt) join() error {
	if a.stale != nil {
		a.node = a.stale
		return nil
	}
	if a.id == "" {
		id, err := a.newID()
		if err != nil {
			a.once = true // no use in trying again
			return err
		}
		a.id = id
	}
	if a.doubtful {
		found, err := a.find(a.id)
		if err == nil && len(found) > 0 {
			a.node = &node{path: found[0], id: a.id, session: a.session, doubtful: true}
		}
		if err != nil && err != zk.ErrNoNode || a.node != nil {
			return err
		}
	}
	a.session = a.zookeeper.SessionID()
	path, err := a.zookeeper.Create(a.prefix, []byte(a.id), zk.FlagEphemeralSequential, a.acl)
	switch {
	case err == nil:
		a.session = a.zookeeper.SessionID()
		a.node = &node{path: path, id: a.id, session: a.session, doubtful: a.doubtful}
	case err == zk.ErrNoNode && a.directories < maxDirectories:
		a.directories++
		return a.makeDirectory()
	case !refused(err) && err != zk.ErrSessionExpired:
		a.doubtful = !a.off(createUntracked)
	}
	return err
}

// prove reads the own node, which has to be there and of the session of now, and makes a hold of it.
func (a *attempt) prove() (*hold, error) {
	asked := a.clock.Now()
	exists, stat, err := a.zookeeper.Exists(a.node.path)
	if err != nil {
		return nil, err
	}
	if a.stale != nil && !exists {
		return newHold(a.clock, *a.node, max(a.token, 1), a.deadline(asked)), nil
	}
	if !exists || stat.EphemeralOwner != a.zookeeper.SessionID() {
		a.abandonNode()
		return nil, nil
	}
	deadline := a.deadline(asked)
	if a.clock.Until(deadline) <= 0 { // the answer came too late to be of use
		return nil, nil
	}
	n := *a.node
	n.session = stat.EphemeralOwner
	return newHold(a.clock, n, stat.Czxid, deadline), nil
}

// refuse ends an attempt that may not wait, unless the node in front is no contender after all.
func (a *attempt) refuse(predecessor string) error {
	exists, stat, err := a.zookeeper.Exists(a.dir + "/" + predecessor)
	switch {
	case err != nil:
		return err
	case !exists || a.isPermanent(predecessor, stat):
		return nil
	}
	return errRefused
}

// latchWindow is how long the ablation of the published window between watch and wait takes.
const latchWindow = 100 * time.Microsecond

// wait returns when the predecessor may be gone. It does not say that it is, except to an ablation.
func (a *attempt) wait(predecessor string) (*hold, error) {
	path := a.dir + "/" + predecessor
	if path != a.watched || len(a.watch) > 0 {
		data, stat, watch, err := a.zookeeper.GetW(path)
		if err == zk.ErrNoNode {
			if a.off(absentEnters) {
				return a.prove()
			}
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		a.watched, a.watch = path, watch
		if a.isPermanent(predecessor, stat) {
			return nil, nil
		}
		if a.doubtful && string(data) == a.id {
			return nil, a.moveTo(path)
		}
	}
	watch := a.watch
	if a.off(eventBeforeWait) {
		a.clock.Sleep(latchWindow)
		if len(watch) > 0 {
			watch = nil
		}
	}
	// ranked: all three lead to a new look, and ctx is looked at first
	select {
	case <-watch:
		a.watched, a.watch = "", nil
	case <-a.nudge:
	case <-a.ctx.Done():
	}
	if a.off(noRecheck) && a.ctx.Err() == nil {
		return a.prove()
	}
	return nil, nil
}

// moveTo takes over an earlier node of this attempt, which came to light only now, and gives up the present one.
func (a *attempt) moveTo(path string) error {
	later := a.node.path
	a.abandonNode()
	a.node = &node{path: path, id: a.id, session: a.session, doubtful: true}
	if err := a.zookeeper.Delete(later, -1); !settled(err) {
		return err // what is left of it goes with the id, at the end
	}
	return nil
}

// isPermanent tells whether a node belongs to no session and so cannot be that of a contender. It remembers such nodes.
func (a *attempt) isPermanent(name string, stat *zk.Stat) bool {
	permanent := stat.EphemeralOwner == 0 && !a.off(foreignCounted)
	if permanent {
		a.permanent[name] = true
	}
	return permanent
}
