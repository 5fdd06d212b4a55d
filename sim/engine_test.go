package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestQueueOrdersByTimeThenKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		type place struct {
			at  int64
			key uint64
		}
		seen := map[place]bool{}
		var want []place
		for i := range rapid.IntRange(0, 200).Draw(t, "events") {
			p := place{rapid.Int64Range(0, 20).Draw(t, "at"), key(rapid.Uint32Range(0, 5).Draw(t, "stream"), uint64(i))}
			if !seen[p] {
				seen[p] = true
				want = append(want, p)
				q.push(event{at: p.at, key: p.key})
			}
		}
		slices.SortFunc(want, func(a, b place) int {
			if a.at != b.at {
				return int(a.at - b.at)
			}
			return int(int64(a.key) - int64(b.key))
		})
		for _, p := range want {
			if e := q.pop(); e.at != p.at || e.key != p.key {
				t.Fatalf("popped %d/%d, want %d/%d", e.at, e.key, p.at, p.key)
			}
		}
	})
}

func TestSlotIsTheFirstOfItsStream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.Int64Range(-1<<40, 1<<40).Draw(t, "at")
		stream := rapid.Uint32Range(0, 3*residues).Draw(t, "stream")
		got := slot(at, stream)
		if got < at || got >= at+residues || ((got%residues)+residues)%residues != int64(stream%residues) {
			t.Fatalf("slot(%d, %d) = %d", at, stream, got)
		}
	})
}

func TestEqualTimesAreDecidedByTheKey(t *testing.T) {
	order := func(permutation []int) (out []int) {
		Run(t, steady(Config{}), func(w *World) {
			for _, i := range permutation {
				w.queue.push(event{at: 5000, key: key(uint32(100+i), 1), action: func() { out = append(out, i) }})
			}
			w.RunUntil(time.Second, nil)
		})
		return out
	}
	for range 20 {
		if got := order(rand.Perm(10)); !slices.IsSorted(got) {
			t.Fatalf("events of one instant in the order %v", got)
		}
	}
}

func TestActionsComeFirstInTheirInstant(t *testing.T) {
	both(t, func(t *testing.T, config Config) {
		var seen []string
		clean(t, Run(t, config, func(w *World) {
			n := w.NewNode(NodeConfig{Name: "c1"})
			var at time.Duration
			n.Process().Go("main", func() { n.Process().Clock().Sleep(time.Second); seen = append(seen, "timer") })
			w.Quiesce()
			at = time.Duration(w.queue.heap[0].at)
			w.At(at, func() { seen = append(seen, "first") })
			w.At(at, func() {
				seen = append(seen, "second")
				w.At(0, func() { seen = append(seen, "third, asked for within the instant") })
			})
			w.RunUntil(time.Minute, nil)
		}))
		if got := strings.Join(seen, ", "); got != "first, second, third, asked for within the instant, timer" {
			t.Errorf("the order was %s", got)
		}
	})
}

func TestRunUntilNeverTurnsTimeBack(t *testing.T) {
	both(t, func(t *testing.T, config Config) {
		clean(t, Run(t, config, func(w *World) {
			w.RunUntil(time.Minute, nil)
			w.RunUntil(time.Second, nil)
			if w.Now() != time.Minute {
				t.Errorf("after RunUntil of the past it is %v, want 1m", w.Now())
			}
			w.At(time.Second, func() { w.Note("late") })
			w.RunUntil(time.Minute, nil)
			if e := w.Trace().Entries; len(e) != 1 || e[0].Time != time.Minute {
				t.Errorf("an action in the past left %v", e)
			}
		}))
	})
}

func TestRunUntilStops(t *testing.T) {
	clean(t, Run(t, steady(Config{}), func(w *World) {
		ticks := 0
		for i := range 10 {
			w.At(time.Duration(i)*time.Second, func() { ticks++ })
		}
		w.RunUntil(time.Minute, func() bool { return ticks == 3 })
		if ticks != 3 || w.Now() != 2*time.Second {
			t.Errorf("stopped after %d ticks at %v", ticks, w.Now())
		}
	}))
}

