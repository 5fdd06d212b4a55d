package checker

import (
	"fmt"
	"time"
)

// judgeRecovery asks whether the faults are really over once they have stopped: every call that was under way then ends
// within the bound, but for acquires that wait for somebody who holds, and nobody who asks again and again gets nothing
// but errors.
func (a *analysis) judgeRecovery(options Options) Verdict {
	m, otherwise, ok := a.aftermath(options)
	if !ok {
		return otherwise
	}
	f := &findings{cap: options.MaxViolations}
	pending, asked, answered, longest := 0, 0, 0, time.Duration(0)
	for id := range a.operations {
		o := &a.operations[id]
		if p := &a.clients[o.client]; p.crashed != none && (o.ret == none || p.crashed < a.healed) {
			continue
		}
		switch {
		case o.call > a.healed:
			if o.acquires() {
				asked++
				if o.ret != none {
					answered++
				}
			}
		case o.ret == none || o.ret > a.healed:
			pending++
			longest = max(longest, a.judgePending(o, &m, f))
		}
	}
	for _, log := range a.locks {
		a.judgeErrors(log, f)
	}
	switch {
	case f.found > 0:
		return f.verdict(Verdict{})
	case pending == 0 && asked > 0 && answered == 0:
		return unknown(fmt.Sprintf(
			"no call was under way when the faults stopped at %s, and none of %s after it was answered",
			seconds(m.from.time), plural(asked, "acquire")))
	case pending == 0 && asked == 0:
		return unknown(fmt.Sprintf("no call was under way when the faults stopped at %s, and nobody asked for a lock later",
			seconds(m.from.time)))
	case pending > 0 && longest == 0 && m.length() <= m.bound:
		return m.short()
	case pending == 0:
		return holds(fmt.Sprintf("%s after the heal, nobody got nothing but errors", plural(answered, "answer")))
	}
	return holds(fmt.Sprintf("%s under way at the heal at %s came to its end, the last after %s", plural(pending, "call"),
		seconds(m.from.time), seconds(longest)))
}

// judgePending judges a call that was under way at the heal and returns how long it took from then on, 0 if it was cut
// off.
func (a *analysis) judgePending(o *operation, m *aftermath, f *findings) time.Duration {
	end, cutOff := m.to, true
	if o.ret != none && o.ret < m.to.position {
		end, cutOff = instant{a.events[o.ret].Time, o.ret}, false
	}
	took := end.time - m.from.time
	if took <= m.bound || o.acquires() && a.servedOthers(o, m) {
		if cutOff {
			return 0
		}
		return took
	}
	call := &a.events[o.call]
	v := Violation{Kind: KindPending, Key: call.Key, From: m.from.time, To: end.time}
	v.Text = fmt.Sprintf("the %s of %s by %s, called at %s, was under way at the heal and for %s after it", o.f(),
		call.Key, a.name(o.client), seconds(call.Time), seconds(took))
	positions := []int{o.call, a.healed}
	if !cutOff {
		positions = append(positions, o.ret)
	}
	v.Events = a.indices(positions...)
	a.involve(&v, o.client)
	f.add(v)
	return took
}

// servedOthers tells whether others held the lock that an acquire waits for at some time within the bound after the
// heal, so that the wait was for them and not for the faults.
func (a *analysis) servedOthers(o *operation, m *aftermath) bool {
	log := a.locks[o.lock]
	until := m.from.time + m.bound
	for k := range log.claims {
		c := &log.claims[k]
		if c.start.time > until {
			break
		}
		if c.client != o.client && !c.empty() && m.from.before(c.end) {
			return true
		}
	}
	return false
}

// errorsInRow is how many errors one after another, and no success, show that a client will not get in any more.
const errorsInRow = 3

// errorRow is what a client was told about its acquires after the heal.
type errorRow struct {
	answered int   // acquires that were called after the heal and returned
	got      bool  // one returned with success
	row      []int // the errors since the last refusal, as operations
	longest  []int
}

// judgeErrors finds the live clients whose acquires ended in nothing but errors although the faults were over. A
// refusal is an answer like any other: it begins the row anew.
func (a *analysis) judgeErrors(log *lockLog, f *findings) {
	rows := make(map[int]*errorRow)
	var asking []int // clients in the order of their first calls
	for _, id := range log.operations {
		o := &a.operations[id]
		if !o.acquires() || o.ret < a.healed || a.end != none && o.ret > a.end || a.clients[o.client].crashed != none {
			continue
		}
		r := rows[o.client]
		if r == nil {
			r = &errorRow{}
			rows[o.client] = r
			asking = append(asking, o.client)
		}
		r.got = r.got || o.outcome() == OK
		if o.call < a.healed {
			continue
		}
		r.answered++
		if o.outcome() != Info {
			r.row = nil
			continue
		}
		if r.row = append(r.row, id); len(r.row) > len(r.longest) {
			r.longest = r.row
		}
	}
	for _, c := range asking {
		if r := rows[c]; !r.got && len(r.longest) >= errorsInRow {
			f.add(a.onlyErrors(log, c, r))
		}
	}
}

// onlyErrors describes the errors of one client by the first and the last of them.
func (a *analysis) onlyErrors(log *lockLog, c int, r *errorRow) Violation {
	first, last := &a.operations[r.longest[0]], &a.operations[r.longest[len(r.longest)-1]]
	v := Violation{
		Kind: KindErrors, Key: log.key, From: a.events[first.call].Time, To: a.events[last.ret].Time,
		Events: a.indices(first.call, first.ret, last.call, last.ret),
	}
	inRow := ""
	if r.answered > len(r.longest) {
		inRow = " in a row"
	}
	v.Text = fmt.Sprintf("%s asked for %s %d times%s after the heal and got an error each time",
		a.name(c), log.key, len(r.longest), inRow)
	a.involve(&v, c)
	return v
}
