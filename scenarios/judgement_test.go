package scenarios

import (
	"strings"
	"testing"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/mechanism"
)

// goodRow is a row of 50 seeds in which everything was put to the test and came out well.
func goodRow() *Row {
	row := &Row{
		Scenario: &Scenario{Name: "synthetic"}, Implementation: "redis/setnx-px", Stated: true, Seeds: SeedsUpTo(50), Ran: 50,
		Faults: []FaultTally{{Text: "crash c1 at 1s", Drawn: 50, Strikes: 50}},
	}
	for _, p := range checker.Properties() {
		row.Properties = append(row.Properties, PropertyTally{Property: p, Holds: 50})
	}
	return row
}

// violate has a property violated in two seeds, first in seed 3.
func (row *Row) violate(property checker.Property) {
	for i := range row.Properties {
		if p := &row.Properties[i]; p.Property == property {
			p.Holds, p.Violated, p.FirstViolated = 48, 2, First{3, 3}
		}
	}
}

// recognise has R1 recognised in seed 3, as a breach of mutual exclusion.
func (row *Row) recognise() {
	row.violate(checker.MutualExclusion)
	row.Mechanisms = []MechanismTally{{
		Mechanism: mechanism.LoserEnters, Seeds: 2, First: First{3, 3},
		Properties: []checker.Property{checker.MutualExclusion},
	}}
}

func TestJudge(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Row)
		want   Conclusion
		reason string // part of the first reason; "" = there is none
	}{
		{"all holds", func(*Row) {}, AsExpected, ""},
		{"nothing ran", func(r *Row) { r.Ran = 0 }, NothingRan, "no seed was run"},
		{"a violation where nothing is stated", func(r *Row) {
			r.Stated = false
			r.violate(checker.Resource)
		}, Violation, "resource is violated in seed 3 (2 of 50 seeds)"},
		{"a violation that is not expected", func(r *Row) {
			r.violate(checker.Resource)
		}, Unexpected, "resource is violated in seed 3 (2 of 50 seeds), which the scenario does not expect"},
		{"an allowed violation", func(r *Row) {
			r.violate(checker.Resource)
			r.Expectation.Allow = []checker.Property{checker.Resource}
		}, AsExpected, ""},
		{"a property that must be found", func(r *Row) {
			r.violate(checker.Resource)
			r.Expectation.Find = []MustFind{{"resource", 3}}
		}, AsExpected, ""},
		{"a mechanism that must be found, with the property that it breaks", func(r *Row) {
			r.recognise()
			r.Expectation.Find = []MustFind{{"R1", 50}}
		}, AsExpected, ""},
		{"a mechanism by its name", func(r *Row) {
			r.recognise()
			r.Expectation.Find = []MustFind{{"loser-enters", 50}}
		}, AsExpected, ""},
		{"found too late", func(r *Row) {
			r.violate(checker.Resource)
			r.Expectation.Find = []MustFind{{"resource", 2}}
		}, Unexpected, "resource was to be found within 2 seeds and is found in the 3rd, seed 3"},
		{"not found", func(r *Row) {
			r.Expectation.Find = []MustFind{{"R1", 50}}
		}, Unexpected, "R1 was to be found within 50 seeds and is not found in 50"},
		{"not found in too few seeds", func(r *Row) {
			r.Ran = 20
			r.Expectation.Find = []MustFind{{"R1", 50}}
		}, Inconclusive, "R1 is to be found within 50 seeds and only 20 were run; run at least 50"},
		{"no answer in one seed", func(r *Row) {
			r.Properties[2].Unknown, r.Properties[2].GaveUp = 1, 1
		}, Inconclusive, "no answer was found about linearizability in 1 of 50 seeds"},
		{"mutual exclusion never tested", func(r *Row) {
			r.Properties[0] = PropertyTally{Property: checker.MutualExclusion, Unknown: 50}
		}, Inconclusive, "mutual-exclusion was not put to the test in any seed"},
		{"another property never tested", func(r *Row) {
			r.Properties[6] = PropertyTally{Property: checker.NotEarly, Unknown: 50}
		}, AsExpected, ""},
		{"a property that the lock does not promise", func(r *Row) {
			r.Properties[0] = PropertyTally{Property: checker.MutualExclusion, Skipped: 50}
		}, AsExpected, ""},
		{"a fault that never struck", func(r *Row) {
			r.Faults[0].Strikes = 0
		}, Inconclusive, "its fault never struck (50 seeds planned it): crash c1 at 1s"},
		{"a fault that no plan held", func(r *Row) {
			r.Faults[0] = FaultTally{Text: "crash c1 at 1s"}
		}, AsExpected, ""},
		{"a leak", func(r *Row) {
			r.Leaks = []Remark{{4, "c1/lock"}, {9, "c1/lock"}}
		}, Unexpected, "seed 4 left goroutines behind (and 1 more): c1/lock"},
		{"an allowed leak", func(r *Row) {
			r.Leaks = []Remark{{4, "c1/lock"}}
			r.Expectation.Allow = []checker.Property{LeakAllowed}
		}, AsExpected, ""},
		{"a run that differs", func(r *Row) {
			r.Unstable = []uint64{8}
		}, NotDeterministic, "seed 8 ran differently when it was run again"},
		{"a run that fails", func(r *Row) {
			r.Failures = []Remark{{6, "the world made no progress"}}
		}, Broken, "seed 6 could not be finished: the world made no progress"},
		{"the first run fails", func(r *Row) {
			r.Ran, r.Failures = 0, []Remark{{1, "boom"}}
		}, Broken, "seed 1 could not be finished: boom"},
		{"interrupted", func(r *Row) {
			r.Ran, r.Interrupted = 20, true
		}, Inconclusive, "interrupted after 20 of 50 seeds"},
		{"the budget is spent", func(r *Row) {
			r.Ran, r.EndedEarly = 20, true
		}, AsExpected, "the budget ended after 20 of 50 seeds"},
		{"the weightiest reason counts", func(r *Row) {
			r.Faults[0].Strikes = 0
			r.Unstable = []uint64{8}
			r.violate(checker.Resource)
		}, NotDeterministic, "seed 8 ran differently"},
	} {
		t.Run(test.name, func(t *testing.T) {
			row := goodRow()
			test.change(row)
			got := judge(row)
			if got.Conclusion != test.want {
				t.Errorf("the conclusion is %q, want %q; reasons: %+v", got.Conclusion, test.want, got.Reasons)
			}
			if (test.reason == "") != (len(got.Reasons) == 0) {
				t.Fatalf("the reasons are %+v, want %q", got.Reasons, test.reason)
			}
			if test.reason != "" && !strings.Contains(got.Reasons[0].Text, test.reason) {
				t.Errorf("the first reason is %q, want %q", got.Reasons[0].Text, test.reason)
			}
		})
	}
}

