package faults

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestScripts runs the scripts in testdata. Their commands:
//
//	fault                     each line of the input is parsed as a fault by itself; its canonical text or the error
//	template                  the same as a template
//	plan                      the input is one plan
//	templates                 the input is one text of templates
//	validate machines=(a,b)   the input is a plan for a world with these machines
//	draw seed=N               the input is a text of templates; the plan that is drawn from a fixed stream
//
// Write the results anew with -rewrite.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "fault":
				return eachLine(d.Input, func(text string) (fmt.Stringer, error) { return Parse(text) })
			case "template":
				return eachLine(d.Input, func(text string) (fmt.Stringer, error) { return ParseTemplate(text) })
			case "plan":
				plan, err := ParsePlan(d.Input)
				return result(plan.String(), err)
			case "templates":
				templates, err := ParseTemplates(d.Input)
				var b strings.Builder
				for _, template := range templates {
					fmt.Fprintln(&b, template)
				}
				return result(b.String(), err)
			case "validate":
				return validateScript(t, d)
			case "draw":
				return drawScript(t, d)
			}
			d.Fatalf(t, "unknown command %q", d.Cmd)
			return ""
		})
	})
}

func result(text string, err error) string {
	switch {
	case err != nil:
		return "error: " + err.Error() + "\n"
	case text == "":
		return "(empty)\n"
	}
	return text
}

func eachLine(input string, parse func(string) (fmt.Stringer, error)) string {
	var b strings.Builder
	for line := range strings.SplitSeq(input, "\n") {
		if value, err := parse(line); err != nil {
			fmt.Fprintf(&b, "error: %v\n", err)
		} else {
			fmt.Fprintln(&b, value)
		}
	}
	return b.String()
}

func validateScript(t *testing.T, d *datadriven.TestData) string {
	var machines []string
	for _, arg := range d.CmdArgs {
		if arg.Key == "machines" {
			machines = arg.Vals
		}
	}
	plan, err := ParsePlan(d.Input)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	if err := Validate(plan, machines); err != nil {
		return "error: " + err.Error() + "\n"
	}
	return "valid\n"
}

func drawScript(t *testing.T, d *datadriven.TestData) string {
	var seed int
	d.ScanArgs(t, "seed", &seed)
	templates, err := ParseTemplates(d.Input)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return result(Draw(templates, func(i int) Stream { return newStream(seed, i) }).String(), nil)
}
