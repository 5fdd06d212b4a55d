package reports

import (
	"image/color"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/lockstep-sim/lockstep/checker"
)

// The measures of a plot of holders, in points and, within a lane, in parts of its height.
const (
	laneHeight     = 34 * vg.Length(1)
	lowLaneHeight  = 22 * vg.Length(1) // with many clients
	manyLanes      = 10
	labelHeight    = 12 * vg.Length(1)
	maxLabelRows   = 6
	frameHeight    = 66 * vg.Length(1) // title, axis and its label
	claimTop       = 0.40
	claimBottom    = -0.05
	leaseTop       = -0.14
	leaseBottom    = -0.34
	estimatedAxisX = 60 * vg.Length(1) // what the names of machines take up, about
)

// HolderPlot draws who believed to hold the lock when: a lane for each client with its claims and, below them, the
// lease of the server's record while that names it. Overlaps of claims are marked, and so are faults and crashes.
func HolderPlot(h *checker.History, options HolderOptions) (*Figure, error) {
	if err := h.Validate(); err != nil {
		return nil, err
	}
	d, err := gather(h, options)
	if err != nil {
		return nil, err
	}
	drawing := &holderDrawing{holding: d, laneHeight: laneHeight}
	if len(d.lanes) > manyLanes {
		drawing.laneHeight = lowLaneHeight
	}
	drawing.placeLabels()
	n := len(d.lanes)
	p := newPlot(fitTitle("Who believed to hold "+d.lock+runName(&h.Header)), "true time (s)")
	p.X.Min, p.X.Max = d.from.Seconds(), d.to.Seconds()
	p.X.Tick.Marker = secondTicks{}
	p.Y.Min, p.Y.Max = -0.5, float64(n)-0.5+float64(drawing.labelRows)*float64(labelHeight/drawing.laneHeight)
	var names plot.ConstantTicks
	for i, name := range d.lanes {
		names = append(names, plot.Tick{Value: drawing.y(i), Label: fit(name, style(labelSize), 120)})
	}
	p.Y.Tick.Marker = names
	p.Y.Tick.Length = 0
	p.Add(drawing)
	f := &Figure{plot: p, legend: drawing.legend(), caption: drawing.caption(), rows: d.rows()}
	f.height = 2*margin + frameHeight + f.extraHeight() + drawing.laneHeight*vg.Length(n) +
		labelHeight*vg.Length(drawing.labelRows)
	return f, nil
}

// holderDrawing draws a holding.
type holderDrawing struct {
	*holding
	laneHeight vg.Length
	labels     []placedLabel // of the marks that have one
	labelRows  int
	unlabelled int
}

// placedLabel is the label of a mark in a row above the lanes; row 0 is the lowest.
type placedLabel struct {
	mark int
	row  int
}

// y is the middle of a lane. The first is on top.
func (d *holderDrawing) y(lane int) float64 { return float64(len(d.lanes) - 1 - lane) }

// placeLabels gives each fault's label the lowest row in which it does not lie over another.
func (d *holderDrawing) placeLabels() {
	width := figureWidth - 2*margin - estimatedAxisX
	var ends []vg.Length // of the last label in each row
	for i, m := range d.marks {
		if m.label == "" {
			continue
		}
		from := width * vg.Length((max(m.at, d.from)-d.from).Seconds()/(d.to-d.from).Seconds())
		need := style(smallSize).Width(m.label) + 10
		from = max(min(from, width-need), 0)
		row := 0
		for row < len(ends) && ends[row] > from {
			row++
		}
		if row == maxLabelRows {
			d.unlabelled++
			continue
		}
		if row == len(ends) {
			ends = append(ends, 0)
		}
		ends[row] = from + need
		d.labels = append(d.labels, placedLabel{mark: i, row: row})
	}
	d.labelRows = len(ends)
}

