package reports

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/measure"
)

// sampleOf measures a history.
func sampleOf(t testing.TB, h *checker.History, result checker.Result) Sample {
	t.Helper()
	run, err := measure.Of(h)
	if err != nil {
		t.Fatal(err)
	}
	return Sample{Run: run, Result: result}
}

// busy is a history of clients that take turns again and again, by a queue that some get round, with calls of every
// outcome, and with clocks that go wrong.
func busy(clients, rounds int, implementation string) *checker.History {
	h := &checker.History{Header: checker.Header{
		Scenario: "busy", Implementation: implementation, Seed: 7, Lock: "job", Lease: time.Second,
	}}
	_ = feed(h.Header, clients, rounds, func(e *checker.Event) error {
		h.Events = append(h.Events, *e)
		return nil
	})
	return h
}

// feed makes the events of a busy history one by one.
func feed(header checker.Header, clients, rounds int, add func(e *checker.Event) error) error {
	now, index := time.Duration(0), int64(0)
	names := make([]string, clients)
	for i := range names {
		names[i] = "c" + strconv.Itoa(i+1)
	}
	put := func(after time.Duration, e checker.Event) error {
		now, index = now+after, index+1
		e.Index, e.Time, e.Key = index, now, header.Lock
		if e.Process >= 0 {
			e.Node = names[e.Process]
			off := time.Duration(0)
			if e.Process == 1 {
				off = now / 50 // its clock runs fast
			}
			if e.Process == 2 && index > 120 {
				off = -150 * time.Millisecond
			}
			e.Clock = time.UnixMilli(946684800000).Add(now + off).UTC()
		}
		return add(&e)
	}
	waiting := make([]int, clients) // in the order in which they will get it
	for i := range waiting {
		waiting[i] = i
		if err := put(time.Millisecond, checker.Event{Process: i, Type: checker.Invoke, F: checker.Acquire}); err != nil {
			return err
		}
	}
	for i := range rounds {
		if i%9 == 8 && clients > 2 {
			waiting[0], waiting[2] = waiting[2], waiting[0] // somebody gets round the queue
		}
		p := waiting[0]
		waiting = append(waiting[1:], p)
		answer := checker.Event{Process: p, Type: checker.OK, F: checker.Acquire}
		if i%31 == 30 {
			answer.Type, answer.Error = checker.Info, "time-out"
		}
		steps := []checker.Event{
			answer,
			{Process: p, Type: checker.Invoke, F: checker.Release},
			{Process: p, Type: checker.OK, F: checker.Release},
			{Process: p, Type: checker.Invoke, F: checker.Acquire},
		}
		if answer.Type == checker.Info {
			steps = slices.Delete(steps, 1, 3)
		}
		if i%13 == 12 && answer.Type == checker.OK {
			steps[2].Type = checker.Fail
		}
		if i == 40 {
			steps = append(steps, checker.Event{
				Process: checker.ProcessFault, Type: checker.Info, F: checker.FaultApplied, Node: names[0],
				Command: "pause c1 for 40ms at 1s",
			})
		}
		for k, e := range steps {
			if err := put(time.Duration(1+(i*7+k*5)%9)*time.Millisecond/2, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestPlotKinds compares SVG and CSV of each kind of plot with what was looked at before. Each is drawn twice.
func TestPlotKinds(t *testing.T) {
	one := []Sample{sampleOf(t, busy(6, 90, "some/queue"), checker.Holds)}
	story := []Sample{sampleOf(t, readExample(t, "loser-enters").history, checker.Violated)}
	several := []Sample{
		one[0], sampleOf(t, busy(12, 200, "some/other"), ""), story[0],
		sampleOf(t, readExample(t, "shared-identity").history, checker.Unknown),
	}
	for _, test := range []struct {
		name    string
		kinds   []string
		samples []Sample
	}{
		{"busy", []string{"wait", "hand-over", "fairness", "queue", "latency", "outcomes", "clock"}, one},
		{"story", []string{"holders", "latency", "overlap"}, story},
		{"several", []string{"wait", "hand-over", "fairness", "overlap"}, several},
	} {
		for _, kind := range test.kinds {
			t.Run(kind+"-"+test.name, func(t *testing.T) {
				t.Parallel()
				sameTwice(t, filepath.Join("plots", kind+"-"+test.name), func() (*Figure, error) {
					return DrawPlot(kind, test.samples...)
				})
			})
		}
	}
}

// sameTwice draws a figure twice and compares it with its golden files.
func sameTwice(t *testing.T, name string, figure func() (*Figure, error)) {
	t.Helper()
	f, err := figure()
	first := drawFigure(t, f, err)
	f, err = figure()
	if second := drawFigure(t, f, err); !cmp.Equal(first, second, cmp.AllowUnexported(drawn{})) {
		t.Error("the second time it looks different")
	}
	golden(t, name+".svg", first.svg)
	golden(t, name+".csv", first.csv)
	goldenPicture(t, name, first.png)
	rows, err := csv.NewReader(bytes.NewReader(first.csv)).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Errorf("the CSV has %d rows: %v", len(rows), err)
	}
}

// TestEachPlotNamesItsRuns checks that no caption lacks the seeds, the number of runs and what became of them.
func TestEachPlotNamesItsRuns(t *testing.T) {
	story := sampleOf(t, readExample(t, "loser-enters").history, checker.Violated)
	turns := sampleOf(t, busy(6, 90, "some/queue"), checker.Violated)
	for _, kind := range PlotKinds() {
		s := turns
		f, err := DrawPlot(kind, s)
		if err != nil {
			s = story
			f, err = DrawPlot(kind, s)
		}
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		want := fmt.Sprintf("Seed %d, 1 run, none failed, 1 broke a promise; configuration ", s.Header.Seed)
		if !strings.Contains(f.caption, want) {
			t.Errorf("%s: the caption %q does not say %q", kind, f.caption, want)
		}
	}
}

func TestPlotsRefuse(t *testing.T) {
	nobody := sampleOf(t, &checker.History{Events: []checker.Event{
		{Index: 1, Process: checker.ProcessFault, Type: checker.Info, F: checker.Healed},
	}}, "")
	one := sampleOf(t, busy(3, 20, "some/lock"), "")
	for _, kind := range append(PlotKinds(), "pie") {
		for name, samples := range map[string][]Sample{"nothing": nil, "nobody": {nobody}} {
			if _, err := DrawPlot(kind, samples...); err == nil || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s of %s: %v", kind, name, err)
			}
		}
	}
	for _, kind := range []string{"holders", "queue", "latency", "outcomes", "clock"} {
		if _, err := DrawPlot(kind, one, one); err == nil {
			t.Errorf("%s of two runs is drawn", kind)
		}
	}
}

// TestHostileNames draws names that would be mark-up, end lines or paint over terminals, and that are too long.
func TestHostileNames(t *testing.T) {
	names := []string{
		"<script>alert(\"1\")</script>&amp;", "two\nlines", "\x1b[31mred\x1b[0m\u202etfel", "../../etc/passwd",
		strings.Repeat("long name ", 30), strings.Repeat("W", 400), "nul\x00", "",
	}
	for _, name := range names {
		h := busy(4, 60, name)
		h.Header.Scenario, h.Header.Lock = name, name
		for i := range h.Events {
			e := &h.Events[i]
			e.Key, e.Node = name, name+e.Node
			if e.F == checker.FaultApplied {
				e.Command = name
			}
		}
		s := sampleOf(t, h, "")
		other := sampleOf(t, busy(4, 60, "plain"), "")
		for _, kind := range PlotKinds() {
			for _, samples := range [][]Sample{{s}, {s, other}} {
				if f, err := DrawPlot(kind, samples...); err == nil {
					wellDrawn(t, fmt.Sprintf("%s of %q", kind, name), f)
				}
			}
		}
		for _, kind := range SweepKinds() {
			runs := sweepOf(t)
			for i := range runs {
				runs[i].Scenario, runs[i].Knobs = name, name
			}
			f, err := DrawSweep(kind, runs)
			if err != nil {
				t.Fatal(err)
			}
			wellDrawn(t, fmt.Sprintf("%s of a sweep of %q", kind, name), f)
		}
	}
}

// wellDrawn checks that an SVG is XML without a script, and that no text reaches beyond the figure on its own.
func wellDrawn(t *testing.T, what string, f *Figure) {
	t.Helper()
	var svg bytes.Buffer
	if err := f.WriteSVG(&svg); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	d := xml.NewDecoder(&svg)
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%s: the SVG is no XML: %v", what, err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if token.Name.Local == "script" {
				t.Fatalf("%s: a name has become a script", what)
			}
		case xml.CharData:
			line := strings.TrimSpace(string(token))
			if strings.ContainsAny(line, "\x1b\x00\u202e") || style(smallSize).Width(line) > figureWidth {
				t.Fatalf("%s: %q cannot be shown", what, line)
			}
		}
	}
}

