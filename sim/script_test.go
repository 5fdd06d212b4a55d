package sim

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// script is a small world described line by line: machines server (an echo Service), prog (a program that listens) and
// c1 to c3; programs on them, and what happens to them. TestScripts runs the ones in testdata/scripts and compares what
// programs report and what the network did.
//
//	latency FROM>TO D           all messages of a link take D (1 ms otherwise)
//	tap POINT COMMAND ACTION    strikes once, when the command reaches send, arrive or reply: an ACTION as below, or
//	                            lose [reset], delay D, vanish, repeat D
//	T ACTION                    pause|resume|crash|silence|restart|erase MACHINE, cut|reset|heal FROM>TO, slow FROM>TO D,
//	                            drift MACHINE PPM, heal all, hold MACHINE, release|reverse MACHINE (held timers)
//	T MACHINE: STEP; STEP       a program: do WORDS (direct), dial [MACHINE], write TEXT, read, end (half-close), close,
//	                            by D (read deadline from now on the machine's clock), sleep D, forever STEP, alarm D NAME
//	                            and tick D NAME (a timer and a ticker of the library's clock)
type script struct {
	t     *testing.T
	world *World
	j     journal
	taps  []*scriptTap
}

type scriptTap struct {
	point   Point
	command string
	action  []string
	struck  bool
}

func (s *script) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatalf("script: %v", err)
	}
	return d
}

func (s *script) node(name string) *Node {
	n := s.world.Node(name)
	if n == nil {
		s.t.Fatalf("script: no machine %q", name)
	}
	return n
}

func (s *script) link(text string) *Link {
	from, to, _ := strings.Cut(text, ">")
	return s.world.Link(s.node(from), s.node(to))
}

func (s *script) act(words []string) {
	switch words[0] {
	case "pause":
		s.node(words[1]).Pause()
	case "resume":
		s.node(words[1]).Resume()
	case "crash":
		s.node(words[1]).Crash(false)
	case "silence":
		s.node(words[1]).Crash(true)
	case "restart":
		s.node(words[1]).Restart(false)
	case "erase":
		s.node(words[1]).Restart(true)
	case "cut":
		s.link(words[1]).Cut(false)
	case "reset":
		s.link(words[1]).Cut(true)
	case "slow":
		s.link(words[1]).Slow(s.duration(words[2]))
	case "drift":
		var ppm int64
		fmt.Sscan(words[2], &ppm)
		s.node(words[1]).SetClockDrift(ppm)
	case "heal":
		if words[1] == "all" {
			s.world.HealLinks()
		} else {
			s.link(words[1]).Heal()
		}
	case "hold":
		s.node(words[1]).HoldTimers()
	case "release", "reverse":
		s.node(words[1]).ReleaseTimers(words[0] == "reverse")
	default:
		s.t.Fatalf("script: no action %q", words[0])
	}
}

func (s *script) tap(point Point, m *Message) {
	for _, tap := range s.taps {
		if tap.struck || tap.point != point || tap.command != m.Command() {
			continue
		}
		tap.struck = true
		s.world.Note(fmt.Sprintf("tap %s, number %d of %s", strings.Join(tap.action, " "), m.Number, m.Client().Name()))
		switch tap.action[0] {
		case "lose":
			m.Lose(len(tap.action) > 1)
		case "delay":
			m.Delay(s.duration(tap.action[1]))
		case "vanish":
			m.Vanish()
		case "repeat":
			m.Repeat(s.duration(tap.action[1]))
		default:
			s.act(tap.action)
		}
	}
}

// program is the state of one program: its direct client and its open wire connection.
type program struct {
	*script
	p      *Process
	direct *DirectClient
	conn   net.Conn
}

func (s *script) start(p *Process, steps string) {
	direct := p.NewDirectClient(DirectConfig{Address: "server", Timeout: 50 * time.Millisecond})
	g := &program{script: s, p: p, direct: direct}
	p.Go("program", func() {
		for step := range strings.SplitSeq(steps, ";") {
			words := strings.Fields(step)
			for forever := words[0] == "forever"; forever; {
				g.step(words[1:])
			}
			g.step(words)
		}
	})
}

