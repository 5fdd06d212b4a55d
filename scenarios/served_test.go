package scenarios

import (
	"slices"
	"testing"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/sim"
)

// TestServerOrderDecides checks that the order in which the servers worked is on record in most runs, so that nothing
// has to be searched for, and what the rest is.
func TestServerOrderDecides(t *testing.T) {
	by := map[string]int{}
	all := 0
	rows(func(s *Scenario, implementation string) {
		o := mustRun(t, Setup{Scenario: s, Implementation: implementation, Seed: 1, Trace: sim.HashOnly})
		for _, v := range o.Verdicts {
			if v.Property == checker.Linearizability && v.Result != checker.Unknown && !v.Skipped {
				all++
				for _, rung := range v.By {
					by[rung]++
				}
				if len(v.By) > 0 && !slices.Contains(v.By, "witness") {
					t.Logf("%s with %s: %v", s.Name, implementation, v.By)
				}
			}
		}
	})
	t.Log(by)
	if by["witness"] < all*3/4 {
		t.Errorf("the order of the server decides %d of %d runs: %v", by["witness"], all, by)
	}
}
