package mechanism

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
)

// Mechanism is one known way in which a lock with a record on a server fails.
type Mechanism struct {
	Name string // "loser-enters"
	Ref  string // "R1", the number in the list of mechanisms of the published lock
	// About is what happens, in one line.
	About string
}

// The mechanisms of locks in the manner of SETNX and GETSET.
var (
	LoserEnters = Mechanism{
		"loser-enters", "R1",
		"the loser of a GETSET race overwrote the winner's record with its own and then entered as its owner",
	}
	NilGetSet = Mechanism{
		"nil-getset", "R2", "a GETSET met no record, counted as lost, and left the loser's record behind",
	}
	LateGetSet = Mechanism{
		"late-getset", "R3", "a GETSET meant for a dead record came late and overwrote that of a fresh owner",
	}
	DeadOnArrival = Mechanism{
		"dead-on-arrival", "R4",
		"a record was written after the deadline in it had passed, and its writer took it for a hold",
	}
	ForeignDelete = Mechanism{
		"foreign-delete", "R5", "an unlock read its own record and deleted that of the next owner",
	}
	ReentryOverwrites = Mechanism{
		"reentry-overwrites", "R6", "a re-entry read its own record and overwrote that of the next owner",
	}
	DecrementResurrects = Mechanism{
		"decrement-resurrects", "R7", "an inner unlock put its dead record back over that of the next owner",
	}
	CountReset = Mechanism{
		"count-reset", "R8", "an owner took over its own expired record, which began to count at 1 again",
	}
	LostDecrement = Mechanism{
		"lost-decrement", "R9", "an inner unlock whose reply was lost was repeated and released the outer level",
	}
	SharedIdentity = Mechanism{
		"shared-identity", "R10", "two clients have one identity, so the second was let in as a re-entry",
	}
	StaleCheck = Mechanism{
		"stale-check", "R11", "a client judged the record that its GETSET had replaced only after a lease had passed",
	}
	ClockForward = Mechanism{
		"clock-forward", "R12", "the clock that judges leases jumped forward, so a live record counted as expired",
	}
	NoHolderCheck = Mechanism{"no-holder-check", "R13", "a holder went on after its lease had ended"}
	LeftoverLevel = Mechanism{
		"leftover-level", "R16", "the reply to an acquire was lost, so a level was left that nobody gives back",
	}
	ClockBack = Mechanism{
		"clock-back", "R17",
		"the clock stepped back between GETSET and its check, so the taker of a dead record believed it had lost",
	}
	NoTimeNoRelease = Mechanism{
		"no-time-no-release", "R18", "an unlock could not ask the time server and so deleted nothing",
	}
	LoserBlocks = Mechanism{
		"loser-blocks", "R19", "the loser of a GETSET race left its record behind and went away",
	}
)

// DeadRecordStays needs no race: nobody removes what a dead holder left.
var DeadRecordStays = Mechanism{
	"dead-record-stays", "R20",
	"a record has no TTL on the server, so that of a dead holder stays until somebody asks for the lock again",
}

// All lists the mechanisms in order of their numbers.
func All() []Mechanism {
	return []Mechanism{
		LoserEnters, NilGetSet, LateGetSet, DeadOnArrival, ForeignDelete, ReentryOverwrites, DecrementResurrects, CountReset,
		LostDecrement, SharedIdentity, StaleCheck, ClockForward, NoHolderCheck, LeftoverLevel, ClockBack, NoTimeNoRelease,
		LoserBlocks,
		DeadRecordStays,
	}
}

// Named finds a mechanism by its name or its number.
func Named(word string) (Mechanism, bool) {
	for _, m := range All() {
		if strings.EqualFold(word, m.Name) || strings.EqualFold(word, m.Ref) {
			return m, true
		}
	}
	return Mechanism{}, false
}

// Finding is a violation explained.
type Finding struct {
	Mechanism Mechanism
	Property  checker.Property
	Violation checker.Violation
	// Events are the indices of the facts that show the mechanism, in rising order.
	Events []int64
	Text   string // one sentence
}

// maxViolations bounds how many violations of one property are explained; they are ordered by time, and later ones
// mostly follow from the first.
const maxViolations = 20

