package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/jonboulle/clockwork"
	"github.com/spf13/cobra"

	"github.com/lockstep-sim/lockstep/scenarios"
)

// runCommand is "run" with its flags and arguments.
type runCommand struct {
	flags  searchFlags
	twice  bool
	pinned string                         // folder of replay files
	words  map[*scenarios.Scenario]string // how the user named each scenario
}

func newRun() *cobra.Command {
	r := &runCommand{words: map[*scenarios.Scenario]string{}}
	cmd := &cobra.Command{
		Use:   "run [SCENARIO...]",
		Short: "Runs scenarios and holds the results against what they expect",
		Long: `Run is the gate: it runs scenarios against the implementations that they state an expectation for, many seeds
each, and fails when something differs. What a scenario says must be found has to be found, and nothing else may be
violated. A SCENARIO is a name from "lockstep list" or the path of a YAML file; without one, all that come with
lockstep are run.

Before anything else it runs the replay files that are pinned: those below the folder scenarios, or --pinned. A file as
hunt or shrink wrote it says what must be seen; with "holds" in the place of "violated" it says what must not be seen
any more.

The last line says how many rows of the table passed and failed, the one before it a hash over all runs: the same
program gives the same hash on every machine. FOUND and VIOLATED name the first seed of each: R1@3 is mechanism R1 in
seed 3.

` + exitHelp,
		Example: `  lockstep run
  lockstep run dead-record ./mine.yaml --seeds 1-500
  lockstep run --impl redis/getset-repaired --transport wire
  lockstep run --twice --seeds 1-100`,
		RunE: r.run,
	}
	r.flags.register(cmd, "seeds to run, such as 1-500, 7 or 1-50,100-120 (default as many as each expectation needs)",
		"folder for the traces of seeds that do not run the same way twice (default "+outputFolder+")")
	cmd.Flags().StringSliceVar(&r.flags.implementations, "impl", nil,
		"implementation to run, several with commas (default those that the scenario names)")
	cmd.Flags().BoolVar(&r.twice, "twice", false,
		"run every seed twice and compare; otherwise only those that are reported")
	registerPinned(cmd, &r.pinned)
	return cmd
}

func (r *runCommand) run(cmd *cobra.Command, args []string) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	campaign, err := r.campaign(cmd, args)
	if err != nil {
		return err
	}
	pinned, err := playPinned(cmd, r.pinned, campaign.Implementations, out)
	if err != nil {
		return err
	}
	enough, cancel := r.flags.enough(ctx)
	defer cancel()
	campaign.Enough = enough
	p := newProgress(cmd.ErrOrStderr(), "running")
	campaign.Progress = func(now scenarios.Progress) {
		p.seeds(now.Done, now.All)
		if now.Finished != nil {
			p.row(now.Finished)
		}
	}
	rows, err := campaign.Run(ctx)
	p.end()
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return &exitError{
			exitNothingRan, "nothing ran: the scenario states no expectation; name an implementation with --impl",
		}
	}
	writeTable(out, rows)
	r.writeNotes(out, rows)
	for _, row := range rows {
		if len(row.Unstable) > 0 {
			r.divergence(ctx, out, row)
		}
	}
	passed, seeds := pinned.passed, 0
	for _, row := range rows {
		seeds += row.Ran
		if row.Judgement.Conclusion == scenarios.AsExpected {
			passed++
		}
	}
	fmt.Fprintf(out, "\n%s, hash %016x\n", count(seeds, "seed"), scenarios.Hash(rows))
	fmt.Fprintf(out, "%d passed, %d failed\n", passed, len(rows)+pinned.passed+pinned.failed-passed)
	conclusion := scenarios.Conclude(rows)
	if pinned.failed > 0 {
		conclusion = max(conclusion, scenarios.Unexpected)
	}
	return exit(exitCode(conclusion))
}

// campaign reads the flags and loads the scenarios.
func (r *runCommand) campaign(cmd *cobra.Command, args []string) (*scenarios.Campaign, error) {
	s, err := r.flags.read(cmd)
	if err != nil {
		return nil, err
	}
	c := &scenarios.Campaign{
		Seeds: s.seeds, Transport: s.transport, Workers: s.workers, Twice: r.twice, Clock: clockwork.NewRealClock(),
	}
	if c.Implementations, err = checkImplementations(r.flags.implementations); err != nil {
		return nil, err
	}
	if len(args) == 0 {
		c.Scenarios = scenarios.Library()
	}
	for _, word := range args {
		scenario, err := scenarios.Load(word)
		if err != nil {
			return nil, err
		}
		r.words[scenario] = word
		c.Scenarios = append(c.Scenarios, scenario)
	}
	if cmd.Flags().Changed("out") {
		if err := checkFolder(r.flags.out); err != nil {
			return nil, usage("--out: %w", err)
		}
	} else {
		r.flags.out = outputFolder
	}
	return c, nil
}

// word is how the user names a scenario.
func (r *runCommand) word(s *scenarios.Scenario) string {
	if word := r.words[s]; word != "" {
		return word
	}
	return s.Name
}

// writeNotes says what is the matter with each row that did not come out as expected, and how to see it.
func (r *runCommand) writeNotes(out io.Writer, rows []*scenarios.Row) {
	for _, row := range rows {
		if len(row.Judgement.Reasons) == 0 {
			continue
		}
		fmt.Fprintf(out, "\n%s, %s: %s\n", r.word(row.Scenario), row.Implementation, row.Judgement.Conclusion)
		for _, reason := range row.Judgement.Reasons {
			fmt.Fprintf(out, "  %s\n", reason.Text)
			if len(reason.Seeds) > 0 {
				fmt.Fprintf(out, "    %s\n", r.reproduce(row, reason))
			}
		}
	}
}

// reproduce is the command that shows what a reason is about.
func (r *runCommand) reproduce(row *scenarios.Row, reason scenarios.Reason) string {
	words := []string{programName(), "run", r.word(row.Scenario)}
	if reason.Property != "" {
		words[1] = "hunt"
	}
	words = append(words, "--impl", row.Implementation, "--seeds", reason.Seeds.String())
	if reason.Property != "" {
		words = append(words, "--property", string(reason.Property), "--strategy", row.Strategy)
	}
	if row.Transport != scenarios.Direct {
		words = append(words, "--transport", string(row.Transport))
	}
	if reason.Conclusion == scenarios.NotDeterministic {
		words = append(words, "--twice")
	}
	return shellWords(words...)
}

// divergence shows where two runs of the first unstable seed of a row part and keeps both traces.
func (r *runCommand) divergence(ctx context.Context, out io.Writer, row *scenarios.Row) {
	if ctx.Err() != nil {
		return
	}
	setup := scenarios.Setup{
		Scenario: row.Scenario, Implementation: row.Implementation, Seed: row.Unstable[0], Transport: row.Transport,
	}
	fmt.Fprintln(out)
	dir := seedFolder(r.flags.out, row.Scenario, row.Implementation, setup.Seed)
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
