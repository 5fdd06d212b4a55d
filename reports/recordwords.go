package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-sim/lockstep/checker"
)

// factStep tells what became of the record.
func (t *teller) factStep(i int, s *ranked) bool {
	e := &t.c.events[i]
	by := t.c.process(i)
	s.rank = important
	if by != none && t.beside(i) && !t.touchesInvolved(i) {
		s.rank = aside
		if next := t.c.factAfter(i); next != none && !t.beside(next) {
			s.rank = telling // it left the record as the next one found it
		}
	}
	s.Who = t.c.serverAt(i)
	if by != none {
		s.Who = t.c.name(by)
	}
	s.Clock = t.c.clocks.leaseReading(e.Previous, e.Time)
	if e.Record != nil {
		s.Clock = t.c.clocks.leaseReading(e.Record, e.Time)
	}
	switch {
	case e.F == checker.RecordSet && e.Record == nil:
		return false
	case isQueueNode(e.Value) && e.F == checker.RecordSet && by == none:
		s.Text = "the node of " + t.c.ownerName(e.Record, i) + ", " + e.Value + ", is first in the queue now"
	case isQueueNode(e.Value) && e.F == checker.RecordSet:
		s.Text = t.prefix(i) + "makes " + e.Value + ", which is first in the queue"
	case e.F == checker.RecordSet:
		s.Text = t.prefix(i) + t.setWords(i)
	default:
		s.Text = t.prefix(i) + t.goneWords(i)
	}
	return true
}

// requestStep tells of a create by which a client got its place in a queue, unless a fact tells of it: the node is the
// first.
func (t *teller) requestStep(i int, s *ranked) bool {
	e := &t.c.events[i]
	if !isQueueNode(e.Value) || !strings.EqualFold(e.Command, "create") {
		return false
	}
	for k := i + 1; k < len(t.c.events) && t.c.events[k].Time == e.Time; k++ {
		if next := &t.c.events[k]; next.F == checker.RecordSet && next.Value == e.Value {
			return false
		}
	}
	s.Who, s.Text = e.Node, e.Command+": makes "+e.Value+", its place in the queue"
	return true
}

// isQueueNode tells whether a record is a node in a queue on ZooKeeper: then a fact gives its path.
func isQueueNode(value string) bool { return strings.HasPrefix(value, "/") }

// touchesInvolved tells whether a fact changed the record of somebody else who is involved.
func (t *teller) touchesInvolved(i int) bool {
	e := &t.c.events[i]
	if e.Previous == nil {
		return false
	}
	owner := t.c.ownerOf(e.Previous, t.c.factBefore(i))
	return owner != t.c.process(i) && t.involves(owner)
}

// serverAt is the machine that a fault struck at the moment of a fact which no client caused: the server itself.
func (c *chronicle) serverAt(i int) string {
	for k := i - 1; k >= 0 && c.events[k].Time == c.events[i].Time; k-- {
		e := &c.events[k]
		if _, client := c.nodes[e.Node]; e.F == checker.FaultApplied && e.Node != "" && !client {
			return e.Node
		}
	}
	return "server"
}

// prefix names the command by which a client changed the record, and the call that it belongs to unless that is to
// acquire the lock.
func (t *teller) prefix(i int) string {
	e := &t.c.events[i]
	if t.c.process(i) == none {
		return ""
	}
	command := e.Command
	if strings.HasPrefix(command, "EVAL") || strings.HasPrefix(command, "FCALL") {
		command = "script"
	}
	id := t.c.callAt[i]
	switch {
	case id == none || t.extends(i):
	case t.c.late(i) && t.c.events[t.c.calls[id].end].Type == checker.Info:
		command = strings.TrimSpace("late " + command)
	case t.inRelease(i) && !t.c.late(i) && e.Previous != nil:
		command = strings.TrimSpace(command + " of its unlock")
	}
	if command == "" {
		return ""
	}
	return command + ": "
}

// extends tells whether a fact did no more than extend the lease of its sender's own record.
func (t *teller) extends(i int) bool {
	e := &t.c.events[i]
	if e.Record == nil || e.Previous == nil || e.Record.Owner != e.Previous.Owner || e.Record.Count != e.Previous.Count {
		return false
	}
	over, known := lapsed(e.Previous)
	return !(over && known) && e.Record.Expires > e.Previous.Expires && t.writer(t.c.factBefore(i)) == t.c.process(i)
}

// recordOf renders the record that a fact found: "the dead record of c1 (lease until 2.005 s)".
func (t *teller) recordOf(i int) string {
	e := &t.c.events[i]
	state, lease := "", ""
	if over, known := lapsed(e.Previous); known {
		state = map[bool]string{true: "dead ", false: "live "}[over]
	}
	if over, known := lapsed(e.Previous); e.Previous.Expires != 0 && !(over && known && t.endTold(i)) {
		lease = " (lease " + t.c.clocks.until(e.Previous, e.Time) + ")"
	}
	return "the " + state + "record of " + t.c.ownerName(e.Previous, t.c.factBefore(i)) + lease
}

// endTold tells whether the end of the lease that a fact found lapsed has a step of its own.
func (t *teller) endTold(i int) bool {
	before := t.c.factBefore(i)
	if before == none || t.c.events[before].Record == nil {
		return false
	}
	_, told := t.c.leaseEnd(before)
	return told && (before >= t.first || before == t.cause || t.onThread(before))
}

