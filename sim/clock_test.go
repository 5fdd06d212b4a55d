package sim

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// onMachine runs main on a machine c1 until true time end, after prepare.
func onMachine(t *testing.T, config Config, end time.Duration, prepare func(n *Node), main func(p *Process)) Result {
	t.Helper()
	return clean(t, Run(t, config, func(w *World) {
		n := w.NewNode(NodeConfig{Name: "c1"})
		if prepare != nil {
			prepare(n)
		}
		n.Process().Go("main", func() { main(n.Process()) })
		w.RunUntil(end, nil)
	}))
}

func TestDriftBendsTimers(t *testing.T) {
	for _, c := range []struct {
		ppm        int64
		local, got time.Duration
	}{
		{0, time.Second, time.Second},
		{1_000_000, time.Second, 500 * time.Millisecond},
		{-500_000, time.Second, 2 * time.Second},
		{250_000, time.Second, 800 * time.Millisecond},
		{100, 10 * time.Second, 9_999_000_100},
		{-100, 10 * time.Second, 10_001_000_101},
		{-2_000_000, time.Microsecond, 999_000_001}, // taken as -999,999
		{1 << 40, 101 * time.Second, time.Second},   // taken as 10^8
		{0, 0, 0},
		{0, -time.Second, 0},
	} {
		both(t, func(t *testing.T, config Config) {
			var took time.Duration
			onMachine(t, config, time.Minute, func(n *Node) { n.SetClockDrift(c.ppm) }, func(p *Process) {
				<-p.Clock().After(c.local)
				took = p.Node().world.Now()
			})
			// Events of a stream come at instants of its own, less than a residue later.
			if took < c.got || took >= c.got+residues {
				t.Errorf("at %d ppm a timer of %v took %v, want %v", c.ppm, c.local, took, c.got)
			}
		})
	}
}

func TestTrueSpanIsTheLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := bentClock{driftPPM: rapid.OneOf(
			rapid.Int64Range(minDrift, maxDrift), rapid.Int64Range(-1000, 1000),
		).Draw(t, "ppm")}
		local := rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "local")
		span := c.trueSpan(local)
		if span < farFuture && c.elapsed(span) < local {
			t.Fatalf("after %d ns only %d of %d have passed", span, c.elapsed(span), local)
		}
		if span > 0 && c.elapsed(span-1) >= local {
			t.Fatalf("%d ns are already enough for %d", span-1, local)
		}
	})
}

func TestMonotonicNeverGoesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := bentClock{stream: NewStream(1, "jitter")}
		now, last := int64(0), int64(0)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			now += rapid.Int64Range(0, int64(time.Hour)).Draw(t, "span")
			reading := c.readMonotonic(now)
			if reading < last {
				t.Fatalf("the monotonic clock went from %d back to %d", last, reading)
			}
			last = reading
			c.settle(now)
			if c.readMonotonic(now) != reading {
				t.Fatal("a bend moved the monotonic clock")
			}
			c.driftPPM = rapid.Int64Range(minDrift, 1_000_000).Draw(t, "ppm")
			c.wall += rapid.Int64().Draw(t, "step") % int64(24*time.Hour)
		}
	})
}

func TestStepMovesTheWallClockAlone(t *testing.T) {
	both(t, func(t *testing.T, config Config) {
		onMachine(t, config, time.Minute, func(n *Node) {
			n.world.At(1500*time.Millisecond, func() { n.StepClock(-5 * time.Second) })
		}, func(p *Process) {
			c := p.Clock()
			start := c.Now()
			c.Sleep(time.Second)
			before := c.Now()
			c.Sleep(time.Second)
			after := c.Now()
			if d := after.Sub(before).Round(time.Millisecond); d != time.Second {
				t.Errorf("Sub says %v, want 1s: the monotonic clock did not step", d)
			}
			if d := after.UnixMilli() - before.UnixMilli(); d != -4000 {
				t.Errorf("UnixMilli moved by %d, want -4000", d)
			}
			if d := c.Since(start).Round(time.Millisecond); d != 2*time.Second {
				t.Errorf("Since says %v, want 2s", d)
			}
			if d := c.Until(start.Add(5 * time.Second)).Round(time.Millisecond); d != 3*time.Second {
				t.Errorf("Until says %v, want 3s", d)
			}
			if d := p.Node().Monotonic().Round(time.Millisecond); d != 2*time.Second {
				t.Errorf("Monotonic says %v, want 2s", d)
			}
		})
	})
}

