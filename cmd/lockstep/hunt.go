package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/internal/visible"
	"github.com/lockstep-sim/lockstep/reports"
	"github.com/lockstep-sim/lockstep/scenarios"
	"github.com/lockstep-sim/lockstep/scenarios/strategy"
	"github.com/lockstep-sim/lockstep/sim"
)

// huntCommand is "hunt" with its flags.
type huntCommand struct {
	flags      searchFlags
	shrinking  shrinkFlags
	property   string
	mechanism  string
	strategies []string
	deviations int
	all        bool
	noShrink   bool
}

// huntSeeds is how many seeds a hunt tries unless it is told otherwise.
const huntSeeds = 1000

func newHunt() *cobra.Command {
	h := &huntCommand{}
	cmd := &cobra.Command{
		Use:   "hunt SCENARIO --impl NAME",
		Short: "Looks for the first seed in which a lock breaks a promise, and tells how",
		Long: `Hunt tries one seed after another until the lock breaks a promise: in the way that the scenario is about, if it
says so, or else in any way. It runs that seed again to be sure and writes a folder: the file to replay it, the
history, the trace, the verdicts, the story and the plots. Then it makes the run as small as it can, as "lockstep
shrink" does, tells that one step by step, and writes it into the folder shrunk below the first. An older folder of
the same seed is replaced.

Each seed is run with the next of several strategies, which decide when messages arrive; --strategy picks them. With
--strategy exhaustive there are no seeds: hunt goes through all schedules of a small scenario, those with the fewest
deviations from the usual one first, and tells when there is none left.

It exits 1 when it finds what it looks for, 0 when that does not show in the seeds, 2 when the seeds did not put the
lock to the test. Other promises that were broken meanwhile are listed and do not count: they were not looked for.`,
		Example: `  lockstep hunt dead-record --impl redis/getset
  lockstep hunt dead-record --impl redis/getset --find R1 --out found
  lockstep hunt paused-holder --impl redis/setnx-px --property resource --seeds 1-10000 --budget 1m`,
		Args: oneArgument("one scenario"),
		RunE: h.run,
	}
	h.flags.register(cmd, fmt.Sprintf("seeds to try, in this order, such as 1-500 (default 1-%d)", huntSeeds),
		"folder to write (default "+outputFolder+"/SCENARIO/IMPLEMENTATION/seed-N)")
	h.flags.registerBudget(cmd)
	cmd.Flags().StringSliceVar(&h.flags.implementations, "impl", nil, "the implementation to hunt; see \"lockstep list\"")
	cmd.Flags().StringVar(&h.property, "property", "",
		"look for a violation of this property only, such as mutual-exclusion")
	cmd.Flags().StringSliceVar(&h.strategies, "strategy", nil, "strategies to run the seeds with in turn: "+
		strings.Join(strategy.Names(), ", ")+" (default those that suit the scenario), or "+strategy.Exhaustive)
	cmd.Flags().IntVar(&h.deviations, "deviations", exhaustDeviations,
		"with --strategy exhaustive, how many deviations a schedule may have")
	cmd.Flags().BoolVar(&h.noShrink, "no-shrink", false, "tell the run as it was found")
	h.shrinking.register(cmd, "shrink-")
	cmd.Flags().BoolVar(&h.all, "all", false,
		"with --strategy exhaustive, go on after the first violation and count them all")
	cmd.Flags().StringVar(&h.mechanism, "find", "", "look for this mechanism only, such as R1")
	return cmd
}

func (h *huntCommand) run(cmd *cobra.Command, args []string) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	exhaustive, err := h.exhaustive(cmd)
	if err != nil {
		return err
	}
	hunt, err := h.hunt(cmd, args[0])
	if err != nil {
		return err
	}
	if exhaustive {
		return h.exhaust(cmd, hunt)
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
		writeNotFound(out, hunt, catch.Row)
		writeMarks(out, catch.Row)
		return exit(exitCode(nothingFound(catch.Row)))
	}
	return h.report(cmd, hunt, catch)
}

// writeNotFound tells that the seeds do not show what the hunt is for, and what is to be said of them besides.
func writeNotFound(out io.Writer, hunt *scenarios.Hunt, row *scenarios.Row) {
	in := fmt.Sprintf("in %s of %s with %s", count(row.Ran, "seed"), hunt.Implementation, hunt.Scenario.Name)
	broken := slices.ContainsFunc(row.Judgement.Reasons, func(reason scenarios.Reason) bool {
		return reason.Kind == scenarios.KindViolated
	})
	if wants := hunt.Wants(); broken && len(wants) > 0 {
		fmt.Fprintf(out, "%s not found %s; other promises were broken:\n", strings.Join(wants, ", "), in)
	} else {
		fmt.Fprintf(out, "nothing found %s\n", in)
	}
	for _, reason := range row.Judgement.Reasons {
		writeLine(out, "  ", reason.Text)
	}
}

