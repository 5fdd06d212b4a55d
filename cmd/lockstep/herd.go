package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/lockstep-sim/lockstep/reports"
	"github.com/lockstep-sim/lockstep/scenarios"
)

// The scenario that a herd is measured in, and the numbers of clients that are tried.
const (
	herdScenario = "zk-herd"
	herdClients  = "2,5,10,20,50,100,200"
	herdFile     = "herd" // without its ending
)

// herdCommand is "herd" with its flags.
type herdCommand struct {
	implementations []string
	clients         string
	seed            string
	out             string
}

func newHerd() *cobra.Command {
	h := &herdCommand{}
	cmd := &cobra.Command{
		Use:   "herd",
		Short: "Measures what a hand-over costs the server when many wait for the lock",
		Long: `Herd lets a crowd of clients wait for one lock and get it one after another, in the scenario zk-herd, with more
and more of them. It counts what the server has to do from the first release to the last grant: requests and
wake-ups for each hand-over, and how long one takes. It prints a table and writes it as herd.csv with a plot,
herd.svg and herd.png, into a folder. Older files of these names are replaced.

A polling lock trades one for the other: a shorter pause between two attempts hands over sooner and asks more often.

It exits 0 when all was measured. Where not every client got the lock in its turn there is nothing to measure: it
exits 2 and writes nothing.`,
		Example: `  lockstep herd
  lockstep herd --impl zk/polling,zk/fair-repaired --clients 2,10,100
  lockstep herd --clients 500 --seed 7 --out crowd`,
		Args: noArguments,
		RunE: h.run,
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&h.implementations, "impl", nil,
		"implementation to measure, several with commas (default those that the scenario names)")
	flags.StringVar(&h.clients, "clients", herdClients, fmt.Sprintf("numbers of clients, each from %d to %d",
		scenarios.LeastHerd, scenarios.MostHerd))
	flags.StringVar(&h.seed, "seed", "1", "the seed of all runs")
	flags.StringVar(&h.out, "out", "", "folder to write (default "+filepath.ToSlash(herdFolder())+")")
	return cmd
}

// herdFolder is what is written without --out.
func herdFolder() string { return filepath.Join(outputFolder, herdFile) }

// herdPlan is what the flags say.
type herdPlan struct {
	scenario        *scenarios.Scenario
	implementations []string
	clients         []int
	seed            uint64
	folder          string
}

func (h *herdCommand) run(cmd *cobra.Command, _ []string) error {
	plan, err := h.plan(cmd)
	if err != nil {
		return err
	}
	points, err := plan.measure(cmd.Context(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	figure, err := reports.HerdPlot(points...)
	if err != nil {
		return internal(err)
	}
	if err := reports.WriteFigure(plan.folder, herdFile, figure); err != nil {
		return internal(err)
	}
	if err := publishFigures(plan.folder); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	writeHerd(out, points)
	fmt.Fprintf(out, "\nwritten to %s as %[2]s.csv, %[2]s.svg and %[2]s.png\n", plan.folder, herdFile)
	return nil
}

// plan reads the flags and loads the scenario.
func (h *herdCommand) plan(cmd *cobra.Command) (*herdPlan, error) {
	scenario, err := scenarios.Load(herdScenario)
	if err != nil {
		return nil, internal(err)
	}
	plan := &herdPlan{scenario: scenario, folder: herdFolder()}
	if plan.implementations, err = h.locks(scenario); err != nil {
		return nil, err
	}
	if plan.clients, err = parseCrowds(h.clients); err != nil {
		return nil, err
	}
	if plan.seed, err = strconv.ParseUint(h.seed, 10, 64); err != nil {
		return nil, usage("--seed %q: want one number, such as 1", h.seed)
	}
	if cmd.Flags().Changed("out") {
		if plan.folder = h.out; h.out == "" {
			return nil, usage("--out: want the name of a folder")
		}
	}
	if err := checkFolder(plan.folder); err != nil {
		return nil, usage("--out: %w", err)
	}
	return plan, nil
}

// locks are the implementations to measure, which must keep their lock on the scenario's server.
func (h *herdCommand) locks(scenario *scenarios.Scenario) ([]string, error) {
	names, err := checkImplementations(h.implementations)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if entry, _ := scenarios.Catalogue().Lookup(name); entry.Backend != scenario.Server {
			return nil, usage("--impl: %s keeps its lock on %s, and a herd is measured on %s", name, entry.Backend,
				scenario.Server)
		}
	}
	if len(names) == 0 {
		for _, e := range scenario.Implementations {
			names = append(names, e.Implementation)
		}
	}
	return names, nil
}

// parseCrowds reads numbers of clients and puts them in order.
func parseCrowds(list string) ([]int, error) {
	var crowds []int
	for _, word := range strings.Split(list, ",") {
		clients, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || clients < scenarios.LeastHerd || clients > scenarios.MostHerd {
			return nil, usage("--clients %q: want numbers from %d to %d with commas, such as 2,10,100", word,
				scenarios.LeastHerd, scenarios.MostHerd)
		}
		if slices.Contains(crowds, clients) {
			return nil, usage("--clients: %d is named twice", clients)
		}
		crowds = append(crowds, clients)
	}
	slices.Sort(crowds)
	return crowds, nil
}

// measure runs one world after the other. An interrupt ends it before the next one, with nothing written.
func (p *herdPlan) measure(ctx context.Context, messages io.Writer) ([]reports.HerdPoint, error) {
	all := len(p.implementations) * len(p.clients)
	bar := newProgress(messages, "measuring")
	defer bar.end()
	var points []reports.HerdPoint
	for _, implementation := range p.implementations {
		for _, clients := range p.clients {
			if ctx.Err() != nil {
				return nil, &exitError{exitUnknown, fmt.Sprintf("interrupted after %d of %s; nothing is written", len(points),
					count(all, "run"))}
			}
			point, err := scenarios.Herd(new(testing.T), p.scenario, implementation, clients, p.seed)
			if err != nil {
				return nil, &exitError{exitUnknown, "not measured: " + err.Error()}
			}
			points = append(points, reports.HerdPoint(point))
			bar.seeds(len(points), all)
		}
	}
	return points, nil
}

// writeHerd writes one line for each point.
func writeHerd(out io.Writer, points []reports.HerdPoint) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "IMPLEMENTATION\tCLIENTS\tHAND-OVERS\tREQUESTS EACH\tWAKE-UPS EACH\tMEAN TIME")
	for _, p := range points {
		fmt.Fprintf(table, "%s\t%d\t%d\t%.2f\t%.2f\t%.2fms\n", p.Name(), p.Clients, p.HandOvers, p.RequestsEach(),
			p.WakeUpsEach(), 1e3*p.HandOverTime.Seconds())
	}
	table.Flush()
}
