package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/sim"
)

// settle takes from the seed what can be taken: each span of a program becomes the one that it was, and all messages
// take the same time. Where the violation needs more than that, it looks for other spans, drawn by other seeds, and
// else for the few messages that must take the time that they took.
func (r *shrinking) settle() {
	if r.best.settled() {
		return
	}
	r.unschedule()
	before, size := r.best, r.size
	written := r.writtenDown(r.best)
	if written == nil {
		return
	}
	latency := plainLatency(r.best.scenario.Latency)
	bare := written.fixSpans()
	bare.scenario.Latency, bare.decisions = sim.Fixed(latency), nil
	if r.try(bare) || r.settleSpans(latency) {
		return
	}
	r.best, r.size = before, size
	decided := written.fixSpans()
	decided.scenario.Latency = sim.Fixed(latency)
	if r.settleMessages(decided) {
		return
	}
	r.best, r.size = before, size
	rest := written.fixSpans() // the network stays as it is drawn
	rest.decisions = before.decisions
	r.try(rest)
}

// unschedule looks for a seed that shows the violation without any decision: what a strategy finds sooner, chance can
// find in a run that has become small.
func (r *shrinking) unschedule() {
	for seed := uint64(1); seed <= settleSeeds && len(r.best.decisions) > 0; seed++ {
		c := r.best.clone()
		c.decisions, c.seed = nil, seed
		r.try(c)
	}
}

// writtenDown is a candidate that decides everything as it came; nil when it cannot be run.
func (r *shrinking) writtenDown(c *candidate) *candidate {
	if r.enough() {
		return nil
	}
	setup := c.setup()
	setup.everything = true
	r.runs++
	outcome, err := Run(r.t, setup)
	if err != nil || outcome.Err != nil {
		return nil
	}
	written := c.clone()
	written.decisions = outcome.Decisions
	return written
}

// settleSpans gives all messages one time and looks for a seed whose spans show the violation then.
func (r *shrinking) settleSpans(latency time.Duration) bool {
	for seed := uint64(1); seed <= settleSeeds; seed++ {
		c := r.best.clone()
		c.scenario.Latency, c.decisions, c.seed = sim.Fixed(latency), nil, seed
		if !r.try(c) {
			continue
		}
		if written := r.writtenDown(c); written != nil {
			bare := written.fixSpans()
			bare.decisions = nil
			if r.try(bare) {
				return true
			}
		}
	}
	return false
}

// settleMessages tries a candidate that decides everything, and leaves out what is not needed.
func (r *shrinking) settleMessages(decided *candidate) bool {
	if !r.try(decided) {
		return false
	}
	limit := r.limit // of a large run, what is decided may be too much to go through
	if most := r.runs + settleRuns; limit == 0 || limit > most {
		r.limit = most
	}
	r.dropDecisions()
	r.limit, r.over = limit, false
	return !r.enough() && len(r.best.decisions) <= fewDecisions
}

// The bounds of settling.
const (
	// fewDecisions is how many decisions a settled run may take. One with more is harder to follow than one that is left
	// to its seed.
	fewDecisions = 8
	// settleSeeds is how many seeds are asked for other spans, settleRuns how many runs it may take to find the messages
	// that matter.
	settleSeeds = 60
	settleRuns  = 400
)

// plainLatency is the latency of all messages of a settled network: a millisecond, or else the roundest that is drawn.
func plainLatency(r sim.Range) time.Duration {
	if r.Min <= time.Millisecond && time.Millisecond <= r.Max {
		return time.Millisecond
	}
	return roundest(r.Min, r.Max)
}

// fixSpans gives each waiting and working step the time that it took, where it took one only, and takes these decisions
// away.
func (c *candidate) fixSpans() *candidate {
	d := c.clone()
	fixed := map[string]bool{}
	for _, name := range programNames(d.scenario.Programs) {
		p := d.scenario.Programs[name]
		if p.Rounds != 1 {
			p = p.unrolled()
		}
		p.Steps = slices.Clone(p.Steps)
		count := map[Verb]int{}
		for i, step := range p.Steps {
			if step.Verb != Wait && step.Verb != Work {
				continue
			}
			count[step.Verb]++
			address := fmt.Sprintf("%s %s #%d takes ", name, step.Verb, count[step.Verb])
			for _, decision := range c.decisions {
				if text := decision.String(); strings.HasPrefix(text, address) {
					p.Steps[i].For = sim.Fixed(decision.Takes)
					fixed[text] = true
				}
			}
			if p.Steps[i].For.Min != p.Steps[i].For.Max { // it was not reached
				p.Steps[i].For = sim.Fixed(p.Steps[i].For.Min)
			}
		}
		d.scenario.Programs[name] = p
	}
	kept := d.decisions[:0]
	for _, decision := range d.decisions {
		if !fixed[decision.String()] {
			kept = append(kept, decision)
		}
	}
	d.decisions = kept
	return d
}

// unrolled writes the rounds of a program out, where they are few.
func (p Program) unrolled() Program {
	const most = 40
	if p.Rounds < 2 || p.Rounds*len(p.Steps) > most {
		return p
	}
	long := Program{Rounds: 1}
	for range p.Rounds {
		long.Steps = append(long.Steps, p.Steps...)
	}
	return relinked(long)
}
