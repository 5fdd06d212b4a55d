package reports

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/lockstep-sim/lockstep/checker"
)

func BenchmarkTell(b *testing.B) {
	x := readExample(b, "loser-enters")
	f := &x.findings[0]
	for b.Loop() {
		Tell(x.history, f.Property, f.Violation, f)
	}
}

// BenchmarkTellLong tells a violation that lasts for all of a long history.
func BenchmarkTellLong(b *testing.B) {
	h := crowd(5000, 0)
	v := checker.Violation{
		Kind: checker.KindStarvation, Key: "job", To: h.Events[len(h.Events)-1].Time, Events: []int64{1}, Processes: []int{0},
	}
	for b.Loop() {
		Tell(h, checker.Liveness, v, nil)
	}
}

func BenchmarkHolderPlotSVG(b *testing.B) {
	x := readExample(b, "loser-enters")
	for b.Loop() {
		f, err := HolderPlot(x.history, HolderOptions{Violation: firstViolation(x.verdicts)})
		if err == nil {
			err = f.WriteSVG(io.Discard)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWriteFolder(b *testing.B) {
	run := exampleRun(b)
	dir := filepath.Join(b.TempDir(), "run")
	for b.Loop() {
		if err := WriteFolder(dir, run); err != nil {
			b.Fatal(err)
		}
	}
}
