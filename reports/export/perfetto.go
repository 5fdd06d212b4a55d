package export

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/reports/spacetime"
)

// Run is what there is to show of a run.
type Run struct {
	History *checker.History
	// Page is the space-time page of the history.
	Page *spacetime.Page
	// Verdicts are those on the history. Their violations are shown, if there are any.
	Verdicts []checker.Verdict
}

// WritePerfetto writes a run as a trace for Perfetto and Chrome's trace viewer.
func WritePerfetto(w io.Writer, run Run) error {
	if err := run.History.Validate(); err != nil {
		return err
	}
	t := newTracer(run)
	t.addCalls()
	t.addHolds()
	t.addBars()
	t.addBands()
	t.addViolations()
	t.addRows()
	t.addMessages()
	t.addCounts()
	t.addClocks()
	t.addNames()
	return writeEvents(w, t.about(), t.events)
}

// tracer turns a run into events of the Trace Event Format.
type tracer struct {
	run     Run
	events  []event
	row     map[int64]int // of each event of the history: its row on the page
	home    map[int]int   // of each process of a client: its lane
	end     time.Duration // of the run
	threads map[thread]int
	ids     int // asynchronous events so far
}

// thread is a row of a machine in the viewer: that of a process of a client if it has no title.
type thread struct {
	lane    int
	title   string
	process int
}

// The titles of threads that are no client.
const (
	networkThread = "network"
	recordThread  = "record"
	writesThread  = "writes"
	timerThread   = "timers"
	machineThread = "machine"
	faultThread   = "faults"
	worldThread   = "run"
)

func newTracer(run Run) *tracer {
	t := &tracer{run: run, row: map[int64]int{}, home: map[int]int{}, threads: map[thread]int{}}
	for i := range run.Page.Events {
		e := &run.Page.Events[i]
		t.end = max(t.end, e.Time)
		if e.Index != 0 {
			t.row[e.Index] = i
		}
	}
	for i := range run.History.Events {
		e := &run.History.Events[i]
		t.end = max(t.end, e.Time)
		if _, known := t.home[e.Process]; !known && byClient(e) {
			t.home[e.Process] = t.laneOf(e)
		}
	}
	return t
}

func byClient(e *checker.Event) bool { return e.Process >= 0 && e.F != checker.Applied }

// laneOf is the lane of an event of the history, None if the page does not show it on one.
func (t *tracer) laneOf(e *checker.Event) int {
	if row, shown := t.row[e.Index]; shown {
		return t.run.Page.Events[row].Lane
	}
	return spacetime.None
}

// pid is the number of a machine's process. That of no machine is the world's; 0 is the idle process to some viewers.
func pid(lane int) int { return lane + 2 }

// tid is the number of a thread, unique over all machines.
func (t *tracer) tid(x thread) int {
	const first = 101 // pid and tid are never equal by accident: that would make it the main thread
	if _, known := t.threads[x]; !known {
		t.threads[x] = first + len(t.threads)
	}
	return t.threads[x]
}

func (t *tracer) client(process int) thread { return thread{lane: t.home[process], process: process} }

// add adds an event to a thread.
func (t *tracer) add(on thread, e event) {
	e.Process, e.Thread = pid(on.lane), t.tid(on)
	t.events = append(t.events, e)
}

// slice adds what lasted on a thread on which nothing else lasts unless it nests.
func (t *tracer) slice(on thread, name, category string, from, to time.Duration, about arguments) {
	length := moment(to - from)
	t.add(on, event{
		Name: name, Category: category, Phase: complete, At: moment(from), Duration: &length, Arguments: about,
	})
}

// span adds what lasted beside anything else.
func (t *tracer) span(on thread, name, category string, from, to time.Duration, about arguments) {
	t.ids++
	e := event{Name: name, Category: category, ID: category + "-" + strconv.Itoa(t.ids)}
	e.Phase, e.At, e.Arguments = asyncBegin, moment(from), about
	t.add(on, e)
	e.Phase, e.At, e.Arguments = asyncEnd, moment(to), nil
	t.add(on, e)
}

// mark adds what happened at one instant.
func (t *tracer) mark(on thread, name, category string, at time.Duration, about arguments) {
	scope := "t"
	if on.lane == spacetime.None {
		scope = "g"
	}
	t.add(on, event{
		Name: name, Category: category, Phase: instant, At: moment(at), Scope: scope, Arguments: about,
	})
}

// addCalls adds what clients called. A process makes one call at a time, so these nest; what has no return lasts until
// its process dies, else until the end.
func (t *tracer) addCalls() {
	open := map[int]*checker.Event{}
	crashed := map[int]bool{}
	for i := range t.run.History.Events {
		e := &t.run.History.Events[i]
		switch {
		case !byClient(e) || crashed[e.Process]:
		case e.F == checker.Crash:
			if call := open[e.Process]; call != nil {
				t.addCall(call, nil, e.Time)
			}
			delete(open, e.Process)
			crashed[e.Process] = true
			t.mark(t.client(e.Process), "crash", "client", e.Time, eventArguments(e))
		case e.F == checker.Lost || e.F == checker.Renew:
			t.mark(t.client(e.Process), named(e.F, e.Key), "client", e.Time, eventArguments(e))
		case e.Type == checker.Invoke:
			open[e.Process] = e
		case open[e.Process] != nil:
			t.addCall(open[e.Process], e, e.Time)
			delete(open, e.Process)
		}
	}
	var left []*checker.Event
	for _, call := range open { // order-free: they are sorted
		left = append(left, call)
	}
	slices.SortFunc(left, func(a, b *checker.Event) int { return int(min(max(a.Index-b.Index, -1), 1)) })
	for _, call := range left {
		t.addCall(call, nil, t.end)
	}
}

