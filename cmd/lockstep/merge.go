package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockstep-sim/lockstep/scenarios"
)

// mergeCommand is "merge" with its flags.
type mergeCommand struct {
	account accountFlags
	out     string
}

func newMerge() *cobra.Command {
	m := &mergeCommand{}
	cmd := &cobra.Command{
		Use:   "merge FOLDER...",
		Short: "Makes one result of the parts of a campaign that several machines ran",
		Long: `Merge puts the parts together that "lockstep run --shard" left, and tells the result in the same bytes as a run
of all seeds on one machine. Each FOLDER is the --out of such a run, or the folder of one campaign in it; all parts must
be there. It runs nothing but the violations that it keeps.

A folder with one whole campaign is told again, in other formats or against another baseline.

` + exitHelp,
		Example: `  lockstep merge lockstep-out
  lockstep merge part-1 part-2 part-3 part-4 --format text,junit=junit.xml`,
		RunE: m.run,
	}
	m.account.register(cmd)
	cmd.Flags().StringVar(&m.out, "out", outputFolder, "folder for violations and the merged result")
	return cmd
}

func (m *mergeCommand) run(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage("want the folders of the parts, such as %s", outputFolder)
	}
	if m.out == "" {
		return usage("--out: want the name of a folder")
	}
	if err := checkFolder(m.out); err != nil {
		return usage("--out: %w", err)
	}
	account, err := m.account.read(m.out)
	if err != nil {
		return err
	}
	var journals []*scenarios.Journal
	for _, arg := range args {
		found, err := findJournals(arg)
		if err != nil {
			return err
		}
		journals = append(journals, found...)
	}
	merged, err := scenarios.Merge(journals...)
	if err != nil {
		return err
	}
	campaign, err := merged.Campaign()
	if err != nil {
		return err
	}
	campaign.Baseline = account.baseline
	rows, err := campaign.Judge()
	if err != nil {
		return err
	}
	return account.tell(cmd.Context(), cmd, campaign, rows)
}

// findJournals reads the journal in a folder, or those in the folder of runs: all parts, or else the whole.
func findJournals(dir string) ([]*scenarios.Journal, error) {
	journal, err := scenarios.ReadJournal(dir)
	if err == nil {
		return []*scenarios.Journal{journal}, nil
	}
	if !errors.Is(err, scenarios.ErrNoJournal) {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(dir, campaignsFolder))
	if err != nil {
		return nil, fmt.Errorf("%s: %w; name the --out of a run, or the folder of one campaign in it", dir,
			scenarios.ErrNoJournal)
	}
	var parts, whole []*scenarios.Journal
	for _, entry := range entries {
		journal, err := scenarios.ReadJournal(filepath.Join(dir, campaignsFolder, entry.Name()))
		switch {
		case errors.Is(err, scenarios.ErrNoJournal):
		case err != nil:
			return nil, err
		case strings.HasPrefix(entry.Name(), shardPrefix):
			parts = append(parts, journal)
		default:
			whole = append(whole, journal)
		}
	}
	switch {
	case len(parts) > 0:
		return parts, nil
	case len(whole) > 0:
		return whole, nil
	}
	return nil, fmt.Errorf("%s: %w", dir, scenarios.ErrNoJournal)
}
