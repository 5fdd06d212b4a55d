package main

import (
	"fmt"
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/lockstep-sim/lockstep/scenarios"
)

// progress shows how far the work has come: a bar on a terminal, elsewhere a line for each row.
type progress struct {
	out  io.Writer
	bar  *progressbar.ProgressBar
	task string
}

func newProgress(out io.Writer, task string) *progress {
	return &progress{out: out, task: task}
}

// isTerminal tells whether somebody is watching.
func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// seeds tells that so many seeds of all are done.
func (p *progress) seeds(done, all int) {
	if !isTerminal(p.out) {
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions(all,
			progressbar.OptionSetWriter(p.out), progressbar.OptionSetDescription(p.task), progressbar.OptionShowCount(),
			progressbar.OptionShowIts(), progressbar.OptionSetItsString("seeds"), progressbar.OptionSetWidth(30),
			progressbar.OptionThrottle(100_000_000), progressbar.OptionClearOnFinish(),
		)
	}
	_ = p.bar.Set(done)
}

// schedules tells how many schedules were run, of nobody knows how many.
func (p *progress) schedules(done, deviations int) {
	if !isTerminal(p.out) {
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions(-1,
			progressbar.OptionSetWriter(p.out), progressbar.OptionShowCount(), progressbar.OptionShowIts(),
			progressbar.OptionSetItsString("schedules"), progressbar.OptionThrottle(100_000_000),
			progressbar.OptionClearOnFinish(),
		)
	}
	p.bar.Describe(fmt.Sprintf("%s, up to %s", p.task, count(deviations, "deviation")))
	_ = p.bar.Set(done)
}

// runs tells that so many runs of all are done: as seeds does, and elsewhere than on a terminal a line for each tenth.
func (p *progress) runs(done, all int) {
	p.seeds(done, all)
	if !isTerminal(p.out) && done*10/all > (done-1)*10/all {
		fmt.Fprintf(p.out, "%s: %d of %s\n", p.task, done, count(all, "run"))
	}
}

// row tells that a row is finished.
func (p *progress) row(row *scenarios.Row) {
	if isTerminal(p.out) {
		return
	}
	fmt.Fprintf(p.out, "%s %s: %s after %s in %.1fs\n", row.Scenario.Name, row.Implementation,
		row.Judgement.Conclusion, count(row.Ran, "seed"), row.Elapsed.Seconds())
}

// end takes the bar away.
func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// count renders a number with its noun: 1 seed, 2 seeds.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
