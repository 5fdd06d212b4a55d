package spacetime

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// plain makes one line of printable characters of a text, so that it does nothing to a terminal or to the lines around
// it.
func plain(text string) string {
	return strings.Join(strings.FieldsFunc(text, unprintable), " ")
}

func unprintable(r rune) bool {
	return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == utf8.RuneError
}

func width(text string) int { return utf8.RuneCountInString(text) }

// pad fills a text up with spaces: behind it, or before it where the width is negative.
func pad(text string, n int) string {
	if n < 0 {
		return strings.Repeat(" ", max(-n-width(text), 0)) + text
	}
	return text + strings.Repeat(" ", max(n-width(text), 0))
}

// wrap breaks a text between words into lines of at most so many characters. A word that is longer has a line of its
// own. Two colons never begin a line, where the log of a build would take them for a command.
func wrap(text string, most int) []string {
	var lines []string
	current := ""
	for _, word := range strings.Fields(text) {
		switch {
		case current == "":
			current = word
		case width(current)+1+width(word) > most && !strings.HasPrefix(word, "::"):
			lines, current = append(lines, current), word
		default:
			current += " " + word
		}
	}
	return append(lines, current)
}

// seconds renders true time, rounded to the millisecond.
func seconds(d time.Duration) string {
	ms := (d + 500*time.Microsecond) / time.Millisecond
	return fmt.Sprintf("%d.%03d s", ms/1000, ms%1000)
}
