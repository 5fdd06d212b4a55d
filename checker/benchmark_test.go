package checker

import (
	"bufio"
	"bytes"
	"io"
	"testing"
	"time"
)

// benchmarkHistory is a history of 100,000 operations on one lock.
func benchmarkHistory(g generator) *History {
	g.operations = 100_000
	return g.generate(1)
}

func benchmarkProperty(b *testing.B, p Property, g generator) {
	b.Helper()
	h := benchmarkHistory(g)
	if p == LostWakeUp {
		h = &History{Events: withHeal(h.Events)}
	}
	options := Options{
		Properties: []Property{p}, Promises: Promises{Reentrant: g.reentrant, Fenced: g.tokens, Fair: true},
		LivenessBound: time.Hour, Overtakes: 1 << 30, OrderBound: 1 << 30,
	}
	b.ReportAllocs()
	for b.Loop() {
		if v := Check(h, options)[0]; v.Result != Holds {
			b.Fatal(v)
		}
	}
}

func BenchmarkMutualExclusion(b *testing.B) {
	benchmarkProperty(b, MutualExclusion, generator{clients: 5})
}

func BenchmarkLinearizability(b *testing.B) {
	b.Run("tries=5", func(b *testing.B) { benchmarkProperty(b, Linearizability, generator{clients: 5}) })
	b.Run("tries=100", func(b *testing.B) { benchmarkProperty(b, Linearizability, generator{clients: 100}) })
	b.Run("blocking=100", func(b *testing.B) {
		benchmarkProperty(b, Linearizability, generator{clients: 100, blocking: true})
	})
	b.Run("reentrant=5", func(b *testing.B) {
		benchmarkProperty(b, Linearizability, generator{clients: 5, reentrant: true})
	})
}

func BenchmarkRelease(b *testing.B) { benchmarkProperty(b, ReleaseByOwner, generator{clients: 5}) }

func BenchmarkTokenOrder(b *testing.B) {
	benchmarkProperty(b, TokenOrder, generator{clients: 5, tokens: true})
}

func BenchmarkOrder(b *testing.B) {
	b.Run("clients=5", func(b *testing.B) {
		benchmarkProperty(b, Order, generator{clients: 5, blocking: true, doors: true})
	})
	b.Run("clients=100", func(b *testing.B) {
		benchmarkProperty(b, Order, generator{clients: 100, blocking: true, doors: true})
	})
	b.Run("by-call=100", func(b *testing.B) { benchmarkProperty(b, Order, generator{clients: 100, blocking: true}) })
}

func BenchmarkLostWakeUp(b *testing.B) {
	benchmarkProperty(b, LostWakeUp, generator{clients: 5, blocking: true})
}

// BenchmarkSmall is a history as one short world leaves it: all properties.
func BenchmarkSmall(b *testing.B) {
	g := generator{clients: 3, operations: 20, reentrant: true, tokens: true}
	h := g.generate(1)
	options := Options{Promises: Promises{Reentrant: true, Fenced: true}, LivenessBound: time.Second}
	b.ReportAllocs()
	for b.Loop() {
		Check(h, options)
	}
}

func BenchmarkWriteHistory(b *testing.B) {
	h := benchmarkHistory(generator{clients: 5})
	b.ReportAllocs()
	for b.Loop() {
		if err := WriteHistory(io.Discard, h); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReadHistory reads a million events. The floor is to find the ends of the same lines.
func BenchmarkReadHistory(b *testing.B) {
	var file bytes.Buffer
	h := generator{clients: 5, operations: 500_000}.generate(1)
	if err := WriteHistory(&file, h); err != nil {
		b.Fatal(err)
	}
	events := len(h.Events)
	h = nil
	b.SetBytes(int64(file.Len()))
	b.ReportAllocs()
	var floor, taken time.Duration
	for b.Loop() {
		start := time.Now()
		lines := bufio.NewScanner(bytes.NewReader(file.Bytes()))
		for lines.Scan() {
		}
		if err := lines.Err(); err != nil {
			b.Fatal(err)
		}
		floor += time.Since(start)
		start = time.Now()
		if _, err := ReadHistory(bytes.NewReader(file.Bytes())); err != nil {
			b.Fatal(err)
		}
		taken += time.Since(start)
	}
	b.ReportMetric(float64(events)*float64(b.N)/taken.Seconds(), "events/s")
	b.ReportMetric(taken.Seconds()/floor.Seconds(), "floors")
}

// withHeal puts a heal at the start and numbers the events anew.
func withHeal(events []Event) []Event {
	healed := append([]Event{{Process: ProcessFault, Type: Info, F: Healed}}, events...)
	for i := range healed {
		healed[i].Index = int64(i)
	}
	return healed
}
