package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/mechanism"
	"github.com/lockstep-sim/lockstep/scenarios/strategy"
)

// tally counts what the seeds of a row showed, in the order of seeds.
func (row *rowRun) tally() {
	row.tallied = true
	t := tally{row: row.row, mechanisms: map[string]*MechanismTally{}}
	for _, p := range checker.Properties() {
		row.row.Properties = append(row.row.Properties, PropertyTally{Property: p})
	}
	for _, template := range row.row.Scenario.templates(row.row.Expectation) {
		row.row.Faults = append(row.row.Faults, FaultTally{Text: template.String()})
	}
	for place, result := range row.results {
		if result != nil {
			t.count(First{result.Seed, place + 1}, result)
		}
	}
	for _, known := range mechanism.All() {
		if found := t.mechanisms[known.Ref]; found != nil {
			found.Mechanism = known
			row.row.Mechanisms = append(row.row.Mechanisms, *found)
		}
	}
}

// tally is a count under way.
type tally struct {
	row        *Row
	mechanisms map[string]*MechanismTally
}

func (t *tally) count(at First, result *seedResult) {
	t.row.Ran++
	t.row.Hash = chain(t.row.Hash, result.Hash)
	if result.Error != "" {
		t.row.Failures = append(t.row.Failures, Remark{result.Seed, result.Error})
		return
	}
	if result.Differs {
		t.row.Unstable = append(t.row.Unstable, result.Seed)
	}
	if len(result.Leaks) > 0 {
		t.row.Leaks = append(t.row.Leaks, Remark{result.Seed, strings.Join(result.Leaks, ", ")})
	}
	for i, strikes := range result.Strikes {
		if strikes >= 0 {
			t.row.Faults[i].Drawn++
		}
		if strikes > 0 {
			t.row.Faults[i].Strikes++
		}
	}
	if t.row.Marks == nil {
		t.row.Marks = make([]int, len(strategy.AllMarks()))
	}
	for i, times := range result.Marks[:min(len(result.Marks), len(t.row.Marks))] {
		if times > 0 {
			t.row.Marks[i]++
		}
	}
	for _, v := range result.Verdicts {
		i := slices.IndexFunc(t.row.Properties, func(p PropertyTally) bool { return p.Property == v.Property })
		if i < 0 {
			t.row.Failures = append(t.row.Failures, Remark{
				result.Seed, fmt.Sprintf("it has a verdict on %q, which is no property", v.Property),
			})
			continue
		}
		t.row.Properties[i].count(at, v)
	}
	for _, m := range result.Mechanisms {
		found := t.mechanisms[m.Ref]
		if found == nil {
			found = &MechanismTally{First: at}
			t.mechanisms[m.Ref] = found
		}
		found.Seeds++
		if !slices.Contains(found.Properties, m.Property) {
			found.Properties = append(found.Properties, m.Property)
		}
	}
}

func (p *PropertyTally) count(at First, v seedVerdict) {
	if v.GaveUp {
		p.GaveUp++
	}
	switch {
	case v.Skipped:
		p.Skipped++
	case v.Result == checker.Holds:
		p.Holds++
	case v.Result == checker.Violated:
		if p.Violated == 0 {
			p.FirstViolated = at
		}
		p.Violated++
	default:
		p.Unknown++
	}
}

// Hash is over the hashes of all rows, in their order. Equal campaigns of one program have equal hashes, on any machine
// and with any number of workers.
func Hash(rows []*Row) uint64 {
	sum := uint64(0)
	for _, row := range rows {
		sum = chain(sum, row.Hash)
	}
	return sum
}

// chain adds the hash of one more seed; the order matters.
func chain(sum, hash uint64) uint64 {
	const prime = 0x100000001b3
	return (sum ^ hash) * prime
}