// TestDoOrdersLanes has many goroutines report in one instant: the order is that of machines and lanes, whoever ran
// first, and everything is reported before what was asked for earlier in that instant is sent.
func TestDoOrdersLanes(t *testing.T) {
	for range 10 {
		var got []string
		clean(t, Run(t, steady(Config{Taps: []Tap{func(Point, *Message) { got = append(got, "tap") }}}), func(w *World) {
			w.NewNode(NodeConfig{Name: "server", Service: &echo{}})
			a, b := w.NewNode(NodeConfig{Name: "a"}).Process(), w.NewNode(NodeConfig{Name: "b"}).Process()
			start := make(chan struct{})
			var d *DirectClient
			a.Go("caller", func() {
				d = a.NewDirectClient(DirectConfig{Address: "server"})
				d.Connect(a.Context())
				<-start
				d.Do(a.Context(), "X")
			})
			for _, p := range []*Process{b, a} {
				for _, lane := range rand.Perm(5) {
					p.Go("reporter", func() {
						<-start
						for i := range 3 {
							p.Do(uint64(lane), func() { got = append(got, fmt.Sprint(p.node.name, lane, i)) })
						}
					})
				}
			}
			w.At(10*time.Millisecond, func() { close(start) })
			w.RunUntil(10*time.Millisecond, nil)
		}))
		var want []string
		for _, name := range []string{"a", "b"} {
			for lane := range 5 {
				for i := range 3 {
					want = append(want, fmt.Sprint(name, lane, i))
				}
			}
		}
		want = append(want, "tap")
		if !slices.Equal(got, want) {
			t.Fatalf("got %v\nwant %v", got, want)
		}
	}
}

func TestGoroutinesStartOneAfterTheOther(t *testing.T) {
	for range 20 {
		shared := "" // no lock: two at a time would be a race
		clean(t, Run(t, steady(Config{}), func(w *World) {
			p := w.NewNode(NodeConfig{Name: "c1"}).Process()
			for i := range 10 {
				p.Go("starter", func() {
					shared += fmt.Sprint(i)
					p.Clock().Sleep(time.Second)
				})
			}
			if shared != "" {
				t.Error("a goroutine runs beside the body")
			}
			w.RunUntil(time.Minute, nil)
		}))
		if shared != "0123456789" {
			t.Fatalf("started in the order %s", shared)
		}
	}
}

func TestMaxEvents(t *testing.T) {
	r := Run(t, steady(Config{MaxEvents: 100}), func(w *World) {
		p := w.NewNode(NodeConfig{Name: "c1"}).Process()
		p.Go("sleeper", func() {
			for {
				p.Clock().Sleep(time.Millisecond)
			}
		})
		w.RunUntil(time.Hour, nil)
		if w.Now() > 110*time.Millisecond {
			t.Errorf("it went on to %v", w.Now())
		}
	})
	if !errors.Is(r.Err, ErrTooManyEvents) || len(r.Leaks) > 0 {
		t.Errorf("error %v, leaks %v", r.Err, r.Leaks)
	}
}

func TestPanicOnAMachineEndsTheRun(t *testing.T) {
	both(t, func(t *testing.T, config Config) {
		boom := errors.New("boom")
		r := Run(t, config, func(w *World) {
			p := w.NewNode(NodeConfig{Name: "c1"}).Process()
			p.Go("watcher", func() {
				p.Clock().Sleep(time.Second)
				panic(boom)
			})
			p.Go("worker", func() { p.Clock().Sleep(time.Hour) })
			w.RunUntil(time.Minute, nil)
			if w.Now() > 1001*time.Millisecond {
				t.Errorf("it went on to %v", w.Now())
			}
		})
		var failure *PanicError
		if !errors.As(r.Err, &failure) {
			t.Fatalf("error %v, want a PanicError", r.Err)
		}
		if failure.Node != "c1" || failure.Goroutine != "watcher" || failure.Value != boom ||
			!strings.Contains(failure.Stack, "engine_test.go") || len(r.Leaks) > 0 {
			t.Errorf("failure %v, leaks %v, stack:\n%s", failure, r.Leaks, failure.Stack)
		}
		if got := failure.Error(); got != `goroutine "watcher" on c1 panicked: boom` {
			t.Errorf("it reads %q", got)
		}
	})
}

func TestPanicByATimerOfTheRuntime(t *testing.T) {
	r := Run(t, steady(Config{RuntimeTimers: true}), func(w *World) {
		p := w.NewNode(NodeConfig{Name: "c1"}).Process()
		p.Go("library", func() {
			time.Sleep(time.Second)
			panic("boom")
		})
		w.At(time.Minute, func() { t.Error("an event after the panic") })
		w.RunUntil(time.Hour, nil)
	})
	if r.Err == nil || r.End != time.Second {
		t.Errorf("the run ends at %v with %v", r.End, r.Err)
	}
}

func TestPanicAfterACrashDoesNotCount(t *testing.T) {
	clean(t, Run(t, steady(Config{}), func(w *World) {
		n := w.NewNode(NodeConfig{Name: "c1"})
		n.Process().Go("fragile", func() {
			<-n.Process().Clock().After(time.Hour)
			panic("the crash let it go")
		})
		w.At(time.Second, func() { n.Crash(false) })
		w.RunUntil(time.Minute, nil)
	}))
}

