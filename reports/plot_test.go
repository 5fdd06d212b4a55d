package reports

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"image/png"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/measure"
)

// drawn is a figure in all its forms.
type drawn struct{ svg, png, csv []byte }

func drawFigure(t testing.TB, f *Figure, err error) drawn {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var svg, raster, table bytes.Buffer
	if err := f.WriteSVG(&svg); err != nil {
		t.Fatal(err)
	}
	if err := f.WritePNG(&raster); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteCSV(&table); err != nil {
		t.Fatal(err)
	}
	return drawn{svg.Bytes(), raster.Bytes(), table.Bytes()}
}

// TestPlots compares the SVG and the CSV of a few plots with what was looked at before. Each is drawn twice.
func TestPlots(t *testing.T) {
	crowd := crowd(20, 12)
	for _, test := range []struct {
		name string
		draw func(t *testing.T) (*Figure, error)
	}{
		{"holders-loser-enters", func(t *testing.T) (*Figure, error) {
			x := readExample(t, "loser-enters")
			return HolderPlot(x.history, HolderOptions{Violation: firstViolation(x.verdicts)})
		}},
		{"holders-paused-holder-whole", func(t *testing.T) (*Figure, error) {
			x := readExample(t, "paused-holder")
			return HolderPlot(x.history, HolderOptions{Violation: firstViolation(x.verdicts), Whole: true})
		}},
		{"holders-leftover-level", func(t *testing.T) (*Figure, error) {
			x := readExample(t, "leftover-level")
			return HolderPlot(x.history, HolderOptions{Violation: firstViolation(x.verdicts)})
		}},
		{"holders-all-faults", func(t *testing.T) (*Figure, error) {
			return HolderPlot(readExample(t, "all-faults").history, HolderOptions{})
		}},
		{"holders-crowd", func(*testing.T) (*Figure, error) { return HolderPlot(crowd, HolderOptions{}) }},
		{"herd", func(*testing.T) (*Figure, error) { return HerdPlot(crowds()...) }},
		{"phase", func(*testing.T) (*Figure, error) { return PhasePlot(phase()) }},
		{"phase-paper", func(*testing.T) (*Figure, error) {
			p := phase()
			p.Paper = &PhaseBound{Factor: 10_000_000, Offset: int64(500 * time.Millisecond), Formula: "skew = 10 ms each"}
			return PhasePlot(p)
		}},
		{"phase-paper-outside", func(*testing.T) (*Figure, error) {
			p := phase()
			p.Paper = &PhaseBound{Offset: int64(time.Hour), Formula: "an hour"}
			return PhasePlot(p)
		}},
		{"effort", func(*testing.T) (*Figure, error) { return EffortPlot(searches()...) }},
		{"herd-level", func(*testing.T) (*Figure, error) {
			return HerdPlot(HerdPoint{Implementation: "some/lock", Clients: 2, Seed: 7, HandOvers: 1, Requests: 1})
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel() // fonts are shared between plots: the race detector shall see it
			f, err := test.draw(t)
			first := drawFigure(t, f, err)
			f, err = test.draw(t)
			if second := drawFigure(t, f, err); !cmp.Equal(first, second, cmp.AllowUnexported(drawn{})) {
				t.Error("the second time it looks different")
			}
			golden(t, filepath.Join("plots", test.name+".svg"), first.svg)
			golden(t, filepath.Join("plots", test.name+".csv"), first.csv)
			goldenPicture(t, filepath.Join("plots", test.name), first.png)
			image, err := png.Decode(bytes.NewReader(first.png))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := image.Bounds().Dx(), int(figureWidth)*dotsPerInchPNG/72; got != want {
				t.Errorf("the PNG is %d wide, want %d", got, want)
			}
			rows, err := csv.NewReader(bytes.NewReader(first.csv)).ReadAll()
			if err != nil || len(rows) < 2 {
				t.Errorf("the CSV has %d rows: %v", len(rows), err)
			}
		})
	}
}

