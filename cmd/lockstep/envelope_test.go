package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestEnvelopeExamples runs the examples of the help: the first has to give a bound with both its sides, the second a
// diagram.
func TestEnvelopeExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("it searches two envelopes in full")
	}
	examples := strings.Split(strings.ReplaceAll(newEnvelope().Example, "\\\n", " "), "\n")
	wants := [][]string{{"\n  holds up to ", "\n  breaks from "}, {" pairs of values broke it", "written to "}}
	if len(examples) != len(wants) {
		t.Fatalf("the examples are %q", examples)
	}
	for i, example := range examples {
		stdout, stderr := runExample(t, example)
		if stderr != "" {
			t.Errorf("%s: it says %q", example, stderr)
		}
		for _, want := range wants[i] {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s: no %q in\n%s", example, want, stdout)
			}
		}
	}
}

// runExample runs a command line of the help, which must exit 0, in an empty folder.
func runExample(t *testing.T, line string) (stdout, stderr string) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out, messages strings.Builder
	process := exec.Command(program)
	process.Args, process.Dir, process.Stdout, process.Stderr = exampleWords(line), t.TempDir(), &out, &messages
	if err := process.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, messages.String())
	}
	return out.String(), messages.String()
}

// exampleWords parts a command line of the help, which quotes with ' and " and escapes nothing.
func exampleWords(line string) []string {
	var words []string
	quote := rune(0)
	inWord := false
	for _, r := range line {
		switch {
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case r == quote:
			quote = 0
			continue
		case quote == 0 && r == ' ':
			inWord = false
			continue
		default:
			if !inWord {
				words, inWord = append(words, ""), true
			}
			words[len(words)-1] += string(r)
		}
	}
	return words
}
