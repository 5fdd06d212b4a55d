package checker

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-sim/lockstep/checker/model"
)

// look notes which of the texts that are wanted a page has.
func look(page string, want []string, shown map[string]bool) {
	for _, text := range want {
		shown[text] = shown[text] || strings.Contains(page, text)
	}
}

// complainOf names the texts that no page has.
func complainOf(t *testing.T, want []string, shown map[string]bool) {
	t.Helper()
	for _, text := range want {
		if !shown[text] {
			t.Errorf("no page shows %q", text)
		}
	}
}

// TestWritePage makes pages of violations and looks for what they have to show.
func TestWritePage(t *testing.T) {
	leased := generator{
		clients: 5, operations: 3000, facts: true, lease: 3 * time.Second, pauses: 10, crashes: 5, defect: doubleGrant,
	}
	tests := []struct {
		name    string
		g       generator
		options Options
		want    []string
	}{
		{
			"double grant",
			generator{clients: 5, operations: 3000, defect: doubleGrant},
			Options{Properties: []Property{Linearizability}},
			[]string{"try-acquire ok", "refused", "held by c", "holds job", KindIllegalAcquire},
		},
		{
			"leases", leased,
			Options{Properties: []Property{Linearizability}, Promises: Promises{Leased: true}},
			[]string{"lease of c", "dead record of c", "crash of c"},
		},
		{
			"overlap",
			generator{clients: 5, operations: 3000, defect: foreignRelease},
			Options{Properties: []Property{MutualExclusion}},
			[]string{"holds job", KindOverlap},
		},
		{
			"another model",
			generator{clients: 3, operations: 300, tokens: true, defect: tokenGoesBack},
			Options{Properties: []Property{Linearizability}, Model: model.Fenced{}},
			[]string{"token 1"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			shown := make(map[string]bool)
			for seed := range uint64(5) {
				h := test.g.generate(seed)
				v := Check(h, test.options)[0]
				if v.Result != Violated {
					continue
				}
				var page bytes.Buffer
				if err := WritePage(&page, h, test.options, &v.Violations[0]); err != nil {
					t.Fatal(err)
				}
				if page.Len() > 2<<20 {
					t.Errorf("seed %d: the page has %d bytes", seed, page.Len())
				}
				look(page.String(), test.want, shown)
			}
			complainOf(t, test.want, shown)
		})
	}
}

// TestWriteLockPage makes pages of histories in which all answers fit, and of some in which they do not.
func TestWriteLockPage(t *testing.T) {
	tests := []struct {
		name    string
		g       generator
		options Options
		want    []string
	}{
		{
			"plain",
			generator{clients: 5, operations: 300},
			Options{},
			[]string{"try-acquire ok", "refused", "holds job", "fits"},
		},
		{
			"leases",
			generator{clients: 5, operations: 500, facts: true, lease: 3 * time.Second, pauses: 10, crashes: 5},
			Options{Promises: Promises{Leased: true}},
			[]string{"lease of c", "dead record of c", "crash of c"},
		},
		{
			"reentrant",
			generator{clients: 5, operations: 300, reentrant: true},
			Options{Promises: Promises{Reentrant: true}},
			[]string{"acquire ok"},
		},
		{
			"another model",
			generator{clients: 3, operations: 300, tokens: true},
			Options{Model: model.Fenced{}},
			[]string{"token 1"},
		},
		{
			"more than a page",
			generator{clients: 5, operations: 3000},
			Options{},
			[]string{"the history goes on, and a page shows no more"},
		},
		{
			"more than a page, another model",
			generator{clients: 3, operations: 3000, tokens: true},
			Options{Model: model.Fenced{}},
			[]string{"the history goes on, and a page shows no more"},
		},
		{"lost answers", generator{clients: 5, operations: 40, lost: 5}, Options{}, []string{"acquire ?"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			shown := make(map[string]bool)
			test.options.Properties = []Property{Linearizability}
			for seed := range uint64(5) {
				h := test.g.generate(seed)
				if v := Check(h, test.options)[0]; v.Result != Holds {
					t.Fatalf("seed %d: %s: %s", seed, v.Result, v.Why)
				}
				for _, lock := range h.Locks() {
					var page bytes.Buffer
					if err := WriteLockPage(&page, h, test.options, lock); err != nil {
						t.Fatalf("seed %d: %v", seed, err)
					}
					if page.Len() > 3<<20 {
						t.Errorf("seed %d: the page has %d bytes", seed, page.Len())
					}
					look(page.String(), test.want, shown)
				}
			}
			complainOf(t, test.want, shown)
		})
	}
	broken := generator{clients: 5, operations: 300, defect: doubleGrant}.generate(1)
	for name, test := range map[string]struct {
		lock    string
		options Options
		want    string
	}{
		"fits no order": {"job", Options{}, "finds no order in which"},
		"no steps left": {"job", Options{PorcupineSteps: 3}, "within 3 steps"},
		"no such lock":  {"other", Options{}, `"other" is no lock`},
	} {
		err := WriteLockPage(&bytes.Buffer{}, broken, test.options, test.lock)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
}

// TestPageShowsSessionEnds checks that whoever closed a session, or lost it, is told, and that what failed is not.
func TestPageShowsSessionEnds(t *testing.T) {
	h := &History{Header: Header{Lock: "job"}}
	add := func(e Event) {
		e.Index, e.Time, e.Key = int64(len(h.Events))+1, time.Duration(len(h.Events)+1)*time.Second, "job"
		h.Events = append(h.Events, e)
	}
	add(Event{Process: 0, Node: "c1", Type: Invoke, F: Acquire})
	add(Event{Process: 0, Node: "c1", Type: OK, F: Acquire})
	add(Event{Process: ProcessServer, Node: "c1", Type: Info, F: Request, Command: "expire"})
	add(Event{Process: ProcessServer, Node: "c3", Type: Info, F: Request, Command: "closeSession", Error: "gone"})
	add(Event{Process: 1, Node: "c2", Type: Invoke, F: Acquire})
	add(Event{Process: 1, Node: "c2", Type: OK, F: Acquire})
	options := Options{Properties: []Property{MutualExclusion}}
	v := Check(h, options)[0]
	if v.Result != Violated {
		t.Fatalf("the verdict is %s: %s", v.Result, v.Why)
	}
	var page bytes.Buffer
	if err := WritePage(&page, h, options, &v.Violations[0]); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page.String(), "session of c1 ends") || strings.Contains(page.String(), "session of c3 ends") {
		t.Error("the page does not say that the session of c1 ended, and that of no other")
	}
}

