package zookeeper

import (
	"slices"
	"strings"
)

// read carries out a request that changes nothing but watches.
func (s *State) read(c *Client, r *Request) {
	p := &s.reply
	switch r.Op {
	case OpExists:
		p.Err = s.exists(c, r, p)
	case OpGetData, OpGetChildren, OpGetChildren2, OpGetACL, OpGetAllChildrenNumber:
		p.Err = s.readNode(c, r, p)
	case OpMultiRead:
		s.multiRead(c, r)
	case OpSync:
		p.Path = r.Path
	case OpSetWatches, OpSetWatches2:
		s.setWatches(c, r)
	case OpAddWatch:
		p.Err = s.addWatch(c, r)
	case OpCheckWatches, OpRemoveWatches:
		p.Err = s.findWatch(c, r)
	case OpGetEphemerals:
		s.ephemerals(c, r)
	case OpWhoAmI:
		p.ids = append([]ID(nil), c.ids...)
	}
}

// exists asks for no permission, and its watch is set whether the node is there or not.
func (s *State) exists(c *Client, r *Request, p *Reply) Code {
	if strings.IndexByte(r.Path, 0) >= 0 {
		return BadArguments
	}
	if r.Watch {
		s.data.add(r.Path, c, oneShot)
	}
	n := s.tree.nodes[r.Path]
	if n == nil {
		return NoNode
	}
	p.Stat = n.stat()
	return OK
}

// readNode answers what is asked of one node, to those who may read it.
func (s *State) readNode(c *Client, r *Request, p *Reply) Code {
	n := s.tree.nodes[r.Path]
	if n == nil {
		return NoNode
	}
	perm := PermRead
	if r.Op == OpGetACL {
		perm |= PermAdmin
	}
	if !allowed(n.acl, perm, c.ids) {
		return NoAuth
	}
	p.Stat = n.stat()
	switch r.Op {
	case OpGetData:
		p.Data = n.data
		if r.Watch {
			s.data.add(r.Path, c, oneShot)
		}
	case OpGetChildren, OpGetChildren2:
		p.Children = n.children.list(p.Children)
		if r.Watch {
			s.children.add(r.Path, c, oneShot)
		}
	case OpGetACL:
		p.ACL = n.acl
		if !allowed(n.acl, PermAdmin, c.ids) {
			p.ACL = masked(n.acl)
		}
	case OpGetAllChildrenNumber:
		p.Number = s.countBelow(r.Path)
	}
	return OK
}

// countBelow is the number of nodes below a path.
func (s *State) countBelow(path string) int32 {
	if path == rootPath {
		return int32(len(s.tree.nodes) - 2)
	}
	n := int32(0)
	for other := range s.tree.nodes { // order-free: a count
		if strings.HasPrefix(other, path) && strings.HasPrefix(other[len(path):], "/") {
			n++
		}
	}
	return n
}

func (s *State) multiRead(c *Client, r *Request) {
	p := &s.reply
	if len(r.Ops) > 0 && !r.Ops[0].isRead() {
		p.Err, p.emptyList = MarshallingError, true
		return
	}
	for i := range r.Ops {
		result := Reply{Op: r.Ops[i].Op}
		if result.Err = s.readNode(c, &r.Ops[i], &result); result.Err != OK {
			result.Op = opError
		}
		p.Results = append(p.Results, result)
	}
}

// setWatches registers the watches of a client that comes back. What has changed since the client last heard of it is
// told at once.
func (s *State) setWatches(c *Client, r *Request) {
	for _, path := range r.Watches[dataList] {
		n := s.tree.nodes[path]
		s.renew(c, &s.data, path, n != nil && n.mzxid <= r.Zxid, changeOf(n, NodeDataChanged))
	}
	for _, path := range r.Watches[existList] {
		s.renew(c, &s.data, path, s.tree.nodes[path] == nil, NodeCreated)
	}
	for _, path := range r.Watches[childList] {
		n := s.tree.nodes[path]
		s.renew(c, &s.children, path, n != nil && n.pzxid <= r.Zxid, changeOf(n, NodeChildrenChanged))
	}
	for _, path := range r.Watches[persistentList] {
		s.data.add(path, c, persistent)
		s.children.add(path, c, persistent)
	}
	for _, path := range r.Watches[recursiveList] {
		s.data.add(path, c, recursive)
		s.children.add(path, c, recursive)
	}
}

// renew sets a watch on what is as the client knows it, and tells of what is not.
func (s *State) renew(c *Client, t *watches, path string, unchanged bool, event EventType) {
	if unchanged {
		t.add(path, c, oneShot)
		return
	}
	s.Events = append(s.Events, Event{c.Conn, event, path})
}

// changeOf is what happened to a node that may have been deleted since.
func changeOf(n *node, change EventType) EventType {
	if n == nil {
		return NodeDeleted
	}
	return change
}

// Modes of addWatch, and types of checkWatches and removeWatches, as numbered on the wire.
const (
	addPersistent = 0
	addRecursive  = 1

	typeChildren = 1
	typeData     = 2
	typeAny      = 3
)

func (s *State) addWatch(c *Client, r *Request) Code {
	mode := persistent
	switch r.Mode {
	case addPersistent:
	case addRecursive:
		mode = recursive
	default:
		return MarshallingError
	}
	s.data.add(r.Path, c, mode)
	s.children.add(r.Path, c, mode)
	return OK
}

// findWatch answers checkWatches, which finds anybody's watch, as in ZooKeeper, and removeWatches, which finds the
// client's own.
func (s *State) findWatch(c *Client, r *Request) Code {
	var tables []*watches
	switch r.Mode {
	case typeChildren:
		tables = []*watches{&s.children}
	case typeData:
		tables = []*watches{&s.data}
	case typeAny:
		tables = []*watches{&s.children, &s.data}
	default:
		return MarshallingError
	}
	if r.Op == OpCheckWatches && r.Path != "" && !strings.Contains(r.Path, "/") {
		return MarshallingError // ZooKeeper stumbles over a path that has no parent
	}
	found := false
	for _, t := range tables {
		if r.Op == OpRemoveWatches {
			found = t.remove(r.Path, c.Conn) || found
		} else {
			found = t.has(r.Path) || found
		}
	}
	if !found {
		return NoWatcher
	}
	return OK
}

// ephemerals lists the ephemeral nodes of the session below a prefix.
func (s *State) ephemerals(c *Client, r *Request) {
	paths := s.sessions[c.Session].ephemerals.listClone(nil)
	if prefix := strings.TrimSpace(r.Path); prefix != "" && prefix != rootPath {
		paths = slices.DeleteFunc(paths, func(path string) bool { return !strings.HasPrefix(path, r.Path) })
	}
	s.reply.Children = append(s.reply.Children, paths...)
}
