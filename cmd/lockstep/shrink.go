package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/lockstep-sim/lockstep/internal/visible"
	"github.com/lockstep-sim/lockstep/reports"
	"github.com/lockstep-sim/lockstep/scenarios"
)

// shrunkFolder is where a shrunk run goes, in the folder of the run that was shrunk.
const shrunkFolder = "shrunk"

// shrinkBudget is how long shrinking may take unless it is told otherwise.
const shrinkBudget = 10 * time.Second

// shrinkFlags are the flags of the commands that shrink.
type shrinkFlags struct {
	budget time.Duration
	runs   int
}

// register adds the flags; before is what their names begin with.
func (f *shrinkFlags) register(cmd *cobra.Command, before string) {
	cmd.Flags().DurationVar(&f.budget, before+"budget", shrinkBudget,
		"end the shrinking after so much time, with what it has come to")
	cmd.Flags().IntVar(&f.runs, before+"runs", 0, "end the shrinking after so many runs (default no limit)")
}

// check reports flags that make no sense.
func (f *shrinkFlags) check(before string) error {
	if f.budget <= 0 {
		return usage("--%sbudget %v: want a time above zero, such as 10s", before, f.budget)
	}
	if f.runs < 0 {
		return usage("--%sruns %d: want a number of runs, such as 500", before, f.runs)
	}
	return nil
}

// shrinkCommand is "shrink" with its flags.
type shrinkCommand struct {
	flags shrinkFlags
	out   string
}

func newShrink() *cobra.Command {
	s := &shrinkCommand{}
	cmd := &cobra.Command{
		Use:   "shrink FILE|FOLDER",
		Short: "Makes a violation small: fewer faults, clients and operations, rounder numbers",
		Long: `Shrink takes a replay file and leaves out whatever the violation does not need: faults, clients, rounds and
steps of programs, moments at which faults strike. Then it gives every message the same latency and every step one
time, and makes the numbers that are left as small and as round as they can be. The same property stays violated, in
the same way and by the same mechanism.

It writes a folder as hunt does, with a scenario of its own, scenario.yaml, and with shrunk.txt: the run as a script to
read, to change and to replay. Hunt shrinks by itself what it finds.

It exits 1 when it has a violation to show, and 5 when the violation does not show again to begin with.`,
		Example: `  lockstep shrink lockstep-out/dead-record/redis-getset/seed-3
  lockstep shrink replay.txt --budget 1m --out small`,
		Args: oneArgument("one replay file, or a folder with one"),
		RunE: s.run,
	}
	s.flags.register(cmd, "")
	cmd.Flags().StringVar(&s.out, "out", "",
		"folder to write (default the folder "+shrunkFolder+" beside the replay file)")
	return cmd
}

func (s *shrinkCommand) run(cmd *cobra.Command, args []string) error {
	if err := s.flags.check(""); err != nil {
		return err
	}
	file, folder, err := scenarios.ReadReplay(args[0])
	if err != nil {
		return err
	}
	if file.Holds {
		return fmt.Errorf("replay %s: it tells of a run that holds; there is nothing to shrink", args[0])
	}
	setup, err := file.Load(folder)
	if err != nil {
		return err
	}
	out := s.out
	if !cmd.Flags().Changed("out") {
		out = filepath.Join(folder, shrunkFolder)
	} else if out == "" {
		return usage("--out: want the name of a folder")
	}
	if err := errors.Join(checkReplaceable(out), checkFolder(out)); err != nil {
		return usage("--out: %w", err)
	}
	if sameFolder(out, folder) {
		return usage("--out: %s holds the run that is to be shrunk; want another folder", out)
	}
	shrink := &scenarios.Shrink{Setup: setup, Property: file.Violated, Kind: file.Kind, Mechanism: file.Mechanism}
	shrunk, err := s.flags.shrink(cmd.Context(), shrink, cmd.ErrOrStderr())
	if err != nil {
		return shrinkFailed(args[0], err)
	}
	story, err := writeShrunk(out, shrunk)
	if err != nil {
		return internal(err)
	}
	writer := cmd.OutOrStdout()
	fmt.Fprintf(writer, "%s\n\n%s\n", shrinkLine(shrunk), story)
	fmt.Fprintf(writer, "written to %s\n%s", visible.Line(out), shrunkHelp(out))
	return exit(exitViolation)
}

