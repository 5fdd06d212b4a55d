package reports

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/reports/spacetime"
)

// exampleTrace is a trace that fits the beginning of a history: c1 asks, the server makes the record, the answer comes;
// then the machine crashes and a reply is lost.
const exampleTrace = `{"index":1,"time":1000000,"kind":"timer","from":"c1","text":"timer"}
{"index":2,"time":1000000,"kind":"send","from":"c1","to":"redis","cause":1,"text":"SETNX job x"}
{"index":3,"time":2000000,"kind":"deliver","from":"c1","to":"redis","cause":2,"skew":5000000000,"text":"SETNX job x"}
{"index":4,"time":2000000,"kind":"send","from":"redis","to":"c1","cause":3,"skew":5000000000,"text":"\":1\\r\\n\""}
{"index":5,"time":3000000,"kind":"deliver","from":"redis","to":"c1","cause":4,"text":"\":1\\r\\n\""}
{"index":6,"time":4000000,"kind":"node","from":"c1","cause":5,"text":"crashed, its peers see a reset"}
{"index":7,"time":4000000,"kind":"send","from":"redis","to":"c1","cause":6,"skew":5000000000,"text":"\":2\\r\\n\""}
{"index":8,"time":5000000,"kind":"drop","from":"redis","to":"c1","cause":7,"text":"\":2\\r\\n\": nobody takes it"}
`

// traced is a history and its trace.
func traced(t testing.TB) (*Run, []spacetime.Entry) {
	t.Helper()
	entries, err := spacetime.ReadTrace(strings.NewReader(exampleTrace))
	if err != nil {
		t.Fatal(err)
	}
	ms := time.Millisecond
	h := &checker.History{Header: checker.Header{Scenario: "one", Implementation: "redis/mine", Seed: 3, Lock: "job"}}
	for i, e := range []checker.Event{
		{Time: 1 * ms, Node: "c1", Type: checker.Invoke, F: checker.Acquire, Key: "job", Owner: "o"},
		{
			Time: 2 * ms, Process: checker.ProcessServer, Node: "c1", Type: checker.Info, F: checker.RecordSet, Key: "job",
			Command: "SETNX", Owner: "o", Count: 1, Record: &checker.Record{Owner: "o", Count: 1, Expires: 105, Now: 5},
		},
		{Time: 3 * ms, Node: "c1", Type: checker.OK, F: checker.Acquire, Key: "job", Owner: "o", Count: 1},
		{
			Time: 4 * ms, Process: checker.ProcessFault, Type: checker.Info, F: checker.FaultApplied, Node: "c1",
			Command: "crash c1 at 4ms",
		},
		{Time: 4 * ms, Node: "c1", Type: checker.Info, F: checker.Crash, Key: "job"},
		{Time: 200 * ms, Process: checker.ProcessFault, Type: checker.Info, F: checker.WorkloadEnd},
	} {
		e.Index = int64(i) + 1
		h.Events = append(h.Events, e)
	}
	if err := h.Validate(); err != nil {
		t.Fatal(err)
	}
	return &Run{History: h}, entries
}

// TestPageWeavesTraceAndHistory checks the order of what happened at one instant and what led to what.
func TestPageWeavesTraceAndHistory(t *testing.T) {
	run, entries := traced(t)
	page := NewPage(run, entries)
	var got []string
	for i, e := range page.Events {
		lane := "-"
		if e.Lane != spacetime.None {
			lane = page.Lanes[e.Lane].Name
		}
		got = append(got, fmt.Sprintf("%d %s %s [%s] <%d h%d t%d", i, e.Time, lane, e.Label, e.Cause, e.Index, e.Entry))
	}
	want := []string{
		"0 1ms c1 [timer] <-1 h0 t1",
		"1 1ms c1 [lock job] <0 h1 t0",
		"2 1ms c1 [SETNX job x] <1 h0 t2",
		"3 2ms redis [SETNX job x] <2 h0 t3",
		"4 2ms redis [‹c1 ×1 for 0.100 s›] <3 h2 t0",
		"5 2ms redis [1] <4 h0 t4",
		"6 3ms c1 [1] <5 h0 t5",
		"7 3ms c1 [has job] <6 h3 t0",
		"8 4ms c1 [crash c1] <6 h4 t0",
		"9 4ms c1 [crashed, its peers see a reset] <8 h5 t6",
		"10 4ms redis [2] <9 h0 t7",
		"11 5ms c1 [lost: nobody takes it] <10 h0 t8",
		"12 200ms - [the workload ends] <-1 h6 t0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the events are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if e := page.Events[4]; e.Skew != 5*time.Second || !e.SkewKnown {
		t.Errorf("at the fact the server's clock is ahead by %v (known: %v), want 5s as at the arrival", e.Skew, e.SkewKnown)
	}
	var bars []string
	for _, b := range page.Bars {
		bars = append(bars, fmt.Sprintf("%d lane %d of %d %v-%v rows %d-%d", b.Kind, b.Lane, b.Owner, b.From, b.To,
			b.Start, b.End))
	}
	wantBars := []string{
		"0 lane 0 of 0 3ms-4ms rows 7-9", "2 lane 1 of 0 2ms-102ms rows 4--1", "3 lane 1 of 0 102ms-200ms rows -1--1",
	}
	if !slices.Equal(bars, wantBars) {
		t.Errorf("the bars are %q, want %q", bars, wantBars)
	}
	if len(page.Bands) != 1 || page.Bands[0].Kind != spacetime.Down || page.Bands[0].From != 4*time.Millisecond {
		t.Errorf("the bands are %+v, want the crash", page.Bands)
	}
}

