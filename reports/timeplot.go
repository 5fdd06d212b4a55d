package reports

import (
	"cmp"
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

	"github.com/lockstep-sim/lockstep/checker/measure"
)

// timeFigure starts a figure of one run over true time, with its faults as bands.
func timeFigure(what string, s Sample) (*Figure, *faultBands) {
	p := newPlot(fitTitle(what+runName(&s.Header)), "true time (s)")
	p.X.Min, p.X.Max, p.X.Tick.Marker = 0, max(s.End, time.Millisecond).Seconds(), secondTicks{}
	p.Y.Label.Padding = 4
	bands := bandsOf(s)
	p.Title.Padding = 8 + labelHeight*vg.Length(bands.rows)
	f := &Figure{plot: p}
	if bands.lasting {
		f.legend = append(f.legend, legendEntry{"while a fault lasts", func(c *draw.Canvas, a vg.Rectangle) {
			fillRectangle(c, a, translucent(grey, 60), draw.LineStyle{})
		}})
	}
	if len(bands.bands) > 0 {
		f.legend = append(f.legend, legendEntry{"fault", func(c *draw.Canvas, a vg.Rectangle) {
			x := (a.Min.X + a.Max.X) / 2
			c.StrokeLine2(faultLine, x, a.Min.Y-2, x, a.Max.Y+2)
		}})
	}
	return f, bands
}

// finish settles caption and height.
func (f *Figure) finish(height vg.Length, bands *faultBands, s Sample) {
	f.height = 2*margin + height + labelHeight*vg.Length(bands.rows) + f.extraHeight()
	if bands.unlabelled > 0 {
		f.caption += fmt.Sprintf(" %s without a label for want of room.", plural(int64(bands.unlabelled), "fault"))
	}
	if bands.left > 0 {
		f.caption += fmt.Sprintf(" %s not drawn, the first %d are.", plural(int64(bands.left), "fault"), mostBands)
	}
	f.tell(tallyOf([]Sample{s}))
}

var faultLine = draw.LineStyle{Color: grey, Width: 0.75, Dashes: []vg.Length{3, 2}}

// The bounds on what is drawn of faults.
const (
	mostBands     = 300
	mostBandRows  = 3
	axisLeft      = 60 * vg.Length(1) // what the vertical axis takes up, about
	bandLabelRoom = 10 * vg.Length(1)
)

// band is a fault over time; row is that of its label above the plot, none where there is no room.
type band struct {
	from, to time.Duration
	label    string
	row      int
}

// faultBands draws faults as lines and, while they last, as bands over the whole height.
type faultBands struct {
	bands      []band
	rows       int
	unlabelled int
	left       int // not drawn
	lasting    bool
}

// bandsOf takes the faults of a run and finds room for their labels.
func bandsOf(s Sample) *faultBands {
	b := &faultBands{}
	width := figureWidth - 2*margin - axisLeft
	var ends []vg.Length // of the last label in each row
	for i, fault := range s.Faults {
		if len(b.bands) == mostBands {
			b.left = len(s.Faults) - i
			break
		}
		one := band{from: fault.At, to: fault.At, label: "healed", row: none}
		if !fault.Healed {
			one.label = fit(faultLabel(fault.Text, fault.Machine), style(smallSize), width/3)
			one.to = min(fault.At+faultLength(fault.Text), s.End)
			for _, next := range s.Faults[i+1:] {
				if next.Healed {
					one.to = min(one.to, next.At)
					break
				}
			}
		}
		b.lasting = b.lasting || one.to > one.from
		need := style(smallSize).Width(one.label) + bandLabelRoom
		from := max(min(width*vg.Length(one.from.Seconds()/max(s.End, time.Millisecond).Seconds()), width-need), 0)
		for row := range mostBandRows {
			if row == len(ends) {
				ends = append(ends, 0)
			}
			if ends[row] <= from {
				ends[row], one.row = from+need, row
				break
			}
		}
		if one.row == none {
			b.unlabelled++
		}
		b.bands = append(b.bands, one)
	}
	b.rows = len(ends)
	return b
}

