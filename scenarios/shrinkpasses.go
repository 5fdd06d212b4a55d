package scenarios

import (
	"slices"
	"strings"

	"github.com/lockstep-sim/lockstep/faults"
)

// dropFaults leaves faults out.
func (r *shrinking) dropFaults() {
	minimize(len(r.best.plan), func(kept []int) bool {
		c := r.best.clone()
		c.plan = pick(r.best.plan, kept)
		return r.tryAny(c)
	})
}

// dropDecisions leaves decisions out.
func (r *shrinking) dropDecisions() {
	if len(r.best.decisions) == 0 {
		return
	}
	minimize(len(r.best.decisions), func(kept []int) bool {
		c := r.best.clone()
		c.decisions = pick(r.best.decisions, kept)
		return r.try(c)
	})
	if len(r.best.decisions) == 0 && r.best.decisions != nil {
		c := r.best.clone()
		c.decisions = nil
		r.try(c)
	}
}

func pick[T any](all []T, kept []int) []T {
	some := make([]T, 0, len(kept))
	for _, i := range kept {
		some = append(some, all[i])
	}
	return some
}

// minimize looks for a part of n things that cannot do without any single one of them: it leaves out runs of them, of
// half the length each time (after ddmin, Zeller and Hildebrandt 2002). works is given what is kept, by rising places
// among what there is at that time, and takes it over where that is enough.
func minimize(n int, works func(kept []int) bool) {
	for size, removed := n, false; n > 0; removed = false {
		for from := 0; from < n; {
			kept := make([]int, 0, n)
			for i := range n {
				if i < from || i >= from+size {
					kept = append(kept, i)
				}
			}
			if works(kept) {
				n, removed = len(kept), true
			} else {
				from += size
			}
		}
		if size == 1 && !removed {
			return
		}
		size = max(size/2, 1)
	}
}

// idleProgram is that of a client which has nothing to do.
var idleProgram = Program{Steps: []Step{{Verb: Wait}}, Rounds: 1}

// idle says that a program does nothing.
func (p Program) idle() bool {
	return !slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Verb != Wait })
}

// dropClients gives clients nothing to do, further threads before first ones, and leaves the last machines out.
func (r *shrinking) dropClients() {
	names := programNames(r.best.scenario.Programs)
	for _, name := range slices.Backward(names) {
		if p := r.best.scenario.Programs[name]; p.idle() && p.Rounds == 1 && len(p.Steps) == 1 {
			continue
		}
		c := r.best.clone()
		if strings.Contains(name, "/") {
			delete(c.scenario.Programs, name)
		} else {
			c.scenario.Programs[name] = idleProgram
		}
		r.tryAny(c)
	}
	for r.best.scenario.Clients > 1 {
		last := Client(r.best.scenario.Clients)
		if !r.best.scenario.Programs[last].idle() || !r.try(r.best.without(last)) {
			return
		}
	}
}

// without leaves a machine out, with the faults and decisions that name it; nil if that is not possible.
func (c *candidate) without(machine string) *candidate {
	d := c.clone()
	for _, program := range d.scenario.threads(machine) {
		delete(d.scenario.Programs, program)
	}
	d.scenario.Clients--
	d.scenario.Differ = withoutKey(d.scenario.Differ, machine)
	d.plan = slices.DeleteFunc(d.plan, func(f faults.Fault) bool {
		return slices.Contains(f.Mentions(), faults.NodeRef(machine))
	})
	kept := d.decisions[:0]
	for _, decision := range d.decisions {
		if machineOf(decision.From) != machine && decision.To != machine {
			kept = append(kept, decision)
		}
	}
	if d.decisions != nil {
		d.decisions = kept
	}
	return d
}

func withoutKey[V any](m map[string]V, key string) map[string]V {
	if _, there := m[key]; !there {
		return m
	}
	rest := map[string]V{}
	for k, v := range m { // order-free: a map is copied
		if k != key {
			rest[k] = v
		}
	}
	return rest
}

