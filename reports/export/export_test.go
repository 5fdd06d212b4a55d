package export_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/reports"
	"github.com/lockstep-sim/lockstep/reports/export"
	"github.com/lockstep-sim/lockstep/reports/spacetime"
	"github.com/lockstep-sim/lockstep/scenarios"
	"github.com/lockstep-sim/lockstep/sim"
)

var rewrite = flag.Bool("rewrite", false, "write what comes out now as what is expected")

// golden compares what came out with what is kept.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff(string(want), string(got)); difference != "" {
		t.Errorf("%s differs; -rewrite takes over what comes out now:\n%s", name, difference)
	}
}

// play runs a seed of a scenario.
func play(t testing.TB, scenario *scenarios.Scenario, implementation string, seed uint64) export.Run {
	t.Helper()
	outcome, err := scenarios.Run(new(testing.T), scenarios.Setup{
		Scenario: scenario, Implementation: implementation, Seed: seed, Trace: sim.Full,
	})
	if err == nil {
		err = outcome.Err
	}
	if err != nil {
		t.Fatal(err)
	}
	var trace bytes.Buffer
	if err := outcome.Trace.WriteJSONL(&trace); err != nil {
		t.Fatal(err)
	}
	entries, err := spacetime.ReadTrace(&trace)
	if err != nil {
		t.Fatal(err)
	}
	return show(&outcome.History, outcome.Verdicts, entries)
}

func show(h *checker.History, verdicts []checker.Verdict, entries []spacetime.Entry) export.Run {
	return export.Run{
		History: h, Verdicts: verdicts, Page: reports.NewPage(&reports.Run{History: h, Verdicts: verdicts}, entries),
	}
}

// kept is a run that is kept, in which a lock breaks: holds overlap, a client crashes, a lease is over.
func kept(t testing.TB) export.Run {
	t.Helper()
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join("testdata", "run", name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	h, err := checker.ReadHistory(bytes.NewReader(read("history.jsonl")))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := spacetime.ReadTrace(bytes.NewReader(read("trace.jsonl")))
	if err != nil {
		t.Fatal(err)
	}
	var verdict struct {
		Verdicts []checker.Verdict `json:"verdicts"`
	}
	if err := json.Unmarshal(read("verdict.json"), &verdict); err != nil {
		t.Fatal(err)
	}
	return show(&h, verdict.Verdicts, entries)
}

// TestLibrary writes the first seed of a row of each scenario of the library, and judges what comes out. In all of them
// together everything comes up that the package's documentation lists, and nothing else.
func TestLibrary(t *testing.T) {
	written := map[string]bool{}
	collect := func(events []traceEvent) {
		for _, e := range events {
			if e.Phase != "M" {
				written[e.Category+" "+e.Phase] = true
			}
		}
	}
	for _, scenario := range scenarios.Library() {
		t.Run(scenario.Name, func(t *testing.T) {
			if testing.Short() && scenario.Name == "reentrant-test" {
				t.Skip("its long run is left out of short tests")
			}
			run := play(t, scenario, scenario.Implementations[0].Implementation, 1)
			t.Run("perfetto", func(t *testing.T) { collect(judgePerfetto(t, run)) })
			t.Run("shiviz", func(t *testing.T) { judgeShiViz(t, run) })
		})
	}
	collect(readTrace(t, perfettoOf(t, hostileRun()))) // the library writes no notes
	listed := documented(t)
	for what := range written {
		if !listed[what] {
			t.Errorf("%s is written, and doc.go does not list it", what)
		}
	}
	for what := range listed {
		if !written[what] {
			t.Errorf("doc.go lists %s, which no run has", what)
		}
	}
}

// listing matches a line of the table in doc.go: a category and its phases.
var listing = regexp.MustCompile(`(?m)^//\t([a-z-]+) +([A-Za-z](?:, [a-z])?) {2,}\S`)

// documented lists the categories with their phases that doc.go tells of.
func documented(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, line := range listing.FindAllStringSubmatch(string(text), -1) {
		for _, phase := range strings.Split(line[2], ", ") {
			listed[line[1]+" "+phase] = true
		}
	}
	return listed
}

// hostileText would break out of JSON, a line, a page or a folder.
const hostileText = "<script>\"'\\ }\x1b[31m\n../x\t=1+1\u2028"

// hostileRun has the text wherever a text can stand.
func hostileRun() export.Run {
	h := &checker.History{
		Header: checker.Header{
			Scenario: hostileText, Implementation: hostileText, Lock: hostileText, Plan: []string{hostileText},
			Parameters: []checker.Parameter{{Name: hostileText, Value: hostileText}},
		},
		Events: []checker.Event{
			{Index: 1, Time: 10, Node: hostileText, Type: checker.Invoke, F: checker.Acquire, Key: hostileText},
			{
				Index: 2, Time: 12, Process: checker.ProcessServer, Node: hostileText, Type: checker.Info, F: checker.RecordSet,
				Key: hostileText, Command: hostileText, Record: &checker.Record{Owner: hostileText, Count: 1},
			},
			{Index: 3, Time: 14, Node: hostileText, Type: checker.OK, F: checker.Acquire, Key: hostileText},
			{
				Index: 4, Time: 15, Process: checker.ProcessFault, Type: checker.Info, F: checker.FaultApplied,
				Command: hostileText,
			},
			{Index: 5, Time: 16, Node: hostileText, Type: checker.Invoke, F: hostileText, Key: hostileText},
			{Index: 6, Time: 18, Node: hostileText, Type: checker.Info, F: hostileText, Key: hostileText, Error: hostileText},
		},
	}
	entries := []spacetime.Entry{
		{Index: 1, Time: 11, Kind: "send", From: hostileText, To: "s " + hostileText, Conn: 1, Text: hostileText},
		{
			Index: 2, Time: 12, Kind: "deliver", From: hostileText, To: "s " + hostileText, Conn: 1, Cause: 1,
			Text: hostileText,
		},
		{Index: 3, Time: 13, Kind: "note", Text: hostileText},
	}
	return show(h, nil, entries)
}
