package zookeeper_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// script runs one block of a script file. A block of the form
//
//	run ours
//
// holds what a real server cannot be made to show, and
//
//	run real
//
// what this package answers otherwise on purpose.
func script(r *runner, d *datadriven.TestData, other string) string {
	if slices.ContainsFunc(d.CmdArgs, func(a datadriven.CmdArg) bool { return a.Key == other }) {
		return d.Expected
	}
	return r.run(d.Input)
}

// TestConformanceRecorded holds the recorded replies to the ZooKeeper that is installed. Run with -rewrite it records.
func TestConformanceRecorded(t *testing.T) {
	datadriven.Walk(t, filepath.Join("testdata", "conformance"), func(t *testing.T, path string) {
		r := newRunner(t, startReal(t, 200*time.Millisecond))
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			r.t = t
			return script(r, d, "ours")
		})
	})
}
