package reports

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/measure"
)

// Sample is a run that plots are drawn of.
type Sample struct {
	*measure.Run
	Result checker.Result // of all that the lock promises, the worst; empty = nobody has judged it
	// Tracks are what the engine's trace says of clocks; nil = there is no trace, and clocks are drawn as they were read.
	Tracks []ClockTrack
}

// plotKind is one kind of plot of runs.
type plotKind struct {
	name string
	draw func(samples []Sample) (*Figure, error)
}

// holdersKind is the plot of who held when; in the folder of a run it is about the violation.
const holdersKind = "holders"

// plotKinds lists the kinds of plots in the order in which they are drawn.
var plotKinds = []plotKind{
	{holdersKind, ofOneRun(holdersOfRun)},
	{"wait", waitPlot},
	{"hand-over", handOverPlot},
	{"fairness", fairnessPlot},
	{"queue", ofOneRun(queuePlot)},
	{"latency", ofOneRun(latencyPlot)},
	{"outcomes", ofOneRun(outcomePlot)},
	{"clock", ofOneRun(clockPlot)},
	{"overlap", overlapPlot},
}

// PlotKinds names the kinds of plots that [DrawPlot] can draw.
func PlotKinds() []string {
	var names []string
	for _, k := range plotKinds {
		names = append(names, k.name)
	}
	return names
}

// DrawPlot draws one kind of plot of runs. An error says in one line why these runs do not support it. Kinds that
// compare locks put the runs of each implementation together; those that show what happened over time take one run.
func DrawPlot(kind string, samples ...Sample) (*Figure, error) {
	k := slices.IndexFunc(plotKinds, func(k plotKind) bool { return k.name == kind })
	if k < 0 {
		return nil, fmt.Errorf("%q is no kind of plot: want one of %s", kind, strings.Join(PlotKinds(), ", "))
	}
	if len(samples) == 0 {
		return nil, fmt.Errorf("there is no run to draw")
	}
	return plotKinds[k].draw(samples)
}

// ofOneRun makes a kind of plot of what draws one run.
func ofOneRun(draw func(Sample) (*Figure, error)) func([]Sample) (*Figure, error) {
	return func(samples []Sample) (*Figure, error) {
		if len(samples) != 1 {
			return nil, fmt.Errorf("it shows one run over time, and these are %d: name one", len(samples))
		}
		return draw(samples[0])
	}
}

// holdersOfRun draws who held when, as far as the beginning of the history that was kept reaches.
func holdersOfRun(s Sample) (*Figure, error) {
	h := &checker.History{Header: s.Header, Events: s.Head}
	f, err := HolderPlot(h, HolderOptions{})
	if err != nil {
		return nil, err
	}
	if !s.Whole() {
		f.caption = fmt.Sprintf("Shown is the beginning, until %s: the first %d of %d events.",
			seconds(s.Head[len(s.Head)-1].Time), len(s.Head), s.Events)
	}
	f.tell(tallyOf([]Sample{s}))
	return f, nil
}

// tell adds to the caption which runs are shown.
func (f *Figure) tell(t tally) {
	f.height -= f.extraHeight()
	f.caption = strings.TrimSpace(f.caption + " " + t.String())
	f.height += f.extraHeight()
}

// tally says which runs a figure is about.
type tally struct {
	seeds         []uint64
	configuration string
	runs          int
	failed        int // could not be finished
	results       map[checker.Result]int
}

func tallyOf(samples []Sample) tally {
	t := tally{runs: len(samples), results: map[checker.Result]int{}}
	var parts []string
	for _, s := range samples {
		t.seeds = append(t.seeds, s.Header.Seed)
		t.results[s.Result]++
		h := &s.Header
		parts = append(parts, h.Scenario, h.Implementation, h.Transport, h.Lock, h.Lease.String())
	}
	t.configuration = fingerprint(parts)
	return t
}

// fingerprint tells configurations apart: eight hexadecimal digits.
func fingerprint(parts []string) string {
	slices.Sort(parts)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(parts), "\x00")))
	return hex.EncodeToString(sum[:4])
}