// Plot implements plot.Plotter.
func (b *faultBands) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for _, one := range b.bands {
		from, to := x(one.from.Seconds()), x(one.to.Seconds())
		if one.to > one.from {
			area := vg.Rectangle{Min: vg.Point{X: from, Y: c.Min.Y}, Max: vg.Point{X: max(to, from+0.75), Y: c.Max.Y}}
			fillRectangle(&c, area, translucent(grey, 40), draw.LineStyle{})
		}
		top := c.Max.Y
		if one.row != none {
			top += labelHeight * (vg.Length(one.row) + 0.5)
		}
		c.StrokeLine2(faultLine, from, c.Min.Y, from, top)
	}
	for _, one := range b.bands {
		if one.row == none {
			continue
		}
		width := style(smallSize).Width(one.label)
		left := max(min(x(one.from.Seconds())+3, c.Max.X-width), c.Min.X)
		y := c.Max.Y + labelHeight*vg.Length(one.row)
		back := vg.Rectangle{
			Min: vg.Point{X: left - 1, Y: y + 0.5}, Max: vg.Point{X: left + width + 1, Y: y + labelHeight - 0.5},
		}
		fillRectangle(&c, back, color.White, draw.LineStyle{})
		c.FillText(style(smallSize), vg.Point{X: left, Y: y + 3}, one.label)
	}
}

// seriesRow is a point of a series as a row of a table.
func seriesRow(p measure.Point, render func(int64) string) []string {
	return []string{
		decimal(p.From, 9), decimal(p.To, 9), render(p.First), render(p.Last), render(p.Least), render(p.Greatest),
	}
}

// queuePlot draws how many waited at a time.
func queuePlot(s Sample) (*Figure, error) {
	if len(s.Queue.Points) == 0 {
		return nil, errors.New("nobody waited for a lock: all asked once and took the answer")
	}
	f, bands := timeFigure("How many waited", s)
	most := s.Summary().MostWaiting
	f.plot.Y.Label.Text = "clients that wait"
	f.plot.Y.Min, f.plot.Y.Max, f.plot.Y.Tick.Marker = 0, float64(most)*1.06, wholeTicks{}
	f.plot.Add(grid{}, bands, &steps{s.Queue.Points, s.End, !s.Queue.Exact()})
	f.rows = [][]string{{"from_s", "to_s", "first", "last", "least", "greatest"}}
	for _, p := range s.Queue.Points {
		f.rows = append(f.rows, seriesRow(p, digits))
	}
	f.caption = fmt.Sprintf("At most %s waited at the same time.", plural(most, "client")) + seriesNote(&s.Queue)
	f.finish(plotHeight, bands, s)
	return f, nil
}

// seriesNote says that samples were put together.
func seriesNote(s *measure.Series) string {
	if s.Exact() {
		return ""
	}
	return fmt.Sprintf(" There are so many changes that neighbours are put together, into %d points; the band reaches "+
		"from their least to their greatest.", len(s.Points))
}

// steps draws a value that stays as it is until the next point.
type steps struct {
	points []measure.Point
	end    time.Duration
	banded bool // points are several samples each: what can be seen of them is their range
}

// Plot implements plot.Plotter.
func (s *steps) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	line := []vg.Point{{X: x(0), Y: y(0)}}
	level := int64(0)
	for _, point := range s.points {
		from, to := x(point.From.Seconds()), x(point.To.Seconds())
		if point.To > point.From {
			area := vg.Rectangle{
				Min: vg.Point{X: from, Y: y(float64(min(point.Least, level)))},
				Max: vg.Point{X: max(to, from+0.5), Y: y(float64(max(point.Greatest, level)))},
			}
			fillRectangle(&c, area, skyBlue, draw.LineStyle{})
		}
		line = append(line, vg.Point{X: from, Y: y(float64(level))}, vg.Point{X: from, Y: y(float64(point.First))})
		if point.To > point.From {
			line = append(line, vg.Point{X: to, Y: y(float64(point.Last))})
		}
		level = point.Last
	}
	if s.banded {
		return
	}
	line = append(line, vg.Point{X: x(s.end.Seconds()), Y: y(float64(level))})
	c.StrokeLines(draw.LineStyle{Color: blue, Width: 1.25}, line)
}

