package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/lockstep-sim/lockstep/reports/ci"
	"github.com/lockstep-sim/lockstep/scenarios"
)

// libraryFolder is where the scenarios that come with the program lie in its source.
const libraryFolder = "scenarios/library"

// resultOf is what came of the rows in the form that the formats of continuous integration have in common.
func resultOf(rows []*scenarios.Row, shard scenarios.Shard, kept map[*scenarios.Row]*keptRun) *ci.Campaign {
	conclusion := scenarios.Conclude(rows)
	result := &ci.Campaign{
		Schema: ci.Schema, Version: programVersion(), Complete: true, Shard: shard.String(), Result: conclusion.String(),
		ExitCode: exitCode(conclusion), Hash: fmt.Sprintf("%016x", scenarios.Hash(counted(rows))), Rows: []ci.Row{},
	}
	for _, row := range rows {
		r := rowOf(row, kept[row])
		result.Seeds += r.Ran
		result.AllSeeds += r.Wanted
		switch {
		case r.LeftOut:
			result.LeftOut++
		case r.Passed:
			result.Passed++
		default:
			result.Failed++
		}
		result.Complete = result.Complete && !row.Interrupted
		result.Rows = append(result.Rows, r)
	}
	return result
}

// counted lists the rows that were not left out.
func counted(rows []*scenarios.Row) []*scenarios.Row {
	var all []*scenarios.Row
	for _, row := range rows {
		if !row.LeftOut {
			all = append(all, row)
		}
	}
	return all
}

func rowOf(row *scenarios.Row, kept *keptRun) ci.Row {
	file, line := placeOf(row)
	r := ci.Row{
		Scenario: row.Scenario.Name, Implementation: row.Implementation, Transport: string(row.Transport),
		Result: row.Judgement.Conclusion.String(), Passed: row.Judgement.Conclusion == scenarios.AsExpected,
		LeftOut: row.LeftOut, Seeds: row.Seeds.String(), Wanted: row.Own(), Ran: row.Ran,
		Hash: fmt.Sprintf("%016x", row.Hash), File: file, Line: line, Properties: []ci.Property{},
		Mechanisms: []ci.Mechanism{}, Faults: []ci.Fault{}, Known: []ci.Known{}, Problems: []ci.Problem{},
	}
	for _, p := range row.Properties {
		property := ci.Property{
			Name: string(p.Property), Holds: p.Holds, Violated: p.Violated, Unknown: p.Unknown, Skipped: p.Skipped,
		}
		if p.Violated > 0 {
			property.First = &p.FirstViolated.Seed
		}
		r.Properties = append(r.Properties, property)
	}
	for _, m := range row.Mechanisms {
		mechanism := ci.Mechanism{
			Number: m.Mechanism.Ref, Name: m.Mechanism.Name, Seeds: m.Seeds, First: m.First.Seed, Properties: []string{},
		}
		for _, p := range m.Properties {
			mechanism.Properties = append(mechanism.Properties, string(p))
		}
		r.Mechanisms = append(r.Mechanisms, mechanism)
	}
	for _, f := range row.Faults {
		r.Faults = append(r.Faults, ci.Fault{Text: f.Text, Planned: f.Drawn, Struck: f.Strikes})
	}
	for _, k := range row.Known {
		r.Known = append(r.Known, ci.Known{Find: k.What, Reason: k.Reason, Shown: row.Shows(k.What)})
	}
	for _, reason := range row.Judgement.Reasons {
		r.Problems = append(r.Problems, problemOf(row, reason, kept))
	}
	return r
}

// severities of conclusions: a difference is an error, what could not be decided is a warning.
func severity(c scenarios.Conclusion) ci.Severity {
	switch c {
	case scenarios.AsExpected:
		return ci.Note
	case scenarios.NothingRan, scenarios.Inconclusive:
		return ci.Warning
	default:
		return ci.Error
	}
}

func problemOf(row *scenarios.Row, reason scenarios.Reason, kept *keptRun) ci.Problem {
	p := ci.Problem{
		Kind: string(reason.Kind), Property: string(reason.Property), Severity: severity(reason.Conclusion),
		Text: reason.Text, Weight: int(reason.Conclusion),
	}
	if len(reason.Seeds) > 0 {
		p.Seeds, p.Command = reason.Seeds.String(), reproduce(row, reason)
	}
	if kept.shows(reason) {
		p.Folder, p.Plan, p.Diagram = filepath.ToSlash(kept.place), kept.plan, kept.diagram
	}
	return p
}

// placeOf is the file of a row's scenario and the line at which the implementation stands in it.
func placeOf(row *scenarios.Row) (string, int) {
	file := filepath.ToSlash(row.Scenario.Word())
	if row.Scenario.Source == "" {
		file = libraryFolder + "/" + row.Scenario.Name + ".yaml"
	}
	number := 0
	for line := range strings.Lines(string(row.Scenario.Text)) {
		number++
		if strings.HasPrefix(strings.TrimSpace(line), row.Implementation+":") {
			return file, number
		}
	}
	return file, 1
}

// reproduce is the command that shows what a reason is about.
func reproduce(row *scenarios.Row, reason scenarios.Reason) string {
	violated := reason.Kind == scenarios.KindViolated
	words := []string{programName(), "run", row.Scenario.Word()}
	if violated {
		words[1] = "hunt"
	}
	words = append(words, "--impl", row.Implementation, "--seeds", reason.Seeds.String())
	if violated {
		words = append(words, "--property", string(reason.Property), "--strategy", row.Strategy)
	}
	if row.Transport != scenarios.Direct {
		words = append(words, "--transport", string(row.Transport))
	}
	if reason.Conclusion == scenarios.NotDeterministic {
		words = append(words, "--twice")
	}
	return shellWords(words...)
}
