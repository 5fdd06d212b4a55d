package scenarios

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/lockstep-sim/lockstep/scenarios/strategy"
)

const scriptText = `# Two clients and a dead record.
#
# Change it.

scenario
name: dead
clients: 2
program:
  c1, c2: [lock, work 1s, unlock]
----

run impl=redis/getset seed=7 transport=wire
c1>redis SETNX #1 takes 1.5ms
c2 wait #1 takes 163ms
----
     2.000ms c1 acquire
nothing violated
`

// TestScripts runs the scripts of testdata/shrunk with package datadriven, as any project can that has it: runs that
// were shrunk, with what happens in each.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, filepath.Join("testdata", "shrunk"), func(t *testing.T, path string) {
		var s *Script
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "scenario":
				scenario, err := Parse(path, []byte(d.Input+"\n"))
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				s = &Script{Scenario: scenario, Transport: Direct}
				return ""
			case "run":
				d.ScanArgs(t, "impl", &s.Implementation)
				d.ScanArgs(t, "seed", &s.Seed)
				for line := range strings.Lines(d.Input) {
					decision, err := strategy.Parse(strings.TrimSpace(line))
					if err != nil {
						d.Fatalf(t, "%v", err)
					}
					s.Decisions = append(s.Decisions, decision)
				}
				_, events, err := s.Play(t)
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				return events
			default:
				d.Fatalf(t, "there is no command %q", d.Cmd)
				return ""
			}
		})
	})
}

// TestScriptsAreReadAlike checks that the program reads these scripts as datadriven does, and writes them as they are.
func TestScriptsAreReadAlike(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "shrunk", "*"))
	if err != nil || len(files) < 3 {
		t.Fatalf("there are %d scripts (%v)", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !IsScript(string(text)) {
			t.Errorf("%s is taken for no script", file)
		}
		s, err := ReadScript(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if s.String() != string(text) {
			t.Errorf("%s is written back as\n%s", file, s)
		}
		if _, events, err := s.Play(t); err != nil || events != s.Expected {
			t.Errorf("%s: what comes out is (%v)\n%s", file, err, events)
		}
	}
}

func TestParseScript(t *testing.T) {
	s, err := ParseScript("shrunk.txt", scriptText)
	if err != nil {
		t.Fatal(err)
	}
	if s.Scenario.Name != "dead" || s.Scenario.Clients != 2 || s.Implementation != "redis/getset" || s.Seed != 7 ||
		s.Transport != Wire || len(s.Decisions) != 2 || len(s.Prose) != 3 {
		t.Errorf("it is read as %+v", s)
	}
	if got := s.String(); got != scriptText {
		t.Errorf("it is written back as\n%s", got)
	}
	if windows, err := ParseScript("s", strings.ReplaceAll(scriptText, "\n", "\r\n")); err != nil ||
		windows.String() != scriptText {
		t.Errorf("with the line ends of Windows: %v", err)
	}
	ablation := strings.Replace(scriptText, "redis/getset", "(redis/getset-repaired!loser-writes)", 1)
	ablated, err := ParseScript("s", ablation)
	if err != nil || ablated.Implementation != "redis/getset-repaired!loser-writes" ||
		!strings.Contains(ablated.String(), "impl=(redis/getset-repaired!loser-writes) ") {
		t.Errorf("with a safeguard off: %v", err)
	}
}

func TestParseScriptErrors(t *testing.T) {
	for _, test := range []struct{ name, old, new, want string }{
		{"empty", scriptText, "", `1: want "scenario", then its lines, then ----`},
		{"no scenario", "scenario\n", "scene\n", `5: want "scenario", then its lines, then ----`},
		{"no end", "----", "", `12:1: `},
		{"no end at all", scriptText, "scenario\nname: x\n", `3: no line of ---- follows`},
		{"scenario", "clients: 2", "clients: two", `7:10: clients "two"`},
		{"no run", "run impl", "ran impl", `12: want "run impl=NAME seed=N"`},
		{"implementation", "redis/getset", "redis/getsat", `12: no lock named "redis/getsat"; did you mean`},
		{"no implementation", "impl=redis/getset ", "", `12: want an implementation, such as impl=redis/getset`},
		{"seed", "seed=7", "seed=x", `12: seed "x": want a number`},
		{"transport", "wire", "pigeon", `12: transport "pigeon"`},
		{"word", "transport=", "transports=", `12: "transports=wire": want impl=NAME`},
		{"decision", "takes 163ms", "takes ages", `14: decision "c2 wait #1 takes ages"`},
		{"backend", "redis/getset", "zk/fair", `12: zk/fair keeps its lock on zookeeper`},
	} {
		_, err := ParseScript("s.txt", strings.Replace(scriptText, test.old, test.new, 1))
		if err == nil || !strings.HasPrefix(err.Error(), "s.txt:"+test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: the error is %v, want s.txt:%s", test.name, err, test.want)
		}
	}
}

// FuzzParseScript checks that no text makes the parser panic, that errors have one line and a place, and that what is
// read is written back to a script that reads the same.
func FuzzParseScript(f *testing.F) {
	f.Add(scriptText)
	f.Add(strings.Replace(scriptText, "redis/getset", "(redis/getset-repaired!loser-writes)", 1))
	f.Add("scenario\n----\nrun x")
	f.Add("scenario\nname: A\nprogram:\n  0: !0\n----") // the YAML library panics at it
	f.Add("# x\nscenario\nname: a\nclients: 1\nprogram: {c1: [wait 1s]}\n----\nrun impl=redis/getset\n----\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseScript("s.txt", text)
		if err != nil {
			if message := err.Error(); strings.Contains(message, "\n") || !strings.HasPrefix(message, "s.txt:") {
				t.Fatalf("the error is %q", message)
			}
			return
		}
		again, err := ParseScript("s.txt", s.String())
		if err != nil || again.String() != s.String() {
			t.Fatalf("it is read as\n%s\nand that as\n%v, %v", s, again, err)
		}
	})
}