// Plot draws on the data area of a plot.
func (d *holderDrawing) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	at := func(t time.Duration) vg.Length { return x(min(max(t, d.from), d.to).Seconds()) }
	area := func(b bar, bottom, top float64) vg.Rectangle {
		r := vg.Rectangle{Min: vg.Point{X: at(b.from), Y: y(bottom)}, Max: vg.Point{X: at(b.to), Y: y(top)}}
		r.Max.X = max(r.Max.X, r.Min.X+0.75) // what was short shall still be seen
		return r
	}
	n := float64(len(d.lanes))
	for i := range d.lanes {
		c.StrokeLine2(draw.LineStyle{Color: paleGrey, Width: 0.5}, c.Min.X, y(d.y(i)-0.5), c.Max.X, y(d.y(i)-0.5))
	}
	d.drawAbsences(&c, area)
	for _, b := range d.overlaps {
		fillRectangle(&c, area(b, -0.5, n-0.5), translucent(vermillion, 40), draw.LineStyle{})
	}
	for _, b := range d.nobody {
		fillRectangle(&c, area(b, -0.5, n-0.5), translucent(orange, 60), draw.LineStyle{})
	}
	for _, b := range d.leases {
		drawLease(&c, area(b, d.y(b.lane)+leaseBottom, d.y(b.lane)+leaseTop), b.kind == "lease-over")
	}
	for _, b := range d.claims {
		fillRectangle(&c, area(b, d.y(b.lane)+claimBottom, d.y(b.lane)+claimTop), blue, draw.LineStyle{})
	}
	d.drawOverlaps(&c, area)
	d.drawMarks(&c, at, y)
}

func translucent(c color.NRGBA, alpha uint8) color.NRGBA {
	c.A = alpha
	return c
}

// drawAbsences shades the lanes of machines that stood still, and all lanes where a server or a link was struck for
// a while.
func (d *holderDrawing) drawAbsences(c *draw.Canvas, area func(b bar, bottom, top float64) vg.Rectangle) {
	for _, m := range d.marks {
		if m.until <= m.at {
			continue
		}
		b := bar{from: m.at, to: m.until}
		if m.lane == none {
			fillRectangle(c, area(b, -0.5, float64(len(d.lanes))-0.5), translucent(grey, 25), draw.LineStyle{})
			continue
		}
		fillRectangle(c, area(b, d.y(m.lane)-0.5, d.y(m.lane)+0.5), translucent(grey, 70), draw.LineStyle{})
	}
}

// drawLease draws the lease of a record: filled while it lasts, hollow once it is over.
func drawLease(c *draw.Canvas, area vg.Rectangle, over bool) {
	if over {
		fillRectangle(c, area, color.White, draw.LineStyle{Color: green, Width: 0.75, Dashes: []vg.Length{2, 1.5}})
		return
	}
	fillRectangle(c, area, green, draw.LineStyle{Color: color.White, Width: 0.4})
}

// drawOverlaps marks the parts of claims during which others believed to hold too.
func (d *holderDrawing) drawOverlaps(c *draw.Canvas, area func(b bar, bottom, top float64) vg.Rectangle) {
	for _, o := range d.overlaps {
		for _, b := range d.claims {
			both := bar{from: max(o.from, b.from), to: min(o.to, b.to)}
			if both.from < both.to {
				drawOverlap(c, area(both, d.y(b.lane)+claimBottom, d.y(b.lane)+claimTop))
			}
		}
	}
}

func drawOverlap(c *draw.Canvas, area vg.Rectangle) {
	fillRectangle(c, area, vermillion, draw.LineStyle{})
	hatch(c, area, draw.LineStyle{Color: color.White, Width: 0.9})
	fillRectangle(c, area, nil, draw.LineStyle{Color: vermillion, Width: 0.9})
}

// drawMarks draws faults as lines with a label above the lanes, and crashes as crosses.
func (d *holderDrawing) drawMarks(c *draw.Canvas, at func(time.Duration) vg.Length, y func(float64) vg.Length) {
	top := float64(len(d.lanes)) - 0.5
	rowOf := func(row int) vg.Length { return y(top) + labelHeight*vg.Length(row) }
	line := draw.LineStyle{Color: grey, Width: 0.75, Dashes: []vg.Length{3, 2}}
	height := map[int]vg.Length{}
	for _, l := range d.labels {
		height[l.mark] = rowOf(l.row) + labelHeight/2
	}
	for i, m := range d.marks {
		switch {
		case m.kind == "crash" && m.lane != none:
			drawCross(c, vg.Point{X: at(m.at), Y: y(d.y(m.lane) + (claimTop+claimBottom)/2)})
		case m.kind == "fault" && m.at >= d.from:
			end := y(top)
			if h, labelled := height[i]; labelled {
				end = h
			}
			c.StrokeLine2(line, at(m.at), y(-0.5), at(m.at), end)
		}
	}
	for _, l := range d.labels {
		label := d.marks[l.mark].label
		width := style(smallSize).Width(label)
		left := max(min(at(d.marks[l.mark].at)+3, c.Max.X-width), c.Min.X)
		back := vg.Rectangle{
			Min: vg.Point{X: left - 1, Y: rowOf(l.row) + 0.5},
			Max: vg.Point{X: left + width + 1, Y: rowOf(l.row) + labelHeight - 0.5},
		}
		fillRectangle(c, back, color.White, draw.LineStyle{})
		c.FillText(style(smallSize), vg.Point{X: left, Y: rowOf(l.row) + 3}, label)
	}
}

