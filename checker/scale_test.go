package checker

import (
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"
)

// The benchmarks below are about one lock with a million operations. Machines differ, so each also reports how often
// longer it takes than the floor: one look at each event of the same history.

// floor looks at each event once.
func floor(h *History) (d time.Duration) {
	for i := range h.Events {
		d += h.Events[i].Time & 1
	}
	return d
}

// elapsed is the shortest of a few runs.
func elapsed(work func()) time.Duration {
	best := time.Duration(1<<63 - 1)
	for range 5 {
		start := time.Now()
		work()
		best = min(best, time.Since(start))
	}
	return best
}

// scaled is one thing that is measured at different sizes. Prepare does what is not measured.
type scaled struct {
	name    string
	g       generator
	prepare func(*History) func()
}

func scaledChecks() []scaled {
	tries := generator{clients: 5, reentrant: true, tokens: true}
	line := generator{clients: 100, blocking: true, tokens: true}
	crowd := generator{clients: 100}
	stamped := generator{clients: 20, lost: 20, served: true}
	all := func(g generator) func(*History) func() {
		return func(h *History) func() {
			options := Options{
				Promises: Promises{Reentrant: g.reentrant, Fenced: g.tokens, Fair: true}, LivenessBound: time.Hour,
				OrderBound: 1 << 30,
			}
			return func() { Check(h, options) }
		}
	}
	analysed := func(work func(a *analysis)) func(*History) func() {
		return func(h *History) func() {
			a := analyse(h)
			return func() { work(a) }
		}
	}
	gaps := func(g generator) func(*History) func() {
		return analysed(func(a *analysis) {
			if offence, usable := gapsOf(a, Options{Promises: Promises{Reentrant: g.reentrant}}); offence != none || !usable {
				panic("a correct server is accused")
			}
		})
	}
	return []scaled{
		{"take-apart", tries, func(h *History) func() { return func() { analyse(h) } }},
		{"claims", line, analysed(func(a *analysis) {
			for _, log := range a.locks {
				log.expiries = log.expiries[:0]
			}
			for c := range a.clients {
				a.clients[c].holds = a.clients[c].holds[:0]
			}
			a.findClaims()
			a.judgeExclusion(Options{}.withDefaults())
		})},
		{"gaps/tries=5", tries, gaps(tries)},
		{"gaps/tries=100", crowd, gaps(crowd)},
		{"gaps/blocking=100", line, gaps(line)},
		{"witness", stamped, analysed(func(a *analysis) {
			l := &linearizer{a: a}
			if r := a.phrase(a.locks[0], l.object(), 0, nil).witness(make([]int32, len(a.operations))); r.failing != none {
				panic("a correct server is accused")
			}
		})},
		{"all/tries=5", tries, all(tries)},
		{"all/tries=100", crowd, all(crowd)},
		{"all/blocking=100", line, all(line)},
		{"all/lost=20", stamped, all(stamped)},
	}
}

// BenchmarkScale measures each check on 10,000 and on a million operations.
func BenchmarkScale(b *testing.B) {
	for _, size := range []int{10_000, 1_000_000} {
		for _, s := range scaledChecks() {
			b.Run(s.name+"/"+map[int]string{10_000: "1e4", 1_000_000: "1e6"}[size], func(b *testing.B) {
				s.g.operations = size
				h := s.g.generate(1)
				work := s.prepare(h)
				base := elapsed(func() { floor(h) })
				b.ReportAllocs()
				for b.Loop() {
					work()
				}
				b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(base), "x-floor")
			})
		}
	}
}

// BenchmarkGrowth measures how often longer ten times as many operations take.
func BenchmarkGrowth(b *testing.B) {
	for _, s := range scaledChecks() {
		b.Run(s.name, func(b *testing.B) {
			times := make(map[int]time.Duration)
			for _, size := range []int{100_000, 1_000_000} {
				s.g.operations = size
				times[size] = elapsed(s.prepare(s.g.generate(1)))
			}
			for b.Loop() {
				continue
			}
			growth := float64(times[1_000_000]) / float64(times[100_000])
			b.ReportMetric(growth, "x-for-10x")
		})
	}
}

