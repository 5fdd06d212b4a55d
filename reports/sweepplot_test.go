package reports

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
)

// sweepOf is a sweep over clients of two locks with two seeds each. One run has failed, one has broken a promise.
func sweepOf(t testing.TB) []SweepRun {
	t.Helper()
	var runs []SweepRun
	for i, name := range []string{"some/queue", "some/polling"} {
		for _, clients := range []int{3, 6, 12} {
			for seed := range uint64(2) {
				summary := sampleOf(t, busy(clients, 40*clients+int(seed), name), "").Summary()
				summary.Requests, summary.WakeUps = summary.Handed*(1+i*clients), summary.Handed*(1-i)
				runs = append(runs, SweepRun{
					Scenario: "busy", Implementation: name, Quantity: "clients", Value: strconv.Itoa(clients),
					Number: int64(clients), Clients: clients, Lease: time.Second, LatencyLow: time.Millisecond,
					LatencyHigh: 2 * time.Millisecond, Seed: seed + 1, Result: checker.Holds, Summary: summary,
				})
			}
		}
	}
	runs[1].Result = checker.Violated
	runs[2].Summary, runs[2].Result, runs[2].Error = nil, "", "it stood still"
	return runs
}

func TestSweepPlots(t *testing.T) {
	runs := sweepOf(t)
	for _, kind := range SweepKinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			sameTwice(t, filepath.Join("plots", "sweep-"+kind), func() (*Figure, error) { return DrawSweep(kind, runs) })
		})
	}
	f, err := DrawSweep("throughput", runs)
	want := "Seeds 1-2, 12 runs, 1 of them failed and left out, 1 broke a promise; configuration "
	if err != nil || !strings.Contains(f.caption, want) {
		t.Errorf("the caption does not say %q: %v", want, err)
	}
	// The order in which runs come must not matter within a lock.
	slices.Reverse(runs[:6])
	again, err := DrawSweep("throughput", runs)
	if err != nil || !slices.EqualFunc(f.rows, again.rows, slices.Equal) {
		t.Errorf("in another order the data are others: %v", err)
	}
}

func TestSweepRefuses(t *testing.T) {
	failed := []SweepRun{{Scenario: "x", Implementation: "y", Quantity: "clients", Value: "2", Number: 2, Error: "no"}}
	for _, kind := range append(SweepKinds(), "pie") {
		for _, runs := range [][]SweepRun{nil, failed} {
			if _, err := DrawSweep(kind, runs); err == nil || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v", kind, err)
			}
		}
	}
}

func TestSweepTable(t *testing.T) {
	runs := sweepOf(t)
	dir := filepath.Join(t.TempDir(), "a")
	for range 2 {
		if err := WriteSweepTable(dir, "sweep.csv", runs); err != nil {
			t.Fatal(err)
		}
		if got := listing(t, dir); !slices.Equal(got, []string{"sweep.csv"}) {
			t.Fatalf("it writes %v", got)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "sweep.csv"))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("plots", "sweep.csv"), text)
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(rows) != len(runs)+1 {
		t.Fatalf("the table has %d rows: %v", len(rows), err)
	}
	file := filepath.Join(dir, "sweep.csv")
	if err := WriteSweepTable(file, "sweep.csv", runs); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("into a file it returns %v", err)
	}
}
