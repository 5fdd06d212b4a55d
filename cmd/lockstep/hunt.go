package main

import (
	"fmt"
	"testing"

	"github.com/spf13/cobra"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/reports"
	"github.com/lockstep-sim/lockstep/scenarios"
	"github.com/lockstep-sim/lockstep/sim"
)

// huntCommand is "hunt" with its flags.
type huntCommand struct {
	flags     searchFlags
	property  string
	mechanism string
}

// huntSeeds is how many seeds a hunt tries unless it is told otherwise.
const huntSeeds = 1000

func newHunt() *cobra.Command {
	h := &huntCommand{}
	cmd := &cobra.Command{
		Use:   "hunt SCENARIO --impl NAME",
		Short: "Looks for the first seed in which a lock breaks a promise, and tells how",
		Long: `Hunt tries one seed after another until the lock breaks a promise: in the way that the scenario is about, if it
says so, or else in any way. It runs that seed again to be sure, tells step by step how it came about, and writes a
folder: the file to replay it, the history, the trace, the verdicts, the story and the plots. An older folder of the
same seed is replaced.

It exits 1 when a violation is found, 0 when there is none in the seeds, 2 when the seeds did not put the lock to
the test.`,
		Example: `  lockstep hunt dead-record --impl redis/getset
  lockstep hunt dead-record --impl redis/getset --find R1 --out found
  lockstep hunt paused-holder --impl redis/setnx-px --property resource --seeds 1-10000 --budget 1m`,
		Args: oneArgument("one scenario"),
		RunE: h.run,
	}
	h.flags.register(cmd, fmt.Sprintf("seeds to try, in this order, such as 1-500 (default 1-%d)", huntSeeds),
		"folder to write (default "+outputFolder+"/SCENARIO/IMPLEMENTATION/seed-N)")
	cmd.Flags().StringSliceVar(&h.flags.implementations, "impl", nil, "the implementation to hunt; see \"lockstep list\"")
	cmd.Flags().StringVar(&h.property, "property", "",
		"look for a violation of this property only, such as mutual-exclusion")
	cmd.Flags().StringVar(&h.mechanism, "find", "", "look for this mechanism only, such as R1")
	return cmd
}

func (h *huntCommand) run(cmd *cobra.Command, args []string) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	hunt, err := h.hunt(cmd, args[0])
	if err != nil {
		return err
	}
	enough, cancel := h.flags.enough(ctx)
	defer cancel()
	hunt.Enough = enough
	p := newProgress(cmd.ErrOrStderr(), "hunting")
	hunt.Progress = p.seeds
	catch, err := hunt.Run(ctx)
	p.end()
	if err != nil {
		return err
	}
	if !catch.Found {
		fmt.Fprintf(out, "nothing found in %s of %s with %s\n", count(catch.Row.Ran, "seed"), hunt.Implementation,
			hunt.Scenario.Name)
		for _, reason := range catch.Row.Judgement.Reasons {
			fmt.Fprintf(out, "  %s\n", reason.Text)
		}
		return exit(exitCode(nothingFound(catch.Row)))
	}
	return h.report(cmd, hunt, catch, args[0])
}

// nothingFound is the conclusion of a hunt that has found nothing. What was violated besides was not hunted for.
func nothingFound(row *scenarios.Row) scenarios.Conclusion {
	conclusion := scenarios.AsExpected
	for _, reason := range row.Judgement.Reasons {
		if reason.Conclusion != scenarios.Violation && reason.Conclusion != scenarios.Unexpected {
			conclusion = max(conclusion, reason.Conclusion)
		}
	}
	return conclusion
}

// hunt reads the flags and loads the scenario.
func (h *huntCommand) hunt(cmd *cobra.Command, word string) (*scenarios.Hunt, error) {
	s, err := h.flags.read(cmd)
	if err != nil {
		return nil, err
	}
	names, err := checkImplementations(h.flags.implementations)
	if err != nil {
		return nil, err
	}
	scenario, err := scenarios.Load(word)
	if err != nil {
		return nil, err
	}
	if len(names) != 1 {
		return nil, usage("want one implementation, such as --impl redis/getset, not %d", len(names))
	}
	if len(s.seeds) == 0 {
		s.seeds = scenarios.SeedsUpTo(huntSeeds)
	}
	folder := h.flags.out
	if folder == "" {
		folder = outputFolder
	} else if err := checkReplaceable(folder); err != nil {
		return nil, usage("--out: %w", err)
	}
	if err := checkFolder(folder); err != nil {
		return nil, usage("--out: %w", err)
	}
	return &scenarios.Hunt{
		Scenario: scenario, Implementation: names[0], Seeds: s.seeds, Transport: s.transport, Workers: s.workers,
		Property: checker.Property(h.property), Mechanism: h.mechanism,
	}, nil
}

// report runs the seed that was found again, writes its folder and tells the story.
func (h *huntCommand) report(cmd *cobra.Command, hunt *scenarios.Hunt, catch *scenarios.Catch, word string) error {
	out := cmd.OutOrStdout()
	setup := scenarios.Setup{
		Scenario: hunt.Scenario, Implementation: hunt.Implementation, Seed: catch.Seed, Transport: hunt.Transport,
		Trace: sim.Full,
	}
	folder := h.flags.out
	if folder == "" {
		folder = seedFolder(outputFolder, hunt.Scenario, hunt.Implementation, catch.Seed)
	}
	found, err := scenarios.Run(new(testing.T), setup)
	if err == nil {
		err = found.Err
	}
	if err != nil {
		return internal(fmt.Errorf("seed %d could not be run again: %w", catch.Seed, err))
	}
	choice, shows := hunt.Choose(found)
	if found.Hash != catch.Hash || !shows {
		fmt.Fprintf(out, "seed %d broke a promise and ran differently when it was run again\n", catch.Seed)
		if err := showDivergence(out, setup, folder); err != nil {
			fmt.Fprintf(out, "%v\n", err)
		}
		return exit(exitNotDeterministic)
	}
	replay := scenarios.ReplayOf(setup, found, choice)
	replay.Program = programVersion()
	story := reports.Tell(&found.History, choice.Property, choice.Violation, choice.Finding)
	run := reports.Run{
		History: &found.History, Verdicts: found.Verdicts, Findings: found.Mechanisms, Trace: found.Trace.WriteJSONL,
		Replay: replay.String(), Hash: found.Hash, Story: &story,
	}
	if hunt.Scenario.Source != "" {
		run.Scenario = hunt.Scenario.Text
	}
	if err := reports.WriteFolder(folder, run); err != nil {
		return internal(err)
	}
	fmt.Fprintf(out, "found in seed %d, after %s\n\n%s\n", catch.Seed, count(catch.Row.Ran, "seed"), story.String())
	if n := len(catch.Row.Failures); n > 0 {
		fmt.Fprintf(out, "%s before it could not be finished\n", count(n, "seed"))
	}
	fmt.Fprintf(out, "written to %s\nrun it again with: %s\n", folder, shellWords(programName(), "replay", folder))
	return exit(exitViolation)
}
