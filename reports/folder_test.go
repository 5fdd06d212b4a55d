package reports

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-sim/lockstep/checker"
)

// exampleRun is a run with all that a folder can hold.
func exampleRun(t testing.TB) Run {
	x := readExample(t, "loser-enters")
	story := x.stories()[0]
	return Run{
		History: x.history, Verdicts: x.verdicts, Findings: x.findings, Hash: 0x0123456789abcdef, Story: &story,
		Replay: "lockstep replay 1\n", Scenario: []byte("name: loser-enters\n"),
		Trace: func(w io.Writer) error {
			_, err := io.WriteString(w, "{\"index\":1}\n")
			return err
		},
	}
}

// tree lists the files below a folder, with a slash at the end of folders.
func tree(t testing.TB, root string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		name, err := filepath.Rel(root, path)
		if entry.IsDir() {
			name += "/"
		}
		names = append(names, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

var dataFiles = []string{"data/", "data/calls.csv", "data/events.csv", "data/holds.csv"}

var plotFiles = []string{
	"plots/", "plots/clock.csv", "plots/clock.png", "plots/clock.svg", "plots/fairness.csv", "plots/fairness.png",
	"plots/fairness.svg", "plots/hand-over.txt", "plots/holders.csv", "plots/holders.png", "plots/holders.svg",
	"plots/latency.csv", "plots/latency.png", "plots/latency.svg", "plots/outcomes.csv", "plots/outcomes.png",
	"plots/outcomes.svg", "plots/overlap.csv", "plots/overlap.png", "plots/overlap.svg", "plots/queue.csv",
	"plots/queue.png", "plots/queue.svg", "plots/wait.csv", "plots/wait.png", "plots/wait.svg",
}

func TestWriteFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out", "loser-enters", "seed-7")
	run := exampleRun(t)
	if err := WriteFolder(dir, run); err != nil {
		t.Fatal(err)
	}
	want := append(append(slices.Clone(dataFiles), historyFile, searchPage(1)), plotFiles...)
	want = append(want, replayFile, pageFile, scenarioFile, sequenceFile, diagramFile, storyFile, traceFile, verdictFile)
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Errorf("the folder holds other files than it should (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"seed-7"}, names(t, filepath.Dir(dir))); diff != "" {
		t.Errorf("something is left beside the folder: %s", diff)
	}
	for name, content := range map[string]string{
		replayFile: run.Replay, scenarioFile: string(run.Scenario), storyFile: run.Story.String(),
		traceFile: "{\"index\":1}\n",
	} {
		if got := readFile(t, dir, name); got != content {
			t.Errorf("%s holds %q, want %q", name, got, content)
		}
	}
	for _, name := range tree(t, dir) {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s is empty: %v", name, err)
		}
	}
	golden(t, verdictFile, []byte(readFile(t, dir, verdictFile)))
	if readFile(t, dir, historyFile) != readFile(t, "testdata", filepath.Join("histories", "loser-enters.jsonl")) {
		t.Error("the history is not the one that was read")
	}
	var verdict map[string]any
	if err := json.Unmarshal([]byte(readFile(t, dir, verdictFile)), &verdict); err != nil {
		t.Error(err)
	}
}

func readFile(t testing.TB, dir, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// names lists what is in a folder, hidden files included.
func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, entry := range entries {
		list = append(list, entry.Name())
	}
	return list
}

func TestWriteFolderLeavesOutWhatIsNotThere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	run := exampleRun(t)
	run.Trace, run.Story, run.Scenario, run.Replay, run.Verdicts, run.Findings = nil, nil, nil, "", nil, nil
	if err := WriteFolder(dir, run); err != nil {
		t.Fatal(err)
	}
	want := append(append(append(slices.Clone(dataFiles), historyFile), plotFiles...), pageFile, verdictFile)
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
	if got := readFile(t, dir, verdictFile); !strings.Contains(got, `"verdicts": []`) || strings.Contains(got, "null") {
		t.Errorf("what was not judged is not an empty list: %s", got)
	}
}

// TestWriteFolderWithoutPlots keeps a history that cannot be drawn.
func TestWriteFolderWithoutPlots(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	run := exampleRun(t)
	run.History = &checker.History{Events: []checker.Event{{Index: 1, Process: 1, Type: checker.OK, F: checker.Release}}}
	if err := WriteFolder(dir, run); err != nil {
		t.Fatal(err)
	}
	if got := readFile(t, filepath.Join(dir, plotsFolder), "plots.txt"); !strings.Contains(got, "which called nothing") {
		t.Errorf("plots.txt gives the reason %q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, plotsFolder, "holders.svg")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a plot: %v", err)
	}
}

