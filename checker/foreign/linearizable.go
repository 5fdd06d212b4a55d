package foreign

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lockstep-sim/lockstep/checker"
)

// DefaultSteps is how many steps the search for a linearization may take for each key.
const DefaultSteps = 1 << 20

// Linearizable judges the history of a register or of a key-value store: whether its answers are those of one object
// that handled the calls one at a time. The search takes at most so many steps for each key, DefaultSteps if that is
// 0.
//
// It is for histories that other checkers are known by. Those of locks are for package checker.
func Linearizable(h *checker.History, object Object, steps int) checker.Verdict {
	v := checker.Verdict{Property: checker.Linearizability, Result: checker.Unknown}
	if steps <= 0 {
		steps = DefaultSteps
	}
	if err := h.Validate(); err != nil {
		v.GaveUp, v.Why = true, "the history is not well-formed: "+err.Error()
		return v
	}
	parts, err := divide(h, object)
	if err != nil {
		v.GaveUp, v.Why = true, err.Error()
		return v
	}
	calls, undecided := 0, parts
	// A key whose history is illegal is often quick to refute and slow to confirm others beside it: all keys get a few
	// steps before any gets more.
	for limit := min(steps, firstSteps); len(undecided) > 0; limit = min(steps, limit*16) {
		var left []*part
		for _, p := range undecided {
			switch p.judge(limit) {
			case checker.Violated:
				return p.violation(h, limit)
			case checker.Unknown:
				left = append(left, p)
			default:
				calls += len(p.calls)
			}
		}
		undecided = left
		if limit == steps {
			break
		}
	}
	switch {
	case len(undecided) > 0:
		v.GaveUp = true
		v.Why = fmt.Sprintf("no answer within %d steps for %d of %d keys", steps, len(undecided), len(parts))
	case calls == 0:
		v.Why = fmt.Sprintf("no call of a %s returned", object)
	default:
		v.Result = checker.Holds
		v.Why = fmt.Sprintf("one order explains all answers of each key: %s, %s", counted(calls, "operation"),
			counted(len(parts), "key"))
	}
	return v
}

// firstSteps is how many steps each key gets before any gets more.
const firstSteps = 1 << 12

// call is one call of an object with what is known of its answer.
type call struct {
	f, argument, other string // other is what a cas writes
	answer             string
	outcome            checker.Type // OK, Fail of a cas that found another value, Info
	process            int
	from, to           int // positions of call and return, to is math.MaxInt while open
}

// part is what concerns one key.
type part struct {
	key   string
	calls []call
}

// divide takes the history apart by keys, in order of their names. What certainly had no effect and learned nothing is
// left out.
func divide(h *checker.History, object Object) ([]*part, error) {
	byKey := make(map[string]*part)
	open := make(map[int]call)
	keep := func(key string, c call) {
		if byKey[key] == nil {
			byKey[key] = &part{key: key}
		}
		byKey[key].calls = append(byKey[key].calls, c)
	}
	for i := range h.Events {
		e := &h.Events[i]
		if e.Process < 0 {
			continue
		}
		c, called := open[e.Process]
		if e.Type == checker.Invoke {
			c, err := newCall(e, i, object)
			if err != nil {
				return nil, err
			}
			open[e.Process] = c
			continue
		}
		if !called {
			continue
		}
		delete(open, e.Process)
		c.outcome = e.Type
		if e.Type != checker.Info {
			c.to = i
		}
		c.answer = e.Value
		if e.Type == checker.Fail && (c.f != cas || e.Error != "") {
			continue
		}
		keep(e.Key, c)
	}
	for _, c := range open { // order-free: the calls are sorted below
		keep(h.Events[c.from].Key, c)
	}
	parts := make([]*part, 0, len(byKey))
	for _, p := range byKey { // order-free: the parts are sorted below
		slices.SortFunc(p.calls, func(a, b call) int { return a.from - b.from })
		parts = append(parts, p)
	}
	slices.SortFunc(parts, func(a, b *part) int { return strings.Compare(a.key, b.key) })
	return parts, nil
}

// newCall reads the arguments of a call.
func newCall(e *checker.Event, position int, object Object) (call, error) {
	c := call{
		f: e.F, argument: e.Value, process: e.Process, from: position, to: math.MaxInt, outcome: checker.Info,
	}
	known := map[Object][]string{Register: {read, checker.Write, cas}, KeyValue: {get, put, appendTo}}[object]
	if !slices.Contains(known, e.F) {
		return call{}, fmt.Errorf("event %d calls %s: a %s knows %s", e.Index, e.F, object, strings.Join(known, ", "))
	}
	if e.F != cas {
		return c, nil
	}
	pair := strings.Fields(strings.TrimSuffix(strings.TrimPrefix(e.Value, "["), "]"))
	if len(pair) != 2 {
		return call{}, fmt.Errorf("event %d calls cas with %q: want the old and the new value, [3 4]", e.Index, e.Value)
	}
	c.argument, c.other = pair[0], pair[1]
	return c, nil
}

// next is the object: the value after a call, and whether the call can be answered like that.
func (c *call) next(value string) (string, bool) {
	unknown := c.outcome == checker.Info
	switch c.f {
	case read, get:
		return value, unknown || c.answer == value
	case checker.Write, put:
		return c.argument, true
	case appendTo:
		return value + c.argument, true
	default:
		fits := c.argument == value
		if fits {
			value = c.other
		}
		return value, unknown || fits == (c.outcome == checker.OK)
	}
}

// violation finds the first answer that cannot be explained: the shortest beginning of the history that is illegal
// ends with it.
func (p *part) violation(h *checker.History, steps int) checker.Verdict {
	var returns []int
	for i := range p.calls {
		if p.calls[i].to != math.MaxInt {
			returns = append(returns, i)
		}
	}
	slices.SortFunc(returns, func(a, b int) int { return p.calls[a].to - p.calls[b].to })
	low, high := 0, len(returns)-1
	for low < high {
		middle := (low + high) / 2
		if p.until(p.calls[returns[middle]].to).judge(steps) == checker.Violated {
			high = middle
		} else {
			low = middle + 1
		}
	}
	c := &p.calls[returns[high]]
	from, to := &h.Events[c.from], &h.Events[c.to]
	where := ""
	if p.key != "" {
		where = fmt.Sprintf(" of %q", p.key)
	}
	why := fmt.Sprintf("no order of the calls explains that event %d answers %s%s with %s %q", to.Index, to.F, where,
		to.Type, shorten(to.Value))
	return checker.Verdict{
		Property: checker.Linearizability, Result: checker.Violated, Why: why, Found: 1,
		Violations: []checker.Violation{{
			Kind: KindUnexplained, Key: p.key, Events: []int64{from.Index, to.Index}, From: from.Time, To: to.Time,
			Processes: []int{c.process}, Nodes: []string{from.Node}, Text: why,
		}},
	}
}

// KindUnexplained is the kind of violation that Linearizable reports.
const KindUnexplained = "unexplained-answer"

// until is the history of the key up to a position: what had not been called by then is left out, what had not
// returned stays open, and what it will learn is not known.
func (p *part) until(position int) *part {
	shorter := &part{key: p.key}
	for _, c := range p.calls {
		if c.from > position {
			break
		}
		if c.to > position {
			c.to, c.outcome = math.MaxInt, checker.Info
		}
		shorter.calls = append(shorter.calls, c)
	}
	return shorter
}

// counted renders a number with its noun: "1 key", "2 keys".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
