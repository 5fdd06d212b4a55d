package reports

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// HerdPoint is what it cost the server of a lock to hand it over while so many clients wanted it.
type HerdPoint struct {
	Implementation string
	Knobs          string // settings that tell it from others of its name; empty = none
	Clients        int
	Seed           uint64

	HandOvers    int
	Requests     int           // that the server executed in all hand-overs together
	WakeUps      int           // events of watches that it sent in all of them
	HandOverTime time.Duration // the mean, from the call of a release until the next holder has the lock
}

// Name is the implementation with its knobs.
func (p HerdPoint) Name() string {
	if p.Knobs == "" {
		return p.Implementation
	}
	return p.Implementation + ", " + p.Knobs
}

// RequestsEach is how many requests one hand-over took on average.
func (p HerdPoint) RequestsEach() float64 { return float64(p.Requests) / float64(p.HandOvers) }

// WakeUpsEach is how many wake-ups one hand-over took on average.
func (p HerdPoint) WakeUpsEach() float64 { return float64(p.WakeUps) / float64(p.HandOvers) }

// herd is the points of one lock, by number of clients.
type herd struct {
	name   string
	points []HerdPoint
}

// herds puts points together by lock, in order of appearance.
func herds(points []HerdPoint) []herd {
	var all []herd
	for _, line := range linesOf(points, HerdPoint.Name, func(p HerdPoint) int { return p.Clients }) {
		all = append(all, herd{name: line[0].Name(), points: line})
	}
	return all
}

// linesOf puts the points of each name together, in order of the names' appearance, and sorts each line by x.
func linesOf[P any](points []P, name func(P) string, x func(P) int) [][]P {
	var lines [][]P
	for _, p := range points {
		k := slices.IndexFunc(lines, func(line []P) bool { return name(line[0]) == name(p) })
		if k < 0 {
			k = len(lines)
			lines = append(lines, nil)
		}
		lines[k] = append(lines[k], p)
	}
	for _, line := range lines {
		slices.SortStableFunc(line, func(a, b P) int { return x(a) - x(b) })
	}
	return lines
}

// herdHeight is the height of the plot of herds, without legend and caption.
const herdHeight = 330 * vg.Length(1)

// HerdPlot draws how many requests the server executes for one hand-over against the number of clients that want the
// lock, both on logarithmic axes: one line for each lock. A lock whose line is level costs the server the same however
// many wait; where everybody tries again and again, the line climbs with slope 1.
func HerdPlot(points ...HerdPoint) (*Figure, error) {
	if len(points) == 0 {
		return nil, errors.New("there is no point to draw")
	}
	for _, p := range points {
		if p.Clients < 1 || p.HandOvers < 1 || p.Requests < 1 {
			return nil, fmt.Errorf("%s with %d clients has %d requests in %d hand-overs: a logarithmic axis cannot show that",
				p.Name(), p.Clients, p.Requests, p.HandOvers)
		}
	}
	all := herds(points)
	p := newPlot(fitTitle("What a hand-over costs the server"), "clients that want the lock (log scales)")
	// A short label: on a logarithmic axis, package plot keeps room as if it stood at the middle of the values.
	p.Y.Label.Text, p.Y.Label.Padding = "requests per hand-over", 4
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Scale, axis.Tick.Marker = plot.LogScale{}, countTicks{}
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = herdRange(points)
	p.Add(grid{})
	f := &Figure{plot: p, rows: herdRows(all), caption: herdCaption(all)}
	for i := range all {
		line := curveStyle(i)
		p.Add(&herdLine{herd: &all[i], line: line})
		f.legend = append(f.legend, legendEntry{all[i].name, func(c *draw.Canvas, a vg.Rectangle) {
			y := (a.Min.Y + a.Max.Y) / 2
			c.StrokeLine2(line, a.Min.X, y, a.Max.X, y)
			dot(c, line, vg.Point{X: (a.Min.X + a.Max.X) / 2, Y: y})
		}})
	}
	f.height = 2*margin + herdHeight + f.extraHeight()
	return f, nil
}

// herdRange is the part of both axes that the points take up, with a little room around them. The axis of requests ends
// at a round number and begins just below one.
func herdRange(points []HerdPoint) (left, right, low, high float64) {
	for i, p := range points {
		clients, requests := float64(p.Clients), p.RequestsEach()
		if i == 0 {
			left, right, low, high = clients, clients, requests, requests
		}
		left, right = min(left, clients), max(right, clients)
		low, high = min(low, requests), max(high, requests)
	}
	const room = 1.15
	lowest, _ := roundStep(1 / low)
	highest, _ := roundStep(max(high, low*room))
	return left / room, right * room, 1 / lowest / room, highest
}

// herdCaption says what was counted and what the plot leaves out.
func herdCaption(all []herd) string {
	var wakeUps, seeds []string
	for i := range all {
		handOvers, woken := 0, 0
		for _, p := range all[i].points {
			handOvers, woken = handOvers+p.HandOvers, woken+p.WakeUps
			if seed := strconv.FormatUint(p.Seed, 10); !slices.Contains(seeds, seed) {
				seeds = append(seeds, seed)
			}
		}
		wakeUps = append(wakeUps, fmt.Sprintf("%s %s", all[i].name,
			strconv.FormatFloat(float64(woken)/float64(handOvers), 'f', 2, 64)))
	}
	noun := ". Seed "
	if len(seeds) > 1 {
		noun = ". Seeds "
	}
	return "Each client gets the lock once, and all wait when the first one releases it; counted from there to the last " +
		"grant. Wake-ups per hand-over, over all points: " + strings.Join(wakeUps, "; ") + noun +
		strings.Join(seeds, ", ") + "."
}

// herdRows are the data of the plot as a table.
func herdRows(all []herd) [][]string {
	rows := [][]string{{
		"implementation", "knobs", "clients", "seed", "hand_overs", "requests", "wake_ups", "requests_per_hand_over",
		"wake_ups_per_hand_over", "mean_hand_over_s",
	}}
	for i := range all {
		for _, p := range all[i].points {
			rows = append(rows, []string{
				p.Implementation, p.Knobs, strconv.Itoa(p.Clients), strconv.FormatUint(p.Seed, 10), strconv.Itoa(p.HandOvers),
				strconv.Itoa(p.Requests), strconv.Itoa(p.WakeUps), strconv.FormatFloat(p.RequestsEach(), 'f', 3, 64),
				strconv.FormatFloat(p.WakeUpsEach(), 'f', 3, 64), decimal(p.HandOverTime, 9),
			})
		}
	}
	return rows
}

// herdLine draws the points of one lock and what connects them.
type herdLine struct {
	*herd
	line draw.LineStyle
}

// Plot implements plot.Plotter.
func (h *herdLine) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	points := make([]vg.Point, len(h.points))
	for i, p := range h.points {
		points[i] = vg.Point{X: x(float64(p.Clients)), Y: y(p.RequestsEach())}
	}
	c.StrokeLines(h.line, points)
	for _, point := range points {
		dot(&c, h.line, point)
	}
}

// dot marks a point of a line.
func dot(c *draw.Canvas, line draw.LineStyle, at vg.Point) {
	c.DrawGlyph(draw.GlyphStyle{Color: line.Color, Radius: 3, Shape: draw.CircleGlyph{}}, at)
}
