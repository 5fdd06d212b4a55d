package reports

import (
	"slices"
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
)

// step tells one event, if it has a place in the story.
func (t *teller) step(i int) (ranked, bool) {
	e := &t.c.events[i]
	s := ranked{Step: Step{Time: e.Time, Event: e.Index}, order: i, rank: rounding}
	ok := false
	switch {
	case isFact(e):
		ok = e.Key == t.c.lock && t.factStep(i, &s)
	case e.F == checker.Request:
		ok = slices.Contains(t.named, i) && t.requestStep(i, &s)
	case e.F == checker.Applied:
		ok = t.writeStep(i, &s)
	case e.F == checker.FaultApplied:
		ok = !t.c.restarted(i) && t.faultStep(i, &s)
	case e.F == checker.Healed && t.waiting:
		s.Who, s.Text, s.rank, ok = "bench", "ends all faults; from here on the lock has to work", important, true
	case e.F == checker.WorkloadEnd && t.waiting:
		s.Who, s.Text, s.rank, ok = "bench", "ends the run"+t.stillWaiting(i), important, true
	case e.Process >= 0 && t.involves(e.Process):
		ok = t.clientStep(i, &s)
	}
	if ok && byClient(e) && s.rank > important && t.beside(i) {
		s.rank = aside
	}
	if ok && slices.Contains(t.named, i) && !(t.waiting && e.Type == checker.Invoke) {
		s.rank = vital
	}
	return s, ok && s.Text != ""
}

// clientStep tells what a client did or was told.
func (t *teller) clientStep(i int, s *ranked) bool {
	e := &t.c.events[i]
	s.Who = t.c.name(e.Process)
	s.Clock = t.c.clocks.reading("own clock", e.Clock, e.Time)
	switch e.F {
	case checker.Crash:
		if t.struckAt(i) {
			return false
		}
		s.Text, s.rank = "crashes"+t.staysBehind(i), important
	case checker.Lost:
		s.Text, s.rank = "is told by the lock that it has lost "+t.c.lock, important
	case checker.Renew:
		s.Text = "has extended its hold"
		if e.Deadline != 0 {
			s.Text += " and relies on it until " + seconds(e.Deadline)
		}
	case checker.Acquire, checker.TryAcquire:
		if e.Key != t.c.lock {
			return false
		}
		s.Text, s.rank = t.acquireWords(i)
	case checker.Release:
		if e.Key != t.c.lock {
			return false
		}
		s.Text, s.rank = t.releaseWords(i)
	case checker.Write:
		if e.Type != checker.Invoke || !slices.Contains(t.named, i) {
			return false
		}
		s.Text, s.rank = "sends a write to "+e.Key+tokenWords(e.Token), telling
	default:
		return false
	}
	return true
}

// staysBehind says that the record still names a process that has crashed.
func (t *teller) staysBehind(i int) string {
	fact := t.c.factBefore(i)
	if fact == none || t.c.events[fact].Record == nil {
		return ""
	}
	if owner := t.c.ownerOf(t.c.events[fact].Record, fact); owner == none || t.c.machine[owner] != t.c.events[i].Node {
		return ""
	}
	return "; its record stays"
}

// restarted tells whether a fault is the restart of the server that shows as a fact of its own: its record is gone.
func (c *chronicle) restarted(i int) bool {
	for k := i + 1; k < len(c.events) && c.events[k].Time == c.events[i].Time; k++ {
		if isFact(&c.events[k]) && c.events[k].Command == checker.CommandRestart {
			return true
		}
	}
	return false
}

// struckAt tells whether a crash is the doing of a fault that has a step of its own.
func (t *teller) struckAt(i int) bool {
	for k := i - 1; k >= 0 && t.c.events[k].Time == t.c.events[i].Time; k-- {
		e := &t.c.events[k]
		if word := first(strings.Fields(e.Command)); e.F == checker.FaultApplied && e.Node == t.c.events[i].Node &&
			(word == "crash" || word == "restart" || word == "down") {
			return true
		}
	}
	return false
}

// stillWaiting says who was in a call to acquire when the run ended.
func (t *teller) stillWaiting(at int) string {
	var waiting []int
	for _, c := range t.c.calls {
		b := &t.c.events[c.begin]
		if b.Key == t.c.lock && acquires(b) && c.begin < at && (c.end == none || c.end > at) && !t.died(b.Process, at) {
			waiting = append(waiting, b.Process)
		}
	}
	if len(waiting) == 0 {
		return ""
	}
	return "; " + t.c.names(waiting) + map[bool]string{true: " still waits", false: " still wait"}[len(waiting) == 1]
}

func (t *teller) died(process, before int) bool {
	for i := range before {
		if e := &t.c.events[i]; e.Process == process && e.F == checker.Crash {
			return true
		}
	}
	return false
}

// faultStep tells a fault that struck somebody involved, a server, or the network.
func (t *teller) faultStep(i int, s *ranked) bool {
	e := &t.c.events[i]
	if !t.concerns(e, t.involved) {
		return false
	}
	s.Who, s.Text = faultWords(e.Command, e.Node)
	s.rank = important
	words := strings.Fields(e.Command)
	if first(words) == "crash" {
		s.Text += t.staysBehind(i)
	}
	if first(words) == "clock" {
		if by, ok := durationAfter(words, "step"); ok && t.c.clocks.known && !e.Clock.IsZero() {
			from := e.Clock.Sub(t.c.clocks.zero)
			s.Text += ", from " + seconds(from) + " to " + seconds(from+by)
		}
		return true
	}
	s.Clock = t.c.clocks.reading("own clock", e.Clock, e.Time)
	return true
}

