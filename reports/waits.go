package reports

import (
	"fmt"
	"image/color"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/lockstep-sim/lockstep/checker"
)

// The outcomes of asking for a lock.
const (
	outcomeGot     = "got"
	outcomeReentry = "re-entry" // the caller held the lock already
	outcomeRefused = "refused"
	outcomeUnknown = "unknown" // an error in place of an answer
	outcomeOpen    = "open"    // no answer before the end, or before the caller's
)

// wait is how long one acquire took.
type wait struct {
	header  *checker.Header
	machine string
	process int
	asked   time.Duration
	length  time.Duration
	outcome string
}

// curve is the waits of all runs of one implementation. Those that got the lock come first, the shortest first.
type curve struct {
	name  string
	waits []wait
	got   int
}

// waitsOf lists the acquires of all locks of a history in the order of their calls.
func waitsOf(h *checker.History) []wait {
	began := map[int64]bool{} // the events with which a hold began
	for _, claim := range checker.Claims(h) {
		began[claim.Acquire] = true
	}
	var waits []wait
	open := map[int]int{}
	end := h.Events[len(h.Events)-1].Time
	for i := range h.Events {
		e := &h.Events[i]
		if e.F == checker.Crash {
			if k, asked := open[e.Process]; asked {
				waits[k].length = e.Time - waits[k].asked
				delete(open, e.Process)
			}
		}
		if !acquires(e) || e.Process < 0 {
			continue
		}
		if e.Type == checker.Invoke {
			open[e.Process] = len(waits)
			waits = append(waits, wait{
				header: &h.Header, machine: e.Node, process: e.Process, asked: e.Time, length: end - e.Time, outcome: outcomeOpen,
			})
			continue
		}
		k, asked := open[e.Process]
		if !asked {
			continue
		}
		delete(open, e.Process)
		waits[k].length, waits[k].outcome = e.Time-waits[k].asked, outcomeUnknown
		switch {
		case e.Type == checker.OK && began[e.Index]:
			waits[k].outcome = outcomeGot
		case e.Type == checker.OK:
			waits[k].outcome = outcomeReentry
		case e.Type == checker.Fail:
			waits[k].outcome = outcomeRefused
		}
	}
	return waits
}

// curves puts the waits of histories together by implementation, in order of appearance.
func curves(histories []*checker.History) []curve {
	var all []curve
	for _, h := range histories {
		if len(h.Events) == 0 {
			continue
		}
		k := slices.IndexFunc(all, func(c curve) bool { return c.name == h.Header.Implementation })
		if k < 0 {
			k = len(all)
			all = append(all, curve{name: h.Header.Implementation})
		}
		all[k].waits = append(all[k].waits, waitsOf(h)...)
	}
	for i := range all {
		slices.SortStableFunc(all[i].waits, func(a, b wait) int {
			if (a.outcome == outcomeGot) != (b.outcome == outcomeGot) {
				return map[bool]int{true: -1, false: 1}[a.outcome == outcomeGot]
			}
			if a.outcome == outcomeGot {
				return int(min(max(a.length-b.length, -1), 1))
			}
			return 0
		})
		for all[i].got < len(all[i].waits) && all[i].waits[all[i].got].outcome == outcomeGot {
			all[i].got++
		}
	}
	return all
}

// waitHeight is the height of the plot of waiting times, without legend and caption.
const waitHeight = 330 * vg.Length(1)

// shortestWait stands in for waits of no time at all, which a logarithmic axis cannot show.
const shortestWait = time.Microsecond

// WaitPlot draws how long those who got a lock had waited for it, as the share that had got it within a time: one
// curve for each implementation, over all histories of it. Whoever did not get it is counted in the caption.
func WaitPlot(histories ...*checker.History) (*Figure, error) {
	for _, h := range histories {
		if err := h.Validate(); err != nil {
			return nil, err
		}
	}
	all := curves(histories)
	title := fitTitle("How long an acquire waited" + seriesName(histories))
	p := newPlot(title, "time from the call to its return (log scale)")
	p.Y.Label.Text, p.Y.Label.Padding = "share of those that got the lock", 4
	p.Y.Min, p.Y.Max = 0, 1
	p.Y.Tick.Marker = shareTicks()
	p.X.Scale = plot.LogScale{}
	p.X.Tick.Marker = durationTicks{}
	low, high := waitRange(all)
	p.X.Min, p.X.Max = low.Seconds(), high.Seconds()
	p.Add(grid{})
	f := &Figure{plot: p, rows: waitRows(all), caption: waitCaption(all)}
	for i := range all {
		line := curveStyle(i)
		p.Add(&waitCurve{curve: &all[i], line: line})
		if len(all) > 1 {
			f.legend = append(f.legend, legendEntry{all[i].label(), func(c *draw.Canvas, a vg.Rectangle) {
				y := (a.Min.Y + a.Max.Y) / 2
				c.StrokeLine2(line, a.Min.X, y, a.Max.X, y)
			}})
		}
	}
	f.height = 2*margin + waitHeight + f.extraHeight()
	return f, nil
}

func (c *curve) label() string {
	if c.name == "" {
		return "unnamed"
	}
	return c.name
}

