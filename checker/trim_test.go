package checker

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/lockstep-sim/lockstep/checker/model"
)

// TestTrim trims random histories with bugs, one violation of each property of each. What is left must be a history
// that reads back, that shows the violation, and none of whose operations can be left out.
func TestTrim(t *testing.T) {
	trimmed := map[Property]int{}
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 10))
		g := watchedGenerator(rng)
		g.facts, g.noise = true, 2
		h := g.generate(seed)
		appendFaults(h)
		options := Options{
			Promises:      Promises{Reentrant: g.reentrant, Fenced: true, Leased: g.lease > 0},
			LivenessBound: time.Second,
		}
		for _, v := range Check(h, options) {
			if len(v.Violations) == 0 {
				continue
			}
			x := v.Violations[rng.IntN(len(v.Violations))]
			short, ok := Trim(h, v.Property, x, options)
			if !ok {
				t.Fatalf("seed %d: %s: %q cannot be trimmed", seed, v.Property, x.Text)
			}
			trimmed[v.Property]++
			checkTrimmed(t, short, v.Property, &x, options)
			if again, ok := Trim(short, v.Property, x, options); !ok || len(again.Events) != len(short.Events) {
				t.Errorf("seed %d: %s: what is left can be trimmed once more, from %d events", seed, v.Property,
					len(short.Events))
			}
		}
	}
	t.Logf("trimmed: %v", trimmed)
	if len(trimmed) < 10 {
		t.Errorf("only %d properties were violated", len(trimmed))
	}
}

// TestTrimKeepsReleases trims a history whose second token is too low. Without the release of the first hold what is
// left would show two holders instead.
func TestTrimKeepsReleases(t *testing.T) {
	h, err := parseScript(`
1s c1 invoke acquire job
1.1s c1 ok acquire job token=5
1.2s c1 invoke release job
1.3s c1 ok release job
2s c2 invoke acquire job
2.1s c2 ok acquire job token=4
2.2s c2 invoke release job
2.3s c2 ok release job
3s c3 invoke acquire job
3.1s c3 ok acquire job token=6`)
	if err != nil {
		t.Fatal(err)
	}
	options := Options{Properties: []Property{Linearizability}, Model: model.Fenced{}}
	short, ok := Trim(h, Linearizability, Check(h, options)[0].Violations[0], options)
	if !ok {
		t.Fatal("cannot be trimmed")
	}
	var left []int64
	for i := range short.Events {
		left = append(left, short.Events[i].Index)
	}
	want := "c2 was given job at 2.100 s although token 4 is not above 5"
	if got := Check(short, options)[0].Why; !slices.Equal(left[:6], []int64{0, 1, 2, 3, 4, 5}) || got != want {
		t.Errorf("left %v, which say %q, want %q", left, got, want)
	}
}

// appendFaults lets the faults of a history heal after two thirds of it, and ends its workload.
func appendFaults(h *History) {
	var events []Event
	for i := range h.Events {
		if i == len(h.Events)*2/3 {
			events = append(events, Event{Time: h.Events[i].Time, Process: ProcessFault, Type: Info, F: Healed})
		}
		events = append(events, h.Events[i])
	}
	end := events[len(events)-1].Time + 3*time.Second
	events = append(events, Event{Time: end, Process: ProcessFault, Type: Info, F: WorkloadEnd})
	for i := range events {
		moved := events[i].Call
		if moved > int64(len(h.Events)*2/3) {
			events[i].Call++
		}
		events[i].Index = int64(i)
	}
	h.Events = events
}

// checkTrimmed judges what is left of a history.
func checkTrimmed(t *testing.T, short *History, p Property, x *Violation, options Options) {
	t.Helper()
	var file bytes.Buffer
	if err := WriteHistory(&file, short); err != nil {
		t.Fatalf("%s: %v", p, err)
	}
	again, err := ReadHistory(&file)
	if err != nil {
		t.Fatalf("%s: %v", p, err)
	}
	options.Properties, options.MaxViolations = []Property{p}, trimmedViolations
	shows := func(events []Event) bool {
		h := &History{Header: short.Header, Events: events}
		for _, found := range Check(h, options)[0].Violations {
			if found.Kind == x.Kind && found.Key == x.Key && len(found.Processes) == len(x.Processes) {
				return true
			}
		}
		return false
	}
	if !shows(again.Events) {
		t.Fatalf("%s: what is left does not show %q\n%s", p, x.Text, listing(short))
	}
	left := map[int64]bool{}
	for i := range again.Events {
		left[again.Events[i].Index] = true
	}
	for _, index := range x.Events {
		if !left[index] {
			t.Errorf("%s: event %d of %q is not among what is left", p, index, x.Text)
		}
	}
}
