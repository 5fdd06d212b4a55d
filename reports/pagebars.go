package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/reports/spacetime"
)

// about is the chronicle of another lock of the same history.
func (c *chronicle) about(lock string, all []checker.Claim) *chronicle {
	if lock == c.lock {
		return c
	}
	other := *c
	other.lock, other.facts, other.claims = lock, nil, nil
	for i := range c.events {
		if e := &c.events[i]; isFact(e) && e.Key == lock {
			other.facts = append(other.facts, i)
		}
	}
	for _, claim := range all {
		if claim.Lock == lock {
			other.claims = append(other.claims, claim)
		}
	}
	return &other
}

// addLock adds the bars of one lock: who believed to hold it, and whom its record named.
func (m *pageMaker) addLock(lock string) {
	c := m.c.about(lock, m.claims)
	for i := range c.claims {
		m.addHold(c, &c.claims[i])
	}
	m.addOverlaps(c)
	for k := range c.facts {
		m.addLease(c, k)
	}
}

func (m *pageMaker) addHold(c *chronicle, claim *checker.Claim) {
	lane := m.processLane(claim.Process)
	text := c.name(claim.Process) + " believes to hold " + c.lock + " " + span(claim.Start, claim.End) + ", " +
		length(claim.End-claim.Start) + ": " + string(claim.Ending)
	m.page.Bars = append(m.page.Bars, spacetime.Bar{
		Kind: spacetime.Hold, Lane: lane, Owner: lane, From: claim.Start, To: claim.End,
		Start: m.rowOfIndex(claim.Acquire), End: m.rowOfIndex(claim.EndEvent),
		Label: "holds " + c.lock, Detail: text + tokenWords(claim.Token),
	})
}

func (m *pageMaker) rowOfIndex(index int64) int {
	if i, known := m.c.position[index]; known {
		return m.row[i]
	}
	return spacetime.None
}

// edge is where a claim begins or ends.
type edge struct {
	at    time.Duration
	claim int
	begin bool
}

// edges lists where claims begin and end, ends first where both happen at one instant.
func edges(claims []checker.Claim) []edge {
	var list []edge
	for i, claim := range claims {
		if claim.Start < claim.End {
			list = append(list, edge{claim.Start, i, true}, edge{claim.End, i, false})
		}
	}
	slices.SortStableFunc(list, func(a, b edge) int {
		if a.at == b.at && a.begin != b.begin {
			return map[bool]int{true: 1, false: -1}[a.begin]
		}
		return cmp.Compare(a.at, b.at)
	})
	return list
}

// addOverlaps marks, on the lane of each who believed to hold, the time in which another did so too.
func (m *pageMaker) addOverlaps(c *chronicle) {
	var holders []int                 // claims that last
	since := map[int]*spacetime.Bar{} // the overlap of a claim that lasts
	begin := func(claim, at int) {    // at is the claim by which the overlap begins
		if since[claim] != nil {
			return
		}
		own, other := &c.claims[claim], &c.claims[at]
		lane := m.processLane(own.Process)
		since[claim] = &spacetime.Bar{
			Kind: spacetime.Overlap, Lane: lane, Owner: lane, From: other.Start, Start: m.rowOfIndex(other.Acquire),
			Label: "overlap",
		}
	}
	end := func(claim int, at edge) {
		bar := since[claim]
		delete(since, claim)
		if bar == nil {
			return
		}
		bar.To, bar.End = at.at, m.rowOfIndex(c.claims[at.claim].EndEvent)
		bar.Detail = c.name(c.claims[claim].Process) + " believes to hold " + c.lock + " while another does, " +
			span(bar.From, bar.To) + ", " + length(bar.To-bar.From)
		m.page.Bars = append(m.page.Bars, *bar)
	}
	for _, at := range edges(c.claims) {
		if at.begin {
			holders = append(holders, at.claim)
			if len(holders) > 1 {
				for _, claim := range holders {
					begin(claim, at.claim)
				}
			}
			continue
		}
		end(at.claim, at)
		holders = slices.DeleteFunc(holders, func(claim int) bool { return claim == at.claim })
		if len(holders) == 1 {
			end(holders[0], at)
		}
	}
}

// addLease adds what the record said from its k-th fact on: while the lease lasted, and then until it was replaced.
func (m *pageMaker) addLease(c *chronicle, k int) {
	i := c.facts[k]
	e := &c.events[i]
	if e.Record == nil {
		return
	}
	replaced, end := c.events[len(c.events)-1].Time, spacetime.None
	if k+1 < len(c.facts) {
		replaced, end = c.events[c.facts[k+1]].Time, m.row[c.facts[k+1]]
	}
	owner := spacetime.None
	if process := c.ownerOf(e.Record, i); process != none {
		owner = m.processLane(process)
	}
	name := c.ownerName(e.Record, i)
	bar := spacetime.Bar{
		Kind: spacetime.Lease, Lane: m.server, Owner: owner, From: e.Time, To: replaced, Start: m.row[i], End: end,
		Label: fmt.Sprintf("%s ×%d", name, e.Record.Count),
		Detail: fmt.Sprintf("the record of %s names %s with %s, lease %s", c.lock, name, plural(e.Record.Count, "level"),
			c.clocks.until(e.Record, e.Time)),
	}
	over, known := lapsed(e.Record)
	switch ends, ok := c.leaseEnd(i); {
	case over && known:
		bar.Kind = spacetime.LeaseOver
	case ok && ends < replaced:
		lease := bar
		lease.To, lease.End = ends, spacetime.None
		m.page.Bars = append(m.page.Bars, lease)
		bar.Kind, bar.From, bar.Start = spacetime.LeaseOver, ends, spacetime.None
	}
	if bar.Kind == spacetime.LeaseOver {
		bar.Label += ", lease over"
	}
	m.page.Bars = append(m.page.Bars, bar)
}

