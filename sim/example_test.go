package sim_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/lockstep-sim/lockstep/sim"
)

// counter is a Service that counts requests.
type counter struct{ requests int }

type session struct{ counter *counter }

func (c *counter) Accept(*sim.ServiceConn) sim.Session { return session{c} }
func (c *counter) Describe([]byte) []string            { return nil } // nobody connects by wire
func (c *counter) Restart(empty bool) {
	if empty {
		c.requests = 0
	}
}

func (s session) Command([]string) (reply any, raw []byte, later bool) {
	s.counter.requests++
	return s.counter.requests, fmt.Append(nil, s.counter.requests), false
}
func (s session) Bytes([]byte) {}
func (s session) Closed()      {}

// Two clients ask one server. The first one loses a reply after its request was executed; the second one stands still
// for a second, in which its clock goes on.
func Example() {
	lost := false
	loseOneReply := func(point sim.Point, m *sim.Message) {
		if point == sim.PointReply && m.Client().Name() == "c1" && !lost {
			lost = true
			m.Lose(true)
		}
	}
	config := sim.Config{Seed: 1, Latency: sim.Fixed(time.Millisecond), Taps: []sim.Tap{loseOneReply}}
	// Outside of tests, testing.T is only what testing/synctest asks for.
	result := sim.Run(new(testing.T), config, func(w *sim.World) {
		w.NewNode(sim.NodeConfig{Name: "server", Service: &counter{}})
		for _, name := range []string{"c1", "c2"} {
			p := w.NewNode(sim.NodeConfig{Name: name}).Process()
			p.Go("main", func() {
				client := p.NewDirectClient(sim.DirectConfig{Address: "server"})
				for range 2 {
					reply, err := client.Do(p.Context(), "COUNT")
					now := p.Clock().Now().Format(".000")
					p.Do(0, func() { fmt.Println(name, "at", now, reply, err) })
					p.Clock().Sleep(100 * time.Millisecond)
				}
			})
		}
		w.At(50*time.Millisecond, w.Node("c2").Pause)
		w.At(1050*time.Millisecond, w.Node("c2").Resume)
		w.RunUntil(time.Minute, nil)
	})
	fmt.Println(result.End, result.Leaks, result.Err)
	// Output:
	// c1 at .003 <nil> connection reset by peer
	// c2 at .004 2 <nil>
	// c1 at .107 3 <nil>
	// c2 at .052 4 <nil>
	// 1m0s [] <nil>
}

func ExampleTrace_WriteJSONL() {
	config := sim.Config{Seed: 1, Latency: sim.Fixed(time.Millisecond), Trace: sim.Full}
	result := sim.Run(new(testing.T), config, func(w *sim.World) {
		w.NewNode(sim.NodeConfig{Name: "server", Service: &counter{}})
		n := w.NewNode(sim.NodeConfig{Name: "c1"})
		n.Process().Go("main", func() {
			n.Process().NewDirectClient(sim.DirectConfig{Address: "server"}).Connect(n.Process().Context())
		})
		w.At(time.Second, func() { n.Crash(true) })
		w.RunUntil(time.Minute, nil)
	})
	result.Trace.WriteJSONL(os.Stdout)
	// Output:
	// {"index":1,"time":0,"kind":"send","from":"c1","to":"server","conn":1,"text":"open"}
	// {"index":2,"time":1003524,"kind":"deliver","from":"c1","to":"server","conn":1,"cause":1,"text":"open"}
	// {"index":3,"time":1003524,"kind":"send","from":"server","to":"c1","conn":1,"cause":2,"text":"opened"}
	// {"index":4,"time":2007045,"kind":"deliver","from":"server","to":"c1","conn":1,"cause":3,"text":"opened"}
	// {"index":5,"time":1000000000,"kind":"node","from":"c1","text":"crashed, its peers see nothing"}
}
