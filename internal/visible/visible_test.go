package visible

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestAnything checks that nothing that acts is left of any text, and that a rendered text stays as it is.
func TestAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })
		evil := rapid.StringOf(rapid.SampledFrom([]rune(": \t\n\r\x1b\u0085\u009b\u2028\u202ea")))
		text := rapid.OneOf(rapid.String(), bytes, evil).Draw(t, "text")
		got := Text(text)
		if !utf8.ValidString(got) || strings.IndexFunc(got, acts) >= 0 {
			t.Errorf("Text(%q) = %q", text, got)
		}
		if Text(got) != got {
			t.Errorf("Text(%q) is not stable", text)
		}
		line := Line(text)
		if strings.ContainsAny(line, "\n\t") || strings.IndexFunc(line, acts) >= 0 ||
			strings.HasPrefix(strings.TrimSpace(line), "::") {
			t.Errorf("Line(%q) = %q", text, line)
		}
		if cell := Cell(text); strings.Contains(cell, "\n") || strings.IndexFunc(cell, acts) >= 0 || Cell(cell) != cell {
			t.Errorf("Cell(%q) = %q", text, cell)
		}
		if Line(line) != line {
			t.Errorf("Line(%q) is not stable", text)
		}
	})
}

func TestText(t *testing.T) {
	for _, plain := range []string{"", "plain", "ü → 漢字", "a\nb\tc", "::error::", string(utf8.RuneError)} {
		if got := Text(plain); got != plain {
			t.Errorf("Text(%q) = %q", plain, got)
		}
	}
}

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"\x1b[1m\n\xff\u202e": `\x1b[1m\n\xff\u202e`,
		"a\tb::c":             "a b::c",
		"::error::x":          `\x3a:error::x`,
		" \t::error::x":       `  \x3a:error::x`,
		"\n::error::x":        `\n::error::x`,
		"x\r\n":               `x\x0d\n`,
	} {
		if got := Line(text); got != want {
			t.Errorf("Line(%q) = %q, want %q", text, got, want)
		}
	}
}
