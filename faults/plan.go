package faults

import (
	"fmt"
	"slices"
	"strings"
)

// Plan is the faults of one run. Their order says nothing of when they strike, except that of two faults for the same
// moment the earlier one in the plan strikes first.
type Plan []Fault

// String writes one fault per line, each with its newline. ParsePlan reads it back to an equal plan.
func (p Plan) String() string {
	var b strings.Builder
	for _, fault := range p {
		b.WriteString(fault.String())
		b.WriteByte('\n')
	}
	return b.String()
}

// ParsePlan reads one fault per line. Empty lines are skipped, and so are comments: from a # that begins the line, or
// that follows a space and has no digit behind it ("#2" is a number).
//
// An error is a *SyntaxError with its line.
func ParsePlan(text string) (Plan, error) {
	templates, err := parseLines(text, false)
	if err != nil {
		return nil, err
	}
	plan := make(Plan, len(templates))
	for i, template := range templates {
		plan[i] = template.low
	}
	return plan, nil
}

// ParseTemplates reads one template per line, otherwise as ParsePlan does.
func ParseTemplates(text string) ([]Template, error) { return parseLines(text, true) }

func parseLines(text string, template bool) ([]Template, error) {
	var templates []Template
	line := 0
	for content := range strings.SplitSeq(text, "\n") {
		line++
		content = withoutComment(content)
		if strings.Trim(content, " \t\r") == "" {
			continue
		}
		t, err := parseLine(content, line, template)
		if err != nil {
			return nil, err
		}
		templates = append(templates, t)
	}
	return templates, nil
}

// withoutComment cuts a comment off a line. See ParsePlan for the rule.
func withoutComment(line string) string {
	if strings.HasPrefix(strings.TrimLeft(line, " \t"), "#") {
		return ""
	}
	for i := 1; i < len(line); i++ {
		afterSpace := line[i-1] == ' ' || line[i-1] == '\t'
		if line[i] == '#' && afterSpace && (i+1 == len(line) || !isDigit(line[i+1])) {
			return line[:i]
		}
	}
	return line
}

// Draw makes a plan: it draws from each template in order and leaves out what the odds leave out.
//
// The stream of a template is asked for by its index. Streams that are keyed by the text of the template instead
// of its index have the virtue that adding a template changes no other fault.
func Draw(templates []Template, stream func(template int) Stream) Plan {
	var plan Plan
	for i, template := range templates {
		if fault, in := template.Draw(stream(i)); in {
			plan = append(plan, fault)
		}
	}
	return plan
}

// Validate reports the first fault of the plan that makes no sense in a world with these machines.
func Validate(plan Plan, machines []string) error {
	for i, fault := range plan {
		if err := fault.Check(); err != nil {
			return fmt.Errorf("plan, entry %d: %w", i+1, err)
		}
		for _, ref := range fault.Mentions() {
			if ref.IsRole() || slices.Contains(machines, string(ref)) {
				continue
			}
			return fmt.Errorf("plan, entry %d: fault %q: %s", i+1, fault, unknownMachine(string(ref), machines))
		}
	}
	return nil
}

// unknownMachine tells which machines there are, and which of them was probably meant.
func unknownMachine(name string, machines []string) string {
	const listed = 12
	known := slices.Clone(machines)
	for _, role := range roles {
		known = append(known, string(role))
	}
	message := fmt.Sprintf("there is no machine %q", name)
	if near := nearest(name, known); near != "" {
		return message + fmt.Sprintf("; did you mean %q?", near)
	}
	switch {
	case len(machines) == 0:
		return message + ": this world has none"
	case len(machines) > listed:
		return message + fmt.Sprintf("; there are %s and %d more",
			strings.Join(machines[:listed], ", "), len(machines)-listed)
	default:
		return message + "; there are " + enumerate(machines, "and")
	}
}
