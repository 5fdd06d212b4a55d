package main

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockstep-sim/lockstep/scenarios"
)

// searchFlags are the flags of the commands that run many seeds.
type searchFlags struct {
	seeds           string
	jobs            int
	budget          time.Duration
	out             string
	implementations []string
	transport       string
}

// register adds the flags to a command. What a command does not register, it refuses.
func (f *searchFlags) register(cmd *cobra.Command, seeds, out string) {
	flags := cmd.Flags()
	flags.StringVar(&f.seeds, "seeds", "", seeds)
	flags.IntVar(&f.jobs, "jobs", runtime.GOMAXPROCS(0), "how many worker processes run at the same time")
	flags.StringVar(&f.out, "out", "", out)
	registerTransport(cmd, &f.transport, string(scenarios.Direct))
}

// registerBudget adds the flag that ends a search by time, to the commands whose result is worth something then.
func (f *searchFlags) registerBudget(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&f.budget, "budget", 0,
		"begin no further seed after so much time, such as 30s or 5m (default no limit)")
}

func registerTransport(cmd *cobra.Command, value *string, standard string) {
	cmd.Flags().StringVar(value, "transport", standard,
		"how clients talk to the server: direct (requests as they are, fast) or wire (the real client library and its bytes)")
}

// search is what the flags say.
type search struct {
	seeds     scenarios.Seeds // none = the command's own choice
	workers   scenarios.Workers
	transport scenarios.Transport
}

func (f *searchFlags) read(cmd *cobra.Command) (search, error) {
	var s search
	var err error
	if cmd.Flags().Changed("seeds") {
		if s.seeds, err = scenarios.ParseSeeds(f.seeds); err != nil {
			return search{}, usage("--seeds: %w", err)
		}
	}
	const mostJobs = 1024
	if f.jobs < 1 || f.jobs > mostJobs {
		return search{}, usage("--jobs %d: want a number from 1 to %d", f.jobs, mostJobs)
	}
	if cmd.Flags().Changed("budget") && f.budget <= 0 {
		return search{}, usage("--budget %v: want a time above zero, such as 30s", f.budget)
	}
	if s.transport, err = scenarios.ParseTransport(f.transport); err != nil {
		return search{}, usage("--transport: %w", err)
	}
	if cmd.Flags().Changed("out") && f.out == "" {
		return search{}, usage("--out: want the name of a folder")
	}
	s.workers, err = workers(f.jobs)
	return s, err
}

// enough is closed when the budget is spent. It is nil, and so never closed, without a budget.
func (f *searchFlags) enough(ctx context.Context) (<-chan struct{}, context.CancelFunc) {
	if f.budget <= 0 {
		return nil, func() {}
	}
	spent, cancel := context.WithTimeout(ctx, f.budget)
	return spent.Done(), cancel
}

// checkImplementations looks every name up, so that a wrong one is told before anything runs, and writes them all in
// the one way in which the catalogue does.
func checkImplementations(names []string) ([]string, error) {
	var known []string
	for _, name := range names {
		entry, err := scenarios.Catalogue().Lookup(strings.TrimSpace(name))
		if err != nil {
			return nil, usage("--impl: %w", err)
		}
		if slices.Contains(known, entry.Name) {
			return nil, usage("--impl: %s is named twice", entry.Name)
		}
		known = append(known, entry.Name)
	}
	return known, nil
}