func TestOffsetAndDrift(t *testing.T) {
	clean(t, Run(t, steady(Config{}), func(w *World) {
		n, straight := w.NewNode(NodeConfig{Name: "c1"}), w.NewNode(NodeConfig{Name: "c2"})
		w.RunUntil(10*time.Second, nil)
		n.SetClockOffset(3 * time.Second)
		n.SetClockDrift(100_000)
		w.RunUntil(20*time.Second, nil)
		if d := n.Wall().Round(0).Sub(straight.Wall().Round(0)); d != 4*time.Second {
			t.Errorf("the wall clock is %v ahead, want 3s and 10%% of 10s", d)
		}
		if d := n.Monotonic() - straight.Monotonic(); d != time.Second {
			t.Errorf("the monotonic clock is %v ahead, want 1s", d)
		}
		if at := n.TrueTime(1100 * time.Millisecond); at != 21*time.Second {
			t.Errorf("1.1s of its clock end at %v, want 21s", at)
		}
		if at := n.TrueTime(-time.Second); at != 19*time.Second {
			t.Errorf("a span that has passed ends at %v, want 19s", at)
		}
		n.SetClockOffset(0)
		if d := n.Wall().Round(0).Sub(straight.Wall().Round(0)); d != 0 {
			t.Errorf("an offset of 0 leaves it %v ahead", d)
		}
	}))
}

func TestJitter(t *testing.T) {
	read := func() (walls, monotonics []time.Duration) {
		Run(t, steady(Config{Seed: 4}), func(w *World) {
			n := w.NewNode(NodeConfig{Name: "c1"})
			w.RunUntil(time.Second, nil)
			n.SetClockJitter(time.Millisecond)
			for range 100 {
				walls = append(walls, n.Wall().Round(0).Sub(w.base.Round(0)))
				monotonics = append(monotonics, n.Wall().Sub(instant(w.base, 0, 0)))
			}
		})
		return walls, monotonics
	}
	walls, monotonics := read()
	lowest, highest := slices.Min(walls)-time.Second, slices.Max(walls)-time.Second
	if lowest < -time.Millisecond || highest > time.Millisecond || lowest > -800*time.Microsecond ||
		highest < 800*time.Microsecond {
		t.Errorf("readings err between %v and %v, want all of ±1ms", lowest, highest)
	}
	for _, m := range monotonics {
		if m != time.Second {
			t.Fatalf("jitter moved the monotonic clock to %v", m)
		}
	}
	if again, _ := read(); !slices.Equal(again, walls) {
		t.Error("the same seed jitters otherwise")
	}
}

// TestClockUnit has a machine take seconds for milliseconds, and sets it right again.
func TestClockUnit(t *testing.T) {
	Run(t, steady(Config{Seed: 4}), func(w *World) {
		n := w.NewNode(NodeConfig{Name: "c1"})
		read := func() int64 { return n.Wall().UnixMilli() }
		right, monotonic := read(), n.Monotonic()
		for _, test := range []struct {
			unit time.Duration
			want func(milliseconds int64) int64
		}{
			{time.Second, func(ms int64) int64 { return ms / 1000 }},
			{time.Hour, func(ms int64) int64 { return ms / 3_600_000 }},
			{24 * time.Hour, func(ms int64) int64 { return ms / 3_600_000 }}, // no more than an hour
			{7 * time.Millisecond, func(ms int64) int64 { return ms / 7 }},
			{time.Millisecond, func(ms int64) int64 { return ms }},
			{0, func(ms int64) int64 { return ms }},
		} {
			n.SetClockUnit(test.unit)
			for _, passed := range []time.Duration{0, 90 * time.Second} {
				w.RunUntil(w.Now()+passed, nil)
				now := right + w.Now().Milliseconds()
				if got, want := read(), test.want(now); got != want {
					t.Errorf("unit %v at %v: the clock shows %d ms since 1970, want %d", test.unit, w.Now(), got, want)
				}
			}
		}
		if got := n.Monotonic() - monotonic; got != w.Now() {
			t.Errorf("the monotonic clock gained %v in %v", got, w.Now())
		}
		n.SetClockUnit(time.Second)
		n.SetClockOffset(0)
		if got := n.Wall().Year(); got != 1970 {
			t.Errorf("with an offset the clock shows the year %d, want 1970", got)
		}
	})
}

