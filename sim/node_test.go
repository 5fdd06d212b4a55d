package sim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestMachinesAreFoundByName(t *testing.T) {
	clean(t, Run(t, steady(Config{}), func(w *World) {
		a := w.NewNode(NodeConfig{Name: "a"})
		b := w.NewNode(NodeConfig{Name: "b"})
		if w.Node("a") != a || w.Node("x") != nil || !slices.Equal(w.Nodes(), []*Node{a, b}) || a.Name() != "a" {
			t.Error("a machine is not found, or one that is not there is")
		}
		if a.Process().Node() != a || a.Process().Incarnation() != 1 {
			t.Errorf("incarnation %d", a.Process().Incarnation())
		}
		defer func() {
			if fmt.Sprint(recover()) != `sim: two machines are named "a"` {
				t.Error("a second machine of the same name is taken")
			}
		}()
		w.NewNode(NodeConfig{Name: "a"})
	}))
}

// TestCrashUnwindsEverything has a goroutine in every kind of wait. None is left, and nothing that they do after the
// crash reaches the world.
func TestCrashUnwindsEverything(t *testing.T) {
	both(t, func(t *testing.T, config Config) {
		for _, silent := range []bool{false, true} {
			var j journal
			var mutex sync.Mutex
			ended := map[string]error{}
			restarted := false
			r := clean(t, Run(t, config, func(w *World) {
				w.NewNode(NodeConfig{Name: "server", Service: &echo{}})
				silence := w.NewNode(NodeConfig{Name: "silence", Service: &echo{}})
				silence.Pause()
				n := w.NewNode(NodeConfig{Name: "c1", OnRestart: func(p *Process) { restarted = p.Incarnation() == 2 }})
				other := w.NewNode(NodeConfig{Name: "c2"})
				for p, all := range map[*Process]map[string]func() error{
					n.Process(): waits(n.Process()), other.Process(): waitsForEver(other.Process()),
				} {
					for name, wait := range all {
						p.Go(name, func() {
							err := errors.New("unwound")
							defer func() { mutex.Lock(); ended[name] = err; mutex.Unlock(); j.log(p, "%s: %v", name, err) }()
							err = wait()
						})
					}
				}
				w.At(10*time.Millisecond, func() {
					n.Crash(silent)
					other.Crash(silent)
					n.Process().Go("late", func() { t.Error("a dead machine runs") })
				})
				w.RunUntil(10*time.Millisecond, nil)
				w.RunUntil(20*time.Millisecond, nil)
				if left := w.runningLocked(); len(left) > 0 {
					t.Errorf("still there after the crash: %v", left)
				}
				n.Restart(false)
				w.RunUntil(time.Minute, nil)
			}))
			if len(j.lines) > 0 {
				t.Errorf("reported after the crash:\n%v", &j)
			}
			for _, e := range r.Trace.Entries {
				if e.From == "c1" && e.Time > 12*time.Millisecond && e.Text != "restarted" && e.Kind != KindDrop {
					t.Errorf("after the crash: %v", e)
				}
			}
			checkEnds(t, ended)
			if !restarted {
				t.Error("OnRestart was not called for incarnation 2")
			}
		}
	})
}

// waits are all the ways to wait for the world.
func waits(p *Process) map[string]func() error {
	background := context.Background()
	direct := func(address string) func() error {
		return func() error {
			_, err := p.NewDirectClient(DirectConfig{Address: address, Timeout: time.Hour}).Do(background, "A")
			return err
		}
	}
	return map[string]func() error{
		"sleep":  func() error { p.Clock().Sleep(time.Hour); return nil },
		"timer":  func() error { <-p.Clock().NewTimer(time.Hour).Chan(); return nil },
		"after":  func() error { <-p.Clock().After(time.Hour); return nil },
		"ticker": func() error { <-p.Clock().NewTicker(time.Hour).Chan(); return nil },
		"after func": func() error {
			c := make(chan int)
			p.Clock().AfterFunc(time.Hour, func() { close(c) })
			<-c
			return nil
		},
		"context":     func() error { <-p.Context().Done(); return context.Cause(p.Context()) },
		"direct call": direct("silence"),
		"dial":        func() error { _, err := p.Dial(background, "tcp", "silence:1"); return err },
		"read": func() error {
			c, err := p.Dial(background, "tcp", "server:1")
			if err != nil {
				return err
			}
			_, err = c.Read(make([]byte, 1))
			if _, late := c.Write([]byte("x")); !errors.Is(late, ErrCrashed) {
				return late
			}
			return err
		},
		"accept": func() error {
			l, err := p.Listen("tcp", ":1")
			if err != nil {
				return err
			}
			_, err = l.Accept()
			return err
		},
	}
}

