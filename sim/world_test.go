package sim

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// echo answers every request with its own words and counts them.
type echo struct {
	node  *Node
	count int
}

type echoSession struct {
	echo *echo
	conn *ServiceConn
}

func (e *echo) Accept(conn *ServiceConn) Session { return &echoSession{e, conn} }
func (e *echo) Describe(p []byte) []string       { return strings.Fields(string(p)) }
func (e *echo) Restart(empty bool) {
	if empty {
		e.count = 0
	}
}

func (s *echoSession) Command(args []string) (any, []byte, bool) {
	s.echo.count++
	reply := strings.Join(args, " ")
	return reply, []byte(reply), false
}

func (s *echoSession) Bytes(p []byte) {
	s.echo.count++
	s.conn.Write([]byte(strings.Join(strings.Fields(string(p)), " ")))
}
func (s *echoSession) Closed() {}

func TestSmoke(t *testing.T) {
	for _, runtimeTimers := range []bool{false, true} {
		var log []string
		r := Run(t, Config{Seed: 1, Trace: Full, RuntimeTimers: runtimeTimers}, func(w *World) {
			w.NewNode(NodeConfig{Name: "server", Service: &echo{}})
			n := w.NewNode(NodeConfig{Name: "c1"})
			p := n.Process()
			p.Go("main", func() {
				d := p.NewDirectClient(DirectConfig{Address: "server"})
				for i := range 3 {
					v, err := d.Do(context.Background(), "HELLO", i)
					log = append(log, fmt.Sprint(v, err, w.Now() > 0))
				}
				c, err := p.Dial(context.Background(), "tcp", "server:1")
				if err != nil {
					log = append(log, err.Error())
					return
				}
				c.SetReadDeadline(time.Now().Add(time.Second))
				c.Write([]byte("a  b"))
				b := make([]byte, 10)
				k, err := c.Read(b)
				log = append(log, fmt.Sprint(string(b[:k]), err))
				p.Clock().Sleep(time.Second)
				c.Close()
			})
			w.RunUntil(time.Minute, nil)
		})
		t.Log(strings.Join(log, "\n"))
		for _, e := range r.Trace.Entries {
			t.Log(e)
		}
		t.Log(r.Hash, r.Leaks, r.Err, r.End)
	}
}

func BenchmarkDirectEcho(b *testing.B) {
	b.ReportAllocs()
	for _, runtimeTimers := range []bool{false, true} {
		b.Run(fmt.Sprintf("runtimeTimers=%v", runtimeTimers), func(b *testing.B) {
			n := b.N
			Run(&testing.T{}, Config{Seed: 1, RuntimeTimers: runtimeTimers, MaxEvents: 1 << 60}, func(w *World) {
				w.NewNode(NodeConfig{Name: "server", Service: &echo{}})
				p := w.NewNode(NodeConfig{Name: "c1"}).Process()
				done := false
				p.Go("main", func() {
					d := p.NewDirectClient(DirectConfig{Address: "server"})
					for range n {
						d.Do(p.Context(), "SETNX", "job")
					}
					p.Do(0, func() { done = true })
				})
				w.RunUntil(1<<62, func() bool { return done })
			})
		})
	}
}
