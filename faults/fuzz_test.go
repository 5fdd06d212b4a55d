package faults

import (
	"strings"
	"testing"
)

// FuzzParse checks that any text is either refused with one line, or read as a fault whose own text means the same.
func FuzzParse(f *testing.F) {
	for _, text := range seeds {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fault, err := Parse(text)
		if err != nil {
			checkMessage(t, err)
			return
		}
		if err := fault.Check(); err != nil {
			t.Fatalf("%q parses to %#v, but %v", text, fault, err)
		}
	})
}

// FuzzParseTemplate does the same for templates, and draws from those that parse.
func FuzzParseTemplate(f *testing.F) {
	for i, text := range seeds {
		f.Add(text, i)
	}
	f.Fuzz(func(t *testing.T, text string, seed int) {
		template, err := ParseTemplate(text)
		if err != nil {
			checkMessage(t, err)
			return
		}
		if _, err := template.MarshalText(); err != nil {
			t.Fatalf("%q parses to %#v, but %v", text, template, err)
		}
		if fault, in := template.Draw(newStream(seed, 0)); in && fault.Check() != nil {
			t.Fatalf("%q drew %q: %v", text, fault, fault.Check())
		}
	})
}

// FuzzParsePlan checks the same for whole plans.
func FuzzParsePlan(f *testing.F) {
	f.Add(strings.Join(seeds, "\n"))
	f.Add("# a comment\ncrash c1 at 5s # another\n\n\tpause c1 for 2s on c1 before GET #2\r\n")
	f.Add("crash c1 at 5s #\n#2\n #\n")
	f.Fuzz(func(t *testing.T, text string) {
		plan, err := ParsePlan(text)
		if err != nil {
			checkMessage(t, err)
			return
		}
		back, err := ParsePlan(plan.String())
		if err != nil {
			t.Fatalf("%q is written as %q, which does not parse: %v", text, plan, err)
		}
		if !equalPlans(back, plan) {
			t.Fatalf("%q is written as %q, which is another plan", text, plan)
		}
	})
}

func checkMessage(t *testing.T, err error) {
	t.Helper()
	const longest = 500
	if message := err.Error(); strings.ContainsAny(message, "\n\r") || len(message) > longest {
		t.Fatalf("the error is not one short line: %q", message)
	}
}

// seeds is a small corpus: each kind, templates, and texts that are nearly right.
var seeds = []string{
	"crash c1 silent at 12s",
	"restart redis empty at 20s",
	"restart c1 as new at start",
	"pause holder for 12s on holder after SETNX #2",
	"clock redis step -5s at 3s",
	"clock c2 offset +1.73s",
	"clock c2 drift -200ppm",
	"clock timeserver jitter 5ms at 1h2m3.5s",
	"lose request of c1>redis silent on c1 before DEL",
	"lose reply c1>redis on c1 before *",
	"delay c1>redis by 11s on c1 between GET and GETSET",
	"delay reply of c2>timeserver by 90µs on c2 before TIME #2",
	"slow c1-redis by 400ms for 10s at 5s",
	"cut redis>c1 for 6s on c1 after SETNX or at 30s",
	"down timeserver for 4s at 8s",
	"maybe 1/2 pause c1 for 8s..15s on c1 before GET #1..3 or at 1ns..24h",
	"clock c2 step -2s..+3s at start",
	"add job as list on redis",
	"lose event of c2>redis on c2 after SUBSCRIBE",
	"repeat event of next>redis after 300ms at 1s",
	"starve timers holder for 3s at deadline of holder -1ms",
	"reorder timers of c1 for 500ms at 2s",
	"cancel call of next as timeout at 800ms",
	"cancel call of c2 at deadline of c1 -1ms..+1ms #1..3",
	"fail script of c1>redis at write #2 on c1 before EVALSHA #3",
	"fail script of c1>redis at write 2 on c1 before",
	"crash c1 at deadline of waiter",
	"roll back redis by 1s at 3s",
	"puase c1 for 2s at 1s",
	"crash c1 at 5s or",
	"maybe 0/0 crash c1",
	"cut c1>c1 for 9999999h at -1s",
	"",
}
