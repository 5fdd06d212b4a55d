package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/measure"
	"github.com/lockstep-sim/lockstep/reports"
	"github.com/lockstep-sim/lockstep/scenarios"
)

// sweepCommand is "sweep" with its flags.
type sweepCommand struct {
	flags searchFlags
	vary  string
}

// The seeds of a sweep, and the table that it writes.
const (
	sweepSeeds = 10
	sweepFile  = "sweep.csv"
)

func newSweep() *cobra.Command {
	s := &sweepCommand{}
	cmd := &cobra.Command{
		Use:   "sweep SCENARIO --vary clients=2,4,8",
		Short: "Compares locks while the number of clients, the lease or the latency grows",
		Long: `Sweep runs a scenario with several locks while one quantity is varied, each with the same seeds, and compares
them: throughput, waits, hand-overs, requests and wake-ups, fairness. It prints a table, and writes a folder with
sweep.csv, one row for each run, and a plot of each kind as SVG, PNG and CSV. Older files of these names are replaced.
The same command gives the same files, however many workers there are.

What can be varied: clients=2,4,8 (further clients do what the last one of the scenario does), lease=1s,10s and
latency=1ms,2ms..5ms, which is how long one message travels.

Verdicts are counted, not judged: it exits 0 also where a lock broke a promise, and 2 when runs failed, or when it was
interrupted, and then nothing is written.`,
		Example: `  lockstep sweep zk-herd --vary clients=2,4,8,16,32
  lockstep sweep zk-herd --impl zk/fair-repaired,zk/polling --vary latency=1ms,5ms,20ms --seeds 1-20 --out latency
  lockstep sweep ./mine.yaml --impl redis/setnx-px,redis/getset-repaired --vary lease=200ms,1s,5s`,
		Args: oneArgument("one scenario"),
		RunE: s.run,
	}
	s.flags.register(cmd, fmt.Sprintf("seeds of each combination, such as 1-50 (default 1-%d)", sweepSeeds),
		"folder to write (default "+outputFolder+"/sweep/SCENARIO)")
	s.flags.registerBudget(cmd)
	cmd.Flags().StringSliceVar(&s.flags.implementations, "impl", nil,
		"implementation to compare, several with commas (default those that the scenario names)")
	cmd.Flags().StringVar(&s.vary, "vary", "", "what to vary and its values, such as clients=2,4,8")
	return cmd
}

func (s *sweepCommand) run(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	sweep, err := s.sweep(cmd, args[0])
	if err != nil {
		return err
	}
	folder, err := outFolder(cmd, s.flags.out, filepath.Join(outputFolder, "sweep", sweep.Scenario.Name))
	if err != nil {
		return err
	}
	enough, cancel := s.flags.enough(ctx)
	defer cancel()
	sweep.Enough = enough
	p := newProgress(cmd.ErrOrStderr(), "sweeping")
	all := 0
	sweep.Progress = func(done, total int) {
		all = total
		p.runs(done, total)
	}
	ran, err := sweep.Run(ctx)
	p.end()
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return &exitError{exitUnknown, fmt.Sprintf("interrupted after %d of %s; nothing is written", len(ran),
			count(all, "run"))}
	case len(ran) == 0:
		return &exitError{exitNothingRan, "the time was over before a run was done; nothing is written"}
	}
	out := cmd.OutOrStdout()
	if len(ran) < all {
		fmt.Fprintf(out, "the time was over after %d of %s\n\n", len(ran), count(all, "run"))
	}
	return s.write(out, folder, sweepRuns(sweep.Scenario.Name, ran))
}

// sweep reads the flags and loads the scenario.
func (s *sweepCommand) sweep(cmd *cobra.Command, word string) (*scenarios.Sweep, error) {
	scenario, err := scenarios.Load(word)
	if err != nil {
		return nil, err
	}
	search, err := s.flags.read(cmd)
	if err != nil {
		return nil, err
	}
	sweep := &scenarios.Sweep{
		Scenario: scenario, Seeds: search.seeds, Transport: search.transport, Workers: search.workers,
	}
	if s.vary == "" {
		return nil, usage("--vary: want a quantity and its values, such as clients=2,4,8")
	}
	if sweep.Variations, err = scenarios.ParseVariations(s.vary); err != nil {
		return nil, usage("--vary: %w", err)
	}
	if len(sweep.Seeds) == 0 {
		sweep.Seeds = scenarios.SeedsUpTo(sweepSeeds)
	}
	if sweep.Implementations, err = checkImplementations(s.flags.implementations); err != nil {
		return nil, err
	}
	if len(sweep.Implementations) == 0 {
		for _, e := range scenario.Implementations {
			sweep.Implementations = append(sweep.Implementations, e.Implementation)
		}
	}
	if len(sweep.Implementations) == 0 {
		return nil, usage("--impl: scenario %s names no implementation; name some", scenario.Name)
	}
	return sweep, nil
}

