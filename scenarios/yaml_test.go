package scenarios

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lockstep-sim/lockstep/faults"
)

// sameScenario compares scenarios without where they were read from.
var sameScenario = cmp.Options{
	cmpopts.IgnoreFields(Scenario{}, "Source", "Text", "word"), cmp.AllowUnexported(Step{}),
	cmp.Comparer(func(a, b faults.Template) bool { return a.Equal(b) }),
}

// TestScenarioYAML checks that every scenario of the library is written as a file that reads back as the same scenario,
// so that nothing which a scenario can say is lost on the way.
func TestScenarioYAML(t *testing.T) {
	small, err := Parse("small.yaml", []byte(smallScenario))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append(Library(), small) {
		text := s.YAML()
		again, err := Parse("again.yaml", text)
		if err != nil {
			t.Errorf("%v\n%s", err, text)
			continue
		}
		if diff := cmp.Diff(s, again, sameScenario); diff != "" {
			t.Errorf("%s is read back as another one (-want +got):\n%s", s.Name, diff)
		}
		if second := again.YAML(); !slices.Equal(text, second) {
			t.Errorf("%s is written in two ways:\n%s\n%s", s.Name, text, second)
		}
	}
}

// TestQuoted checks words that YAML would take for something else.
func TestQuoted(t *testing.T) {
	for text, want := range map[string]string{
		"job": "job", "on": `"on"`, "12": `"12"`, "/lock": `"/lock"`, "": `""`, "a: b": `"a: b"`, "a\nb\"": `"a\nb\""`,
		"{x}<&>": `"{x}<&>"`, "1s": "1s", "5": `"5"`,
	} {
		if got := quoted(text); got != want {
			t.Errorf("quoted(%q) = %s, want %s", text, got, want)
		}
	}
}