// TestThinnedDotsStandForAll checks that no call is lost where dots are left out.
func TestThinnedDotsStandForAll(t *testing.T) {
	s := sampleOf(t, busy(8, 3000, "some/lock"), "")
	f, err := DrawPlot("latency", s)
	if err != nil {
		t.Fatal(err)
	}
	calls, outcomes := 0, map[string]bool{}
	for _, row := range f.rows[1:] {
		n, err := strconv.Atoi(row[4])
		if err != nil {
			t.Fatal(err)
		}
		calls += n
		outcomes[row[3]] = true
	}
	dots := len(f.rows) - 1
	if calls != len(s.Calls) || dots >= calls || !strings.Contains(f.caption, strconv.Itoa(dots)) {
		t.Errorf("%d dots stand for %d calls of %d, and the caption is %q", dots, calls, len(s.Calls), f.caption)
	}
	if len(outcomes) != 4 {
		t.Errorf("only the outcomes %v are drawn", outcomes)
	}
}

// TestSharesOfOutcomesAddUp checks that the strips have every call once.
func TestSharesOfOutcomesAddUp(t *testing.T) {
	s := sampleOf(t, busy(5, 300, "some/lock"), "")
	f, err := DrawPlot("outcomes", s)
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, row := range f.rows[1:] {
		n, _ := strconv.Atoi(row[4])
		calls += n
	}
	if calls != len(s.Calls) {
		t.Errorf("the strips have %d calls of %d", calls, len(s.Calls))
	}
}