// addCall adds one call; back is nil where nothing came back.
func (t *tracer) addCall(call, back *checker.Event, end time.Duration) {
	about := arguments{{"outcome", "open"}}
	if back != nil {
		about = arguments{{"outcome", string(back.Type)}}
		about.text("error", back.Error)
	}
	about.text("owner", call.Owner)
	about.text("value", call.Value)
	about.number("wait_ns", int64(call.Wait))
	if back != nil {
		about.text("answer", back.Value)
		about.number("token", back.Token)
		about.number("levels", back.Count)
		about.number("deadline_ns", int64(back.Deadline))
		if call.F == checker.Write && back.Type == checker.OK {
			about = append(about, argument{"accepted", back.Accepted})
		}
	}
	about.number("call_event", call.Index)
	if back != nil {
		about.number("return_event", back.Index)
	}
	t.slice(t.client(call.Process), named(call.F, call.Key), "call", call.Time, end, about)
}

func named(f, key string) string {
	if key == "" {
		return f
	}
	return f + " " + key
}

// addHolds adds when clients believed to hold.
func (t *tracer) addHolds() {
	for _, c := range checker.Claims(t.run.History) {
		about := arguments{{"ending", string(c.Ending)}}
		about.number("token", c.Token)
		about.number("acquire_event", c.Acquire)
		about.number("end_event", c.EndEvent)
		t.span(t.client(c.Process), "holds "+c.Lock, "hold", c.Start, c.End, about)
	}
}

// barCategories are the bars of the page that are shown as they are; holds have more to tell.
var barCategories = map[spacetime.BarKind]struct{ category, thread, prefix string }{
	spacetime.Overlap: {"overlap", machineThread, ""}, spacetime.Lease: {"lease", recordThread, "lease of "},
	spacetime.LeaseOver: {"lease-over", recordThread, "record of "},
}

func (t *tracer) addBars() {
	for _, bar := range t.run.Page.Bars {
		kind, shown := barCategories[bar.Kind]
		if !shown {
			continue
		}
		var about arguments
		about.text("detail", bar.Detail)
		t.span(thread{lane: bar.Lane, title: kind.thread}, kind.prefix+bar.Label, kind.category, bar.From, bar.To,
			about)
	}
}

// addBands adds faults that lasted, on each machine that they struck.
func (t *tracer) addBands() {
	for _, band := range t.run.Page.Bands {
		if band.Kind == spacetime.Trouble {
			continue // a violation, of which the verdicts tell more
		}
		lanes := band.Lanes
		if len(lanes) == 0 {
			lanes = []int{spacetime.None}
		}
		for _, lane := range lanes {
			t.span(thread{lane: lane, title: faultThread}, band.Label, "fault", band.From, band.To, nil)
		}
	}
}

func (t *tracer) addViolations() {
	for _, v := range t.run.Verdicts {
		for _, x := range v.Violations {
			about := arguments{{"property", string(v.Property)}, {"text", x.Text}, {"events", append([]int64{}, x.Events...)}}
			t.span(thread{lane: spacetime.None, title: worldThread}, named(x.Kind, x.Key), "violation", x.From, x.To, about)
		}
	}
}

// addNames names machines and threads, and puts them in order: the world, the machines as on the page, on each the
// processes of clients and then the others.
func (t *tracer) addNames() {
	type place struct {
		thread
		tid int
	}
	var all []place
	for x, tid := range t.threads { // order-free: they are sorted by their numbers
		all = append(all, place{x, tid})
	}
	slices.SortFunc(all, func(a, b place) int { return a.tid - b.tid })
	name := func(process, thread int, what, value string) {
		t.events = append(t.events, event{
			Name: what, Phase: metadata, Process: process, Thread: thread, Arguments: arguments{{"name", value}},
		})
	}
	order := func(process, thread int, what string, value int) {
		t.events = append(t.events, event{
			Name: what, Phase: metadata, Process: process, Thread: thread, Arguments: arguments{{"sort_index", value}},
		})
	}
	for lane := spacetime.None; lane < len(t.run.Page.Lanes); lane++ {
		title := "world"
		if lane != spacetime.None {
			title = t.run.Page.Lanes[lane].Name
		}
		name(pid(lane), 0, "process_name", title)
		order(pid(lane), 0, "process_sort_index", pid(lane))
	}
	for _, x := range all {
		title, place := x.title, len(all)+x.tid
		if title == "" {
			title, place = fmt.Sprintf("process %d", x.process), x.tid
		}
		name(pid(x.lane), x.tid, "thread_name", title)
		order(pid(x.lane), x.tid, "thread_sort_index", place)
	}
}

// about is what the trace is of.
func (t *tracer) about() arguments {
	header := &t.run.History.Header
	var about arguments
	about.text("scenario", header.Scenario)
	about.text("implementation", header.Implementation)
	about = append(about, argument{"seed", strconv.FormatUint(header.Seed, 10)})
	about.text("transport", header.Transport)
	for _, p := range header.Parameters {
		about.text("parameter "+p.Name, p.Value)
	}
	for i, fault := range header.Plan {
		about.text("fault "+strconv.Itoa(i+1), fault)
	}
	return about
}
