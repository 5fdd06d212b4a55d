package zookeeper

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockstep-sim/lockstep/sim"
)

// onlyHost names one server, in the way that lets zk.Conn wait between attempts.
type onlyHost struct {
	address string
	tried   bool
}

func (h *onlyHost) Init([]string) error { return nil }
func (h *onlyHost) Len() int            { return 1 }
func (h *onlyHost) Connected()          { h.tried = false }
func (h *onlyHost) Next() (string, bool) {
	again := h.tried
	h.tried = true
	return h.address, again
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// dialZooKeeper returns the unmodified client library on a machine of the world.
func dialZooKeeper(p *sim.Process, address string, timeout time.Duration) (*zk.Conn, <-chan zk.Event) {
	c, events, err := zk.Connect([]string{address}, timeout,
		zk.WithDialer(func(network, address string, _ time.Duration) (net.Conn, error) {
			return p.Dial(context.Background(), network, address)
		}),
		zk.WithHostProvider(&onlyHost{address: address}), zk.WithLogger(quiet{}), zk.WithLogInfo(false),
		zk.WithMaxBufferSize(4096), zk.WithMaxConnBufferSize(4096))
	if err != nil {
		panic(err)
	}
	return c, events
}

// world runs clients for a minute and returns what they noted, in the order in which they did.
func world(t *testing.T, seed uint64, build func(w *sim.World, m *Machine, note func(string, ...any))) []string {
	t.Helper()
	var noted []string
	result := sim.Run(t, sim.Config{Seed: seed, RuntimeTimers: true}, func(w *sim.World) {
		m := NewMachine(w, Options{Name: "zookeeper"})
		build(w, m, func(format string, args ...any) { noted = append(noted, fmt.Sprintf(format, args...)) })
		w.RunUntil(time.Minute, nil)
	})
	if result.Err != nil || len(result.Leaks) > 0 {
		t.Fatalf("error %v, leaks %v", result.Err, result.Leaks)
	}
	return noted
}

func wantNotes(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

var openLibraryACL = zk.WorldACL(zk.PermAll)

func TestClientLibraryInAWorld(t *testing.T) {
	got := world(t, 1, func(w *sim.World, m *Machine, note func(string, ...any)) {
		p := w.NewNode(sim.NodeConfig{Name: "c1"}).Process()
		p.Go("main", func() {
			c, _ := dialZooKeeper(p, "zookeeper:2181", 10*time.Second)
			defer c.Close()
			path, err := c.Create("/a", []byte("x"), 0, openLibraryACL)
			note("create %s %v", path, err)
			path, err = c.Create("/a/n-", nil, zk.FlagEphemeral|zk.FlagSequence, openLibraryACL)
			note("create %s %v", path, err)
			children, stat, watch, err := c.ChildrenW("/a")
			note("children %v %d %v", children, stat.Cversion, err)
			note("delete %v", c.Delete(path, -1))
			note("event %v %s", (<-watch).Type, "/a")
			exists, _, watch, err := c.ExistsW("/b")
			note("exists %v %v", exists, err)
			_, err = c.Multi(&zk.CreateRequest{Path: "/b", Acl: openLibraryACL}, &zk.CheckVersionRequest{Path: "/a", Version: 7})
			note("multi %v", err)
			_, err = c.Multi(&zk.CreateRequest{Path: "/b", Acl: openLibraryACL}, &zk.SetDataRequest{Path: "/a", Version: 0})
			note("multi %v", err)
			note("event %v", (<-watch).Type)
			note("auth %v", c.AddAuth("digest", []byte("user:password")))
			_, err = c.Create("/c", nil, 0, zk.AuthACL(zk.PermAll))
			note("create %v", err)
			acl, _, err := c.GetACL("/c")
			note("acl %v %v", acl, err)
			_, err = c.CreateContainer("/d", nil, zk.FlagTTL-1, openLibraryACL)
			note("container %v", err)
			_, err = c.Sync("/a")
			note("sync %v", err)
			_, err = c.Reconfig([]string{"server.1=x"}, -1)
			note("reconfig %v", err)
		})
	})
	wantNotes(t, got, []string{
		"create /a <nil>", "create /a/n-0000000000 <nil>", "children [n-0000000000] 1 <nil>", "delete <nil>",
		"event EventNodeChildrenChanged /a", "exists false <nil>", "multi zk: version conflict", "multi <nil>",
		"event EventNodeCreated", "auth <nil>", "create <nil>",
		"acl [{31 digest user:" + strings.TrimPrefix(Digest("user:password").Name, "user:") + "}] <nil>",
		"container <nil>", "sync <nil>",
		"reconfig attempts to perform a reconfiguration operation when reconfiguration feature is disabled",
	})
}
