package reports

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/lockstep-sim/lockstep/checker/measure"
)

// plotHeight is the height of most plots, without legend and caption.
const plotHeight = 330 * vg.Length(1)

// waitPlot draws how long those who got a lock had waited for it, as the share that had got it within a time.
func waitPlot(samples []Sample) (*Figure, error) {
	all := pool(samples, (*measure.Run).Waits)
	if total(all) == 0 {
		return nil, errors.New("nobody got a lock, so nobody's wait has an end")
	}
	f := cdfFigure(seriesTitle("How long an acquire waited", samples), all)
	f.caption = "Only acquires that got the lock are drawn. " + outcomesNote(groups(samples)) + roundedNote(all)
	f.tell(tallyOf(samples))
	return f, nil
}

// outcomesNote counts the acquires of each lock by their outcome.
func outcomesNote(all []group) string {
	text := "Of all acquires"
	for i, g := range all {
		count := map[measure.Outcome]int{}
		for _, s := range g.samples {
			for k := range s.Calls {
				if c := &s.Calls[k]; s.IsAcquire(c) {
					count[c.Outcome]++
				}
			}
		}
		text += [...]string{": ", "; "}[min(i, 1)]
		if len(all) > 1 {
			text += g.name + " "
		}
		text += outcomeCounts(count)
	}
	return text + "."
}

func outcomeCounts(count map[measure.Outcome]int) string {
	text := fmt.Sprintf("%d got the lock", count[measure.Done])
	for _, o := range []struct {
		outcome measure.Outcome
		words   string
	}{
		{measure.Refused, "refused"},
		{measure.Unknown, "answered by an error"},
		{measure.Open, "never answered"},
		{measure.Reentered, "re-entries"},
	} {
		if count[o.outcome] > 0 {
			text += fmt.Sprintf(", %d %s", count[o.outcome], o.words)
		}
	}
	return text
}

// cdfFigure draws times of locks as shares on a logarithmic axis.
func cdfFigure(title string, all []pooled) *Figure {
	p := newPlot(title, "time from the call to its return (log scale)")
	p.Y.Label.Text, p.Y.Label.Padding = "share of those that got the lock", 4
	p.Y.Min, p.Y.Max, p.Y.Tick.Marker = 0, 1, shareTicks()
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, durationTicks{}
	p.X.Min, p.X.Max = timeRange(all)
	p.Add(grid{})
	f := &Figure{plot: p, rows: distributionRows("wait_s", all, secondsOf)}
	for i := range all {
		line := curveStyle(i)
		p.Add(&cdf{pooled: all[i], line: line})
		f.addLine(len(all) > 1, all[i].name, line)
	}
	f.height = 2*margin + plotHeight + f.extraHeight()
	return f
}

// addLine explains a line in the legend, if there is something to explain.
func (f *Figure) addLine(wanted bool, name string, line draw.LineStyle) {
	if !wanted {
		return
	}
	label := fit(name, style(smallSize), figureWidth/2)
	f.legend = append(f.legend, legendEntry{label, func(c *draw.Canvas, a vg.Rectangle) {
		y := (a.Min.Y + a.Max.Y) / 2
		c.StrokeLine2(line, a.Min.X, y, a.Max.X, y)
	}})
}

func secondsOf(ns int64) string { return decimal(time.Duration(ns), 9) }

// shortest stands in for times of nothing at all, which a logarithmic axis cannot show.
const shortest = time.Microsecond

// timeRange is the part of a logarithmic axis that times take up, with a little room on both sides.
func timeRange(all []pooled) (low, high float64) {
	least, most := int64(math.MaxInt64), int64(0)
	for _, d := range all {
		if values := d.Values(); len(values) > 0 {
			least, most = min(least, values[0]), max(most, values[len(values)-1])
		}
	}
	if most == 0 && least == math.MaxInt64 {
		return 1e-3, 1
	}
	least, most = max(least, int64(shortest)), max(most, int64(shortest))
	return time.Duration(least).Seconds() * 0.8, time.Duration(most).Seconds() * 1.25
}