// Find explains the violations of mutual exclusion and liveness, in the order of the verdicts. Each mechanism is
// reported once, with the first violation that it explains.
func Find(h *checker.History, verdicts []checker.Verdict) []Finding {
	a := index(h)
	var found []Finding
	seen := map[string]bool{}
	for _, v := range verdicts {
		for i, violation := range v.Violations {
			if i == maxViolations {
				break
			}
			var f *Finding
			switch {
			case v.Property == checker.MutualExclusion:
				f = a.overlap(violation)
			case v.Property == checker.Liveness && violation.Kind == checker.KindStuck:
				f = a.stuck(violation)
			case v.Property == checker.Liveness && violation.Kind == checker.KindRemains:
				f = finding(DeadRecordStays, a.named(violation), "%s", violation.Text)
			}
			if f == nil || seen[f.Mechanism.Name] {
				continue
			}
			seen[f.Mechanism.Name] = true
			f.Property, f.Violation = v.Property, violation
			found = append(found, *f)
		}
	}
	return found
}

// analysis is a history with its facts and calls at hand.
type analysis struct {
	h     *checker.History
	facts []*checker.Event // RecordSet and RecordGone, in order
	calls map[int][]call   // of each process, in order
}

// call is one operation of a process; end is nil while it is open.
type call struct{ begin, end *checker.Event }

func (c call) contains(e *checker.Event) bool {
	return c.begin.Index < e.Index && (c.end == nil || e.Index < c.end.Index)
}

func (c call) outcome() checker.Type {
	if c.end == nil {
		return checker.Info
	}
	return c.end.Type
}

func (c call) acquires() bool { return c.begin.F == checker.Acquire || c.begin.F == checker.TryAcquire }

func index(h *checker.History) *analysis {
	a := &analysis{h: h, calls: map[int][]call{}}
	for i := range h.Events {
		e := &h.Events[i]
		switch {
		case e.F == checker.RecordSet || e.F == checker.RecordGone:
			a.facts = append(a.facts, e)
		case e.Process < 0 || e.F == checker.Applied || e.F == checker.Crash || e.F == checker.Lost || e.F == checker.Renew:
		case e.Type == checker.Invoke:
			a.calls[e.Process] = append(a.calls[e.Process], call{begin: e})
		default:
			if calls := a.calls[e.Process]; len(calls) > 0 {
				calls[len(calls)-1].end = e
			}
		}
	}
	return a
}

// during is the call of a client that a fact falls into: the one that sent the command.
func (a *analysis) during(fact *checker.Event) (call, bool) {
	var last call
	found := false
	// order-free: the latest call is taken, whatever comes first
	for _, calls := range a.calls {
		for _, c := range calls {
			if c.begin.Node == fact.Node && c.begin.Index < fact.Index && (!found || c.begin.Index > last.begin.Index) {
				last, found = c, true
			}
		}
	}
	return last, found
}

// acquired is the call whose success began the claim of a process that stands at time t.
func (a *analysis) acquired(process int, t time.Duration) (call, bool) {
	depth := 0
	var outermost call
	for _, c := range a.calls[process] {
		if c.end == nil || c.end.Time > t {
			break
		}
		switch {
		case c.acquires() && c.end.Type == checker.OK:
			if depth == 0 {
				outermost = c
			}
			depth++
		case c.begin.F == checker.Release && c.end.Type != checker.Info && depth > 0:
			depth--
		}
	}
	return outermost, depth > 0
}

// overlap explains how two processes came to hold at once: it looks for the fact by which the record of the one that
// held first stopped to name it.
func (a *analysis) overlap(v checker.Violation) *Finding {
	if len(v.Processes) != 2 {
		return nil
	}
	first, second := v.Processes[0], v.Processes[1]
	one, ok1 := a.acquired(first, v.From)
	two, ok2 := a.acquired(second, v.From)
	if !ok1 || !ok2 {
		return nil
	}
	if one.end.Index > two.end.Index {
		first, one, two = second, two, one
	}
	owner := one.begin.Owner
	own := a.ownRecord(one)
	if own == nil {
		return nil
	}
	loss := a.loss(own, owner, two.end.Index)
	if loss == nil {
		if two.begin.Owner == owner {
			return finding(SharedIdentity, []*checker.Event{own}, "%s and %s are both %s; the record named %s, so %s was let in",
				one.begin.Node, two.begin.Node, owner, one.begin.Node, two.begin.Node)
		}
		return a.late(two)
	}
	return a.robbed(first, one, two, own, loss)
}

// named are the events that a violation names.
func (a *analysis) named(v checker.Violation) []*checker.Event {
	var events []*checker.Event
	for _, f := range a.facts {
		if slices.Contains(v.Events, f.Index) {
			events = append(events, f)
		}
	}
	return events
}

