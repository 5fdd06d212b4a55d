package reports

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/mechanism"
)

var update = flag.Bool("update", false, "write the golden files anew")

// example is a history from testdata with what was found in it.
type example struct {
	name     string
	history  *checker.History
	verdicts []checker.Verdict
	findings []mechanism.Finding
}

// readExample reads and judges a history from testdata.
func readExample(t testing.TB, name string) example {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "histories", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, err := checker.ReadHistory(f)
	if err != nil {
		t.Fatal(err)
	}
	plain := h.Header.Implementation == "redis/getset"
	queue := strings.HasPrefix(h.Header.Implementation, "zk/")
	options := checker.Options{
		Promises: checker.Promises{
			Reentrant: plain || queue, Fenced: !plain && !queue, Leased: !plain && !queue, Fair: queue,
		},
		LivenessBound: time.Second, Overtakes: 20,
	}
	if name == "costs" {
		options.HerdBound, options.HandOverBound, options.FairnessBound = 2, 100*time.Millisecond, 900_000
	}
	verdicts := checker.Check(&h, options)
	return example{name: name, history: &h, verdicts: verdicts, findings: mechanism.Find(&h, verdicts)}
}

// examples lists all histories in testdata.
func examples(t testing.TB) []example {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "histories", "*.jsonl"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no histories in testdata: %v", err)
	}
	var all []example
	for _, path := range paths {
		all = append(all, readExample(t, strings.TrimSuffix(filepath.Base(path), ".jsonl")))
	}
	return all
}

// finding is what explains a violation, nil if nothing does.
func (x *example) finding(p checker.Property, v checker.Violation) *mechanism.Finding {
	for i := range x.findings {
		if f := &x.findings[i]; f.Property == p && cmp.Equal(f.Violation, v) {
			return f
		}
	}
	return nil
}

// stories tells the first violation of each kind.
func (x *example) stories() []Story {
	var stories []Story
	told := map[string]bool{}
	for _, verdict := range x.verdicts {
		for _, v := range verdict.Violations {
			if !told[v.Kind] {
				told[v.Kind] = true
				stories = append(stories, Tell(x.history, verdict.Property, v, x.finding(verdict.Property, v)))
			}
		}
	}
	return stories
}

// golden compares with a file in testdata, or writes it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; if that is meant, run the test with -update:\n%s", path, cmp.Diff(string(want), string(got)))
	}
}

func TestStories(t *testing.T) {
	for _, x := range examples(t) {
		t.Run(x.name, func(t *testing.T) {
			var b bytes.Buffer
			for i, story := range x.stories() {
				if i > 0 {
					b.WriteString("\n" + strings.Repeat("=", 40) + "\n\n")
				}
				b.WriteString(story.String())
				wellFormed(t, x.history, story)
			}
			golden(t, filepath.Join("stories", x.name+".txt"), b.Bytes())
		})
	}
}

// wellFormed checks what holds of every story.
func wellFormed(t interface {
	Helper()
	Errorf(format string, args ...any)
}, h *checker.History, s Story,
) {
	t.Helper()
	if len(s.Steps) > maxSteps {
		t.Errorf("%d steps, want at most %d", len(s.Steps), maxSteps)
	}
	last := time.Duration(-1)
	for i, step := range s.Steps {
		if step.Number != i+1 {
			t.Errorf("step %d has number %d", i+1, step.Number)
		}
		if step.Time < last {
			t.Errorf("step %d at %v is earlier than the one before at %v", step.Number, step.Time, last)
		}
		last = step.Time
		if step.Who == "" || step.Text == "" {
			t.Errorf("step %d says nothing of somebody: %+v", step.Number, step)
		}
		if step.Event != 0 && !hasEvent(h, step) {
			t.Errorf("step %d at %v is event %d, which is another", step.Number, step.Time, step.Event)
		}
	}
	text := s.String()
	if !strings.HasSuffix(text, "\n") || !utf8.ValidString(text) {
		t.Errorf("the text is not lines of UTF-8: %q", text)
	}
	for _, word := range []string{"%!", "<nil>", "process -"} {
		if strings.Contains(text, word) {
			t.Errorf("the text has %q in it:\n%s", word, text)
		}
	}
}

func hasEvent(h *checker.History, step Step) bool {
	for i := range h.Events {
		if h.Events[i].Index == step.Event {
			return h.Events[i].Time == step.Time
		}
	}
	return false
}

