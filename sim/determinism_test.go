package sim

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"
)

// storm is a random workload under random faults: three clients over both transports, with timers, tickers and
// restarts, and a Tap that pauses, crashes, bends, loses and delays as a stream of its own says.
type storm struct {
	world *World
	rolls *Stream
	nodes []*Node
}

func (s *storm) client(p *Process) {
	stream := s.world.Stream("workload/" + p.node.name)
	p.Go("direct", func() {
		d := p.NewDirectClient(DirectConfig{Address: "server", Timeout: 20 * time.Millisecond})
		for i := range 20 {
			d.Do(p.Context(), "SET", p.node.name, i)
			p.Clock().Sleep(stream.Duration(Range{0, 10 * time.Millisecond}))
		}
	})
	p.Go("wire", func() {
		for i := range 5 {
			c, err := p.Dial(p.Context(), "tcp", "prog:1")
			if err != nil {
				p.Clock().Sleep(3 * time.Millisecond)
				continue
			}
			s.talk(p, c, i)
			c.Close()
		}
	})
	p.Go("ticks", func() {
		ticker := p.Clock().NewTicker(7 * time.Millisecond)
		defer ticker.Stop()
		for range 20 {
			select {
			case <-ticker.Chan():
				p.Do(9, func() { s.world.Note(fmt.Sprintf("tick of %s at %v", p.node.name, p.node.Monotonic())) })
			case <-p.Context().Done():
				return
			}
		}
	})
}

func (s *storm) talk(p *Process, c net.Conn, i int) {
	buffer := make([]byte, 100)
	for k := range 4 {
		c.SetReadDeadline(p.Clock().Now().Add(15 * time.Millisecond))
		fmt.Fprintf(c, "GET %s %d %d", p.node.name, i, k)
		if _, err := c.Read(buffer); err != nil {
			return
		}
	}
}

func (s *storm) tap(_ Point, m *Message) {
	w := s.world
	n := s.nodes[s.rolls.Between(0, int64(len(s.nodes)-1))]
	soon := w.Now() + s.rolls.Duration(Range{0, 30 * time.Millisecond})
	switch s.rolls.Between(0, 60) {
	case 0:
		n.Pause()
		w.At(soon, n.Resume)
	case 1:
		n.Crash(s.rolls.Chance(1, 2))
		w.At(soon, func() { n.Restart(s.rolls.Chance(1, 2)) })
	case 2:
		m.Lose(s.rolls.Chance(1, 2))
	case 3, 4:
		m.Delay(s.rolls.Duration(Range{0, 20 * time.Millisecond}))
	case 5:
		n.SetClockDrift(s.rolls.Between(-500_000, 500_000))
	case 6:
		n.StepClock(s.rolls.Duration(Range{-time.Second, time.Second}))
	case 7:
		l := w.Link(m.From(), m.To())
		l.Cut(s.rolls.Chance(1, 2))
		w.At(soon, l.Heal)
	case 8:
		n.Restart(false)
	}
}

func runStorm(t *testing.T, seed uint64, mode TraceMode, timers bool) Result {
	t.Helper()
	return runStormWith(t, seed, mode, timers, nil)
}

func runStormWith(t *testing.T, seed uint64, mode TraceMode, timers bool, scheduler Scheduler) Result {
	t.Helper()
	s := &storm{}
	config := Config{
		Seed: seed, Trace: mode, RuntimeTimers: timers, Taps: []Tap{s.tap}, Preparation: time.Millisecond,
		Scheduler: scheduler,
	}
	return clean(t, Run(t, config, func(w *World) {
		s.world, s.rolls = w, w.Stream("fault/storm")
		w.NewNode(NodeConfig{Name: "server", Service: &echo{}})
		script := &script{t: t}
		prog := w.NewNode(NodeConfig{Name: "prog", Describe: (&echo{}).Describe, OnRestart: script.serve})
		script.serve(prog.Process())
		for _, name := range []string{"c1", "c2", "c3"} {
			n := w.NewNode(NodeConfig{Name: name, OnRestart: s.client})
			n.SetClockJitter(time.Millisecond)
			s.client(n.Process())
		}
		s.nodes = w.Nodes()
		w.RunUntil(300*time.Millisecond, nil)
	}))
}

// TestRunsAreReproducible is the promise that everything else stands on: a run is a function of its seed, whatever the
// scheduler does.
func TestRunsAreReproducible(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 20
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	events := uint64(0)
	for seed := range seeds {
		var first Result
		for i, processors := range []int{1, 2, 4, 1, 2, 4} {
			runtime.GOMAXPROCS(processors)
			r := runStorm(t, seed, Full, i%2 == 1)
			if i == 0 {
				first = r
				events += r.Events
			}
			if difference := FirstDifference(&first.Trace, &r.Trace); difference != "" || first.Hash != r.Hash {
				t.Fatalf("seed %d at GOMAXPROCS %d: hashes %x and %x; %s", seed, processors, first.Hash, r.Hash, difference)
			}
		}
		if r := runStorm(t, seed, HashOnly, false); r.Hash != first.Hash || r.Events != first.Events {
			t.Fatalf("seed %d: the hash is %x when the trace is kept, %x when not", seed, first.Hash, r.Hash)
		}
		if r := runStorm(t, seed, Off, false); r.Hash != 0 || r.Events != 0 || r.End != first.End {
			t.Fatalf("seed %d: without a trace hash %x, %d events", seed, r.Hash, r.Events)
		}
	}
	t.Logf("%d events per run", events/seeds)
}

