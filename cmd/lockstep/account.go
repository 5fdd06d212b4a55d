package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/spf13/cobra"

	"github.com/lockstep-sim/lockstep/internal/visible"
	"github.com/lockstep-sim/lockstep/reports/ci"
	"github.com/lockstep-sim/lockstep/scenarios"
)

// accountFlags are the flags of the commands that tell what came of a campaign.
type accountFlags struct {
	formats       []string
	baseline      string
	writeBaseline string
}

func (f *accountFlags) register(cmd *cobra.Command) {
	registerFormats(cmd, &f.formats)
	cmd.Flags().StringVar(&f.baseline, "baseline", "",
		"file with violations that are known and accepted; each must show, and no other")
	cmd.Flags().StringVar(&f.writeBaseline, "write-baseline", "",
		"write a baseline with which everything comes out as it did now; reasons of --baseline are kept")
}

// account tells what came of a campaign, in words, in files and as an exit code.
type account struct {
	formats  []format
	baseline *scenarios.Baseline
	update   string // the baseline to write; "" = none
	pinned   pinnedTally
	out      string // the folder of runs
	keeping  keeping
}

func (f *accountFlags) read(out string) (*account, error) {
	a := &account{update: f.writeBaseline, out: out}
	var err error
	if a.formats, err = parseFormats(f.formats); err != nil {
		return nil, err
	}
	if f.baseline != "" {
		if a.baseline, err = scenarios.ReadBaseline(f.baseline); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// tell tells what came of the rows of a campaign.
func (a *account) tell(ctx context.Context, cmd *cobra.Command, c *scenarios.Campaign, rows []*scenarios.Row) error {
	if err := a.updateBaseline(rows); err != nil {
		return err
	}
	kept := keepViolations(ctx, a.out, rows)
	if err := a.keeping.or(rows).keepRuns(ctx, cmd.ErrOrStderr(), a.out, rows, kept); err != nil {
		return internal(err)
	}
	result := resultOf(rows, c.Shard, kept)
	if a.pinned.failed > 0 {
		result.ExitCode = exitCode(max(scenarios.Conclude(rows), scenarios.Unexpected))
	}
	err := writeFormats(cmd.OutOrStdout(), a.formats, result, func(out io.Writer) {
		a.writeText(ctx, out, rows, result, kept)
	})
	if err != nil {
		return err
	}
	if err := a.keepResult(c.Shard, result); err != nil {
		return err
	}
	return exit(result.ExitCode)
}

// newReason is the reason of an entry that a baseline gets from a run.
func newReason() string {
	return "seen by lockstep " + programVersion() + "; nobody has said why it is accepted"
}

// updateBaseline writes the baseline that was asked for, and judges by it.
func (a *account) updateBaseline(rows []*scenarios.Row) error {
	if a.update == "" {
		return nil
	}
	err := replaceText(a.update, a.baseline.Updated(rows, newReason()).String())
	if err != nil {
		return internal(fmt.Errorf("--write-baseline: %w", err))
	}
	if a.baseline, err = scenarios.ReadBaseline(a.update); err != nil {
		return internal(err)
	}
	for _, row := range rows {
		row.Rejudge(a.baseline)
	}
	return nil
}

// writeText tells the result in words. Its last line says how many rows passed and failed.
func (a *account) writeText(
	ctx context.Context, out io.Writer, rows []*scenarios.Row, result *ci.Campaign, kept map[*scenarios.Row]*keptRun,
) {
	for _, line := range a.pinned.lines {
		fmt.Fprintln(out, line)
	}
	writeTable(out, counted(rows))
	for _, row := range counted(rows) {
		writeNotes(out, row, kept[row])
	}
	for _, row := range rows {
		if len(row.Unstable) > 0 {
			a.divergence(ctx, out, row)
		}
	}
	fmt.Fprintln(out)
	if result.LeftOut > 0 {
		fmt.Fprintf(out, "%s left out: enough had failed\n", count(result.LeftOut, "row"))
	}
	if a.baseline != nil {
		fmt.Fprintf(out, "baseline %s: %s\n", visible.Line(a.baseline.Source), baselineText(a.baseline, rows))
	}
	if result.Shard != (scenarios.Shard{}).String() {
		fmt.Fprintf(out, "part %s: what must be found, and what is about all seeds, is judged by lockstep merge\n",
			result.Shard)
	}
	fmt.Fprintf(out, "%s, hash %s\n", count(result.Seeds, "seed"), result.Hash)
	fmt.Fprintf(out, "%d passed, %d failed\n", result.Passed+a.pinned.passed, result.Failed+a.pinned.failed)
}

// baselineText counts the entries of a baseline.
func baselineText(b *scenarios.Baseline, rows []*scenarios.Row) string {
	tried, shown := 0, 0
	for _, row := range counted(rows) {
		for _, k := range row.Known {
			tried++
			if row.Shows(k.What) {
				shown++
			}
		}
	}
	text := fmt.Sprintf("%d of %d known violations showed", shown, tried)
	if rest := len(b.Known) - tried; rest > 0 {
		text += fmt.Sprintf(", %d more of rows that were not run", rest)
	}
	return text
}

// writeNotes says what is the matter with a row that did not come out as expected, and how to see it.
func writeNotes(out io.Writer, row *scenarios.Row, kept *keptRun) {
	if len(row.Judgement.Reasons) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s, %s: %s\n", visible.Line(row.Scenario.Word()), row.Implementation, row.Judgement.Conclusion)
	for _, reason := range row.Judgement.Reasons {
		fmt.Fprintf(out, "  %s\n", visible.Line(reason.Text))
		if len(reason.Seeds) > 0 {
			fmt.Fprintf(out, "    %s\n", reproduce(row, reason))
		}
		if kept.shows(reason) {
			fmt.Fprintf(out, "    written to %s\n", visible.Line(kept.folder))
		}
	}
	if kept != nil && kept.failure != nil {
		fmt.Fprintf(out, "  the violation could not be kept: %s\n", visible.Line(kept.failure.Error()))
	}
}

// divergence shows where two runs of the first unstable seed of a row part and keeps both traces.
func (a *account) divergence(ctx context.Context, out io.Writer, row *scenarios.Row) {
	if ctx.Err() != nil {
		return
	}
	setup := rowSetup(row, row.Unstable[0])
	fmt.Fprintln(out)
	dir := seedFolder(a.out, row.Scenario, row.Implementation, setup.Seed)
	if err := showDivergence(out, setup, dir); err != nil {
		fmt.Fprintf(out, "%v\n", err)
	}
}

// divergenceTries is how often a seed is run to catch two runs that differ.
const divergenceTries = 50

// showDivergence runs a setup until two runs differ, prints where they part and keeps both traces in dir.
func showDivergence(out io.Writer, setup scenarios.Setup, dir string) error {
	one, other, difference, err := scenarios.Diverge(new(testing.T), setup, divergenceTries)
	if err != nil {
		return err
	}
	if difference == "" {
		return fmt.Errorf("seed %d ran the same way %d times in one process; its difference does not show there", setup.Seed,
			divergenceTries+1)
	}
	fmt.Fprintf(out, "seed %d of %s: %s\n", setup.Seed, setup.Implementation, difference)
	if err := keepTraces(dir, &one.Trace, &other.Trace); err != nil {
		return errors.Join(errors.New("the traces could not be kept"), err)
	}
	fmt.Fprintf(out, "both traces are in %s\n", dir)
	return nil
}
