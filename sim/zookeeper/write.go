package zookeeper

import (
	"slices"
	"strconv"
)

// change is a checked request, ready to be applied to the tree.
type change struct {
	op           Op
	path, parent string
	data         []byte
	acl          []ACL
	owner        int64
	creates      int32 // of the parent, after a create
	version      int32 // new version of the data or the ACL
}

// write carries out a request that takes a transaction, which it does also when it fails.
func (s *State) write(c *Client, r *Request, now Moment) {
	p := &s.reply
	s.zxid++
	switch {
	case r.Op == OpCloseSession:
		s.close(c)
	case r.Malformed:
		p.Err = MarshallingError
		if r.Op == OpReconfig {
			s.zxid-- // the one request that is read before it takes a transaction
		}
	case r.Op == OpReconfig:
		p.Err = ReconfigDisabled
	case r.Op == OpMulti:
		s.multi(c, r, now)
	default:
		check := preparation{state: s, client: c}
		change, code := check.prepare(r)
		if p.Err = code; code == OK {
			s.apply(c, &change, p, now)
		}
		// ZooKeeper has no reply for a check that succeeds outside of a multi, and sends none.
		p.Silent = r.Op == OpCheck && code == OK
	}
}

// close ends the client's session by its own wish: the reply comes first, then the end of the connection.
func (s *State) close(c *Client) {
	s.zxid-- // end takes the transaction
	s.sessions[c.Session].attached = false
	s.end(c.Session)
	s.reply.Close = true
}

// multi carries out all of its requests in one transaction, or none. Each is checked against what those before it would
// leave.
func (s *State) multi(c *Client, r *Request, now Moment) {
	if len(r.Ops) > 0 && r.Ops[0].isRead() {
		s.reply.Err = MarshallingError
		return
	}
	check := preparation{state: s, client: c, pending: map[string]record{}}
	changes := make([]change, len(r.Ops))
	for i := range r.Ops {
		if r.Ops[i].Malformed {
			s.reply.Err = MarshallingError
			return
		}
		var code Code
		if changes[i], code = check.prepare(&r.Ops[i]); code != OK {
			s.abort(len(r.Ops), i, code)
			return
		}
	}
	p := &s.reply
	for i := range changes {
		result := Reply{Op: changes[i].op}
		s.apply(c, &changes[i], &result, now)
		if result.Op == OpCreateContainer || result.Op == OpCreateTTL {
			result.Op = OpCreate2 // whose reply they have
		}
		p.Results = append(p.Results, result)
	}
}

// abort answers a multi that failed at one of its requests.
func (s *State) abort(requests, failed int, code Code) {
	for i := range requests {
		result := Reply{Op: opError}
		switch {
		case i == failed:
			result.Err = code
		case i > failed:
			result.Err = RuntimeInconsistency
		}
		s.reply.Results = append(s.reply.Results, result)
	}
}

// record is a node as the checks see it.
type record struct {
	exists                     bool
	acl                        []ACL
	owner                      int64
	version, aversion, creates int32
	children                   int
}

// preparation checks requests without any effect on the tree. The requests of a multi see each other's effects through
// pending, which is nil otherwise.
type preparation struct {
	state   *State
	client  *Client
	pending map[string]record
}

func (p *preparation) record(path string) (record, bool) {
	if r, ok := p.pending[path]; ok {
		return r, r.exists
	}
	n := p.state.tree.nodes[path]
	if n == nil {
		return record{}, false
	}
	return record{true, n.acl, n.owner, n.version, n.aversion, n.creates, n.children.size}, true
}

func (p *preparation) note(path string, r record) {
	if p.pending != nil {
		p.pending[path] = r
	}
}

func (p *preparation) prepare(r *Request) (change, Code) {
	switch r.Op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
		return p.create(r)
	case OpDelete:
		return p.delete(r)
	case OpSetData:
		return p.setData(r)
	case OpSetACL:
		return p.setACL(r)
	case OpCheck:
		return p.check(r)
	}
	return change{}, BadArguments // deleteContainer is for the server alone
}

func (p *preparation) create(r *Request) (change, Code) {
	m, ok := modeOf(r.Flags)
	if !ok || m.ttl && (r.TTL <= 0 || r.TTL > maxTTL) || !m.ttl && r.TTL >= 0 {
		return change{}, BadArguments
	}
	path := r.Path
	parent, ok := parentOf(path)
	if !ok {
		return change{}, BadArguments
	}
	acl, code := resolveACL(r.ACL, p.client.ids)
	if code != OK {
		return change{}, code
	}
	above, ok := p.record(parent)
	if !ok {
		return change{}, NoNode
	}
	if !allowed(above.acl, PermCreate, p.client.ids) {
		return change{}, NoAuth
	}
	if m.sequential {
		path = sequentialName(path, above.creates)
	}
	if !validPath(path) {
		return change{}, BadArguments
	}
	if _, exists := p.record(path); exists {
		return change{}, NodeExists
	}
	if ownedBySession(above.owner) {
		return change{}, NoChildrenForEphemerals
	}
	return p.created(r, m, change{op: r.Op, path: path, parent: parent, data: r.Data, acl: acl}, above)
}

// created completes a create that nothing speaks against. The kind of node follows from the type of the request, as in
// ZooKeeper: a plain create with the mode of a container makes a persistent node.
func (p *preparation) created(r *Request, m mode, c change, parent record) (change, Code) {
	switch {
	case r.Op == OpCreateContainer:
		c.owner = containerOwner
	case r.Op == OpCreateTTL && m.ttl:
		c.owner = ttlMask | r.TTL
	case r.Op == OpCreateTTL:
		return c, BadArguments
	case m.ephemeral:
		c.owner = p.client.Session
	}
	parent.creates++
	parent.children++
	c.creates = parent.creates
	p.note(c.parent, parent)
	p.note(c.path, record{exists: true, acl: c.acl, owner: c.owner})
	return c, OK
}

