package house

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	// examplePrompt begins the README's example; what the command prints follows, up to the end of the block.
	examplePrompt = "$ go run ./cmd/lockstep "
	// picture is the README's picture, drawn by the example.
	picture = "docs/dead-record.png"
)

// TestReadme runs the README's example and compares what it prints and draws with what the README shows. With -rewrite
// the README takes over what came out.
func TestReadme(t *testing.T) {
	readme := filepath.Join(root, "README.md")
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	start := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, examplePrompt) })
	if start < 0 {
		t.Fatalf("README.md has no line that begins with %q", examplePrompt)
	}
	length := slices.Index(lines[start+1:], "```")
	if length < 0 {
		t.Fatal("the README's example does not end with ```")
	}
	folder := t.TempDir()
	got := runExample(t, folder, strings.Fields(strings.TrimPrefix(lines[start], examplePrompt)))
	drawn := findDrawing(t, folder)
	if *rewrite {
		lines = slices.Replace(lines, start+1, start+1+length, got...)
		write(t, readme, []byte(strings.Join(lines, "\n")))
		write(t, filepath.Join(root, picture), drawn)
		return
	}
	if diff := cmp.Diff(lines[start+1:start+1+length], got); diff != "" {
		t.Errorf("the README shows something else than the example prints (-README +printed); "+
			"-rewrite takes it over:\n%s", diff)
	}
	if shown, err := os.ReadFile(filepath.Join(root, picture)); err != nil || !bytes.Equal(shown, drawn) {
		t.Errorf("the example draws something else than %s shows (error: %v); -rewrite takes it over", picture, err)
	}
}

// TestReadmeScenario runs the scenario that the README shows: what it says must come out.
func TestReadmeScenario(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "```yaml\n")
	scenario, _, ended := strings.Cut(after, "```\n")
	if !found || !ended {
		t.Fatal("README.md shows no scenario as a block of yaml")
	}
	name := filepath.Join(t.TempDir(), "scenario.yaml")
	write(t, name, []byte(scenario))
	command := exec.Command(buildCommand(t), "run", name)
	command.Dir = t.TempDir()
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("the README's scenario does not come out as it says: %v\n%s", err, out)
	}
}

func buildCommand(t *testing.T) string {
	program := filepath.Join(t.TempDir(), "lockstep")
	build := exec.Command("go", "build", "-o", program, "./cmd/lockstep")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// runExample runs the command in folder and returns the lines that it prints. It must find a violation.
func runExample(t *testing.T, folder string, arguments []string) []string {
	command := exec.Command(buildCommand(t), arguments...)
	command.Dir = folder
	out, err := command.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("the README's example ended with %v and not with the exit code 1 of a violation:\n%s", err, out)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// findDrawing reads the plot of holders that the example has left in its folder.
func findDrawing(t *testing.T, folder string) []byte {
	found, err := filepath.Glob(filepath.Join(folder, "lockstep-out", "*", "*", "*", "plots", "holders.png"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the example has left %d plots of holders, want 1 (error: %v)", len(found), err)
	}
	drawing, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return drawing
}

func write(t *testing.T, name string, content []byte) {
	if err := os.WriteFile(name, content, 0o666); err != nil {
		t.Fatal(err)
	}
}
