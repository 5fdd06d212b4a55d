package reports

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
)

// HolderOptions are the choices of one plot of holders.
type HolderOptions struct {
	// Violation is what the plot is about: it shows the time that the violation's story is about, and a little more on
	// both sides. Nil shows the whole run.
	Violation *checker.Violation
	// Whole shows the whole run although there is a violation.
	Whole bool
	// Lock is the lock to show. Empty means that of the violation, else that of the history.
	Lock string
}

// bar is something that lasted, on one lane.
type bar struct {
	kind     string // claim, lease, lease-over, overlap, or nobody
	lane     int
	process  int
	from, to time.Duration
	detail   string
}

// mark is something that happened at one instant; lane is none where it happened to no client.
type mark struct {
	kind   string // fault or crash
	lane   int
	at     time.Duration
	until  time.Duration // the end of a fault that stays, else equal to at
	label  string
	detail string
}

// holding is all that a plot of holders shows.
type holding struct {
	lock     string
	lanes    []string // machines
	claims   []bar
	leases   []bar // of the server's record: while they last, and then until the record is replaced
	overlaps []bar // over all lanes
	nobody   []bar // the violation, if it is that nobody holds or that somebody never does; over all lanes
	marks    []mark
	from, to time.Duration
	whole    bool
}

// errNoLock is what a history gives in which nobody asks for a lock.
var errNoLock = errors.New("nobody asks for a lock in this history, so there is nothing to draw")

// gather collects what a plot shows.
func gather(h *checker.History, options HolderOptions) (*holding, error) {
	violation := checker.Violation{Key: options.Lock}
	if options.Violation != nil {
		violation = *options.Violation
	}
	t := newTeller(h, violation, nil)
	if options.Lock != "" {
		t.c = newChronicle(h, options.Lock)
	}
	d := &holding{lock: t.c.lock, lanes: t.c.lanes(), whole: options.Whole || options.Violation == nil}
	if len(d.lanes) == 0 {
		return nil, errNoLock
	}
	d.window(t)
	d.addClaims(t.c)
	d.addLeases(t.c)
	d.addMarks(t.c)
	d.addOverlaps(t.c)
	if v := t.violation; t.waiting {
		d.nobody = []bar{{kind: "nobody", lane: none, process: none, from: v.From, to: v.To, detail: v.Kind}}
	}
	d.clip()
	return d, nil
}

// lanes lists the machines whose processes asked for the lock, c2 before c10.
func (c *chronicle) lanes() []string {
	var machines []string
	for i := range c.events {
		e := &c.events[i]
		if acquires(e) && e.Key == c.lock && !slices.Contains(machines, c.laneName(e.Process)) {
			machines = append(machines, c.laneName(e.Process))
		}
	}
	slices.SortFunc(machines, natural)
	return machines
}

func (c *chronicle) laneName(process int) string {
	if node := c.machine[process]; node != "" {
		return node
	}
	return c.name(process)
}

// natural orders names by their text, and where they end in numbers by these.
func natural(a, b string) int {
	textA, textB := strings.TrimRight(a, "0123456789"), strings.TrimRight(b, "0123456789")
	numberA, okA := number(a[len(textA):])
	numberB, okB := number(b[len(textB):])
	if textA == textB && okA && okB && numberA != numberB {
		return numberA - numberB
	}
	return strings.Compare(a, b)
}

func (d *holding) lane(machine string) int { return slices.Index(d.lanes, machine) }

// window settles the time that is shown: that of the violation's story and a little more, or the whole run.
func (d *holding) window(t *teller) {
	end := t.c.events[len(t.c.events)-1].Time
	d.from, d.to = 0, end
	if !d.whole {
		from, to := t.c.events[t.first].Time, max(t.endTime(), t.violation.To)
		if t.cause != none {
			from = t.c.events[t.cause].Time
		}
		// What came long before is left to the story, so that the violation itself can be seen.
		near := to - 8*(t.violation.To-t.violation.From)
		if len(t.named) > 0 {
			near = min(near, t.c.events[t.named[0]].Time)
		}
		from = max(from, near)
		pad := max((to-from)/12, time.Millisecond)
		d.from, d.to = max(from-pad, 0), min(to+pad, end)
	}
	if d.to <= d.from {
		d.to = d.from + time.Millisecond
	}
}

func (d *holding) addClaims(c *chronicle) {
	for _, claim := range c.claims {
		d.claims = append(d.claims, bar{
			kind: "claim", lane: d.lane(c.laneName(claim.Process)), process: claim.Process,
			from: claim.Start, to: claim.End, detail: string(claim.Ending),
		})
	}
}

