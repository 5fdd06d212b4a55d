package main

import (
	"fmt"
	"io"
	"testing"

	"github.com/spf13/cobra"

	"github.com/lockstep-sim/lockstep/reports"
	"github.com/lockstep-sim/lockstep/scenarios"
)

func newReplay() *cobra.Command {
	var transport string
	cmd := &cobra.Command{
		Use:   "replay FILE|FOLDER",
		Short: "Runs a violation again and tells it step by step",
		Long: `Replay runs again what "lockstep hunt" has found: the same scenario, implementation, seed and faults. It
tells the violation and says whether it was the very same run. It prints the same each time.

It exits 1 when the violation shows again, 0 when it does not, and 5 when the run is another one although the same
version of lockstep wrote the file.`,
		Example: `  lockstep replay lockstep-out/dead-record/redis-getset/seed-3
  lockstep replay replay.txt --transport wire`,
		Args: oneArgument("one replay file, or a folder with one"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return replay(cmd.OutOrStdout(), args[0], transport)
		},
	}
	cmd.Flags().StringVar(&transport, "transport", "",
		"run it over another transport, direct or wire, and see whether the same shows (default that of the file)")
	return cmd
}

// replay runs a replay file and tells what came of it.
func replay(out io.Writer, name, transport string) error {
	file, folder, err := scenarios.ReadReplay(name)
	if err != nil {
		return err
	}
	setup, err := file.Load(folder)
	if err != nil {
		return err
	}
	if transport != "" {
		if setup.Transport, err = scenarios.ParseTransport(transport); err != nil {
			return usage("--transport: %w", err)
		}
	}
	played, err := file.Play(new(testing.T), setup)
	if err != nil {
		return internal(fmt.Errorf("replay %s: %w", name, err))
	}
	if played.Shows {
		choice := played.Choice
		fmt.Fprintf(out, "%s\n", reports.Tell(&played.History, choice.Property, choice.Violation, choice.Finding))
	}
	sameProgram := file.Program == programVersion()
	writeSameness(out, file, played, setup.Transport, sameProgram)
	what := string(file.Violated)
	if file.Mechanism != "" {
		what += " by " + file.Mechanism
	}
	switch {
	case played.Shows:
		fmt.Fprintf(out, "the violation shows again: %s\n", what)
	default:
		fmt.Fprintf(out, "the violation does not show: %s\n", what)
	}
	switch {
	case !played.Same && sameProgram && setup.Transport == file.Transport:
		return exit(exitNotDeterministic)
	case played.Shows:
		return exit(exitViolation)
	default:
		return nil
	}
}

// writeSameness says whether it was the run of the file.
func writeSameness(
	out io.Writer, file *scenarios.Replay, played *scenarios.Played, over scenarios.Transport, sameProgram bool,
) {
	switch {
	case played.Same:
		fmt.Fprintf(out, "the same run: hash %016x\n", played.Hash)
	case over != file.Transport:
		fmt.Fprintf(out, "another run: over %s, and the file's was over %s\n", over, file.Transport)
	case !sameProgram:
		fmt.Fprintf(out, "another run: hash %016x, and the file has %016x; lockstep %s wrote it and this is %s\n",
			played.Hash, file.Hash, file.Program, programVersion())
	default:
		fmt.Fprintf(out, "another run: hash %016x, and the file has %016x; the file, its scenario or lockstep was changed\n",
			played.Hash, file.Hash)
	}
}
