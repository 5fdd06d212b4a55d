package reports

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Phase is how often a property broke over two magnitudes: the data of a phase diagram.
type Phase struct {
	Scenario, Implementation, Property string
	X, Y                               PhaseAxis
	Cells                              []PhaseCell // a full grid, in any order
	Paper                              *PhaseBound // drawn in; nil = there is none
}

// PhaseAxis is a magnitude that is varied.
type PhaseAxis struct {
	Name string
	// Duration says that values are nanoseconds; otherwise they are plain numbers.
	Duration bool
}

// PhaseCell is what came of one pair of values.
type PhaseCell struct {
	X, Y               int64
	Seeds              int // how many were run
	Violated, Untested int // how many broke the property, and how many did not put it to the test
}

// tested is how many seeds put the property to the test: what rates are shares of.
func (c PhaseCell) tested() int { return c.Seeds - c.Untested }

// rate is the share of violations in what was tested, 0 where nothing was.
func (c PhaseCell) rate() float64 { return float64(c.Violated) / float64(max(c.tested(), 1)) }

// confidence is how sure the intervals of violation rates are, with the quantile of the normal distribution for it.
const (
	confidence         = "95 %"
	confidenceQuantile = 1.959964
)

// Wilson is the interval in which a rate lies that was seen as so many of so many, with a confidence of 95 %. Nothing
// of n gives an upper bound above zero: not to have seen a violation is not to know that there is none.
func Wilson(hits, of int) (low, high float64) {
	if of <= 0 {
		return 0, 1
	}
	n, rate, z := float64(of), float64(hits)/float64(of), confidenceQuantile
	middle := (rate + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(rate*(1-rate)/n+z*z/(4*n*n))
	low, high = max(middle-half, 0), min(middle+half, 1)
	if hits == 0 {
		low = 0
	}
	if hits == of {
		high = 1
	}
	return low, high
}

// phaseHeight is the height of a phase diagram, without legend and caption.
const phaseHeight = 430 * vg.Length(1)

// PhasePlot draws a phase diagram: one field for each pair of values, the darker the more seeds broke the property, of
// those that put it to the test. A field of which none broke it shows how high the rate may still be; one of which none
// put it to the test is hatched.
func PhasePlot(phase *Phase) (*Figure, error) {
	xs, ys, err := phase.grid()
	if err != nil {
		return nil, err
	}
	p := newPlot(fitTitle("How often "+phase.Property+" broke: "+phase.Implementation+", "+phase.Scenario),
		phase.X.label())
	p.Y.Label.Text, p.Y.Label.Padding = phase.Y.label(), 4
	p.X.Min, p.X.Max, p.X.Tick.Marker = phase.X.around(xs), phase.X.beyond(xs), secondTicks{}
	p.Y.Min, p.Y.Max, p.Y.Tick.Marker = phase.Y.around(ys), phase.Y.beyond(ys), secondTicks{}
	p.Add(&phaseFields{phase: phase, xs: xs, ys: ys})
	f := &Figure{plot: p, rows: phase.rows(), caption: phase.caption()}
	for _, shade := range phaseShades {
		f.legend = append(f.legend, legendEntry{shade.name, func(c *draw.Canvas, area vg.Rectangle) {
			fillRectangle(c, area, shade.fill, draw.LineStyle{Color: grey, Width: 0.5})
		}})
	}
	if slices.ContainsFunc(phase.Cells, func(c PhaseCell) bool { return c.tested() == 0 }) {
		f.legend = append(f.legend, legendEntry{"? not put to the test", fillUntested})
	}
	if phase.Paper != nil {
		p.Add(&phaseBoundPlotter{phase})
		f.legend = append(f.legend, phase.Paper.entry())
	}
	f.height = 2*margin + phaseHeight + f.extraHeight()
	return f, nil
}

// phaseShade is a colour of fields with that of the number in it.
type phaseShade struct {
	upTo float64
	name string
	fill color.NRGBA
	text color.NRGBA
}

// phaseShades are the colours of fields, each for rates up to one, from pale to dark.
var phaseShades = []phaseShade{
	{0, "none", color.NRGBA{R: 247, G: 247, B: 247, A: 255}, grey},
	{0.1, "up to 10 %", color.NRGBA{R: 253, G: 224, B: 196, A: 255}, black},
	{0.5, "up to 50 %", color.NRGBA{R: 248, G: 172, B: 110, A: 255}, black},
	{0.999999, "more", color.NRGBA{R: 226, G: 118, B: 40, A: 255}, black},
	{1, "all seeds", color.NRGBA{R: 150, G: 60, B: 0, A: 255}, color.NRGBA{R: 255, G: 255, B: 255, A: 255}},
}

// fillUntested fills a field of which nothing is known: hatched, so that it looks like no rate.
func fillUntested(c *draw.Canvas, area vg.Rectangle) {
	fillRectangle(c, area, color.White, draw.LineStyle{Color: grey, Width: 0.5})
	hatch(c, area, draw.LineStyle{Color: paleGrey, Width: 0.75})
}

// grid lists the values of both axes and makes sure that each pair is there once.
func (p *Phase) grid() (xs, ys []int64, err error) {
	seen := map[[2]int64]bool{}
	for _, cell := range p.Cells {
		if cell.Seeds < 1 || cell.Violated > cell.tested() {
			return nil, nil, fmt.Errorf("a field has %d violations in %d seeds, of which %d tested nothing", cell.Violated,
				cell.Seeds, cell.Untested)
		}
		seen[[2]int64{cell.X, cell.Y}] = true
		xs, ys = append(xs, cell.X), append(ys, cell.Y)
	}
	slices.Sort(xs)
	slices.Sort(ys)
	xs, ys = slices.Compact(xs), slices.Compact(ys)
	if len(xs) < 2 || len(ys) < 2 {
		return nil, nil, errors.New("a phase diagram wants at least two values on each axis")
	}
	if len(seen) != len(p.Cells) || len(seen) != len(xs)*len(ys) {
		return nil, nil, fmt.Errorf("%d fields are no full grid of %d by %d values", len(p.Cells), len(xs), len(ys))
	}
	return xs, ys, nil
}

// label names the axis with its unit.
func (a PhaseAxis) label() string {
	if a.Duration {
		return a.Name + " (s)"
	}
	return a.Name
}

// number is a value in the axis' unit.
func (a PhaseAxis) number(value int64) float64 {
	if a.Duration {
		return time.Duration(value).Seconds()
	}
	return float64(value)
}

// around is where the axis begins, and beyond where it ends: half a field outside of the outermost values.
func (a PhaseAxis) around(values []int64) float64 {
	return a.number(values[0]) - (a.number(values[1])-a.number(values[0]))/2
}

func (a PhaseAxis) beyond(values []int64) float64 {
	n := len(values)
	return a.number(values[n-1]) + (a.number(values[n-1])-a.number(values[n-2]))/2
}

// edges are where the field of the i-th value begins and ends.
func (a PhaseAxis) edges(values []int64, i int) (from, to float64) {
	from, to = a.around(values), a.beyond(values)
	if i > 0 {
		from = (a.number(values[i-1]) + a.number(values[i])) / 2
	}
	if i < len(values)-1 {
		to = (a.number(values[i]) + a.number(values[i+1])) / 2
	}
	return from, to
}

// rows are the data of the diagram as a table.
func (p *Phase) rows() [][]string {
	x, y := p.X.Name, p.Y.Name
	rows := [][]string{{x, y, "seeds", "violated", "untested", "rate", "rate_low", "rate_high"}}
	share := func(rate float64) string { return strconv.FormatFloat(rate, 'f', 4, 64) }
	for _, cell := range p.Cells {
		rate := "" // unknown
		if cell.tested() > 0 {
			rate = share(cell.rate())
		}
		low, high := Wilson(cell.Violated, cell.tested())
		rows = append(rows, []string{
			p.X.text(cell.X), p.Y.text(cell.Y), strconv.Itoa(cell.Seeds), strconv.Itoa(cell.Violated),
			strconv.Itoa(cell.Untested), rate, share(low), share(high),
		})
	}
	return rows
}

// text writes a value in the axis' unit.
func (a PhaseAxis) text(value int64) string {
	if a.Duration {
		return decimal(time.Duration(value), 9)
	}
	return strconv.FormatInt(value, 10)
}

// caption says what was counted and what the numbers in the fields are.
func (p *Phase) caption() string {
	least, most, untested := p.Cells[0].Seeds, p.Cells[0].Seeds, 0
	for _, cell := range p.Cells {
		least, most = min(least, cell.Seeds), max(most, cell.Seeds)
		untested += cell.Untested
	}
	seeds := plural(int64(most), "seed")
	if least != most {
		seeds = strconv.Itoa(least) + " to " + seeds
	}
	text := "Each field: " + seeds + "; the number is the share that broke it, in percent. Where none did, it is how " +
		"high the rate may still be, with a confidence of " + confidence + " (Wilson)."
	if untested > 0 {
		text += " In " + plural(int64(untested), "run") + " it was not put to the test: shares are of the others."
	}
	return text
}

// phaseFields draws the fields.
type phaseFields struct {
	phase  *Phase
	xs, ys []int64
}

// Plot implements plot.Plotter.
func (f *phaseFields) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	bound, bounded := f.phase.boundLine(c, p)
	for _, cell := range f.phase.Cells {
		i, _ := slices.BinarySearch(f.xs, cell.X)
		j, _ := slices.BinarySearch(f.ys, cell.Y)
		left, right := f.phase.X.edges(f.xs, i)
		low, high := f.phase.Y.edges(f.ys, j)
		area := vg.Rectangle{Min: vg.Point{X: x(left), Y: y(low)}, Max: vg.Point{X: x(right), Y: y(high)}}
		f.field(&c, area, cell)
		if bounded && crosses(area, bound[0], bound[1]) {
			continue // the line would strike the number through; it is in the CSV
		}
		cell.number(&c, area)
	}
}

