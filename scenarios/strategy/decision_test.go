package strategy

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		text string
		want Decision
	}{
		{
			"c1>redis GETSET #1 takes 1.5ms",
			Decision{From: "c1", To: "redis", What: "GETSET", Nth: 1, Takes: 1500 * time.Microsecond},
		},
		{"  c3   wait  #12 takes 163ms ", Decision{From: "c3", What: Wait, Nth: 12, Takes: 163 * time.Millisecond}},
		{"c1/2 work #1 takes 0s", Decision{From: "c1/2", What: Work, Nth: 1}},
		{
			"zookeeper>c2 event #3 takes 20ms",
			Decision{From: "zookeeper", To: "c2", What: "event", Nth: 3, Takes: 20 * time.Millisecond},
		},
	} {
		got, err := Parse(test.text)
		if err != nil {
			t.Errorf("%q: %v", test.text, err)
		} else if got != test.want {
			t.Errorf("%q: %+v, want %+v", test.text, got, test.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, test := range []struct{ text, complaint string }{
		{"", "want \"c1>redis"},
		{"c1>redis GETSET #1 takes", "want \"c1>redis"},
		{"c1>redis GETSET #1 lasts 1ms", "want \"c1>redis"},
		{"c1> GETSET #1 takes 1ms", "names no machines"},
		{">redis GETSET #1 takes 1ms", "names no machines"},
		{"c1>redis G<T #1 takes 1ms", "is no command"},
		{"c1 sleep #1 takes 1ms", "how long to wait or to work"},
		{"c1>redis GETSET 1 takes 1ms", "is no number"},
		{"c1>redis GETSET #0 takes 1ms", "is no number"},
		{"c1>redis GETSET #01 takes 1ms", "is no number"},
		{"c1>redis GETSET #1 takes 1", "is no duration"},
		{"c1>redis GETSET #1 takes -1ms", "is no duration"},
		{"c1>redis GETSET #1 takes 25h", "is no duration"},
		{strings.Repeat("x", 300) + ">redis GET #1 takes 1ms", "names no machines"},
	} {
		_, err := Parse(test.text)
		if err == nil {
			t.Errorf("%q is accepted", test.text)
		} else if !strings.Contains(err.Error(), test.complaint) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want one line with %q", test.text, err, test.complaint)
		}
	}
}

// TestDecisionsRoundTrip writes decisions and reads them back.
func TestDecisionsRoundTrip(t *testing.T) {
	name := rapid.StringMatching(`[a-zA-Z0-9._/-]{1,12}`)
	rapid.Check(t, func(t *rapid.T) {
		d := Decision{
			From: name.Draw(t, "from"), To: name.Draw(t, "to"), What: name.Draw(t, "what"),
			Nth:   rapid.IntRange(1, 1<<30).Draw(t, "nth"),
			Takes: time.Duration(rapid.Int64Range(0, int64(maxSpan)).Draw(t, "takes")),
		}
		if rapid.Bool().Draw(t, "span") {
			d.To, d.What = "", rapid.SampledFrom([]string{Wait, Work}).Draw(t, "verb")
		}
		back, err := Parse(d.String())
		if err != nil {
			t.Fatal(err)
		}
		if back != d {
			t.Fatalf("%q reads back as %+v, want %+v", d, back, d)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"c1>redis GETSET #1 takes 1.5ms", "c3 wait #2 takes 163ms", "a>b c #1 takes 1h", "> #",
		"c1>redis GET #1 takes 1ms extra",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse(text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has several lines: %q", err)
			}
			return
		}
		if back, err := Parse(d.String()); err != nil || back != d {
			t.Errorf("%q reads as %+v, which reads back as %+v, %v", text, d, back, err)
		}
	})
}
