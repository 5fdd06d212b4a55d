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
				X: int64(i) * int64(time.Second), Y: int64(j) * 100, Seeds: 20, Violated: min(i*j*4, 20), Untested: j,
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
		lines[6] != "1.000000000,100,20,4,1,0.2000,0.0807,0.4160" {
		t.Errorf("the table is\n%s", csv.String())
	}
	if err := figure.WriteSVG(&svg); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"&lt;16", ">20<", ">100<", "skew c2 (s)", "drift c2", "up to 50 %"} {
		if !strings.Contains(svg.String(), want) {
			t.Errorf("the picture does not say %q", want)
		}
	}
	if figure, _ = PhasePlot(phase()); figure.WriteSVG(&again) != nil || !bytes.Equal(svg.Bytes(), again.Bytes()) {
		t.Error("equal data give different pictures")
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
	} {
		p := phase()
		test.change(p)
		if _, err := PhasePlot(p); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: the error is %v, want one with %q", test.name, err, test.want)
		}
	}
}
