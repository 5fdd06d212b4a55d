package scenarios

import (
	"fmt"
	"slices"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/mechanism"
)

// Conclusion is what is to be said of a row, or of a whole campaign. The constants come in rising order of weight.
type Conclusion int

// The conclusions.
const (
	AsExpected       Conclusion = iota
	NothingRan                  // not one seed was run
	Inconclusive                // something was not put to the test, or not often enough
	Violation                   // a property is violated by a lock of which nothing is expected
	Unexpected                  // something differs from what the scenario expects
	NotDeterministic            // a seed ran differently the second time
	Broken                      // a run could not be finished
)

var conclusionNames = [...]string{
	"as expected", "nothing ran", "unknown", "violation", "differs", "not deterministic", "failed",
}

func (c Conclusion) String() string { return conclusionNames[c] }

// LeakAllowed in Expectation.Allow says that seeds may leave goroutines behind. It is no property of the lock's
// answers, so no verdict has its name.
const LeakAllowed checker.Property = "leaks"

// Judgement is a conclusion and its reasons.
type Judgement struct {
	Conclusion Conclusion
	Reasons    []Reason // the weightiest first
}

// Reason is one reason for a judgement.
type Reason struct {
	Conclusion Conclusion
	Text       string
	// Seeds are the ones to run to see it; empty = no particular ones.
	Seeds Seeds
	// Property is the one that is violated there; "" = it is about something else.
	Property checker.Property
}

// Conclude joins the judgements of rows: the weightiest counts. That nothing ran counts if it is true of all rows; of
// some rows it means that the campaign is inconclusive.
func Conclude(rows []*Row) Conclusion {
	if len(rows) == 0 {
		return NothingRan
	}
	heaviest, ran := AsExpected, false
	for _, row := range rows {
		heaviest = max(heaviest, row.Judgement.Conclusion)
		ran = ran || row.Judgement.Conclusion != NothingRan
	}
	if heaviest == NothingRan && ran {
		return Inconclusive
	}
	return heaviest
}

// judge holds a row against its expectation.
func judge(row *Row) Judgement {
	j := &judging{row: row}
	if row.Ran == 0 && len(row.Failures) == 0 {
		j.add(NothingRan, nil, "no seed was run")
		return j.judgement()
	}
	j.failures()
	j.finds()
	j.violations()
	j.leaks()
	j.tests()
	j.ended()
	return j.judgement()
}

// judging gathers reasons.
type judging struct {
	row     *Row
	reasons []Reason
}

func (j *judging) add(c Conclusion, seeds Seeds, format string, args ...any) {
	j.reasons = append(j.reasons, Reason{Conclusion: c, Text: fmt.Sprintf(format, args...), Seeds: seeds})
}

func (j *judging) judgement() Judgement {
	slices.SortStableFunc(j.reasons, func(a, b Reason) int { return int(b.Conclusion - a.Conclusion) })
	judgement := Judgement{Reasons: j.reasons}
	if len(j.reasons) > 0 {
		judgement.Conclusion = j.reasons[0].Conclusion
	}
	return judgement
}

func one(seed uint64) Seeds { return Seeds{{seed, seed}} }

// failures judges the runs that did not end and those that ended in two ways.
func (j *judging) failures() {
	if n := len(j.row.Failures); n > 0 {
		first := j.row.Failures[0]
		j.add(Broken, one(first.Seed), "seed %d could not be finished%s: %s", first.Seed, others(n), first.Text)
	}
	if n := len(j.row.Unstable); n > 0 {
		first := j.row.Unstable[0]
		j.add(NotDeterministic, one(first), "seed %d ran differently when it was run again%s", first, others(n))
	}
}

// others says how many more seeds there are of a kind.
func others(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n-1)
}

