package sim

import (
	"testing"
	"time"
)

// whim is a Scheduler that lets each message set out early and then wait again and again, as its stream says, and
// writes down what came of it.
type whim struct {
	stream  *Stream
	departs map[*Message]int
	took    []time.Duration // by order of departure; -1 = it was never handed over
	asked   int
}

func (s *whim) Depart(m *Message, allowed Range, _ time.Duration) time.Duration {
	s.departs[m] = len(s.took)
	s.took = append(s.took, -1)
	return allowed.Min
}

func (s *whim) Arrive(m *Message, by time.Duration) time.Duration {
	s.asked++
	if now := time.Duration(m.from.node.world.now.Load()); s.stream.Chance(2, 3) && now < by {
		return now + s.stream.Duration(Range{1, by - now})
	}
	s.took[s.departs[m]] = m.Travelled()
	return 0
}

// echoed is a Scheduler that does what another one did.
type echoed struct {
	took []time.Duration
	next int
}

func (s *echoed) Depart(_ *Message, _ Range, drawn time.Duration) time.Duration {
	s.next++
	if s.next > len(s.took) {
		return drawn // the runs have parted
	}
	if took := s.took[s.next-1]; took >= 0 {
		return took
	}
	return time.Hour
}

func (s *echoed) Arrive(*Message, time.Duration) time.Duration { return 0 }

// TestScheduleCanBeFollowed lets a scheduler decide under all kinds of faults, and then another do the same from what
// was written down: the runs have to be equal, byte for byte.
func TestScheduleCanBeFollowed(t *testing.T) {
	for seed := range uint64(30) {
		for _, timers := range []bool{false, true} {
			first := &whim{stream: NewStream(seed, "whim"), departs: map[*Message]int{}}
			one := runStormWith(t, seed, Full, timers, first)
			other := runStormWith(t, seed, Full, timers, &echoed{took: first.took})
			if difference := FirstDifference(&one.Trace, &other.Trace); difference != "" {
				t.Fatalf("seed %d, timers %v: %s", seed, timers, difference)
			}
			if first.asked < len(first.took) {
				t.Fatalf("seed %d: asked %d times about %d messages", seed, first.asked, len(first.took))
			}
		}
	}
}

// hold is a Scheduler that lets one request wait as long as it may and the others arrive at once.
type hold struct {
	what string
	hold bool
}

func (s *hold) Depart(_ *Message, allowed Range, _ time.Duration) time.Duration { return allowed.Min }

func (s *hold) Arrive(m *Message, by time.Duration) time.Duration {
	if s.hold && !m.Reply && m.What() == s.what {
		return by
	}
	return 0
}

// TestSchedulerOrders lets the second of two clients overtake the first, within what the network allows.
func TestSchedulerOrders(t *testing.T) {
	for _, test := range []struct {
		hold bool
		want []string
	}{
		{false, []string{"2.0ms c1 SET", "3.0ms c2 ADD"}},
		{true, []string{"3.0ms c2 ADD", "6.0ms c1 SET"}},
	} {
		config := Config{
			Latency: Range{time.Millisecond, 5 * time.Millisecond}, Scheduler: &hold{"SET", test.hold},
			Preparation: time.Second,
		}
		j := &journal{}
		config.Taps = []Tap{func(point Point, m *Message) {
			if point == PointArrive {
				j.lines = append(j.lines, milliseconds(m.From().world.Now())+" "+m.From().name+" "+m.Command())
			}
		}}
		clean(t, Run(t, config, func(w *World) {
			w.NewNode(NodeConfig{Name: "server", Service: &echo{}})
			for i, name := range []string{"c1", "c2"} {
				p := w.NewNode(NodeConfig{Name: name}).Process()
				d := p.NewDirectClient(DirectConfig{Address: "server"})
				p.Go("main", func() {
					d.Connect(p.Context())
					p.Clock().Sleep(time.Second + time.Duration(i+1)*time.Millisecond)
					d.Do(p.Context(), []string{"SET", "ADD"}[i])
				})
			}
			w.RunUntil(time.Minute, nil)
		}))
		expect(t, j, test.want...)
	}
}

// TestSchedulerKeepsConnectionsInOrder sends two segments over one connection, of which the first is held back.
func TestSchedulerKeepsConnectionsInOrder(t *testing.T) {
	j := &journal{}
	config := Config{
		RuntimeTimers: true, Latency: Range{time.Millisecond, 5 * time.Millisecond}, Scheduler: &hold{"FIRST", true},
	}
	config.Taps = []Tap{func(point Point, m *Message) {
		if point == PointArrive {
			j.lines = append(j.lines, milliseconds(m.From().world.Now())+" "+m.Command())
		}
	}}
	clean(t, Run(t, config, func(w *World) {
		w.NewNode(NodeConfig{Name: "server", Service: &echo{}})
		p := w.NewNode(NodeConfig{Name: "c1"}).Process()
		p.Go("main", func() {
			c, err := p.Dial(p.Context(), "tcp", "server:1")
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			c.Write([]byte("FIRST"))
			p.Clock().Sleep(time.Millisecond)
			c.Write([]byte("SECOND"))
			p.Clock().Sleep(time.Second)
		})
		w.RunUntil(time.Minute, nil)
	}))
	// The connection is open at 2 ms. What was sent first may take 5 ms, what was sent second follows it.
	expect(t, j, "7.0ms FIRST", "7.0ms SECOND")
}
