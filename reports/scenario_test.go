package reports_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/mechanism"
	"github.com/lockstep-sim/lockstep/reports"
	"github.com/lockstep-sim/lockstep/scenarios"
	"github.com/lockstep-sim/lockstep/sim"
)

// TestRunsOfScenarios tells, draws and keeps what comes out of the scenarios that come with the program. It looks at
// nothing in particular: a scenario may change. What holds is that every violation is told in steps that begin with
// a cause, and that the text has no word of the machinery in it.
func TestRunsOfScenarios(t *testing.T) {
	const seeds = 3
	told := 0
	for _, scenario := range scenarios.Library() {
		for _, expected := range scenario.Implementations {
			for seed := uint64(1); seed <= seeds && len(expected.Find) > 0; seed++ {
				outcome, err := scenarios.Run(t, scenarios.Setup{
					Scenario: scenario, Implementation: expected.Implementation, Seed: seed, Trace: sim.HashOnly,
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, verdict := range outcome.Verdicts {
					for _, violation := range verdict.Violations {
						var finding *mechanism.Finding
						for i := range outcome.Mechanisms {
							if f := &outcome.Mechanisms[i]; cmp.Equal(f.Violation, violation) {
								finding = f
							}
						}
						readable(t, reports.Tell(&outcome.History, verdict.Property, violation, finding))
						told++
					}
				}
			}
		}
	}
	if told == 0 {
		t.Error("no violation was found in any scenario")
	}
}

// TestSearchPagesOfScenarios makes Porcupine's page of the lock of every row whose answers fit: whatever decided that,
// Porcupine must come to the same.
func TestSearchPagesOfScenarios(t *testing.T) {
	pages := 0
	for _, scenario := range scenarios.Library() {
		for _, expected := range scenario.Implementations {
			outcome, err := scenarios.Run(t, scenarios.Setup{
				Scenario: scenario, Implementation: expected.Implementation, Seed: 1, Trace: sim.HashOnly,
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range outcome.Verdicts {
				if v.Property != checker.Linearizability || v.Result != checker.Holds || v.Skipped {
					continue
				}
				for _, lock := range outcome.History.Locks() {
					pages++
					if err := checker.WriteLockPage(io.Discard, &outcome.History, outcome.Judging, lock); err != nil {
						t.Errorf("%s with %s: %v", scenario.Name, expected.Implementation, err)
					}
				}
			}
		}
	}
	if pages < 100 {
		t.Errorf("only %d pages were made", pages)
	}
}

func readable(t *testing.T, story reports.Story) {
	t.Helper()
	text := story.String()
	if len(story.Steps) == 0 || len(story.Steps) > 15 {
		t.Errorf("the story has %d steps:\n%s", len(story.Steps), text)
	}
	for _, word := range []string{"Violated:", "fault:", "record of somebody", "nemesis", "goroutine", "%!"} {
		if strings.Contains(text, word) {
			t.Errorf("the story has the word %q in it:\n%s", word, text)
		}
	}
}

// TestFolderOfARun keeps a traced run.
func TestFolderOfARun(t *testing.T) {
	scenario, err := scenarios.Load("dead-record")
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := scenarios.Run(t, scenarios.Setup{
		Scenario: scenario, Implementation: "redis/getset", Seed: 1, Trace: sim.Full,
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	err = reports.WriteFolder(dir, reports.Run{
		History: &outcome.History, Verdicts: outcome.Verdicts, Findings: outcome.Mechanisms, Hash: outcome.Hash,
		Trace: outcome.Trace.WriteJSONL,
	})
	if err != nil {
		t.Fatal(err)
	}
	trace, err := os.ReadFile(filepath.Join(dir, "trace.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if got := uint64(strings.Count(string(trace), "\n")); got != outcome.Trace.Count() {
		t.Errorf("the trace has %d lines, want %d", got, outcome.Trace.Count())
	}
}