func TestDriftChangesWhileTimersRun(t *testing.T) {
	both(t, func(t *testing.T, config Config) {
		var j journal
		onMachine(t, config, time.Minute, func(n *Node) {
			n.world.At(time.Second, func() { n.SetClockDrift(1_000_000) })
			n.world.At(2*time.Second, func() { n.SetClockDrift(-500_000) })
		}, func(p *Process) {
			// 1 s passes at its own rate, then 2 s in one second, then half of each second.
			p.Go("early", func() { p.Clock().Sleep(2 * time.Second); j.log(p, "2s have passed") })
			p.Go("late", func() { p.Clock().Sleep(4 * time.Second); j.log(p, "4s have passed") })
			ticker := p.Clock().NewTicker(time.Second)
			for range 4 {
				<-ticker.Chan()
				j.log(p, "tick")
			}
			ticker.Stop()
		})
		expect(
			t, &j,
			"1000.0ms c1 tick", "1500.0ms c1 2s have passed", "1500.0ms c1 tick", "2000.0ms c1 tick",
			"4000.0ms c1 4s have passed", "4000.0ms c1 tick",
		)
	})
}

func TestTimerStopAndReset(t *testing.T) {
	both(t, func(t *testing.T, config Config) {
		onMachine(t, config, time.Hour, nil, func(p *Process) {
			c := p.Clock()
			is := func(what string, got, want any) {
				if got != want {
					t.Errorf("%s: got %v, want %v", what, got, want)
				}
			}
			timer := c.NewTimer(time.Second)
			is("Stop of a running timer", timer.Stop(), true)
			is("Stop of a stopped timer", timer.Stop(), false)
			is("Reset of a stopped timer", timer.Reset(time.Second), false)
			is("Reset of a running timer", timer.Reset(2*time.Second), true)
			start := c.Now()
			fired := <-timer.Chan()
			is("it fires after the second span", fired.Sub(start).Round(time.Millisecond), 2*time.Second)
			is("Stop after its value was received", timer.Stop(), false)
			is("Reset after its value was received", timer.Reset(time.Second), false)

			c.Sleep(2 * time.Second) // it fires and nobody receives
			is("Stop before its value was received", timer.Stop(), true)
			is("nothing stale after Stop", len(timer.Chan()), 0)
			timer.Reset(time.Second)
			c.Sleep(2 * time.Second)
			is("Reset before its value was received", timer.Reset(time.Second), true)
			is("nothing stale after Reset", len(timer.Chan()), 0)
			<-timer.Chan()

			calls := 0
			called := make(chan struct{}, 10)
			function := c.AfterFunc(time.Second, func() { calls++; called <- struct{}{} })
			is("AfterFunc has no channel", function.Chan(), (<-chan time.Time)(nil))
			is("Stop of a running function", function.Stop(), true)
			c.Sleep(2 * time.Second)
			is("calls after Stop", calls, 0)
			is("Reset of a stopped function", function.Reset(time.Second), false)
			<-called
			is("calls after Reset", calls, 1)
			is("Stop after the call", function.Stop(), false)
		})
	})
}

