package reports

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"
)

// TestWilson holds the interval against values worked out by hand from its formula.
func TestWilson(t *testing.T) {
	for _, test := range []struct {
		hits, of  int
		low, high float64
	}{
		{0, 0, 0, 1},
		{0, 20, 0, 0.1611},
		{20, 20, 0.8389, 1},
		{1, 20, 0.0089, 0.2361},
		{10, 20, 0.2993, 0.7007},
		{5, 100, 0.0215, 0.1118},
	} {
		low, high := Wilson(test.hits, test.of)
		if math.Abs(low-test.low) > 1e-4 || math.Abs(high-test.high) > 1e-4 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", test.hits, test.of, low, high, test.low, test.high)
		}
	}
}

func phase() *Phase {
	p := &Phase{
		Scenario: "early-clock", Implementation: "redis/getset", Property: "mutual-exclusion",
		X: PhaseAxis{Name: "skew c2", Duration: true}, Y: PhaseAxis{Name: "drift c2"},
	}
	for j := range 3 {
		for i := range 4 {
			p.Cells = append(p.Cells, PhaseCell{
				X: int64(i) * int64(time.Second), Y: int64(j) * 100, Seeds: 20, Violated: min(i*j*4, 20-j), Untested: j,
			})
		}
	}
	return p
}

func TestPhasePlot(t *testing.T) {
	figure, err := PhasePlot(phase())
	if err != nil {
		t.Fatal(err)
	}
	var csv, svg, again bytes.Buffer
	if err := figure.WriteCSV(&csv); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(csv.String()), "\n")
	if len(lines) != 13 || lines[0] != "skew c2,drift c2,seeds,violated,untested,rate,rate_low,rate_high" ||
		lines[6] != "1.000000000,100,20,4,1,0.2105,0.0851,0.4333" {
		t.Errorf("the table is\n%s", csv.String())
	}
	if err := figure.WriteSVG(&svg); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"&lt;16", ">21<", ">100<", "skew c2 (s)", "drift c2", "up to 50 %"} {
		if !strings.Contains(svg.String(), want) {
			t.Errorf("the picture does not say %q", want)
		}
	}
	if figure, _ = PhasePlot(phase()); figure.WriteSVG(&again) != nil || !bytes.Equal(svg.Bytes(), again.Bytes()) {
		t.Error("equal data give different pictures")
	}
}

// TestPhasePlotUntested checks that a field which nothing put to the test claims no rate.
func TestPhasePlotUntested(t *testing.T) {
	p := phase()
	p.Cells[0].Untested, p.Cells[0].Violated = 20, 0
	p.Cells[1].Untested, p.Cells[1].Violated = 10, 5
	figure, err := PhasePlot(p)
	d := drawFigure(t, figure, err)
	for _, want := range []string{">?<", ">50<", "? not put to the test"} {
		if !bytes.Contains(d.svg, []byte(want)) {
			t.Errorf("the picture does not say %q", want)
		}
	}
	lines := strings.Split(string(d.csv), "\n")
	for i, want := range []string{"0.000000000,0,20,0,20,,0.0000,1.0000", "1.000000000,0,20,5,10,0.5000,0.2366,0.7634"} {
		if lines[i+1] != want {
			t.Errorf("the table has %q, want %q", lines[i+1], want)
		}
	}
}

// TestPhasePlotBound checks that the bound leaves the numbers out that it would strike through, and no others.
func TestPhasePlotBound(t *testing.T) {
	p := phase()
	for i := range p.Cells {
		p.Cells[i].Violated, p.Cells[i].Untested = 1, 0
	}
	p.Paper = &PhaseBound{Offset: int64(time.Second), Formula: "1s"} // through the second of four columns
	figure, err := PhasePlot(p)
	if n := bytes.Count(drawFigure(t, figure, err).svg, []byte(">5<")); n != 9 {
		t.Errorf("%d of 12 fields have a number, want 9: those beside the line", n)
	}
}

func TestPhasePlotErrors(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Phase)
		want   string
	}{
		{"nothing", func(p *Phase) { p.Cells = nil }, "at least two values"},
		{"a hole", func(p *Phase) { p.Cells = p.Cells[1:] }, "no full grid"},
		{"a field twice", func(p *Phase) { p.Cells[0] = p.Cells[1] }, "no full grid"},
		{"no seeds", func(p *Phase) { p.Cells[0].Seeds = 0 }, "in 0 seeds"},
		{"broken untested", func(p *Phase) { p.Cells[0].Violated, p.Cells[0].Untested = 1, 20 }, "20 tested nothing"},
	} {
		p := phase()
		test.change(p)
		if _, err := PhasePlot(p); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: the error is %v, want one with %q", test.name, err, test.want)
		}
	}
}
