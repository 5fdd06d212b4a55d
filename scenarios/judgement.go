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
	// Property is the one that is violated there, or LeakAllowed; "" = it is about something else.
	Property checker.Property
	// Kind names what is the matter in one word that stays the same whatever the seeds are.
	Kind Kind
}

// Kind is a kind of reason.
type Kind string

// The kinds of reasons.
const (
	KindViolated    Kind = "violated"          // a property is violated that nobody expects to be
	KindLeak        Kind = "leak"              // goroutines are left behind
	KindNotFound    Kind = "not-found"         // what the scenario says must be found is not
	KindPass        Kind = "unexpected-pass"   // what the baseline lists does not show
	KindFailed      Kind = "failed"            // a run could not be finished
	KindUnstable    Kind = "not-deterministic" // a seed ran differently when it was run again
	KindUntested    Kind = "untested"          // something was not put to the test, or not often enough
	KindInterrupted Kind = "interrupted"       // the campaign was broken off
	KindEndedEarly  Kind = "ended-early"       // the campaign had run long enough
	KindNothingRan  Kind = "nothing-ran"       // not one seed was run
)

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

// judge holds a row against its expectation. Of a part of a campaign only that is judged which one seed shows by
// itself; what is about all seeds is left to the merged whole.
func judge(row *Row) Judgement {
	j := &judging{row: row}
	if row.LeftOut {
		j.add(NothingRan, KindNothingRan, nil, "left out: enough rows before it had failed")
		return j.judgement()
	}
	if row.Ran == 0 && len(row.Failures) == 0 && (row.Shard.Whole() || row.Own() > 0) {
		j.add(NothingRan, KindNothingRan, nil, "no seed was run")
		return j.judgement()
	}
	j.failures()
	if row.Shard.Whole() {
		j.finds()
		j.passes()
		j.tests()
	}
	if row.Shard.Whole() || len(row.Expectation.Find) == 0 {
		j.violations()
	}
	j.leaks()
	j.ended()
	return j.judgement()
}

// Rejudge judges the row anew, with another baseline.
func (row *Row) Rejudge(b *Baseline) {
	row.Known = b.of(row.Scenario.Name, row.Implementation)
	row.Judgement = judge(row)
}

// judging gathers reasons.
type judging struct {
	row     *Row
	reasons []Reason
}

func (j *judging) add(c Conclusion, kind Kind, seeds Seeds, format string, args ...any) *Reason {
	j.reasons = append(j.reasons, Reason{Conclusion: c, Kind: kind, Text: fmt.Sprintf(format, args...), Seeds: seeds})
	return &j.reasons[len(j.reasons)-1]
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
		j.add(Broken, KindFailed, one(first.Seed), "seed %d could not be finished%s: %s", first.Seed, others(n), first.Text)
	}
	if n := len(j.row.Unstable); n > 0 {
		first := j.row.Unstable[0]
		j.add(NotDeterministic, KindUnstable, one(first), "seed %d ran differently when it was run again%s", first, others(n))
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
			j.add(Unexpected, KindNotFound, one(first.Seed), "%s was to be found within %d seeds and is found in the %s, "+
				"seed %d", find.What, find.Within, ordinal(first.Place), first.Seed)
		case j.row.Ran >= find.Within:
			j.add(Unexpected, KindNotFound, j.row.Seeds, "%s was to be found within %d seeds and is not found in %d", find.What,
				find.Within, j.row.Ran)
		default:
			j.add(Inconclusive, KindUntested, nil, "%s is to be found within %d seeds and only %d were run; run at "+
				"least %d", find.What, find.Within, j.row.Ran, find.Within)
		}
	}
}

