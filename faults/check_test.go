package faults

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestCheck takes faults that a program could build and that no text says.
func TestCheck(t *testing.T) {
	start := When{{}}
	for _, test := range []struct {
		name  string
		fault Fault
		want  string // part of the error; empty for a valid fault
	}{
		{"valid", Fault{Kind: Pause, Node: "c1", For: time.Second, When: start}, ""},
		{"no kind", Fault{}, `expected "crash"`},
		{"no machine", Fault{Kind: Down, For: time.Second, When: start}, `expected "for"`},
		{"no moment", Fault{Kind: Crash, Node: "c1"}, `expected "reset", "silent", "at" or "on"`},
		{"no moment where text has a default", Fault{Kind: ClockDrift, Node: "c1", Drift: 1}, "a field is set"},
		{"no duration", Fault{Kind: Pause, Node: "c1", When: start}, "out of bounds"},
		{"no number", Fault{
			Kind: Crash, Node: "c1",
			When: When{{Moment: BeforeRequest, Node: "c1", Command: "GET"}},
		}, "out of bounds"},
		{"command in lower case", Fault{
			Kind: Crash, Node: "c1",
			When: When{{Moment: BeforeRequest, Node: "c1", Command: "get", Nth: 1}},
		}, "not in its written form"},
		{"role in upper case", Fault{Kind: Crash, Node: "HOLDER", When: start}, "not in its written form"},
		{"name with words", Fault{Kind: Crash, Node: "c1 silent", When: start}, "not in its written form"},
		{"name with a line", Fault{Kind: Crash, Node: "c1\n", When: start}, "one fault has one line"},
		{"time with a number", Fault{Kind: Crash, Node: "c1", When: When{{Nth: 1}}}, "a field is set"},
		{"unknown manner", Fault{Kind: Crash, Node: "c1", Manner: 9, When: start}, `found "Manner(9)"`},
		{"unknown moment", Fault{Kind: Crash, Node: "c1", When: When{{Moment: 9}}}, `found "Moment(9)"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.fault.Check()
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && err == nil:
				t.Errorf("%+v passes", test.fault)
			case test.want != "" && !strings.Contains(err.Error(), test.want):
				t.Errorf("got %q, want it to contain %q", err, test.want)
			case err != nil && strings.Contains(err.Error(), "\n"):
				t.Errorf("%q has more than one line", err)
			}
			if invalid := Validate(Plan{test.fault}, []string{"c1"}); (invalid == nil) != (err == nil) {
				t.Errorf("Check says %v, Validate says %v", err, invalid)
			}
		})
	}
}

func TestSyntaxErrorHasItsPlace(t *testing.T) {
	_, err := ParsePlan("crash c1 at 5s\n\ncrash c1 ot 5s\n")
	var syntax *SyntaxError
	if !errors.As(err, &syntax) {
		t.Fatalf("%T is no SyntaxError", err)
	}
	if syntax.Line != 3 || syntax.Column != 10 {
		t.Errorf("line %d, column %d, want line 3, column 10", syntax.Line, syntax.Column)
	}
	if _, err := Parse("crash c1 at 5s\ncrash c2 at 5s"); !errors.As(err, &syntax) || syntax.Column != 15 {
		t.Errorf("two lines for Parse: %v", err)
	}
}

func TestMentions(t *testing.T) {
	fault, err := Parse("cut c1-redis for 2s at 1s or on holder before GET or on c2 after *")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, ref := range fault.Mentions() {
		names = append(names, string(ref))
	}
	if got, want := strings.Join(names, " "), "c1 redis holder c2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNearest(t *testing.T) {
	for _, test := range []struct {
		word       string
		candidates string
		want       string
	}{
		{"puase", "crash pause clock", "pause"},
		{"reids", "redis timeserver", "redis"},
		{"c9", "c1 c2", ""},      // as near to both
		{"c9", "c1 redis", "c1"}, // only one is near
		{"x", "a", ""},           // nothing in common
		{"abd", "xyd", ""},       // two slips are too many for a short word
		{"abcdef", "abcxyz", ""}, // three slips
		{"ot", "at on", ""},      // as near to both
		{"", "at on", ""},        // nothing was written
		{"silnt", "silent", "silent"},
		{"silennnt", "silent", "silent"},
		{"silennnnt", "silent", ""},
	} {
		if got := nearest(test.word, strings.Fields(test.candidates)); got != test.want {
			t.Errorf("nearest(%q, %s) = %q, want %q", test.word, test.candidates, got, test.want)
		}
	}
}