// sameFolder tells whether two names mean one folder that is there.
func sameFolder(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// shrinkFailed words why nothing was shrunk.
func shrinkFailed(name string, err error) error {
	if errors.Is(err, scenarios.ErrNotRepeated) {
		return &exitError{exitNotDeterministic, fmt.Sprintf("%s: %v; \"lockstep replay\" tells more", name, err)}
	}
	return internal(fmt.Errorf("%s could not be shrunk: %w", name, err))
}

// shrink shrinks within the budget and shows how far it has come.
func (f *shrinkFlags) shrink(
	ctx context.Context, shrink *scenarios.Shrink, messages io.Writer,
) (*scenarios.Shrunk, error) {
	spent, cancel := context.WithTimeout(ctx, f.budget)
	defer cancel()
	shrink.Enough, shrink.Runs = spent.Done(), f.runs
	p := newProgress(messages, "shrinking")
	shrink.Progress = p.shrinking
	defer p.end()
	return shrink.Run(new(testing.T))
}

// shrinking tells how far a search has come whose end is not known.
func (p *progress) shrinking(now scenarios.ShrinkProgress) {
	if !isTerminal(p.out) {
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions(-1,
			progressbar.OptionSetWriter(p.out), progressbar.OptionShowCount(), progressbar.OptionShowIts(),
			progressbar.OptionSetItsString("runs"), progressbar.OptionThrottle(100_000_000), progressbar.OptionClearOnFinish(),
		)
	}
	p.bar.Describe(p.task + ": " + now.Size.String())
	_ = p.bar.Set(now.Runs)
}

// shrinkLine says what the shrinking has come to.
func shrinkLine(shrunk *scenarios.Shrunk) string {
	line := fmt.Sprintf("shrunk from %s to %s, in %s", shrunk.Before, shrunk.After, count(shrunk.Runs, "run"))
	if !shrunk.Complete {
		line += "; more time may make it smaller"
	}
	return line
}

// shrunkHelp says what to do with the folder of a shrunk run.
func shrunkHelp(folder string) string {
	return fmt.Sprintf("run it again with: %s\nread it and change it: %s\n",
		shellWords(programName(), "replay", folder), visible.Line(filepath.Join(folder, scenarios.ScriptFile)))
}

// writeShrunk writes the folder of a shrunk run and returns its story.
func writeShrunk(folder string, shrunk *scenarios.Shrunk) (*reports.Story, error) {
	found, choice := shrunk.Outcome, shrunk.Choice
	story := reports.Tell(&found.History, choice.Property, choice.Violation, choice.Finding)
	replay := scenarios.ReplayOf(shrunk.Setup, found, choice)
	replay.Program, replay.Decisions = programVersion(), shrunk.Setup.Decisions
	prose := append(storyProse(&story), "",
		"Run it again with: lockstep replay "+scenarios.ScriptFile,
		"Change what you like, and take over what comes out then with --rewrite.")
	script := scenarios.ScriptOf(shrunk.Setup, found, prose)
	return &story, reports.WriteFolder(folder, reports.Run{
		History: &found.History, Verdicts: found.Verdicts, Judging: found.Judging, Findings: found.Mechanisms,
		Trace:  found.Trace.WriteJSONL,
		Replay: replay.String(), Scenario: shrunk.Setup.Scenario.Text, Script: script.String(), Hash: found.Hash,
		Story: &story,
	})
}

// storyProse is a story without its steps, which a script shows itself.
func storyProse(story *reports.Story) []string {
	short := *story
	short.Steps, short.Omitted = nil, 0
	lines := strings.Split(strings.TrimSpace(short.String()), "\n")
	return slices.CompactFunc(lines, func(a, b string) bool { return a == "" && b == "" })
}
