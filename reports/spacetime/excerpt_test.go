package spacetime_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-sim/lockstep/reports/spacetime"
	"github.com/lockstep-sim/lockstep/scenarios"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs; if that is meant, run the test with -update (-want +got):\n%s", path, diff)
	}
}

func TestExcerpts(t *testing.T) {
	for _, s := range []*sample{
		twelve(), hostile(), library(t, "dead-record", "redis/getset", 5, scenarios.Direct),
	} {
		page := s.page()
		golden(t, s.name+".mmd", page.Mermaid())
		golden(t, s.name+".txt", page.Text())
	}
}

// mermaidLines are the forms of the lines that a diagram may have.
var mermaidLines = []*regexp.Regexp{
	regexp.MustCompile(`^sequenceDiagram$`),
	regexp.MustCompile(`^    title [^:<>]+$`),
	regexp.MustCompile(`^    participant m\d+ as [^:<>]+$`),
	regexp.MustCompile(`^    m\d+(->>|-->>|-x|--x)m\d+: [^<>]+$`),
	regexp.MustCompile(`^    Note over m\d+(,m\d+)?: ([^<>]|<br/>)+$`),
	regexp.MustCompile(`^    rect rgba\(213, 94, 0, 0\.18\)$`),
	regexp.MustCompile(`^    end$`),
}

// entity matches a character that is written as a number. What is left then must mean nothing to Mermaid.
var entity = regexp.MustCompile(`#\d+;`)

// TestMermaid checks every sample against the notation, and that it stays short.
func TestMermaid(t *testing.T) {
	for _, s := range samples(t) {
		for _, withStory := range []bool{true, false} {
			page := s.page()
			if !withStory {
				page.Story = nil
			}
			checkMermaid(t, s.name, page)
			text := page.Text()
			if strings.ContainsAny(text, "\x1b\r\t\u202e") || !strings.HasSuffix(text, "\n") {
				t.Errorf("%s: the text is not plain:\n%q", s.name, text)
			}
		}
	}
}

func checkMermaid(t *testing.T, name string, page *spacetime.Page) {
	t.Helper()
	lines, said, depth := strings.Split(strings.TrimSuffix(page.Mermaid(), "\n"), "\n"), 0, 0
	for _, line := range lines {
		matches := false
		for _, form := range mermaidLines {
			matches = matches || form.MatchString(line)
		}
		if rest := entity.ReplaceAllString(line, ""); !matches || strings.ContainsAny(rest, "#;%`\"") {
			t.Errorf("%s: no line of a diagram: %s", name, line)
		}
		switch word := strings.Fields(line)[0]; {
		case word == "rect":
			depth++
		case word == "end":
			depth--
		case strings.Contains(line, ": "):
			said++
		}
		if depth < 0 || depth > 1 {
			t.Errorf("%s: rect and end do not nest at %s", name, line)
		}
	}
	if depth != 0 || said == 0 || said > spacetime.ExcerptLimit {
		t.Errorf("%s: %d lines are said, and %d rects stay open:\n%s", name, said, depth, strings.Join(lines, "\n"))
	}
}