// mostClocks bounds the lines of a plot of clocks: more could not be told apart.
const mostClocks = 12

// clockPlot draws by how much each machine's clock was off: as the engine traced it or, without a trace, as it
// was read.
func clockPlot(s Sample) (*Figure, error) {
	clocks := s.readings()
	if len(clocks) == 0 {
		return nil, errors.New("no event says what a clock showed")
	}
	f, bands := timeFigure("How far clocks were off", s)
	f.rows = [][]string{{"machine", "from_s", "to_s", "first_s", "last_s", "least_s", "greatest_s"}}
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range clocks {
		for _, p := range clocks[i].Points {
			f.rows = append(f.rows, append([]string{clocks[i].Machine}, seriesRow(p, secondsOf)...))
			low, high = min(low, p.Least), max(high, p.Greatest)
		}
	}
	f.plot.Y.Label.Text, f.plot.Y.Tick.Marker = "clock shows too much by (s)", secondTicks{}
	from, to := time.Duration(low).Seconds(), time.Duration(high).Seconds()
	room := max((to-from)*0.06, 0.001)
	f.plot.Y.Min, f.plot.Y.Max = from-room, to+room
	f.plot.Add(grid{}, bands)
	f.caption = "Off from true time, as the engine traced it, without jitter."
	traced := len(s.Tracks) > 0
	if !traced {
		f.caption = readingsNote(s.Clocks)
	}
	if all := len(clocks); all > mostClocks {
		clocks = farthest(clocks)
		f.caption += fmt.Sprintf(" Of %d clocks, the %d that were off the most are drawn.", all, mostClocks)
	}
	var drawn []ClockTrack
	for i := range clocks {
		line := curveStyle(len(drawn))
		line.Width = 1.4
		same := slices.IndexFunc(drawn, clocks[i].alike)
		if traced && same >= 0 { // it would hide the other, or be hidden by it
			drawn[same].Machine += ", " + clocks[i].Machine
			continue
		}
		drawn = append(drawn, clocks[i])
		f.plot.Add(&clockLine{track: clocks[i], end: s.End, stepped: traced, line: line})
	}
	for i := range drawn {
		line := curveStyle(i)
		line.Width = 1.4
		f.addLine(true, drawn[i].Machine, line)
	}
	f.finish(plotHeight, bands, s)
	return f, nil
}

// readingsNote says how clocks are drawn of which only readings are known.
func readingsNote(clocks []measure.Clock) string {
	text := "Off from what most readings agree on, to the millisecond. Dots are readings, as long as they are few, and " +
		"a line connects them, but not where a clock was bent in between."
	if slices.ContainsFunc(clocks, func(c measure.Clock) bool { return !c.Off.Exact() }) {
		text += " There are so many readings that neighbours are put together, from their least to their greatest."
	}
	return text
}

// farthest picks the clocks that were off the most.
func farthest(clocks []ClockTrack) []ClockTrack {
	far := func(c ClockTrack) (most int64) {
		for _, p := range c.Points {
			most = max(most, p.Greatest, -p.Least)
		}
		return most
	}
	slices.SortStableFunc(clocks, func(a, b ClockTrack) int { return cmp.Compare(far(b), far(a)) })
	return clocks[:mostClocks]
}

// clockLine draws the pieces of a track.
type clockLine struct {
	track   ClockTrack
	end     time.Duration
	stepped bool // bends are known to the nanosecond: what a clock showed lasts until then
	line    draw.LineStyle
}