// TestPageOfAnyHistory draws histories that mean nothing in particular: every event has its row, no cause comes after
// its effect, and who believed to hold with whom is what comparing each with each says.
func TestPageOfAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistory(t)
		verdicts := checker.Check(h, checker.Options{})
		run := &Run{History: h, Verdicts: verdicts}
		if v := firstViolation(verdicts); v != nil {
			story := Tell(h, checker.MutualExclusion, *v, nil)
			run.Story = &story
		}
		page := NewPage(run, nil)
		if err := page.WriteHTML(io.Discard); err != nil {
			t.Fatal(err)
		}
		indices := map[int64]bool{}
		for _, e := range page.Events {
			indices[e.Index] = true
		}
		for _, e := range h.Events {
			if !indices[e.Index] {
				t.Errorf("event %d of the history has no row", e.Index)
			}
		}
		compareOverlaps(t, h, page)
	})
}

// compareOverlaps compares the time that each machine is shown to overlap, summed, with what the claims say.
func compareOverlaps(t *rapid.T, h *checker.History, page *spacetime.Page) {
	want, got := map[string]time.Duration{}, map[string]time.Duration{}
	claims := checker.Claims(h)
	for _, c := range claims {
		for at := c.Start; at < c.End; {
			next, doubled := c.End, false
			for _, o := range claims {
				if o.Process == c.Process || o.Lock != c.Lock || o.Start >= o.End {
					continue
				}
				doubled = doubled || o.Start <= at && at < o.End
				for _, edge := range []time.Duration{o.Start, o.End} {
					if edge > at {
						next = min(next, edge)
					}
				}
			}
			if doubled {
				want[c.Node] += next - at
			}
			at = next
		}
	}
	for _, b := range page.Bars {
		if b.Kind == spacetime.Overlap {
			got[page.Lanes[b.Lane].Name] += b.To - b.From
		}
	}
	for node, d := range want {
		if got[node] != d {
			t.Errorf("%s is shown to overlap for %v, want %v", node, got[node], d)
		}
		delete(got, node)
	}
	if len(got) > 0 {
		t.Errorf("shown to overlap, and does not: %v", got)
	}
}

// TestPageSaysWhyThereAreNoMessages keeps a run whose trace cannot be read.
func TestPageSaysWhyThereAreNoMessages(t *testing.T) {
	run := exampleRun(t) // its trace is no trace
	dir := t.TempDir()
	if err := WriteFolder(dir, run); err != nil {
		t.Fatal(err)
	}
	if page := readFile(t, dir, pageFile); !strings.Contains(page, "The trace could not be read: trace: line 1") {
		t.Error("the page does not say that the trace could not be read")
	}
}

// countingWriter counts what a file would have.
type countingWriter int

func (w *countingWriter) Write(p []byte) (int, error) {
	*w += countingWriter(len(p))
	return len(p), nil
}

// bigRun is a run of so many entries, with an event of the history for every six, as the runs of scenarios have.
func bigRun(entries int) (*Run, []spacetime.Entry) {
	h := &checker.History{Header: checker.Header{Implementation: "redis/mine", Lock: "job"}}
	for i := range entries / 6 {
		round, phase := i/4, i%4
		process := round % 6
		e := checker.Event{
			Index: int64(i) + 1, Time: time.Duration(i) * time.Millisecond, Process: process, Key: "job",
			Node: fmt.Sprintf("c%d", process+1), Type: checker.Invoke, F: checker.Acquire,
		}
		if phase > 1 {
			e.F = checker.Release
		}
		if phase%2 == 1 {
			e.Type = checker.OK
		}
		h.Events = append(h.Events, e)
	}
	end := h.Events[len(h.Events)-1].Time
	trace := make([]spacetime.Entry, 0, entries)
	for i := range entries / 2 {
		at := end / time.Duration(entries/2) * time.Duration(i)
		client := fmt.Sprintf("c%d", i%6+1)
		sent := spacetime.Entry{
			Index: uint64(2*i + 1), Time: at, Kind: "send", From: client, To: "redis", Cause: uint64(2 * i),
			Text: fmt.Sprintf("SETNX job {\"count\":1,\"expires\":%d,\"jvmPid\":22001,"+
				"\"mac\":\"28-D2-44-0E-0D-01\",\"threadId\":11}", 946688400000+i),
		}
		got := sent
		got.Index, got.Kind, got.Cause = sent.Index+1, "deliver", sent.Index
		trace = append(trace, sent, got)
	}
	return &Run{History: h}, trace
}

// TestPageSizes: the page of a long run can still be sent around, that of a short one weighs nothing.
func TestPageSizes(t *testing.T) {
	for _, test := range []struct{ entries, most int }{{48, 300 << 10}, {100_000, 30 << 20}} {
		run, entries := bigRun(test.entries)
		page := NewPage(run, entries)
		var size countingWriter
		if err := page.WriteHTML(&size); err != nil {
			t.Fatal(err)
		}
		if len(page.Events) < test.entries || int(size) > test.most {
			t.Errorf("%d events make a page of %d bytes, want at most %d", len(page.Events), size, test.most)
		}
	}
}

// BenchmarkPage makes and writes pages. The floor is to write the same trace as JSON, which no page can do without.
func BenchmarkPage(b *testing.B) {
	for _, entries := range []int{48, 10_000, 100_000} {
		run, trace := bigRun(entries)
		b.Run(fmt.Sprintf("entries=%d/page", entries), func(b *testing.B) {
			var size countingWriter
			for b.Loop() {
				size = 0
				if err := NewPage(run, trace).WriteHTML(&size); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(size)/1e6, "MB")
		})
		b.Run(fmt.Sprintf("entries=%d/floor", entries), func(b *testing.B) {
			for b.Loop() {
				if err := json.NewEncoder(io.Discard).Encode(trace); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
