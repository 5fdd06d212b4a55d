package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/internal/visible"
	"github.com/lockstep-sim/lockstep/reports"
	"github.com/lockstep-sim/lockstep/reports/index"
	"github.com/lockstep-sim/lockstep/scenarios"
	"github.com/lockstep-sim/lockstep/sim"
)

// mostKept is how many violations of a campaign are kept in folders: the first of each row that has one.
const mostKept = 5

// keptRun is a violation that was kept.
type keptRun struct {
	seed    uint64
	folder  string
	place   string // the folder as seen from the folder of runs
	plan    []string
	diagram string // in Mermaid's language; "" = there is none
	failure error  // why it could not be kept
}

// shows tells whether a reason is about the violation that was kept.
func (k *keptRun) shows(reason scenarios.Reason) bool {
	return k != nil && k.failure == nil && reason.Kind == scenarios.KindViolated && reason.Seeds.At(0) == k.seed
}

// keepViolations runs the first violation of each row that nobody expects again and writes its folder, for the first
// rows that have one.
func keepViolations(ctx context.Context, out string, rows []*scenarios.Row) map[*scenarios.Row]*keptRun {
	all := map[*scenarios.Row]*keptRun{}
	for _, row := range rows {
		if len(all) == mostKept || ctx.Err() != nil {
			break
		}
		for _, reason := range row.Judgement.Reasons {
			if reason.Kind == scenarios.KindViolated {
				all[row] = keepViolation(out, row, reason)
				break
			}
		}
	}
	return all
}

func keepViolation(out string, row *scenarios.Row, reason scenarios.Reason) *keptRun {
	k := &keptRun{seed: reason.Seeds.At(0)}
	k.folder = seedFolder(out, row.Scenario, row.Implementation, k.seed)
	k.place = seedFolder(".", row.Scenario, row.Implementation, k.seed)
	k.failure = k.keep(out, row, reason)
	return k
}

func (k *keptRun) keep(out string, row *scenarios.Row, reason scenarios.Reason) error {
	setup := rowSetup(row, k.seed)
	found, err := runSetup(setup)
	if err != nil {
		return err
	}
	choice, shows := found.Choose(reason.Property, "")
	if !shows {
		return fmt.Errorf("%s does not show when seed %d is run again", reason.Property, k.seed)
	}
	if err := reports.WriteFolder(k.folder, runOf(setup, found, choice)); err != nil {
		return err
	}
	for _, fault := range found.Plan {
		k.plan = append(k.plan, fault.String())
	}
	if text, err := os.ReadFile(filepath.Join(k.folder, diagramFile)); err == nil {
		k.diagram = string(text)
	}
	return publish(out, k.place)
}

// rowSetup is the run of one seed of a row, with all that there is to see of it.
func rowSetup(row *scenarios.Row, seed uint64) scenarios.Setup {
	return scenarios.Setup{
		Scenario: row.Scenario, Implementation: row.Implementation, Seed: seed, Transport: row.Transport,
		Strategy: row.Strategy, Trace: sim.Full,
	}
}

// keeping says which runs of a campaign get a folder.
type keeping string

const (
	keepUnexpected keeping = "unexpected" // what keepViolations keeps, and nothing else
	keepFirst      keeping = "first"      // the first run of each row besides
	keepAll        keeping = "all"        // every run
)

// parseKeeping reads the flag --keep; the empty text is the default.
func parseKeeping(text string) (keeping, error) {
	switch k := keeping(text); k {
	case "", keepUnexpected, keepFirst, keepAll:
		return k, nil
	}
	return "", usage("--keep %q: want %s, %s or %s", text, keepUnexpected, keepFirst, keepAll)
}

// or chooses what to keep where the flag does not: a single run is kept, as nothing else can be wanted of it.
func (k keeping) or(rows []*scenarios.Row) keeping {
	runs := 0
	for _, row := range rows {
		runs += row.Own()
	}
	switch {
	case k != "":
		return k
	case runs == 1:
		return keepAll
	default:
		return keepUnexpected
	}
}

// most is how many runs of a row get a folder.
func (k keeping) most(row *scenarios.Row) int {
	switch k {
	case keepAll:
		return row.Ran
	case keepFirst:
		return min(row.Ran, 1)
	default:
		return 0
	}
}