// Plot implements plot.Plotter.
func (l *clockLine) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	at := func(t time.Duration, off int64) vg.Point {
		return vg.Point{X: x(t.Seconds()), Y: y(time.Duration(off).Seconds())}
	}
	var line []vg.Point
	for _, piece := range l.track.pieces() {
		if n := len(line); n > 0 && l.stepped {
			line = append(line, vg.Point{X: x(piece[0].From.Seconds()), Y: line[n-1].Y})
		} else {
			c.StrokeLines(l.line, line)
			line = nil
		}
		for _, point := range piece {
			line = append(line, at(point.From, point.First))
			if point.To > point.From {
				line = append(line, at(point.From, point.Least), at(point.To, point.Greatest), at(point.To, point.Last))
			}
		}
	}
	// After its last entry in the trace a clock goes on; one that drifts is not followed there.
	if n := len(line); n > 0 && l.stepped && (n == 1 || line[n-2].Y == line[n-1].Y) {
		line = append(line, vg.Point{X: x(l.end.Seconds()), Y: line[n-1].Y})
	}
	c.StrokeLines(l.line, line)
	if l.stepped || len(l.track.Points) > fewReadings {
		return
	}
	for _, point := range l.track.Points {
		reading := draw.GlyphStyle{Color: l.line.Color, Radius: 1.75, Shape: draw.CircleGlyph{}}
		c.DrawGlyph(reading, at(point.From, point.First))
	}
}

// fewReadings is up to how many readings of a clock have dots of their own: in between, nobody knows what it showed.
const fewReadings = 80

// outcomeStyles tell outcomes apart by colour and by shape, the least remarkable first.
var outcomeStyles = []struct {
	outcome measure.Outcome
	words   string
	draw.GlyphStyle
}{
	{measure.Done, "done", draw.GlyphStyle{Color: blue, Radius: 1.5, Shape: draw.CircleGlyph{}}},
	{measure.Reentered, "re-entry", draw.GlyphStyle{Color: skyBlue, Radius: 2.25, Shape: draw.RingGlyph{}}},
	{measure.Refused, "refused", draw.GlyphStyle{Color: orange, Radius: 2.5, Shape: draw.PlusGlyph{}}},
	{measure.Unknown, "an error", draw.GlyphStyle{Color: vermillion, Radius: 2.5, Shape: draw.CrossGlyph{}}},
	{measure.Open, "no answer", draw.GlyphStyle{Color: purple, Radius: 2.5, Shape: draw.TriangleGlyph{}}},
}

// latencyPlot draws for each call how long it took.
func latencyPlot(s Sample) (*Figure, error) {
	if len(s.Calls) == 0 {
		return nil, errors.New("nobody called anything")
	}
	f, bands := timeFigure("How long each call took", s)
	low, high := latencyRange(s)
	f.plot.Y.Label.Text, f.plot.Y.Tick.Marker, f.plot.Y.Scale = "call to return", durationTicks{}, plot.LogScale{}
	f.plot.Y.Min, f.plot.Y.Max = low.Seconds()*0.8, high.Seconds()*1.25
	dots := thin(s, low, high)
	f.plot.Add(grid{}, bands, dots)
	f.rows = [][]string{{"asked_s", "took_s", "f", "outcome", "calls"}}
	for _, d := range dots.dots {
		c := &s.Calls[d.call]
		f.rows = append(f.rows, []string{
			decimal(c.Asked, 9), decimal(c.Took, 9), s.Functions[c.F], c.Outcome.String(), strconv.Itoa(d.calls),
		})
	}
	var legend []legendEntry
	for _, o := range outcomeStyles {
		if slices.ContainsFunc(dots.dots, func(d dotOf) bool { return s.Calls[d.call].Outcome == o.outcome }) {
			legend = append(legend, legendEntry{o.words, func(c *draw.Canvas, a vg.Rectangle) {
				c.DrawGlyph(o.GlyphStyle, vg.Point{X: (a.Min.X + a.Max.X) / 2, Y: (a.Min.Y + a.Max.Y) / 2})
			}})
		}
	}
	f.legend = append(legend, f.legend...)
	f.caption = "A dot for each call, at the time of the call; a call without an answer counts up to the end."
	if len(dots.dots) < len(s.Calls) {
		f.caption = fmt.Sprintf("%d dots stand for %d calls: of those that would lie on each other only the first is drawn. "+
			"A call without an answer counts up to the end.", len(dots.dots), len(s.Calls))
	}
	f.finish(plotHeight, bands, s)
	return f, nil
}