// waitsForEver are programs that take no notice of errors.
func waitsForEver(p *Process) map[string]func() error {
	background := context.Background()
	return map[string]func() error{
		"retry": func() error {
			d := p.NewDirectClient(DirectConfig{Address: "server"})
			for {
				d.Do(background, "A")
			}
		},
		"timers for ever": func() error {
			for {
				<-p.Clock().After(time.Second)
			}
		},
		"read for ever": func() error {
			c, err := p.Dial(background, "tcp", "server:1")
			if err != nil {
				return err
			}
			for {
				c.Read(make([]byte, 1))
			}
		},
		"accept for ever": func() error {
			l, err := p.Listen("tcp", ":2")
			if err != nil {
				return err
			}
			for {
				l.Accept()
			}
		},
	}
}

func checkEnds(t *testing.T, ended map[string]error) {
	t.Helper()
	for _, name := range []string{"context", "direct call", "dial", "read", "accept"} {
		if !errors.Is(ended[name], ErrCrashed) {
			t.Errorf("%s ended with %v, want ErrCrashed", name, ended[name])
		}
	}
	for _, name := range []string{"timer", "after", "ticker", "after func"} {
		if err, ok := ended[name]; !ok || err != nil {
			t.Errorf("%s ended with %v, want it to be let go", name, err)
		}
	}
	for _, name := range []string{"sleep", "retry", "timers for ever", "read for ever", "accept for ever"} {
		if err := ended[name]; err == nil || err.Error() != "unwound" {
			t.Errorf("%s ended with %v, want its goroutine to be ended", name, err)
		}
	}
}

// TestRestartKeepsOrForgets: a Service keeps its data unless it is restarted empty, and its sessions are closed once.
func TestRestartKeepsOrForgets(t *testing.T) {
	both(t, func(t *testing.T, config Config) {
		service := &echo{}
		var counts []int
		clean(t, Run(t, config, func(w *World) {
			s := w.NewNode(NodeConfig{Name: "server", Service: service})
			p := w.NewNode(NodeConfig{Name: "c1"}).Process()
			p.Go("main", func() {
				d := p.NewDirectClient(DirectConfig{Address: "server"})
				for range 10 {
					d.Do(p.Context(), "A")
					p.Clock().Sleep(10 * time.Millisecond)
				}
			})
			for i, empty := range []bool{false, true} {
				w.At(time.Duration(i+1)*40*time.Millisecond, func() {
					counts = append(counts, service.count)
					s.Restart(empty)
					counts = append(counts, service.count)
				})
			}
			w.RunUntil(time.Minute, nil)
		}))
		if counts[0] == 0 || counts[1] != counts[0] || counts[2] <= counts[1] || counts[3] != 0 {
			t.Errorf("before and after each restart: %v", counts)
		}
	})
}

// closing is a Service whose sessions close their connection at once, in every callback.
type closing struct {
	conns  []*ServiceConn
	closed int
}

func (c *closing) Accept(conn *ServiceConn) Session { c.conns = append(c.conns, conn); return c }
func (c *closing) Describe([]byte) []string         { return nil }
func (c *closing) Restart(bool)                     {}
func (c *closing) Command([]string) (any, []byte, bool) {
	c.conns[0].Close()
	c.conns[0].Close()
	c.conns[0].Write([]byte("too late"))
	c.conns[0].Reply("too late", nil)
	return nil, nil, false
}
func (c *closing) Bytes([]byte) { c.conns[0].Write([]byte("bye")); c.conns[0].Close() }
func (c *closing) Closed() {
	c.closed++
	for _, conn := range c.conns {
		conn.Close()
	}
}