// onAxis is a time in seconds that a logarithmic axis can show.
func onAxis(ns int64) float64 { return max(time.Duration(ns), shortest).Seconds() }

// cdf draws a distribution as the steps that it consists of.
type cdf struct {
	pooled
	line draw.LineStyle
}

// Plot implements plot.Plotter. Steps too close to be told apart are drawn as one.
func (d *cdf) Plot(c draw.Canvas, p *plot.Plot) {
	if d.Total() == 0 {
		return
	}
	x, y := p.Transforms(&c)
	const finest = 0.1 * vg.Length(1)
	points := []vg.Point{{X: c.Min.X, Y: y(0)}}
	seen := int64(0)
	for _, v := range d.Values() {
		seen += d.Count(v)
		last := points[len(points)-1]
		next := vg.Point{X: x(onAxis(v)), Y: y(float64(seen) / float64(d.Total()))}
		if len(points) > 1 && next.X-last.X < finest {
			points[len(points)-1].Y = next.Y
			continue
		}
		points = append(points, vg.Point{X: next.X, Y: last.Y}, next)
	}
	c.StrokeLines(d.line, append(points, vg.Point{X: c.Max.X, Y: points[len(points)-1].Y}))
}

// handOverPlot draws how long hand-overs took, one box for each lock.
func handOverPlot(samples []Sample) (*Figure, error) {
	all := pool(samples, (*measure.Run).HandOverTimes)
	if total(all) == 0 {
		return nil, errors.New("nothing was handed over: no hold ended while somebody waited")
	}
	f := boxFigure(seriesTitle("How long a hand-over took", samples), all)
	f.tell(tallyOf(samples))
	return f, nil
}

// boxFigure draws a row with a box for each lock.
func boxFigure(title string, all []pooled) *Figure {
	p := newPlot(title, "time (log scale)") // a long label takes room from a log axis
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, durationTicks{}
	p.X.Min, p.X.Max = timeRange(all)
	n := len(all)
	p.Y.Min, p.Y.Max, p.Y.Tick.Length = -0.5, float64(n)-0.5, 0
	var names plot.ConstantTicks
	for i, d := range all {
		names = append(names, plot.Tick{Value: float64(n - 1 - i), Label: fit(d.name, style(labelSize), 170)})
	}
	p.Y.Tick.Marker = names
	p.Add(verticalGrid{}, boxes(all))
	rows := [][]string{{
		"implementation", "hand_overs", "least_s", "p5_s", "p25_s", "p50_s", "p75_s", "p95_s", "p99_s", "greatest_s",
	}}
	for _, d := range all {
		row := []string{d.name, strconv.FormatInt(d.Total(), 10)}
		for _, q := range []int64{0, 50, 250, 500, 750, 950, 990, 1000} {
			row = append(row, secondsOf(d.Quantile(q)))
		}
		rows = append(rows, row)
	}
	f := &Figure{plot: p, rows: rows}
	f.caption = "From the end of a hold to the next grant, while somebody waits. Box: quartiles with the median; " +
		"whiskers: from 5 % to 95 % of all; dots: the least and the greatest. The number is that of hand-overs." +
		roundedNote(all)
	f.height = 2*margin + frameHeight + boxRow*vg.Length(max(n, 2)) + f.extraHeight()
	return f
}

const boxRow = 34 * vg.Length(1)

// boxes draws rows of boxes, the first on top.
type boxes []pooled

