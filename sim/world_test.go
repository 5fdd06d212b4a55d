package sim

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// echo is a Service that answers every request with its own words and counts them.
type echo struct{ count int }

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

// journal collects what goroutines of a world report, in the world's order.
type journal struct{ lines []string }

// log reports from a goroutine of p.
func (j *journal) log(p *Process, format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	w := p.node.world
	p.Do(0, func() { j.lines = append(j.lines, fmt.Sprintf("%s %s %s", milliseconds(w.Now()), p.node.name, line)) })
}

func (j *journal) String() string { return strings.Join(j.lines, "\n") }

// milliseconds rounds true time so that the nanoseconds of event streams do not show.
func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1fms", float64(d.Round(100*time.Microsecond))/float64(time.Millisecond))
}

func expect(t *testing.T, j *journal, want ...string) {
	t.Helper()
	if got := j.String(); got != strings.Join(want, "\n") {
		t.Errorf("reported:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
}

// clean fails the test unless the run ended well and left nothing behind.
func clean(t *testing.T, r Result) Result {
	t.Helper()
	if r.Err != nil || len(r.Leaks) > 0 {
		t.Fatalf("the run ended with error %v, leaks %v", r.Err, r.Leaks)
	}
	return r
}

// steady is a world whose messages all take a millisecond.
func steady(config Config) Config {
	config.Latency = Fixed(time.Millisecond)
	return config
}

// both runs a test in worlds without and with the runtime's timers.
func both(t *testing.T, f func(t *testing.T, config Config)) {
	for _, timers := range []bool{false, true} {
		t.Run(fmt.Sprintf("runtime timers %v", timers), func(t *testing.T) {
			f(t, steady(Config{Seed: 1, Trace: Full, RuntimeTimers: timers}))
		})
	}
}

func TestEchoOverBothTransports(t *testing.T) {
	both(t, func(t *testing.T, config Config) {
		var j journal
		clean(t, Run(t, config, func(w *World) {
			w.NewNode(NodeConfig{Name: "server", Service: &echo{}})
			p := w.NewNode(NodeConfig{Name: "c1"}).Process()
			p.Go("main", func() {
				d := p.NewDirectClient(DirectConfig{Address: "server"})
				for i := range 3 {
					v, err := d.Do(context.Background(), "HELLO", i, []byte("b"), true, 1.5, nil)
					j.log(p, "%v %v", v, err)
				}
				_, err := d.Do(context.Background(), struct{}{})
				j.log(p, "%v", err)
				c, err := p.Dial(context.Background(), "tcp", "server:1")
				if err != nil {
					j.log(p, "%v", err)
					return
				}
				c.Write([]byte("a  b"))
				b := make([]byte, 10)
				k, err := c.Read(b)
				j.log(p, "%s %v, %v to %v", b[:k], err, c.LocalAddr(), c.RemoteAddr())
				c.Close()
				d.Close()
			})
			w.RunUntil(time.Minute, nil)
			if w.Now() != time.Minute {
				t.Errorf("the world ends at %v, want 1m", w.Now())
			}
		}))
		expect(
			t, &j,
			"4.0ms c1 HELLO 0 b 1 1.5  <nil>",
			"6.0ms c1 HELLO 1 b 1 1.5  <nil>",
			"8.0ms c1 HELLO 2 b 1 1.5  <nil>",
			"8.0ms c1 argument {}: a struct {} cannot be sent; use a string, number or bool",
			"12.0ms c1 a b <nil>, c1:2 to server:1",
		)
	})
}
