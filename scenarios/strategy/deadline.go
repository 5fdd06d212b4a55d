package strategy

import (
	"time"

	"github.com/lockstep-sim/lockstep/sim"
)

// deadline steers to where locks break: requests land a tick before, at and after a known deadline, and inside of
// what another client reads first and writes then. Programs that may wait for a span end it where their next request
// meets a deadline. What cannot be steered is as the seed draws it.
type deadline struct {
	source uint64
	stream *sim.Stream
	last   map[string]string // by client: the command of its last request
	held   map[string]held   // by client: the request that rests on what it has read
}

// held is a request that is kept on its way so that others get in before it.
type held struct {
	server string
	until  time.Duration
}

func newDeadline(seed uint64) *deadline {
	return &deadline{
		source: seed, stream: sim.NewStream(seed, "strategy/deadline"), last: map[string]string{}, held: map[string]held{},
	}
}

func (p *deadline) seed() uint64 { return p.source }

// reach is by how much a request may miss a deadline that lies outside of its range and still be sent as near as it
// gets.
const reach = tick

func (p *deadline) depart(s *Schedule, f *flight) time.Duration {
	if f.message.Reply || f.message.Number == 0 {
		return f.drawn
	}
	before := p.last[f.client]
	p.last[f.client] = f.address.what
	aimed, steers := p.aim(s, f)
	switch {
	case steers:
		return aimed
	case reads[before]:
		return p.hold(f)
	case p.invades(f) && p.stream.Chance(3, 4):
		return f.allowed.Min
	}
	return f.drawn
}

// aim picks a latency with which the request lands at a deadline.
func (p *deadline) aim(s *Schedule, f *flight) (time.Duration, bool) {
	first, last := f.sent+f.allowed.Min, f.sent+f.allowed.Max
	known := s.marks.within(first-reach, last+reach)
	if len(known) == 0 || !p.stream.Chance(3, 4) {
		return 0, false
	}
	at := known[p.stream.Between(0, int64(len(known)-1))] + time.Duration(p.stream.Between(-1, 1))*tick
	if at < first {
		// It comes too late for that: then as late as it gets, so that what others send at the deadline comes first.
		return f.allowed.Max, p.stream.Chance(1, 2)
	}
	return min(at, last) - f.sent, true
}

// hold is the latency of a request that rests on what was read before: long, so that others get in between, or as
// drawn.
func (p *deadline) hold(f *flight) time.Duration {
	if !p.stream.Chance(1, 2) {
		return f.drawn
	}
	p.held[f.client] = held{f.address.to, f.sent + f.allowed.Max}
	return f.allowed.Max
}

// invades tells whether another client has a window open that a quick request gets into.
func (p *deadline) invades(f *flight) bool {
	for client, h := range p.held { // order-free: any one will do
		if client != f.client && h.server == f.address.to && f.sent+f.allowed.Min < h.until {
			return true
		}
	}
	return false
}

func (p *deadline) arrive(*Schedule, *flight) time.Duration { return 0 }

// span ends a wait so that a request sent right after it can land at a deadline, or meets those of others. It is
// decided once: as soon as there is a deadline in reach, or else at the start.
func (p *deadline) span(s *Schedule, pause *pause) time.Duration {
	if pause.settled {
		return pause.takes
	}
	first, last := pause.began+max(pause.allowed.Min, pause.elapsed), pause.began+pause.allowed.Max
	known := s.marks.within(first, last+reach)
	stream := pause.thread.stream
	at := pause.began + pause.drawn
	switch {
	case len(known) > 0 && stream.Chance(3, 4):
		at = known[stream.Between(0, int64(len(known)-1))] + miss(stream)
	case len(known) == 0 && (pause.elapsed > pause.allowed.Min || !stream.Chance(1, 4)):
		return pause.drawn // there may be a deadline later
	default:
		at = p.meeting(at, pause.allowed) + miss(stream)
	}
	pause.settled, pause.takes = true, min(max(at, first), last)-pause.began
	return pause.takes
}

// meeting is the time near another at which programs that wait for spans of the same range meet: one in each cell of a
// grid, the same for all of them.
func (p *deadline) meeting(near time.Duration, allowed sim.Range) time.Duration {
	cell := tick
	for 4*cell <= allowed.Max-allowed.Min {
		cell *= 2
	}
	number := near / cell
	within := sim.Mix(p.source, uint64(number), uint64(cell)) % uint64(cell)
	return number*cell + time.Duration(within)
}

// miss is by how much a program's wait misses the deadline that it is steered to: mostly a little, as far as its first
// request can make good; sometimes more, since it may be a later one that matters, or one of another client.
func miss(stream *sim.Stream) time.Duration {
	const doublings = 6
	most := int64(tick) << stream.Between(0, doublings)
	return time.Duration(stream.Between(-most, most))
}
