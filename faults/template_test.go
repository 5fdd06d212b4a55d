package faults

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
)

// newStream returns a stream for one template of one seed.
func newStream(seed, template int) Stream {
	return randomStream{rand.New(rand.NewPCG(uint64(seed), uint64(template)))}
}

type randomStream struct{ random *rand.Rand }

func (s randomStream) Between(low, high int64) int64 { return low + s.random.Int64N(high-low+1) }

// fixedStream answers with one end of every range, and counts how often it was asked.
type fixedStream struct {
	most  bool
	draws int
}

func (s *fixedStream) Between(low, high int64) int64 {
	s.draws++
	if s.most {
		return high
	}
	return low
}

func parseTemplate(t *testing.T, text string) Template {
	t.Helper()
	template, err := ParseTemplate(text)
	if err != nil {
		t.Fatal(err)
	}
	return template
}

func TestDrawReachesBothEnds(t *testing.T) {
	for _, text := range []string{
		"pause c1 for 8s..15s at 1s..2s",
		"pause c1 for 1ns..15s at 1s..2s",
		"pause c1 for 1ms..15.0000001s at 1s",
		"clock c2 step -1.5s..+2.5s on c1 before GET #3..9 or at 7us..9us",
		"clock c2 drift -200ppm..+200ppm at start",
	} {
		template := parseTemplate(t, text)
		if least, in := template.Draw(&fixedStream{}); !in || !least.Equal(template.Low()) {
			t.Errorf("%q: the least draw is %q, want %q", text, least, template.Low())
		}
		if most, in := template.Draw(&fixedStream{most: true}); !in || !most.Equal(template.High()) {
			t.Errorf("%q: the greatest draw is %q, want %q", text, most, template.High())
		}
	}
}

// TestDrawAsksOnlyForWhatIsOpen pins how many numbers each template takes from its stream: more or fewer would move
// everything that the same stream yields later.
func TestDrawAsksOnlyForWhatIsOpen(t *testing.T) {
	for _, test := range []struct {
		text  string
		draws int
	}{
		{"crash c1 at 5s", 0},
		{"crash c1 at 5s..5s", 0},
		{"crash c1 at 5s..6s", 1},
		{"maybe 1/2 crash c1 at 5s", 1},
		{"maybe 1/2 slow c1>redis by 1s..2s for 1s..2s at 1s..2s or on c1 before GET #1..2", 5},
	} {
		stream := &fixedStream{}
		if _, in := parseTemplate(t, test.text).Draw(stream); !in {
			t.Errorf("%q: the least draw of the odds has to win", test.text)
		}
		if stream.draws != test.draws {
			t.Errorf("%q took %d draws, want %d", test.text, stream.draws, test.draws)
		}
	}
}

func TestDrawOdds(t *testing.T) {
	for _, test := range []struct {
		text        string
		wins, outOf int
	}{
		{"maybe 1/4 crash c1 at 5s", 1, 4},
		{"maybe 3/4 crash c1 at 5s", 3, 4},
		{"maybe 4/4 crash c1 at 5s", 4, 4},
	} {
		template, wins := parseTemplate(t, test.text), 0
		for k := range test.outOf {
			if _, in := template.Draw(answers{int64(k + 1)}); in {
				wins++
			}
		}
		if wins != test.wins {
			t.Errorf("%q is in %d plans of %d, want %d", test.text, wins, test.outOf, test.wins)
		}
	}
	if _, in := parseTemplate(t, "maybe 1/2 crash c1 at 5s").Draw(&fixedStream{most: true}); in {
		t.Error("the greatest draw of the odds has to lose")
	}
}

// answers is a stream with one answer.
type answers [1]int64

func (a answers) Between(int64, int64) int64 { return a[0] }

func TestDrawSharesNothing(t *testing.T) {
	template := parseTemplate(t, "crash c1 at 5s..6s or on c1 before GET")
	before := template.String()
	drawn, _ := template.Draw(&fixedStream{most: true})
	low, high := template.Low(), template.High()
	for _, fault := range []Fault{drawn, low, high} {
		fault.When[0].At, fault.When[1].Command = 1, "DEL"
	}
	if after := template.String(); after != before {
		t.Errorf("the template became %q, it was %q", after, before)
	}
}

func TestGrain(t *testing.T) {
	const ms, us = 1_000_000, 1_000
	for _, test := range []struct{ low, high, want int64 }{
		{8_000 * ms, 15_000 * ms, ms},
		{0, 1_000 * ms, ms},
		{0, 999 * ms, us},
		{5 * ms, 50 * ms, us},
		{-2 * ms, 2_000 * ms, ms},
		{5 * us, 7 * us, 1},
		{8_000*ms + us, 15_000 * ms, us},
		{8_000*ms + 1, 15_000 * ms, 1},
		{8_000 * ms, 15_000*ms + 1, 1},
	} {
		if got := grain(test.low, test.high); got != test.want {
			t.Errorf("grain(%d, %d) = %d, want %d", test.low, test.high, got, test.want)
		}
	}
}

// TestTextMarshalling puts faults and templates into JSON, which takes whatever is text.
func TestTextMarshalling(t *testing.T) {
	type document struct {
		Plan      Plan
		Templates []Template
	}
	text := `{"Plan":["crash c1 at 5s"],"Templates":["maybe 1/2 pause c1 for 1s..2s at start"]}`
	var read document
	if err := json.Unmarshal([]byte(text), &read); err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(read)
	if err != nil {
		t.Fatal(err)
	}
	if string(written) != text {
		t.Errorf("got %s, want %s", written, text)
	}
	for _, broken := range []string{`{"Plan":["crash"]}`, `{"Templates":["crash"]}`} {
		if json.Unmarshal([]byte(broken), &read) == nil {
			t.Errorf("%s is accepted", broken)
		}
	}
	for _, broken := range []any{
		Fault{}, Fault{Kind: Pause, Node: "c1"}, Template{}, Fixed(Fault{Kind: Crash, Node: "c 1"}),
	} {
		if out, err := json.Marshal(broken); err == nil {
			t.Errorf("%+v is written as %s, which nobody can read back", broken, out)
		}
	}
}
