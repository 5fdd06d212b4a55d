package reports

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/measure"
)

// SweepRun is one run of a lock in a scenario of which one quantity was varied.
type SweepRun struct {
	Scenario       string
	Implementation string
	Knobs          string // settings that tell it from others of its name; empty = none
	Quantity       string // what was varied: "clients", "lease" or "latency"
	Value          string // as the scenario has it
	Number         int64  // the value as a number of clients or of nanoseconds
	Clients        int
	Lease          time.Duration
	LatencyLow     time.Duration
	LatencyHigh    time.Duration
	Seed           uint64
	Result         checker.Result   // of all that the lock promises; empty where the run failed
	Error          string           // why it failed
	Summary        *measure.Summary // nil where it failed
}

func (r *SweepRun) name() string {
	if r.Knobs == "" {
		return r.Implementation
	}
	return r.Implementation + ", " + r.Knobs
}

// sweepColumn is a column of the table of a sweep.
type sweepColumn struct {
	name  string
	value func(r *SweepRun) string // of a run that has figures
}

// WriteSweepTable writes a CSV with one row for each run into a folder, and replaces what is there under its name. It
// is written under another name first. Folders are made. Times are seconds; where a run failed its figures are empty.
func WriteSweepTable(dir, name string, runs []SweepRun) error {
	path := filepath.Join(filepath.Clean(dir), name)
	if err := writeSweepTable(path, runs); err != nil {
		return fmt.Errorf("cannot write the table %s: %w", path, plain(err))
	}
	return nil
}

func writeSweepTable(path string, runs []SweepRun) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	partial, err := freeBeside(path, "partial")
	if err != nil {
		return err
	}
	if err = writeFile(partial, func(w io.Writer) error { return sweepTable(w, runs) }); err == nil {
		err = os.Rename(partial, path)
	}
	if err != nil {
		_ = os.Remove(partial)
	}
	return err
}

func sweepTable(w io.Writer, runs []SweepRun) error {
	out := newTableWriter(w)
	header := []string{
		"scenario", "implementation", "knobs", "clients", "lease_s", "latency_least_s", "latency_most_s", "seed", "result",
		"error",
	}
	columns := sweepColumns()
	for _, c := range columns {
		header = append(header, c.name)
	}
	if err := out.write(header); err != nil {
		return err
	}
	for i := range runs {
		r := &runs[i]
		result := string(r.Result)
		if r.Summary == nil {
			result = "failed"
		}
		row := []string{
			r.Scenario, r.Implementation, r.Knobs, strconv.Itoa(r.Clients), decimal(r.Lease, 9), decimal(r.LatencyLow, 9),
			decimal(r.LatencyHigh, 9), strconv.FormatUint(r.Seed, 10), result, r.Error,
		}
		for _, c := range columns {
			value := ""
			if r.Summary != nil {
				value = c.value(r)
			}
			row = append(row, value)
		}
		if err := out.write(row); err != nil {
			return err
		}
	}
	return out.flush()
}

func sweepColumns() []sweepColumn {
	columns := []sweepColumn{
		{"span_s", func(r *SweepRun) string { return decimal(r.Summary.Span, 9) }},
	}
	count := func(name string, of func(*measure.Summary) int) {
		columns = append(columns, sweepColumn{name, func(r *SweepRun) string { return strconv.Itoa(of(r.Summary)) }})
	}
	count("got", func(s *measure.Summary) int { return s.Got })
	count("re_entries", func(s *measure.Summary) int { return s.Reentered })
	count("refused", func(s *measure.Summary) int { return s.Refused })
	count("unknown", func(s *measure.Summary) int { return s.Unknown })
	count("open", func(s *measure.Summary) int { return s.Open })
	columns = append(columns, sweepColumn{"grants_per_s", func(r *SweepRun) string {
		return strconv.FormatFloat(throughput(r.Summary), 'f', 3, 64)
	}})
	quantiles := func(name string, of func(*measure.Summary) *measure.Distribution, render func(int64) string) {
		for _, q := range []struct {
			name        string
			thousandths int64
		}{{"p50", 500}, {"p99", 990}, {"p999", 999}, {"greatest", 1000}} {
			columns = append(columns, sweepColumn{fmt.Sprintf(name, q.name), func(r *SweepRun) string {
				return render(of(r.Summary).Quantile(q.thousandths))
			}})
		}
	}
	quantiles("wait_%s_s", func(s *measure.Summary) *measure.Distribution { return &s.Waits }, secondsOf)
	quantiles("hand_over_%s_s", func(s *measure.Summary) *measure.Distribution { return &s.HandOverTimes }, secondsOf)
	quantiles("overtaken_%s", func(s *measure.Summary) *measure.Distribution { return &s.Overtakes }, digits)
	count("overlaps", func(s *measure.Summary) int { return int(s.Overlaps.Total()) })
	count("most_waiting", func(s *measure.Summary) int { return int(s.MostWaiting) })
	columns = append(columns,
		sweepColumn{"jain_grants", func(r *SweepRun) string { return millionths(r.Summary.JainGrants) }},
		sweepColumn{"jain_held", func(r *SweepRun) string { return millionths(r.Summary.JainHeld) }})
	count("contended_grants", func(s *measure.Summary) int { return s.Handed })
	count("contended_requests", func(s *measure.Summary) int { return s.Requests })
	count("contended_wake_ups", func(s *measure.Summary) int { return s.WakeUps })
	return columns
}