// crowd is a history of many clients that take turns, each overlapping the next a little, and of many faults.
func crowd(clients, faultCount int) *checker.History {
	h := &checker.History{Header: checker.Header{
		Scenario: "crowd", Implementation: "some/lock", Seed: 1, Lock: "job", Resource: "store",
	}}
	type timed struct {
		at time.Duration
		e  checker.Event
	}
	var all []timed
	add := func(at time.Duration, e checker.Event) { all = append(all, timed{at, e}) }
	for i := range clients {
		name := fmt.Sprintf("c%d", i+1)
		at := time.Duration(i) * 100 * time.Millisecond
		for k, e := range []checker.Event{
			{Type: checker.Invoke, F: checker.Acquire},
			{Type: checker.OK, F: checker.Acquire},
			{Type: checker.Invoke, F: checker.Release},
			{Type: checker.OK, F: checker.Release},
		} {
			e.Process, e.Node, e.Key = i, name, "job"
			wait := time.Duration(i*i+1) * time.Millisecond
			add(at+[]time.Duration{0, wait, wait + 120*time.Millisecond, wait + 125*time.Millisecond}[k], e)
		}
	}
	for i := range faultCount {
		add(time.Duration(i)*37*time.Millisecond, checker.Event{
			Process: checker.ProcessFault, Type: checker.Info, F: checker.FaultApplied, Node: fmt.Sprintf("c%d", i%clients+1),
			Command: fmt.Sprintf("pause c%d for 60ms at 1s", i%clients+1),
		})
	}
	slices.SortStableFunc(all, func(a, b timed) int { return int(a.at - b.at) })
	for i, x := range all {
		x.e.Index, x.e.Time = int64(i+1), x.at
		h.Events = append(h.Events, x.e)
	}
	return h
}

func TestLanesAreInNaturalOrder(t *testing.T) {
	d, err := gather(crowd(12, 0), HolderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11", "c12"}
	if diff := cmp.Diff(want, d.lanes); diff != "" {
		t.Error(diff)
	}
}

// TestPlotGrowsWithItsLanes keeps a plot of many clients readable.
func TestPlotGrowsWithItsLanes(t *testing.T) {
	last := 0.0
	for _, clients := range []int{2, 5, 10, 20} {
		f, err := HolderPlot(crowd(clients, 3), HolderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if height := float64(f.height); height <= last {
			t.Errorf("with %d clients the plot is %v points high, no more than with fewer: %v", clients, height, last)
		} else {
			last = height
		}
	}
}

// TestLabelsDoNotOverlap checks the rows of labels by the widths that they take up.
func TestLabelsDoNotOverlap(t *testing.T) {
	d, err := gather(crowd(10, 40), HolderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	drawing := &holderDrawing{holding: d, laneHeight: laneHeight}
	drawing.placeLabels()
	if drawing.labelRows != maxLabelRows || drawing.unlabelled == 0 {
		t.Fatalf("%d rows of labels and %d faults without, want the rows full", drawing.labelRows, drawing.unlabelled)
	}
	if got := len(drawing.labels) + drawing.unlabelled; got != 40 {
		t.Errorf("%d faults have a label or none, want 40", got)
	}
	if !strings.Contains(drawing.caption(), "without a label") {
		t.Errorf("the caption does not say that labels are missing: %s", drawing.caption())
	}
	width := float64(figureWidth - 2*margin - estimatedAxisX)
	ends := map[int]float64{}
	for _, l := range drawing.labels {
		m := d.marks[l.mark]
		need := float64(style(smallSize).Width(m.label))
		from := min(width*((m.at-d.from).Seconds()/(d.to-d.from).Seconds()), width-need)
		if from < ends[l.row] {
			t.Errorf("the label of the fault at %v lies over another in row %d", m.at, l.row)
		}
		ends[l.row] = from + need
	}
}

// TestOverlapsAreTheCheckers compares what the plot marks with the verdict: the time during which two or more held.
func TestOverlapsAreTheCheckers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistory(t)
		d, err := gather(h, HolderOptions{})
		if err != nil {
			t.Skip(err)
		}
		marked := time.Duration(0)
		for _, o := range d.overlaps {
			marked += o.to - o.from
		}
		verdict := checker.Check(h, checker.Options{Properties: []checker.Property{checker.MutualExclusion}})[0]
		if marked != verdict.Sum {
			t.Errorf("the plot marks %v of overlaps, the verdict says %v", marked, verdict.Sum)
		}
	})
}