// sequentialName appends the number of children that the parent has had, in ten digits. After 2147483647 follows
// -2147483648, which has eleven characters.
func sequentialName(prefix string, number int32) string {
	if number < 0 {
		digits := strconv.Itoa(int(-int64(number)))
		return prefix + "-" + "000000000"[:max(9-len(digits), 0)] + digits
	}
	digits := strconv.Itoa(int(number))
	return prefix + "0000000000"[:10-len(digits)] + digits
}

func (p *preparation) delete(r *Request) (change, Code) {
	parent, ok := parentOf(r.Path)
	if !ok || isSpecial(r.Path) {
		return change{}, BadArguments
	}
	above, ok := p.record(parent)
	if !ok {
		return change{}, NoNode
	}
	if !allowed(above.acl, PermDelete, p.client.ids) {
		return change{}, NoAuth
	}
	n, ok := p.record(r.Path)
	switch {
	case !ok:
		return change{}, NoNode
	case r.Version != -1 && r.Version != n.version:
		return change{}, BadVersion
	case n.children > 0:
		return change{}, NotEmpty
	}
	above.children--
	p.note(parent, above)
	p.note(r.Path, record{})
	return change{op: r.Op, path: r.Path, parent: parent}, OK
}

func (p *preparation) setData(r *Request) (change, Code) {
	n, code := p.target(r.Path, PermWrite)
	if code == OK && r.Version != -1 && r.Version != n.version {
		code = BadVersion
	}
	if code != OK {
		return change{}, code
	}
	n.version++
	p.note(r.Path, n)
	return change{op: r.Op, path: r.Path, data: r.Data, version: n.version}, OK
}

func (p *preparation) setACL(r *Request) (change, Code) {
	if !validPath(r.Path) {
		return change{}, BadArguments
	}
	acl, code := resolveACL(r.ACL, p.client.ids)
	if code != OK {
		return change{}, code
	}
	n, code := p.target(r.Path, PermAdmin)
	if code == OK && r.Version != -1 && r.Version != n.aversion {
		code = BadVersion
	}
	return change{op: r.Op, path: r.Path, acl: acl, version: n.aversion + 1}, code
}

func (p *preparation) check(r *Request) (change, Code) {
	n, code := p.target(r.Path, PermRead)
	if code == OK && r.Version != -1 && r.Version != n.version {
		code = BadVersion
	}
	return change{op: r.Op, path: r.Path}, code
}

// target finds a node that the client may do something to.
func (p *preparation) target(path string, perm int32) (record, Code) {
	if !validPath(path) {
		return record{}, BadArguments
	}
	n, ok := p.record(path)
	switch {
	case !ok:
		return n, NoNode
	case !allowed(n.acl, perm, p.client.ids):
		return n, NoAuth
	}
	return n, OK
}

// apply makes a change to the tree, tells those who watch for it, and fills in the reply.
func (s *State) apply(c *Client, change *change, p *Reply, now Moment) {
	p.Path = change.path
	switch change.op {
	case OpDelete:
		s.removeNode(change.parent, change.path)
		return
	case OpCheck:
		return
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
		p.Stat = s.createNode(change, now)
		return
	}
	n := s.tree.nodes[change.path]
	if change.op == OpSetData {
		n.data, n.version, n.mzxid, n.mtime = change.data, change.version, s.zxid, now.Wall
		s.fire(change.path, NodeDataChanged, s.data.trigger(change.path, NodeDataChanged), n.acl)
	} else {
		n.acl, n.aversion = change.acl, change.version
	}
	p.Stat = n.stat()
}

func (s *State) createNode(change *change, now Moment) Stat {
	n := &node{
		data: change.data, acl: change.acl, owner: change.owner,
		czxid: s.zxid, mzxid: s.zxid, pzxid: s.zxid, ctime: now.Wall, mtime: now.Wall,
	}
	if len(s.tree.fading) == 0 {
		s.swept = s.lastSweep(now)
	}
	s.tree.create(change.parent, change.path, n)
	above := s.tree.nodes[change.parent]
	if !s.sticks || change.creates > above.creates {
		above.creates, above.pzxid = change.creates, s.zxid
	}
	if ownedBySession(n.owner) {
		s.sessions[n.owner].ephemerals.add(change.path, defaultBuckets)
	}
	s.fire(change.path, NodeCreated, s.data.trigger(change.path, NodeCreated), n.acl)
	s.childrenChanged(change.parent)
	return n.stat()
}

// removeNode takes out a node in the current transaction. Who watches both its data and its children is told once.
func (s *State) removeNode(parent, path string) {
	n := s.tree.nodes[path]
	s.tree.remove(parent, path, s.zxid)
	if session := s.sessions[n.owner]; session != nil {
		session.ephemerals.remove(path)
	}
	told := s.data.trigger(path, NodeDeleted)
	s.fire(path, NodeDeleted, told, n.acl)
	both := s.children.trigger(path, NodeDeleted)
	isTold := func(c *Client) bool { return slices.Contains(told, c) }
	s.fire(path, NodeDeleted, slices.DeleteFunc(both, isTold), n.acl)
	s.childrenChanged(parent)
}

func (s *State) childrenChanged(parent string) {
	path := watchable(parent)
	s.fire(path, NodeChildrenChanged, s.children.trigger(path, NodeChildrenChanged), s.tree.nodes[path].acl)
}
