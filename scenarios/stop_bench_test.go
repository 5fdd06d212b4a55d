package scenarios

import (
	"testing"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/sim"
)

// BenchmarkMonitored runs a scenario that violates nothing with and without a monitor: the ratio of the two is what
// watching costs.
func BenchmarkMonitored(b *testing.B) {
	s, err := Load("lost-reply")
	if err != nil {
		b.Fatal(err)
	}
	for _, variant := range []struct {
		name   string
		stopAt []checker.Property
	}{{"plain", nil}, {"watched", checker.Monitored()}} {
		b.Run(variant.name, func(b *testing.B) {
			for b.Loop() {
				o, err := Run(new(testing.T), Setup{
					Scenario: s, Implementation: "redis/getset-repaired", Seed: 1, Trace: sim.HashOnly, StopAt: variant.stopAt,
				})
				if err != nil || o.Err != nil || o.Stopped != "" {
					b.Fatal(err, o.Err, o.Stopped)
				}
			}
		})
	}
}
