package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/lockstep-sim/lockstep/impl"
	"github.com/lockstep-sim/lockstep/scenarios"
)

func newList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Lists the scenarios and the implementations that come with lockstep",
		Long: `List shows every scenario with what it must find in which implementation, and every implementation with what it
promises, its knobs, and the safeguards that can be switched off by name.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			fmt.Fprintln(out, "SCENARIOS, and what must come out")
			for _, s := range scenarios.Library() {
				listScenario(out, s)
			}
			fmt.Fprintln(out, "\nIMPLEMENTATIONS")
			for _, entry := range scenarios.Catalogue().List() {
				listImplementation(out, entry)
			}
			return nil
		},
	}
}

func listScenario(out io.Writer, s *scenarios.Scenario) {
	fmt.Fprintf(out, "\n%s\n", s.Name)
	writeWrapped(out, "  ", "", s.About)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, e := range s.Implementations {
		fmt.Fprintf(table, "    %s\t%s\n", e.Implementation, expectationText(e))
	}
	table.Flush()
}

// expectationText says in a few words what must come out.
func expectationText(e scenarios.Expectation) string {
	var parts []string
	for _, find := range e.Find {
		parts = append(parts, fmt.Sprintf("%s in %d", find.What, find.Within))
	}
	switch {
	case len(parts) > 0:
		return "must find " + strings.Join(parts, ", ") + " seeds"
	case len(e.Allow) > 0:
		return fmt.Sprintf("holds, except perhaps %s", joinProperties(e.Allow))
	default:
		return "holds"
	}
}

func joinProperties[P ~string](properties []P) string {
	words := make([]string, len(properties))
	for i, p := range properties {
		words[i] = string(p)
	}
	return strings.Join(words, ", ")
}

func listImplementation(out io.Writer, e impl.Entry) {
	fmt.Fprintf(out, "\n%s\n", e.Name)
	writeWrapped(out, "  ", "", e.About)
	fmt.Fprintf(out, "  promises: %s\n", promisesText(e.Promises))
	if len(e.Knobs) > 0 {
		fmt.Fprintln(out, "  knobs:")
	}
	for _, knob := range e.Knobs {
		writeWrapped(out, "    ", "  ", fmt.Sprintf("%s (default %s): %s", knob.Name, knob.Default, knob.About))
	}
	if len(e.Ablations) > 0 {
		fmt.Fprintf(out, "  with a safeguard switched off (quote the names in a shell):\n")
	}
	for _, a := range e.Ablations {
		writeWrapped(out, "    ", "  ", fmt.Sprintf("%s!%s: %s", e.Name, a.Name, a.About))
	}
}

func promisesText(p impl.Promises) string {
	promises := []string{"mutual exclusion"}
	for _, promise := range []struct {
		made bool
		text string
	}{
		{p.Reentrant, "reentrancy"},
		{p.Leased, "a lease"},
		{p.Fenced, "fencing tokens"},
		{p.LossTold, "loss is told"},
		{p.Fair, "fairness"},
	} {
		if promise.made {
			promises = append(promises, promise.text)
		}
	}
	return strings.Join(promises, ", ")
}

// writeWrapped writes a text in lines of at most 100 columns: the first is indented, the others are by hang more.
func writeWrapped(out io.Writer, indent, hang, text string) {
	const width = 100
	line := indent
	empty := true
	for _, word := range strings.Fields(text) {
		if !empty && len(line)+1+len(word) > width {
			fmt.Fprintln(out, line)
			line, empty = indent+hang, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	if !empty {
		fmt.Fprintln(out, line)
	}
}
