package foreign_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/foreign"
)

// TestRead runs the scripts of testdata/read. Each has the commands
//
//	read [format=NAME] [cut=N]    reads its input, without the last N bytes, and shows the history or the error
//	judge                         judges the input as the history of a register or a key-value store
//
// In the input a line of one dot stands for an empty one.
func TestRead(t *testing.T) {
	datadriven.Walk(t, "testdata/read", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var format string
			var cut int
			d.MaybeScanArgs(t, "format", &format)
			d.MaybeScanArgs(t, "cut", &cut)
			input := strings.ReplaceAll(d.Input, "\n.\n", "\n\n")
			r, err := foreign.Read(strings.NewReader(input[:len(input)-cut]), foreign.Format(format))
			switch {
			case err != nil:
				return err.Error() + "\n"
			case d.Cmd == "judge":
				return foreign.Linearizable(&r.History, r.Object, 0).String() + "\n"
			default:
				return show(t, r)
			}
		})
	})
}

// show renders what was read. The events are those of package checker's own format.
func show(t *testing.T, r *foreign.Recording) string {
	t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s, %s\n", r.Format, r.Object)
	for _, what := range r.Assumed {
		fmt.Fprintf(&b, "assumed: %s\n", what)
	}
	if err := checker.WriteHistory(&b, &r.History); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