func TestFirstDifferenceNamesItsCauses(t *testing.T) {
	play := func(word string) *Trace {
		r := clean(t, Run(t, steady(Config{Seed: 1, Trace: Full}), func(w *World) {
			w.NewNode(NodeConfig{Name: "server", Service: &echo{}})
			p := w.NewNode(NodeConfig{Name: "c1"}).Process()
			p.Go("main", func() {
				d := p.NewDirectClient(DirectConfig{Address: "server"})
				d.Do(context.Background(), "SAME")
				d.Do(context.Background(), word)
			})
			w.RunUntil(time.Second, nil)
		}))
		return &r.Trace
	}
	a, b := play("LEFT"), play("RIGHT")
	const want = `the runs part at entry 9:
  one run:   9       0.004014 s send    c1>server #1           LEFT (cause 8)
      because of 8       0.004014 s deliver server>c1 #1           "SAME" (cause 7)
      because of 7       0.003011 s send    server>c1 #1           "SAME" (cause 6)
      because of 6       0.003011 s deliver c1>server #1           SAME (cause 5)
  the other: 9       0.004014 s send    c1>server #1           RIGHT (cause 8)
      because of 8       0.004014 s deliver server>c1 #1           "SAME" (cause 7)
      because of 7       0.003011 s send    server>c1 #1           "SAME" (cause 6)
      because of 6       0.003011 s deliver c1>server #1           SAME (cause 5)`
	if got := FirstDifference(a, b); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if a.Hash() == b.Hash() {
		t.Error("two runs that differ have the same hash")
	}
	if got := FirstDifference(a, a); got != "" {
		t.Errorf("a run differs from itself: %s", got)
	}
	short := &Trace{Entries: a.Entries[:4]}
	if got := FirstDifference(a, short); len(got) < 20 || got[:31] != "the runs part at entry 5:\n  one" {
		t.Errorf("a run that goes on differs: %s", got)
	}
}

// TestTransportsAgree runs one workload over both transports: the same links, the same latencies, the same trace.
func TestTransportsAgree(t *testing.T) {
	play := func(wire bool) Result {
		return clean(t, Run(t, Config{Seed: 8, Trace: Full, Preparation: time.Second}, func(w *World) {
			w.NewNode(NodeConfig{Name: "server", Service: &echo{}})
			var mains []func()
			for _, name := range []string{"c1", "c2", "c3"} {
				p := w.NewNode(NodeConfig{Name: name}).Process()
				var call func(words ...string) // connects before the run begins
				p.Go("connect", func() { call = connect(t, p, wire) })
				mains = append(mains, func() {
					p.Go("main", func() {
						for i := range 50 {
							call("SET", name, fmt.Sprint(i))
							p.Clock().Sleep(p.node.world.Stream("workload/" + name).Duration(Range{0, time.Second}))
						}
					})
				})
			}
			w.At(0, func() {
				for _, main := range mains {
					main()
				}
			})
			w.At(5*time.Second, w.Node("server").Pause)
			w.At(6*time.Second, w.Node("server").Resume)
			w.RunUntil(time.Minute, nil)
		}))
	}
	direct, wire := play(false), play(true)
	if difference := FirstDifference(&direct.Trace, &wire.Trace); difference != "" || direct.Hash != wire.Hash {
		t.Errorf("hashes %x and %x; %s", direct.Hash, wire.Hash, difference)
	}
	if direct.Events < 600 {
		t.Errorf("only %d events", direct.Events)
	}
}

func connect(t *testing.T, p *Process, wire bool) func(words ...string) {
	if !wire {
		d := p.NewDirectClient(DirectConfig{Address: "server", Timeout: 2 * time.Second})
		if err := d.Connect(p.Context()); err != nil {
			t.Error(err)
		}
		return func(words ...string) {
			args := make([]any, len(words))
			for i, word := range words {
				args[i] = word
			}
			if _, err := d.Do(p.Context(), args...); err != nil {
				t.Error(err)
			}
		}
	}
	c, err := p.Dial(p.Context(), "tcp", "server:1")
	if err != nil {
		t.Error(err)
	}
	fmt.Fprint(c, "A GREETING") // which must not be seen in the run
	c.Read(make([]byte, 100))
	return func(words ...string) {
		for i, word := range words {
			if i > 0 {
				word = " " + word
			}
			words[i] = word
		}
		c.SetReadDeadline(p.Clock().Now().Add(2 * time.Second))
		fmt.Fprint(c, words[0]+words[1]+words[2])
		if _, err := c.Read(make([]byte, 100)); err != nil {
			t.Error(err)
		}
	}
}
