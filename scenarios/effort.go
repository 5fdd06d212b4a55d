package scenarios

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/scenarios/strategy"
	"github.com/lockstep-sim/lockstep/sim"
)

// PortfolioName stands for all strategies of Scenario.Portfolio in turn, where the name of a strategy is asked for.
const PortfolioName = "portfolio"

// Effort is what it took one strategy to find one thing: medians over several ranges of seeds.
type Effort struct {
	Scenario, Implementation string
	// What was to be found: a property or a mechanism's number.
	What     string
	Strategy string
	// Ranges is how many ranges of seeds were searched, Missed in how many of them nothing was found.
	Ranges, Missed int
	// Seeds and Time are the medians of the seeds run until it was found, and of the time on one processor. A range in
	// which nothing was found counts as the most that a range has.
	Seeds int
	Time  time.Duration
}

// Efforts measures what it takes to find what scenarios say must be found.
type Efforts struct {
	Scenarios       []*Scenario
	Implementations []string // none = all
	// Strategies to compare: names of strategies, or PortfolioName.
	Strategies []string
	// Ranges of seeds to search, each up to Most seeds long.
	Ranges, Most int
	Clock        clockwork.Clock
	// Progress is told of each pair of a scenario and an implementation that is done; it may be nil.
	Progress func(done, all int)
}

// Run measures, in the order of scenarios, implementations, finds and strategies. When ctx ends it returns what it has.
func (e *Efforts) Run(ctx context.Context, t *testing.T) ([]Effort, error) {
	for _, name := range e.Strategies {
		if err := strategy.Check(name); err != nil && name != PortfolioName {
			return nil, fmt.Errorf("%w, or %s", err, PortfolioName)
		}
	}
	pairs := e.pairs()
	var efforts []Effort
	for i, p := range pairs {
		measured, err := e.pair(ctx, t, p)
		if err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			break
		}
		efforts = append(efforts, measured...)
		if e.Progress != nil {
			e.Progress(i+1, len(pairs))
		}
	}
	return efforts, nil
}

// effortPair is one implementation in one scenario, where something must be found.
type effortPair struct {
	scenario    *Scenario
	expectation Expectation
}

func (e *Efforts) pairs() []effortPair {
	var pairs []effortPair
	for _, s := range e.Scenarios {
		for _, x := range s.Implementations {
			wanted := len(e.Implementations) == 0 || slices.Contains(e.Implementations, x.Implementation)
			if wanted && len(x.Find) > 0 {
				pairs = append(pairs, effortPair{s, x})
			}
		}
	}
	return pairs
}

// search is one range of seeds under way: for each find the seeds and the time that it took, 0 = not found yet.
type effortSearch struct {
	seeds []int
	times []time.Duration
}

// pair measures all finds of a pair with all strategies.
func (e *Efforts) pair(ctx context.Context, t *testing.T, p effortPair) ([]Effort, error) {
	var efforts []Effort
	for _, name := range e.Strategies {
		var searches []effortSearch
		for k := 0; k < e.Ranges && ctx.Err() == nil; k++ {
			found, err := e.search(ctx, t, p, name, uint64(k*e.Most))
			if err != nil {
				return nil, err
			}
			searches = append(searches, found)
		}
		for i, find := range p.expectation.Find {
			efforts = append(efforts, e.median(p, find.What, name, searches, i))
		}
	}
	slices.SortStableFunc(efforts, func(a, b Effort) int { return p.place(a.What) - p.place(b.What) })
	return efforts, nil
}

// place is where a find stands in the expectation.
func (p *effortPair) place(what string) int {
	return slices.IndexFunc(p.expectation.Find, func(f MustFind) bool { return f.What == what })
}

// search runs the seeds of one range until everything is found.
func (e *Efforts) search(
	ctx context.Context, t *testing.T, p effortPair, name string, first uint64,
) (effortSearch, error) {
	n := len(p.expectation.Find)
	s := effortSearch{make([]int, n), make([]time.Duration, n)}
	names := []string{name}
	if name == PortfolioName {
		names = p.scenario.Portfolio(p.expectation.Implementation)
	}
	start := e.Clock.Now()
	for place := 0; place < e.Most && slices.Contains(s.seeds, 0) && ctx.Err() == nil; place++ {
		outcome, err := Run(t, Setup{
			Scenario: p.scenario, Implementation: p.expectation.Implementation, Seed: first + uint64(place) + 1,
			Strategy: names[place%len(names)], Trace: sim.HashOnly,
		})
		if err == nil {
			err = outcome.Err
		}
		if err != nil {
			return s, fmt.Errorf("%s of %s, seed %d: %w", p.expectation.Implementation, p.scenario.Name,
				first+uint64(place)+1, err)
		}
		for i, find := range p.expectation.Find {
			if s.seeds[i] == 0 && outcome.shows(find.What) {
				s.seeds[i], s.times[i] = place+1, e.Clock.Since(start)
			}
		}
	}
	for i := range s.times {
		if s.seeds[i] == 0 {
			s.times[i] = e.Clock.Since(start)
		}
	}
	return s, nil
}

// shows tells whether a property is violated, or a mechanism recognised, in the outcome.
func (o *Outcome) shows(what string) bool {
	property, byMechanism := checker.Property(what), ""
	if isMechanism(what) {
		property, byMechanism = "", what
	}
	_, shows := o.Choose(property, byMechanism)
	return shows
}

// median sums up the searches for one find.
func (e *Efforts) median(p effortPair, what, name string, searches []effortSearch, find int) Effort {
	effort := Effort{
		Scenario: p.scenario.Name, Implementation: p.expectation.Implementation, What: what, Strategy: name,
		Ranges: len(searches),
	}
	var seeds []int
	var times []time.Duration
	for _, s := range searches {
		n := s.seeds[find]
		if n == 0 {
			effort.Missed++
			n = e.Most
		}
		seeds, times = append(seeds, n), append(times, s.times[find])
	}
	if len(searches) > 0 {
		slices.Sort(seeds)
		slices.Sort(times)
		effort.Seeds, effort.Time = seeds[len(seeds)/2], times[len(times)/2]
	}
	return effort
}