// finds judges what had to be found.
func (j *judging) finds() {
	for _, find := range j.row.Expectation.Find {
		first, found := j.row.firstOf(find.What)
		switch {
		case found && first.Place <= find.Within:
		case found:
			j.add(Unexpected, one(first.Seed), "%s was to be found within %d seeds and is found in the %s, seed %d",
				find.What, find.Within, ordinal(first.Place), first.Seed)
		case j.row.Ran >= find.Within:
			j.add(Unexpected, j.row.Seeds, "%s was to be found within %d seeds and is not found in %d", find.What,
				find.Within, j.row.Ran)
		default:
			j.add(Inconclusive, nil, "%s is to be found within %d seeds and only %d were run; run at least %d", find.What,
				find.Within, j.row.Ran, find.Within)
		}
	}
}

// firstOf is the first seed that showed a mechanism, by its name or number, or a violation of a property.
func (row *Row) firstOf(what string) (First, bool) {
	first, found := First{}, false
	for _, p := range row.Properties {
		if checker.Property(what).Covers(p.Property) && p.Violated > 0 && (!found || p.FirstViolated.Place < first.Place) {
			first, found = p.FirstViolated, true
		}
	}
	if found {
		return first, true
	}
	for _, m := range row.Mechanisms {
		if isNamed(m.Mechanism, what) {
			return m.First, true
		}
	}
	return First{}, false
}

// isNamed tells whether a word means this mechanism.
func isNamed(m mechanism.Mechanism, word string) bool {
	named, known := mechanism.Named(word)
	return known && named == m
}

// violations judges the violated properties. Expected are those that are to be found, those that a mechanism breaks
// which is to be found, and those that are allowed.
func (j *judging) violations() {
	expected := slices.Clone(j.row.Expectation.Allow)
	for _, find := range j.row.Expectation.Find {
		expected = append(expected, checker.Property(find.What))
		for _, m := range j.row.Mechanisms {
			if isNamed(m.Mechanism, find.What) {
				expected = append(expected, m.Properties...)
			}
		}
	}
	conclusion, clause := Violation, ""
	if j.row.Stated {
		conclusion, clause = Unexpected, ", which the scenario does not expect"
	}
	for _, p := range j.row.Properties {
		covers := func(e checker.Property) bool { return e.Covers(p.Property) }
		if p.Violated > 0 && !slices.ContainsFunc(expected, covers) {
			j.add(conclusion, one(p.FirstViolated.Seed), "%s is violated in seed %d (%d of %d seeds)%s", p.Property,
				p.FirstViolated.Seed, p.Violated, j.row.Ran, clause)
			j.reasons[len(j.reasons)-1].Property = p.Property
		}
	}
}

func (j *judging) leaks() {
	if n := len(j.row.Leaks); n > 0 && !slices.Contains(j.row.Expectation.Allow, LeakAllowed) {
		first := j.row.Leaks[0]
		j.add(Unexpected, one(first.Seed), "seed %d left goroutines behind%s: %s", first.Seed, others(n), first.Text)
	}
}

// tests judges whether the row put to the test what it claims.
func (j *judging) tests() {
	for _, p := range j.row.Properties {
		if p.GaveUp > 0 {
			j.add(Inconclusive, nil, "no answer was found about %s in %d of %d seeds", p.Property, p.GaveUp, j.row.Ran)
		} else if p.Property == checker.MutualExclusion && p.Untested() && len(j.row.Expectation.Find) == 0 {
			// Where something else must be found, such as a queue that does not move, there may be no second holder.
			j.add(Inconclusive, nil, "%s was not put to the test in any seed", p.Property)
		}
	}
	for _, f := range j.row.Faults {
		if f.Drawn > 0 && f.Strikes == 0 {
			j.add(Inconclusive, nil, "its fault never struck (%d seeds planned it): %s", f.Drawn, f.Text)
		}
	}
}

// ended judges a row that was not run to its end.
func (j *judging) ended() {
	if j.row.Interrupted {
		j.add(Inconclusive, nil, "interrupted after %d of %d seeds", j.row.Ran, j.row.Seeds.Len())
	} else if j.row.EndedEarly {
		j.add(AsExpected, nil, "the budget ended after %d of %d seeds", j.row.Ran, j.row.Seeds.Len())
	}
}

// ordinal renders a place: 1st, 2nd, 3rd, 4th, 11th.
func ordinal(n int) string {
	suffix := "th"
	if tens := n / 10 % 10; tens != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}
