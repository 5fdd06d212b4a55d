package reports

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/measure"
	"github.com/lockstep-sim/lockstep/reports/spacetime"
)

// stepped is the trace of a clock that is stepped once and drifts from then on.
func stepped() []spacetime.Entry {
	entry := func(at, skew time.Duration, kind, from, to, text string) spacetime.Entry {
		return spacetime.Entry{Time: at, Kind: kind, From: from, To: to, Skew: skew, Text: text}
	}
	const s = time.Second
	return []spacetime.Entry{
		entry(1*s, 0, "send", "c1", "time", "TIME"),
		entry(2*s, 0, "deliver", "c1", "time", "TIME"),
		entry(3*s, 0, "send", "time", "c1", "0"),
		entry(4*s, 0, "send", "time", "c1", "0"),
		entry(5*s, -2*s, "node", "time", "", "wall clock stepped by -2s"),
		entry(6*s, -2*s+100, "deliver", "c1", "time", "TIME"),
		entry(7*s, -2*s+200, "send", "time", "c1", "0"),
		entry(8*s, 0, "deliver", "time", "c1", "0"),
	}
}

func TestClockTracks(t *testing.T) {
	point := func(at, skew time.Duration) measure.Point {
		return measure.Point{
			From: at, To: at, First: int64(skew), Last: int64(skew), Least: int64(skew), Greatest: int64(skew),
		}
	}
	const s = time.Second
	want := []ClockTrack{
		{Machine: "c1", Points: []measure.Point{point(1*s, 0), point(8*s, 0)}},
		{
			Machine: "time", Bends: []time.Duration{5 * s},
			Points: []measure.Point{point(2*s, 0), point(4*s, 0), point(5*s, -2*s), point(7*s, -2*s+200)},
		},
	}
	if diff := cmp.Diff(want, ClockTracks(stepped())); diff != "" {
		t.Errorf("tracks (-want +got):\n%s", diff)
	}
}

// clocked is a sample with readings of a clock before and after a fault, at 2 s.
func clocked(fault string) Sample {
	var off measure.Series
	for i, value := range []time.Duration{0, 0, -2 * time.Second, -2 * time.Second} {
		off.Add(time.Duration(i+1)*time.Second, int64(value))
	}
	return Sample{Run: &measure.Run{
		Header: checker.Header{Scenario: "stepped", Implementation: "redis/mine"}, End: 9 * time.Second,
		Clocks: []measure.Clock{{Machine: "time", Off: off}},
		Faults: []measure.Fault{{Text: fault, At: 2500 * time.Millisecond}},
	}}
}

// TestClockPieces checks that no line leads across a fault of clocks, of which readings alone do not say when it struck
// a machine, and that other faults cut nothing.
func TestClockPieces(t *testing.T) {
	for _, test := range []struct {
		fault string
		want  []int // points of each piece
	}{
		{"clock time step -2s at 2500ms", []int{2, 2}},
		{"pause c1 for 1s at 2500ms", []int{4}},
	} {
		s := clocked(test.fault)
		var got []int
		for _, piece := range s.readings()[0].pieces() {
			got = append(got, len(piece))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: pieces of %v points, want %v", test.fault, got, test.want)
		}
	}
}

// TestClockPlotOfTrace checks that a trace is preferred to readings, and that clocks which are alike share a line.
func TestClockPlotOfTrace(t *testing.T) {
	s := clocked("clock time step -2s at 2500ms")
	figure, err := clockPlot(s)
	if d := drawFigure(t, figure, err); !bytes.Contains(d.svg, []byte("Dots are readings")) {
		t.Error("without a trace the plot does not say that it shows readings")
	}
	s.Tracks = ClockTracks(append(stepped(), spacetime.Entry{Time: 9 * time.Second, Kind: "send", From: "c2", To: "time"}))
	figure, err = clockPlot(s)
	d := drawFigure(t, figure, err)
	if !strings.Contains(string(d.csv), "time,5.000000000,5.000000000,-2.000000000") {
		t.Errorf("the table lacks the step at 5 s:\n%s", d.csv)
	}
	for _, want := range []string{"as the engine traced it", ">c1, c2<", ">time<"} {
		if !bytes.Contains(d.svg, []byte(want)) {
			t.Errorf("the picture does not say %q", want)
		}
	}
}