func TestConclude(t *testing.T) {
	for _, test := range []struct {
		rows []Conclusion
		want Conclusion
	}{
		{nil, NothingRan},
		{[]Conclusion{NothingRan, NothingRan}, NothingRan},
		{[]Conclusion{AsExpected, NothingRan}, Inconclusive},
		{[]Conclusion{AsExpected, AsExpected}, AsExpected},
		{[]Conclusion{AsExpected, Inconclusive}, Inconclusive},
		{[]Conclusion{Inconclusive, Violation}, Violation},
		{[]Conclusion{Violation, Unexpected}, Unexpected},
		{[]Conclusion{NotDeterministic, Unexpected}, NotDeterministic},
		{[]Conclusion{NotDeterministic, Broken, NothingRan}, Broken},
	} {
		var rows []*Row
		for _, c := range test.rows {
			rows = append(rows, &Row{Judgement: Judgement{Conclusion: c}})
		}
		if got := Conclude(rows); got != test.want {
			t.Errorf("rows %v conclude to %q, want %q", test.rows, got, test.want)
		}
	}
}

func TestOrdinal(t *testing.T) {
	for n, want := range map[int]string{
		1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 13: "13th", 21: "21st", 102: "102nd", 113: "113th",
	} {
		if got := ordinal(n); got != want {
			t.Errorf("ordinal(%d) = %q, want %q", n, got, want)
		}
	}
}
