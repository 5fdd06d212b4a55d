package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/lockstep-sim/lockstep/scenarios"
)

// collectorPercent is the garbage collector's target for a worker. Worlds are small and short, so that it is cheaper to
// let some of them pass before anything is collected.
const collectorPercent = 400

// newWorker is the command that run and hunt start this program with, once for each worker.
func newWorker() *cobra.Command {
	return &cobra.Command{
		Use:    "worker",
		Short:  "Runs seeds for another lockstep process",
		Hidden: true,
		Args:   noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// An interrupt on the terminal reaches the whole group. The process that started this one decides.
			signal.Ignore(os.Interrupt)
			if os.Getenv("GOGC") == "" {
				debug.SetGCPercent(collectorPercent)
			}
			if err := scenarios.ServeWorker(cmd.InOrStdin(), cmd.OutOrStdout()); err != nil {
				return internal(err)
			}
			return nil
		},
	}
}

// workers starts this program again, each time on one processor.
func workers(number int) (scenarios.Workers, error) {
	program, err := os.Executable()
	if err != nil {
		return scenarios.Workers{}, internal(fmt.Errorf("this program cannot be found to start workers from: %w", err))
	}
	return scenarios.Workers{
		Number: number,
		Command: func(ctx context.Context) *exec.Cmd {
			c := exec.CommandContext(ctx, program, "worker")
			c.Args[0] = os.Args[0]
			c.Env = append(os.Environ(), "GOMAXPROCS=1")
			return c
		},
	}, nil
}
