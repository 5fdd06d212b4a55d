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
	ends, shown := b.phase.boundLine(c, p)
	if !shown {
		return
	}
	over, under := phaseBoundLine()
	c.StrokeLines(under, ends[:])
	c.StrokeLines(over, ends[:])
}

// boundLine is the part of the bound that lies within both axes, from one end to the other; shown is false where there
// is none. It is straight, so what lies between two of its points does too.
func (p *Phase) boundLine(c draw.Canvas, shownOn *plot.Plot) (ends [2]vg.Point, shown bool) {
	if p.Paper == nil {
		return ends, false
	}
	x, y := shownOn.Transforms(&c)
	factor := float64(p.Paper.Factor) * p.Y.unit() / p.X.unit()
	offset := float64(p.Paper.Offset) / p.X.unit()
	from, to := shownOn.Y.Min, shownOn.Y.Max
	if factor != 0 {
		low, high := (shownOn.X.Min-offset)/factor, (shownOn.X.Max-offset)/factor
		from, to = max(from, min(low, high)), min(to, max(low, high))
	}
	if from >= to || factor == 0 && (offset < shownOn.X.Min || offset > shownOn.X.Max) {
		return ends, false
	}
	at := func(value float64) vg.Point { return vg.Point{X: x(factor*value + offset), Y: y(value)} }
	return [2]vg.Point{at(from), at(to)}, true
}

// crosses tells whether the line between two points runs through the middle of an area, where its number stands.
func crosses(area vg.Rectangle, from, to vg.Point) bool {
	const halfWidth, halfHeight = 15 * vg.Length(1), 7 * vg.Length(1)
	middle := vg.Point{X: (area.Min.X + area.Max.X) / 2, Y: (area.Min.Y + area.Max.Y) / 2}
	// The part of the line that lies beside the number, as shares of its length, is cut smaller edge by edge.
	first, last := vg.Length(0), vg.Length(1)
	for _, edge := range [][2]vg.Length{
		{to.X - from.X, middle.X + halfWidth - from.X},
		{from.X - to.X, from.X - middle.X + halfWidth},
		{to.Y - from.Y, middle.Y + halfHeight - from.Y},
		{from.Y - to.Y, from.Y - middle.Y + halfHeight},
	} {
		switch along, room := edge[0], edge[1]; {
		case along == 0 && room < 0:
			return false
		case along > 0:
			last = min(last, room/along)
		case along < 0:
			first = max(first, room/along)
		}
	}
	return first <= last
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
