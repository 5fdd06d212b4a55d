package checker

import (
	"fmt"
	"time"
)

// judgeStarvation asks whether somebody waited for longer than the bound, after the heal, while others entered more
// often than is allowed. A try that waits for a stated time, and was not cut off, waited for no longer than it wanted.
func (a *analysis) judgeStarvation(options Options) Verdict {
	m, otherwise, ok := a.aftermath(options)
	if !ok {
		return otherwise
	}
	f := &findings{cap: options.MaxViolations}
	waits, longest := 0, time.Duration(0)
	for _, log := range a.locks {
		waiting := a.waitsFor(log, m.from, m.to)
		waits += len(waiting)
		var starts *succession
		for i := range waiting {
			w := &waiting[i]
			longest = max(longest, w.end.time-w.start.time)
			if w.end.time-w.start.time <= m.bound || !w.cutOff && a.operations[w.operation].timed {
				continue
			}
			if starts == nil {
				s := newSuccession(log)
				starts = &s
			}
			client := a.operations[w.operation].client
			if n := starts.latest(w.end) - starts.latest(w.start); n > options.Overtakes {
				f.add(a.starved(log, w, client, n))
			}
		}
	}
	switch {
	case f.found > 0:
		return f.verdict(Verdict{})
	case waits == 0:
		return unknown(fmt.Sprintf("nobody asked for a lock between the heal at %s and the end at %s",
			seconds(m.from.time), seconds(m.to.time)))
	case m.length() <= m.bound:
		return m.short()
	}
	return holds(fmt.Sprintf("the longest of %s after the heal took %s", plural(waits, "wait"), seconds(longest)))
}

// starved describes a wait during which others entered n times.
func (a *analysis) starved(log *lockLog, w *wait, client, n int) Violation {
	o := &a.operations[w.operation]
	v := Violation{Kind: KindStarvation, Key: log.key, From: w.start.time, To: w.end.time}
	positions := []int{o.call}
	if !w.cutOff && o.ret != none {
		positions = append(positions, o.ret)
	}
	v.Text = fmt.Sprintf("%s waited for %s %s while others entered %d times", a.name(client), log.key,
		span(v.From, v.To), n)
	v.Events = a.indices(positions...)
	a.involve(&v, client)
	return v
}