// curveStyle tells curves apart by colour and by dashes.
func curveStyle(i int) draw.LineStyle {
	colors := []color.NRGBA{blue, vermillion, green, purple, orange, skyBlue, black}
	dashes := [][]vg.Length{nil, {6, 2}, {2, 2}, {8, 2, 2, 2}}
	return draw.LineStyle{Color: colors[i%len(colors)], Width: 1.75, Dashes: dashes[i%len(dashes)]}
}

// seriesName names what the histories have in common.
func seriesName(histories []*checker.History) string {
	if len(histories) == 1 {
		return runName(&histories[0].Header)
	}
	if len(histories) == 0 {
		return ""
	}
	common := histories[0].Header
	for _, h := range histories[1:] {
		if h.Header.Scenario != common.Scenario {
			common.Scenario = ""
		}
		if h.Header.Implementation != common.Implementation {
			common.Implementation = ""
		}
	}
	parts := []string{fmt.Sprintf("%d runs", len(histories))}
	for _, part := range []string{common.Implementation, common.Scenario} {
		if part != "" {
			parts = append([]string{part}, parts...)
		}
	}
	return ": " + strings.Join(parts, ", ")
}

// waitRange is the part of the axis that the data takes up, with a little room on both sides.
func waitRange(all []curve) (low, high time.Duration) {
	for i := range all {
		for _, w := range all[i].waits[:all[i].got] {
			length := max(w.length, shortestWait)
			if low == 0 || length < low {
				low = length
			}
			high = max(high, length)
		}
	}
	if low == 0 {
		return time.Millisecond, time.Second
	}
	return low * 4 / 5, high * 5 / 4
}

func shareTicks() plot.Ticker {
	var ticks plot.ConstantTicks
	for i := range 5 {
		ticks = append(ticks, plot.Tick{Value: float64(i) / 4, Label: strconv.Itoa(25*i) + " %"})
	}
	return ticks
}

// waitCaption counts the acquires by their outcome.
func waitCaption(all []curve) string {
	var parts []string
	for i := range all {
		count := map[string]int{}
		for _, w := range all[i].waits {
			count[w.outcome]++
		}
		text := fmt.Sprintf("%d got the lock", count[outcomeGot])
		for _, o := range []struct{ outcome, words string }{
			{outcomeRefused, "refused"},
			{outcomeUnknown, "answered by an error"},
			{outcomeOpen, "never answered"},
			{outcomeReentry, "re-entries"},
		} {
			if count[o.outcome] > 0 {
				text += fmt.Sprintf(", %d %s", count[o.outcome], o.words)
			}
		}
		if len(all) > 1 {
			text = all[i].label() + ": " + text
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return "Nobody asked for a lock."
	}
	return "Of all acquires: " + strings.Join(parts, "; ") + ". Only those that got the lock are drawn."
}

// waitRows are the data of the plot as a table.
func waitRows(all []curve) [][]string {
	rows := [][]string{{
		"scenario", "implementation", "seed", "machine", "process", "asked_s", "wait_s", "outcome", "share",
	}}
	for i := range all {
		for k, w := range all[i].waits {
			share := ""
			if k < all[i].got {
				share = strconv.FormatFloat(float64(k+1)/float64(all[i].got), 'f', 6, 64)
			}
			rows = append(rows, []string{
				w.header.Scenario, w.header.Implementation, strconv.FormatUint(w.header.Seed, 10), w.machine,
				strconv.Itoa(w.process), decimal(w.asked, 9), decimal(w.length, 9), w.outcome, share,
			})
		}
	}
	return rows
}

// grid draws pale lines at the labelled ticks.
type grid struct{}

// Plot implements plot.Plotter.
func (grid) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	line := draw.LineStyle{Color: paleGrey, Width: 0.5}
	for _, tick := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if tick.Label != "" {
			c.StrokeLine2(line, x(tick.Value), c.Min.Y, x(tick.Value), c.Max.Y)
		}
	}
	for _, tick := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if tick.Label != "" {
			c.StrokeLine2(line, c.Min.X, y(tick.Value), c.Max.X, y(tick.Value))
		}
	}
}

// waitCurve draws a curve as the steps that it consists of.
type waitCurve struct {
	*curve
	line draw.LineStyle
}

// Plot implements plot.Plotter. Steps too close to be told apart are drawn as one.
func (w *waitCurve) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	if w.got == 0 {
		middle := style(labelSize)
		middle.XAlign, middle.YAlign = draw.XCenter, draw.YCenter
		c.FillText(middle, c.Center(), "nobody got the lock")
		return
	}
	const finest = 0.1 * vg.Length(1)
	points := []vg.Point{{X: c.Min.X, Y: y(0)}}
	for k, wait := range w.waits[:w.got] {
		last := points[len(points)-1]
		next := vg.Point{X: x(max(wait.length, shortestWait).Seconds()), Y: y(float64(k+1) / float64(w.got))}
		if len(points) > 1 && next.X-last.X < finest {
			points[len(points)-1].Y = next.Y
			continue
		}
		points = append(points, vg.Point{X: next.X, Y: last.Y}, next)
	}
	points = append(points, vg.Point{X: c.Max.X, Y: points[len(points)-1].Y})
	c.StrokeLines(w.line, points)
}
