package zookeeper_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
)

// sweep is how often the servers of the scripts look for nodes that expire by themselves.
const sweep = 200 * time.Millisecond

// script runs one block of a script file. A block of the form
//
//	run ours
//
// holds what a real server cannot be made to show, and
//
//	run real
//
// what this package answers otherwise on purpose. Files named documented_* need a server of ours that goes by the
// documentation where ZooKeeper does not.
func script(r *runner, d *datadriven.TestData, other string) string {
	if slices.ContainsFunc(d.CmdArgs, func(a datadriven.CmdArg) bool { return a.Key == other }) {
		return d.Expected
	}
	return r.run(d.Input)
}

// TestConformance holds this package's server to scripts whose replies were recorded from ZooKeeper 3.8.0. Time is the
// bubble's, so that a session expires at once.
func TestConformance(t *testing.T) {
	datadriven.Walk(t, filepath.Join("testdata", "conformance"), func(t *testing.T, path string) {
		synctest.Test(t, func(t *testing.T) {
			documented := strings.HasPrefix(filepath.Base(path), "documented_")
			r := newRunner(t, startOurs(t, sweep, documented))
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				return script(r, d, "real")
			})
		})
	})
}

// TestConformanceRecorded holds the recorded replies to the ZooKeeper that is installed. Run with -rewrite it records.
func TestConformanceRecorded(t *testing.T) {
	datadriven.Walk(t, filepath.Join("testdata", "conformance"), func(t *testing.T, path string) {
		t.Parallel()
		r := newRunner(t, startReal(t, sweep))
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return script(r, d, "ours")
		})
	})
}
