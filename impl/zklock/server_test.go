package zklock

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// server is as much of a ZooKeeper server as the locks here ask for. It is a state machine: it knows no goroutine and
// no connection, and its watches and expiries are pulled by the play around it.
type server struct {
	nodes    map[string]*stored
	zxid     int64
	sessions map[int64]*session
}

// stored is a node.
type stored struct {
	data    string
	czxid   int64
	owner   int64 // session, 0 = persistent
	counter int32 // the number of the next sequential child
}

// session is the server's side of a session.
type session struct {
	heard   time.Time
	watches map[string]bool // "deleted /path" and so on
	events  []zk.Event      // fired and not fetched
}

func newServer() *server {
	return &server{nodes: map[string]*stored{"/": {}}, sessions: map[int64]*session{}}
}

func (s *server) open(id int64, now time.Time) {
	s.sessions[id] = &session{heard: now, watches: map[string]bool{}}
}

// expire ends a session with its nodes.
func (s *server) expire(id int64) {
	delete(s.sessions, id)
	for _, path := range slices.Sorted(maps.Keys(s.nodes)) {
		if s.nodes[path].owner == id {
			s.remove(path)
		}
	}
}

func parent(path string) string {
	return path[:max(1, strings.LastIndex(path, "/"))]
}

func (s *server) create(path, data string, flags int32, owner int64) (string, error) {
	above := s.nodes[parent(path)]
	if above == nil {
		return "", zk.ErrNoNode
	}
	if flags&zk.FlagSequence != 0 {
		path += fmt.Sprintf("%010d", above.counter)
		above.counter++
	}
	if s.nodes[path] != nil {
		return "", zk.ErrNodeExists
	}
	if flags&zk.FlagEphemeral == 0 {
		owner = 0
	}
	s.zxid++
	s.nodes[path] = &stored{data: data, czxid: s.zxid, owner: owner}
	s.fire(zk.EventNodeCreated, path)
	return path, nil
}

func (s *server) delete(path string) error {
	if s.nodes[path] == nil {
		return zk.ErrNoNode
	}
	if len(s.children(path)) > 0 {
		return zk.ErrNotEmpty
	}
	s.remove(path)
	return nil
}

func (s *server) remove(path string) {
	s.zxid++
	delete(s.nodes, path)
	s.fire(zk.EventNodeDeleted, path)
}

func (s *server) set(path, data string) error {
	n := s.nodes[path]
	if n == nil {
		return zk.ErrNoNode
	}
	s.zxid++
	n.data = data
	s.fire(zk.EventNodeDataChanged, path)
	return nil
}

func (s *server) children(path string) []string {
	var names []string
	for _, p := range slices.Sorted(maps.Keys(s.nodes)) {
		if p != "/" && parent(p) == path {
			names = append(names, p[strings.LastIndex(p, "/")+1:])
		}
	}
	return names
}

func (s *server) stat(path string) *zk.Stat {
	n := s.nodes[path]
	if n == nil {
		return &zk.Stat{}
	}
	return &zk.Stat{Czxid: n.czxid, EphemeralOwner: n.owner}
}

// watch sets a watch on a node that is there or not.
func (s *server) watch(id int64, path string) {
	if session := s.sessions[id]; session != nil {
		session.watches[path] = true
	}
}

func (s *server) fire(what zk.EventType, path string) {
	for _, id := range slices.Sorted(maps.Keys(s.sessions)) {
		session := s.sessions[id]
		if session.watches[path] {
			delete(session.watches, path)
			session.events = append(session.events, zk.Event{Type: what, State: zk.StateHasSession, Path: path})
		}
	}
}

// render lists the nodes below the root.
func (s *server) render() string {
	var text strings.Builder
	for _, path := range slices.Sorted(maps.Keys(s.nodes)) {
		n := s.nodes[path]
		if path == "/" {
			continue
		}
		fmt.Fprintf(&text, "%s", path)
		if n.owner != 0 {
			fmt.Fprintf(&text, " of session %d", n.owner)
		}
		text.WriteString("\n")
	}
	return text.String()
}