// throughput is how many grants a second there were, from the first call to the end of the last hold.
func throughput(s *measure.Summary) float64 {
	if s.Span <= 0 {
		return 0
	}
	return float64(s.Got) / s.Span.Seconds()
}

// sweepKind is one kind of plot of a sweep.
type sweepKind struct {
	name string
	draw func(s *sweep) (*Figure, error)
	// single says that it shows the greatest value alone.
	single bool
}

var sweepKinds = []sweepKind{
	{"throughput", throughputPlot, false},
	{"wait", waitQuantilePlot, false},
	{"wait-cdf", sweepWaitPlot, true},
	{"hand-over", sweepHandOverPlot, true},
	{"requests", requestsPlot, false},
	{"wake-ups", wakeUpsPlot, false},
	{"jain", jainPlot, false},
	{"overtakes", overtakesPlot, false},
}

// SweepKinds names the kinds of plots that [DrawSweep] can draw.
func SweepKinds() []string {
	var names []string
	for _, k := range sweepKinds {
		names = append(names, k.name)
	}
	return names
}

// DrawSweep draws one kind of plot of a sweep: a line for each lock against the quantity that was varied, over all
// seeds. An error says in one line why these runs do not support it.
func DrawSweep(kind string, runs []SweepRun) (*Figure, error) {
	k := slices.IndexFunc(sweepKinds, func(k sweepKind) bool { return k.name == kind })
	if k < 0 {
		return nil, fmt.Errorf("%q is no kind of plot of a sweep: want one of %s", kind, strings.Join(SweepKinds(), ", "))
	}
	if sweepKinds[k].single {
		runs = greatestOf(runs)
	}
	s, err := newSweep(runs)
	if err != nil {
		return nil, err
	}
	f, err := sweepKinds[k].draw(s)
	if err != nil {
		return nil, err
	}
	f.tell(s.tally)
	return f, nil
}

// greatestOf are the runs where the quantity is the greatest that was tried.
func greatestOf(runs []SweepRun) []SweepRun {
	most := int64(math.MinInt64)
	for i := range runs {
		most = max(most, runs[i].Number)
	}
	return slices.DeleteFunc(slices.Clone(runs), func(r SweepRun) bool { return r.Number < most })
}

// sweep is the runs of a sweep by lock and by value.
type sweep struct {
	quantity string
	scenario string
	values   []sweepValue // in rising order
	locks    []sweepLock
	tally    tally
}

type sweepValue struct {
	text   string
	number int64
}

// sweepLock is the runs of one lock; those of the i-th value are points[i].
type sweepLock struct {
	name   string
	points [][]*measure.Summary
}