func TestServiceClosesItsConnections(t *testing.T) {
	both(t, func(t *testing.T, config Config) {
		service := &closing{}
		var j journal
		clean(t, Run(t, config, func(w *World) {
			s := w.NewNode(NodeConfig{Name: "server", Service: service})
			p := w.NewNode(NodeConfig{Name: "c1"}).Process()
			p.Go("main", func() {
				d := p.NewDirectClient(DirectConfig{Address: "server"})
				v, err := d.Do(p.Context(), "A")
				j.log(p, "%v %v", v, err)
				c, err := p.Dial(p.Context(), "tcp", "server:1")
				j.log(p, "%v", err)
				service.conns = service.conns[1:]
				c.Write([]byte("A"))
				b := make([]byte, 10)
				n, err := c.Read(b)
				j.log(p, "%s %v", b[:n], err)
				_, err = c.Read(b)
				j.log(p, "%v", err)
				for range 3 {
					p.Dial(p.Context(), "tcp", "server:1")
				}
			})
			w.At(time.Second, func() { s.Crash(false) }) // each Closed closes all the others
			w.RunUntil(time.Minute, nil)
		}))
		expect(
			t, &j, "4.0ms c1 <nil> connection reset by peer", "6.0ms c1 <nil>", "8.0ms c1 bye <nil>", "8.0ms c1 EOF",
		)
		if service.closed != 1 {
			t.Errorf("Closed came %d times, want once: the other connections were closed by the Service", service.closed)
		}
	})
}

// late is a Service that answers when it is told to.
type late struct{ conn *ServiceConn }

func (l *late) Accept(conn *ServiceConn) Session       { l.conn = conn; return l }
func (l *late) Describe([]byte) []string               { return nil }
func (l *late) Restart(bool)                           {}
func (l *late) Command(a []string) (any, []byte, bool) { return nil, nil, true }
func (l *late) Bytes([]byte)                           {}
func (l *late) Closed()                                {}

