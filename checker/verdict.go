package checker

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Result is the answer to one property. Unknown is never a pass.
type Result string

// The three results.
const (
	Holds    Result = "holds"
	Violated Result = "violated"
	Unknown  Result = "unknown"
)

// Merge joins results: violated beats unknown beats holds. Nothing merged is unknown.
func Merge(results ...Result) Result {
	if len(results) == 0 {
		return Unknown
	}
	merged := Holds
	for _, r := range results {
		switch r {
		case Violated:
			return Violated
		case Holds:
		default:
			merged = Unknown
		}
	}
	return merged
}

// Overall merges the results of verdicts. Skipped verdicts do not count.
func Overall(verdicts []Verdict) Result {
	var results []Result
	for _, v := range verdicts {
		if !v.Skipped {
			results = append(results, v.Result)
		}
	}
	return Merge(results...)
}

// Verdict is what Check found about one property.
type Verdict struct {
	Property Property `json:"property"`
	Result   Result   `json:"result"`
	// Skipped says that the lock does not promise this property, so that nothing was judged. Its result is unknown.
	Skipped bool `json:"skipped,omitempty"`
	// GaveUp says that there was something to judge and no answer was found: the search met its limit, two checkers
	// disagree, or the history is not well-formed. The result is unknown; it tells nothing of the lock.
	GaveUp bool `json:"gave_up,omitempty"`
	// Why gives the reason in one line, in the words of lock users.
	Why string `json:"why"`
	// By names what decided, where there are several ways: for linearizability the rungs of its ladder.
	By []string `json:"by,omitempty"`
	// Violations holds the first of them by time, at most Options.MaxViolations for each lock.
	Violations []Violation `json:"violations,omitempty"`
	// Found counts all violations, those beyond the cap included.
	Found int `json:"found,omitempty"`
	// Longest is the longest time that one violation lasted, Sum the time during which at least one lasted.
	Longest time.Duration `json:"longest,omitempty"`
	Sum     time.Duration `json:"sum,omitempty"`
}

// Violation is one breach of a property.
type Violation struct {
	// Kind tells breaches of one property apart, see the Kind constants.
	Kind string `json:"kind"`
	Key  string `json:"key,omitempty"`
	// Events are the indices of the events that show the breach, in rising order.
	Events []int64 `json:"events,omitempty"`
	// From and To bound the breach in true time; they are equal for a breach at one instant.
	From time.Duration `json:"from"`
	To   time.Duration `json:"to"`
	// Processes and Nodes are those involved, the offender first. The two slices run in parallel.
	Processes []int    `json:"processes,omitempty"`
	Nodes     []string `json:"nodes,omitempty"`
	// Text is the breach as one sentence.
	Text string `json:"text"`
	// Cause is what led to it, as far as the history tells.
	Cause Cause `json:"cause,omitempty"`
}

