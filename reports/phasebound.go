package reports

import (
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// PhaseBound is where a lock should break by what can be worked out on paper: from X = Factor * Y + Offset on. Values
// are those of PhaseCell.
type PhaseBound struct {
	Factor, Offset int64
	Formula        string // the same for people
}

// phaseBoundLine is the style of the line: black on white, so that it shows on pale and on dark fields.
func phaseBoundLine() (over, under draw.LineStyle) {
	over = draw.LineStyle{Color: black, Width: 1.6, Dashes: []vg.Length{6, 4}}
	under = draw.LineStyle{Color: paleGrey, Width: 3.6}
	return over, under
}

// phaseBoundPlotter draws the bound as far as the fields go.
type phaseBoundPlotter struct{ phase *Phase }

// Plot implements plot.Plotter.
func (b *phaseBoundPlotter) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	factor := float64(b.phase.Paper.Factor) * b.phase.Y.unit() / b.phase.X.unit()
	offset := float64(b.phase.Paper.Offset) / b.phase.X.unit()
	at := func(value float64) float64 { return factor*value + offset }
	// The part of the line that lies within both axes: it is straight, so what lies between two of its points does too.
	from, to := p.Y.Min, p.Y.Max
	if factor != 0 {
		low, high := (p.X.Min-offset)/factor, (p.X.Max-offset)/factor
		from, to = max(from, min(low, high)), min(to, max(low, high))
	}
	if from >= to || factor == 0 && (offset < p.X.Min || offset > p.X.Max) {
		return
	}
	line := []vg.Point{{X: x(at(from)), Y: y(from)}, {X: x(at(to)), Y: y(to)}}
	over, under := phaseBoundLine()
	c.StrokeLines(under, line)
	c.StrokeLines(over, line)
}

// unit is how many values make one of what the axis shows.
func (a PhaseAxis) unit() float64 {
	if a.Duration {
		return float64(time.Second)
	}
	return 1
}

// entry explains the line.
func (b *PhaseBound) entry() legendEntry {
	return legendEntry{"on paper: " + b.Formula, func(c *draw.Canvas, a vg.Rectangle) {
		over, _ := phaseBoundLine()
		middle := (a.Min.Y + a.Max.Y) / 2
		c.StrokeLine2(over, a.Min.X, middle, a.Max.X, middle)
	}}
}