func TestLateReplies(t *testing.T) {
	both(t, func(t *testing.T, config Config) {
		service := &late{}
		var j journal
		var seen []string
		config.Taps = []Tap{func(p Point, m *Message) {
			seen = append(seen, fmt.Sprintf("%v %v %v %v %v %s %s %s",
				p, m.Reply, m.Args, m.Number, m.Conn(), m.From().Name(), m.To().Name(), m.Server().Name()))
		}}
		clean(t, Run(t, config, func(w *World) {
			w.NewNode(NodeConfig{Name: "server", Service: service})
			p := w.NewNode(NodeConfig{Name: "c1"}).Process()
			p.Go("main", func() {
				d := p.NewDirectClient(DirectConfig{Address: "server", Timeout: time.Second})
				for range 2 {
					v, err := d.Do(p.Context(), "BLPOP", "q")
					j.log(p, "%v %v", v, err)
				}
			})
			w.At(500*time.Millisecond, func() { service.conn.Reply("item", []byte("item")) })
			w.At(3*time.Second, func() { service.conn.Reply("nobody waits", nil) })
			w.RunUntil(time.Minute, nil)
			if name := service.conn.Client().Name(); name != "c1" || service.conn.ID() != 1 {
				t.Errorf("connection %d of %s", service.conn.ID(), name)
			}
		}))
		expect(t, &j, "501.0ms c1 item <nil>", "1501.0ms c1 <nil> i/o timeout")
		want := []string{
			"1 false [BLPOP q] 1 1 c1 server server", "2 false [BLPOP q] 1 1 c1 server server",
			"3 true [BLPOP q] 1 1 server c1 server",
			"1 false [BLPOP q] 2 1 c1 server server", "2 false [BLPOP q] 2 1 c1 server server",
		}
		if !slices.Equal(seen, want) {
			t.Errorf("taps saw:\n%s\nwant:\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
		}
	})
}

// TestTapsAreAskedOncePerPoint although a pause holds the message back at each of them.
func TestTapsAreAskedOncePerPoint(t *testing.T) {
	both(t, func(t *testing.T, config Config) {
		var world *World
		asked := map[Point]int{}
		config.Taps = []Tap{func(point Point, m *Message) {
			asked[point]++
			n := m.From()
			if point == PointArrive {
				n = m.To()
			}
			n.Pause()
			world.At(world.Now()+10*time.Millisecond, n.Resume)
		}}
		var j journal
		clean(t, Run(t, config, func(w *World) {
			world = w
			w.NewNode(NodeConfig{Name: "server", Service: &echo{}})
			p := w.NewNode(NodeConfig{Name: "c1"}).Process()
			p.Go("main", func() {
				v, err := p.NewDirectClient(DirectConfig{Address: "server"}).Do(p.Context(), "A")
				j.log(p, "%v %v", v, err)
			})
			w.RunUntil(time.Minute, nil)
		}))
		expect(t, &j, "34.0ms c1 A <nil>")
		if asked[PointSend] != 1 || asked[PointArrive] != 1 || asked[PointReply] != 1 {
			t.Errorf("asked %v", asked)
		}
	})
}

// TestDescribedWordsAreTheMessagesOwn: a Describe that uses its slice again, and pipelined bytes that it cannot name.
func TestDescribedWordsAreTheMessagesOwn(t *testing.T) {
	var words []string
	describe := func(p []byte) []string {
		words = append(words[:0], strings.Fields(string(p))...)
		if len(words) != 1 {
			return nil
		}
		return words
	}
	var seen []string
	tap := func(p Point, m *Message) {
		if m.Client().Name() == "c1" {
			seen = append(seen, fmt.Sprintf("%v %v %v", p, m.Args, m.Command()))
		}
	}
	clean(t, Run(t, steady(Config{Taps: []Tap{tap}}), func(w *World) {
		s := &script{t: t, world: w}
		prog := w.NewNode(NodeConfig{Name: "prog", Describe: describe})
		s.serve(prog.Process())
		for i, name := range []string{"c1", "c2"} {
			p := w.NewNode(NodeConfig{Name: name}).Process()
			p.Go("main", func() {
				p.Clock().Sleep(time.Duration(i) * 500 * time.Microsecond) // their requests cross
				c, err := p.Dial(p.Context(), "tcp", "prog:1")
				if err != nil {
					t.Error(err)
					return
				}
				for _, text := range []string{"get", "a b", "set"} {
					c.Write([]byte(text + name[1:]))
					c.Read(make([]byte, 100))
				}
			})
		}
		w.RunUntil(time.Minute, nil)
	}))
	want := []string{
		"1 [get1] GET1", "2 [get1] GET1", "3 [get1] GET1", "1 [] ", "2 [] ", "3 [] ",
		"1 [set1] SET1", "2 [set1] SET1", "3 [set1] SET1",
	}
	if !slices.Equal(seen, want) {
		t.Errorf("taps saw %q\nwant %q", seen, want)
	}
}

func TestLatencyIsWithinItsRange(t *testing.T) {
	r := Range{2 * time.Millisecond, 5 * time.Millisecond}
	result := clean(t, Run(t, Config{Seed: 1, Trace: Full, Latency: r}, func(w *World) {
		w.NewNode(NodeConfig{Name: "server", Service: &echo{}})
		for i := range 20 {
			p := w.NewNode(NodeConfig{Name: fmt.Sprint("c", i)}).Process()
			p.Go("main", func() {
				d := p.NewDirectClient(DirectConfig{Address: "server"})
				for range 20 {
					d.Do(p.Context(), "A")
				}
			})
		}
		w.RunUntil(time.Minute, nil)
	}))
	shortest, longest := time.Hour, time.Duration(0)
	for _, e := range result.Trace.Entries {
		if e.Kind == KindDeliver {
			span := e.Time - result.Trace.Entries[e.Cause-1].Time
			shortest, longest = min(shortest, span), max(longest, span)
		}
	}
	if shortest < r.Min || longest > r.Max+residues || shortest > r.Min+100*time.Microsecond ||
		longest < r.Max-100*time.Microsecond {
		t.Errorf("messages took between %v and %v, want all of 2ms to 5ms", shortest, longest)
	}
}

// TestZeroLatency: messages without latency still come one after the other.
func TestZeroLatency(t *testing.T) {
	both(t, func(t *testing.T, config Config) {
		r := clean(t, Run(t, config, func(w *World) {
			s := w.NewNode(NodeConfig{Name: "server", Service: &echo{}})
			n := w.NewNode(NodeConfig{Name: "c1"})
			w.Link(n, s).SetLatency(Range{})
			w.Link(s, n).SetLatency(Fixed(-time.Second)) // nothing arrives before it was sent
			p := n.Process()
			p.Go("main", func() {
				d := p.NewDirectClient(DirectConfig{Address: "server"})
				for range 100 {
					if _, err := d.Do(p.Context(), "A"); err != nil {
						t.Error(err)
					}
				}
			})
			w.RunUntil(time.Minute, nil)
		}))
		last := time.Duration(0)
		for _, e := range r.Trace.Entries {
			if e.Time < last {
				t.Fatalf("time goes back at %v", e)
			}
			last = e.Time
		}
	})
}

func TestConnectionsOvertakeEachOther(t *testing.T) {
	var order []string
	tap := func(p Point, m *Message) {
		if p == PointArrive {
			order = append(order, m.Args[0])
		}
	}
	clean(t, Run(t, Config{Seed: 2, Taps: []Tap{tap}}, func(w *World) {
		w.NewNode(NodeConfig{Name: "server", Service: &echo{}})
		p := w.NewNode(NodeConfig{Name: "c1"}).Process()
		var ready []net.Conn
		for range 2 {
			p.Go("dial", func() {
				c, err := p.Dial(context.Background(), "tcp", "server:1")
				if err != nil {
					t.Error(err)
				}
				ready = append(ready, c)
			})
		}
		p.Go("main", func() {
			p.Clock().Sleep(time.Second)
			for i := range 50 {
				for k, c := range ready {
					fmt.Fprintf(c, "%c%02d", 'a'+k, i)
				}
			}
		})
		w.RunUntil(time.Minute, nil)
	}))
	if len(order) != 100 || slices.IsSortedFunc(order, func(a, b string) int { return strings.Compare(a[1:], b[1:]) }) {
		t.Errorf("connections never overtake each other: %v", order)
	}
	for _, conn := range "ab" {
		var own []string
		for _, word := range order {
			if rune(word[0]) == conn {
				own = append(own, word)
			}
		}
		if !slices.IsSorted(own) {
			t.Errorf("bytes of connection %c are out of order: %v", conn, own)
		}
	}
}

func TestPreparationLeavesNoMark(t *testing.T) {
	play := func(greetings int) Result {
		asked := 0
		r := clean(t, Run(t, Config{
			Seed: 3, Trace: Full, Preparation: time.Second, Taps: []Tap{func(Point, *Message) { asked++ }},
		}, func(w *World) {
			w.NewNode(NodeConfig{Name: "server", Service: &echo{}})
			n := w.NewNode(NodeConfig{Name: "c1"})
			n.SetClockJitter(time.Millisecond)
			p := n.Process()
			d := p.NewDirectClient(DirectConfig{Address: "server"})
			p.Go("connect", func() {
				for range greetings {
					d.Do(p.Context(), "HELLO")
					p.Clock().Now()
				}
				if w.Now() > -999*time.Millisecond {
					t.Errorf("%d greetings ended at %v, want no time to pass", greetings, w.Now())
				}
				p.Clock().Sleep(time.Second - w.Now()) // across the begin
				d.Do(p.Context(), "B")
			})
			if w.Now() != -time.Second || n.Monotonic() != -time.Second {
				t.Errorf("the world starts at %v, its machine at %v", w.Now(), n.Monotonic())
			}
			w.RunUntil(0, nil)
			if asked > 0 || w.Trace().Count() > 0 {
				t.Errorf("%d taps and %d entries before the begin", asked, w.Trace().Count())
			}
			p.Go("main", func() {
				d.Do(p.Context(), "A", p.Clock().Now().UnixNano())
			})
			w.RunUntil(time.Minute, nil)
		}))
		return r
	}
	short, long := play(1), play(20)
	if difference := FirstDifference(&short.Trace, &long.Trace); difference != "" || short.Hash != long.Hash {
		t.Errorf("the greeting is seen in the run: hashes %x and %x; %s", short.Hash, long.Hash, difference)
	}
}

// TestManyWorldsAtOnce: worlds share nothing.
func TestManyWorldsAtOnce(t *testing.T) {
	want := runStorm(t, 5, HashOnly, false).Hash
	got := make(chan uint64)
	for range 4 * runtime.GOMAXPROCS(0) {
		go func() {
			h := uint64(0)
			for range 5 {
				h = runStorm(t, 5, HashOnly, false).Hash
			}
			got <- h
		}()
	}
	for range 4 * runtime.GOMAXPROCS(0) {
		if h := <-got; h != want {
			t.Errorf("hash %x beside other worlds, %x alone", h, want)
		}
	}
}