func (g *program) step(words []string) {
	rest := strings.Join(words[1:], " ")
	switch words[0] {
	case "sleep":
		g.p.Clock().Sleep(g.duration(rest))
	case "alarm":
		g.p.LibraryClock().AfterFunc(g.duration(words[1]), func() { g.j.log(g.p, "%s", words[2]) })
	case "tick":
		ticker := g.p.LibraryClock().NewTicker(g.duration(words[1]))
		g.p.Go("ticker", func() {
			for range 4 {
				<-ticker.Chan()
				g.j.log(g.p, "%s", words[2])
			}
			ticker.Stop()
		})
	case "do":
		args := make([]any, 0, 4)
		for _, w := range words[1:] {
			args = append(args, w)
		}
		v, err := g.direct.Do(g.p.Context(), args...)
		if err != nil {
			v = err
		}
		g.j.log(g.p, "%s: %v", rest, v)
	case "dial":
		host := "server"
		if rest != "" {
			host = rest
		}
		c, err := g.p.Dial(g.p.Context(), "tcp", host+":1")
		g.conn = c
		g.j.log(g.p, "dial: %v", err)
	case "write":
		if _, err := g.conn.Write([]byte(rest)); err != nil {
			g.j.log(g.p, "write %s: %v", rest, err)
		}
	case "read":
		b := make([]byte, 100)
		n, err := g.conn.Read(b)
		g.j.log(g.p, "read: %q %v", b[:n], err)
	case "by":
		g.conn.SetReadDeadline(g.p.Clock().Now().Add(g.duration(rest)))
	case "end":
		g.conn.(*wireConn).CloseWrite()
	case "close":
		g.j.log(g.p, "close: %v", g.conn.Close())
	default:
		g.t.Errorf("script: no step %q", words[0])
	}
}

// serve is the program of prog: it answers each segment of each connection with "re: ", until the connection ends.
func (s *script) serve(p *Process) {
	p.Go("listen", func() {
		l, err := p.Listen("tcp", ":1")
		if err != nil {
			s.t.Error(err)
			return
		}
		for {
			c, err := l.Accept()
			if err != nil {
				s.j.log(p, "%v", err)
				return
			}
			p.Go("serve", func() {
				defer c.Close()
				b := make([]byte, 100)
				for {
					n, err := c.Read(b)
					if err != nil {
						s.j.log(p, "%v", err)
						return
					}
					c.Write(append([]byte("re: "), b[:n]...))
				}
			})
		}
	})
}

func (s *script) line(text string) {
	when, what, _ := strings.Cut(text, " ")
	words := strings.Fields(what)
	switch when {
	case "latency":
		s.link(words[0]).SetLatency(Fixed(s.duration(words[1])))
		return
	case "tap":
		point := map[string]Point{"send": PointSend, "arrive": PointArrive, "reply": PointReply}[words[0]]
		s.taps = append(s.taps, &scriptTap{point: point, command: words[1], action: words[2:]})
		return
	}
	at := s.duration(when)
	if machine, steps, ok := strings.Cut(what, ": "); ok {
		s.world.At(at, func() { s.start(s.node(machine).Process(), steps) })
	} else {
		s.world.At(at, func() { s.act(words) })
	}
}

// render writes what the trace says, without what is plain deliveries of sends.
func (s *script) render(r Result, trace bool) string {
	var b strings.Builder
	fmt.Fprintln(&b, s.j.String())
	if trace {
		for _, e := range r.Trace.Entries {
			place := e.From
			if e.To != "" {
				place = fmt.Sprintf("%s>%s#%d", e.From, e.To, e.Conn)
			}
			fmt.Fprintf(&b, "  %2d %s %s %s %s <%d\n", e.Index, milliseconds(e.Time), e.Kind, place, e.Text, e.Cause)
		}
	}
	if r.Err != nil {
		fmt.Fprintln(&b, "error:", r.Err)
	}
	if len(r.Leaks) > 0 {
		fmt.Fprintln(&b, "leaks:", r.Leaks)
	}
	return strings.TrimLeft(b.String(), "\n")
}

func (s *script) run(t *testing.T, lines []string, timers bool) Result {
	config := steady(Config{Seed: 1, Trace: Full, Taps: []Tap{s.tap}, RuntimeTimers: timers})
	return Run(t, config, func(w *World) {
		s.world = w
		w.NewNode(NodeConfig{Name: "server", Service: &echo{}})
		prog := w.NewNode(NodeConfig{Name: "prog", Describe: (&echo{}).Describe, OnRestart: s.serve})
		s.serve(prog.Process())
		for _, name := range []string{"c1", "c2", "c3"} {
			w.NewNode(NodeConfig{Name: name})
		}
		for _, line := range lines {
			if line, _, _ = strings.Cut(line, "#"); strings.TrimSpace(line) != "" {
				s.line(strings.TrimSpace(line))
			}
		}
		w.RunUntil(10*time.Second, nil)
	})
}

// TestScripts replays testdata/scripts. Each script runs without and with the runtime's timers and must say the same.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			lines := strings.Split(d.Input, "\n")
			plain, timed := &script{t: t}, &script{t: t}
			r := plain.run(t, lines, false)
			other := timed.run(t, lines, true)
			difference := FirstDifference(&r.Trace, &other.Trace)
			if difference != "" || !slices.Equal(plain.j.lines, timed.j.lines) {
				t.Errorf("%s: the runtime's timers change the run: %s", d.Pos, difference)
			}
			return plain.render(r, d.HasArg("trace"))
		})
	})
}
