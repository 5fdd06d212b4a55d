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
		"folder of replay files to run first; each must still show what it says (\"\" = none)")
}

// pinnedTally counts pinned replay files and says of each, in a line, what came of it.
type pinnedTally struct {
	passed, failed int
	lines          []string
}

// playPinned runs the replay files of a folder, those of other implementations than the chosen ones left out.
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
		replay, played, err := scenarios.PlayPinned(new(testing.T), file)
		if err != nil {
			return tally, err
		}
		if len(implementations) > 0 && !slices.Contains(implementations, replay.Implementation) {
			continue
		}
		verdict := "FAILED"
		if played.AsExpected(replay) {
			verdict = "as pinned"
			tally.passed++
		} else {
			tally.failed++
		}
		shows := "shows"
		if !played.Shows {
			shows = "does not show"
		}
		tally.lines = append(tally.lines, fmt.Sprintf("%s: %s, %s: %s %s", verdict, file, replay.Implementation,
			violationOf(replay), shows))
	}
	return tally, nil
}
