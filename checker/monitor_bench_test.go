package checker

import "testing"

// BenchmarkMonitor measures what watching adds to the appending of events, as a ratio to making the history itself,
// which is the least that a simulated run does.
func BenchmarkMonitor(b *testing.B) {
	g := generator{clients: 8, operations: 20_000, tokens: true, facts: true, writes: true, reentrant: true}
	h := g.generate(1)
	options := Options{Promises: Promises{Reentrant: true, Fenced: true}}
	b.Run("floor", func(b *testing.B) {
		for b.Loop() {
			g.generate(1)
		}
	})
	b.Run("watched", func(b *testing.B) {
		for b.Loop() {
			if _, v, violated := watch(h, options); violated {
				b.Fatal(v)
			}
		}
		b.ReportMetric(float64(len(h.Events)), "events")
	})
}