// The kinds of violations.
const (
	KindOverlap            = "overlap"              // two believed holds at once
	KindGrantOverlap       = "grant-overlap"        // the server had one grant too many at once
	KindUngranted          = "ungranted"            // somebody was let in without a grant of the server
	KindIllegalAcquire     = "illegal-acquire"      // a grant of a lock that was held
	KindIllegalRefusal     = "illegal-refusal"      // a refusal of a lock that was free all the time
	KindIllegalRelease     = "illegal-release"      // an accepted release by somebody who did not hold
	KindIllegalDenial      = "illegal-denial"       // "not the owner" to the owner
	KindForeignRelease     = "foreign-release"      // a release removed another's record
	KindReleaseWithoutHold = "release-without-hold" // a release succeeded where nothing was held
	KindHolderRefused      = "holder-refused"       // a holder was told that it is not the owner
	KindLossUntold         = "loss-untold"          // a release was told that all is well after another had taken over
	KindWrongCount         = "wrong-count"          // the record counts other levels than its owner
	KindFreedInside        = "freed-inside"         // a hold was freed while levels of it were left
	KindTokenFell          = "token-fell"           // a later hold has a lower token
	KindTokenReused        = "token-reused"         // two holds have the same token
	KindTokenChanged       = "token-changed"        // a token changed inside one hold
	KindTokenUnknown       = "token-unknown"        // a write carried a token that no hold had been given
	KindEarlyGrant         = "early-grant"          // a grant to another before the lease was over
	KindLateWrite          = "late-write"           // a write was sent after the lease of its hold was over
	KindStaleWrite         = "stale-write"          // a write after another had become the holder
	KindWriteWithoutHold   = "write-without-hold"   // a write by somebody who never held the lock
	KindTokenAccepted      = "old-token-accepted"   // the resource accepted a token below the highest
	KindFalseRefusal       = "false-refusal"        // a try was refused although nobody else had the lock
	KindPhantomEffect      = "phantom-effect"       // what was answered with a refusal took effect
	KindClobbered          = "clobbered"            // who was not let in overwrote the record of who was
	KindStuck              = "stuck"                // nobody holds, somebody waits
	KindOrphan             = "orphan"               // a record without end names somebody who has no use for it
	KindRemains            = "remains"              // a record that nobody will remove is left behind
	KindDeadlock           = "deadlock"             // clients wait for each other
	KindStarvation         = "starvation"           // one waits while others enter again and again
	KindOvertaken          = "overtaken"            // one asked sooner and got in later
	KindPending            = "pending"              // a call that was under way at the heal does not return
	KindErrors             = "errors"               // a live client gets nothing but errors
	KindSessionRemains     = "session-remains"      // a record outlived the session that it belongs to
	KindHerd               = "herd"                 // a hand-over took too many requests
	KindSlowHandOver       = "slow-hand-over"       // a hand-over took too long
	KindUnfair             = "unfair"               // some clients get much more of the lock than others
)

// Cause says what led to a violation.
type Cause string

// The causes that a history can tell. A violation of which nothing is known has none.
const (
	CauseSkew      Cause = "skew"         // clocks disagree on when a lease ends
	CausePause     Cause = "pause"        // its holder stood still for longer than the lease
	CauseEarly     Cause = "early-expiry" // the server ended the hold before its time
	CauseAlgorithm Cause = "algorithm"    // no fault explains it: the lock itself does it
)

// String renders the verdict as one line.
func (v Verdict) String() string {
	result := string(v.Result)
	if v.Skipped {
		result = "skipped"
	}
	return fmt.Sprintf("%s: %s: %s", v.Property, result, v.Why)
}

// unknown, holds, and skipped make the verdicts that carry no violations.
func unknown(why string) Verdict { return Verdict{Result: Unknown, Why: why} }
func holds(why string) Verdict   { return Verdict{Result: Holds, Why: why} }
func skipped(why string) Verdict { return Verdict{Result: Unknown, Skipped: true, Why: why} }

// gaveUp makes the verdict of a judge that found no answer.
func gaveUp(why string) Verdict { return Verdict{Result: Unknown, GaveUp: true, Why: why} }

// seconds renders true time as "10.004 s", rounded to the millisecond.
func seconds(d time.Duration) string { return decimal(d, 3) + " s" }

// span renders two ends of an interval, "from 10.004 s to 12.310 s", with as many decimals as it takes to tell
// them apart.
func span(from, to time.Duration) string {
	for _, digits := range []int{3, 6} {
		if a, b := decimal(from, digits), decimal(to, digits); a != b || from == to {
			return fmt.Sprintf("from %s s to %s s", a, b)
		}
	}
	return fmt.Sprintf("from %s s to %s s", decimal(from, 9), decimal(to, 9))
}

// decimal renders d in seconds with the given number of decimals, rounding half away from zero.
func decimal(d time.Duration, digits int) string {
	sign := ""
	ns := uint64(d)
	if d < 0 {
		sign, ns = "-", -ns
	}
	unit := uint64(1)
	for range 9 - digits {
		unit *= 10
	}
	ticks := (ns + unit/2) / unit
	perSecond := uint64(time.Second) / unit
	fraction := strconv.FormatUint(ticks%perSecond, 10)
	return sign + strconv.FormatUint(ticks/perSecond, 10) + "." + strings.Repeat("0", digits-len(fraction)) + fraction
}

// join renders a list of names: "c1", "c1 and c2", "c1, c2 and c3".
func join(names []string) string {
	switch len(names) {
	case 0:
		return "nobody"
	case 1:
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// plural renders a count with its noun: "1 hold", "2 holds".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
