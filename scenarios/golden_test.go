package scenarios

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-sim/lockstep/sim"
)

var seedsEach = flag.Uint64("seeds", 6, "how many seeds of each row TestProcessorsDoNotMatter runs")

// rewriting says that files of expected results are to be written anew: the flag -rewrite, which package datadriven has
// for its scripts already.
func rewriting() bool { return flag.Lookup("rewrite").Value.String() == "true" }

// rows calls f for every scenario and implementation that it says something of; with -short for scenarios that are not
// long.
func rows(f func(s *Scenario, implementation string)) {
	for _, s := range Library() {
		if testing.Short() && s.Until > 10*time.Second {
			continue
		}
		for _, e := range s.Implementations {
			f(s, e.Implementation)
		}
	}
}

func mustRun(t *testing.T, setup Setup) *Outcome {
	t.Helper()
	o, err := Run(t, setup)
	if err == nil {
		err = o.Err
	}
	if err != nil {
		t.Fatalf("%s with %s, seed %d: %v", setup.Scenario.Name, setup.Implementation, setup.Seed, err)
	}
	if len(o.Leaks) > 0 {
		t.Errorf("%s with %s, seed %d: goroutines were left: %v", setup.Scenario.Name, setup.Implementation, setup.Seed,
			o.Leaks)
	}
	return o
}

// TestGoldenHashes pins what every scenario does, over versions of the program and of its libraries: a changed hash is
// a changed run, and must be meant. Run it with -rewrite then, and read the difference.
func TestGoldenHashes(t *testing.T) {
	var got strings.Builder
	rows(func(s *Scenario, implementation string) {
		seeds := uint64(3)
		if testing.Short() {
			seeds = 1
		}
		for seed := uint64(1); seed <= seeds; seed++ {
			o := mustRun(t, Setup{Scenario: s, Implementation: implementation, Seed: seed, Trace: sim.HashOnly})
			fmt.Fprintf(&got, "%s %s %d %016x\n", s.Name, implementation, seed, o.Hash)
		}
	})
	const path = "testdata/hashes.txt"
	if rewriting() && !testing.Short() {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !testing.Short() && got.Len() != len(want) {
		t.Errorf("%s has other rows; if that is meant, run this test with -rewrite", path)
	}
	for line := range strings.Lines(got.String()) {
		if !strings.Contains(string(want), line) {
			t.Fatalf("%s does not have %q; if that is meant, run this test with -rewrite", path, strings.TrimSpace(line))
		}
	}
}

// TestProcessorsDoNotMatter runs every row with one processor and with four.
func TestProcessorsDoNotMatter(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	seeds := *seedsEach
	if testing.Short() {
		seeds = min(seeds, 2)
	}
	rows(func(s *Scenario, implementation string) {
		for seed := uint64(1); seed <= seeds; seed++ {
			var runs [2]*Outcome
			for i, processors := range []int{1, 4} {
				runtime.GOMAXPROCS(processors)
				runs[i] = mustRun(t, Setup{Scenario: s, Implementation: implementation, Seed: seed, Trace: sim.HashOnly})
			}
			if runs[0].Hash != runs[1].Hash {
				t.Errorf("%s with %s, seed %d: the hash is %016x with one processor and %016x with four",
					s.Name, implementation, seed, runs[0].Hash, runs[1].Hash)
			}
		}
	})
}

// TestTransportsAgree runs every row over both transports. As long as no connection has to be opened anew, which takes
// a greeting over the wire, everything happens at the same instants, and the hashes are equal.
func TestTransportsAgree(t *testing.T) {
	seeds := uint64(3)
	if testing.Short() {
		seeds = 1
	}
	compared := 0
	rows(func(s *Scenario, implementation string) {
		for seed := uint64(1); seed <= seeds; seed++ {
			setup := Setup{Scenario: s, Implementation: implementation, Seed: seed, Trace: sim.Full, Transport: Direct}
			direct := mustRun(t, setup)
			setup.Transport = Wire
			wire := mustRun(t, setup)
			// Over the wire, a client library does not look at the context of a call while it waits for an answer.
			if opensConnections(&direct.Trace) || cancelsCalls(direct.Plan) {
				continue
			}
			compared++
			if direct.Hash != wire.Hash {
				t.Errorf("%s with %s, seed %d: %s", s.Name, implementation, seed, sim.FirstDifference(&direct.Trace, &wire.Trace))
			}
		}
	})
	if compared < 50 && !testing.Short() {
		t.Errorf("only %d runs could be compared", compared)
	}
}

// opensConnections tells whether clients of Redis opened connections during the run, after a loss or for a second call
// at the same time.
func opensConnections(trace *sim.Trace) bool {
	for _, e := range trace.Entries {
		if e.Kind == sim.KindSend && strings.HasPrefix(e.To, redisMachine) && e.Text == "open" {
			return true
		}
	}
	return false
}
