package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// docs holds the page about gates and its workflow.
var docs = filepath.Join("..", "..", "docs")

// blocks are the fenced blocks of a page, with their languages.
var blocks = regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$")

// TestGatePage runs the commands of the page about gates, one after another in one folder, with the file that it shows.
func TestGatePage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(docs, "gate.md"))
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	commands := 0
	for _, block := range blocks.FindAllStringSubmatch(string(text), -1) {
		if block[1] == "yaml" {
			if err := os.WriteFile(filepath.Join(dir, "gate.yaml"), []byte(block[2]), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for line := range strings.Lines(block[2]) {
			command, comment, _ := strings.Cut(strings.TrimSpace(line), "#")
			words := strings.Fields(command)
			if words[0] != "lockstep" {
				t.Fatalf("the page has a command that is none of lockstep's: %q", command)
			}
			want := 0
			if code, is := strings.CutPrefix(comment, " exits "); is {
				if want, err = strconv.Atoi(code); err != nil {
					t.Fatal(err)
				}
			}
			commands++
			process := exec.CommandContext(t.Context(), program)
			process.Args, process.Dir = words, dir
			out, _ := process.CombinedOutput() // its code tells
			if code := process.ProcessState.ExitCode(); code != want {
				t.Fatalf("%q exits with %d, and the page says %d:\n%s", command, code, want, out)
			}
		}
	}
	if commands < 10 {
		t.Errorf("the page has %d commands", commands)
	}
	for _, name := range []string{"junit.xml", "lockstep.sarif", "known.yaml", "result.json"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestGateExitCodes checks that the page gives each exit code that there is.
func TestGateExitCodes(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(docs, "gate.md"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(exitHelp) {
		code, _, found := strings.Cut(strings.TrimSpace(line), " ")
		if _, err := strconv.Atoi(code); found && err == nil && !strings.Contains(string(text), "\n| "+code+" |") {
			t.Errorf("the page does not give exit code %s", code)
		}
	}
}

// workflow mirrors what the test looks at of a workflow for GitHub.
type workflow struct {
	Name string         `yaml:"name"`
	On   map[string]any `yaml:"on"`
	Jobs map[string]struct {
		Needs string `yaml:"needs"`
		Steps []struct {
			Run  string         `yaml:"run"`
			Uses string         `yaml:"uses"`
			With map[string]any `yaml:"with"`
		} `yaml:"steps"`
	} `yaml:"jobs"`
}

// TestWorkflow parses the workflow and lets the command line parse each command of lockstep in it.
func TestWorkflow(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(docs, "lockstep.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var w workflow
	if err := yaml.Unmarshal(text, &w); err != nil {
		t.Fatal(err)
	}
	if w.Name == "" || len(w.On) == 0 || w.Jobs["gate"].Needs != "part" {
		t.Errorf("it is no workflow with parts and a gate: %+v", w)
	}
	version := regexp.MustCompile(`^[a-z-]+/[a-z/-]+@v[0-9]+$`)
	var commands []string
	for name, job := range w.Jobs {
		for _, step := range job.Steps {
			if (step.Run == "") == (step.Uses == "") || step.Uses != "" && !version.MatchString(step.Uses) {
				t.Errorf("job %s has a step that is neither a command nor an action with a version: %+v", name, step)
			}
			if words := strings.Fields(step.Run); len(words) > 0 && words[0] == "lockstep" {
				commands = append(commands, words[1])
				checkCommandLine(t, words[1:])
			}
		}
	}
	slices.Sort(commands)
	if !slices.Equal(commands, []string{"merge", "run"}) {
		t.Errorf("its commands are %v", commands)
	}
}

// checkCommandLine parses a command line without running it.
func checkCommandLine(t *testing.T, words []string) {
	t.Helper()
	line := strings.ReplaceAll(strings.Join(words, " "), "${{ matrix.part }}", "1")
	cmd, rest, err := newRoot(streams{}).Find(strings.Fields(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Errorf("%s: %v", line, err)
	}
	if formats, err := cmd.Flags().GetStringSlice("format"); err != nil {
		t.Error(err)
	} else if _, err := parseFormats(formats); err != nil {
		t.Errorf("%s: %v", line, err)
	}
}
