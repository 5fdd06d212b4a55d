package strategy

import (
	"fmt"
	"slices"
	"strings"
)

// The strategies of a hunt.
const (
	// Uniform lets every message take what its link's stream gives.
	Uniform = "uniform"
	// Swarm is uniform, with a plan of which each seed switches some kinds of faults off.
	Swarm = "swarm"
	// PCT schedules by priorities.
	PCT = "pct"
	// Deadline steers requests to known deadlines, and in between what another client reads and writes.
	Deadline = "deadline"
	// Exhaustive goes through every schedule of a small world. It has no seeds; see Explorer.
	Exhaustive = "exhaustive"
)

// Names lists the strategies that seeds can be run with.
func Names() []string { return []string{Uniform, Swarm, PCT, Deadline} }

// Portfolio is what a hunt uses by default: one seed after the other with the next of these.
func Portfolio() []string { return []string{Uniform, Deadline, PCT, Swarm} }

// Check reports a name that is no strategy for seeds.
func Check(name string) error {
	if !slices.Contains(Names(), name) {
		return fmt.Errorf("strategy %q: want one of %s", name, strings.Join(Names(), ", "))
	}
	return nil
}

// New returns the schedule of a strategy for one seed; nil where messages take what is drawn. The name is one of Names.
func New(name string, seed uint64) *Schedule {
	switch name {
	case PCT:
		return newSchedule(newPCT(seed))
	case Deadline:
		return newSchedule(newDeadline(seed))
	default:
		return nil
	}
}
