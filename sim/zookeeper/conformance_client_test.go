package zookeeper_test

import (
	"fmt"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"
)

// behaviours are what locks need of the client library together with a server. Each notes what happened; a real server
// and this package's must both lead to what is written here.
var behaviours = []struct {
	name string
	run  func(l *laboratory)
	want []string
}{
	{"re-attach", reattach, []string{
		"the node is there", "the session is the same", "the node is its: true", "closed: the node is there: false",
	}},
	{"expiry", expiry, []string{
		"observer: EventNodeDeleted /mine", "the client is told: StateExpired", "a new session: true",
		"watch: EventNotWatching zk: session has been expired by the server", "the node is there: false",
		"created again: <nil>",
	}},
	{"expiry, never told", neverTold, []string{
		"observer: EventNodeDeleted /mine", "the client still believes in its session: true", "afterwards StateExpired",
	}},
	{"watch re-registration", rewatch, []string{
		"data: EventNodeDataChanged /data", "missing: EventNodeCreated /missing", "dir: EventNodeChildrenChanged /dir",
		"gone: EventNodeDeleted /gone", "later: EventNodeDataChanged /later",
	}},
	{"protected create, reply lost", protectedCreate, []string{
		"error <nil>", "children 1", "the name is its: true", "the owner is: true",
	}},
	{"create, reply lost", lostCreate, []string{
		"error zk: connection closed", "the node is there: true", "again: zk: node already exists",
	}},
	{"delete, reply lost", lostDelete, []string{
		"error zk: connection closed", "the node is there: false", "again: zk: node does not exist",
	}},
	{"half-open connection", halfOpen, []string{"error zk: connection closed", "data"}},
	{"credentials after a cut", credentials, []string{
		"stranger: zk: not authenticated", "before: <nil>", "after: <nil>",
	}},
	{"lock of the library", libraryLock, []string{
		"first: <nil>", "second waits", "first leaves: <nil>", "second: <nil>", "second leaves: <nil>", "children 0",
	}},
	{"every operation", everyOperation, []string{
		"create /a <nil>", "container /c <nil>", "ttl /t <nil>", "set 1 <nil>", "get x 1 <nil>", "children [a c t] <nil>",
		"setACL 1 <nil>", "getACL [{31 world anyone}] <nil>", "sync /a <nil>", "check, create, set, delete: 4 <nil>",
		"check fails: zk: version conflict", "not empty: zk: node has children", "bad path: zk: invalid path",
		"below an ephemeral: zk: ephemeral nodes may not have children", "no acl: zk: invalid ACL specified",
	}},
}

