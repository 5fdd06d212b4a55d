package scenarios

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockstep-sim/lockstep/sim"
)

// TestDeadWriter holds what a connection says of a write: nothing of its loss once its machine has crashed, so that
// go-zookeeper's main goroutine can end, but the truth as long as the machine lives.
func TestDeadWriter(t *testing.T) {
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
					c := deadWriter{Conn: conn, process: client}
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