// addLeases adds the lease of each record on the lane of the client that it names, until it is replaced. Once it has
// ended the record is still there, but dead.
func (d *holding) addLeases(c *chronicle) {
	end := c.events[len(c.events)-1].Time
	for _, i := range c.facts {
		e := &c.events[i]
		if e.Record == nil {
			continue
		}
		owner := c.ownerOf(e.Record, i)
		lane := none
		if owner != none {
			lane = d.lane(c.laneName(owner))
		}
		if lane == none {
			continue
		}
		replaced := end
		if next := c.factAfter(i); next != none {
			replaced = c.events[next].Time
		}
		b := bar{
			kind: "lease", lane: lane, process: owner, from: e.Time, to: replaced,
			detail: strconv.FormatInt(e.Record.Count, 10),
		}
		over, known := lapsed(e.Record)
		over = over && known
		switch ends, ok := c.leaseEnd(i); {
		case over:
			b.kind = "lease-over"
		case ok && ends < replaced:
			b.to = ends
			d.leases = append(d.leases, b)
			b.kind, b.from, b.to = "lease-over", ends, replaced
		}
		d.leases = append(d.leases, b)
	}
}

// addMarks adds faults and crashes. A crash that is a fault's doing has the fault's label.
func (d *holding) addMarks(c *chronicle) {
	for i := range c.events {
		e := &c.events[i]
		switch e.F {
		case checker.FaultApplied:
			d.marks = append(d.marks, mark{
				kind: "fault", lane: d.lane(e.Node), at: e.Time, until: c.faultEnd(i),
				label: fit(faultLabel(e.Command, e.Node), style(smallSize), figureWidth/2), detail: e.Command,
			})
		case checker.Healed:
			d.marks = append(d.marks, mark{
				kind: "fault", lane: none, at: e.Time, until: e.Time, label: "healed", detail: "healed",
			})
		case checker.Crash:
			d.marks = append(d.marks, mark{kind: "crash", lane: d.lane(c.laneName(e.Process)), at: e.Time, until: e.Time})
		}
	}
}

// addOverlaps finds the stretches in which at least two believed to hold. The claims are in order of their starts.
func (d *holding) addOverlaps(c *chronicle) {
	var edges []time.Duration
	for _, claim := range c.claims {
		if claim.Start < claim.End {
			edges = append(edges, claim.Start, claim.End)
		}
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	first := 0 // claims before it have ended
	for k := 0; k+1 < len(edges); k++ {
		for first < len(c.claims) && c.claims[first].End <= edges[k] {
			first++
		}
		var holders []int
		for _, claim := range c.claims[first:] {
			if claim.Start > edges[k] {
				break
			}
			if claim.End > edges[k] {
				holders = append(holders, claim.Process)
			}
		}
		if len(holders) < 2 {
			continue
		}
		who := strings.ReplaceAll(c.names(holders), " and ", ", ")
		if n := len(d.overlaps); n > 0 && d.overlaps[n-1].to == edges[k] && d.overlaps[n-1].detail == who {
			d.overlaps[n-1].to = edges[k+1]
			continue
		}
		d.overlaps = append(d.overlaps, bar{
			kind: "overlap", lane: none, process: none, from: edges[k], to: edges[k+1], detail: who,
		})
	}
}

// clip drops what lies outside of the time that is shown.
func (d *holding) clip() {
	outside := func(from, to time.Duration) bool { return to < d.from || from > d.to }
	for _, bars := range []*[]bar{&d.claims, &d.leases, &d.overlaps, &d.nobody} {
		*bars = slices.DeleteFunc(*bars, func(b bar) bool { return outside(b.from, b.to) })
	}
	d.marks = slices.DeleteFunc(d.marks, func(m mark) bool { return outside(m.at, m.until) })
}

// rows are the data of the plot as a table.
func (d *holding) rows() [][]string {
	rows := [][]string{{"kind", "machine", "process", "start_s", "end_s", "detail"}}
	add := func(kind string, lane, process int, from, to time.Duration, detail string) {
		machine, number := "", ""
		if lane != none {
			machine = d.lanes[lane]
		}
		if process >= 0 {
			number = strconv.Itoa(process)
		}
		rows = append(rows, []string{kind, machine, number, decimal(from, 9), decimal(to, 9), detail})
	}
	for _, bars := range [][]bar{d.claims, d.leases, d.overlaps, d.nobody} {
		for _, b := range bars {
			add(b.kind, b.lane, b.process, b.from, b.to, b.detail)
		}
	}
	for _, m := range d.marks {
		add(m.kind, m.lane, none, m.at, m.until, m.detail)
	}
	return rows
}

// runName names a run in a title.
func runName(header *checker.Header) string {
	var parts []string
	for _, part := range []string{header.Scenario, header.Implementation} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) > 0 || header.Seed != 0 {
		parts = append(parts, fmt.Sprintf("seed %d", header.Seed))
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}
