package faults

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

func TestFormsListEveryKindOnceInOrder(t *testing.T) {
	for i, form := range forms {
		if want := Kind(i + 1); form.kind != want {
			t.Errorf("form %d is for kind %d, want %d", i, form.kind, want)
		}
	}
	if last := forms[len(forms)-1].kind; last != ClockUnit {
		t.Errorf("the last form is for %v, but the last kind is %v", last, ClockUnit)
	}
}

// TestFormsPartAtWords checks what parser.fault relies on when it follows several forms at once.
func TestFormsPartAtWords(t *testing.T) {
	for i, a := range forms {
		for _, b := range forms[i+1:] {
			at := partAt(a, b)
			if at == len(a.clauses) || at == len(b.clauses) {
				t.Errorf("%q and %q: one is the beginning of the other", a.syntax(), b.syntax())
				continue
			}
			if a.clauses[at].word == "" || b.clauses[at].word == "" {
				t.Errorf("%q and %q part at clause %d, which is not a word in both", a.syntax(), b.syntax(), at)
			}
			if a.clauses[at].word == b.clauses[at].word {
				t.Errorf("%q and %q part at the same word %q", a.syntax(), b.syntax(), a.clauses[at].word)
			}
		}
	}
}

// partAt returns the index of the first clause in which two forms differ.
func partAt(a, b form) int {
	i := 0
	for i < len(a.clauses) && i < len(b.clauses) && a.clauses[i].syntax == b.clauses[i].syntax {
		i++
	}
	return i
}

func TestFormsEndWithWhen(t *testing.T) {
	for _, form := range forms {
		last := form.clauses[len(form.clauses)-1].syntax
		if last != "WHEN" && last != "[WHEN]" {
			t.Errorf("%q ends with %q: a fault strikes at some moment", form.syntax(), last)
		}
	}
}

// TestDocumentation checks that the package documentation has the syntax of every kind, word for word, followed by an
// explanation and by at least one example of that kind in its canonical form.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	kinds := make(map[string]Kind)
	for _, kind := range Kinds() {
		kinds[kind.Syntax()] = kind
	}
	var current Kind
	explained, examples := make(map[Kind]bool), make(map[Kind]int)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "//"))
		example, isExample := strings.CutPrefix(line, "> ")
		switch {
		case kinds[line] != 0:
			current = kinds[line]
		case line == "" || current == 0:
			current = 0
		case !isExample:
			explained[current] = true
		default:
			examples[current]++
			checkExample(t, current, example)
		}
	}
	for _, kind := range Kinds() {
		if !explained[kind] || examples[kind] == 0 {
			t.Errorf("doc.go lacks the syntax, the meaning or an example of %q; its syntax is %q", kind, kind.Syntax())
		}
	}
}

func checkExample(t *testing.T, kind Kind, example string) {
	t.Helper()
	fault, err := Parse(example)
	if err != nil {
		t.Errorf("doc.go: %q: %v", example, err)
		return
	}
	if fault.Kind != kind {
		t.Errorf("doc.go: %q is of kind %q, but stands under %q", example, fault.Kind, kind)
	}
	canonical := strings.TrimSuffix(fault.String(), " at start")
	if canonical != example {
		t.Errorf("doc.go: the example %q would be written as %q", example, canonical)
	}
}

// TestEqualSeesEveryField changes one field after the other, also those that are added later.
func TestEqualSeesEveryField(t *testing.T) {
	for i := range reflect.TypeFor[Fault]().NumField() {
		var a, b Fault
		field := reflect.ValueOf(&b).Elem().Field(i)
		switch field.Kind() {
		case reflect.Int, reflect.Int64:
			field.SetInt(1)
		case reflect.Bool:
			field.SetBool(true)
		case reflect.String:
			field.SetString("c1")
		case reflect.Struct:
			field.Field(0).SetString("c1")
		case reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		default:
			t.Fatalf("teach this test to change a %v", field.Type())
		}
		name := reflect.TypeFor[Fault]().Field(i).Name
		if a.Equal(b) || b.Equal(a) {
			t.Errorf("Equal does not see %s", name)
		}
		if !b.Equal(b.clone()) {
			t.Errorf("a fault with %s is not equal to its copy", name)
		}
	}
}

func TestNamesOfConstants(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{Kind(0).String(), "Kind(0)"},
		{Kind(99).String(), "Kind(99)"},
		{Kind(99).Syntax(), ""},
		{Pause.String(), "pause"},
		{ClockStep.String(), "clock step"},
		{LoseReply.String(), "lose reply"},
		{DelayRequest.String(), "delay request"},
		{Manner(7).String(), "Manner(7)"},
		{Identity(7).String(), "Identity(7)"},
		{SameIdentity.String(), "same"},
		{Trigger{Moment: 9}.String(), "Moment(9)"},
		{Fault{}.String(), "Kind(0)"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}
