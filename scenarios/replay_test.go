package scenarios

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/mechanism"
	"github.com/lockstep-sim/lockstep/faults"
	"github.com/lockstep-sim/lockstep/scenarios/strategy"
)

const replayText = `lockstep replay 2
program v0.1.0
scenario dead-record
implementation redis/getset
transport direct
strategy pct
seed 17
hash 00c0ffee00c0ffee
violated mutual-exclusion
kind overlap
mechanism R1
plan
  crash c1 on c1 after SETNX or on c1 after EVAL
  clock c2 step +1.5s at 3s
decisions
  c1>redis SETNX #1 takes 1.5ms
  c2 wait #1 takes 163ms
end
`

func TestParseReplay(t *testing.T) {
	r, err := ParseReplay("replay.txt", replayText)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.String(); got != replayText {
		t.Errorf("it is written back as\n%s", got)
	}
	if r.Seed != 17 || r.Hash != 0x00c0ffee00c0ffee || r.Mechanism != "R1" || len(r.Plan) != 2 ||
		r.Strategy != "pct" || r.Kind != "overlap" || len(r.Decisions) != 2 || r.Holds {
		t.Errorf("it is read as %+v", r)
	}
	if blank, err := ParseReplay("replay.txt", replayText+"\n\r\n\n"); err != nil || blank.String() != replayText {
		t.Errorf("with blank lines at its end it is read as %v, %v", blank, err)
	}
	if windows, err := ParseReplay("replay.txt", strings.ReplaceAll(replayText, "\n", "\r\n")); err != nil ||
		windows.String() != replayText {
		t.Errorf("with the line ends of Windows it is read as %v, %v", windows, err)
	}
}

