package strategy

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/sim"
)

// Schedule decides, within what a scenario allows, how long the messages of one run travel and how long its programs
// wait. It is a [sim.Scheduler] and writes down what it decided.
//
// Everything but what a [Thread] does is for the engine's goroutine.
type Schedule struct {
	policy     policy
	world      *sim.World
	marks      *Marks    // knows the deadlines
	flights    []*flight // on their way, in order of departure
	counts     map[address]int
	threads    map[string]*Thread
	order      []*Thread
	decisions  []Decision
	everything bool // write down also what is as drawn
}

// policy is what makes one strategy differ from another.
type policy interface {
	// depart is the latency after which the message may arrive at the earliest.
	depart(s *Schedule, f *flight) time.Duration
	// arrive is the time until which the message waits; not after now hands it over.
	arrive(s *Schedule, f *flight) time.Duration
	// span is how long a thread waits or works. During a wait it is asked several times.
	span(s *Schedule, p *pause) time.Duration
}

// address is what decisions about messages are counted by.
type address struct{ from, to, what string }

// flight is a message on its way.
type flight struct {
	message *sim.Message
	address address
	client  string // the machine that opened the connection
	nth     int
	allowed sim.Range
	drawn   time.Duration
	sent    time.Duration
	ready   time.Duration // when it may arrive
	by      time.Duration // when it has to
}

// pause is a span of a program that is to be decided.
type pause struct {
	thread  *Thread
	what    string
	nth     int
	began   time.Duration
	elapsed time.Duration // how much of it is over
	allowed sim.Range
	drawn   time.Duration
	settled bool          // deadline: it has been decided whether to steer it
	takes   time.Duration // deadline: how long it is if so
	planned time.Duration // how long it is by what was decided last
}

func newSchedule(p policy) *Schedule {
	return &Schedule{policy: p, counts: map[address]int{}, threads: map[string]*Thread{}}
}

// Enter tells the schedule in which world it is, and who knows of the deadlines there.
func (s *Schedule) Enter(w *sim.World, marks *Marks) { s.world, s.marks = w, marks }

// Depart implements [sim.Scheduler].
func (s *Schedule) Depart(m *sim.Message, allowed sim.Range, drawn time.Duration) time.Duration {
	s.forget(m)
	a := address{m.From().Name(), m.To().Name(), m.What()}
	s.counts[a]++
	f := &flight{
		message: m, address: a, client: m.Client().Name(), nth: s.counts[a], allowed: allowed, drawn: drawn,
		sent: m.Sent(),
	}
	latency := s.policy.depart(s, f)
	f.ready = f.sent + latency
	f.by = f.sent + max(allowed.Max, latency)
	s.flights = append(s.flights, f)
	return latency
}

// Arrive implements [sim.Scheduler].
func (s *Schedule) Arrive(m *sim.Message, by time.Duration) time.Duration {
	f := s.flightOf(m)
	f.by = by
	now := s.world.Now()
	if until := s.policy.arrive(s, f); until > now && until <= by {
		f.ready = until
		return until
	}
	s.forget(m)
	if takes := m.Travelled(); takes != f.drawn || s.everything {
		s.decisions = append(s.decisions, f.decision(takes))
	}
	return 0
}

func (f *flight) decision(takes time.Duration) Decision {
	return Decision{
		From: f.address.from, To: f.address.to, What: f.address.what, Nth: f.nth, Takes: takes, Made: f.sent,
	}
}

// flightOf finds a message on its way.
func (s *Schedule) flightOf(m *sim.Message) *flight {
	for _, f := range s.flights {
		if f.message == m {
			return f
		}
	}
	return &flight{message: m, drawn: m.Travelled()} // not one of ours: nothing is decided about it
}

// forget takes a message out. One that got lost on its way is forgotten when its memory is used again.
func (s *Schedule) forget(m *sim.Message) {
	s.flights = slices.DeleteFunc(s.flights, func(f *flight) bool { return f.message == m })
}