func TestWritePageErrors(t *testing.T) {
	h := generator{clients: 3, operations: 30}.generate(1)
	broken := &History{Events: []Event{{Index: 1}}}
	tests := []struct {
		name string
		h    *History
		v    Violation
		want string
	}{
		{"no such lock", h, Violation{Key: "other"}, `"other" is no lock`},
		{"no events", h, Violation{Key: "job"}, "names no events"},
		{"foreign events", h, Violation{Key: "job", Events: []int64{1 << 40}}, "not in this history"},
		{"broken", broken, Violation{Key: "job"}, "not well-formed"},
	}
	for _, test := range tests {
		err := WritePage(&bytes.Buffer{}, test.h, Options{}, &test.v)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", test.name, err, test.want)
		}
	}
}

// TestLongHistories judges histories that are long enough for two goroutines again and again.
func TestLongHistories(t *testing.T) {
	g := generator{
		clients: 10, operations: 12_000, reentrant: true, tokens: true, facts: true, writes: true, lost: 2, keys: 3,
		defect: doubleGrant,
	}
	h := g.generate(1)
	options := Options{Promises: Promises{Reentrant: true, Fenced: true}, LivenessBound: time.Second}
	first := render(Check(h, options))
	for range 3 {
		if again := render(Check(h, options)); again != first {
			t.Fatalf("got\n%s\nand then\n%s", first, again)
		}
	}
	for _, p := range Properties() { // One property is judged on one goroutine.
		options.Properties = []Property{p}
		if alone := render(Check(h, options)); !strings.Contains(first, alone) {
			t.Errorf("alone %s", alone)
		}
	}
}

// TestPageIsSteady writes a page twenty times: the orders that were tried come from a map, and still the bytes are
// equal.
func TestPageIsSteady(t *testing.T) {
	g := generator{clients: 6, operations: 40, reentrant: true, defect: doubleGrant}
	for seed := uint64(1); seed < 20; seed++ {
		h := g.generate(seed)
		options := Options{Promises: Promises{Reentrant: true}, Properties: []Property{Linearizability}}
		v := Check(h, options)[0]
		if len(v.Violations) == 0 {
			continue
		}
		var first bytes.Buffer
		if err := WritePage(&first, h, options, &v.Violations[0]); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			var again bytes.Buffer
			if err := WritePage(&again, h, options, &v.Violations[0]); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(first.Bytes(), again.Bytes()) {
				t.Fatalf("seed %d: two pages of one violation differ", seed)
			}
		}
	}
}
