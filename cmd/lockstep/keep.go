package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/lockstep-sim/lockstep/reports"
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
	setup := scenarios.Setup{
		Scenario: row.Scenario, Implementation: row.Implementation, Seed: k.seed, Transport: row.Transport,
		Strategy: row.Strategy, Trace: sim.Full,
	}
	found, err := scenarios.Run(new(testing.T), setup)
	if err == nil {
		err = found.Err
	}
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

// diagramFile is the file in the folder of a run that has the story in Mermaid's language.
const diagramFile = "story.mmd"

// runOf is all that is kept of a run that broke a promise.
func runOf(setup scenarios.Setup, found *scenarios.Outcome, choice scenarios.Choice) reports.Run {
	replay := scenarios.ReplayOf(setup, found, choice)
	replay.Program = programVersion()
	story := reports.Tell(&found.History, choice.Property, choice.Violation, choice.Finding)
	run := reports.Run{
		History: &found.History, Verdicts: found.Verdicts, Judging: found.Judging, Findings: found.Mechanisms,
		Trace:  found.Trace.WriteJSONL,
		Replay: replay.String(), Hash: found.Hash, Story: &story,
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