// Plot implements plot.Plotter.
func (b boxes) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, d := range b {
		middle := y(float64(len(b) - 1 - i))
		if d.Total() == 0 {
			s := style(smallSize)
			s.Color = grey
			c.FillText(s, vg.Point{X: c.Min.X + 6, Y: middle - 3}, "nothing was handed over")
			continue
		}
		box := d.Box()
		at := func(v int64) vg.Length { return x(onAxis(v)) }
		line := draw.LineStyle{Color: black, Width: 1}
		c.StrokeLine2(line, at(box.Low), middle, at(box.High), middle)
		for _, end := range []int64{box.Low, box.High} {
			c.StrokeLine2(line, at(end), middle-4, at(end), middle+4)
		}
		area := vg.Rectangle{
			Min: vg.Point{X: at(box.First), Y: middle - 8}, Max: vg.Point{X: max(at(box.Third), at(box.First)+1), Y: middle + 8},
		}
		fillRectangle(&c, area, skyBlue, line)
		c.StrokeLine2(draw.LineStyle{Color: black, Width: 2.25}, at(box.Median), middle-8, at(box.Median), middle+8)
		for _, end := range []int64{d.Quantile(0), d.Quantile(1000)} {
			c.DrawGlyph(draw.GlyphStyle{Color: grey, Radius: 1.75, Shape: draw.CircleGlyph{}}, vg.Point{X: at(end), Y: middle})
		}
		s := style(smallSize)
		s.Color = grey
		c.FillText(s, vg.Point{X: min(at(box.First), c.Max.X-40), Y: middle + 9.5}, strconv.FormatInt(d.Total(), 10))
	}
}

// fairnessPlot draws how often a waiter was overtaken, and tells how evenly the lock was shared.
func fairnessPlot(samples []Sample) (*Figure, error) {
	all := pool(samples, (*measure.Run).Overtakes)
	if total(all) == 0 {
		return nil, errors.New("nobody who waited for a lock got it, so nobody was treated fairly or not")
	}
	p := newPlot(seriesTitle("How often a waiter was overtaken", samples),
		"times that somebody who asked later got it first")
	p.Y.Label.Text, p.Y.Label.Padding = "share of those that waited", 4
	p.Y.Min, p.Y.Max, p.Y.Tick.Marker = 0, 1, shareTicks()
	most := int64(1)
	for _, d := range all {
		most = max(most, d.Quantile(1000))
	}
	p.X.Min, p.X.Max, p.X.Tick.Marker = -0.5, float64(most)+0.5, wholeTicks{}
	p.Add(grid{})
	f := &Figure{plot: p, rows: distributionRows("overtaken", all, digits)}
	p.Add(bars(all))
	for i := range all {
		fill := curveStyle(i).Color
		f.legend = append(f.legend, legendEntry{
			fit(all[i].name, style(smallSize), figureWidth/2),
			func(c *draw.Canvas, a vg.Rectangle) { fillRectangle(c, a, fill, draw.LineStyle{}) },
		})
	}
	f.caption = jainNote(groups(samples)) + " An index of 1 is even, 1/n says that one of n clients got all."
	f.height = 2*margin + plotHeight + f.extraHeight()
	f.tell(tallyOf(samples))
	return f, nil
}

// jainNote tells the fairness index of each lock, of several runs the least.
func jainNote(all []group) string {
	text := "Jain's index of grants and of time held"
	for i, g := range all {
		grants, held := int64(math.MaxInt64), int64(math.MaxInt64)
		for _, s := range g.samples {
			summary := s.Summary()
			grants, held = min(grants, summary.JainGrants), min(held, summary.JainHeld)
		}
		text += [...]string{": ", "; "}[min(i, 1)]
		if len(all) > 1 {
			text += g.name + " "
		}
		text += millionths(grants) + " and " + millionths(held)
		if len(g.samples) > 1 {
			text += " at least"
		}
	}
	return text + "."
}

// millionths renders parts per million as a number from 0 to 1.
func millionths(ppm int64) string { return strconv.FormatFloat(float64(ppm)/1e6, 'f', 3, 64) }

// bars draws small whole numbers with their shares, the bars of several locks side by side.
type bars []pooled