// late explains a client that entered although another's record stands: it went by what it had learned long before.
func (a *analysis) late(c call) *Finding {
	own := a.ownRecord(c)
	if own == nil {
		return nil
	}
	name := c.begin.Node
	if own.Command == "GETSET" && own.Previous != nil && !lapsed(own.Previous) {
		return finding(StaleCheck, []*checker.Event{own}, "the GETSET of %s had replaced the live record of another; %s "+
			"judged that record %s later and took it for expired",
			name, name, c.end.Time-own.Time)
	}
	return finding(DeadOnArrival, []*checker.Event{own}, "%s took its record for a hold %s after it was written, when "+
		"its lease had ended",
		name, c.end.Time-own.Time)
}

// ownRecord is the last fact of a call by which the record came to name its caller.
func (a *analysis) ownRecord(c call) *checker.Event {
	var own *checker.Event
	for _, f := range a.facts {
		if c.contains(f) && f.Node == c.begin.Node && f.Record != nil && f.Record.Owner == c.begin.Owner {
			own = f
		}
	}
	return own
}

// loss is the first fact after own, and before the event limit, after which the record does not name owner any more, or
// names it again by a take-over of its own.
func (a *analysis) loss(own *checker.Event, owner string, limit int64) *checker.Event {
	for _, f := range a.facts {
		if f.Index <= own.Index || f.Index > limit {
			continue
		}
		if f.Record == nil || f.Record.Owner != owner || f.Node != own.Node && f.Command == "GETSET" {
			return f
		}
	}
	return nil
}

// robbed names the mechanism by which a holder lost its record.
func (a *analysis) robbed(holder int, one, two call, own, loss *checker.Event) *Finding {
	victim, robber := one.begin.Node, loss.Node
	culprit, known := a.during(loss)
	own = a.latest(own, loss)
	events := []*checker.Event{own, loss}
	switch {
	case loss.Record == nil && robber == victim:
		return a.ownDelete(holder, one, loss)
	case loss.Record == nil && robber != "":
		return finding(ForeignDelete, events, "%s deleted the record of %s with its own unlock", robber, victim)
	case loss.Record == nil:
		return nil
	case loss.Command == "SET" && known && culprit.begin.F == checker.Release:
		return finding(DecrementResurrects, events, "an inner unlock of %s put its own record, dead since before, over "+
			"that of %s", robber, victim)
	case loss.Command == "SET" && known && culprit.acquires() && loss.Record.Count > 1:
		return finding(ReentryOverwrites, events, "a re-entry of %s overwrote the record of %s", robber, victim)
	case loss.Previous != nil && lapsed(loss.Previous):
		return a.takeOver(one, own, loss)
	case loss.Command != "GETSET":
		return nil
	case known && culprit.outcome() == checker.OK && !a.wroteAgain(culprit, loss):
		return finding(StaleCheck, events, "the GETSET of %s replaced the live record of %s; %s judged it after a pause "+
			"and took it for expired", robber, victim, robber)
	case own.Command == "SETNX":
		return finding(LateGetSet, events, "the GETSET of %s came late and replaced the fresh record of %s", robber, victim)
	default:
		return finding(LoserEnters, events, "%s lost the race for the dead record, but its GETSET replaced the live record "+
			"of %s by its own", robber, victim)
	}
}

// latest is the last fact before limit by which the same owner's record was set.
func (a *analysis) latest(own, limit *checker.Event) *checker.Event {
	for _, f := range a.facts {
		if f.Index > own.Index && f.Index < limit.Index && f.Record != nil && f.Record.Owner == own.Record.Owner {
			own = f
		}
	}
	return own
}

func lapsed(r *checker.Record) bool { return r.Expires != 0 && r.Expires < r.Now }

// takeOver names why a record that a client believed in had lapsed when another took it over.
func (a *analysis) takeOver(one call, own, loss *checker.Event) *Finding {
	events := []*checker.Event{own, loss}
	victim, robber := one.begin.Node, loss.Node
	lease := a.h.Header.Lease
	switch {
	case lapsed(own.Record):
		return finding(DeadOnArrival, events, "the record of %s was %d ms past its deadline when it was written", victim,
			own.Record.Now-own.Record.Expires)
	case lease > 0 && loss.Time-own.Time < lease-lease/20:
		return finding(ClockForward, events, "the record of %s counted as expired %s after it was written, "+
			"with a lease of %v",
			victim, loss.Time-own.Time, lease)
	default:
		return finding(NoHolderCheck, events, "the lease of %s ended, %s took over, and %s went on", victim, robber, victim)
	}
}