// BenchmarkAgainstPorcupine measures how often longer Porcupine takes for the same 100,000 operations.
func BenchmarkAgainstPorcupine(b *testing.B) {
	g := generator{clients: 5, operations: 100_000}
	h := g.generate(1)
	options := Options{Properties: []Property{Linearizability}}.withDefaults()
	whole := elapsed(func() { Check(h, options) })
	a := analyse(h)
	gaps := elapsed(func() { gapsOf(a, options) })
	m := a.specify(a.locks[0], options, nil)
	var porcupine time.Duration
	for b.Loop() {
		start := time.Now()
		if porcupineResult(m, unlimited) != Holds {
			b.Fatal("Porcupine accuses a correct server")
		}
		porcupine = time.Since(start)
	}
	times := float64(porcupine) / float64(gaps)
	b.ReportMetric(times, "x-gap-check")
	b.ReportMetric(float64(porcupine)/float64(whole), "x-check")
}

// BenchmarkHeap measures how much memory all checks of a million operations take at their peak above the history
// itself, as a ratio to the memory of the history.
func BenchmarkHeap(b *testing.B) {
	g := generator{clients: 5, reentrant: true, tokens: true, operations: 1_000_000}
	before := heapInUse()
	h := g.generate(1)
	history := heapInUse() - before
	options := Options{Promises: Promises{Reentrant: true, Fenced: true}, LivenessBound: time.Hour}
	peak := uint64(0)
	for b.Loop() {
		peak = max(peak, peakHeap(func() { Check(h, options) }))
	}
	above := float64(peak) - float64(before+history)
	b.ReportMetric(above/1e6, "MB-above-history")
	b.ReportMetric(above/float64(history), "x-history")
	const most = 0.5
	if above > most*float64(history) {
		b.Errorf("the checks take %.0f MB above a history of %.0f MB, want at most %.1f times as much", above/1e6,
			float64(history)/1e6, most)
	}
}

// heapInUse is what is reachable now.
func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// peakHeap is the most that the heap held during some work, as of the ends of its collections. A finalizer that each
// collection runs looks, so that nothing has to wait or to poll.
func peakHeap(work func()) uint64 {
	var peak atomic.Uint64
	var done atomic.Bool
	var watch func(*[16]byte)
	watch = func(*[16]byte) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		peak.Store(max(peak.Load(), m.HeapAlloc))
		if !done.Load() {
			runtime.SetFinalizer(new([16]byte), watch)
		}
	}
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // what is garbage does not count
	runtime.SetFinalizer(new([16]byte), watch)
	work()
	done.Store(true)
	return peak.Load()
}

// TestMuchLost judges what no search over orders finishes: a hundred clients nearly all of whose tries fail, a fifth of
// the replies lost. The order of the server settles it.
func TestMuchLost(t *testing.T) {
	for _, g := range []generator{
		{clients: 100, operations: 10_000, lost: 20, served: true},
		{clients: 100, operations: 10_000, lost: 20, dropped: 5, crashes: 10, served: true, reentrant: true},
		{clients: 100, operations: 10_000, lost: 20, served: true, facts: true, lease: 3 * time.Second, pauses: 10},
		{clients: 100, operations: 10_000, lost: 20, served: true, blocking: true},
	} {
		options := Options{
			Properties: []Property{Linearizability}, Promises: Promises{Reentrant: g.reentrant, Leased: g.lease > 0},
		}
		for seed := range uint64(3) {
			v := Check(g.generate(seed), options)[0]
			if v.Result != Holds || len(v.By) != 1 || v.By[0] != rungWitness {
				t.Errorf("%+v, seed %d: got %s by %v, want it to hold by %s", g, seed, v, v.By, rungWitness)
			}
		}
	}
}