// latencyRange is the range of an axis of latencies. A call that the end of the history cut off does not lower it.
func latencyRange(s Sample) (low, high time.Duration) {
	low = math.MaxInt64
	for i := range s.Calls {
		took := max(s.Calls[i].Took, shortest)
		if high = max(high, took); s.Calls[i].Outcome != measure.Open {
			low = min(low, took)
		}
	}
	return min(low, high), high
}

// dotOf is a call that is drawn, and how many it stands for.
type dotOf struct{ call, calls int }

// dotsOf draws calls as dots.
type dotsOf struct {
	Sample
	low  time.Duration // what took less lies at the lower edge
	dots []dotOf
}

// height is where a call lies on the axis, in seconds.
func (d *dotsOf) height(c *measure.Call) float64 { return max(c.Took, d.low).Seconds() }

// The grid in which no more than one dot of each outcome is drawn.
const (
	dotColumns = 260
	dotRows    = 110
)

// thin leaves calls out that would be drawn where another one is already. A history of few calls is drawn whole.
func thin(s Sample, low, high time.Duration) *dotsOf {
	const few = 2000
	d := &dotsOf{Sample: s, low: low}
	if len(s.Calls) <= few {
		for i := range s.Calls {
			d.dots = append(d.dots, dotOf{i, 1})
		}
		return d
	}
	span := math.Log(high.Seconds() / low.Seconds())
	place := map[[3]int]int{}
	for i := range s.Calls {
		c := &s.Calls[i]
		cell := [3]int{int(int64(c.Asked) / (int64(s.End)/dotColumns + 1)), 0, int(c.Outcome)}
		if span > 0 {
			cell[1] = int(dotRows * math.Log(d.height(c)/low.Seconds()) / span)
		}
		k, taken := place[cell]
		if !taken {
			place[cell] = len(d.dots)
			d.dots = append(d.dots, dotOf{i, 1})
			continue
		}
		d.dots[k].calls++
	}
	return d
}

// Plot implements plot.Plotter. What is remarkable lies on top.
func (d *dotsOf) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, o := range outcomeStyles {
		for _, one := range d.dots {
			if call := &d.Calls[one.call]; call.Outcome == o.outcome {
				c.DrawGlyph(o.GlyphStyle, vg.Point{X: x(call.Asked.Seconds()), Y: y(d.height(call))})
			}
		}
	}
}

// The measures of a plot of outcomes.
const (
	stripBins   = 100
	stripHeight = 54 * vg.Length(1)
)

