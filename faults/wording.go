package faults

import (
	"strings"
	"unicode/utf8"
)

// nearest returns the candidate that the word is most likely a slip for, or nothing when none or several are as near.
func nearest(word string, candidates []string) string {
	if word == "" || len(word) > maxName {
		return ""
	}
	// Short words have many neighbours: they are allowed one slip, longer ones two.
	limit := 2
	if len(word) <= 3 {
		limit = 1
	}
	best, bestDistance := "", limit+1
	for _, candidate := range candidates {
		switch d := distance(word, candidate); {
		case d < bestDistance && d < len(candidate):
			best, bestDistance = candidate, d
		case d == bestDistance && candidate != best:
			best = ""
		}
	}
	return best
}

// distance counts the slips that turn one word into another: a letter too much, too few, wrong, or two neighbours
// swapped (the optimal string alignment distance).
func distance(a, b string) int {
	before := make([]int, len(b)+1)  // row i-2
	last := make([]int, len(b)+1)    // row i-1
	current := make([]int, len(b)+1) // row i
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		current[0] = i
		for j := 1; j <= len(b); j++ {
			wrong := 1
			if a[i-1] == b[j-1] {
				wrong = 0
			}
			current[j] = min(last[j]+1, current[j-1]+1, last[j-1]+wrong)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				current[j] = min(current[j], before[j-2]+1)
			}
		}
		before, last, current = last, current, before
	}
	return last[len(b)]
}

// enumerate joins words as a sentence does: a, b or c.
func enumerate(words []string, conjunction string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}

// abbreviate shortens what a message quotes from its input.
func abbreviate(text string) string {
	const longest = 40
	if utf8.RuneCountInString(text) <= longest {
		return text
	}
	return string([]rune(text)[:longest]) + "..."
}
