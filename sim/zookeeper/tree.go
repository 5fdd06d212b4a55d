package zookeeper

import "math"

// Stat describes a node as its readers see it.
type Stat struct {
	Czxid          int64 // transaction that created the node
	Mzxid          int64 // transaction that changed its data last
	Ctime          int64 // milliseconds since the epoch by the server's wall clock
	Mtime          int64
	Version        int32 // changes of the data
	Cversion       int32 // changes of the children
	Aversion       int32 // changes of the ACL
	EphemeralOwner int64 // session of an ephemeral node, else 0
	DataLength     int32
	NumChildren    int32
	Pzxid          int64 // transaction that changed the children last
}

// Marks in the place of an owner.
const (
	containerOwner int64 = math.MinInt64
	ttlMask        int64 = -1 << 56 // the top byte
	maxTTL         int64 = 1<<40 - 1
)

// ownedBySession tells whether an owner is a session.
func ownedBySession(owner int64) bool {
	return owner != 0 && owner != containerOwner && owner&ttlMask != ttlMask
}

func isTTL(owner int64) bool { return owner&ttlMask == ttlMask }

// node is one node of the tree.
type node struct {
	data     []byte
	acl      []ACL
	czxid    int64
	mzxid    int64
	pzxid    int64
	ctime    int64
	mtime    int64
	version  int32
	aversion int32
	owner    int64 // a session, a mark, or 0
	// creates counts the children that were ever created. It is the number behind sequential names.
	creates  int32
	children hashSet
}

func (n *node) stat() Stat {
	children := int32(n.children.size)
	owner := n.owner
	if !ownedBySession(owner) {
		owner = 0 // that it is a container or has a time to live is the server's own knowledge
	}
	return Stat{
		Czxid: n.czxid, Mzxid: n.mzxid, Ctime: n.ctime, Mtime: n.mtime,
		// Every child that is gone was created and deleted once, every other was created.
		Version: n.version, Cversion: n.creates*2 - children, Aversion: n.aversion,
		EphemeralOwner: owner, DataLength: int32(len(n.data)), NumChildren: children, Pzxid: n.pzxid,
	}
}

// tree is the nodes by path. The root is there twice, as "/" and as "", the parent of "/name".
type tree struct {
	nodes map[string]*node
	// fading are the paths of container and TTL nodes.
	fading map[string]struct{}
}

func newTree() tree {
	root := &node{data: []byte{}, acl: openACL}
	system := &node{data: []byte{}, acl: openACL}
	root.children.add("zookeeper", childBuckets)
	system.children.add("quota", childBuckets)
	system.children.add("config", childBuckets)
	return tree{
		nodes: map[string]*node{
			"": root, rootPath: root, systemPath: system, quotaPath: {data: []byte{}, acl: openACL},
			configPath: {data: []byte{}, acl: readACL, aversion: -1},
		},
		fading: map[string]struct{}{},
	}
}

// create puts in a node whose parent is there.
func (t *tree) create(parent, path string, n *node) {
	t.nodes[path] = n
	t.nodes[parent].children.add(path[len(parent)+1:], childBuckets)
	if n.owner == containerOwner || isTTL(n.owner) {
		t.fading[path] = struct{}{}
	}
}

// remove takes out a node that is there.
func (t *tree) remove(parent, path string, zxid int64) {
	p := t.nodes[parent]
	p.children.remove(path[len(parent)+1:])
	p.pzxid = max(p.pzxid, zxid)
	delete(t.nodes, path)
	delete(t.fading, path)
}