// Thread is the schedule's part in one program. Its spans are decided on the program's own goroutine: it reads what the
// engine's goroutine wrote, which rests meanwhile, and writes what is its own.
type Thread struct {
	schedule  *Schedule
	name      string
	stream    *sim.Stream
	counts    map[string]int
	open      *pause // the wait that is under way, or that the end of its machine cut off
	decisions []Decision
}

// Thread finds or makes the part of a program, by the name of its thread.
func (s *Schedule) Thread(name string) *Thread {
	t := s.threads[name]
	if t == nil {
		t = &Thread{schedule: s, name: name, counts: map[string]int{}}
		if drawn, ok := s.policy.(drawing); ok {
			t.stream = sim.NewStream(drawn.seed(), "strategy/"+name)
		}
		s.threads[name] = t
		s.order = append(s.order, t)
	}
	return t
}

// drawing is a policy that draws; each thread of it has a stream of its own.
type drawing interface{ seed() uint64 }

// looks is how often a schedule is asked during a wait whether it ends now: what it steers to may come up only then.
const looks = 16

// Wait lets the program wait, by its own sleep: for drawn, which its stream gave, or as long within the allowed range
// as the schedule decides.
func (t *Thread) Wait(allowed sim.Range, drawn time.Duration, sleep func(time.Duration)) {
	p := t.pause(Wait, allowed, drawn)
	p.planned, t.open = drawn, p
	slice := max((allowed.Max-allowed.Min)/looks, tick)
	p.elapsed = allowed.Min
	if p.elapsed > 0 {
		sleep(p.elapsed)
	}
	for {
		p.planned = t.schedule.policy.span(t.schedule, p)
		rest := p.planned - p.elapsed
		if rest <= 0 {
			break
		}
		sleep(min(rest, slice))
		p.elapsed += min(rest, slice)
	}
	t.open = nil
	t.decide(p, p.elapsed)
}

// Work decides how long the program works: drawn, or as long within the allowed range as the schedule decides.
func (t *Thread) Work(allowed sim.Range, drawn time.Duration) time.Duration {
	p := t.pause(Work, allowed, drawn)
	takes := t.schedule.policy.span(t.schedule, p)
	t.decide(p, takes)
	return takes
}

func (t *Thread) pause(what string, allowed sim.Range, drawn time.Duration) *pause {
	t.cutOff()
	t.counts[what]++
	return &pause{
		thread: t, what: what, nth: t.counts[what], began: t.schedule.world.Now(), allowed: allowed, drawn: drawn,
	}
}

// cutOff decides a wait that never came to its end: it would have lasted as long as it was planned last.
func (t *Thread) cutOff() {
	if t.open != nil {
		t.decide(t.open, t.open.planned)
		t.open = nil
	}
}

func (t *Thread) decide(p *pause, takes time.Duration) {
	if takes != p.drawn || t.schedule.everything {
		t.decisions = append(t.decisions, Decision{From: t.name, What: p.what, Nth: p.nth, Takes: takes, Made: p.began})
	}
}

// Everything makes the schedule write down also what is as drawn, so that its decisions tell of a run whose network is
// another one.
func (s *Schedule) Everything() { s.everything = true }

// Decisions lists what was decided otherwise than drawn, in order of time. It is for the end of the run: of what is
// still on its way then, it is decided that it arrives later.
func (s *Schedule) Decisions() []Decision {
	all := append([]Decision{}, s.decisions...) // never nil: a run with a schedule is told from one without
	for _, f := range s.flights {
		if waited := s.world.Now() - f.sent; f.drawn <= waited {
			all = append(all, f.decision(waited+time.Second))
		}
	}
	for _, t := range s.order {
		t.cutOff()
		all = append(all, t.decisions...)
	}
	slices.SortStableFunc(all, func(a, b Decision) int {
		return cmp.Or(cmp.Compare(a.Made, b.Made), strings.Compare(a.From, b.From))
	})
	return all
}