func TestPanicOfTheBodyIsPassedOn(t *testing.T) {
	ended := false
	defer func() {
		cause, _ := recover().(error)
		var failure *PanicError
		if !errors.As(cause, &failure) || failure.Value != "from the body" ||
			!strings.Contains(cause.Error(), "engine_test.go") {
			t.Errorf("recovered %v", cause)
		}
		if !ended {
			t.Error("the machines were not taken apart")
		}
	}()
	Run(t, steady(Config{}), func(w *World) {
		p := w.NewNode(NodeConfig{Name: "c1"}).Process()
		p.Go("main", func() { <-p.Context().Done(); ended = true })
		w.RunUntil(time.Second, nil)
		w.At(2*time.Second, func() { panic("from the body") })
		w.RunUntil(time.Minute, nil)
	})
	t.Error("Run returned")
}

// TestSkipNowInTheBodyLeavesTheTest stands for FailNow too, which leaves in the same way but would fail this test.
func TestSkipNowInTheBodyLeavesTheTest(t *testing.T) {
	returned := false
	t.Run("inner", func(t *testing.T) {
		Run(t, steady(Config{}), func(*World) { t.SkipNow() })
		returned = true
	})
	if returned {
		t.Error("Run returned although the body left the test")
	}
}

func TestBodyThatBlocksForEver(t *testing.T) {
	r := Run(t, steady(Config{}), func(*World) { <-make(chan int) })
	if r.Err == nil || !strings.Contains(r.Err.Error(), "waits for something outside of the world") {
		t.Errorf("error %v", r.Err)
	}
}

// TestMutexHeldAcrossTheNetwork is the trap that the watchdog is for: the second goroutine waits for a mutex, which the
// world cannot see, and so time never moves to the reply that the first one waits for.
func TestMutexHeldAcrossTheNetwork(t *testing.T) {
	both(t, func(t *testing.T, config Config) {
		config.Patience = 500 * time.Millisecond
		r := Run(t, config, func(w *World) {
			w.NewNode(NodeConfig{Name: "server", Service: &echo{}})
			p := w.NewNode(NodeConfig{Name: "c1"}).Process()
			var mutex sync.Mutex
			d := p.NewDirectClient(DirectConfig{Address: "server"})
			call := func() {
				mutex.Lock()
				defer mutex.Unlock()
				d.Do(p.Context(), "A")
			}
			p.Go("holder", call)
			p.Go("bystander", func() { p.Clock().Sleep(time.Hour) })
			w.At(time.Second, func() { p.Go("again", call) })
			w.At(time.Second, func() { p.Go("victim", call) })
			w.RunUntil(time.Minute, nil)
		})
		var stuck *StuckError
		if !errors.As(r.Err, &stuck) {
			t.Fatalf("error %v, want a StuckError", r.Err)
		}
		if !slices.Equal(stuck.Names, []string{"c1/victim"}) || !strings.Contains(stuck.Dump, "engine_test.go") {
			t.Errorf("it names %v", stuck.Names)
		}
		if got := stuck.Error(); got != "the world made no progress at 1s; goroutines that hold it up: c1/victim" {
			t.Errorf("it reads %q", got)
		}
	})
}

func TestLeaksAreNamed(t *testing.T) {
	both(t, func(t *testing.T, config Config) {
		r := Run(t, config, func(w *World) {
			c2 := w.NewNode(NodeConfig{Name: "c2"})
			c1 := w.NewNode(NodeConfig{Name: "c1"})
			for _, n := range []*Node{c1, c2} {
				n.Process().Go("waiter", func() { <-make(chan int) })
				n.Process().Go("good", func() { <-n.Process().Context().Done() })
				n.Process().Go("another", func() { select {} })
			}
			w.RunUntil(time.Second, nil)
			c1.Restart(false) // what the earlier incarnation leaves behind counts
			w.RunUntil(2*time.Second, nil)
		})
		want := []string{"c2/another", "c2/waiter", "c1/another", "c1/waiter"}
		if r.Err != nil || !slices.Equal(r.Leaks, want) {
			t.Errorf("error %v, leaks %v, want %v", r.Err, r.Leaks, want)
		}
	})
}

func TestLeakOfALibrary(t *testing.T) {
	r := Run(t, steady(Config{}), func(w *World) {
		p := w.NewNode(NodeConfig{Name: "c1"}).Process()
		p.Go("main", func() { go func() { <-make(chan int) }() })
		w.RunUntil(time.Second, nil)
	})
	if len(r.Leaks) != 1 || !strings.Contains(r.Leaks[0], "a library's goroutine") || r.Err != nil {
		t.Errorf("error %v, leaks %v", r.Err, r.Leaks)
	}
}

func TestSleepersByPackageTimeAreNoLeak(t *testing.T) {
	both(t, func(t *testing.T, config Config) {
		clean(t, Run(t, config, func(w *World) {
			w.NewNode(NodeConfig{Name: "server", Service: &echo{}})
			p := w.NewNode(NodeConfig{Name: "c1"}).Process()
			p.Go("retry", func() {
				d := p.NewDirectClient(DirectConfig{Address: "server"})
				for {
					if _, err := d.Do(context.Background(), "A"); err != nil {
						return
					}
					time.Sleep(10 * time.Second)
				}
			})
			w.RunUntil(15*time.Second, nil)
		}))
	})
}

