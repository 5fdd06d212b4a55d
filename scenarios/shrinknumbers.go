package scenarios

import (
	"slices"
	"time"

	"github.com/lockstep-sim/lockstep/faults"
	"github.com/lockstep-sim/lockstep/sim"
)

// number is one number of a candidate that can be made smaller or rounder.
type number struct {
	value    int64
	duration bool
	// least is the smallest value that makes sense.
	least int64
	set   func(c *candidate, value int64)
}

// roundNumbers looks for the smallest round value of every number: of those of one digit first, then of those near what
// it is now.
func (r *shrinking) roundNumbers() {
	for i := 0; ; i++ {
		all := r.best.numbers()
		if i >= len(all) || r.enough() {
			return
		}
		n := all[i]
		for _, value := range n.simpler() {
			c := r.best.clone()
			n.set(c, value)
			if r.try(c) {
				break
			}
		}
	}
}

// numbers lists the numbers of a candidate: of its faults, of its programs, of its decisions, and its latency.
func (c *candidate) numbers() []number {
	var all []number
	for i := range c.plan {
		all = append(all, faultNumbers(c.plan[i], func(c *candidate) *faults.Fault { return &c.plan[i] })...)
	}
	for _, name := range programNames(c.scenario.Programs) {
		for i, step := range c.scenario.Programs[name].Steps {
			if step.For == (sim.Range{}) || step.For.Min != step.For.Max {
				continue
			}
			all = append(all, number{value: int64(step.For.Min), duration: true, set: func(c *candidate, value int64) {
				changed := c.scenario.Programs[name].Steps[i]
				changed.For = sim.Fixed(time.Duration(value))
				c.scenario = c.withStep(name, i, changed).scenario
			}})
		}
	}
	for i, decision := range c.decisions {
		all = append(all, number{value: int64(decision.Takes), duration: true, set: func(c *candidate, value int64) {
			c.decisions[i].Takes = time.Duration(value)
		}})
	}
	return all
}

// faultNumbers lists the numbers of a fault that is found by at.
func faultNumbers(f faults.Fault, at func(*candidate) *faults.Fault) []number {
	var all []number
	add := func(value, least int64, duration bool, field func(*faults.Fault) *int64) {
		if value != 0 {
			all = append(all, number{value: value, duration: duration, least: least, set: func(c *candidate, value int64) {
				*field(at(c)) = value
			}})
		}
	}
	add(int64(f.By), 1, true, func(f *faults.Fault) *int64 { return (*int64)(&f.By) })
	add(int64(f.For), 1, true, func(f *faults.Fault) *int64 { return (*int64)(&f.For) })
	add(f.Drift, 1, false, func(f *faults.Fault) *int64 { return &f.Drift })
	for k, trigger := range f.When {
		if len(f.When) > 1 {
			break // its moments become one first
		}
		field := func(get func(*faults.Trigger) *int64) func(*faults.Fault) *int64 {
			return func(f *faults.Fault) *int64 {
				f.When = slices.Clone(f.When)
				return get(&f.When[k])
			}
		}
		add(int64(trigger.At), 0, true, field(func(t *faults.Trigger) *int64 { return (*int64)(&t.At) }))
		if trigger.Nth > 1 {
			add(trigger.Nth, 1, false, field(func(t *faults.Trigger) *int64 { return &t.Nth }))
		}
	}
	return all
}

// simpler lists the values that are simpler than a number, the simplest first: of one digit 1, 2 or 5, rising, then
// what the number is with one, two and three digits. Signs stay.
func (n number) simpler() []int64 {
	size, sign := n.value, int64(1)
	if size < 0 {
		size, sign = -size, -1
	}
	var values []int64
	add := func(value int64) {
		if value >= n.least && value >= 0 && value <= 2*size && !slices.Contains(values, sign*value) && value != size {
			values = append(values, sign*value)
		}
	}
	for _, value := range series(n.smallest(size), size) {
		add(value)
	}
	for digits := 1; digits <= 3; digits++ {
		unit := unitOf(size, digits)
		add(size / unit * unit)
		add((size/unit + 1) * unit)
	}
	own := digitsOf(size)
	return slices.DeleteFunc(values, func(value int64) bool {
		magnitude := value * sign
		return digitsOf(magnitude) > own || digitsOf(magnitude) == own && magnitude > size
	})
}

// smallest is where the series of round values begins: times below a millisecond are only of interest next to others.
func (n number) smallest(size int64) int64 {
	if n.duration && size > int64(time.Millisecond) {
		return int64(time.Millisecond)
	}
	return 1
}

// series lists 1, 2 and 5 times the powers of ten from one value to another.
func series(from, to int64) []int64 {
	var values []int64
	for power := from; power <= to && power > 0; power *= 10 {
		for _, factor := range []int64{1, 2, 5} {
			if factor*power <= to {
				values = append(values, factor*power)
			}
		}
	}
	return values
}

// unitOf is the power of ten that is the last of so many digits.
func unitOf(value int64, digits int) int64 {
	unit := int64(1)
	limit := int64(1)
	for range digits {
		limit *= 10
	}
	for value/unit >= limit {
		unit *= 10
	}
	return unit
}

// digitsOf counts the digits of a number up to the zeros at its end.
func digitsOf(value int64) int {
	for value != 0 && value%10 == 0 {
		value /= 10
	}
	digits := 0
	for ; value != 0; value /= 10 {
		digits++
	}
	return digits
}

// roundest is the value of the fewest digits in a range, the smallest of these.
func roundest(from, to time.Duration) time.Duration {
	for digits := 1; digits < 19; digits++ {
		unit := unitOf(int64(to), digits)
		if up := (int64(from) + unit - 1) / unit * unit; up <= int64(to) {
			return time.Duration(up)
		}
	}
	return from
}
