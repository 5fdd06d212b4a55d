package spacetime_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/mechanism"
	"github.com/lockstep-sim/lockstep/reports"
	"github.com/lockstep-sim/lockstep/reports/spacetime"
	"github.com/lockstep-sim/lockstep/scenarios"
	"github.com/lockstep-sim/lockstep/sim"
)

// sample is a run to be shown.
type sample struct {
	name    string
	run     reports.Run
	entries []spacetime.Entry
}

func (s *sample) page() *spacetime.Page { return reports.NewPage(&s.run, s.entries) }

// play runs a seed of a scenario.
func play(t testing.TB, name string, setup scenarios.Setup) *sample {
	t.Helper()
	setup.Trace = sim.Full
	outcome, err := scenarios.Run(new(testing.T), setup)
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
	s := &sample{name: name, run: reports.Run{
		History: &outcome.History, Verdicts: outcome.Verdicts, Judging: outcome.Judging, Findings: outcome.Mechanisms,
		Trace: outcome.Trace.WriteJSONL, Hash: outcome.Hash,
	}}
	if s.entries, err = spacetime.ReadTrace(&trace); err != nil {
		t.Fatal(err)
	}
	s.tell()
	return s
}

// tell makes the story of the first violation that is explained, else of the first at all.
func (s *sample) tell() {
	for _, explained := range []bool{true, false} {
		for _, verdict := range s.run.Verdicts {
			for _, v := range verdict.Violations {
				var finding *mechanism.Finding
				for i := range s.run.Findings {
					if f := &s.run.Findings[i]; reflect.DeepEqual(f.Violation, v) {
						finding = f
					}
				}
				if (finding != nil) == explained {
					story := reports.Tell(s.run.History, verdict.Property, v, finding)
					s.run.Story = &story
					return
				}
			}
		}
	}
}

// library plays a scenario that comes with the program.
func library(t testing.TB, scenario, implementation string, seed uint64, transport scenarios.Transport) *sample {
	t.Helper()
	loaded, err := scenarios.Load(scenario)
	if err != nil {
		t.Fatal(err)
	}
	return play(t, scenario, scenarios.Setup{
		Scenario: loaded, Implementation: implementation, Seed: seed, Transport: transport,
	})
}

// crowd is a scenario in which several clients want the lock again and again while this and that goes wrong.
const crowd = `name: crowd
about: Many clients, for as long as it takes.
lock: {name: job, lease: 200ms}
clients: 6
network: 500us..2ms
program:
  others: [wait 1ms..80ms, lock, write, work 1ms..30ms, unlock, repeat]
faults: |
  pause c2 for 250ms at 200ms
  cut c3-redis for 150ms silent at 500ms
  slow c4-redis by 40ms for 200ms at 700ms
  clock c5 offset +1.5s at 100ms
  crash c6 at 400ms
  restart c6 as new at 600ms
heal: %s
until: %s
grace: 2s
implementations:
  redis/getset:
    allow: [mutual-exclusion, linearizability, release, resource, liveness]
`

// long plays the crowd for some time.
func long(t testing.TB, name, until string) *sample {
	t.Helper()
	path := filepath.Join(t.TempDir(), "crowd.yaml")
	text := bytes.ReplaceAll([]byte(crowd), []byte("%s"), []byte(until))
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	loaded, err := scenarios.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return play(t, name, scenarios.Setup{Scenario: loaded, Implementation: "redis/getset", Seed: 13})
}

// twelve is a history of twelve events, without a trace.
func twelve() *sample {
	h := &checker.History{Header: checker.Header{Scenario: "twelve", Implementation: "redis/mine", Seed: 12, Lock: "job"}}
	add := func(ms int64, process int, node string, kind checker.Type, f string) {
		h.Events = append(h.Events, checker.Event{
			Index: int64(len(h.Events)) + 1, Time: milliseconds(ms), Process: process, Node: node, Type: kind, F: f, Key: "job",
			Owner: node,
		})
	}
	add(1, 0, "c1", checker.Invoke, checker.Acquire)
	add(3, 0, "c1", checker.OK, checker.Acquire)
	add(5, 1, "c2", checker.Invoke, checker.Acquire)
	add(8, 1, "c2", checker.OK, checker.Acquire)
	add(20, 0, "c1", checker.Invoke, checker.Release)
	add(22, 0, "c1", checker.OK, checker.Release)
	add(30, 1, "c2", checker.Invoke, checker.Release)
	add(31, 1, "c2", checker.OK, checker.Release)
	add(900, 0, "c1", checker.Invoke, checker.TryAcquire)
	add(902, 0, "c1", checker.OK, checker.TryAcquire)
	add(905, 0, "c1", checker.Invoke, checker.Release)
	add(907, 0, "c1", checker.OK, checker.Release)
	s := &sample{name: "twelve", run: reports.Run{History: h}}
	s.run.Verdicts = checker.Check(h, checker.Options{})
	s.tell()
	return s
}

// samples are runs of every kind, for a person to look at.
func samples(t testing.TB) []*sample {
	t.Helper()
	return []*sample{
		twelve(),
		library(t, "dead-record", "redis/getset", 5, scenarios.Direct),
		library(t, "paused-holder", "redis/setnx-px", 1, scenarios.Wire),
		library(t, "redis-clock-step", "redis/setnx-px", 1, scenarios.Direct),
		library(t, "zk-stale-path", "zk/fair", 1, scenarios.Wire),
		long(t, "crowd", "1800ms"),
		hostile(),
	}
}

// writePage writes a page into a folder of the test's own.
func writePage(t testing.TB, page *spacetime.Page) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := page.WriteHTML(f); err != nil {
		t.Fatal(err)
	}
	return path
}
