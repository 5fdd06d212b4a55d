package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/lockstep-sim/lockstep/scenarios"
	"github.com/lockstep-sim/lockstep/scenarios/strategy"
	"github.com/lockstep-sim/lockstep/sim"
)

// exhaustDeviations is how many deviations a schedule may have unless it is told otherwise.
const exhaustDeviations = 3

// exhaustive reads --strategy and tells whether it asks for all schedules instead of seeds.
func (h *huntCommand) exhaustive(cmd *cobra.Command) (bool, error) {
	exhaustive := slices.Equal(h.strategies, []string{strategy.Exhaustive})
	if cmd.Flags().Changed("strategy") && len(h.strategies) == 0 {
		return false, usage("--strategy: want one of %s, or %s alone", strings.Join(strategy.Names(), ", "),
			strategy.Exhaustive)
	}
	for _, name := range h.strategies {
		if err := strategy.Check(name); err != nil && !exhaustive {
			return false, usage("--strategy: %w, or %s alone", err, strategy.Exhaustive)
		}
	}
	flags := cmd.Flags()
	switch {
	case exhaustive && (flags.Changed("seeds") || flags.Changed("jobs")):
		return false, usage("--seeds and --jobs do not go with --strategy %s: it runs schedules, one after the other",
			strategy.Exhaustive)
	case !exhaustive && (flags.Changed("deviations") || flags.Changed("all")):
		return false, usage("--deviations and --all go with --strategy %s only", strategy.Exhaustive)
	case h.deviations < 0:
		return false, usage("--deviations %d: want a number from 0 on", h.deviations)
	}
	return exhaustive, nil
}

// exhaust goes through all schedules and reports the first that breaks a promise.
func (h *huntCommand) exhaust(cmd *cobra.Command, hunt *scenarios.Hunt) error {
	enough, cancel := h.flags.enough(cmd.Context())
	defer cancel()
	bar := newProgress(cmd.ErrOrStderr(), "running schedules")
	x := &scenarios.Exhaust{
		Scenario: hunt.Scenario, Implementation: hunt.Implementation, Transport: hunt.Transport,
		Property: hunt.Property, Mechanism: hunt.Mechanism, Deviations: h.deviations, All: h.all, Enough: enough,
		Progress: bar.schedules,
	}
	result, err := x.Run(cmd.Context(), new(testing.T))
	bar.end()
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	writeExhausted(out, result)
	if result.Found == nil {
		if !result.Complete {
			return exit(exitUnknown)
		}
		return exit(exitCode(result.Conclusion()))
	}
	setup := result.FoundIn
	setup.Trace = sim.Full
	found, err := runSetup(setup)
	if err != nil {
		return internal(fmt.Errorf("the schedule that was found could not be run again: %w", err))
	}
	choice, shows := found.Choose(x.Property, x.Mechanism)
	if found.Hash != result.Found.Hash || !shows {
		fmt.Fprintln(out, "the schedule that was found ran differently when it was run again")
		return exit(exitNotDeterministic)
	}
	folder := h.flags.out
	if folder == "" {
		folder = scheduleFolder(outputFolder, hunt.Scenario, hunt.Implementation)
	}
	story, err := h.writeFound(folder, setup, found, choice)
	if err != nil {
		return internal(err)
	}
	if h.noShrink {
		fmt.Fprintf(out, "\n%s\nwritten to %s\nrun it again with: %s\n", story, folder,
			shellWords(programName(), "replay", folder))
		return exit(exitViolation)
	}
	return h.shrink(cmd, setup, found, choice, folder)
}

// writeExhausted tells how many schedules were run and what came out.
func writeExhausted(out io.Writer, r *scenarios.Exhausted) {
	extent := fmt.Sprintf("up to %s", count(r.Deviations, "deviation"))
	switch {
	case r.Unbounded:
		extent += "; there is none with more"
	case !r.Complete:
		extent += ", and there are more"
	}
	fmt.Fprintf(out, "%s run with %s; %d of them led to what another had led to\n", count(r.Runs, "schedule"), extent,
		r.Pruned)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "PROPERTY\tHOLDS\tVIOLATED\tUNKNOWN")
	for _, p := range r.Properties {
		if p.Holds+p.Violated+p.Unknown > 0 {
			fmt.Fprintf(table, "%s\t%d\t%d\t%d\n", p.Property, p.Holds, p.Violated, p.Unknown)
		}
	}
	table.Flush()
}
