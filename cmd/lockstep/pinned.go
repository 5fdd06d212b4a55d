package main

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"github.com/lockstep-sim/lockstep/scenarios"
)

// pinnedFlag is the flag that names the folder of pinned replay files.
const pinnedFlag = "pinned"

func registerPinned(cmd *cobra.Command, folder *string) {
	cmd.Flags().StringVar(folder, pinnedFlag, scenarios.PinnedFolder,
		"folder of replay files and scripts to run first; each must still show what it says (\"\" = none)")
}

// pinnedTally counts pinned files and says of each, in a line, what came of it.
type pinnedTally struct {
	passed, failed int
	lines          []string
}

// playPinned runs the replay files and scripts of a folder, without those of implementations that are not chosen.
func playPinned(cmd *cobra.Command, folder string, implementations []string) (pinnedTally, error) {
	var tally pinnedTally
	if folder == "" {
		return tally, nil
	}
	if info, err := os.Stat(folder); cmd.Flags().Changed(pinnedFlag) && (err != nil || !info.IsDir()) {
		return tally, usage("--%s: there is no folder %s", pinnedFlag, folder)
	}
	files, err := scenarios.Pinned(folder)
	if err != nil {
		return tally, err
	}
	for _, file := range files {
		play := playPinnedReplay
		if isScript(file) {
			play = playPinnedScript
		}
		run, err := play(file)
		if err != nil {
			return tally, err
		}
		if len(implementations) > 0 && !slices.Contains(implementations, run.implementation) {
			continue
		}
		verdict := "FAILED"
		if run.asPinned {
			verdict = "as pinned"
			tally.passed++
		} else {
			tally.failed++
		}
		tally.lines = append(tally.lines, fmt.Sprintf("%s: %s, %s: %s", verdict, file, run.implementation, run.says))
	}
	return tally, nil
}

// pinnedRun is what came of one pinned file.
type pinnedRun struct {
	implementation string
	asPinned       bool
	says           string // what was seen, in words
}

func playPinnedReplay(file string) (pinnedRun, error) {
	replay, played, err := scenarios.PlayPinned(new(testing.T), file)
	if err != nil {
		return pinnedRun{}, err
	}
	shows := "shows"
	if !played.Shows {
		shows = "does not show"
	}
	return pinnedRun{replay.Implementation, played.AsExpected(replay), violationOf(replay) + " " + shows}, nil
}

// playPinnedScript runs a script, which says itself all that must come out.
func playPinnedScript(file string) (pinnedRun, error) {
	script, err := scenarios.ReadScript(file)
	if err != nil {
		return pinnedRun{}, err
	}
	_, events, err := script.Play(new(testing.T))
	if err != nil {
		return pinnedRun{}, fmt.Errorf("%s: %w", file, err)
	}
	run := pinnedRun{script.Implementation, events == script.Expected, "what comes out is what it says"}
	if !run.asPinned {
		run.says = firstLineThatDiffers(file, script.Expected, events)
	}
	return run, nil
}
