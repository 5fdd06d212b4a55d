package scenarios

import (
	"testing"
	"time"

	"github.com/lockstep-sim/lockstep/sim"
	"github.com/lockstep-sim/lockstep/sim/redis"
)

// BenchmarkEmptyWorld is what a world costs before anything happens in it: one Redis machine and three clients.
func BenchmarkEmptyWorld(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		sim.Run(new(testing.T), sim.Config{Seed: 1}, func(w *sim.World) {
			machine := redis.NewMachine(w, redis.Options{Name: redisMachine})
			for i := 1; i <= 3; i++ {
				w.NewNode(sim.NodeConfig{Name: Client(i)})
			}
			w.RunUntil(time.Second, nil)
			machine.Release()
		})
	}
}

// BenchmarkDeadRecord runs the scenario of the flagship race, recorded and judged, over the direct transport.
func BenchmarkDeadRecord(b *testing.B) {
	benchmarkScenario(b, "dead-record", "redis/getset")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "seeds/s")
}

// BenchmarkReentrantTest runs the published test, recorded and judged, over the direct transport.
func BenchmarkReentrantTest(b *testing.B) {
	virtual := benchmarkScenario(b, "reentrant-test", "redis/getset")
	b.ReportMetric(virtual.Seconds()/b.Elapsed().Seconds(), "virtual-s/s")
}

// benchmarkScenario runs one seed after another and returns the virtual time that passed.
func benchmarkScenario(b *testing.B, name, implementation string) time.Duration {
	b.ReportAllocs()
	s, err := Load(name)
	if err != nil {
		b.Fatal(err)
	}
	var virtual time.Duration
	seed := uint64(0)
	for b.Loop() {
		seed++
		o, err := Run(new(testing.T), Setup{Scenario: s, Implementation: implementation, Seed: seed, Trace: sim.HashOnly})
		if err != nil || o.Err != nil {
			b.Fatal(err, o.Err)
		}
		virtual += o.End
	}
	return virtual
}