func newSweep(runs []SweepRun) (*sweep, error) {
	s := &sweep{tally: tally{runs: len(runs), results: map[checker.Result]int{}}}
	var parts []string
	for i := range runs {
		r := &runs[i]
		s.quantity, s.scenario = r.Quantity, r.Scenario
		s.tally.seeds = append(s.tally.seeds, r.Seed)
		parts = append(parts, r.Scenario, r.name(), r.Quantity+"="+r.Value, fmt.Sprint(r.Lease, r.LatencyLow, r.LatencyHigh))
		if r.Summary == nil {
			s.tally.failed++
			continue
		}
		s.tally.results[r.Result]++
		if v := (sweepValue{r.Value, r.Number}); !slices.Contains(s.values, v) {
			s.values = append(s.values, v)
		}
	}
	if len(s.values) == 0 {
		return nil, errors.New("no run has figures, so there is nothing to draw")
	}
	s.tally.configuration = fingerprint(parts)
	slices.SortFunc(s.values, func(a, b sweepValue) int { return int(min(max(a.number-b.number, -1), 1)) })
	for i := range runs {
		r := &runs[i]
		if r.Summary == nil {
			continue
		}
		k := slices.IndexFunc(s.locks, func(l sweepLock) bool { return l.name == r.name() })
		if k < 0 {
			k = len(s.locks)
			s.locks = append(s.locks, sweepLock{r.name(), make([][]*measure.Summary, len(s.values))})
		}
		at := slices.Index(s.values, sweepValue{r.Value, r.Number})
		s.locks[k].points[at] = append(s.locks[k].points[at], r.Summary)
	}
	return s, nil
}

// linePoint is a value of a lock at one value of the quantity, with the range over seeds.
type linePoint struct {
	at             int // in sweep.values
	y, least, most float64
}

// sweepLine is a line of a plot of a sweep.
type sweepLine struct {
	lock   string
	what   string // which of several figures of the lock; empty = there is one
	style  draw.LineStyle
	points []linePoint
}

// over makes the lines of a figure of single runs: its mean over seeds, with the least and the greatest.
func (s *sweep) over(figure func(*measure.Summary) (float64, bool)) []sweepLine {
	var lines []sweepLine
	for i, lock := range s.locks {
		line := sweepLine{lock: lock.name, style: curveStyle(i)}
		for at, summaries := range lock.points {
			var values []float64
			for _, summary := range summaries {
				if v, ok := figure(summary); ok {
					values = append(values, v)
				}
			}
			if len(values) == 0 {
				continue
			}
			sum := 0.0
			for _, v := range values {
				sum += v
			}
			line.points = append(line.points, linePoint{
				at, sum / float64(len(values)), slices.Min(values), slices.Max(values),
			})
		}
		lines = append(lines, line)
	}
	return lines
}

// lineOptions say how lines are drawn.
type lineOptions struct {
	title, label string
	logarithmic  bool // the vertical axis
	ticks        plot.Ticker
	column       string // of the CSV
	low, high    float64
	fixed        bool // the vertical axis reaches from low to high
}

// draw draws lines against the quantity.
func (s *sweep) draw(lines []sweepLine, o lineOptions) (*Figure, error) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, l := range lines {
		for _, p := range l.points {
			low, high = min(low, p.least), max(high, p.most)
		}
	}
	if low > high {
		return nil, errors.New("no run has a figure for it")
	}
	p := newPlot(fitTitle(o.title+": "+s.scenario), s.axisLabel())
	p.Y.Label.Text, p.Y.Label.Padding = o.label, 4
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, valueTicks(s.values)
	const room = 1.12
	p.X.Min, p.X.Max = axisNumber(s.values[0].number)/room, axisNumber(s.values[len(s.values)-1].number)*room
	p.Y.Tick.Marker = o.ticks
	switch {
	case o.fixed:
		p.Y.Min, p.Y.Max = o.low, o.high
	case o.logarithmic:
		p.Y.Scale = plot.LogScale{}
		p.Y.Min, p.Y.Max = low/1.25, high*1.25
	default:
		p.Y.Min, p.Y.Max = 0, max(high, 1e-9)*1.06
	}
	p.Add(grid{})
	f := &Figure{plot: p, rows: [][]string{{"implementation", s.quantity, "figure", o.column, "least", "greatest"}}}
	seen := map[string]bool{}
	for i := range lines {
		l := &lines[i]
		p.Add(&sweepDrawing{sweepLine: l, sweep: s, whiskers: l.what == ""})
		solid := l.style
		if l.what != "" {
			solid.Dashes = nil
		}
		f.addLine(!seen[l.lock], l.lock, solid)
		seen[l.lock] = true
		for _, point := range l.points {
			f.rows = append(f.rows, []string{
				l.lock, s.values[point.at].text, l.what, number6(point.y), number6(point.least), number6(point.most),
			})
		}
	}
	f.height = 2*margin + plotHeight + f.extraHeight()
	return f, nil
}

