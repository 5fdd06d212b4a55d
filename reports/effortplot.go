package reports

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// EffortPoint is what it took one strategy to find one thing that a scenario says must be found.
type EffortPoint struct {
	Scenario, Implementation string
	What                     string // a property or a mechanism's number
	Strategy                 string
	// Ranges of seeds were searched, and Missed of them in vain.
	Ranges, Missed int
	// Seeds and Time are the medians until it was found; a range searched in vain counts with its whole length.
	Seeds int
	Time  time.Duration
}

// found says that it was found in most of the ranges, so that the median tells of a find.
func (p EffortPoint) found() bool { return 2*p.Missed < p.Ranges }

// effort is the points of one strategy, those with the fewest seeds first.
type effort struct {
	strategy string
	points   []EffortPoint
}

// efforts puts points together by strategy, in order of appearance.
func efforts(points []EffortPoint) []effort {
	var all []effort
	strategy, seeds := func(p EffortPoint) string { return p.Strategy }, func(p EffortPoint) int { return p.Seeds }
	for _, line := range linesOf(points, strategy, seeds) {
		all = append(all, effort{strategy: line[0].Strategy, points: line})
	}
	return all
}

// effortHeight is the height of the plot of efforts, without legend and caption.
const effortHeight = 300 * vg.Length(1)

// EffortPlot draws how many seeds each strategy takes: a line for each, which climbs by one wherever one more of the
// things to be found has been found in the median. What lies to the left and above finds more with less.
func EffortPlot(points ...EffortPoint) (*Figure, error) {
	if len(points) == 0 {
		return nil, errors.New("there is no point to draw")
	}
	all := efforts(points)
	most, finds := 10, 0
	for _, e := range all {
		finds = max(finds, len(e.points))
		for _, p := range e.points {
			if p.Seeds < 1 || p.Ranges < 1 {
				return nil, fmt.Errorf("%s in %s with %s: a median of %d seeds over %d ranges", p.Implementation, p.Scenario,
					p.Strategy, p.Seeds, p.Ranges)
			}
			most = max(most, p.Seeds)
		}
	}
	p := newPlot(fitTitle("How many seeds each strategy takes"), "seeds run (median, log scale)")
	p.Y.Label.Text, p.Y.Label.Padding = "found", 4
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, countTicks{}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0.9, float64(most)*1.15, 0, float64(finds)*1.05
	p.Add(grid{})
	f := &Figure{plot: p, rows: effortRows(all), caption: effortCaption(all)}
	for i := range all {
		line := curveStyle(i)
		p.Add(&effortLine{effort: &all[i], line: line})
		f.legend = append(f.legend, legendEntry{all[i].strategy, func(c *draw.Canvas, a vg.Rectangle) {
			y := (a.Min.Y + a.Max.Y) / 2
			c.StrokeLine2(line, a.Min.X, y, a.Max.X, y)
		}})
	}
	f.height = 2*margin + effortHeight + f.extraHeight()
	return f, nil
}

// effortCaption says what the lines count and what they leave out.
func effortCaption(all []effort) string {
	text := "Each line counts what the library says must be found (a mechanism or property, in one lock, in one scenario)."
	for _, e := range all {
		missed := 0
		for _, p := range e.points {
			if !p.found() {
				missed++
			}
		}
		if missed > 0 {
			text += fmt.Sprintf(" With %s %d of %d are not found in most ranges.", e.strategy, missed, len(e.points))
		}
	}
	return text + fmt.Sprintf(" Medians of %d ranges of seeds.", all[0].points[0].Ranges)
}

// effortRows are the data of the plot as a table.
func effortRows(all []effort) [][]string {
	rows := [][]string{{
		"scenario", "implementation", "find", "strategy", "ranges", "missed", "median_seeds", "median_time_s",
	}}
	for _, e := range all {
		for _, p := range e.points {
			rows = append(rows, []string{
				p.Scenario, p.Implementation, p.What, p.Strategy, strconv.Itoa(p.Ranges), strconv.Itoa(p.Missed),
				strconv.Itoa(p.Seeds), decimal(p.Time, 6),
			})
		}
	}
	return rows
}

// effortLine draws the steps of one strategy.
type effortLine struct {
	*effort
	line draw.LineStyle
}

// Plot implements plot.Plotter.
func (e *effortLine) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	steps := []vg.Point{{X: x(p.X.Min), Y: y(0)}}
	found := 0
	for _, point := range e.points {
		if !point.found() {
			continue
		}
		at := x(float64(point.Seeds))
		steps = append(steps, vg.Point{X: at, Y: y(float64(found))})
		found++
		steps = append(steps, vg.Point{X: at, Y: y(float64(found))})
	}
	steps = append(steps, vg.Point{X: x(p.X.Max), Y: y(float64(found))})
	c.StrokeLines(e.line, steps)
}