// machineOf is the machine of a thread.
func machineOf(thread string) string {
	machine, _, _ := strings.Cut(thread, "/")
	return machine
}

// renumber closes the gap that a client with nothing to do leaves: the last machine takes its name.
func (r *shrinking) renumber() {
	for i := 1; i < r.best.scenario.Clients; i++ {
		if name := Client(i); r.best.scenario.Programs[name].idle() && len(r.best.scenario.threads(name)) == 1 {
			c := r.best.clone()
			last := Client(c.scenario.Clients)
			r.tryAny(c.without(name).rename(last, name))
		}
	}
}

// rename gives a machine another name, which is free.
func (c *candidate) rename(from, to string) *candidate {
	d := c.clone()
	for _, program := range c.scenario.threads(from) {
		if p, there := c.scenario.Programs[program]; there {
			delete(d.scenario.Programs, program)
			d.scenario.Programs[to+strings.TrimPrefix(program, from)] = p
		}
	}
	if knobs, there := d.scenario.Differ[from]; there {
		d.scenario.Differ = withoutKey(d.scenario.Differ, from)
		d.scenario.Differ[to] = knobs
	}
	renamed := func(ref *faults.NodeRef) {
		if string(*ref) == from {
			*ref = faults.NodeRef(to)
		}
	}
	for i := range d.plan {
		f := &d.plan[i]
		f.When = slices.Clone(f.When)
		renamed(&f.Node)
		renamed(&f.Link.From)
		renamed(&f.Link.To)
		for k := range f.When {
			renamed(&f.When[k].Node)
		}
	}
	for i := range d.decisions {
		decision := &d.decisions[i]
		if machineOf(decision.From) == from {
			decision.From = to + strings.TrimPrefix(decision.From, from)
		}
		if decision.To == from {
			decision.To = to
		}
	}
	return d
}

// dropRounds lets programs run less often.
func (r *shrinking) dropRounds() {
	const most = 10
	for _, name := range programNames(r.best.scenario.Programs) {
		p := r.best.scenario.Programs[name]
		limit := p.Rounds
		if limit == 0 || limit > most {
			limit = most + 1
		}
		for rounds := 1; rounds < limit; rounds++ {
			c := r.best.clone()
			p.Rounds = rounds
			c.scenario.Programs[name] = p
			if r.tryAny(c) {
				break
			}
		}
	}
}

// unroll writes the rounds of a program out, if some step of some round can go then.
func (r *shrinking) unroll() {
	const most = 24
	for _, name := range programNames(r.best.scenario.Programs) {
		p := r.best.scenario.Programs[name]
		if p.Rounds < 2 || p.Rounds*len(p.Steps) > most {
			continue
		}
		rolled, size := r.best, r.size
		c := r.best.clone()
		long := Program{Rounds: 1}
		for range p.Rounds {
			long.Steps = append(long.Steps, p.Steps...)
		}
		c.scenario.Programs[name] = relinked(long)
		if !r.try(c) {
			continue
		}
		r.dropStepsOf(name)
		if len(r.best.scenario.Programs[name].Steps) == len(long.Steps) {
			r.best, r.size = rolled, size
		}
	}
}

// relinked finds anew where refused acquires go on. The steps must be balanced.
func relinked(p Program) Program {
	p.Steps = slices.Clone(p.Steps)
	_ = p.link()
	return p
}

// dropSteps leaves steps of programs out: sections as a whole, then the acquire and release around one, then single
// steps.
func (r *shrinking) dropSteps() {
	for _, name := range programNames(r.best.scenario.Programs) {
		r.dropStepsOf(name)
	}
}

func (r *shrinking) dropStepsOf(name string) {
	for i := 0; i < len(r.best.scenario.Programs[name].Steps); {
		if !r.dropStep(name, i) {
			i++
		}
	}
	for i, step := range r.best.scenario.Programs[name].Steps {
		r.simplifyStep(name, i, step)
	}
}