// settleSlots puts bars of one lane that last at the same time beside each other. An overlap lies on the hold that it
// is part of.
func (m *pageMaker) settleSlots() {
	order := make([]int, len(m.page.Bars))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(m.page.Bars[a].From, m.page.Bars[b].From) })
	ends := map[int][]time.Duration{} // of each lane, when its slots are free again
	holds := map[int][]int{}          // of each lane, the latest hold in each slot
	for _, i := range order {
		bar := &m.page.Bars[i]
		if bar.Kind == spacetime.Overlap {
			continue
		}
		slot := 0
		for slot < len(ends[bar.Lane]) && ends[bar.Lane][slot] > bar.From {
			slot++
		}
		if slot == len(ends[bar.Lane]) {
			ends[bar.Lane], holds[bar.Lane] = append(ends[bar.Lane], 0), append(holds[bar.Lane], 0)
		}
		ends[bar.Lane][slot] = max(bar.To, bar.From+1)
		bar.Slot = slot
	}
	m.settleOverlaps(order)
}

func (m *pageMaker) settleOverlaps(order []int) {
	latest := map[int][]int{} // of each lane, holds that may still last
	for _, i := range order {
		bar := &m.page.Bars[i]
		switch bar.Kind {
		case spacetime.Hold:
			latest[bar.Lane] = append(slices.DeleteFunc(latest[bar.Lane], func(k int) bool {
				return m.page.Bars[k].To <= bar.From
			}), i)
		case spacetime.Overlap:
			for _, k := range latest[bar.Lane] {
				if hold := &m.page.Bars[k]; hold.From <= bar.From && bar.To <= hold.To {
					bar.Slot = hold.Slot
				}
			}
		}
	}
}

// bandKinds are the faults that last.
var bandKinds = map[string]spacetime.BandKind{
	"pause": spacetime.Paused, "down": spacetime.Down, "cut": spacetime.Cut, "slow": spacetime.Slow,
}

// addBands adds the faults that lasted: those that say how long, crashes until the machine is back, clocks that are
// wrong until they are set again.
func (m *pageMaker) addBands() {
	for i := range m.events {
		e := &m.events[i]
		if e.F != checker.FaultApplied {
			continue
		}
		words := strings.Fields(e.Command)
		kind, lasts := bandKinds[first(words)]
		band := spacetime.Band{Kind: kind, From: e.Time, To: m.c.faultEnd(i), Label: faultLabel(e.Command, e.Node)}
		if first(words) == "clock" {
			band.Kind, band.To, lasts = spacetime.Clocked, m.clockEnd(i), true
		}
		if band.Lanes = m.struck(e, words); lasts && band.To > band.From {
			m.page.Bands = append(m.page.Bands, band)
		}
	}
	m.addAbsences()
	for _, v := range m.run.Verdicts {
		for _, violation := range v.Violations {
			if violation.Kind == checker.KindStuck || violation.Kind == checker.KindStarvation {
				m.page.Bands = append(m.page.Bands, spacetime.Band{
					Kind: spacetime.Trouble, From: violation.From, To: violation.To, Label: labels[violation.Kind],
				})
			}
		}
	}
}

// struck lists the lanes that a fault is about: of a link both ends.
func (m *pageMaker) struck(e *checker.Event, words []string) []int {
	names := []string{e.Node}
	if kind := first(words); kind == "cut" || kind == "slow" {
		for _, separator := range []string{">", "-"} {
			if from, to := ends(words, separator); to != "" {
				names = []string{from, to}
				break
			}
		}
	}
	var lanes []int
	for _, name := range names {
		if lane := m.lane(name); lane != spacetime.None {
			lanes = append(lanes, lane)
		}
	}
	return lanes
}

// clockEnd is when a clock was set again after the fault at a position, or, if it ran wrong, when all was healed: what
// was set stays as it is set.
func (m *pageMaker) clockEnd(i int) time.Duration {
	words := strings.Fields(m.events[i].Command)
	runsWrong := has(words, "drift") || has(words, "jitter") || has(words, "unit")
	for k := i + 1; k < len(m.events); k++ {
		e := &m.events[k]
		again := e.F == checker.FaultApplied && e.Node == m.events[i].Node && first(strings.Fields(e.Command)) == "clock"
		if again || e.F == checker.Healed && runsWrong {
			return e.Time
		}
	}
	return m.events[len(m.events)-1].Time
}

// addAbsences adds the time from a crash until the machine is back.
func (m *pageMaker) addAbsences() {
	gone := map[int]time.Duration{}
	finish := func(lane int, at time.Duration) {
		from, away := gone[lane]
		if delete(gone, lane); away && at > from {
			m.page.Bands = append(m.page.Bands, spacetime.Band{
				Kind: spacetime.Down, Lanes: []int{lane}, From: from, To: at, Label: m.page.Lanes[lane].Name + " has crashed",
			})
		}
	}
	last := time.Duration(0)
	for i := range m.page.Events {
		e := &m.page.Events[i]
		last = e.Time
		if e.Lane == spacetime.None {
			continue
		}
		_, away := gone[e.Lane]
		crashed := e.Kind == spacetime.Node && strings.HasPrefix(e.Detail, "crashed") ||
			e.Kind == spacetime.Belief && e.Label == "crashed"
		switch {
		case crashed && !away:
			gone[e.Lane] = e.Time
		case e.Kind == spacetime.Node && e.Detail == "restarted", away && e.Kind == spacetime.Call:
			finish(e.Lane, e.Time)
		}
	}
	for lane := range m.page.Lanes {
		finish(lane, last)
	}
}