func number6(v float64) string { return strconv.FormatFloat(v, 'f', 6, 64) }

func (s *sweep) axisLabel() string {
	return map[string]string{
		"clients": "clients (log scale)", "lease": "lease (log scale)", "latency": "time that a message travels (log scale)",
	}[s.quantity]
}

// axisNumber is a value on a logarithmic axis, which has no zero.
func axisNumber(n int64) float64 { return float64(max(n, 1)) }

// valueTicks marks the values that were tried.
type valueTicks []sweepValue

// Ticks implements plot.Ticker. Of values too close for their labels only the first has one.
func (v valueTicks) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	width := figureWidth - 2*margin - axisLeft
	next := vg.Length(math.Inf(-1))
	for _, value := range v {
		tick := plot.Tick{Value: axisNumber(value.number)}
		half := style(labelSize).Width(value.text)/2 + 4
		at := width * vg.Length(math.Log(tick.Value/low)/math.Log(high/low))
		if at-half >= next {
			tick.Label, next = printable(value.text), at+half
		}
		ticks = append(ticks, tick)
	}
	return ticks
}

// sweepDrawing draws the points of a line, what connects them and, if so asked, their range over seeds.
type sweepDrawing struct {
	*sweepLine
	sweep    *sweep
	whiskers bool
}

// Plot implements plot.Plotter.
func (d *sweepDrawing) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	var line []vg.Point
	for _, point := range d.points {
		at := vg.Point{X: x(axisNumber(d.sweep.values[point.at].number)), Y: y(point.y)}
		line = append(line, at)
		if d.whiskers && point.most > point.least {
			thin := draw.LineStyle{Color: d.style.Color, Width: 0.75}
			c.StrokeLine2(thin, at.X, y(point.least), at.X, y(point.most))
			for _, end := range []float64{point.least, point.most} {
				c.StrokeLine2(thin, at.X-3, y(end), at.X+3, y(end))
			}
		}
	}
	c.StrokeLines(d.style, line)
	for _, at := range line {
		dot(&c, d.style, at)
	}
}

const overSeeds = "The mean over seeds; whiskers reach from the least to the greatest."

func throughputPlot(s *sweep) (*Figure, error) {
	f, err := s.draw(s.over(func(m *measure.Summary) (float64, bool) { return throughput(m), m.Span > 0 }), lineOptions{
		title: "How often the lock was granted", label: "grants per second", ticks: secondTicks{}, column: "grants_per_s",
	})
	if err != nil {
		return nil, err
	}
	f.caption = "Counted from the first call for the lock to the end of the last hold. " + overSeeds
	return f, nil
}

// quantiles are those that a plot of waits shows, with their dashes.
var quantiles = []struct {
	name        string
	thousandths int64
	dashes      []vg.Length
}{{"p50", 500, nil}, {"p99", 990, []vg.Length{6, 2}}, {"p99.9", 999, []vg.Length{1.5, 2}}}

func waitQuantilePlot(s *sweep) (*Figure, error) {
	var lines []sweepLine
	rounded := []pooled{}
	for i, lock := range s.locks {
		for _, q := range quantiles {
			line := sweepLine{lock: lock.name, what: q.name, style: curveStyle(i)}
			line.style.Dashes, line.style.Width = q.dashes, 1.4
			for at, summaries := range lock.points {
				d := poolOf(summaries, func(m *measure.Summary) *measure.Distribution { return &m.Waits })
				if d.Total() == 0 {
					continue
				}
				v := onAxis(d.Quantile(q.thousandths))
				line.points = append(line.points, linePoint{at, v, v, v})
				rounded = append(rounded, pooled{lock.name, d})
			}
			lines = append(lines, line)
		}
	}
	f, err := s.draw(lines, lineOptions{
		title: "How long an acquire waited", label: "wait", logarithmic: true, ticks: durationTicks{}, column: "wait_s",
	})
	if err != nil {
		return nil, err
	}
	for _, q := range quantiles {
		f.addLine(true, q.name, draw.LineStyle{Color: grey, Width: 1.4, Dashes: q.dashes})
	}
	f.height = 2*margin + plotHeight + f.extraHeight()
	f.caption = "Of the acquires of all seeds that got the lock: half of them waited no longer than p50, 99 % no longer " +
		"than p99." + roundedNote(rounded)
	return f, nil
}

