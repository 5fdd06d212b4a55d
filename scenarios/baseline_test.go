package scenarios

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/lockstep-sim/lockstep/checker"
)

// TestBaselineReadsBack checks that every baseline is read as it was written, whatever its reasons say.
func TestBaselineReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := &Baseline{Source: "known.yaml"}
		for i, reason := range rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			"the published lock", "null", "Yes", "- a: b", "# c", "it's \"so\"", "a\tb\\", "1.5", "{}", "x: y", "@z", "ü 漢",
		})), 0, 5).Draw(t, "reasons") {
			reason = strings.Join(strings.Fields(strings.ToValidUTF8(reason, "?")), " ")
			if reason == "" || strings.ContainsFunc(reason, func(r rune) bool { return r < ' ' || r == 0x7f || r > 0xffff }) {
				reason = "none"
			}
			want.Known = append(want.Known, KnownViolation{
				Scenario: strings.Repeat("s", i+1), Implementation: "redis/setnx-px!token-reused", What: "liveness", Reason: reason,
			})
		}
		got, err := ParseBaseline("known.yaml", []byte(want.String()))
		if err != nil {
			t.Fatalf("%v:\n%s", err, want)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(KnownViolation{})); diff != "" {
			t.Errorf("%s\nof\n%s", diff, want)
		}
	})
}

// TestBaselineJudges checks what a baseline makes of a row.
func TestBaselineJudges(t *testing.T) {
	row := func(change func(*Row)) *Row {
		s, err := Parse("calm.yaml", []byte(calm))
		if err != nil {
			t.Fatal(err)
		}
		r := &Row{
			Scenario: s, Implementation: "redis/getset", Seeds: SeedsUpTo(10), Ran: 10,
			Properties: []PropertyTally{
				{Property: checker.MutualExclusion, Holds: 9, Violated: 1, FirstViolated: First{3, 3}},
				{Property: checker.Liveness, Holds: 10},
			},
		}
		change(r)
		return r
	}
	known := func(what ...string) *Baseline {
		b := &Baseline{}
		for _, w := range what {
			b.Known = append(b.Known, KnownViolation{Scenario: "calm", Implementation: "redis/getset", What: w})
		}
		return b
	}
	leaking := func(r *Row) { r.Leaks = []Remark{{4, "a goroutine"}} }
	same := func(*Row) {}
	for _, test := range []struct {
		name   string
		change func(*Row)
		known  *Baseline
		want   Conclusion
		kind   Kind
	}{
		{"nothing is known", same, nil, Violation, KindViolated},
		{"it is known", same, known("mutual-exclusion"), AsExpected, ""},
		{"another one is known", same, known("liveness"), Unexpected, KindPass},
		{"one more is known", same, known("mutual-exclusion", "liveness"), Unexpected, KindPass},
		{"a mechanism is known and does not show", same, known("mutual-exclusion", "R1"), Unexpected, KindPass},
		{"one is not known", leaking, known("mutual-exclusion"), Unexpected, KindLeak},
		{"both are known", leaking, known("mutual-exclusion", "leaks"), AsExpected, ""},
		{"leaks are known and there are none", same, known("mutual-exclusion", "leaks"), Unexpected, KindPass},
		{
			"too early to say", func(r *Row) { r.Ran, r.EndedEarly = 5, true }, known("mutual-exclusion", "liveness"),
			Inconclusive, KindUntested,
		},
	} {
		r := row(test.change)
		r.Rejudge(test.known)
		kind := Kind("")
		if len(r.Judgement.Reasons) > 0 {
			kind = r.Judgement.Reasons[0].Kind
		}
		if r.Judgement.Conclusion != test.want || kind != test.kind {
			t.Errorf("%s: %v, want %v by %q", test.name, r.Judgement, test.want, test.kind)
		}
		// A baseline that is written from what came out makes it come out as expected.
		updated := test.known.Updated([]*Row{r}, "seen")
		if r.Rejudge(updated); test.want != Inconclusive && r.Judgement.Conclusion != AsExpected {
			t.Errorf("%s: with the baseline of it: %v", test.name, r.Judgement)
		}
	}
}

// FuzzBaseline checks that no file breaks the reader, that an error is one line with a place, and that what is read can
// be written.
func FuzzBaseline(f *testing.F) {
	f.Add("known:\n  - {scenario: a, implementation: redis/getset, find: R1, reason: x}\n")
	f.Add("known: []\n")
	f.Add("known:\n  - scenario: [\n")
	f.Fuzz(func(t *testing.T, text string) {
		b, err := ParseBaseline("b.yaml", []byte(text))
		if err != nil {
			if strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "b.yaml:") {
				t.Errorf("the error is %q", err)
			}
			return
		}
		if _, err := ParseBaseline("b.yaml", []byte(b.String())); err != nil {
			t.Errorf("what it writes is not read: %v\n%s", err, b)
		}
	})
}