// outcomePlot draws what came of calls over time: a strip for each kind of call.
func outcomePlot(s Sample) (*Figure, error) {
	if len(s.Calls) == 0 {
		return nil, errors.New("nobody called anything")
	}
	f, bands := timeFigure("What came of calls", s)
	width := s.End/stripBins + 1
	strip := &strips{
		names: s.Functions, width: width, counts: make([][stripBins]map[measure.Outcome]int, len(s.Functions)),
	}
	occurs := map[measure.Outcome]bool{}
	for i := range s.Calls {
		c := &s.Calls[i]
		bin := &strip.counts[c.F][int(c.Asked/width)]
		if *bin == nil {
			*bin = map[measure.Outcome]int{}
		}
		(*bin)[c.Outcome]++
		occurs[c.Outcome] = true
	}
	n := len(s.Functions)
	var names plot.ConstantTicks
	for i, name := range s.Functions {
		names = append(names, plot.Tick{Value: float64(n-1-i) + 0.4, Label: fit(name, style(labelSize), 110)})
	}
	f.plot.Y.Min, f.plot.Y.Max, f.plot.Y.Tick.Marker, f.plot.Y.Tick.Length = -0.1, float64(n)-0.1, names, 0
	f.plot.Add(strip, bands)
	f.rows = [][]string{{"f", "from_s", "to_s", "outcome", "calls"}}
	var legend []legendEntry
	for _, o := range outcomeStyles {
		if occurs[o.outcome] {
			legend = append(legend, legendEntry{o.words, func(c *draw.Canvas, a vg.Rectangle) { fillOutcome(c, a, o.outcome) }})
		}
	}
	f.legend = append(legend, f.legend...)
	strip.each(func(f0, bin int, o measure.Outcome, calls, _, _ int) {
		from := width * time.Duration(bin)
		f.rows = append(f.rows, []string{
			s.Functions[f0], decimal(from, 9), decimal(from+width, 9), o.String(), strconv.Itoa(calls),
		})
	})
	f.caption = fmt.Sprintf("A column has the calls of %s; the fullest one of a strip is as high as the strip.",
		length(width))
	f.finish(frameHeight+stripHeight*vg.Length(n), bands, s)
	return f, nil
}

// fillOutcome fills an area in the colour of an outcome; errors are hatched, so that they stand out without it.
func fillOutcome(c *draw.Canvas, area vg.Rectangle, outcome measure.Outcome) {
	for _, o := range outcomeStyles {
		if o.outcome == outcome {
			fillRectangle(c, area, o.Color, draw.LineStyle{})
		}
	}
	if outcome == measure.Unknown || outcome == measure.Open {
		hatch(c, area, draw.LineStyle{Color: color.White, Width: 0.6})
	}
}

// strips draws shares of outcomes over time, a strip for each kind of call.
type strips struct {
	names  []string
	width  time.Duration
	counts [][stripBins]map[measure.Outcome]int
}

// each visits what there is of each outcome in each column, with how many calls lie below it and how many there are in
// the fullest column of the strip.
func (s *strips) each(visit func(f, bin int, o measure.Outcome, calls, below, most int)) {
	for f := range s.counts {
		most := 0
		for bin := range s.counts[f] {
			sum := 0
			for _, o := range outcomeStyles {
				sum += s.counts[f][bin][o.outcome]
			}
			most = max(most, sum)
		}
		for bin := range s.counts[f] {
			below := 0
			for _, o := range outcomeStyles {
				if calls := s.counts[f][bin][o.outcome]; calls > 0 {
					visit(f, bin, o.outcome, calls, below, most)
					below += calls
				}
			}
		}
	}
}

// Plot implements plot.Plotter.
func (s *strips) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	n := len(s.names)
	for i := range n {
		c.StrokeLine2(draw.LineStyle{Color: paleGrey, Width: 0.5}, c.Min.X, y(float64(i)), c.Max.X, y(float64(i)))
	}
	s.each(func(f, bin int, o measure.Outcome, calls, below, most int) {
		base := float64(n - 1 - f)
		height := func(calls int) vg.Length { return y(base + 0.85*float64(calls)/float64(most)) }
		area := vg.Rectangle{
			Min: vg.Point{X: x((s.width * time.Duration(bin)).Seconds()), Y: height(below)},
			Max: vg.Point{X: x((s.width * time.Duration(bin+1)).Seconds()), Y: height(below + calls)},
		}
		area.Max.X = max(area.Min.X+0.75, min(area.Max.X, c.Max.X)-0.5)
		fillOutcome(&c, area, o)
	})
}
