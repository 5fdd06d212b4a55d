package ci

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lockstep-sim/lockstep/internal/visible"
)

// mostAnnotations is how many annotations are written. GitHub shows ten of a kind for a step, and nobody reads more
// than a few.
const mostAnnotations = 5

// WriteAnnotations writes GitHub's workflow commands for the weightiest problems, and how many more there are.
func WriteAnnotations(w io.Writer, c *Campaign) error {
	problems := c.problems()
	for _, x := range problems[:min(len(problems), mostAnnotations)] {
		message := x.row.Scenario + ", " + x.row.Implementation + ": " + x.problem.Text
		if x.problem.Command != "" {
			message += "\nRun it again: " + x.problem.Command
		}
		properties := []string{"title=" + commandProperty("lockstep: "+x.problem.rule())}
		if x.row.File != "" {
			properties = append(properties, "file="+commandProperty(x.row.File), fmt.Sprintf("line=%d", max(x.row.Line, 1)))
		}
		_, err := fmt.Fprintf(w, "::%s %s::%s\n", x.problem.Severity, strings.Join(properties, ","), commandData(message))
		if err != nil {
			return err
		}
	}
	if more := len(problems) - mostAnnotations; more > 0 {
		_, err := fmt.Fprintf(w, "::notice title=lockstep::and %d more\n", more)
		return err
	}
	return nil
}

// commandData escapes the message of a workflow command.
func commandData(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(visible.Text(text))
}

// commandProperty escapes the value of a property of a workflow command.
func commandProperty(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(commandData(visible.Line(text)))
}

const (
	// mostSummary is how many bytes a step summary has at most. GitHub drops one of more than a megabyte as a whole, and
	// all steps of a job share a page.
	mostSummary = 200 << 10
	// mostDiagram is how many bytes a diagram may have, beyond which it is no help.
	mostDiagram = 40 << 10
	// mostRows is how many rows the table shows, mostProblems how many problems are told below it.
	mostRows     = 200
	mostProblems = 20
)

// WriteSummary writes the page of Markdown for the summary of a step.
func WriteSummary(w io.Writer, c *Campaign) error {
	p := &page{}
	p.add("## lockstep: %s\n\n", c.closing())
	p.add("%d seeds, hash `%s`", c.Seeds, c.Hash)
	if c.Shard != "1/1" {
		p.add(", part %s: what is about all seeds is judged when the parts are merged", c.Shard)
	}
	if !c.Complete {
		p.add(", **not finished**")
	}
	p.add("\n\n")
	p.table(c)
	problems := c.problems()
	told := problems[:min(len(problems), mostProblems)]
	var rows []*Row
	for _, x := range told {
		if !slices.Contains(rows, x.row) {
			rows = append(rows, x.row)
		}
	}
	diagram := true
	for _, row := range rows {
		p.add("\n### %s, %s\n\n", markdown(row.Scenario), markdown(row.Implementation))
		for _, x := range told {
			if x.row == row {
				p.problem(x, &diagram)
			}
		}
	}
	if more := len(problems) - mostProblems; more > 0 {
		p.add("\nand %d more\n", more)
	}
	_, err := io.WriteString(w, p.text.String())
	return err
}

// page is Markdown that stays below mostSummary: what does not fit any more is left out as a whole.
type page struct {
	text strings.Builder
	full bool
}

func (p *page) add(format string, args ...any) {
	const rest = 200 // for the line that says so
	block := fmt.Sprintf(format, args...)
	switch {
	case p.full:
	case p.text.Len()+len(block) > mostSummary-rest:
		p.full = true
		p.text.WriteString("\n\nThe rest is left out here; the other formats have everything.\n")
	default:
		p.text.WriteString(block)
	}
}

// table shows the rows that did not pass, then the others as far as there is room.
func (p *page) table(c *Campaign) {
	p.add("| | scenario | implementation | seeds | found | violated |\n| --- | --- | --- | --- | --- | --- |\n")
	shown := 0
	for _, passed := range []bool{false, true} {
		for i := range c.Rows {
			row := &c.Rows[i]
			if row.Passed != passed || row.LeftOut || shown == mostRows {
				continue
			}
			shown++
			p.add("| %s | %s | %s | %d | %s | %s |\n", sign(row)+" "+markdown(row.Result), markdown(row.Scenario),
				markdown(row.Implementation), row.Ran, markdown(found(row)), markdown(violated(row)))
		}
	}
	if rest := len(c.Rows) - c.LeftOut - shown; rest > 0 {
		p.add("\nand %d more rows, which passed or are told below\n", rest)
	}
	if c.LeftOut > 0 {
		p.add("\nLeft out because enough others had failed: %d.\n", c.LeftOut)
	}
}

// sign says with a shape how a row came out; its word stands beside it.
func sign(row *Row) string {
	switch {
	case row.Passed:
		return "&#x2714;"
	case len(row.Problems) > 0 && row.Problems[0].Severity == Warning:
		return "&#x25B2;"
	default:
		return "&#x2718;"
	}
}

func found(row *Row) string {
	var all []string
	for _, m := range row.Mechanisms {
		all = append(all, fmt.Sprintf("%s@%d", m.Number, m.First))
	}
	return strings.Join(all, " ")
}

func violated(row *Row) string {
	var all []string
	for _, p := range row.Properties {
		if p.First != nil {
			all = append(all, fmt.Sprintf("%s@%d", p.Name, *p.First))
		}
	}
	return strings.Join(all, " ")
}

// problem tells one problem as an item of a list, the first that has a diagram with it.
func (p *page) problem(x placed, diagram *bool) {
	p.add("- %s\n", markdown(x.problem.Text))
	for _, fault := range x.problem.Plan {
		p.add("  - %s\n", markdown(fault))
	}
	if x.problem.Command != "" {
		p.add("\n%s\n", indented(fenced("sh", visible.Line(x.problem.Command))))
	}
	if *diagram && x.problem.Diagram != "" && len(x.problem.Diagram) <= mostDiagram {
		*diagram = false
		p.add("\n%s\n", indented(fenced("mermaid", visible.Text(x.problem.Diagram))))
	}
}

// indented moves a block to where it belongs to the item of a list before it.
func indented(block string) string { return "  " + strings.ReplaceAll(block, "\n", "\n  ") }

// fenced is a block of code. Its fence is longer than any run of backticks in it.
func fenced(language, code string) string {
	fence := "```"
	for strings.Contains(code, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimSuffix(code, "\n") + "\n" + fence
}

// markdown renders a text so that Markdown and HTML show it as it is, in one line.
func markdown(text string) string {
	var b strings.Builder
	for _, r := range visible.Line(text) {
		if strings.ContainsRune("\\`*_[]<>#|&~@:$", r) {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