// dropStep leaves out what begins at a step.
func (r *shrinking) dropStep(name string, i int) bool {
	p := r.best.scenario.Programs[name]
	if len(p.Steps) == 1 {
		return false
	}
	leave := func(places ...int) bool {
		q := Program{Rounds: p.Rounds}
		for k, step := range p.Steps {
			if !slices.Contains(places, k) {
				q.Steps = append(q.Steps, step)
			}
		}
		if len(q.Steps) == 0 {
			return false
		}
		c := r.best.clone()
		c.scenario.Programs[name] = relinked(q)
		return r.tryAny(c)
	}
	switch p.Steps[i].Verb {
	case Unlock:
		return false // it goes with its acquire
	case Lock, Try:
		end := p.Steps[i].skipTo - 1
		section := make([]int, 0, end-i+1)
		for k := i; k <= end; k++ {
			section = append(section, k)
		}
		return leave(section...) || leave(i, end)
	default:
		return leave(i)
	}
}

// simplifyStep writes a step in a plainer way: no insisting on an answer, as few levels as it takes.
func (r *shrinking) simplifyStep(name string, i int, step Step) {
	replace := func(s Step) bool { return r.try(r.best.withStep(name, i, s)) }
	if step.Retry {
		plain := step
		plain.Retry = false
		if replace(plain) {
			step = plain
		}
	}
	if step.Verb == Nest {
		for levels := int64(1); levels <= step.Levels[1]; levels++ {
			plain := step
			plain.Levels = [2]int64{levels, levels}
			if plain != step && replace(plain) {
				return
			}
		}
	}
}

// withStep replaces one step.
func (c *candidate) withStep(name string, i int, step Step) *candidate {
	d := c.clone()
	p := d.scenario.Programs[name]
	p.Steps = slices.Clone(p.Steps)
	step.skipTo = p.Steps[i].skipTo
	p.Steps[i] = step
	d.scenario.Programs[name] = p
	return d
}

// dropTriggers leaves only one of the moments at which a fault may strike.
func (r *shrinking) dropTriggers() {
	for i := range r.best.plan {
		when := r.best.plan[i].When
		for k := 0; k < len(when) && len(when) > 1; k++ {
			c := r.best.clone()
			c.plan[i].When = faults.When{when[k]}
			if r.try(c) {
				break
			}
		}
	}
}

// plain takes out of the scenario what is not needed: the time server, what clients share, other knobs.
func (r *shrinking) plain() {
	change := func(f func(s *Scenario)) {
		c := r.best.clone()
		f(c.scenario)
		r.try(c)
	}
	entry, err := catalogue.Lookup(r.best.base.Implementation)
	if err == nil && !entry.TimeServer && r.best.scenario.TimeServer {
		change(func(s *Scenario) { s.TimeServer = false })
	}
	if s := r.best.scenario; s.SharedIdentity || s.PrefixIdentity {
		change(func(s *Scenario) { s.SharedIdentity, s.PrefixIdentity = false, false })
	}
	if r.best.scenario.SharedRandom {
		change(func(s *Scenario) { s.SharedRandom = false })
	}
	if r.best.scenario.Retries > 0 {
		change(func(s *Scenario) { s.Retries = 0 })
	}
	if !r.best.scenario.Threads.areOwners() {
		change(func(s *Scenario) { s.Threads = OwnThreads })
	}
	for _, machine := range sortedKeys(r.best.scenario.Differ) {
		change(func(s *Scenario) { s.Differ = withoutKey(s.Differ, machine) })
	}
	for _, knob := range sortedKeys(r.best.scenario.Implementations[0].Knobs) {
		change(func(s *Scenario) {
			e := s.Implementations[0]
			e.Knobs = withoutKey(e.Knobs, knob)
			s.Implementations = []Expectation{e}
		})
	}
	if r.best.seed != 1 {
		c := r.best.clone()
		c.seed = 1
		r.try(c)
	}
}