// keepRuns runs what is to be kept again, whatever came of it, and writes the folders. It leaves alone those that are
// there already as violations. It tells on errOut how far it is, where everything is, and which runs could not be kept.
func (k keeping) keepRuns(
	ctx context.Context, errOut io.Writer, out string, rows []*scenarios.Row, kept map[*scenarios.Row]*keptRun,
) error {
	all, done := 0, 0
	for _, row := range rows {
		all += k.most(row)
	}
	if all == 0 {
		return nil
	}
	p := newProgress(errOut, "writing folders")
	place, missed := "", []string(nil)
	for _, row := range rows {
		for _, seed := range row.OwnSeeds(k.most(row)) {
			if ctx.Err() != nil {
				break
			}
			place = seedFolder(".", row.Scenario, row.Implementation, seed)
			if already := kept[row]; already == nil || already.seed != seed || already.failure != nil {
				if err := keepRun(filepath.Join(out, place), rowSetup(row, seed)); err != nil {
					missed = append(missed, fmt.Sprintf("seed %d of %s could not be kept: %v", seed, row.Implementation, err))
				}
			}
			done++
			p.seeds(done, all)
		}
	}
	p.end()
	for _, text := range missed {
		fmt.Fprintln(errOut, visible.Line(text))
	}
	if done == len(missed) {
		return nil
	}
	where := "to " + filepath.Join(out, place)
	if done > 1 {
		where = "to folders in " + out + ", all on one page in " + filepath.Join(out, index.File)
	}
	fmt.Fprintf(errOut, "%s written %s\n", count(done-len(missed), "run"), visible.Line(where))
	return publish(out, place)
}

// keepRun writes the folder of a run: with the story of its violation, if it has one.
func keepRun(folder string, setup scenarios.Setup) error {
	outcome, err := runSetup(setup)
	if err != nil {
		return err
	}
	if choice, shows := outcome.Choose("", ""); shows {
		return reports.WriteFolder(folder, runOf(setup, outcome, choice))
	}
	return reports.WriteFolder(folder, heldRunOf(setup, outcome, firstHeld(outcome.Verdicts)))
}

// firstHeld is the first property that holds, or else the first of all.
func firstHeld(verdicts []checker.Verdict) checker.Property {
	for _, v := range verdicts {
		if v.Result == checker.Holds && !v.Skipped {
			return v.Property
		}
	}
	return checker.MutualExclusion
}

// diagramFile is the file in the folder of a run that has the story in Mermaid's language.
const diagramFile = "story.mmd"

// runOf is all that is kept of a run that broke a promise.
func runOf(setup scenarios.Setup, found *scenarios.Outcome, choice scenarios.Choice) reports.Run {
	replay := scenarios.ReplayOf(setup, found, choice)
	replay.Program = programVersion()
	story := reports.Tell(&found.History, choice.Property, choice.Violation, choice.Finding)
	run := recordOf(setup, found, replay)
	run.Story = &story
	return run
}

// heldRunOf is all that is kept of a run in which a property was not violated.
func heldRunOf(setup scenarios.Setup, outcome *scenarios.Outcome, property checker.Property) reports.Run {
	replay := scenarios.ReplayOf(setup, outcome, scenarios.Choice{Property: property})
	replay.Program, replay.Holds = programVersion(), true
	return recordOf(setup, outcome, replay)
}

// recordOf is what is kept of every run.
func recordOf(setup scenarios.Setup, outcome *scenarios.Outcome, replay *scenarios.Replay) reports.Run {
	run := reports.Run{
		History: &outcome.History, Verdicts: outcome.Verdicts, Judging: outcome.Judging, Findings: outcome.Mechanisms,
		Trace: outcome.Trace.WriteJSONL, Replay: replay.String(), Hash: outcome.Hash,
	}
	if setup.Scenario.Source != "" {
		run.Scenario = setup.Scenario.Text
	}
	return run
}

// campaignFolder is where a campaign keeps what it has run.
func campaignFolder(out string, shard scenarios.Shard) string {
	name := "whole"
	if !shard.Whole() {
		name = fmt.Sprintf("%s%d-of-%d", shardPrefix, shard.Index, shard.Count)
	}
	return filepath.Join(out, campaignsFolder, name)
}

const (
	campaignsFolder = "campaign"
	shardPrefix     = "shard-"
)