// field fills the area of a field.
func (f *phaseFields) field(c *draw.Canvas, area vg.Rectangle, cell PhaseCell) {
	if cell.tested() == 0 {
		fillUntested(c, area)
		return
	}
	fillRectangle(c, area, cell.shade().fill, draw.LineStyle{Color: color.White, Width: 0.5})
}

// number writes the number of a field into its middle, if there is room.
func (c PhaseCell) number(canvas *draw.Canvas, area vg.Rectangle) {
	label := style(smallSize)
	label.Color = c.shade().text
	text := c.label()
	width, height := label.Width(text), label.Height(text)
	if width+2 > area.Max.X-area.Min.X || height > area.Max.Y-area.Min.Y {
		return // the numbers are in the CSV
	}
	at := vg.Point{X: (area.Min.X+area.Max.X)/2 - width/2, Y: (area.Min.Y+area.Max.Y)/2 - height/3}
	if c.tested() == 0 {
		fillRectangle(canvas, vg.Rectangle{
			Min: vg.Point{X: at.X - 2, Y: at.Y - 2}, Max: vg.Point{X: at.X + width + 2, Y: at.Y + height},
		}, color.White, draw.LineStyle{})
	}
	canvas.FillText(label, at, text)
}

// shade is the colour of a field's rate.
func (c PhaseCell) shade() phaseShade {
	shade := phaseShades[0]
	for _, s := range phaseShades[1:] {
		if c.rate() > shade.upTo {
			shade = s
		}
	}
	return shade
}

// label is the rate in percent; where nothing broke, how high it may still be, and where nothing was tested, "?".
func (c PhaseCell) label() string {
	percent := func(rate float64) string { return strconv.FormatFloat(100*rate, 'f', 0, 64) }
	switch {
	case c.tested() == 0:
		return "?"
	case c.Violated == 0:
		_, high := Wilson(0, c.tested())
		return "<" + percent(high)
	}
	return percent(c.rate())
}