func TestTimerStoppedInTheInstantInWhichItFires(t *testing.T) {
	// Both timers end at the same reading of the clock. The first one that fires stops the other one, which is in the
	// queue for this very instant.
	both(t, func(t *testing.T, config Config) {
		r := onMachine(t, config, time.Minute, nil, func(p *Process) {
			first, second := p.Clock().NewTimer(time.Second), p.Clock().NewTimer(time.Second)
			<-first.Chan()
			if !second.Stop() {
				t.Error("Stop says that the second timer has fired")
			}
			select {
			case <-second.Chan():
				t.Error("a stopped timer fired")
			case <-p.Clock().After(time.Second):
			}
		})
		fired := 0
		for _, e := range r.Trace.Entries {
			if e.Kind == KindTimer {
				fired++
			}
		}
		if fired != 2 {
			t.Errorf("%d timers fired, want the first and the one of After", fired)
		}
	})
}

func TestTicker(t *testing.T) {
	both(t, func(t *testing.T, config Config) {
		var j journal
		onMachine(t, config, time.Minute, func(n *Node) {
			n.world.At(4500*time.Millisecond, n.Pause)
			n.world.At(7500*time.Millisecond, n.Resume)
		}, func(p *Process) {
			ticker := p.Clock().NewTicker(time.Second)
			<-ticker.Chan()
			j.log(p, "first")
			p.Clock().Sleep(2500 * time.Millisecond) // two ticks, of which one is kept
			<-ticker.Chan()
			j.log(p, "kept")
			<-ticker.Chan()
			j.log(p, "in time")
			<-ticker.Chan()
			j.log(p, "after the pause, once for all that it missed")
			<-ticker.Chan()
			j.log(p, "in time")
			ticker.Reset(300 * time.Millisecond)
			<-ticker.Chan()
			j.log(p, "faster")
			ticker.Stop()
			select {
			case <-ticker.Chan():
				t.Error("a stopped ticker ticks")
			case <-p.Clock().After(time.Second):
			}
		})
		expect(
			t, &j,
			"1000.0ms c1 first", "3500.0ms c1 kept", "4000.0ms c1 in time",
			"7500.0ms c1 after the pause, once for all that it missed", "8000.0ms c1 in time", "8300.0ms c1 faster",
		)
	})
}

func TestTickerWantsAPeriod(t *testing.T) {
	onMachine(t, steady(Config{}), time.Second, nil, func(p *Process) {
		for name, f := range map[string]func(){
			"NewTicker": func() { p.Clock().NewTicker(0) },
			"Reset":     func() { p.Clock().NewTicker(time.Hour).Reset(-1) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s takes a period that is not positive", name)
					}
				}()
				f()
			}()
		}
	})
}

func TestTimersFarAhead(t *testing.T) {
	both(t, func(t *testing.T, config Config) {
		onMachine(t, config, time.Hour, func(n *Node) { n.SetClockDrift(-999_999) }, func(p *Process) {
			timer := p.Clock().NewTimer(1<<63 - 1)
			select {
			case <-timer.Chan():
				t.Error("a timer of 292 years fired within an hour")
			case <-p.Clock().After(time.Millisecond): // 1000 s at this drift
			}
		})
	})
}

func TestPauseMakesTimersWait(t *testing.T) {
	both(t, func(t *testing.T, config Config) {
		var j journal
		onMachine(t, config, time.Minute, func(n *Node) {
			n.world.At(time.Second, n.Pause)
			n.world.At(2*time.Second, func() { n.SetClockDrift(1_000_000) }) // moves what waits
			n.world.At(5*time.Second, n.Resume)
		}, func(p *Process) {
			for _, s := range []time.Duration{4, 2, 3, 30} {
				p.Go(fmt.Sprint(s), func() { p.Clock().Sleep(s * time.Second); j.log(p, "%d", s) })
			}
		})
		expect(t, &j, "5000.0ms c1 2", "5000.0ms c1 3", "5000.0ms c1 4", "16000.0ms c1 30")
	})
}

func TestEqualTimersFireInOrderOfCalls(t *testing.T) {
	both(t, func(t *testing.T, config Config) {
		var j journal
		onMachine(t, config, time.Minute, nil, func(p *Process) {
			for i := range 20 {
				p.Go("sleeper", func() {
					p.Clock().Sleep(time.Second)
					j.log(p, "%d", i)
				})
			}
		})
		var want []string
		for i := range 20 {
			want = append(want, fmt.Sprintf("1000.0ms c1 %d", i))
		}
		expect(t, &j, want...)
	})
}