// TestWriteFolderReplaces replaces the folder of an earlier run, also through a link, and an empty one.
func TestWriteFolderReplaces(t *testing.T) {
	base := t.TempDir()
	dir, link := filepath.Join(base, "run"), filepath.Join(base, "latest")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("run", link); err != nil {
		t.Skipf("there are no symbolic links here: %v", err)
	}
	run := exampleRun(t)
	for i, target := range []string{dir, dir, link} {
		run.Replay = fmt.Sprintf("version %d\n", i)
		if i == 2 {
			run.Story = nil
		}
		if err := WriteFolder(target, run); err != nil {
			t.Fatal(err)
		}
		if got := readFile(t, dir, replayFile); got != run.Replay {
			t.Errorf("after version %d the folder holds %q", i, got)
		}
	}
	if slices.Contains(names(t, dir), storyFile) {
		t.Error("a file of the run before is still there")
	}
	if diff := cmp.Diff([]string{"latest", "run"}, names(t, base)); diff != "" {
		t.Errorf("something is left beside the folder: %s", diff)
	}
}

// TestWriteFolderFails has one clear line for each thing that can be in the way, and leaves everything as it was.
func TestWriteFolderFails(t *testing.T) {
	broken := errors.New("no space left on device")
	for _, test := range []struct {
		name    string
		prepare func(t *testing.T, base string)
		spoil   func(run *Run)
		want    string // in the error
	}{
		{"a file is in the way", func(t *testing.T, base string) {
			put(t, filepath.Join(base, "a", "run"), "precious")
		}, nil, "not a directory"},
		{"a parent is a file", func(t *testing.T, base string) {
			put(t, filepath.Join(base, "a"), "precious")
		}, nil, "not a directory"},
		{"somebody's files are in it", func(t *testing.T, base string) {
			put(t, filepath.Join(base, "a", "run", "thesis.tex"), "precious")
		}, nil, "holds thesis.tex, which no run has written"},
		{"the trace cannot be written", nil, func(run *Run) {
			run.Trace = func(io.Writer) error { return broken }
		}, "trace.jsonl: no space left on device"},
		{"an earlier run stays", func(t *testing.T, base string) {
			put(t, filepath.Join(base, "a", "run", replayFile), "precious")
		}, func(run *Run) {
			run.Trace = func(io.Writer) error { return broken }
		}, "trace.jsonl: no space left on device"},
		{"there is no history", nil, func(run *Run) { run.History = nil }, "no history"},
	} {
		t.Run(test.name, func(t *testing.T) {
			base := t.TempDir()
			if test.prepare != nil {
				test.prepare(t, base)
			}
			before := tree(t, base)
			run := exampleRun(t)
			if test.spoil != nil {
				test.spoil(&run)
			}
			err := WriteFolder(filepath.Join(base, "a", "run"), run)
			if err == nil {
				t.Fatal("there was no error")
			}
			if text := err.Error(); !strings.Contains(text, test.want) || strings.Contains(text, "\n") ||
				!strings.Contains(text, filepath.Join(base, "a")) {
				t.Errorf("the error is %q, want one line that names the place and says %q", text, test.want)
			}
			if diff := cmp.Diff(before, tree(t, base)); diff != "" {
				t.Errorf("something was changed (-before +after):\n%s", diff)
			}
		})
	}
}

func put(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestWriteFolderUnwritable asks for a folder where nobody may write. The administrator may write everywhere.
func TestWriteFolderUnwritable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("the administrator may write everywhere")
	}
	base := t.TempDir()
	if err := os.Chmod(base, 0o555); err != nil {
		t.Fatal(err)
	}
	err := WriteFolder(filepath.Join(base, "run"), exampleRun(t))
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("the error is %v", err)
	}
}

// TestWriteFolderTwiceIsEqual writes a run twice: the bytes are the same in all files.
func TestWriteFolderTwiceIsEqual(t *testing.T) {
	base := t.TempDir()
	for _, name := range []string{"one", "two"} {
		if err := WriteFolder(filepath.Join(base, name), exampleRun(t)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range tree(t, filepath.Join(base, "one")) {
		if strings.HasSuffix(name, "/") {
			continue
		}
		if readFile(t, filepath.Join(base, "one"), name) != readFile(t, filepath.Join(base, "two"), name) {
			t.Errorf("%s differs", name)
		}
	}
}
