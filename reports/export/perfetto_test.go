package export_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/reports/export"
	"github.com/lockstep-sim/lockstep/reports/spacetime"
)

// traceEvent is an event as a viewer reads it.
type traceEvent struct {
	Name     *string     `json:"name"`
	Category string      `json:"cat"`
	Phase    string      `json:"ph"`
	At       json.Number `json:"ts"`
	Duration json.Number `json:"dur"`
	PID      *int        `json:"pid"`
	TID      *int        `json:"tid"`
	ID       string      `json:"id"`
	Scope    string      `json:"s"`
	Binding  string      `json:"bp"`
	Args     map[string]any
}

type row struct{ pid, tid int }

func (e *traceEvent) row() row { return row{*e.PID, *e.TID} }

// from and to are in nanoseconds.
func (e *traceEvent) from() int64 { return nanoseconds(e.At) }
func (e *traceEvent) to() int64   { return e.from() + nanoseconds(e.Duration) }

// nanoseconds reads microseconds with three decimals.
func nanoseconds(n json.Number) int64 {
	value, err := json.Number(strings.Replace(n.String(), ".", "", 1)).Int64()
	if err != nil {
		return math.MinInt64
	}
	return value
}

func perfettoOf(t testing.TB, run export.Run) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := export.WritePerfetto(&b, run); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func readTrace(t testing.TB, text []byte) []traceEvent {
	t.Helper()
	var trace struct {
		Events  []traceEvent      `json:"traceEvents"`
		Unit    string            `json:"displayTimeUnit"`
		AboutIt map[string]string `json:"otherData"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&trace); err != nil {
		t.Fatalf("it is no trace: %v", err)
	}
	return trace.Events
}

// breaches lists the rules of the format that a trace breaks: names and numbers, order of time, slices that nest on
// their thread, asynchronous events in pairs of one machine, flows from slice to slice, counters with numbers.
func breaches(events []traceEvent) []string {
	r := &reader{
		open: map[row][]int64{}, pairs: map[string]*traceEvent{}, closed: map[string]bool{}, flows: map[string]int64{},
		named: map[row]bool{}, processes: map[int]bool{},
	}
	for i := range events {
		r.event(i, &events[i])
	}
	for id := range r.pairs {
		r.report("%s begins and never ends", id)
	}
	for id := range r.flows {
		r.report("the flow %s has no end", id)
	}
	return r.found
}

type reader struct {
	found     []string
	last      int64
	begun     bool            // metadata is over
	open      map[row][]int64 // of each thread: the ends of the slices that last, outermost first
	pairs     map[string]*traceEvent
	closed    map[string]bool
	flows     map[string]int64
	named     map[row]bool
	processes map[int]bool
}

func (r *reader) report(format string, args ...any) {
	r.found = append(r.found, fmt.Sprintf(format, args...))
}

func (r *reader) event(i int, e *traceEvent) {
	if e.Name == nil || *e.Name == "" || e.PID == nil || e.TID == nil || *e.PID < 1 || e.from() < 0 {
		r.report("event %d has no name, no place or no time: %+v", i, *e)
		return
	}
	if e.Phase == "M" {
		r.metadata(i, e)
		return
	}
	r.begun = true
	if e.from() < r.last {
		r.report("event %d at %d comes after one at %d", i, e.from(), r.last)
	}
	r.last = e.from()
	if !r.processes[*e.PID] || e.Phase != "C" && !r.named[e.row()] {
		r.report("event %d is on process %d, thread %d, which has no name", i, *e.PID, *e.TID)
	}
	if e.Category == "" {
		r.report("event %d has no category", i)
	}
	switch e.Phase {
	case "X":
		r.slice(i, e)
	case "b", "e":
		r.pair(i, e)
	case "s", "f":
		r.flow(i, e)
	case "i":
		if e.Scope != "g" && e.Scope != "t" {
			r.report("event %d has the scope %q", i, e.Scope)
		}
	case "C":
		for name, value := range e.Args {
			if _, isNumber := value.(float64); !isNumber {
				r.report("event %d counts %s by %v", i, name, value)
			}
		}
		if len(e.Args) == 0 {
			r.report("event %d counts nothing", i)
		}
	default:
		r.report("event %d has the phase %q", i, e.Phase)
	}
}

func (r *reader) metadata(i int, e *traceEvent) {
	if r.begun {
		r.report("event %d is metadata after others", i)
	}
	switch *e.Name {
	case "process_name":
		r.processes[*e.PID] = true
	case "thread_name":
		r.named[e.row()] = true
	}
}

// close drops the slices of a thread that are over.
func (r *reader) close(on row, at int64) {
	for n := len(r.open[on]); n > 0 && r.open[on][n-1] <= at; n-- {
		r.open[on] = r.open[on][:n-1]
	}
}

func (r *reader) slice(i int, e *traceEvent) {
	r.close(e.row(), e.from())
	if n := len(r.open[e.row()]); n > 0 && r.open[e.row()][n-1] < e.to() {
		r.report("event %d lasts to %d, the slice around it to %d", i, e.to(), r.open[e.row()][n-1])
	}
	if e.to() < e.from() {
		r.report("event %d ends before it begins", i)
	}
	r.open[e.row()] = append(r.open[e.row()], e.to())
}

func (r *reader) pair(i int, e *traceEvent) {
	id := e.Category + " " + e.ID
	begin := r.pairs[id]
	switch {
	case e.ID == "":
		r.report("event %d has no id", i)
	case e.Phase == "b" && (begin != nil || r.closed[id]):
		r.report("event %d begins %s again", i, id)
	case e.Phase == "b":
		r.pairs[id] = e
	case begin == nil:
		r.report("event %d ends %s, which has not begun", i, id)
	default:
		if *begin.Name != *e.Name || begin.row() != e.row() {
			r.report("event %d ends %s under another name or elsewhere", i, id)
		}
		r.closed[id] = true
		delete(r.pairs, id)
	}
}

func (r *reader) flow(i int, e *traceEvent) {
	r.close(e.row(), e.from())
	if len(r.open[e.row()]) == 0 {
		r.report("event %d of flow %s has no slice around it", i, e.ID)
	}
	at, begun := r.flows[e.ID]
	switch {
	case e.Phase == "s" && (begun || r.closed[e.ID]):
		r.report("event %d begins the flow %s again", i, e.ID)
	case e.Phase == "s":
		r.flows[e.ID] = e.from()
	case !begun || at > e.from() || e.Binding != "e":
		r.report("event %d ends the flow %s, which begins at %d, bound to %q", i, e.ID, at, e.Binding)
	default:
		r.closed[e.ID] = true
		delete(r.flows, e.ID)
	}
}

// judgePerfetto looks for what the format forbids, and for all that the run has. It returns what there is.
func judgePerfetto(t *testing.T, run export.Run) []traceEvent {
	text := perfettoOf(t, run)
	events := readTrace(t, text)
	for i, breach := range breaches(events) {
		if i == 5 {
			t.Fatal("and more")
		}
		t.Error(breach)
	}
	complain(t, run, events)
	if again := perfettoOf(t, run); !bytes.Equal(text, again) {
		t.Error("a second time it has other bytes")
	}
	return events
}

// complain compares counts of events with the run.
func complain(t *testing.T, run export.Run, events []traceEvent) {
	t.Helper()
	got, want := map[string]int{}, map[string]int{}
	for i := range events {
		got[events[i].Category+" "+events[i].Phase]++
	}
	sent := 0
	for i := range run.Page.Events {
		e := &run.Page.Events[i]
		switch e.Kind {
		case spacetime.Send:
			sent++
			want["message X"]++
		case spacetime.Deliver, spacetime.Drop:
			want["message X"]++
			if e.Cause != spacetime.None {
				want["message s"]++
				want["message f"]++
			}
		case spacetime.Timer:
			want["timer i"]++
		}
	}
	for i := range run.History.Events {
		e := &run.History.Events[i]
		switch {
		case e.Type == checker.Invoke:
			want["call X"]++
		case e.F == checker.RecordSet || e.F == checker.RecordGone:
			want["record i"]++
		case e.F == checker.Served:
			want["decision i"]++
		case e.F == checker.FaultApplied:
			want["fault i"]++
		}
	}
	want["hold b"] = len(checker.Claims(run.History))
	for _, v := range run.Verdicts {
		want["violation b"] += len(v.Violations)
	}
	for what, count := range want {
		if got[what] != count {
			t.Errorf("%d times %s, want %d", got[what], what, count)
		}
	}
	if sent == 0 || want["call X"] == 0 {
		t.Error("nobody called or nothing was sent, so this tests nothing")
	}
}

// TestPerfettoRulesAreRules breaks each rule once.
func TestPerfettoRulesAreRules(t *testing.T) {
	const names = `{"name":"process_name","ph":"M","ts":0.000,"pid":1,"tid":0},` +
		`{"name":"thread_name","ph":"M","ts":0.000,"pid":1,"tid":2},`
	for _, test := range []struct{ name, events, breach string }{
		{"fine", `{"name":"a","cat":"c","ph":"X","ts":1.000,"dur":2.000,"pid":1,"tid":2}`, ""},
		{"no name", `{"cat":"c","ph":"X","ts":1.000,"dur":2.000,"pid":1,"tid":2}`, "has no name"},
		{"no such thread", `{"name":"a","cat":"c","ph":"X","ts":1.000,"dur":2.000,"pid":1,"tid":3}`, "3, which has no"},
		{"order", `{"name":"a","cat":"c","ph":"i","s":"t","ts":2.000,"pid":1,"tid":2},
			{"name":"a","cat":"c","ph":"i","s":"t","ts":1.000,"pid":1,"tid":2}`, "comes after"},
		{"overlap", `{"name":"a","cat":"c","ph":"X","ts":1.000,"dur":2.000,"pid":1,"tid":2},
			{"name":"a","cat":"c","ph":"X","ts":2.000,"dur":2.000,"pid":1,"tid":2}`, "the slice around it"},
		{"no end", `{"name":"a","cat":"c","ph":"b","id":"1","ts":1.000,"pid":1,"tid":2}`, "never ends"},
		{"no begin", `{"name":"a","cat":"c","ph":"e","id":"1","ts":1.000,"pid":1,"tid":2}`, "has not begun"},
		{"flow without slice", `{"name":"a","cat":"c","ph":"s","id":"1","ts":1.000,"pid":1,"tid":2}`, "no slice around"},
		{"flow without end", `{"name":"a","cat":"c","ph":"X","ts":1.000,"dur":2.000,"pid":1,"tid":2},
			{"name":"a","cat":"c","ph":"s","id":"1","ts":1.000,"pid":1,"tid":2}`, "has no end"},
		{"scope", `{"name":"a","cat":"c","ph":"i","ts":2.000,"pid":1,"tid":2}`, "scope"},
		{"counter", `{"name":"a","cat":"c","ph":"C","ts":2.000,"pid":1,"tid":2,"args":{"n":"2"}}`, "counts n"},
		{"phase", `{"name":"a","cat":"c","ph":"Q","ts":2.000,"pid":1,"tid":2}`, "phase"},
	} {
		t.Run(test.name, func(t *testing.T) {
			events := readTrace(t, []byte(`{"traceEvents":[`+names+test.events+`]}`))
			found := strings.Join(breaches(events), "\n")
			if !strings.Contains(found, test.breach) || (test.breach == "") != (found == "") {
				t.Errorf("found %q, want %q", found, test.breach)
			}
		})
	}
}

func TestPerfettoGolden(t *testing.T) {
	run := kept(t)
	text := perfettoOf(t, run)
	golden(t, "perfetto.json", text)
	got := map[string]int{}
	for _, e := range readTrace(t, text) {
		got[e.Category]++
	}
	for _, category := range []string{"overlap", "lease-over", "violation", "fault", "client"} {
		if got[category] == 0 {
			t.Errorf("there is no %s", category)
		}
	}
}

// TestPerfettoWithoutTrace writes what the history alone tells.
func TestPerfettoWithoutTrace(t *testing.T) {
	run := kept(t)
	events := readTrace(t, perfettoOf(t, show(run.History, nil, nil)))
	if found := breaches(events); len(found) > 0 {
		t.Error(strings.Join(found, "\n"))
	}
	got := map[string]int{}
	for i := range events {
		got[events[i].Category]++
	}
	for _, category := range []string{"call", "hold", "lease", "record", "fault", "count", "clock"} {
		if got[category] == 0 {
			t.Errorf("there is no %s", category)
		}
	}
	for _, category := range []string{"message", "timer"} {
		if got[category] != 0 {
			t.Errorf("there are %d of %s, of which only the trace tells", got[category], category)
		}
	}
}

// TestPerfettoCounts checks the numbers of holders and waiters over time.
func TestPerfettoCounts(t *testing.T) {
	h := &checker.History{Events: []checker.Event{
		{Index: 1, Time: 1000, Process: 1, Node: "c1", Type: checker.Invoke, F: checker.Acquire, Key: "job"},
		{Index: 2, Time: 2000, Process: 2, Node: "c2", Type: checker.Invoke, F: checker.Acquire, Key: "job"},
		{Index: 3, Time: 3000, Process: 1, Node: "c1", Type: checker.OK, F: checker.Acquire, Key: "job"},
		{Index: 4, Time: 4000, Process: 2, Node: "c2", Type: checker.OK, F: checker.Acquire, Key: "job"},
		{Index: 5, Time: 5000, Process: 1, Node: "c1", Type: checker.Invoke, F: checker.Release, Key: "job"},
		{Index: 6, Time: 5000, Process: 1, Node: "c1", Type: checker.OK, F: checker.Release, Key: "job"},
		{Index: 7, Time: 5000, Process: 1, Node: "c1", Type: checker.Invoke, F: checker.TryAcquire, Key: "job"},
		{Index: 8, Time: 5000, Process: 1, Node: "c1", Type: checker.Fail, F: checker.TryAcquire, Key: "job"},
		{Index: 9, Time: 6000, Process: 1, Node: "c1", Type: checker.Invoke, F: checker.Acquire, Key: "job"},
		{Index: 10, Time: 7000, Process: 1, Node: "c1", Type: checker.Info, F: checker.Crash},
		{Index: 11, Time: 8000, Process: 2, Node: "c2", Type: checker.Invoke, F: checker.Release, Key: "job"},
	}}
	var got []string
	for _, e := range readTrace(t, perfettoOf(t, show(h, nil, nil))) {
		if e.Category == "count" {
			for _, unit := range []string{"holders", "waiters"} {
				if n, counted := e.Args[unit]; counted {
					got = append(got, fmt.Sprintf("%s %s=%v", e.At, unit, n))
				}
			}
		}
	}
	want := "0.000 holders=0, 0.000 waiters=0, 1.000 waiters=1, 2.000 waiters=2, 3.000 holders=1, 3.000 waiters=1, " +
		"4.000 holders=2, 4.000 waiters=0, 5.000 holders=1, 6.000 waiters=1, 7.000 waiters=0, 8.000 holders=0"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
}

// TestPerfettoHostile checks that any text stays a text.
func TestPerfettoHostile(t *testing.T) {
	text := perfettoOf(t, hostileRun())
	events := readTrace(t, text)
	if found := breaches(events); len(found) > 0 {
		t.Error(strings.Join(found, "\n"))
	}
	for _, what := range []string{"\x1b", "\t", "\u2028"} {
		if bytes.Contains(text, []byte(what)) {
			t.Errorf("it has %q as it is", what)
		}
	}
	found := false
	for _, e := range events {
		found = found || *e.Name == checker.Acquire+" "+hostileText
	}
	if !found {
		t.Error("the call of the lock with the hostile name is not there")
	}
}

// TestPerfettoRefuses checks that a history that is not well-formed is an error of one line.
func TestPerfettoRefuses(t *testing.T) {
	run := hostileRun()
	run.History.Events[1].Index = 1
	err := export.WritePerfetto(new(bytes.Buffer), run)
	if err == nil || !strings.Contains(err.Error(), "indices must rise") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
}
