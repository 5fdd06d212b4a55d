package zookeeper

import (
	"maps"
	"slices"
	"strings"
)

// watchMode says how long a watch lasts and what it sees.
type watchMode uint8

const (
	oneShot watchMode = iota
	persistent
	recursive // persistent, and for everything below its path
)

// watch is the interest of one connection in one path.
type watch struct {
	client *Client
	mode   watchMode
}

// watches is a table of watches. A server has two: for data and existence, and for children. A connection has at most
// one watch on a path in each; setting another replaces its mode, as in ZooKeeper.
//
// Those who watch the same path are told in the order in which they came; ZooKeeper promises none.
type watches struct {
	byPath    map[string][]watch
	byConn    map[uint64]map[string]struct{}
	recursive int // watches of that mode
}

func (t *watches) add(path string, c *Client, mode watchMode) {
	conn := c.Conn
	if t.byPath == nil {
		t.byPath, t.byConn = map[string][]watch{}, map[uint64]map[string]struct{}{}
	}
	list := t.byPath[path]
	if i := t.find(list, conn); i >= 0 {
		t.countRecursive(list[i].mode, -1)
		list[i].mode = mode
	} else {
		t.byPath[path] = append(list, watch{c, mode})
		if t.byConn[conn] == nil {
			t.byConn[conn] = map[string]struct{}{}
		}
		t.byConn[conn][path] = struct{}{}
	}
	t.countRecursive(mode, 1)
}

func (t *watches) find(list []watch, conn uint64) int {
	return slices.IndexFunc(list, func(w watch) bool { return w.client.Conn == conn })
}

func (t *watches) countRecursive(mode watchMode, by int) {
	if mode == recursive {
		t.recursive += by
	}
}

// has tells whether anybody watches a path.
func (t *watches) has(path string) bool { return len(t.byPath[path]) > 0 }

// remove ends the watch of a connection on a path and tells whether there was one.
func (t *watches) remove(path string, conn uint64) bool {
	list := t.byPath[path]
	i := t.find(list, conn)
	if i < 0 {
		return false
	}
	t.countRecursive(list[i].mode, -1)
	t.setList(path, slices.Delete(list, i, i+1))
	t.forget(path, conn)
	return true
}

// removeConn ends all watches of a connection.
func (t *watches) removeConn(conn uint64) {
	for _, path := range slices.Collect(maps.Keys(t.byConn[conn])) { // order-free: it leaves no trace
		t.remove(path, conn)
	}
}

func (t *watches) setList(path string, list []watch) {
	if len(list) == 0 {
		delete(t.byPath, path)
	} else {
		t.byPath[path] = list
	}
}

func (t *watches) forget(path string, conn uint64) {
	delete(t.byConn[conn], path)
	if len(t.byConn[conn]) == 0 {
		delete(t.byConn, conn)
	}
}

// trigger returns the clients that an event on a path is for, and ends the watches that it uses up.
func (t *watches) trigger(path string, event EventType) []*Client {
	told := t.triggerOn(path, event)
	if t.recursive == 0 || event == NodeChildrenChanged {
		return told
	}
	for path != rootPath {
		path = watchable(path[:strings.LastIndexByte(path, '/')])
		for _, w := range t.byPath[path] {
			if w.mode == recursive && !slices.Contains(told, w.client) {
				told = append(told, w.client)
			}
		}
	}
	return told
}

func (t *watches) triggerOn(path string, event EventType) (told []*Client) {
	list := t.byPath[path]
	if len(list) == 0 {
		return told
	}
	kept := list[:0]
	for _, w := range list {
		if w.mode != recursive || event != NodeChildrenChanged {
			told = append(told, w.client)
		}
		if w.mode == oneShot {
			t.forget(path, w.client.Conn)
		} else {
			kept = append(kept, w)
		}
	}
	t.setList(path, kept)
	return told
}
