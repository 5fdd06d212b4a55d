package faults

import (
	"fmt"
	"hash/fnv"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// keyedStreams gives each kind a stream of its own, as a world does.
func keyedStreams(seed int) func(string) Stream {
	return func(kind string) Stream {
		h := fnv.New32a()
		fmt.Fprint(h, kind)
		return newStream(seed, int(h.Sum32()>>1))
	}
}

func everything() Swarm {
	return Swarm{
		Kinds: ForSwarms(), Clients: []string{"c1", "c2", "c3"}, Servers: []string{"redis1", "redis2"},
		Horizon: 5 * time.Second, Lease: 500 * time.Millisecond,
	}
}

// TestSwarmDrawsValidPlans draws from pools of every size and scale.
func TestSwarmDrawsValidPlans(t *testing.T) {
	checkTimes(t, 2000, func(t *rapid.T) {
		span := rapid.Int64Range(1, int64(time.Hour))
		s := Swarm{
			Kinds:   rapid.SliceOfDistinct(rapid.SampledFrom(ForSwarms()), func(k Kind) Kind { return k }).Draw(t, "kinds"),
			Clients: []string{"c1", "c2", "c3"}[:rapid.IntRange(0, 3).Draw(t, "clients")],
			Servers: []string{"redis1", "redis2"}[:rapid.IntRange(1, 2).Draw(t, "servers")],
			Horizon: time.Duration(span.Draw(t, "horizon")), Lease: time.Duration(span.Draw(t, "lease")),
		}
		plan := s.Draw(func(string) Stream { return rapidStream{t} })
		if err := Validate(plan, append(s.Servers, s.Clients...)); err != nil {
			t.Fatal(err)
		}
		for _, fault := range plan {
			if !slices.Contains(s.Kinds, fault.Kind) {
				t.Fatalf("%q is not of the pool", fault)
			}
			if fault.For > 0 && fault.For > 4*s.Lease || fault.By.Abs() > 4*s.Lease && fault.Kind != ClockUnit {
				t.Fatalf("%q is out of scale for a lease of %v", fault, s.Lease)
			}
			for _, trigger := range fault.When {
				if trigger.Moment == AtTime && trigger.At > s.Horizon {
					t.Fatalf("%q begins after %v", fault, s.Horizon)
				}
			}
		}
	})
}

// TestSwarmVaries wants every kind on in some seeds and off in others, alone and in storms, short and long.
func TestSwarmVaries(t *testing.T) {
	const seeds = 400
	s := everything()
	on, most := map[Kind]int{}, map[Kind]int{}
	shortest, longest := time.Hour, time.Duration(0)
	for seed := range seeds {
		counts := map[Kind]int{}
		for _, fault := range s.Draw(keyedStreams(seed)) {
			counts[fault.Kind]++
			if fault.Kind == Pause {
				shortest, longest = min(shortest, fault.For), max(longest, fault.For)
			}
		}
		for kind, n := range counts {
			on[kind]++
			most[kind] = max(most[kind], n)
		}
	}
	for _, kind := range s.Kinds {
		if on[kind] < seeds/3 || on[kind] > seeds*2/3 {
			t.Errorf("%v is on in %d of %d seeds", kind, on[kind], seeds)
		}
		if most[kind] < 1<<mostFaults {
			t.Errorf("%v strikes at most %d times", kind, most[kind])
		}
	}
	if shortest > 2*time.Millisecond || longest < 3*s.Lease/2 {
		t.Errorf("pauses take from %v to %v", shortest, longest)
	}
}

// TestSwarmKindsAreIndependent takes a kind out of the pool and expects the faults of the others to stay.
func TestSwarmKindsAreIndependent(t *testing.T) {
	whole, less := everything(), everything()
	less.Kinds = slices.DeleteFunc(slices.Clone(less.Kinds), func(k Kind) bool { return k == Pause })
	for seed := range 20 {
		want := slices.DeleteFunc(whole.Draw(keyedStreams(seed)), func(f Fault) bool { return f.Kind == Pause })
		if got := less.Draw(keyedStreams(seed)); !equalPlans(got, want) {
			t.Fatalf("seed %d: got\n%swant\n%s", seed, got, want)
		}
	}
}

func TestParseKinds(t *testing.T) {
	for _, test := range []struct{ text, want, err string }{
		{text: "all", want: "all"},
		{text: "pause", want: "pause"},
		{text: "  Lose   Reply,pause ", want: "pause, lose reply"},
		{text: "all but " + KindsText(ForSwarms()[3:]), want: "crash, restart, pause"},
		{text: "puase", err: `"puase" is no kind of fault that can be drawn; did you mean "pause"?`},
		{text: "pause,", err: `"" is no kind of fault that can be drawn: want all, or of crash, `},
		{text: "add", err: `"add" is no kind`},
		{text: "all but", err: `"all but" is no kind`},
	} {
		kinds, err := ParseKinds(test.text)
		switch {
		case test.err != "" && (err == nil || len(err.Error()) < len(test.err) || err.Error()[:len(test.err)] != test.err):
			t.Errorf("%q: the error is %v, want %q", test.text, err, test.err)
		case test.err == "" && (err != nil || KindsText(kinds) != test.want):
			t.Errorf("%q: got %q, %v, want %q", test.text, KindsText(kinds), err, test.want)
		}
	}
}

// FuzzParseKinds checks that what is read is written as the same.
func FuzzParseKinds(f *testing.F) {
	for _, text := range []string{"all", "pause, lose reply", "all but crash", "all but", ",", "puase"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		kinds, err := ParseKinds(text)
		if err != nil {
			checkMessage(t, err)
			return
		}
		if len(kinds) == 0 {
			return // all but all
		}
		if again, err := ParseKinds(KindsText(kinds)); err != nil || !slices.Equal(again, kinds) {
			t.Fatalf("%q is written as %q, which is read as %v, %v", text, KindsText(kinds), again, err)
		}
	})
}
