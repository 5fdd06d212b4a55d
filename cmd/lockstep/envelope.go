package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/reports"
	"github.com/lockstep-sim/lockstep/scenarios"
	"github.com/lockstep-sim/lockstep/sim"
)

// The defaults of an envelope search.
const (
	envelopeSeeds  = 20
	envelopePoints = 11
	envelopeFile   = "envelope" // without its ending
)

// envelopeCommand is "envelope" with its flags.
type envelopeCommand struct {
	flags    searchFlags
	property string
	vary     []string
	from, to []string
	step     string
	points   []int
	paper    string
}

func newEnvelope() *cobra.Command {
	e := &envelopeCommand{}
	cmd := &cobra.Command{
		Use:   "envelope SCENARIO --impl NAME --vary MAGNITUDE --from VALUE --to VALUE",
		Short: "Looks for the size of a fault at which a lock breaks",
		Long: `Envelope varies one number of a scenario and bisects: it prints the largest value at which the property held
in every seed and the smallest at which some seed broke it, and writes the folders of both runs, held and broke, with
a table of all values that were tried. It tries some values on both sides of the bound too, and says when these do not
fit it.

A MAGNITUDE is a fault with ? in the place of its number, such as "clock c2 offset +?" or "pause c1 for ? at 2s". It
takes the place of the scenario's fault for the same machine and moment, or comes to its faults. Short names are
"skew NODE", "drift NODE", "pause NODE" (the pause that the scenario has), "lease" and "latency".

With two magnitudes, each with its --from and --to, it runs all seeds for every pair of values and draws a phase
diagram: envelope.svg, envelope.png and the data, envelope.csv. An older folder is replaced. With --paper the bound that
follows on paper is drawn in, as a formula of the second magnitude.

It exits 0 when it has an answer, and 2 when there is more than one bound, or what was run did not put the property to
the test.`,
		Example: `  lockstep envelope envelope-clock --impl redis/getset --vary "clock timeserver step +? at 1s" \
      --from 0s --to 20s
  lockstep envelope envelope-pause --impl 'redis/setnx-px!no-validity-check' --vary "pause c1" --from 0s --to 10s \
      --vary lease --from 1s --to 10s --paper 'lease - 496ms'`,
		Args: oneArgument("one scenario"),
		RunE: e.run,
	}
	e.flags.register(cmd, fmt.Sprintf("seeds to run at each value, such as 1-50 (default 1-%d)", envelopeSeeds),
		"folder to write (default "+outputFolder+"/SCENARIO/IMPLEMENTATION/envelope)")
	flags := cmd.Flags()
	flags.StringSliceVar(&e.flags.implementations, "impl", nil, "the implementation; see \"lockstep list\"")
	flags.StringArrayVar(&e.vary, "vary", nil, "what to vary; given twice for a phase diagram")
	flags.StringArrayVar(&e.from, "from", nil, "the least value; one for each --vary, in their order")
	flags.StringArrayVar(&e.to, "to", nil, "the greatest value; one for each --vary, in their order")
	flags.StringVar(&e.step, "step", "",
		"how near the two sides of the bound come (default at most a ten-thousandth of the span)")
	flags.IntSliceVar(&e.points, "points", []int{envelopePoints}, "values of each magnitude in a phase diagram")
	flags.StringVar(&e.paper, "paper", "",
		"in a phase diagram, the bound of the first magnitude by the second, such as 'lease - 496ms'")
	flags.StringVar(&e.property, "property", string(checker.MutualExclusion), "the property that must hold")
	return cmd
}

// envelopePlan is what the flags say.
type envelopePlan struct {
	search scenarios.Envelope
	axes   []scenarios.Axis
	folder string
	paper  *reports.PhaseBound // nil = none
}

func (e *envelopeCommand) run(cmd *cobra.Command, args []string) error {
	plan, err := e.plan(cmd, args[0])
	if err != nil {
		return err
	}
	for _, axis := range plan.axes {
		for _, fault := range axis.Magnitude.Beside(plan.search.Scenario, plan.search.Implementation) {
			fmt.Fprintf(cmd.ErrOrStderr(),
				"the scenario's own %q stays beside %q; vary that one, or take a scenario without it\n", fault, axis.Magnitude)
		}
	}
	bar := newProgress(cmd.ErrOrStderr(), "searching")
	plan.search.Progress = bar.seeds
	if len(plan.axes) == 2 {
		cells, err := plan.search.Grid(cmd.Context(), plan.axes[0], plan.axes[1])
		bar.end()
		if err != nil {
			return envelopeFailed(cmd.Context(), err)
		}
		return plan.diagram(cmd.OutOrStdout(), cells)
	}
	bound, err := plan.search.Bisect(cmd.Context(), plan.axes[0])
	bar.end()
	if err != nil {
		return envelopeFailed(cmd.Context(), err)
	}
	return plan.report(cmd.OutOrStdout(), bound)
}

