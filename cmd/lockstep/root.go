package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// streams are the standard streams.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, args []string, std streams) (code int) {
	defer func() {
		if cause := recover(); cause != nil {
			fmt.Fprintf(std.err, "%s: %s\n", programName(), describePanic(cause))
			code = exitInternal
		}
	}()
	root := newRoot(std)
	root.SetArgs(args)
	ran, err := root.ExecuteContextC(ctx)
	message, code := outcome(err)
	if mistake := (usageError{}); errors.As(err, &mistake) {
		message += fmt.Sprintf(" (see %q)", ran.CommandPath()+" --help")
	}
	if message != "" {
		fmt.Fprintf(std.err, "%s: %s\n", programName(), oneLine(message))
	}
	return code
}

// programName is what the user typed to get here.
func programName() string {
	if len(os.Args) > 0 {
		if name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe"); name != "" && name != "." {
			return name
		}
	}
	return "lockstep"
}

func newRoot(std streams) *cobra.Command {
	root := &cobra.Command{
		Use:   programName(),
		Short: "Tests distributed locks in simulated worlds",
		Long: `Lockstep runs real lock implementations against real lock servers inside a simulated world: virtual time, a
clock for each machine, a network that loses and delays, processes that pause and crash. A scenario says what the
clients do and what goes wrong; a seed decides everything that is left to chance. The same seed always gives the
same run.

` + exitHelp,
		Example: `  lockstep list
  lockstep run
  lockstep hunt dead-record --impl redis/getset`,
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				cmd.SetOut(std.err)
				_ = cmd.Help()
				return exit(exitUsage)
			}
			return unknownCommand(cmd, args[0])
		},
	}
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.SuggestionsMinimumDistance = 2
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		newList(), newRun(), newMerge(), newHunt(), newReplay(), newShrink(), newDiff(), newEnvelope(), newServe(),
		newPlot(), newSweep(), newStrategies(), newHerd(), newCheck(), newConvert(), newExport(), newTimeServer(),
		newZooKeeper(), newVersion(), newWorker(),
	)
	return root
}

// unknownCommand words the error about a word that is no command.
func unknownCommand(root *cobra.Command, word string) error {
	if near := root.SuggestionsFor(word); len(near) > 0 {
		return usage("there is no command %q; did you mean %q?", word, near[0])
	}
	var names []string
	for _, c := range root.Commands() {
		if !c.Hidden && c.Name() != "help" && c.Name() != "completion" {
			names = append(names, c.Name())
		}
	}
	return usage("there is no command %q: want one of %s", word, strings.Join(names, ", "))
}

// noArguments refuses arguments.
func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%q: there is nothing to name here", args[0])
	}
	return nil
}

// oneArgument wants one argument and says which.
func oneArgument(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage("want %s, not %d", what, len(args))
		}
		return nil
	}
}