func drawCross(c *draw.Canvas, p vg.Point) {
	const arm = 4.5 * vg.Length(1)
	for _, line := range []draw.LineStyle{{Color: color.White, Width: 4}, {Color: black, Width: 2}} {
		c.StrokeLine2(line, p.X-arm, p.Y-arm, p.X+arm, p.Y+arm)
		c.StrokeLine2(line, p.X-arm, p.Y+arm, p.X+arm, p.Y-arm)
	}
}

// legend explains the marks that occur.
func (d *holderDrawing) legend() []legendEntry {
	entries := []legendEntry{{"believes to hold", func(c *draw.Canvas, a vg.Rectangle) {
		fillRectangle(c, a, blue, draw.LineStyle{})
	}}}
	add := func(occurs bool, label string, swatch func(c *draw.Canvas, a vg.Rectangle)) {
		if occurs {
			entries = append(entries, legendEntry{label, swatch})
		}
	}
	crash, fault, away := false, false, false
	for _, m := range d.marks {
		crash = crash || m.kind == "crash"
		fault = fault || m.kind == "fault"
		away = away || m.until > m.at
	}
	lease := func(over bool) func(c *draw.Canvas, a vg.Rectangle) {
		return func(c *draw.Canvas, a vg.Rectangle) {
			a.Min.Y, a.Max.Y = a.Min.Y+2, a.Max.Y-2
			drawLease(c, a, over)
		}
	}
	add(d.hasLease("lease"), "the record names it, lease running", lease(false))
	add(d.hasLease("lease-over"), "the record names it, lease over", lease(true))
	add(len(d.overlaps) > 0, "two believe to hold", drawOverlap)
	if len(d.nobody) > 0 {
		label := map[string]string{
			checker.KindStuck: "nobody holds, somebody waits", checker.KindStarvation: "one waits, others enter",
		}[d.nobody[0].detail]
		add(true, label, func(c *draw.Canvas, a vg.Rectangle) {
			fillRectangle(c, a, translucent(orange, 60), draw.LineStyle{Color: orange, Width: 0.5})
		})
	}
	add(fault, "fault", func(c *draw.Canvas, a vg.Rectangle) {
		x := (a.Min.X + a.Max.X) / 2
		c.StrokeLine2(draw.LineStyle{Color: grey, Width: 0.75, Dashes: []vg.Length{3, 2}}, x, a.Min.Y-2, x, a.Max.Y+2)
	})
	add(away, "struck for a while", func(c *draw.Canvas, a vg.Rectangle) {
		fillRectangle(c, a, translucent(grey, 70), draw.LineStyle{})
	})
	add(crash, "crash", func(c *draw.Canvas, a vg.Rectangle) {
		drawCross(c, vg.Point{X: (a.Min.X + a.Max.X) / 2, Y: (a.Min.Y + a.Max.Y) / 2})
	})
	return entries
}

func (d *holderDrawing) hasLease(kind string) bool {
	for _, b := range d.leases {
		if b.kind == kind {
			return true
		}
	}
	return false
}

// caption says what part of the run is shown.
func (d *holderDrawing) caption() string {
	text := "The whole run."
	if !d.whole {
		text = "Shown is the run " + span(d.from, d.to) + ", around the violation."
	}
	if d.unlabelled > 0 {
		text += " " + plural(int64(d.unlabelled), "fault") + " without a label for want of room."
	}
	return text
}