// concerns tells whether a fault struck one of these processes' machines, or something that all clients use.
func (t *teller) concerns(e *checker.Event, processes []int) bool {
	struck := func(machine string) bool {
		for _, p := range processes {
			if t.c.machine[p] == machine {
				return true
			}
		}
		return false
	}
	if e.Node != "" {
		_, client := t.c.nodes[e.Node]
		return struck(e.Node) || !client
	}
	words := strings.Fields(e.Command)
	if len(words) == 0 {
		return false
	}
	for _, separator := range []string{">", "-"} {
		if from, to := ends(words, separator); to != "" {
			_, known := t.c.nodes[from]
			_, back := t.c.nodes[to]
			return struck(from) || struck(to) || !known && !back
		}
	}
	return true
}

// faultEnds tells when those came back who had been struck for a while.
func (t *teller) faultEnds() []ranked {
	var steps []ranked
	for i := range min(t.last+1, len(t.c.events)) {
		e := &t.c.events[i]
		if e.F != checker.FaultApplied || !t.concerns(e, t.involved) || i < t.first && !t.onThread(i) {
			continue
		}
		word := first(strings.Fields(e.Command))
		end := t.c.faultEnd(i)
		if word != "pause" && word != "down" || end == e.Time || end > t.endTime() {
			continue
		}
		who, _ := faultWords(e.Command, e.Node)
		text := map[string]string{"pause": "goes on", "down": "is back"}[word]
		steps = append(steps, ranked{Step: Step{Time: end, Who: who, Text: text}, order: t.c.firstAt(end), rank: important})
	}
	return steps
}

// faultEnd is when a fault that struck for a while was over: after its time, or when all was healed.
func (c *chronicle) faultEnd(i int) time.Duration {
	end := c.events[i].Time + faultLength(c.events[i].Command)
	for k := i + 1; k < len(c.events) && c.events[k].Time < end; k++ {
		if c.events[k].F == checker.Healed {
			return c.events[k].Time
		}
	}
	return end
}

// firstAt is the position of the first event at or after an instant: what has no event of its own comes before it.
func (c *chronicle) firstAt(at time.Duration) int {
	i, _ := slices.BinarySearchFunc(c.events, at, func(e checker.Event, at time.Duration) int {
		return int(min(max(e.Time-at, -1), 1))
	})
	return i - 1
}

func (t *teller) endTime() time.Duration { return t.c.events[t.last].Time }

// claimEnds tells when somebody involved stopped to rely on the lock by its own reckoning.
func (t *teller) claimEnds() []ranked {
	var steps []ranked
	for _, claim := range t.c.claims {
		if claim.Ending != checker.EndsExpired || !t.involves(claim.Process) ||
			claim.End < t.c.events[t.first].Time || claim.End > t.endTime() || claim.End == claim.Start {
			continue
		}
		steps = append(steps, ranked{
			Step: Step{
				Time: claim.End, Who: t.c.name(claim.Process),
				Text: "no longer relies on " + t.c.lock + ": the end of its hold has come",
			},
			order: t.c.firstAt(claim.End), rank: telling,
		})
	}
	return steps
}

// leaseEnds tells when the lease of a record ended that nobody had renewed.
func (t *teller) leaseEnds() []ranked {
	var steps []ranked
	for _, i := range t.c.facts {
		if i > t.last || i < t.first && i != t.cause && !t.onThread(i) || t.c.events[i].Record == nil {
			continue
		}
		end, ok := t.c.leaseEnd(i)
		if !ok || end > t.endTime() {
			continue
		}
		r := t.c.events[i].Record
		owner := t.c.ownerOf(r, i)
		s := ranked{Step: Step{Time: end, Who: t.c.ownerName(r, i)}, order: t.c.firstAt(end), rank: telling}
		s.Text = "its lease ends; its record stays"
		if slices.Contains(t.c.holding(end, none), owner) {
			s.Text = "its lease ends while it still believes that it holds " + t.c.lock
		}
		steps = append(steps, s)
	}
	return steps
}

// jump is by how much two readings of one deadline may differ before the clock behind them must have been set.
const jump = 250 * time.Millisecond

// leaseEnd is the true time at which the lease of the record that a fact set was over, if it ended while that record
// was in force and by the passing of time: where the clock that judges it was set meanwhile, no such moment exists.
func (c *chronicle) leaseEnd(i int) (time.Duration, bool) {
	e := &c.events[i]
	if over, known := lapsed(e.Record); over || !known {
		return 0, false
	}
	end := e.Time + remaining(e.Record)
	if c.clocks.known && c.clocks.leaseReading(e.Record, e.Time) == "" {
		end = max(c.clocks.ofMilliseconds(e.Record.Expires), e.Time)
	}
	next := c.factAfter(i)
	if next == none {
		return end, true
	}
	n := &c.events[next]
	if n.F == checker.RecordGone && n.Command == checker.CommandExpire {
		return 0, false
	}
	if n.Previous == nil || n.Previous.Now == 0 || n.Previous.Expires != e.Record.Expires {
		return end, end <= n.Time
	}
	if over, _ := lapsed(n.Previous); !over {
		return 0, false
	}
	seen := n.Time + remaining(n.Previous)
	if off := seen - end; off < -jump || off > jump {
		return 0, false
	}
	return min(end, n.Time), true
}
