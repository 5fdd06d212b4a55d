package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/sim"
)

// The number of clients that a herd can have.
const (
	LeastHerd = 2
	MostHerd  = 1000
)

// HerdPoint is what it costs the server to hand a lock over when so many clients want it.
//
// Requests and WakeUps are counted while the lock is contended: from the call of the first release until the last of
// the clients has got the lock. The pings that keep sessions alive are not requests of the lock.
type HerdPoint struct {
	Implementation string
	Knobs          string // other than the implementation's own, such as "interval=10ms"
	Clients        int
	Seed           uint64

	HandOvers int
	Requests  int // that the server executed, refused ones included
	WakeUps   int // events of watches that the server sent
	// HandOverTime is the mean time from the call of a release until the next holder has got the lock.
	HandOverTime time.Duration
}

// Herd runs a scenario with another number of clients and measures its hand-overs. Further clients do what the last
// one of the scenario does. All of them must ask before the first release, and each must get the lock: otherwise the
// figures of two runs mean different things, and the error says what was amiss.
//
// t is only what testing/synctest asks for; new(testing.T) serves outside of tests.
func Herd(t *testing.T, scenario *Scenario, implementation string, clients int, seed uint64) (HerdPoint, error) {
	if clients < LeastHerd || clients > MostHerd {
		return HerdPoint{}, fmt.Errorf("%d clients: want %d to %d", clients, LeastHerd, MostHerd)
	}
	crowd := scenario.withClients(clients)
	outcome, err := Run(t, Setup{Scenario: crowd, Implementation: implementation, Seed: seed, Trace: sim.Off})
	if err == nil {
		err = outcome.Err
	}
	point := HerdPoint{Implementation: implementation, Clients: clients, Seed: seed}
	if err == nil {
		expectation, _ := scenario.Expects(implementation)
		point.Knobs = knobsText(expectation.Knobs)
		err = point.measure(&outcome.History)
	}
	if err != nil {
		return HerdPoint{}, fmt.Errorf("%s with %s, %d clients, seed %d: %w", scenario.Name, implementation, clients, seed,
			err)
	}
	return point, nil
}

// withClients is the scenario with another number of clients.
func (s *Scenario) withClients(clients int) *Scenario {
	crowd := *s
	crowd.Clients, crowd.Programs = clients, maps.Clone(s.Programs)
	for i := s.Clients + 1; i <= clients; i++ {
		crowd.Programs[Client(i)] = s.Programs[Client(s.Clients)]
	}
	return &crowd
}

// knobsText renders settings in the order of their names.
func knobsText(knobs map[string]string) string {
	var parts []string
	for _, name := range sortedKeys(knobs) {
		parts = append(parts, name+"="+knobs[name])
	}
	return strings.Join(parts, " ")
}

// measure counts what the history tells of the contended phase.
func (p *HerdPoint) measure(h *checker.History) error {
	claims := slices.DeleteFunc(checker.Claims(h), func(c checker.Claim) bool { return c.Lock != h.Header.Lock })
	if len(claims) != p.Clients {
		return fmt.Errorf("the lock was got %d times, want once by each client", len(claims))
	}
	waited := time.Duration(0)
	for i, next := range claims[1:] {
		before := claims[i]
		switch {
		case next.Start < before.End:
			return fmt.Errorf("%s got the lock at %v while %s held it until %v: nothing was handed over", next.Node,
				next.Start, before.Node, before.End)
		case before.Ending != checker.EndsReleased:
			return fmt.Errorf("the hold of %s ended at %v without its release: nothing was handed over", before.Node,
				before.End)
		}
		waited += next.Start - before.End
	}
	p.HandOvers = len(claims) - 1
	p.HandOverTime = waited / time.Duration(p.HandOvers)
	return p.count(h.Events, claims[0].EndEvent, claims[p.HandOvers].Acquire)
}

// count counts requests and wake-ups from the first release to the last grant.
func (p *HerdPoint) count(events []checker.Event, release, grant int64) error {
	for i := range events {
		e := &events[i]
		switch {
		case e.F == checker.Acquire && e.Type == checker.Invoke && e.Index > release:
			return fmt.Errorf("%s asks for the lock only at %v, after the first release", e.Node, e.Time)
		case e.F != checker.Request || e.Index < release || e.Index > grant:
		case e.Command == "event":
			p.WakeUps++
		default:
			p.Requests++
		}
	}
	return nil
}
