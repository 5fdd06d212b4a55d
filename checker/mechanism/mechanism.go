package mechanism

import (
	"strings"

	"github.com/lockstep-sim/lockstep/checker"
)

// Mechanism is one known way in which a lock with a record on a server fails.
type Mechanism struct {
	Name string // "loser-enters"
	Ref  string // "R1", the number in the list of mechanisms of the published lock
	// About is what happens, in one line.
	About string
}

// The mechanisms of locks in the manner of SETNX and GETSET.
var (
	LoserEnters = Mechanism{
		"loser-enters", "R1",
		"the loser of a GETSET race overwrote the winner's record with its own and then entered as its owner",
	}
	NilGetSet = Mechanism{
		"nil-getset", "R2", "a GETSET met no record, counted as lost, and left the loser's record behind",
	}
	LateGetSet = Mechanism{
		"late-getset", "R3", "a GETSET meant for a dead record came late and overwrote that of a fresh owner",
	}
	DeadOnArrival = Mechanism{
		"dead-on-arrival", "R4",
		"a record was written after the deadline in it had passed, and its writer took it for a hold",
	}
	ForeignDelete = Mechanism{
		"foreign-delete", "R5", "an unlock read its own record and deleted that of the next owner",
	}
	ReentryOverwrites = Mechanism{
		"reentry-overwrites", "R6", "a re-entry read its own record and overwrote that of the next owner",
	}
	DecrementResurrects = Mechanism{
		"decrement-resurrects", "R7", "an inner unlock put its dead record back over that of the next owner",
	}
	CountReset = Mechanism{
		"count-reset", "R8", "an owner took over its own expired record, which began to count at 1 again",
	}
	LostDecrement = Mechanism{
		"lost-decrement", "R9", "an inner unlock whose reply was lost was repeated and released the outer level",
	}
	SharedIdentity = Mechanism{
		"shared-identity", "R10", "two clients have one identity, so the second was let in as a re-entry",
	}
	StaleCheck = Mechanism{
		"stale-check", "R11", "a client judged the record that its GETSET had replaced only after a lease had passed",
	}
	ClockForward = Mechanism{
		"clock-forward", "R12", "the clock that judges leases jumped forward, so a live record counted as expired",
	}
	NoHolderCheck = Mechanism{
		"no-holder-check", "R13", "a holder went on after its lease had ended",
	}
	LeftoverLevel = Mechanism{
		"leftover-level", "R16", "the reply to an acquire was lost, so a level was left that nobody gives back",
	}
	ClockBack = Mechanism{
		"clock-back", "R17",
		"the clock stepped back between GETSET and its check, so the taker of a dead record believed it had lost",
	}
	NoTimeNoRelease = Mechanism{
		"no-time-no-release", "R18", "an unlock could not ask the time server and so deleted nothing",
	}
	LoserBlocks = Mechanism{
		"loser-blocks", "R19", "the loser of a GETSET race left its record behind and went away",
	}
	// DeadRecordStays needs no race: nobody removes what a dead holder left.
	DeadRecordStays = Mechanism{
		"dead-record-stays", "R20",
		"a record has no TTL on the server, so that of a dead holder stays until somebody asks for the lock again",
	}
)

// All lists the mechanisms in order of their numbers.
func All() []Mechanism {
	return append([]Mechanism{
		LoserEnters, NilGetSet, LateGetSet, DeadOnArrival, ForeignDelete, ReentryOverwrites, DecrementResurrects,
		CountReset, LostDecrement, SharedIdentity, StaleCheck, ClockForward, NoHolderCheck, LeftoverLevel, ClockBack,
		NoTimeNoRelease, LoserBlocks, DeadRecordStays,
	}, append(queueMechanisms(), majorityMechanisms()...)...)
}

// Named finds a mechanism by its name or its number.
func Named(word string) (Mechanism, bool) {
	for _, m := range All() {
		if strings.EqualFold(word, m.Name) || strings.EqualFold(word, m.Ref) {
			return m, true
		}
	}
	return Mechanism{}, false
}

// Finding is a violation explained.
type Finding struct {
	Mechanism Mechanism
	Property  checker.Property
	Violation checker.Violation
	// Events are the indices of the facts and calls that show the mechanism, in rising order.
	Events []int64
	Text   string // one sentence
}

// maxViolations bounds how many violations of one property are explained; they are ordered by time, and later ones
// mostly follow from the first.
const maxViolations = 20

// Find explains the violations of mutual exclusion and of liveness, in the order of the verdicts. Each mechanism is
// reported once, with the first violation that it explains.
func Find(h *checker.History, verdicts []checker.Verdict) []Finding {
	var locks map[string]*lock // made when there is something to explain
	var found []Finding
	seen := map[string]bool{}
	for _, v := range verdicts {
		for i, violation := range v.Violations {
			if i == maxViolations {
				break
			}
			if locks == nil {
				locks = index(h)
			}
			f := explain(locks, v.Property, violation)
			if f == nil || seen[f.Mechanism.Name] {
				continue
			}
			seen[f.Mechanism.Name] = true
			f.Property, f.Violation = v.Property, violation
			found = append(found, *f)
		}
	}
	return found
}

// explain returns nil for what no mechanism explains.
func explain(locks map[string]*lock, property checker.Property, v checker.Violation) *Finding {
	l := locks[v.Key]
	switch {
	case l == nil:
		return nil
	case v.Kind == checker.KindErrors && l.isQueue():
		return l.uselessHandle(v)
	case property == checker.MutualExclusion && l.isQueue():
		return l.outOfTurn(v)
	case v.Kind == checker.KindStuck && l.isQueue():
		return l.asleep(v)
	case property == checker.MutualExclusion:
		return l.overlap(v)
	case v.Kind == checker.KindStuck:
		return l.stuck(v)
	case v.Kind == checker.KindRemains:
		return l.remains(v)
	default:
		return nil
	}
}