func TestParseReplayErrors(t *testing.T) {
	for _, test := range []struct{ name, old, new, want string }{
		{
			"empty", replayText, "", `1: it is no replay file: want "lockstep replay 2" as its first line`,
		},
		{
			"other file", "lockstep replay 2", "name: x",
			`1: it is no replay file: want "lockstep replay 2" as its first line`,
		},
		{
			"newer", "replay 2\n", "replay 3\n",
			`1: it has format "3" and this program reads format 2: use the version of lockstep that wrote it, or hunt again`,
		},
		{
			"older", "replay 2\n", "replay 1\n",
			`1: it has format "1" and this program reads format 2: use the version of lockstep that wrote it, or hunt again`,
		},
		{
			"missing line", "scenario dead-record\n", "",
			`3: "implementation redis/getset": want "scenario dead-record"`,
		},
		{
			"wrong order", "seed 17\nhash 00c0ffee00c0ffee", "hash 00c0ffee00c0ffee\nseed 17",
			`7: "hash 00c0ffee00c0ffee": want "seed 17"`,
		},
		{"no value", "seed 17", "seed", `7: "seed": want "seed 17"`},
		{"spaces", "seed 17", "seed  17", `7: "seed  17": want "seed 17"`},
		{"seed", "seed 17", "seed 5-1", `7: seed "5-1": want a number from 0 to 18446744073709551615`},
		{"padded seed", "seed 17", "seed 017", `7: seed "017": want a number from 0 to 18446744073709551615`},
		{
			"scenario", "dead-record", "../x.yaml",
			`3: scenario "../x.yaml": want the name of a scenario, or scenario.yaml for the file beside this one`,
		},
		{
			"implementation", "redis/getset", "redis/getsat",
			`4: implementation "redis/getsat": no lock named "redis/getsat"; did you mean "redis/getset"?`,
		},
		{"transport", "transport direct", "transport pigeon", `5: transport "pigeon": want direct or wire`},
		{"hash", "00c0ffee00c0ffee", "c0ffee", `8: hash "c0ffee": want 16 digits of 0-9 and a-f`},
		{
			"hash in capitals", "00c0ffee00c0ffee", "00C0FFEE00C0FFEE",
			`8: hash "00C0FFEE00C0FFEE": want 16 digits of 0-9 and a-f`,
		},
		{"mechanism", "mechanism R1", "mechanism R99", `11: mechanism "R99": want a number such as R1`},
		{
			"no plan", "plan\n", "",
			`12: "  crash c1 on c1 after SETNX or on c1 after EVAL": want "plan" or "mechanism R1"`,
		},
		{"fault", "clock c2 step +1.5s", "clock c2 step soon", `14:17: fault: `},
		{
			"indent", "  clock", "clock",
			`14: "clock c2 step +1.5s at 3s": want a fault, indented by two spaces, or "end"`,
		},
		{
			"strategy", "strategy pct", "strategy luck",
			`6: strategy "luck": want one of uniform`,
		},
		{"kind", "kind overlap", "kind Over lap", `10: kind "Over lap": want a kind of violation, such as overlap`},
		{
			"decision", "takes 163ms", "takes ages", `17: decision "c2 wait #1 takes ages": "ages" is no duration`,
		},
		{
			"decisions twice", "  c2 wait", "decisions\n  c2 wait",
			`17: "decisions": want a decision, indented by two spaces, or "end"`,
		},
		{"cut off", "end\n", "", `18: an empty line: want a decision, indented by two spaces, or "end"`},
		{"more", "end\n", "end\nend\n", `19: "end": nothing may follow "end"`},
		{"more after blank lines", "end\n", "end\n\n\nend\n", `21: "end": nothing may follow "end"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if !strings.Contains(replayText, test.old) {
				t.Fatalf("the file does not hold %q", test.old)
			}
			_, err := ParseReplay("r.txt", strings.Replace(replayText, test.old, test.new, 1))
			if err == nil || !strings.HasPrefix(err.Error(), "r.txt:"+test.want) {
				t.Errorf("the error is %v, want r.txt:%s", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has several lines: %v", err)
			}
		})
	}
	_, err := ParseReplay("r.txt", strings.Replace(replayText, "violated mutual-exclusion", "violated peace", 1))
	if err == nil || !strings.HasPrefix(err.Error(), `r.txt:9: violated "peace": want one of [mutual-exclusion`) {
		t.Errorf("an unknown property: the error is %v", err)
	}
}

// TestReplayRoundTrip checks that whatever can be written is read back as it was.
func TestReplayRoundTrip(t *testing.T) {
	var lines []fault
	for _, text := range []string{
		"crash c1 on c1 after SETNX or on c1 after EVAL", "clock redis step -5s at 3s", "clock c2 offset +1.73s",
		"pause holder for 12s on holder before DEL #3", "lose reply of c1>redis silent on c1 before SETNX #2",
		"slow c1-redis by 400ms for 10s at 5s", "restart redis empty at 20s", "down timeserver for 4s at 8s",
	} {
		parsed, err := faults.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, parsed)
	}
	var refs []string
	for _, m := range mechanism.All() {
		refs = append(refs, m.Ref)
	}
	rapid.Check(t, func(t *rapid.T) {
		r := &Replay{
			Program:        rapid.StringMatching(`[!-~]([ -~]{0,20}[!-~])?`).Draw(t, "program"),
			Scenario:       rapid.SampledFrom([]string{"dead-record", "x", replayScenario}).Draw(t, "scenario"),
			Implementation: rapid.SampledFrom([]string{"redis/getset", "redis/getset-repaired!loser-writes"}).Draw(t, "impl"),
			Transport:      rapid.SampledFrom([]Transport{Direct, Wire}).Draw(t, "transport"),
			Seed:           rapid.Uint64().Draw(t, "seed"),
			Hash:           rapid.Uint64().Draw(t, "hash"),
			Violated:       rapid.SampledFrom(checker.Properties()).Draw(t, "violated"),
			Mechanism:      rapid.SampledFrom(append([]string{""}, refs...)).Draw(t, "mechanism"),
			Strategy:       rapid.SampledFrom([]string{"", "uniform", "pct", "exhaustive"}).Draw(t, "strategy"),
			Kind:           rapid.SampledFrom([]string{"", "overlap", "stuck"}).Draw(t, "kind"),
			Holds:          rapid.Bool().Draw(t, "holds"),
			Plan:           faults.Plan(rapid.SliceOfN(rapid.SampledFrom(lines), 0, 4).Draw(t, "plan")),
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "decisions") {
			r.Decisions = append(r.Decisions, strategy.Decision{
				From: "c1", To: rapid.SampledFrom([]string{"", "redis"}).Draw(t, "to"), What: strategy.Wait, Nth: i + 1,
				Takes: time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "takes")),
			})
		}
		again, err := ParseReplay("replay.txt", r.String())
		if err != nil {
			t.Fatalf("%v\n%s", err, r)
		}
		if (again.Decisions == nil) != (r.Decisions == nil) {
			t.Fatal("a run without a schedule is read as one with, or the other way round")
		}
		if diff := cmp.Diff(r, again, cmpopts.EquateEmpty(), cmp.Comparer(func(a, b faults.Fault) bool {
			return a.String() == b.String()
		})); diff != "" {
			t.Fatalf("it is read back as another one (-want +got):\n%s", diff)
		}
	})
}

type fault = faults.Fault

// FuzzParseReplay checks that no text makes the parser panic, that errors have one line and a place, and that what is
// read is written back to the same text, up to the line ends.
func FuzzParseReplay(f *testing.F) {
	f.Add(replayText)
	f.Add(strings.ReplaceAll(replayText, "\n", "\r\n"))
	f.Add(strings.Replace(replayText, "mechanism R1\n", "", 1))
	f.Add("lockstep replay 2\nprogram")
	f.Add(strings.Replace(strings.Replace(replayText, "strategy pct\n", "", 1), "violated", "holds", 1))
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseReplay("r.txt", text)
		if err != nil {
			if message := err.Error(); strings.Contains(message, "\n") || !strings.HasPrefix(message, "r.txt:") {
				t.Fatalf("the error is %q", message)
			}
			return
		}
		again, err := ParseReplay("r.txt", r.String())
		if err != nil || again.String() != r.String() {
			t.Fatalf("it is read as\n%s\nand that as\n%v, %v", r, again, err)
		}
	})
}

// TestPlay checks that a violation shows again in the very same run, from the file alone.
func TestPlay(t *testing.T) {
	s := mustLoad(t, "dead-record")
	for _, transport := range []Transport{Direct, Wire} {
		var found *Outcome
		var choice Choice
		setup := Setup{Scenario: s, Implementation: "redis/getset", Transport: transport}
		for shows := false; !shows; {
			if setup.Seed++; setup.Seed > 50 {
				t.Fatalf("over %s: R1 is not found in 50 seeds", transport)
			}
			var err error
			if found, err = Run(new(testing.T), setup); err != nil {
				t.Fatal(err)
			}
			choice, shows = found.Choose("", "R1")
		}
		replay := ReplayOf(setup, found, choice)
		replay.Program = "test"
		file := filepath.Join(t.TempDir(), ReplayFile)
		writeTestFile(t, file, replay.String())
		read, folder, err := ReadReplay(filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		again, err := read.Load(folder)
		if err != nil {
			t.Fatal(err)
		}
		played, err := read.Play(new(testing.T), again)
		if err != nil {
			t.Fatal(err)
		}
		if !played.Same || !played.Shows || played.Choice.Finding == nil || played.Choice.Finding.Mechanism.Ref != "R1" {
			t.Errorf("over %s: same %v, shows %v, choice %+v", transport, played.Same, played.Shows, played.Choice)
		}
		again.Seed++ // another run
		if played, err = read.Play(new(testing.T), again); err != nil || played.Same {
			t.Errorf("over %s: another seed is taken for the same run (%v)", transport, err)
		}
	}
}

// TestReplayFolder checks that a scenario from a file is taken from beside the replay file.
func TestReplayFolder(t *testing.T) {
	folder := t.TempDir()
	text, err := LibraryText("dead-record")
	if err != nil {
		t.Fatal(err)
	}
	mine := strings.Replace(string(text), "name: dead-record", "name: mine", 1)
	writeTestFile(t, filepath.Join(folder, "mine.yaml"), mine)
	s := mustLoad(t, filepath.Join(folder, "mine.yaml"))
	setup := Setup{Scenario: s, Implementation: "redis/getset", Seed: 1}
	outcome, err := Run(new(testing.T), setup)
	if err != nil {
		t.Fatal(err)
	}
	replay := ReplayOf(setup, outcome, Choice{Property: checker.Linearizability})
	if replay.Scenario != "scenario.yaml" {
		t.Fatalf("the scenario is named %q", replay.Scenario)
	}
	if _, err := replay.Load(folder); err == nil || !strings.Contains(err.Error(), "scenario.yaml") {
		t.Errorf("without scenario.yaml the error is %v", err)
	}
	writeTestFile(t, filepath.Join(folder, "scenario.yaml"), string(s.Text))
	again, err := replay.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	played, err := replay.Play(new(testing.T), again)
	if err != nil || !played.Same {
		t.Errorf("the run from the folder is another one (%v)", err)
	}
}

func TestReplayLoadErrors(t *testing.T) {
	r, err := ParseReplay("r.txt", strings.Replace(replayText, "clock c2", "clock c9", 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), `"c9"`) {
		t.Errorf("a plan for a machine that is not there: the error is %v", err)
	}
	empty := t.TempDir()
	if _, _, err := ReadReplay(empty); err == nil || !strings.Contains(err.Error(), ReplayFile) {
		t.Errorf("an empty folder: the error is %v", err)
	}
	if _, _, err := ReadReplay(filepath.Join(empty, "nothing")); err == nil {
		t.Error("a file that is not there is read")
	}
}

// TestChoose checks what is picked when several things are wrong.
func TestChoose(t *testing.T) {
	overlap := checker.Violation{Kind: checker.KindOverlap}
	stale := checker.Violation{Kind: checker.KindStaleWrite}
	outcome := &Outcome{
		Verdicts: []checker.Verdict{
			{Property: checker.MutualExclusion, Result: checker.Violated, Violations: []checker.Violation{overlap}},
			{Property: checker.Linearizability, Result: checker.Holds},
			{Property: checker.Resource, Result: checker.Violated, Violations: []checker.Violation{stale}},
		},
		Mechanisms: []mechanism.Finding{
			{Mechanism: mechanism.LoserEnters, Property: checker.MutualExclusion, Violation: overlap},
			{Mechanism: mechanism.NilGetSet, Property: checker.Liveness},
		},
	}
	for _, test := range []struct {
		property  checker.Property
		mechanism string
		want      string // property and mechanism; "" = nothing
	}{
		{"", "", "mutual-exclusion R1"},
		{"", "R2", "liveness R2"},
		{"", "nil-getset", "liveness R2"},
		{"resource", "", "resource"},
		{"linearizability", "", ""},
		{"resource", "R1", ""},
		{"", "R3", ""},
	} {
		got, ok := outcome.Choose(test.property, test.mechanism)
		words := []string{string(got.Property)}
		if got.Finding != nil {
			words = append(words, got.Finding.Mechanism.Ref)
		}
		if text := strings.Join(words, " "); ok != (test.want != "") || text != test.want {
			t.Errorf("Choose(%q, %q) = %q, %v, want %q", test.property, test.mechanism, text, ok, test.want)
		}
	}
}

// TestDiverge checks that equal runs are not told apart.
func TestDiverge(t *testing.T) {
	setup := Setup{Scenario: mustLoad(t, "dead-record"), Implementation: "redis/getset", Seed: 1}
	one, other, difference, err := Diverge(new(testing.T), setup, 3)
	if err != nil || difference != "" {
		t.Fatalf("one seed ran in two ways: %s, %v", difference, err)
	}
	if len(one.Trace.Entries) == 0 || !slices.Equal(one.Trace.Entries, other.Trace.Entries) {
		t.Errorf("the traces have %d and %d entries", len(one.Trace.Entries), len(other.Trace.Entries))
	}
}

func mustLoad(t *testing.T, word string) *Scenario {
	t.Helper()
	s, err := Load(word)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func writeTestFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
