package zklock

import "github.com/go-zookeeper/zk"

// release deletes the node of a hold that was still good when its owner gave it up.
func (c *contender) release(o *operation, h *hold) {
	n := h.node
	err := c.zookeeper.Delete(n.path, -1)
	switch {
	case err == zk.ErrNoNode || err == zk.ErrSessionExpired:
		c.keepStale(n)
		c.drop()
		err = c.lossError()
	case refused(err):
		h.takeBack(c.period())
		o.answer(false, err)
		return
	case err != nil:
		c.keepStale(n)
		c.drop()
		if c.off(releaseOnce) {
			o.answer(true, nil)
			return
		}
		c.leaving = &n
		o.answer(false, err)
		c.remove(n)
		return
	default:
		c.drop()
	}
	if !o.answer(err == nil, err) {
		c.leaving = &n // who has left before the answer will ask again
	}
	if n.doubtful {
		c.sweep(n)
	}
}

// releaseAgain repeats a release whose result was unknown. The hold was good when the first was sent, and the section
// ended there, so any answer will do.
func (c *contender) releaseAgain(o *operation, n node) {
	if err := c.zookeeper.Delete(n.path, -1); !settled(err) {
		o.answer(false, err)
		return
	}
	if o.answer(true, nil) {
		c.leaving = nil
	}
}

// keepStale remembers a node that may be gone, for the ablation that takes it to be there.
func (c *contender) keepStale(n node) {
	if c.off(ownNodeUnverified) {
		c.stale = &n
	}
}

// remove deletes a node that has become useless, if need be in the background.
func (c *contender) remove(n node) {
	c.insist(n.session, func() bool { return settled(c.zookeeper.Delete(n.path, -1)) })
	if n.doubtful {
		c.sweep(n)
	}
}

// sweep deletes what was made with the id of a node, if need be in the background.
func (c *contender) sweep(n node) {
	c.insist(n.session, func() bool {
		paths, err := c.find(n.id)
		if err != nil {
			return settled(err)
		}
		for _, path := range paths {
			if !settled(c.zookeeper.Delete(path, -1)) {
				return false
			}
		}
		return true
	})
}

// find returns the paths of the nodes whose data is id, the oldest first.
func (c *contender) find(id string) ([]string, error) {
	names, _, err := c.zookeeper.Children(c.dir)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, p := range c.places(names) {
		data, _, err := c.zookeeper.Get(c.dir + "/" + p.name)
		switch {
		case err == zk.ErrNoNode || err == zk.ErrNoAuth:
		case err != nil:
			return nil, err
		case string(data) == id:
			found = append(found, c.dir+"/"+p.name)
		}
	}
	return found, nil
}

// insist does something until it is done: first here, then in the background, for as long as the session lives that it
// is about. With the session its nodes end.
func (c *contender) insist(session int64, do func() (done bool)) {
	if do() {
		return
	}
	c.start(func() {
		for pause := c.retry; ; pause = min(2*pause, c.retryMax) {
			c.clock.Sleep(pause)
			if c.closed.Load() || c.succeeded(session) || do() {
				return
			}
		}
	})
}

// succeeded tells whether another session has come after the given one. 0 stands for none.
func (c *contender) succeeded(session int64) bool {
	now := c.zookeeper.SessionID()
	return session != 0 && now != 0 && now != session
}

// settled tells whether an answer to a delete leaves nothing to be done by asking again.
func settled(err error) bool { return err == nil || refused(err) || err == zk.ErrSessionExpired }