// TestStoriesAreComplete makes sure that testdata has a story of every property.
func TestStoriesAreComplete(t *testing.T) {
	told := map[checker.Property]bool{}
	explained := map[string]bool{}
	for _, x := range examples(t) {
		for _, verdict := range x.verdicts {
			told[verdict.Property] = told[verdict.Property] || len(verdict.Violations) > 0
		}
		for _, f := range x.findings {
			explained[f.Mechanism.Ref] = true
		}
	}
	for _, p := range checker.Properties() {
		if !told[p] {
			t.Errorf("no history in testdata violates %s", p)
		}
	}
	for _, ref := range []string{"R1", "R5", "R10", "R12", "R13", "R16"} {
		if !explained[ref] {
			t.Errorf("no history in testdata shows %s", ref)
		}
	}
}

// TestStoryNamesWhatItMust checks that the events which a finding and a violation name are told.
func TestStoryNamesWhatItMust(t *testing.T) {
	x := readExample(t, "loser-enters")
	if len(x.findings) == 0 {
		t.Fatal("nothing was found")
	}
	f := x.findings[0]
	story := Tell(x.history, f.Property, f.Violation, &f)
	told := map[int64]bool{}
	for _, step := range story.Steps {
		told[step.Event] = true
	}
	for _, index := range append(append([]int64{}, f.Events...), f.Violation.Events...) {
		if !told[index] {
			t.Errorf("event %d is not told in\n%s", index, story)
		}
	}
}

func TestTrimKeepsWhatMatters(t *testing.T) {
	steps := func(ranks ...int) []ranked {
		var list []ranked
		for i, rank := range ranks {
			list = append(list, ranked{Step: Step{Event: int64(i + 1)}, rank: rank})
		}
		return list
	}
	many := func(n, rank int) []ranked {
		list := steps()
		for i := range n {
			list = append(list, ranked{Step: Step{Event: int64(i + 1)}, rank: rank})
		}
		return list
	}
	for _, test := range []struct {
		name  string
		steps []ranked
		want  int
	}{
		{"few steps stay", steps(rounding, aside, aside), 3},
		{"no steps", nil, 0},
		{"asides go first", steps(vital, aside, aside, aside, telling, telling, telling, vital, vital, vital), 7},
		{"all is vital", many(40, vital), maxSteps},
		{"what matters stays up to the limit", many(14, important), 14},
		{"rounding goes when it is many", many(14, rounding), comfortableSteps},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := trim(test.steps)
			if len(got) != test.want {
				t.Fatalf("%d steps left, want %d", len(got), test.want)
			}
			if n := len(test.steps); n > 0 && (got[0].Event != 1 || got[len(got)-1].Event != int64(n)) {
				t.Errorf("the first or the last step is gone: %v", got)
			}
		})
	}
}

func TestWordsKeepUnits(t *testing.T) {
	got := units("until 2.005 s, then c1 s 7 s.")
	want := []string{"until", "2.005 s,", "then", "c1 s", "7 s."}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestStoryIsTame checks that names with control characters and commands for the log of a build do nothing in a story,
// wherever its lines are broken.
func TestStoryIsTame(t *testing.T) {
	const evil = "\x1b[31m\n::error::x ::error::y\u202e"
	for width := range textWidth {
		name := strings.Repeat("n", width) + evil
		h := &checker.History{
			Header: checker.Header{Scenario: evil, Implementation: evil, Lock: name},
			Events: []checker.Event{
				{Index: 1, Time: 1, Process: 0, Node: "c1", Type: checker.Invoke, F: checker.Acquire, Key: name},
				{Index: 2, Time: 2, Process: 0, Node: "c1", Type: checker.OK, F: checker.Acquire, Key: name},
				{Index: 3, Time: 3, Process: 1, Node: evil, Type: checker.Invoke, F: checker.Acquire, Key: name},
				{Index: 4, Time: 4, Process: 1, Node: evil, Type: checker.OK, F: checker.Acquire, Key: name},
			},
		}
		v := checker.Check(h, checker.Options{Properties: []checker.Property{checker.MutualExclusion}})[0]
		if len(v.Violations) == 0 {
			t.Fatalf("nothing is violated: %s", v.Why)
		}
		text := Tell(h, v.Property, v.Violations[0], nil).String()
		if strings.ContainsAny(text, "\x1b\u202e") || !strings.Contains(text, `\x1b[31m`) {
			t.Fatalf("a control character acts:\n%q", text)
		}
		for line := range strings.Lines(text) {
			if strings.HasPrefix(strings.TrimSpace(line), "::") {
				t.Fatalf("a line is a command:\n%s", text)
			}
		}
	}
}