// envelopeFailed tells an interrupt from a mistake.
func envelopeFailed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &exitError{exitUnknown, err.Error()}
	}
	return err
}

// plan reads the flags and loads the scenario.
func (e *envelopeCommand) plan(cmd *cobra.Command, word string) (*envelopePlan, error) {
	s, err := e.flags.read(cmd)
	if err != nil {
		return nil, err
	}
	names, err := checkImplementations(e.flags.implementations)
	if err != nil {
		return nil, err
	}
	if len(names) != 1 {
		return nil, usage("want one implementation, such as --impl redis/getset, not %d", len(names))
	}
	scenario, err := scenarios.Load(word)
	if err != nil {
		return nil, err
	}
	if len(s.seeds) == 0 {
		s.seeds = scenarios.SeedsUpTo(envelopeSeeds)
	}
	plan := &envelopePlan{
		search: scenarios.Envelope{
			Scenario: scenario, Implementation: names[0], Seeds: s.seeds, Transport: s.transport, Workers: s.workers,
			Property: checker.Property(e.property),
		},
		folder: e.flags.out,
	}
	if plan.folder == "" {
		plan.folder = filepath.Join(outputFolder, scenario.Name, fileName(names[0]), envelopeFile)
	}
	if err := checkFolder(plan.folder); err != nil {
		return nil, usage("--out: %w", err)
	}
	if plan.axes, err = e.axes(cmd, scenario, names[0]); err != nil || e.paper == "" {
		return plan, err
	}
	if len(plan.axes) != 2 {
		return nil, usage("--paper goes with two magnitudes only")
	}
	plan.paper, err = parsePaper(e.paper, plan.axes[0], plan.axes[1])
	return plan, err
}

// axes reads what is to be varied.
func (e *envelopeCommand) axes(
	cmd *cobra.Command, s *scenarios.Scenario, implementation string,
) ([]scenarios.Axis, error) {
	if n := len(e.vary); n < 1 || n > 2 {
		return nil, usage("want one --vary, or two for a phase diagram, not %d", n)
	}
	if len(e.from) != len(e.vary) || len(e.to) != len(e.vary) {
		return nil, usage("want a --from and a --to for each --vary, not %d and %d for %d", len(e.from), len(e.to),
			len(e.vary))
	}
	switch {
	case len(e.points) > 2:
		return nil, usage("--points: want one number, or one for each --vary")
	case len(e.vary) == 1 && cmd.Flags().Changed("points"):
		return nil, usage("--points goes with two magnitudes only; one is bisected, to --step")
	case len(e.vary) == 2 && cmd.Flags().Changed("step"):
		return nil, usage("--step goes with one magnitude only; for two there is --points")
	}
	var axes []scenarios.Axis
	for i, text := range e.vary {
		m, err := scenarios.ParseMagnitude(text, s, implementation)
		if err != nil {
			return nil, usage("--%w", err)
		}
		axis := scenarios.Axis{Magnitude: m, Points: e.points[min(i, len(e.points)-1)]}
		for _, value := range []struct {
			flag, text string
			into       *int64
		}{{"from", e.from[i], &axis.From}, {"to", e.to[i], &axis.To}, {"step", e.step, &axis.Step}} {
			if value.text == "" {
				continue
			}
			if *value.into, err = m.ParseValue(value.text); err != nil {
				return nil, usage("--%s: %w", value.flag, err)
			}
		}
		if cmd.Flags().Changed("step") && axis.Step <= 0 {
			return nil, usage("--step %q: want a step above zero, such as 1ms", e.step)
		}
		const mostPoints = 100
		if axis.Points < 2 || axis.Points > mostPoints {
			return nil, usage("--points %d: want 2 to %d", axis.Points, mostPoints)
		}
		axes = append(axes, axis)
	}
	return axes, nil
}

