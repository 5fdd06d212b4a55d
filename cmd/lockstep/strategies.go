package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/spf13/cobra"

	"github.com/lockstep-sim/lockstep/reports"
	"github.com/lockstep-sim/lockstep/scenarios"
	"github.com/lockstep-sim/lockstep/scenarios/strategy"
)

// strategiesFile is the name of the files that are written, without its ending.
const strategiesFile = "strategies"

// strategiesCommand is "strategies" with its flags.
type strategiesCommand struct {
	implementations []string
	strategies      []string
	ranges, most    int
	out             string
}

func newStrategies() *cobra.Command {
	s := &strategiesCommand{}
	cmd := &cobra.Command{
		Use:   "strategies [SCENARIO...]",
		Short: "Measures how many seeds each strategy takes to find what must be found",
		Long: `Strategies takes what scenarios say must be found and looks for it with one strategy after another, in several
ranges of seeds. It prints the median number of seeds and the median time on one processor until each thing was found,
and writes the table as strategies.csv with a plot, strategies.svg and strategies.png, into a folder. Older files of
these names are replaced. A number behind a star (*) was not reached in most ranges: nothing was found there.

The strategies:
  uniform    messages take what the seed draws
  swarm      the same, and each seed leaves some kinds of faults out
  pct        messages of a client with a higher priority come first; priorities change at a few points
  deadline   requests land at the ends of leases, and between what another client reads and writes
  portfolio  all of these in turn, as hunt does`,
		Example: `  lockstep strategies
  lockstep strategies race-unlock --ranges 5 --most 5000
  lockstep strategies dead-record paused-holder --impl redis/getset --strategy uniform,deadline`,
		RunE: s.run,
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&s.implementations, "impl", nil, "implementation to search, several with commas (default all)")
	flags.StringSliceVar(&s.strategies, "strategy", append(strategy.Names(), scenarios.PortfolioName),
		"strategies to compare")
	flags.IntVar(&s.ranges, "ranges", 20, "how many ranges of seeds to search")
	flags.IntVar(&s.most, "most", 2000, "how many seeds a range has")
	flags.StringVar(&s.out, "out", "", "folder to write (default "+filepath.ToSlash(strategiesFolder())+")")
	return cmd
}

// strategiesFolder is what is written without --out.
func strategiesFolder() string { return filepath.Join(outputFolder, strategiesFile) }

func (s *strategiesCommand) run(cmd *cobra.Command, args []string) error {
	efforts, folder, err := s.efforts(cmd, args)
	if err != nil {
		return err
	}
	bar := newProgress(cmd.ErrOrStderr(), "searching")
	efforts.Progress = bar.seeds
	found, err := efforts.Run(cmd.Context(), new(testing.T))
	bar.end()
	if err != nil {
		return internal(err)
	}
	if err := interrupted(cmd.Context()); err != nil {
		return err
	}
	if len(found) == 0 {
		return &exitError{exitNothingRan, "nothing ran: the scenarios name nothing that must be found"}
	}
	points := make([]reports.EffortPoint, len(found))
	for i, e := range found {
		points[i] = reports.EffortPoint(e)
	}
	figure, err := reports.EffortPlot(points...)
	if err == nil {
		err = reports.WriteFigure(folder, strategiesFile, figure)
	}
	if err != nil {
		return internal(err)
	}
	if err := publishFigures(folder); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	writeEfforts(out, efforts.Strategies, points)
	fmt.Fprintf(out, "\nwritten to %s as %[2]s.csv, %[2]s.svg and %[2]s.png\n", folder, strategiesFile)
	return nil
}

// interrupted is the error of a command that was broken off with nothing written.
func interrupted(ctx context.Context) error {
	if ctx.Err() != nil {
		return &exitError{exitUnknown, "interrupted; nothing is written"}
	}
	return nil
}

// efforts reads the flags and loads the scenarios.
func (s *strategiesCommand) efforts(cmd *cobra.Command, args []string) (*scenarios.Efforts, string, error) {
	e := &scenarios.Efforts{Strategies: s.strategies, Ranges: s.ranges, Most: s.most, Clock: clockwork.NewRealClock()}
	var err error
	if e.Implementations, err = checkImplementations(s.implementations); err != nil {
		return nil, "", err
	}
	for _, name := range s.strategies {
		if err := strategy.Check(name); err != nil && name != scenarios.PortfolioName {
			return nil, "", usage("--strategy: %w, %s", err, scenarios.PortfolioName)
		}
	}
	if s.ranges < 1 || s.most < 1 {
		return nil, "", usage("--ranges %d --most %d: want numbers above zero", s.ranges, s.most)
	}
	if len(args) == 0 {
		e.Scenarios = scenarios.Library()
	}
	for _, word := range args {
		scenario, err := scenarios.Load(word)
		if err != nil {
			return nil, "", err
		}
		e.Scenarios = append(e.Scenarios, scenario)
	}
	folder := strategiesFolder()
	if cmd.Flags().Changed("out") {
		if folder = s.out; s.out == "" {
			return nil, "", usage("--out: want the name of a folder")
		}
	}
	if err := checkFolder(folder); err != nil {
		return nil, "", usage("--out: %w", err)
	}
	return e, folder, nil
}

// writeEfforts writes one line for each thing to be found, with a column for each strategy.
func writeEfforts(out io.Writer, strategies []string, points []reports.EffortPoint) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "SCENARIO\tIMPLEMENTATION\tFIND\t%s\n", strings.ToUpper(strings.Join(strategies, "\t")))
	for first := 0; first < len(points); first += len(strategies) {
		p := points[first]
		fmt.Fprintf(table, "%s\t%s\t%s", p.Scenario, p.Implementation, p.What)
		for _, p := range points[first:min(first+len(strategies), len(points))] {
			mark := ""
			if 2*p.Missed >= p.Ranges {
				mark = "*"
			}
			fmt.Fprintf(table, "\t%s%d in %s", mark, p.Seeds, p.Time.Round(100*time.Microsecond))
		}
		fmt.Fprintln(table)
	}
	table.Flush()
}
