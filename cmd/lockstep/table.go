package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/lockstep-sim/lockstep/internal/visible"
	"github.com/lockstep-sim/lockstep/scenarios"
)

// writeTable writes one line for each row. Nothing in it depends on how fast the machine is.
func writeTable(out io.Writer, rows []*scenarios.Row) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "RESULT\tSCENARIO\tIMPLEMENTATION\tSEEDS\tFOUND\tVIOLATED\tNOT TESTED")
	for _, row := range rows {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", row.Judgement.Conclusion, row.Scenario.Name,
			row.Implementation, seedsText(row), dash(mechanisms(row)), dash(violated(row)), dash(some(untested(row))))
	}
	table.Flush()
}

// seedsText is how many seeds were run, and of how many if that differs.
func seedsText(row *scenarios.Row) string {
	if all := row.Own(); row.Ran < all {
		return fmt.Sprintf("%d of %d", row.Ran, all)
	}
	return fmt.Sprint(row.Ran)
}

// mechanisms lists what was found, each with the first seed that shows it.
func mechanisms(row *scenarios.Row) []string {
	var found []string
	for _, m := range row.Mechanisms {
		found = append(found, fmt.Sprintf("%s@%d", m.Mechanism.Ref, m.First.Seed))
	}
	return found
}

// violated lists the violated properties, each with the first seed that shows it.
func violated(row *scenarios.Row) []string {
	var found []string
	for _, p := range row.Properties {
		if p.Violated > 0 {
			found = append(found, fmt.Sprintf("%s@%d", p.Property, p.FirstViolated.Seed))
		}
	}
	return found
}

// untested lists the properties that were to be judged and that no seed put to the test.
func untested(row *scenarios.Row) []string {
	var found []string
	for _, p := range row.Properties {
		if p.Untested() {
			found = append(found, string(p.Property))
		}
	}
	return found
}

// some is the beginning of a list, with how many more there are.
func some(words []string) []string {
	const most = 3
	if len(words) <= most+1 {
		return words
	}
	return append(slices.Clone(words[:most]), fmt.Sprintf("and %d more", len(words)-most))
}

func dash(words []string) string {
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, " ")
}

// shellWords renders a command line that a shell reads back, in one line that shows as it is.
func shellWords(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		switch {
		case visible.Line(word) != word:
			quoted[i] = "$'" + escapeBytes(word) + "'" // bash, zsh and ksh take the escapes back
		case word == "" || strings.Trim(word, plainInShell) != "":
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		default:
			quoted[i] = word
		}
	}
	return strings.Join(quoted, " ")
}

// plainInShell are the characters that mean nothing to a shell.
const plainInShell = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,=@%"

// escapeBytes writes every byte that is not a plain character by its number.
func escapeBytes(word string) string {
	var b strings.Builder
	for i := range len(word) {
		switch c := word[i]; {
		case c == '\'' || c == '\\':
			b.WriteString("\\" + string(c))
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, "\\x%02x", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