// String is a sentence or two for the caption.
func (t tally) String() string {
	noun := "Seed "
	seeds := seedRanges(t.seeds)
	if strings.ContainsAny(seeds, "-,") {
		noun = "Seeds "
	}
	text := noun + seeds + ", " + plural(int64(t.runs), "run")
	if t.failed > 0 {
		text += fmt.Sprintf(", %d of them failed and left out", t.failed)
	} else {
		text += ", none failed"
	}
	for _, r := range []struct {
		result checker.Result
		words  string
	}{
		{checker.Violated, "broke a promise"},
		{checker.Unknown, "unknown"},
		{"", "not judged"},
	} {
		if n := t.results[r.result]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, r.words)
		}
	}
	return text + "; configuration " + t.configuration + "."
}

// seedRanges renders seeds in order, with ranges: "1-20, 25".
func seedRanges(seeds []uint64) string {
	seeds = slices.Clone(seeds)
	slices.Sort(seeds)
	seeds = slices.Compact(seeds)
	const most = 8
	var parts []string
	for i := 0; i < len(seeds); {
		k := i
		for k+1 < len(seeds) && seeds[k+1] == seeds[k]+1 {
			k++
		}
		part := strconv.FormatUint(seeds[i], 10)
		if k > i {
			part += "-" + strconv.FormatUint(seeds[k], 10)
		}
		if len(parts) == most {
			return strings.Join(parts, ", ") + fmt.Sprintf(" and %d more", len(seeds)-i)
		}
		parts = append(parts, part)
		i = k + 1
	}
	return strings.Join(parts, ", ")
}

// group is the runs of one implementation.
type group struct {
	name    string
	samples []Sample
}

// groups puts runs together by implementation, in order of appearance. Runs of several scenarios are told apart by it.
func groups(samples []Sample) []group {
	several := slices.ContainsFunc(samples, func(s Sample) bool { return s.Header.Scenario != samples[0].Header.Scenario })
	var all []group
	for _, s := range samples {
		name := s.Header.Implementation
		if name == "" {
			name = "unnamed"
		}
		if several {
			name += ", " + s.Header.Scenario
		}
		k := slices.IndexFunc(all, func(g group) bool { return g.name == name })
		if k < 0 {
			k = len(all)
			all = append(all, group{name: name})
		}
		all[k].samples = append(all[k].samples, s)
	}
	return all
}

// pooled is the values of one lock over all of its runs.
type pooled struct {
	name string
	*measure.Distribution
}

// pool puts together what measures take of the runs of each lock.
func pool(samples []Sample, take func(*measure.Run) *measure.Distribution) []pooled {
	var all []pooled
	for _, g := range groups(samples) {
		d := &measure.Distribution{}
		for _, s := range g.samples {
			d.Merge(take(s.Run))
		}
		all = append(all, pooled{g.name, d})
	}
	return all
}

func total(all []pooled) (n int64) {
	for _, d := range all {
		n += d.Total()
	}
	return n
}

// seriesTitle names what runs have in common.
func seriesTitle(what string, samples []Sample) string {
	common := samples[0].Header
	if len(samples) == 1 {
		return fitTitle(what + runName(&common))
	}
	for _, s := range samples[1:] {
		if s.Header.Scenario != common.Scenario {
			common.Scenario = ""
		}
		if s.Header.Implementation != common.Implementation {
			common.Implementation = ""
		}
	}
	parts := []string{fmt.Sprintf("%d runs", len(samples))}
	for _, part := range []string{common.Implementation, common.Scenario} {
		if part != "" {
			parts = append([]string{part}, parts...)
		}
	}
	return fitTitle(what + ": " + strings.Join(parts, ", "))
}

// roundedNote tells in a caption that values are not exact.
func roundedNote(all []pooled) string {
	for _, d := range all {
		if d.Rounded() {
			return " Times are rounded down by less than 1 part in 128, for there are many."
		}
	}
	return ""
}

// distributionRows are pooled values as a table, times in seconds.
func distributionRows(column string, all []pooled, render func(int64) string) [][]string {
	rows := [][]string{{"implementation", column, "count", "share"}}
	for _, d := range all {
		seen := int64(0)
		for _, v := range d.Values() {
			seen += d.Count(v)
			rows = append(rows, []string{
				d.name, render(v), strconv.FormatInt(d.Count(v), 10),
				strconv.FormatFloat(float64(seen)/float64(d.Total()), 'f', 6, 64),
			})
		}
	}
	return rows
}
