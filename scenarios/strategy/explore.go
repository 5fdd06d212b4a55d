package strategy

import (
	"slices"
	"time"

	"github.com/lockstep-sim/lockstep/sim"
)

// Explorer goes through every schedule of a small world, up to a number of deviations from the usual one, in which
// each message arrives as early as the network lets it.
//
// A deviation lets one message wait: until the next thing has happened (another message has arrived, a timer has
// fired), or until the next deadline is reached, or is over by a tick. Any order that the network allows is some number
// of deviations away (delay-bounded scheduling: Emmi, Qadeer, Rakamaric, POPL 2011). What a plan draws is gone through
// as well, without being a deviation: see Between.
//
// One run is made for each schedule:
//
//	for e := NewExplorer(2); e.Next(); {
//		run with e.Schedule()
//	}
//
// Two schedules that lead every machine through the same messages in the same order and at the same times, to the tick
// in which machines tell time, with the same messages still on their way, go on alike from there: the second is given
// up there, which [Schedule.GivenUp] tells. Tests hold what is left against all schedules.
type Explorer struct {
	bound   int
	path    []choice // the choices of the run that is under way or was last
	at      int      // how many of them have been met
	fresh   int      // the place from which on the run leaves the one before
	spent   int      // deviations so far in this run
	plan    uint64   // a hash of what Between has given in this run: what happens later depends on it
	begun   bool
	visited map[uint64]int // for each state: the most deviations that were left there; nil = nothing is given up

	Runs   int // schedules run, those given up included
	Pruned int // schedules given up because another had led to the same
	// Cut says that some schedule would have had more deviations than are allowed. Where none would, all schedules that
	// there are have been run.
	Cut bool
}

// choice is one point at which there is more than one way.
type choice struct {
	taken, ways int
	free        bool // taking another way is no deviation
}

// NewExplorer returns an explorer that has run nothing yet.
func NewExplorer(deviations int) *Explorer {
	return &Explorer{bound: deviations, visited: map[uint64]int{}}
}

// Next goes on to the next schedule. It is false when there is none left.
func (e *Explorer) Next() bool {
	if e.begun && !e.advance() {
		return false
	}
	e.begun = true
	e.at, e.spent, e.plan = 0, 0, 0
	e.Runs++
	return true
}

// advance changes the last choice that has another way left and drops what came after it.
func (e *Explorer) advance() bool {
	for len(e.path) > 0 {
		last := &e.path[len(e.path)-1]
		if last.taken+1 < last.ways {
			last.taken++
			e.fresh = len(e.path)
			return true
		}
		e.path = e.path[:len(e.path)-1]
	}
	return false
}

// choose takes one of some ways: that of the path as far as it goes, and then the first.
func (e *Explorer) choose(ways int, free bool) int {
	if e.at == len(e.path) {
		e.path = append(e.path, choice{ways: ways, free: free})
	}
	taken := e.path[e.at].taken
	e.at++
	if !free && taken > 0 {
		e.spent++
	}
	return taken
}

// widest is the widest range of which each number is tried.
const widest = 64

// Between goes through the numbers of a range, as the stream from which a plan is drawn. A range that is too wide to be
// gone through, as those of durations are, gives its least number.
func (e *Explorer) Between(low, high int64) int64 {
	if high <= low || high-low >= widest {
		return low
	}
	taken := e.choose(int(high-low)+1, true)
	e.plan = sim.Mix(e.plan, uint64(low), uint64(taken))
	return low + int64(taken)
}

// Schedule is the schedule of the run that Next went on to.
func (e *Explorer) Schedule() *Schedule {
	return newSchedule(&explore{explorer: e, nodes: map[string]uint64{}})
}

// explore is the policy of one run of an Explorer.
type explore struct {
	explorer *Explorer
	nodes    map[string]uint64 // by machine: a hash of what it sent and was handed, in order
	names    []string          // of the machines, sorted
	givenUp  bool
}

// GivenUp tells that the run need not be ended: another has led to the same. A nil schedule never gives up.
func (s *Schedule) GivenUp() bool {
	if s == nil {
		return false
	}
	p, is := s.policy.(*explore)
	return is && p.givenUp
}

func (p *explore) depart(_ *Schedule, f *flight) time.Duration {
	p.note(f.address.from, f.sent, f.message.Sum())
	return f.allowed.Min
}

// note adds to what a machine has been through, and when: its clock is part of what it knows.
func (p *explore) note(node string, at time.Duration, sum uint64) {
	before, known := p.nodes[node]
	if !known {
		p.names = append(p.names, node)
		slices.Sort(p.names)
	}
	p.nodes[node] = sim.Mix(before, ticks(at), sum)
}

// ticks is a time as precisely as machines tell it.
func ticks(at time.Duration) uint64 { return uint64(at / tick) }

func (p *explore) arrive(s *Schedule, f *flight) time.Duration {
	e := p.explorer
	later := p.later(s, f)
	switch {
	case len(later) == 0:
	case e.spent == e.bound:
		e.Cut = true
	case e.at >= e.fresh && p.seen(s, f):
		p.givenUp = true
		return 0
	default:
		if taken := e.choose(1+len(later), false); taken > 0 {
			return later[taken-1]
		}
	}
	p.note(f.address.to, s.world.Now(), f.message.Sum())
	return 0
}

// later lists the times until which a message can wait: right after what happens next, and at and after the deadline
// that comes next.
func (p *explore) later(s *Schedule, f *flight) []time.Duration {
	now := s.world.Now()
	var times []time.Duration
	if next, ok := s.world.Upcoming(); ok {
		times = append(times, next+1)
	}
	if deadlines := s.marks.within(now+1, f.by); len(deadlines) > 0 {
		times = append(times, deadlines[0], deadlines[0]+tick)
	} else if passed := s.marks.within(now+1-tick, now); len(passed) > 0 {
		times = append(times, passed[len(passed)-1]+tick)
	}
	times = slices.DeleteFunc(times, func(at time.Duration) bool { return at <= now || at >= f.by })
	slices.Sort(times)
	return slices.Compact(times)
}

// seen tells whether another run has come to this state with as many deviations left, and takes note of it.
func (p *explore) seen(s *Schedule, asked *flight) bool {
	state := sim.Mix(p.explorer.plan, 6, asked.message.Sum())
	for _, name := range p.names {
		state = sim.Mix(state, p.nodes[name], 0)
	}
	onTheWay := slices.Clone(s.flights)
	slices.SortStableFunc(onTheWay, func(a, b *flight) int { return int(a.ready - b.ready) })
	for _, f := range onTheWay {
		state = sim.Mix(state, ticks(f.ready)<<32|ticks(f.by), f.message.Sum())
	}
	state = sim.Mix(state, ticks(s.world.Now()), uint64(len(s.marks.within(0, s.world.Now()))))
	if p.explorer.visited == nil {
		return false
	}
	left := p.explorer.bound - p.explorer.spent
	if most, known := p.explorer.visited[state]; known && most >= left {
		p.explorer.Pruned++
		return true
	}
	p.explorer.visited[state] = left
	return false
}

func (p *explore) span(_ *Schedule, pause *pause) time.Duration { return pause.allowed.Min }

// KeepAll makes the explorer run every schedule to its end, also those that lead to what another has led to.
func (e *Explorer) KeepAll() { e.visited = nil }