// ownDelete explains a client that deleted its own record while it believed to hold.
func (a *analysis) ownDelete(process int, one call, loss *checker.Event) *Finding {
	for _, f := range a.facts {
		if f.Index > one.end.Index && f.Index < loss.Index && f.Node == one.begin.Node && f.Command == "GETSET" &&
			f.Previous != nil && f.Previous.Owner == one.begin.Owner {
			return finding(CountReset, []*checker.Event{f, loss}, "%s took over its own expired record, which said 1 level "+
				"from then on; its next unlock deleted it", one.begin.Node)
		}
	}
	for _, c := range a.calls[process] {
		if c.begin.F == checker.Release && c.begin.Index > one.end.Index && c.begin.Index < loss.Index &&
			c.outcome() == checker.Info {
			return finding(LostDecrement, []*checker.Event{c.begin, loss},
				"%s repeated an unlock that had been executed, and released the outer level with it", one.begin.Node)
		}
	}
	return nil
}

// wroteAgain tells whether the client of a call wrote the record once more in it, after fact.
func (a *analysis) wroteAgain(c call, fact *checker.Event) bool {
	for _, f := range a.facts {
		if f.Index > fact.Index && c.contains(f) && f.Node == c.begin.Node {
			return true
		}
	}
	return false
}

// stuck explains a lock that nobody holds while others wait: it looks at how its record came to be and why its owner
// does not give it back.
func (a *analysis) stuck(v checker.Violation) *Finding {
	var last *checker.Event
	for _, f := range a.facts {
		if f.Time <= v.From || last == nil && f.Time < v.To {
			last = f
		}
	}
	if last == nil || last.Record == nil {
		return nil
	}
	made := a.firstOf(last)
	events := []*checker.Event{made, last}
	owner := made.Node
	culprit, known := a.during(made)
	if !known {
		return nil
	}
	switch {
	case made.Command == "GETSET" && made.Previous == nil:
		return finding(NilGetSet, events, "the GETSET of %s met no record, which it took for a lost race; "+
			"its own record stayed", owner)
	case made.Command == "GETSET" && culprit.outcome() == checker.Fail && lapsed(made.Previous):
		return finding(ClockBack, events, "%s took over a dead record, and the clock stepped back before it looked at what "+
			"it had replaced", owner)
	case made.Command == "GETSET" && culprit.outcome() == checker.Fail:
		return finding(LoserBlocks, events, "%s lost the race for the record, but its GETSET had left its own there", owner)
	case a.unknownAcquire(last.Node, made, last):
		return finding(LeftoverLevel, events, "an acquire of %s was executed and its reply lost; the record "+
			"still counts %d", owner, last.Record.Count)
	case a.unknownRelease(owner, last):
		return finding(NoTimeNoRelease, events, "%s could not unlock; its record stayed", owner)
	}
	return nil
}

// firstOf is the fact with which the unbroken chain of records of one owner began that ends with last.
func (a *analysis) firstOf(last *checker.Event) *checker.Event {
	first := last
	for _, f := range a.facts {
		if f.Index > last.Index {
			break
		}
		switch {
		case f.Record == nil || f.Record.Owner != last.Record.Owner:
			first = nil
		case first == nil || first == last && f.Index < last.Index && f.Previous == nil:
			first = f
		case f.Command == "GETSET" || f.Command == "SETNX":
			first = f
		}
	}
	if first == nil {
		return last
	}
	return first
}

// unknownAcquire tells whether a client had an acquire of unknown outcome by which the record was written.
func (a *analysis) unknownAcquire(node string, from, to *checker.Event) bool {
	for _, f := range a.facts {
		if f.Index < from.Index || f.Index > to.Index || f.Node != node {
			continue
		}
		if c, ok := a.during(f); ok && c.acquires() && c.outcome() == checker.Info {
			return true
		}
	}
	return false
}

// unknownRelease tells whether a client tried to release after the record was written, and does not know what came of
// it.
func (a *analysis) unknownRelease(node string, since *checker.Event) bool {
	// order-free: any such call will do
	for _, calls := range a.calls {
		for _, c := range calls {
			if c.begin.Node == node && c.begin.F == checker.Release && c.begin.Index > since.Index &&
				c.outcome() == checker.Info {
				return true
			}
		}
	}
	return false
}

func finding(m Mechanism, events []*checker.Event, format string, args ...any) *Finding {
	f := &Finding{Mechanism: m, Text: fmt.Sprintf(format, args...)}
	for _, e := range events {
		if n := len(f.Events); e != nil && (n == 0 || f.Events[n-1] < e.Index) {
			f.Events = append(f.Events, e.Index)
		}
	}
	return f
}
