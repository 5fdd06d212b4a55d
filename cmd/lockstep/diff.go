package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/lockstep-sim/lockstep/scenarios"
	"github.com/lockstep-sim/lockstep/sim"
)

func newDiff() *cobra.Command {
	return &cobra.Command{
		Use:   "diff A B",
		Short: "Shows the first event at which two runs part, and what led to it",
		Long: `Diff compares two runs event by event: messages, timers, what happened to machines. A and B are each the
folder of a run, a replay file or script, which is run for it, or a trace (trace.jsonl). It prints the first event that
differs, in both, with the events that caused it.

It exits 0 when the runs are the same, and 1 when they differ.`,
		Example: `  lockstep diff lockstep-out/dead-record/redis-getset/seed-3 lockstep-out/dead-record/redis-getset/seed-5
  lockstep diff replay.txt trace.jsonl`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage("want two runs, not %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			one, err := traceOf(args[0])
			if err != nil {
				return err
			}
			other, err := traceOf(args[1])
			if err != nil {
				return err
			}
			if difference := sim.FirstDifference(one, other); difference != "" {
				fmt.Fprintf(cmd.OutOrStdout(), "one run:   %s\nthe other: %s\n%s\n", args[0], args[1], difference)
				return exit(exitViolation)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "the runs are the same: %s\n", count(len(one.Entries), "event"))
			return nil
		},
	}
}

// traceOf finds the trace of a run: a file, or what comes out when the run is run.
func traceOf(name string) (*sim.Trace, error) {
	file := name
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		file = filepath.Join(name, traceFile)
	}
	if filepath.Ext(file) == filepath.Ext(traceFile) {
		if f, err := os.Open(file); err == nil {
			defer f.Close()
			trace, err := sim.ReadJSONL(f)
			if err != nil {
				return nil, fmt.Errorf("trace %s: %w", file, err)
			}
			return trace, nil
		} else if file == name {
			return nil, fmt.Errorf("trace %s: %w", file, cause(err))
		}
	}
	setup, err := setupOf(name)
	if err != nil {
		return nil, err
	}
	setup.Trace = sim.Full
	outcome, err := runSetup(setup)
	if err != nil {
		return nil, internal(fmt.Errorf("%s: %w", name, err))
	}
	return &outcome.Trace, nil
}

// setupOf reads a replay file or a script.
func setupOf(name string) (scenarios.Setup, error) {
	if isScript(name) {
		script, err := scenarios.ReadScript(name)
		if err != nil {
			return scenarios.Setup{}, err
		}
		return script.Setup(), nil
	}
	file, folder, err := scenarios.ReadReplay(name)
	if err != nil {
		return scenarios.Setup{}, err
	}
	return file.Load(folder)
}

// isScript tells whether a file is a script.
func isScript(name string) bool {
	text, err := os.ReadFile(name)
	return err == nil && scenarios.IsScript(string(text))
}