// writeMarks tells how near the seeds came to where locks break, so that nobody takes a search that never came there
// for a pass.
func writeMarks(out io.Writer, row *scenarios.Row) {
	for i, mark := range strategy.AllMarks() {
		if i < len(row.Marks) {
			fmt.Fprintf(out, "  %s: in %d of %s\n", mark, row.Marks[i], count(row.Ran, "seed"))
		}
	}
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
	if err := h.shrinking.check("shrink-"); err != nil {
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
		Property: checker.Property(h.property), Mechanism: h.mechanism, Strategies: h.strategies,
		StopEarly: true,
	}, nil
}

// report runs the seed that was found again, writes its folder, shrinks it and tells the story.
func (h *huntCommand) report(cmd *cobra.Command, hunt *scenarios.Hunt, catch *scenarios.Catch) error {
	out := cmd.OutOrStdout()
	setup := scenarios.Setup{
		Scenario: hunt.Scenario, Implementation: hunt.Implementation, Seed: catch.Seed, Transport: hunt.Transport,
		Strategy: catch.Strategy, Trace: sim.Full,
	}
	folder := h.flags.out
	if folder == "" {
		folder = seedFolder(outputFolder, hunt.Scenario, hunt.Implementation, catch.Seed)
	}
	same, found, err := runAgain(setup, catch)
	if err != nil {
		return internal(fmt.Errorf("seed %d could not be run again: %w", catch.Seed, err))
	}
	choice, shows := hunt.Choose(found)
	if !same || !shows {
		fmt.Fprintf(out, "seed %d broke a promise and ran differently when it was run again\n", catch.Seed)
		if err := showDivergence(out, setup, folder); err != nil {
			fmt.Fprintf(out, "%v\n", err)
		}
		return exit(exitNotDeterministic)
	}
	story, err := h.writeFound(folder, setup, found, choice)
	if err != nil {
		return internal(err)
	}
	fmt.Fprintf(out, "found in seed %d, after %s\n", catch.Seed, count(catch.Row.Ran, "seed"))
	if n := len(catch.Row.Failures); n > 0 {
		fmt.Fprintf(out, "%s before it could not be finished\n", count(n, "seed"))
	}
	if h.noShrink {
		fmt.Fprintf(out, "\n%s\nwritten to %s\nrun it again with: %s\n", story, visible.Line(folder),
			shellWords(programName(), "replay", folder))
		return exit(exitViolation)
	}
	return h.shrink(cmd, setup, found, choice, folder)
}

// runAgain runs the seed that was found once more, in full, and tells whether it ran in the same way. A run that the
// hunt has ended at its violation has the hash of its part, so that part is run again as well.
func runAgain(setup scenarios.Setup, catch *scenarios.Catch) (same bool, found *scenarios.Outcome, err error) {
	found, err = runSetup(setup)
	if err != nil || catch.Stopped == "" {
		return err == nil && found.Hash == catch.Hash, found, err
	}
	setup.StopAt, setup.Trace = catch.StopAt, sim.HashOnly
	part, err := runSetup(setup)
	return err == nil && part.Hash == catch.Hash, found, err
}

// runSetup runs a setup; a run that could not be finished is an error.
func runSetup(setup scenarios.Setup) (*scenarios.Outcome, error) {
	outcome, err := scenarios.Run(new(testing.T), setup)
	if err == nil {
		err = outcome.Err
	}
	return outcome, err
}

// writeFound writes the folder of the run that was found and returns its story.
func (h *huntCommand) writeFound(
	folder string, setup scenarios.Setup, found *scenarios.Outcome, choice scenarios.Choice,
) (*reports.Story, error) {
	run := runOf(setup, found, choice)
	if err := reports.WriteFolder(folder, run); err != nil || h.flags.out != "" {
		return run.Story, err
	}
	place, err := filepath.Rel(outputFolder, folder)
	if err != nil {
		return nil, err
	}
	return run.Story, publish(outputFolder, place)
}

// shrink makes what was found small and tells that.
func (h *huntCommand) shrink(
	cmd *cobra.Command, setup scenarios.Setup, found *scenarios.Outcome, choice scenarios.Choice, folder string,
) error {
	out := cmd.OutOrStdout()
	setup.Plan, setup.FixedPlan, setup.Decisions = found.Plan, true, found.Decisions
	shrink := &scenarios.Shrink{Setup: setup, Property: choice.Property, Kind: choice.Violation.Kind}
	if choice.Finding != nil {
		shrink.Mechanism = choice.Finding.Mechanism.Ref
	}
	shrunk, err := h.shrinking.shrink(cmd.Context(), shrink, cmd.ErrOrStderr())
	if err != nil {
		return shrinkFailed(folder, err)
	}
	small := filepath.Join(folder, shrunkFolder)
	story, err := writeShrunk(small, shrunk)
	if err != nil {
		return internal(err)
	}
	fmt.Fprintf(out, "%s\n\n%s\n", shrinkLine(shrunk), story)
	fmt.Fprintf(out, "written to %s as it was found, and to %s\n%s", visible.Line(folder), visible.Line(small),
		shrunkHelp(small))
	return exit(exitViolation)
}