// sweepRuns are runs as reports want them.
func sweepRuns(scenario string, ran []scenarios.SweepRun) []reports.SweepRun {
	var runs []reports.SweepRun
	for _, r := range ran {
		runs = append(runs, reports.SweepRun{
			Scenario: scenario, Implementation: r.Implementation, Knobs: r.Knobs, Quantity: string(r.Variation.Quantity),
			Value: r.Variation.Value, Number: r.Variation.Number(), Clients: r.Clients, Lease: r.Lease,
			LatencyLow: r.Latency.Min, LatencyHigh: r.Latency.Max, Seed: r.Seed, Result: r.Result, Error: r.Error,
			Summary: r.Summary,
		})
	}
	return runs
}

// write writes table and plots.
func (s *sweepCommand) write(out io.Writer, folder string, runs []reports.SweepRun) error {
	failed := writeSweep(out, runs)
	fmt.Fprintln(out)
	if err := reports.WriteSweepTable(folder, sweepFile, runs); err != nil {
		return internal(err)
	}
	for _, kind := range reports.SweepKinds() {
		figure, err := reports.DrawSweep(kind, runs)
		if err != nil {
			fmt.Fprintf(out, "%s: not drawn: %s\n", kind, oneLine(err.Error()))
			continue
		}
		if err := reports.WriteFigure(folder, kind, figure); err != nil {
			return internal(err)
		}
		fmt.Fprintf(out, "%s: %s\n", kind, filepath.Join(folder, kind+".svg"))
	}
	if err := publishFigures(folder); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nwritten to %s: %s with a row for each run, and each plot as .svg, .png and .csv\n", folder,
		sweepFile)
	if failed != nil {
		return &exitError{exitUnknown, fmt.Sprintf("a run failed: %s, %s=%s, seed %d: %s", failed.Implementation,
			failed.Quantity, failed.Value, failed.Seed, failed.Error)}
	}
	return nil
}

// writeSweep prints a line for each lock at each value, over all seeds. It returns the first run that failed.
func writeSweep(out io.Writer, runs []reports.SweepRun) (failed *reports.SweepRun) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "IMPLEMENTATION\tVARIED\tRUNS\tGRANTS/S\tWAIT P50\tWAIT P99\tREQUESTS EACH\tJAIN\tVIOLATED\t"+
		"UNKNOWN\tFAILED")
	for i := 0; i < len(runs); {
		first := &runs[i]
		var line sweepTotal
		for ; i < len(runs) && runs[i].Implementation == first.Implementation && runs[i].Value == first.Value; i++ {
			line.add(&runs[i])
			if failed == nil && runs[i].Summary == nil {
				failed = &runs[i]
			}
		}
		fmt.Fprintf(table, "%s\t%s=%s\t%d\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\n", first.Implementation, first.Quantity,
			first.Value, line.runs, ratio(int64(line.got)*int64(time.Second), int64(line.span)),
			milliseconds(line.waits.Quantile(500)), milliseconds(line.waits.Quantile(990)),
			ratio(int64(line.requests), int64(line.handed)), ratio(line.jain, int64(line.runs-line.failed)*1_000_000),
			line.violated, line.unknown, line.failed)
	}
	table.Flush()
	return failed
}

// sweepTotal adds up the runs of one line of the table.
type sweepTotal struct {
	runs, violated, unknown, failed, got, requests, handed int

	span  time.Duration
	jain  int64
	waits measure.Distribution
}

func (t *sweepTotal) add(r *reports.SweepRun) {
	t.runs++
	if r.Summary == nil {
		t.failed++
		return
	}
	switch r.Result {
	case checker.Violated:
		t.violated++
	case checker.Unknown:
		t.unknown++
	}
	t.got += r.Summary.Got
	t.span += r.Summary.Span
	t.requests += r.Summary.Requests
	t.handed += r.Summary.Handed
	t.jain += r.Summary.JainGrants
	t.waits.Merge(&r.Summary.Waits)
}

// ratio renders a quotient with two decimals, "-" where there is none.
func ratio(a, b int64) string {
	if b == 0 {
		return "-"
	}
	return strconv.FormatFloat(float64(a)/float64(b), 'f', 2, 64)
}

func milliseconds(ns int64) string {
	return strconv.FormatFloat(1e3*time.Duration(ns).Seconds(), 'f', 2, 64) + "ms"
}