// Plot implements plot.Plotter.
func (b bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	width := 0.8 / float64(len(b))
	for i, d := range b {
		for _, v := range d.Values() {
			left := float64(v) - 0.4 + float64(i)*width
			area := vg.Rectangle{
				Min: vg.Point{X: x(left), Y: y(0)},
				Max: vg.Point{X: x(left + width), Y: y(float64(d.Count(v)) / float64(d.Total()))},
			}
			area.Max.X, area.Max.Y = max(area.Max.X, area.Min.X+0.75), max(area.Max.Y, area.Min.Y+0.75)
			fillRectangle(&c, area, curveStyle(i).Color, draw.LineStyle{})
		}
	}
}

// overlapBins is how many bars of a histogram of overlaps make a power of ten.
const overlapBins = 5

// overlapPlot draws how long it lasted when two or more believed to hold.
func overlapPlot(samples []Sample) (*Figure, error) {
	all := pool(samples, (*measure.Run).Overlaps)
	if total(all) == 0 {
		return nil, errors.New("no two believed to hold at once, so there is no overlap to draw")
	}
	p := newPlot(seriesTitle("How long two or more held at once", samples), "length of an overlap (log scale)")
	p.Y.Label.Text, p.Y.Label.Padding = "overlaps", 4
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, durationTicks{}
	h := &histogram{all: all, bins: make([]map[int]int64, len(all))}
	low, high, most := math.MaxInt, math.MinInt, int64(0)
	for i, d := range all {
		h.bins[i] = map[int]int64{}
		for _, v := range d.Values() {
			bin := int(math.Floor(math.Log10(onAxis(v)) * overlapBins))
			h.bins[i][bin] += d.Count(v)
			low, high, most = min(low, bin), max(high, bin+1), max(most, h.bins[i][bin])
		}
	}
	h.low, h.high = low, high
	p.X.Min, p.X.Max = binEdge(low-1), binEdge(high+1)
	p.Y.Min, p.Y.Max, p.Y.Tick.Marker = 0, float64(most)*1.08, wholeTicks{}
	p.Add(grid{}, h)
	f := &Figure{plot: p, rows: distributionRows("overlap_s", all, secondsOf)}
	for i := range all {
		fill := curveStyle(i).Color
		f.legend = append(f.legend, legendEntry{
			fit(all[i].name, style(smallSize), figureWidth/2),
			func(c *draw.Canvas, a vg.Rectangle) { fillRectangle(c, a, fill, draw.LineStyle{}) },
		})
	}
	f.caption = fmt.Sprintf("%s in all; %d bars to a power of ten.", plural(total(all), "overlap"), overlapBins) +
		roundedNote(all)
	f.height = 2*margin + plotHeight + f.extraHeight()
	f.tell(tallyOf(samples))
	return f, nil
}

// binEdge is where a bar of a histogram of times begins, in seconds.
func binEdge(bin int) float64 { return math.Pow(10, float64(bin)/overlapBins) }

// histogram draws counts of times in bins of equal width on a logarithmic axis, the bars of several locks side by side.
type histogram struct {
	all       []pooled
	bins      []map[int]int64
	low, high int
}

// Plot implements plot.Plotter.
func (h *histogram) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i := range h.all {
		for bin := h.low; bin < h.high; bin++ {
			count := h.bins[i][bin]
			if count == 0 {
				continue
			}
			from, to := x(binEdge(bin)), x(binEdge(bin+1))
			width := (to - from) / vg.Length(len(h.all))
			area := vg.Rectangle{
				Min: vg.Point{X: from + width*vg.Length(i), Y: y(0)},
				Max: vg.Point{X: from + width*vg.Length(i+1) - 0.5, Y: y(float64(count))},
			}
			fillRectangle(&c, area, curveStyle(i).Color, draw.LineStyle{})
		}
	}
}

// verticalGrid draws pale lines at the labelled ticks of the horizontal axis.
type verticalGrid struct{}

// Plot implements plot.Plotter.
func (verticalGrid) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for _, tick := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if tick.Label != "" {
			c.StrokeLine2(draw.LineStyle{Color: paleGrey, Width: 0.5}, x(tick.Value), c.Min.Y, x(tick.Value), c.Max.Y)
		}
	}
}
