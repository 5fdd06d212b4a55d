package scenarios

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockstep-sim/lockstep/sim"
)

// TestZKConnAfterTheEnd holds what a connection says of a write: nothing of its loss once its machine has crashed, so
// that go-zookeeper's main goroutine can end, but the truth as long as the machine lives.
func TestZKConnAfterTheEnd(t *testing.T) {
	for name, test := range map[string]struct {
		crash string
		want  error
	}{
		"its machine crashed": {"client", nil},
		"the peer crashed":    {"server", sim.ErrReset},
	} {
		t.Run(name, func(t *testing.T) {
			result := sim.Run(t, sim.Config{Seed: 1}, func(w *sim.World) {
				server := w.NewNode(sim.NodeConfig{Name: "server"}).Process()
				client := w.NewNode(sim.NodeConfig{Name: "client"}).Process()
				server.Go("listen", func() {
					if l, err := server.Listen("tcp", "server:2181"); err == nil {
						_, _ = l.Accept()
					}
				})
				client.Go("dial", func() {
					conn, err := client.Dial(context.Background(), "tcp", "server:2181")
					if err != nil {
						t.Error(err)
						return
					}
					c := zkConn{Conn: conn, process: client}
					_, _ = c.Read(make([]byte, 1)) // until the connection is cut
					if n, err := c.Write([]byte("ping")); !errors.Is(err, test.want) || err == nil && n != 4 {
						t.Errorf("Write = %d, %v; want the error %v", n, err, test.want)
					}
				})
				w.At(time.Second, func() { w.Node(test.crash).Crash(false) })
				w.RunUntil(2*time.Second, nil)
			})
			if result.Err != nil || len(result.Leaks) > 0 {
				t.Errorf("error %v, leaks %v", result.Err, result.Leaks)
			}
		})
	}
}

// TestSortWatches sorts the lists of a request that sets watches, and leaves alone whatever is something else.
func TestSortWatches(t *testing.T) {
	const head = "\x00\x00\x00\x40\xff\xff\xff\xf8\x00\x00\x00\x65\x00\x00\x00\x00\x00\x00\x00\x07"
	list := func(paths ...string) string {
		text := "\x00\x00\x00" + string(rune(len(paths)))
		for _, path := range paths {
			text += "\x00\x00\x00" + string(rune(len(path))) + path
		}
		return text
	}
	for name, test := range map[string]struct{ request, want string }{
		"three lists": {
			head + list("/l/2", "/l/10", "/l/1") + list() + list("/b", "/a"),
			head + list("/l/1", "/l/10", "/l/2") + list() + list("/a", "/b"),
		},
		"sorted":       {head + list("/a", "/b") + list() + list(), head + list("/a", "/b") + list() + list()},
		"with a rest":  {head + list("/b", "/a") + list() + list() + "!", head + list("/a", "/b") + list() + list() + "!"},
		"cut off":      {head + list("/b", "/a") + list(), head + list("/b", "/a") + list()},
		"too long":     {head + "\x00\x00\x00\x01\xff\xff\xff\xff", head + "\x00\x00\x00\x01\xff\xff\xff\xff"},
		"another type": {"\x00\x00\x00\x40\x00\x00\x00\x01\x00\x00\x00\x0c" + list("/b", "/a"), ""},
		"short":        {"\x00\x00", ""},
	} {
		want := test.want
		if want == "" {
			want = test.request
		}
		before := []byte(test.request)
		if got := sortWatches(before); string(got) != want || !bytes.Equal(before, []byte(test.request)) {
			t.Errorf("%s: got %q, want %q; the request itself is %q", name, got, want, before)
		}
	}
}
