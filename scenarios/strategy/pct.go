package strategy

import (
	"time"

	"github.com/lockstep-sim/lockstep/sim"
)

// changePoints is how often a pct schedule lowers a priority: the depth of the bugs that it is good at, less one.
const changePoints = 3

// pct schedules by priorities (Burckhardt, Kothari, Musuvathi, Nagarakatte: A Randomized Scheduler with Probabilistic
// Guarantees of Finding Bugs, ASPLOS 2010). What the paper calls a thread is a client machine here, and a step is a
// message that it sends or is sent: those of a client with a higher priority are quick, those of a lower one wait, as
// long as the network lets them, until nothing of a higher one is on its way to or from the same server. At a few
// points, drawn over the length of the run, the client whose turn it is falls below all others.
type pct struct {
	source   uint64
	stream   *sim.Stream
	priority map[string]int64
	lowest   int64
	steps    int64
	changes  []int64
}

func newPCT(seed uint64) *pct {
	p := &pct{source: seed, stream: sim.NewStream(seed, "strategy/pct"), priority: map[string]int64{}}
	// The length of a run is not known: it is drawn too, each power of two with the same chance.
	length := int64(16) << p.stream.Between(0, 7)
	for range changePoints {
		p.changes = append(p.changes, p.stream.Between(1, length))
	}
	return p
}

func (p *pct) seed() uint64 { return p.source }

// of is the priority of a client; it is drawn when the client is seen first.
func (p *pct) of(client string) int64 {
	priority, known := p.priority[client]
	if !known {
		priority = p.stream.Between(1, 1<<40)
		p.priority[client] = priority
	}
	return priority
}

func (p *pct) depart(_ *Schedule, f *flight) time.Duration {
	p.steps++
	mine := p.of(f.client)
	for _, at := range p.changes {
		if at == p.steps {
			p.lowest--
			p.priority[f.client], mine = p.lowest, p.lowest
		}
	}
	return f.allowed.Min + time.Duration(p.above(mine))*(f.drawn-f.allowed.Min)/time.Duration(len(p.priority))
}

// above counts the clients with a higher priority.
func (p *pct) above(priority int64) int {
	n := 0
	for _, other := range p.priority { // order-free: only counted
		if other > priority {
			n++
		}
	}
	return n
}

func (p *pct) arrive(s *Schedule, f *flight) time.Duration {
	mine, until := p.of(f.client), time.Duration(0)
	for _, other := range s.flights {
		if other.client != f.client && other.ready >= s.world.Now() && other.ready < f.by && p.of(other.client) > mine {
			until = max(until, other.ready+1)
		}
	}
	return min(until, f.by)
}

func (p *pct) span(_ *Schedule, pause *pause) time.Duration { return pause.drawn }