// poolOf puts the values of several runs together.
func poolOf(summaries []*measure.Summary, take func(*measure.Summary) *measure.Distribution) *measure.Distribution {
	d := &measure.Distribution{}
	for _, summary := range summaries {
		d.Merge(take(summary))
	}
	return d
}

// whole are the values of each lock where the quantity has its only value, and which that is.
func (s *sweep) whole(take func(*measure.Summary) *measure.Distribution) (all []pooled, where string) {
	for _, lock := range s.locks {
		all = append(all, pooled{lock.name, poolOf(lock.points[0], take)})
	}
	return all, s.quantity + " = " + s.values[0].text
}

func sweepWaitPlot(s *sweep) (*Figure, error) {
	all, where := s.whole(func(m *measure.Summary) *measure.Distribution { return &m.Waits })
	if total(all) == 0 {
		return nil, errors.New("nobody got a lock, so nobody's wait has an end")
	}
	f := cdfFigure(fitTitle("How long an acquire waited: "+s.scenario+", "+where), all)
	f.caption = "With " + where + ". Only acquires that got the lock are drawn." + roundedNote(all)
	return f, nil
}

func sweepHandOverPlot(s *sweep) (*Figure, error) {
	all, where := s.whole(func(m *measure.Summary) *measure.Distribution { return &m.HandOverTimes })
	if total(all) == 0 {
		return nil, errors.New("nothing was handed over: no hold ended while somebody waited")
	}
	f := boxFigure(fitTitle("How long a hand-over took: "+s.scenario+", "+where), all)
	f.caption = "With " + where + ". " + f.caption
	return f, nil
}

const contendedNote = "Counted from the end of the first hold to the beginning of the last. "

func requestsPlot(s *sweep) (*Figure, error) {
	f, err := s.draw(s.over(func(m *measure.Summary) (float64, bool) {
		return float64(m.Requests) / float64(max(m.Handed, 1)), m.Handed > 0 && m.Requests > 0
	}), lineOptions{
		title: "What the server executes for a grant", label: "requests per grant", logarithmic: true, ticks: countTicks{},
		column: "requests_per_grant",
	})
	if err != nil {
		return nil, err
	}
	f.caption = contendedNote + overSeeds
	return f, nil
}

func wakeUpsPlot(s *sweep) (*Figure, error) {
	woken := 0
	for _, lock := range s.locks {
		for _, summaries := range lock.points {
			for _, summary := range summaries {
				woken += summary.WakeUps
			}
		}
	}
	if woken == 0 {
		return nil, errors.New("the server woke nobody: these locks wait on their own")
	}
	f, err := s.draw(s.over(func(m *measure.Summary) (float64, bool) {
		return float64(m.WakeUps) / float64(max(m.Handed, 1)), m.Handed > 0
	}), lineOptions{
		title: "Whom the server wakes for a grant", label: "wake-ups per grant", ticks: secondTicks{},
		column: "wake_ups_per_grant",
	})
	if err != nil {
		return nil, err
	}
	f.caption = contendedNote + overSeeds
	return f, nil
}

func jainPlot(s *sweep) (*Figure, error) {
	f, err := s.draw(s.over(func(m *measure.Summary) (float64, bool) { return float64(m.JainGrants) / 1e6, m.Got > 0 }),
		lineOptions{
			title: "How evenly the lock was granted", label: "Jain's index", ticks: secondTicks{}, column: "jain_grants",
			low: 0, high: 1.04, fixed: true,
		})
	if err != nil {
		return nil, err
	}
	f.caption = "Of the number of grants that each client got: 1 is even, 1/n says that one of n clients got all. " +
		overSeeds
	return f, nil
}

func overtakesPlot(s *sweep) (*Figure, error) {
	f, err := s.draw(s.over(func(m *measure.Summary) (float64, bool) {
		return float64(m.Overtakes.Quantile(1000)), m.Overtakes.Total() > 0
	}), lineOptions{
		title: "How often a waiter was overtaken at most", label: "overtakes", ticks: secondTicks{}, column: "most_overtakes",
	})
	if err != nil {
		return nil, err
	}
	f.caption = "How many who had asked later got the lock before a client that waited, at most in a run. " + overSeeds
	return f, nil
}