// TestConformanceClient runs the client library against this package's server, in the time of a bubble.
func TestConformanceClient(t *testing.T) {
	for _, b := range behaviours {
		t.Run(b.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &laboratory{t: t, on: startOurs(t, sweep, false)}
				b.run(l)
				l.leave()
				if diff := cmp.Diff(b.want, l.noted); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// TestConformanceClientReal runs the client library against a ZooKeeper.
func TestConformanceClientReal(t *testing.T) {
	for _, b := range behaviours {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			l := &laboratory{t: t, on: startReal(t, sweep)}
			b.run(l)
			l.leave()
			if diff := cmp.Diff(b.want, l.noted); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// laboratory is a server and the clients of a test.
type laboratory struct {
	t       *testing.T
	on      target
	clients []*client
	noted   []string
}

func (l *laboratory) note(format string, args ...any) {
	l.noted = append(l.noted, fmt.Sprintf(format, args...))
}

// client is a connection of the library, and the relay that it goes through.
type client struct {
	*zk.Conn
	l      *laboratory
	relay  *relay
	events <-chan zk.Event
}

// client connects with a session of 4 ticks and waits until it has one.
func (l *laboratory) client() *client {
	c := &client{l: l, relay: newRelay(l.on)}
	conn, events, err := zk.Connect([]string{"127.0.0.1:2181"}, 4*realTick*time.Millisecond,
		zk.WithDialer(func(string, string, time.Duration) (net.Conn, error) { return c.relay.dial() }),
		zk.WithHostProvider(&oneHost{}), zk.WithLogger(noLog{}), zk.WithLogInfo(false))
	if err != nil {
		l.t.Fatal(err)
	}
	c.Conn, c.events = conn, events
	l.clients = append(l.clients, c)
	c.until(zk.StateHasSession)
	return c
}

// leave ends all clients.
func (l *laboratory) leave() {
	for _, c := range l.clients {
		c.relay.set(func(r *relay) { r.closed, r.mute = false, false })
		c.Close()
		for range c.events { // until the library's goroutines are done
		}
		c.relay.cut()
	}
}

// until waits for a state.
func (c *client) until(state zk.State) {
	c.l.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		select {
		case event, open := <-c.events:
			if !open {
				c.l.t.Fatalf("the client ended before it reached %v", state)
			}
			if event.Type == zk.EventSession && event.State == state {
				return
			}
		case <-limit.C:
			c.l.t.Fatalf("the client never reached %v", state)
		}
	}
}

// event waits for the event of a watch.
func (l *laboratory) event(watch <-chan zk.Event) string {
	l.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case event := <-watch:
		if event.Err != nil {
			return fmt.Sprintf("%v %v", event.Type, event.Err)
		}
		return fmt.Sprintf("%v %v", event.Type, event.Path)
	case <-limit.C:
		l.t.Fatal("no event")
		return ""
	}
}

func (l *laboratory) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// create makes a node that must not fail.
func (c *client) create(path string, flags int32) {
	c.l.t.Helper()
	_, err := c.Create(path, nil, flags, zk.WorldACL(zk.PermAll))
	c.l.must(err)
}

func (c *client) has(path string) bool {
	c.l.t.Helper()
	there, _, err := c.Exists(path)
	c.l.must(err)
	return there
}

type oneHost struct{ tried bool }

func (h *oneHost) Init([]string) error { return nil }
func (h *oneHost) Len() int            { return 1 }
func (h *oneHost) Connected()          { h.tried = false }

func (h *oneHost) Next() (string, bool) {
	again := h.tried
	h.tried = true
	return "127.0.0.1:2181", again
}

type noLog struct{}

func (noLog) Printf(string, ...any) {}

func reattach(l *laboratory) {
	c, other := l.client(), l.client()
	c.create("/mine", zk.FlagEphemeral)
	id := c.SessionID()
	c.relay.cut()
	c.until(zk.StateHasSession)
	if other.has("/mine") {
		l.note("the node is there")
	}
	if c.SessionID() == id {
		l.note("the session is the same")
	}
	_, stat, err := c.Get("/mine")
	l.must(err)
	l.note("the node is its: %t", stat.EphemeralOwner == id)
	c.Close()
	l.note("closed: the node is there: %t", other.has("/mine"))
}

// expireNode waits, as another client, until the session of a client without a connection is over.
func expireNode(l *laboratory, c, other *client) {
	there, _, watch, err := other.ExistsW("/mine")
	l.must(err)
	if !there {
		l.t.Fatal("the node is gone too early")
	}
	c.relay.set(func(r *relay) { r.closed = true })
	c.relay.cut()
	l.note("observer: %s", l.event(watch))
}

func expiry(l *laboratory) {
	c, other := l.client(), l.client()
	c.create("/mine", zk.FlagEphemeral)
	_, _, watch, err := c.ExistsW("/other")
	l.must(err)
	id := c.SessionID()
	expireNode(l, c, other)
	c.relay.set(func(r *relay) { r.closed = false })
	c.until(zk.StateExpired)
	l.note("the client is told: %v", zk.StateExpired)
	c.until(zk.StateHasSession)
	l.note("a new session: %t", c.SessionID() != id && c.SessionID() != 0)
	l.note("watch: %s", l.event(watch))
	l.note("the node is there: %t", c.has("/mine"))
	_, err = c.Create("/mine", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	l.note("created again: %v", err)
}

// neverTold is the client that cannot know: its session is over, and nobody can tell it.
func neverTold(l *laboratory) {
	c, other := l.client(), l.client()
	c.create("/mine", zk.FlagEphemeral)
	id := c.SessionID()
	expireNode(l, c, other)
	l.note("the client still believes in its session: %t", c.SessionID() == id)
	c.relay.set(func(r *relay) { r.closed = false })
	c.until(zk.StateExpired)
	l.note("afterwards %v", zk.StateExpired)
}

func rewatch(l *laboratory) {
	c, other := l.client(), l.client()
	for _, path := range []string{"/data", "/dir", "/gone", "/later"} {
		other.create(path, 0)
	}
	_, _, data, err := c.GetW("/data")
	l.must(err)
	_, _, missing, err := c.ExistsW("/missing")
	l.must(err)
	_, _, dir, err := c.ChildrenW("/dir")
	l.must(err)
	_, _, gone, err := c.ExistsW("/gone")
	l.must(err)
	_, _, later, err := c.GetW("/later")
	l.must(err)
	c.relay.set(func(r *relay) { r.closed = true })
	c.relay.cut()
	_, err = other.Set("/data", []byte("x"), -1)
	l.must(err)
	other.create("/missing", 0)
	other.create("/dir/child", 0)
	l.must(other.Delete("/gone", -1))
	c.relay.set(func(r *relay) { r.closed = false })
	c.until(zk.StateHasSession)
	l.note("data: %s", l.event(data))
	l.note("missing: %s", l.event(missing))
	l.note("dir: %s", l.event(dir))
	l.note("gone: %s", l.event(gone))
	_, err = other.Set("/later", []byte("x"), -1)
	l.must(err)
	l.note("later: %s", l.event(later))
}

// The numbers of requests on the wire.
const (
	opCreate = 1
	opDelete = 2
)

func protectedCreate(l *laboratory) {
	c, other := l.client(), l.client()
	other.create("/lock", 0)
	c.relay.set(func(r *relay) { r.lose = opCreate })
	path, err := c.CreateProtectedEphemeralSequential("/lock/lock-", nil, zk.WorldACL(zk.PermAll))
	l.note("error %v", err)
	<-c.relay.lost
	children, _, err := other.Children("/lock")
	l.must(err)
	l.note("children %d", len(children))
	l.note("the name is its: %t", len(children) == 1 && path == "/lock/"+children[0])
	_, stat, err := other.Get(path)
	l.must(err)
	l.note("the owner is: %t", stat.EphemeralOwner == c.SessionID())
}

func lostCreate(l *laboratory) {
	c := l.client()
	c.relay.set(func(r *relay) { r.lose = opCreate })
	_, err := c.Create("/mine", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	l.note("error %v", err)
	c.until(zk.StateHasSession)
	l.note("the node is there: %t", c.has("/mine"))
	_, err = c.Create("/mine", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	l.note("again: %v", err)
}

func lostDelete(l *laboratory) {
	c := l.client()
	c.create("/mine", 0)
	c.relay.set(func(r *relay) { r.lose = opDelete })
	l.note("error %v", c.Delete("/mine", -1))
	c.until(zk.StateHasSession)
	l.note("the node is there: %t", c.has("/mine"))
	l.note("again: %v", c.Delete("/mine", -1))
}

// halfOpen is a connection that swallows everything: the client finds out by itself and comes back. Whether it does so
// in time for its session is chance: the library may have dialled once more before the relay lets bytes through again.
func halfOpen(l *laboratory) {
	c, other := l.client(), l.client()
	_, err := other.Create("/data", []byte("data"), 0, zk.WorldACL(zk.PermAll))
	l.must(err)
	c.relay.set(func(r *relay) { r.mute = true })
	_, _, err = c.Get("/data")
	l.note("error %v", err)
	c.relay.set(func(r *relay) { r.mute = false })
	// The library drops events that nobody has read yet, and there were many: a request that is answered tells better
	// that it is back. Each try lasts until the next connection.
	for tries := 0; ; tries++ {
		if _, _, err := c.Exists("/"); err == nil {
			break
		} else if tries == 100 {
			l.t.Fatalf("the client never came back: %v", err)
		}
	}
	data, _, err := c.Get("/data")
	l.must(err)
	l.note("%s", data)
}

func credentials(l *laboratory) {
	c, stranger := l.client(), l.client()
	l.must(c.AddAuth("digest", []byte("user:password")))
	_, err := c.Create("/secret", nil, 0, zk.DigestACL(zk.PermAll, "user", "password"))
	l.must(err)
	_, _, err = stranger.Get("/secret")
	l.note("stranger: %v", err)
	_, _, err = c.Get("/secret")
	l.note("before: %v", err)
	c.relay.cut()
	c.until(zk.StateHasSession)
	_, _, err = c.Get("/secret")
	l.note("after: %v", err)
}

func libraryLock(l *laboratory) {
	c, other := l.client(), l.client()
	first := zk.NewLock(c.Conn, "/lock", zk.WorldACL(zk.PermAll))
	second := zk.NewLock(other.Conn, "/lock", zk.WorldACL(zk.PermAll))
	l.note("first: %v", first.Lock())
	entered := make(chan error)
	go func() { entered <- second.Lock() }()
	for limit := time.Now().Add(patience); ; {
		children, _, err := c.Children("/lock")
		l.must(err)
		if len(children) == 2 {
			break
		}
		if time.Now().After(limit) {
			l.t.Fatal("the second never queued")
		}
		time.Sleep(time.Millisecond)
	}
	select {
	case err := <-entered:
		l.note("second: %v while the first is in", err)
	default:
		l.note("second waits")
	}
	l.note("first leaves: %v", first.Unlock())
	l.note("second: %v", <-entered)
	l.note("second leaves: %v", second.Unlock())
	children, _, err := c.Children("/lock")
	l.must(err)
	l.note("children %d", len(children))
}

func everyOperation(l *laboratory) {
	c, open := l.client(), zk.WorldACL(zk.PermAll)
	path, err := c.Create("/a", nil, 0, open)
	l.note("create %s %v", path, err)
	path, err = c.CreateContainer("/c", nil, zk.FlagContainer, open)
	l.note("container %s %v", path, err)
	path, err = c.CreateTTL("/t", nil, zk.FlagTTL, open, time.Hour)
	l.note("ttl %s %v", path, err)
	stat, err := c.Set("/a", []byte("x"), 0)
	l.note("set %d %v", stat.Version, err)
	data, stat, err := c.Get("/a")
	l.note("get %s %d %v", data, stat.Version, err)
	children, _, err := c.Children("/")
	slices.Sort(children)
	l.note("children %v %v", slices.DeleteFunc(children, func(name string) bool { return name == "zookeeper" }), err)
	stat, err = c.SetACL("/a", open, 0)
	l.note("setACL %d %v", stat.Aversion, err)
	list, _, err := c.GetACL("/a")
	l.note("getACL %v %v", list, err)
	path, err = c.Sync("/a")
	l.note("sync %s %v", path, err)
	results, err := c.Multi(
		&zk.CheckVersionRequest{Path: "/a", Version: 1},
		&zk.CreateRequest{Path: "/a/e", Acl: open, Flags: zk.FlagEphemeral},
		&zk.SetDataRequest{Path: "/a", Data: []byte("y"), Version: 1},
		&zk.DeleteRequest{Path: "/t", Version: -1},
	)
	l.note("check, create, set, delete: %d %v", len(results), err)
	_, err = c.Multi(&zk.CheckVersionRequest{Path: "/a", Version: 1})
	l.note("check fails: %v", err)
	l.note("not empty: %v", c.Delete("/a", -1))
	_, err = c.Create("/a/", nil, 0, open)
	l.note("bad path: %v", err)
	_, err = c.Create("/a/e/f", nil, 0, open)
	l.note("below an ephemeral: %v", err)
	_, err = c.Create("/n", nil, 0, nil)
	l.note("no acl: %v", err)
}