// passes judges what the baseline lists.
func (j *judging) passes() {
	for _, k := range j.row.unmet() {
		if j.row.complete() {
			j.add(Unexpected, KindPass, j.row.Seeds, "%s is listed in the baseline (%s) and does not show in %d seeds: "+
				"take the entry out if that is meant", k.What, k.place, j.row.Ran)
		} else {
			j.add(Inconclusive, KindUntested, nil, "%s is listed in the baseline (%s) and does not show in %d of %d seeds",
				k.What, k.place, j.row.Ran, j.row.Own())
		}
	}
}

// Own counts the seeds that are this campaign's to run: all of the row's, or those of its part.
func (row *Row) Own() int {
	if row.Shard.Whole() {
		return row.Seeds.Len()
	}
	return len(row.OwnSeeds(row.Seeds.Len()))
}

// OwnSeeds are the first of the seeds that are this campaign's to run, at most so many. The first Ran of them were run.
func (row *Row) OwnSeeds(most int) []uint64 {
	var seeds []uint64
	for place := 0; place < row.Seeds.Len() && len(seeds) < most; place++ {
		if seed := row.Seeds.At(place); row.Shard.Has(seed) {
			seeds = append(seeds, seed)
		}
	}
	return seeds
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
	expected := slices.Concat(j.row.Expectation.Allow, j.row.known())
	for _, find := range j.row.Expectation.Find {
		expected = append(expected, checker.Property(find.What))
		for _, m := range j.row.Mechanisms {
			if isNamed(m.Mechanism, find.What) {
				expected = append(expected, m.Properties...)
			}
		}
	}
	conclusion, clause := Violation, ""
	switch {
	case j.row.Stated:
		conclusion, clause = Unexpected, ", which the scenario does not expect"
	case len(j.row.Known) > 0:
		conclusion, clause = Unexpected, ", which the baseline does not list"
	}
	for _, p := range j.row.Properties {
		covers := func(e checker.Property) bool { return e.Covers(p.Property) }
		if p.Violated > 0 && !slices.ContainsFunc(expected, covers) {
			reason := j.add(conclusion, KindViolated, one(p.FirstViolated.Seed), "%s is violated in seed %d (%d of %d seeds)%s",
				p.Property, p.FirstViolated.Seed, p.Violated, j.row.Ran, clause)
			reason.Property = p.Property
		}
	}
}

func (j *judging) leaks() {
	allowed := slices.Concat(j.row.Expectation.Allow, j.row.known())
	if n := len(j.row.Leaks); n > 0 && !slices.Contains(allowed, LeakAllowed) {
		first := j.row.Leaks[0]
		reason := j.add(Unexpected, KindLeak, one(first.Seed), "seed %d left goroutines behind%s: %s", first.Seed,
			others(n), first.Text)
		reason.Property = LeakAllowed
	}
}

// tests judges whether the row put to the test what it claims.
func (j *judging) tests() {
	for _, p := range j.row.Properties {
		if p.GaveUp > 0 {
			j.add(Inconclusive, KindUntested, nil, "no answer was found about %s in %d of %d seeds", p.Property,
				p.GaveUp, j.row.Ran)
		} else if p.Property == checker.MutualExclusion && p.Untested() && len(j.row.Expectation.Find) == 0 &&
			len(j.row.Known) == 0 {
			// Where something else must be found, such as a queue that does not move, there may be no second holder.
			j.add(Inconclusive, KindUntested, nil, "%s was not put to the test in any seed", p.Property)
		}
	}
	for _, f := range j.row.Faults {
		if f.Drawn > 0 && f.Strikes == 0 {
			j.add(Inconclusive, KindUntested, nil, "its fault never struck (%d seeds planned it): %s", f.Drawn, f.Text)
		}
	}
}

// ended judges a row that was not run to its end.
func (j *judging) ended() {
	if j.row.Interrupted {
		j.add(Inconclusive, KindInterrupted, nil, "interrupted after %d of %d seeds", j.row.Ran, j.row.Own())
	} else if j.row.EndedEarly {
		j.add(AsExpected, KindEndedEarly, nil, "the budget ended after %d of %d seeds", j.row.Ran, j.row.Own())
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