// lease renders the lease of the record that a fact set.
func (t *teller) lease(i int) string {
	e := &t.c.events[i]
	if e.Record.Expires == 0 {
		return ""
	}
	text := ", lease " + t.c.clocks.until(e.Record, e.Time)
	if over, _ := lapsed(e.Record); over {
		text += ", which was over already when it was written"
	}
	return text
}

func levels(n int64) string {
	if n <= 1 {
		return ""
	}
	return " with " + plural(n, "level")
}

// setWords tells by what a record was replaced.
func (t *teller) setWords(i int) string {
	e := &t.c.events[i]
	switch {
	case e.Previous == nil && e.Command == "GETSET":
		return "finds no record left and puts its own there" + levels(e.Record.Count) + t.lease(i) + t.consequence(i)
	case e.Previous == nil:
		text := "makes the record in its own name" + levels(e.Record.Count) + t.lease(i)
		if t.inRelease(i) {
			text += ", although it has begun to unlock"
		}
		return text
	case e.Previous.Owner == e.Record.Owner:
		return t.ownSetWords(i)
	}
	id := t.c.callAt[i]
	if id != none && t.c.events[t.c.calls[id].begin].F == checker.Release {
		return "puts its own record back" + levels(e.Record.Count) + " over " + t.recordOf(i) + t.lease(i)
	}
	return "replaces " + t.recordOf(i) + " by its own" + levels(e.Record.Count) + t.lease(i) + t.consequence(i)
}

// ownSetWords tells what a client did with a record that names it.
func (t *teller) ownSetWords(i int) string {
	e := &t.c.events[i]
	before := t.c.factBefore(i)
	over, known := lapsed(e.Previous)
	dead := over && known
	who := "its own name in the record"
	if writer := t.writer(before); writer != none && writer != t.c.process(i) {
		who = "the record of " + t.c.name(writer) + " but takes it for its own, since both go by one identity,"
	}
	switch {
	case e.Record.Count > e.Previous.Count && dead:
		return fmt.Sprintf("finds %s, dead since its lease ended, and counts %s%s",
			who, plural(e.Record.Count, "level"), t.lease(i))
	case e.Record.Count > e.Previous.Count:
		return fmt.Sprintf("finds %s and counts %s%s%s", who, plural(e.Record.Count, "level"), t.lease(i), t.unknowing(i))
	case e.Record.Count < e.Previous.Count && t.inRelease(i):
		return fmt.Sprintf("gives back a level: the record counts %s%s", plural(e.Record.Count, "level"), t.lease(i))
	case dead:
		return fmt.Sprintf("replaces its own dead record%s by a fresh one that counts %s%s", levels(e.Previous.Count),
			plural(e.Record.Count, "level"), t.lease(i))
	case e.Record.Expires > e.Previous.Expires:
		return "extends the lease of its record" + strings.Replace(t.lease(i), ", lease", "", 1)
	}
	return fmt.Sprintf("writes its record again, now with %s%s", plural(e.Record.Count, "level"), t.lease(i))
}

// writer is the process that set the record in force after a fact.
func (t *teller) writer(fact int) int {
	if fact == none {
		return none
	}
	return t.c.process(fact)
}

func (t *teller) inRelease(i int) bool {
	id := t.c.callAt[i]
	return id != none && t.c.events[t.c.calls[id].begin].F == checker.Release
}

// unknowing says that a client counted a level up although it did not hold one: the record that it found is a leftover
// of its own earlier attempt.
func (t *teller) unknowing(i int) string {
	process := t.c.process(i)
	if slices.Contains(t.c.holding(t.c.events[i].Time, none), process) || t.writer(t.c.factBefore(i)) != process {
		return ""
	}
	return ", though it held none"
}

// consequence tells what the caller of a GETSET made of what it had replaced, as its call shows.
func (t *teller) consequence(i int) string {
	e := &t.c.events[i]
	id := t.c.callAt[i]
	if id == none || e.Command != "GETSET" {
		return ""
	}
	c := t.c.calls[id]
	over, known := lapsed(orEmpty(e.Previous))
	again := len(c.facts) > 0 && c.facts[len(c.facts)-1] > i
	won := c.end != none && c.end > i && t.c.events[c.end].Type == checker.OK
	refused := c.end != none && c.end > i && t.c.events[c.end].Type == checker.Fail
	switch {
	case known && over && refused:
		return ", yet later takes that for a lost race"
	case known && over:
		return ""
	case again || refused:
		return ", and takes that for a lost race"
	case won && known:
		return ", and takes that for a dead one when it looks at it later"
	}
	return ""
}

func orEmpty(r *checker.Record) *checker.Record {
	if r == nil {
		return &checker.Record{}
	}
	return r
}

// goneWords tells how a record was removed.
func (t *teller) goneWords(i int) string {
	e := &t.c.events[i]
	if e.Previous == nil {
		return "the record is removed"
	}
	before := t.c.factBefore(i)
	owner := t.c.ownerName(e.Previous, before)
	switch e.Command {
	case checker.CommandExpire:
		return "removes the record of " + owner + ": its lease is over"
	case checker.CommandRestart:
		return "comes back without its data: " + t.recordOf(i) + " is gone"
	}
	by := t.c.process(i)
	switch {
	case by == none:
		return "loses " + t.recordOf(i)
	case e.Previous.Owner == e.Owner && t.writer(before) == by:
		text := "deletes its own record" + levels(e.Previous.Count)
		if over, known := lapsed(e.Previous); known && over {
			text = "deletes its own dead record" + levels(e.Previous.Count)
		}
		return text
	}
	return "deletes " + t.recordOf(i) + levels(e.Previous.Count)
}