// TestEndOfAWorldThatWasNotRun has goroutines that have asked for something which nobody has taken in yet.
func TestEndOfAWorldThatWasNotRun(t *testing.T) {
	both(t, func(t *testing.T, config Config) {
		clean(t, Run(t, config, func(w *World) {
			w.NewNode(NodeConfig{Name: "server", Service: &echo{}})
			p := w.NewNode(NodeConfig{Name: "c1"}).Process()
			var c io.ReadWriteCloser
			p.Go("wire", func() { c, _ = p.Dial(p.Context(), "tcp", "server:1"); c.Read(make([]byte, 1)) })
			p.Go("direct", func() { p.NewDirectClient(DirectConfig{Address: "server"}).Do(p.Context(), "A") })
			w.RunUntil(2500*time.Microsecond, nil)
			p.Go("late dial", func() { p.Dial(context.Background(), "tcp", "server:1") })
			p.Go("late call", func() { p.NewDirectClient(DirectConfig{Address: "server"}).Do(context.Background(), "A") })
			p.Go("late listen", func() { l, _ := p.Listen("tcp", ":1"); l.Accept() })
			w.drainStarts()
		}))
	})
}

// drainStarts starts what Process.Go has queued and takes in nothing that they ask for.
func (w *World) drainStarts() { w.flush() }

// TestRuntimeTimersComeBeforeTheEvent: who sleeps by package time to the very instant of an event runs first, and what
// it asks for is not overtaken.
func TestRuntimeTimersComeBeforeTheEvent(t *testing.T) {
	var seen []string
	clean(t, Run(t, steady(Config{RuntimeTimers: true}), func(w *World) {
		p := w.NewNode(NodeConfig{Name: "c1"}).Process()
		for range 3 {
			p.Go("library", func() {
				time.Sleep(time.Second)
				at := w.Now()
				p.Do(0, func() { seen = append(seen, fmt.Sprint("library at ", at)) })
			})
			w.RunUntil(w.Now(), nil)
		}
		w.At(time.Second, func() { seen = append(seen, fmt.Sprint("event at ", w.Now())) })
		w.RunUntil(time.Minute, nil)
	}))
	want := "library at 1s, library at 1s, library at 1s, event at 1s"
	if got := strings.Join(seen, ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestRuntimeTimersInterruptTheEngine: what a library asks for between two events has its own time.
func TestRuntimeTimersInterruptTheEngine(t *testing.T) {
	var j journal
	r := clean(t, Run(t, steady(Config{RuntimeTimers: true, Trace: Full}), func(w *World) {
		w.NewNode(NodeConfig{Name: "server", Service: &echo{}})
		p := w.NewNode(NodeConfig{Name: "c1"}).Process()
		d := p.NewDirectClient(DirectConfig{Address: "server"})
		p.Go("connect", func() { d.Connect(p.Context()) })
		p.Go("library", func() {
			for range 3 {
				time.Sleep(10 * time.Millisecond)
				v, err := d.Do(p.Context(), "A")
				j.log(p, "%v %v", v, err)
			}
		})
		w.At(15*time.Millisecond, func() { w.Note("between") })
		w.RunUntil(time.Minute, nil)
	}))
	expect(t, &j, "12.0ms c1 A <nil>", "24.0ms c1 A <nil>", "36.0ms c1 A <nil>")
	for _, e := range r.Trace.Entries {
		if e.Kind == KindSend && e.Text == "A" && e.Cause != 0 {
			t.Errorf("%v: no event caused it, a timer of the runtime did", e)
		}
	}
}

// TestStaleEventsCostNoTime: a time-out that was moved on, and a timer that was stopped, are not waited for.
func TestStaleEventsCostNoTime(t *testing.T) {
	both(t, func(t *testing.T, config Config) {
		steps := 0
		clean(t, Run(t, config, func(w *World) {
			w.NewNode(NodeConfig{Name: "server", Service: &echo{}})
			p := w.NewNode(NodeConfig{Name: "c1"}).Process()
			p.Go("main", func() {
				d := p.NewDirectClient(DirectConfig{Address: "server", Timeout: 10 * time.Millisecond})
				for range 100 {
					p.Clock().NewTimer(5 * time.Millisecond).Stop()
					d.Do(p.Context(), "A")
				}
			})
			w.RunUntil(time.Minute, nil)
			steps = int(w.progress.Load())
		}))
		if steps != 202 {
			t.Errorf("%d steps for a connection and 100 calls, want 202", steps)
		}
	})
}
