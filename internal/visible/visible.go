package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text renders a text so that nothing in it acts: control characters, with which a terminal can be painted over, marks
// that turn the direction of writing, and bytes that are no text are written as their numbers. Line ends and tabs stay.
func Text(text string) string {
	if strings.IndexFunc(text, acts) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case !acts(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// Line is Text for what must stay one line. A line that begins with two colons is a command in the log of a build, so
// the first of them is written as its number.
func Line(text string) string {
	text = strings.NewReplacer("\n", `\n`, "\t", " ").Replace(Text(text))
	if rest := strings.TrimLeft(text, " "); strings.HasPrefix(rest, "::") {
		return text[:len(text)-len(rest)] + `\x3a` + rest[1:]
	}
	return text
}

// Cell is Text for a cell of a table in CSV, where a row stays one line. Tabs stay.
func Cell(text string) string { return strings.ReplaceAll(Text(text), "\n", `\n`) }

func acts(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == 0x2028 || r == 0x2029 ||
		r == 0xfffe || r == 0xffff)
}
