package impl

import (
	"fmt"
	"slices"
	"strings"
)

// nearest words the cure for a name that is not among known: the names that it may have been meant for, or all.
func nearest(name string, known []string) string {
	if len(known) == 0 {
		return "there is none"
	}
	near := Near(name, known)
	if len(near) == 0 {
		return "known: " + strings.Join(known, ", ")
	}
	return "did you mean " + strings.Join(near, " or ") + "?"
}

// Near lists up to three of the known names that a name may have been meant for, the nearest first, in quotes.
func Near(name string, known []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	var near []candidate
	for _, k := range known {
		if d := editDistance(name, k); d <= max(2, len(name)/3) {
			near = append(near, candidate{k, d})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return a.distance - b.distance })
	var quoted []string
	for _, c := range near[:min(len(near), 3)] {
		quoted = append(quoted, fmt.Sprintf("%q", c.name))
	}
	return quoted
}

// editDistance counts the bytes to insert, delete or replace that turn a into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0] // the distance of a[:i] and b[:j]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
