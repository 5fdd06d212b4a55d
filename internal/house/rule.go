package house

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"
)

// Rule is one thing that the tree must not do.
type Rule struct {
	Name  string
	About string // one line: what is asked, and what for
	check func(t *Tree, report reporter)
}

// reporter takes one finding. Positions are those of the Tree's FileSet.
type reporter func(at token.Pos, format string, args ...any)

// Finding is one place where a rule is broken.
type Finding struct {
	File         string // relative to the root, with slashes
	Line, Column int    // 0 where the finding is about a whole file
	Rule         string
	Text         string // what is wrong, and what to do
}

// String renders the finding as compilers do, so that editors jump to it.
func (f Finding) String() string {
	place := f.File
	if f.Line > 0 {
		place += fmt.Sprintf(":%d", f.Line)
	}
	if f.Column > 0 {
		place += fmt.Sprintf(":%d", f.Column)
	}
	return fmt.Sprintf("%s: %s: %s", place, f.Rule, f.Text)
}

// Rules returns all rules, sorted by name.
func Rules() []Rule {
	rules := slices.Concat(
		layerRules(), determinismRules(), blockingRules(), shapeRules(), textRules(), moduleRules(),
	)
	slices.SortFunc(rules, func(a, b Rule) int { return cmp.Compare(a.Name, b.Name) })
	return rules
}

// Check applies rules to the tree and returns what they find, sorted by place.
func Check(t *Tree, rules []Rule) []Finding {
	var findings []Finding
	for _, rule := range rules {
		rule.check(t, func(at token.Pos, format string, args ...any) {
			position := t.position(at)
			findings = append(findings, Finding{
				File: position.Filename, Line: position.Line, Column: position.Column,
				Rule: rule.Name, Text: fmt.Sprintf(format, args...),
			})
		})
	}
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Text, b.Text),
		)
	})
	return slices.Compact(findings)
}