// TestPlotsOfAnything draws arbitrary histories.
func TestPlotsOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistory(t)
		var violation *checker.Violation
		if rapid.Bool().Draw(t, "around a violation") {
			v := drawViolation(t, h)
			violation = &v
		}
		figures := []func() (*Figure, error){
			func() (*Figure, error) { return HolderPlot(h, HolderOptions{Violation: violation}) },
		}
		measured, err := measure.Of(h)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range PlotKinds() {
			figures = append(figures, func() (*Figure, error) { return DrawPlot(kind, Sample{Run: measured}) })
		}
		for _, figure := range figures {
			f, err := figure()
			if err != nil {
				continue
			}
			var svg bytes.Buffer
			if err := f.WriteSVG(&svg); err != nil {
				t.Error(err)
			}
			if bytes.Contains(svg.Bytes(), []byte("NaN")) || bytes.Contains(svg.Bytes(), []byte("Inf")) {
				t.Error("the SVG has a coordinate that is no number")
			}
		}
	})
}

func TestPlotOfNothing(t *testing.T) {
	if _, err := HolderPlot(&checker.History{}, HolderOptions{}); err == nil {
		t.Error("a history in which nobody asks for a lock was drawn")
	}
}

func TestTicks(t *testing.T) {
	for _, test := range []struct {
		low, high float64
		want      string
	}{
		{0, 10, "0 2 4 6 8 10"},
		{2.01, 2.05, "2.010 2.015 2.020 2.025 2.030 2.035 2.040 2.045 2.050"},
		{0, 0.001, "0.0000 0.0002 0.0004 0.0006 0.0008 0.0010"},
		{0, 3600, "0 500 1000 1500 2000 2500 3000 3500"},
	} {
		var got []string
		for _, tick := range (secondTicks{}).Ticks(test.low, test.high) {
			got = append(got, tick.Label)
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("from %v to %v: got %s, want %s", test.low, test.high, strings.Join(got, " "), test.want)
		}
	}
	for _, test := range []struct {
		low, high float64
		want      string
	}{
		{0.001, 0.02, "1 ms,2 ms,5 ms,10 ms,20 ms"},
		{0.0000008, 12, "1 µs,10 µs,100 µs,1 ms,10 ms,100 ms,1 s,10 s"},
	} {
		var got []string
		for _, tick := range (durationTicks{}).Ticks(test.low, test.high) {
			if tick.Label != "" {
				got = append(got, tick.Label)
			}
		}
		if strings.Join(got, ",") != test.want {
			t.Errorf("from %v to %v: got %s, want %s", test.low, test.high, strings.Join(got, ","), test.want)
		}
	}
}

func TestNaturalOrder(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"c2", "c10", -1},
		{"c10", "c2", 1},
		{"c2", "c2", 0},
		{"a10", "b2", -1},
		{"c", "c1", -1},
		{"c02", "c2", -1},
		{"", "c1", -1},
		{"c99999999999999999999", "c1", 1},
	} {
		if got := natural(test.a, test.b); (got > 0) != (test.want > 0) || (got < 0) != (test.want < 0) {
			t.Errorf("natural(%q, %q) = %d, want the sign of %d", test.a, test.b, got, test.want)
		}
	}
}