func TestSeedRanges(t *testing.T) {
	for _, test := range []struct {
		seeds []uint64
		want  string
	}{
		{nil, ""},
		{[]uint64{7}, "7"},
		{[]uint64{3, 1, 2, 2, 9}, "1-3, 9"},
		{[]uint64{1, 3, 5, 7, 9, 11, 13, 15, 17, 19}, "1, 3, 5, 7, 9, 11, 13, 15 and 2 more"},
	} {
		if got := seedRanges(test.seeds); got != test.want {
			t.Errorf("the seeds %v are %q, want %q", test.seeds, got, test.want)
		}
	}
}

// long collects a history of so many operations without keeping it.
func long(t testing.TB, operations int) Sample {
	t.Helper()
	header := checker.Header{Scenario: "long", Implementation: "some/lock", Lock: "job"}
	c := measure.NewCollector(header)
	if err := feed(header, 20, operations/2, c.Add); err != nil {
		t.Fatal(err)
	}
	return Sample{Run: c.Finish()}
}

// drawAll draws every kind of plot that a run supports, in all forms, and returns how many.
func drawAll(t testing.TB, s Sample) int {
	n := 0
	for _, kind := range PlotKinds() {
		f, err := DrawPlot(kind, s)
		if err != nil {
			continue
		}
		for _, form := range f.forms() {
			if err := form.write(io.Discard); err != nil {
				t.Fatal(err)
			}
		}
		n++
	}
	return n
}

// TestPlotsOfLongHistories checks by what is allocated that plots do not grow with the history beyond some words for
// each call, and by what stays that a million operations fit into 500 MB.
func TestPlotsOfLongHistories(t *testing.T) {
	var before, after runtime.MemStats
	cost := func(operations int) int64 {
		runtime.GC()
		runtime.ReadMemStats(&before)
		s := long(t, operations)
		if n := drawAll(t, s); n != 8 {
			t.Fatalf("%d kinds of plots are drawn, want 8", n)
		}
		runtime.ReadMemStats(&after)
		return int64(after.TotalAlloc - before.TotalAlloc)
	}
	few, many := cost(60_000), cost(180_000)
	perCall := (many - few) / 120_000
	t.Logf("%d bytes are allocated for each call", perCall)
	if perCall > 2000 {
		t.Errorf("%d bytes are allocated for each call, want at most 2000", perCall)
	}
}

// BenchmarkPlotsOfLongHistory measures and draws a history of a million operations.
func BenchmarkPlotsOfLongHistory(b *testing.B) {
	for b.Loop() {
		drawAll(b, long(b, 1_000_000))
	}
}
