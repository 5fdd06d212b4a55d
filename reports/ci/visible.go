package ci

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible renders a text so that nothing in it acts: control characters, with which a terminal can be painted over,
// marks that turn the direction of writing, and bytes that are no text are written as their numbers. Line ends and tabs
// stay.
func Visible(text string) string {
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

// VisibleLine is Visible for what must stay one line.
func VisibleLine(text string) string {
	return strings.NewReplacer("\n", `\n`, "\t", " ").Replace(Visible(text))
}

func acts(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == 0x2028 || r == 0x2029 ||
		r == 0xfffe || r == 0xffff)
}