// report writes what a bisection has found.
func (p *envelopePlan) report(out io.Writer, bound *scenarios.Bound) error {
	m, seeds := p.axes[0].Magnitude, count(p.search.Seeds.Len(), "seed")
	fmt.Fprintf(out, "%s of %s with %s, against %s, %s at each value:\n", p.search.Property, p.search.Implementation,
		p.search.Scenario.Name, m, seeds)
	for _, side := range []struct {
		name, verb string
		probe      *scenarios.Probe
	}{{"held", "holds up to", bound.Held}, {"broke", "breaks from", bound.Broke}} {
		if side.probe == nil {
			continue
		}
		fmt.Fprintf(out, "  %s %s", side.verb, m.ValueText(side.probe.Value))
		if side.probe.Broke {
			fmt.Fprintf(out, " (seed %d)", side.probe.Seed)
		}
		folder := filepath.Join(p.folder, side.name)
		if err := p.keep(folder, side.probe); err != nil {
			return internal(err)
		}
		fmt.Fprintf(out, ", run it with: %s\n", shellWords(programName(), "replay", folder))
	}
	code := exitExpected
	switch {
	case bound.Broke == nil:
		fmt.Fprintf(out, "nothing breaks it up to %s\n", m.ValueText(p.axes[0].To))
	case bound.Held == nil:
		fmt.Fprintf(out, "it breaks at %s already, the least value\n", m.ValueText(p.axes[0].From))
	}
	if n := len(bound.Against); n > 0 {
		first := bound.Against[0]
		fmt.Fprintf(out, "there is more than one bound, or the seeds are too few: it holds at %s again (and at %s more)\n",
			m.ValueText(first.Value), count(n-1, "value"))
		code = exitUnknown
	}
	table := filepath.Join(p.folder, envelopeFile+".csv")
	if err := replaceText(table, p.table(bound)); err != nil {
		return internal(err)
	}
	if err := publishFigures(p.folder); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s tried, all in %s\n", count(len(bound.Probes), "value"), table)
	return exit(code)
}

// table lists all values that were tried.
func (p *envelopePlan) table(bound *scenarios.Bound) string {
	text := "value,seeds,broke,seed\n"
	for _, probe := range bound.Probes {
		seed := ""
		if probe.Broke {
			seed = strconv.FormatUint(probe.Seed, 10)
		}
		text += fmt.Sprintf("%s,%d,%t,%s\n", p.axes[0].Magnitude.ValueText(probe.Value), probe.Ran, probe.Broke, seed)
	}
	return text
}

// keep writes the folder of one value's run.
func (p *envelopePlan) keep(folder string, probe *scenarios.Probe) error {
	if err := checkReplaceable(folder); err != nil {
		return err
	}
	setup := scenarios.Setup{
		Scenario: probe.Scenario, Implementation: p.search.Implementation, Seed: probe.Seed, Transport: p.search.Transport,
		Strategy: p.search.Strategy(), Trace: sim.Full,
	}
	outcome, err := runSetup(setup)
	if err != nil {
		return err
	}
	choice, shows := outcome.Choose(p.search.Property, "")
	if shows != probe.Broke {
		return fmt.Errorf("seed %d ran differently when it was run again", probe.Seed)
	}
	if probe.Broke {
		return reports.WriteFolder(folder, runOf(setup, outcome, choice))
	}
	return reports.WriteFolder(folder, heldRunOf(setup, outcome, p.search.Property))
}

// diagram writes a phase diagram.
func (p *envelopePlan) diagram(out io.Writer, cells []scenarios.Cell) error {
	axis := func(a scenarios.Axis) reports.PhaseAxis {
		return reports.PhaseAxis{Name: a.Magnitude.String(), Duration: a.Magnitude.Duration()}
	}
	phase := &reports.Phase{
		Scenario: p.search.Scenario.Name, Implementation: p.search.Implementation, Property: string(p.search.Property),
		X: axis(p.axes[0]), Y: axis(p.axes[1]), Paper: p.paper,
	}
	broken, violated, untested, runs := 0, 0, 0, 0
	for _, cell := range cells {
		phase.Cells = append(phase.Cells, reports.PhaseCell{
			X: cell.X, Y: cell.Y, Seeds: cell.Ran, Violated: cell.Violated, Untested: cell.Untested,
		})
		if cell.Violated > 0 {
			broken++
		}
		violated, untested, runs = violated+cell.Violated, untested+cell.Untested, runs+cell.Ran
	}
	figure, err := reports.PhasePlot(phase)
	if err != nil {
		return internal(err)
	}
	if err := reports.WriteFigure(p.folder, envelopeFile, figure); err != nil {
		return internal(err)
	}
	if err := publishFigures(p.folder); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s of %s with %s: %d of %d pairs of values broke it, in %d of %d runs\n", p.search.Property,
		p.search.Implementation, p.search.Scenario.Name, broken, len(cells), violated, runs)
	fmt.Fprintf(out, "written to %s as %[2]s.csv, %[2]s.svg and %[2]s.png\n", p.folder, envelopeFile)
	if untested == runs {
		fmt.Fprintf(out, "no run put %s to the test\n", p.search.Property)
		return exit(exitUnknown)
	}
	return nil
}
