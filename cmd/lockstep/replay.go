package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/internal/visible"
	"github.com/lockstep-sim/lockstep/reports"
	"github.com/lockstep-sim/lockstep/scenarios"
)

func newReplay() *cobra.Command {
	var transport string
	var rewrite bool
	cmd := &cobra.Command{
		Use:   "replay FILE|FOLDER",
		Short: "Runs a violation again and tells it step by step",
		Long: `Replay runs again what "lockstep hunt" has found, or "lockstep run" has kept: the same scenario,
implementation, seed, faults and decisions. It tells the violation, if there is one, and says whether it was the very
same run. It prints the same each time.

It exits 1 when the violation shows again, 0 when it does not, and 5 when the run is another one although the same
version of lockstep wrote the file.

Given a script, such as the shrunk.txt of a violation that was shrunk, it runs that and prints what comes out. It exits
3 when that is not what the script says, and otherwise 1 when something is violated and 0 when nothing is. With
--rewrite the script says afterwards what comes out now.`,
		Example: `  lockstep replay lockstep-out/dead-record/redis-getset/seed-3
  lockstep replay replay.txt --transport wire
  lockstep replay shrunk.txt --rewrite`,
		Args: oneArgument("one replay file or script, or a folder with a replay file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch script := isScript(args[0]); {
			case script && transport != "":
				return usage("--transport: a script has its own, write transport=%s into its run", transport)
			case script:
				return replayScript(cmd.OutOrStdout(), args[0], rewrite)
			case rewrite:
				return usage("--rewrite is for scripts, and %s is none", args[0])
			}
			return replay(cmd.OutOrStdout(), args[0], transport)
		},
	}
	cmd.Flags().BoolVar(&rewrite, "rewrite", false, "write what comes out into the script")
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
	switch {
	case played.Shows:
		writeLine(out, "the violation shows again: ", violationOf(file))
	case file.Holds:
		writeLine(out, "not violated, as the file says: ", violationOf(file))
	default:
		writeLine(out, "the violation does not show: ", violationOf(file))
	}
	switch {
	case !played.Same && sameProgram && setup.Transport == file.Transport && !file.Holds:
		return exit(exitNotDeterministic)
	case played.Shows:
		return exit(exitViolation)
	default:
		return nil
	}
}

// violationOf names the violation that a replay file is about.
func violationOf(file *scenarios.Replay) string {
	if file.Mechanism == "" {
		return string(file.Violated)
	}
	return string(file.Violated) + " by " + file.Mechanism
}

// replayScript runs a script and holds what comes out against what it says.
func replayScript(out io.Writer, name string, rewrite bool) error {
	script, err := scenarios.ReadScript(name)
	if err != nil {
		return err
	}
	outcome, events, err := script.Play(new(testing.T))
	if err != nil {
		return internal(fmt.Errorf("replay %s: %w", name, err))
	}
	same := events == script.Expected
	fmt.Fprint(out, events)
	switch {
	case same:
		fmt.Fprintf(out, "\nas %s says\n", visible.Line(name))
	case rewrite:
		script.Expected = events
		if err := replaceText(name, script.String()); err != nil {
			return internal(err)
		}
		fmt.Fprintf(out, "\n%s says so now\n", visible.Line(name))
	default:
		fmt.Fprintf(out, "\n%s\ntake it over with: %s\n", firstLineThatDiffers(visible.Line(name), script.Expected, events),
			shellWords(programName(), "replay", name, "--rewrite"))
		return exit(exitDiffers)
	}
	if checker.Overall(outcome.Verdicts) == checker.Violated {
		return exit(exitViolation)
	}
	return nil
}

// firstLineThatDiffers tells where what comes out leaves what a script says.
func firstLineThatDiffers(name, expected, got string) string {
	want, have := strings.Split(expected, "\n"), strings.Split(got, "\n")
	for i := range max(len(want), len(have)) {
		a, b := "nothing", "nothing"
		if i < len(want) && want[i] != "" {
			a = strconv.Quote(strings.TrimSpace(want[i]))
		}
		if i < len(have) && have[i] != "" {
			b = strconv.Quote(strings.TrimSpace(have[i]))
		}
		if a != b {
			return fmt.Sprintf("%s says otherwise: line %d of what comes out is %s, and it says %s", name, i+1, b, a)
		}
	}
	return name + " says otherwise"
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
			played.Hash, file.Hash, visible.Line(file.Program), programVersion())
	default:
		fmt.Fprintf(out, "another run: hash %016x, and the file has %016x; the file, its scenario or lockstep was changed\n",
			played.Hash, file.Hash)
	}
}
