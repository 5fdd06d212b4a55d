package reports

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
)

// labels say in a few words what each kind of violation is.
var labels = map[string]string{
	checker.KindOverlap:            "Two holders at once",
	checker.KindGrantOverlap:       "The server had granted it already",
	checker.KindUngranted:          "Let in without a grant",
	checker.KindIllegalAcquire:     "Given while it was held",
	checker.KindIllegalRefusal:     "Refused while it was free",
	checker.KindIllegalRelease:     "Released by a client that did not hold it",
	checker.KindIllegalDenial:      "Its owner was told that it is not",
	checker.KindForeignRelease:     "A release took away another's hold",
	checker.KindReleaseWithoutHold: "A release of nothing succeeded",
	checker.KindHolderRefused:      "A holder could not release",
	checker.KindLossUntold:         "A holder was not told of its loss",
	checker.KindWrongCount:         "Client and record count different levels",
	checker.KindFreedInside:        "The release of an inner level freed all",
	checker.KindEarlyGrant:         "Passed on before the lease was over",
	checker.KindLateWrite:          "A write after the lease was over",
	checker.KindStaleWrite:         "A write by a former holder",
	checker.KindWriteWithoutHold:   "A write without the lock",
	checker.KindTokenAccepted:      "A write was accepted whose token is no higher",
	checker.KindTokenFell:          "A token fell",
	checker.KindTokenReused:        "A token was given twice",
	checker.KindTokenChanged:       "A token changed inside one hold",
	checker.KindTokenUnknown:       "A write with a token that nobody was given",
	checker.KindFalseRefusal:       "Refused although nobody else had it",
	checker.KindPhantomEffect:      "Refused, and yet it took effect",
	checker.KindClobbered:          "A live record was overwritten",
	checker.KindOvertaken:          "Who asked first got in later",
	checker.KindStuck:              "The lock is stuck",
	checker.KindOrphan:             "A record without an owner stays",
	checker.KindRemains:            "A dead record stays behind",
	checker.KindDeadlock:           "Clients wait for each other",
	checker.KindPending:            "A call does not return",
	checker.KindStarvation:         "A client waits while others enter",
	checker.KindErrors:             "A client gets nothing but errors",
	checker.KindSessionRemains:     "A record outlived its session",
	checker.KindHerd:               "A hand-over cost too many requests",
	checker.KindSlowHandOver:       "A hand-over took too long",
	checker.KindUnfair:             "Shared unevenly",
}

// headline says what was violated.
func headline(v checker.Violation) string {
	label, known := labels[v.Kind]
	if !known {
		label = "Violated"
	}
	return label + ": " + strings.TrimSuffix(v.Text, ".") + "."
}

// conclusion says what it came to: the mechanism at work in this run, and who was harmed how.
func (t *teller) conclusion() string {
	var sentences []string
	if t.finding != nil && t.finding.Text != "" && t.finding.Text != t.violation.Text {
		sentences = append(sentences, sentence(t.finding.Text))
	}
	switch t.violation.Kind {
	case checker.KindOverlap:
		sentences = append(sentences, t.overlapConclusion()...)
	case checker.KindStuck:
		sentences = append(sentences, t.stuckConclusion())
	case checker.KindStaleWrite, checker.KindWriteWithoutHold:
		sentences = append(sentences, t.writeConclusion())
	case checker.KindTokenAccepted:
		sentences = append(sentences, t.tokenConclusion())
	default:
		sentences = append(sentences, outcomes[t.violation.Kind])
	}
	return strings.TrimSpace(strings.Join(sentences, " "))
}

// outcomes say what the kinds of violations come to whose conclusion needs no figures.
var outcomes = map[string]string{
	checker.KindGrantOverlap:       "No lease was over and nobody had released: the server itself broke the lock.",
	checker.KindUngranted:          "The client took something else for a grant, and nothing keeps others out.",
	checker.KindIllegalAcquire:     "No order of the calls, one at a time, explains this answer.",
	checker.KindIllegalRefusal:     "No order of the calls, one at a time, explains this answer.",
	checker.KindIllegalRelease:     "No order of the calls, one at a time, explains this answer.",
	checker.KindIllegalDenial:      "No order of the calls, one at a time, explains this answer.",
	checker.KindForeignRelease:     "The next client can enter while the one that was robbed still works.",
	checker.KindReleaseWithoutHold: "The caller cannot tell that it had lost the lock.",
	checker.KindHolderRefused:      "It learns only now that the lock was no longer its own.",
	checker.KindLossUntold:         "It takes what it did under the lock for protected, which it was not.",
	checker.KindRemains:            "Such records pile up: nobody removes one before somebody asks for its lock again.",
	checker.KindWrongCount:         "The lock will be given back too early or not at all.",
	checker.KindFreedInside:        "The outer section goes on without the lock.",
	checker.KindEarlyGrant:         "Its holder was promised more time, and may still be at work.",
	checker.KindLateWrite:          "By then another may have had the lock: nothing but luck protected the resource.",
	checker.KindTokenUnknown:       "The resource cannot tell whose write it was.",
	checker.KindFalseRefusal:       "It went away although it could have had the lock.",
	checker.KindPhantomEffect:      "The caller believes that nothing came of its call, so nobody will undo it.",
	checker.KindClobbered:          "The holder's own record is gone: it can neither renew nor release its hold.",
	checker.KindTokenFell:          "The resource would refuse the rightful holder and accept a former one.",
	checker.KindTokenReused:        "The resource cannot tell the two holds apart.",
	checker.KindTokenChanged:       "The resource may refuse what the holder sends with its first token.",
	checker.KindOrphan:             "Nobody gets in any more until somebody removes it by hand.",
	checker.KindDeadlock:           "None of them will ever go on unless it gives up what it holds.",
	checker.KindPending:            "The faults were over and the caller still waits for its answer.",
	checker.KindSessionRemains:     "The server keeps the lock for somebody who is not there any more.",
	checker.KindHerd:               "With more clients that wait it would cost even more.",
	checker.KindSlowHandOver:       "In that time the lock was nobody's although somebody waited for it.",
	checker.KindUnfair:             "Some clients may hardly ever get in.",
	checker.KindOvertaken:          "The lock promises to serve its callers in the order in which they ask, and did not.",
	checker.KindStarvation:         "The others were always quicker: nothing in the lock lets the one that waits in.",
	checker.KindErrors:             "The faults were over and the lock did not find its way back.",
}

// overlapConclusion says how long two believed to hold, whom the record named, and what they wrote meanwhile.
func (t *teller) overlapConclusion() []string {
	v := t.violation
	both := t.c.names(v.Processes)
	sentences := []string{
		fmt.Sprintf("For %s %s both worked under one lock%s.", length(v.To-v.From), both, t.recordDuring()),
	}
	var writes []string
	for i := range t.c.events {
		e := &t.c.events[i]
		if e.F == checker.Applied && v.From <= e.Time && e.Time < v.To && t.involves(t.c.process(i)) {
			refused := map[bool]string{true: " (refused)", false: ""}[e.Token != 0 && !e.Accepted]
			writes = append(writes, fmt.Sprintf("%s at %s%s", t.c.name(t.c.process(i)), seconds(e.Time), refused))
		}
	}
	if len(writes) > 4 {
		writes = append(writes[:3:3], fmt.Sprintf("%d more", len(writes)-3))
	}
	if len(writes) > 0 {
		sentences = append(sentences, "Meanwhile the resource was written to by "+join(writes)+".")
	}
	return sentences
}

// writeConclusion says what a resource makes of a write that should not have come.
func (t *teller) writeConclusion() string {
	for _, i := range t.named {
		if e := &t.c.events[i]; e.F == checker.Applied && !e.Accepted {
			return "The check on tokens refused this write; a resource that checks nothing would have taken it."
		}
	}
	return "A resource that checks nothing takes such a write; a token that rises from hold to hold would let it refuse."
}

// tokenConclusion says why the check on tokens let a write pass.
func (t *teller) tokenConclusion() string {
	seen := map[int64]bool{}
	for _, i := range t.named {
		if e := &t.c.events[i]; e.F == checker.Applied {
			if seen[e.Token] {
				return "Both writes had the same token, so the check on tokens could not tell an old hold from a new one."
			}
			seen[e.Token] = true
		}
	}
	return "The check on tokens at the resource did not do its work."
}

// recordDuring says whom the lock's record named while the violation lasted.
func (t *teller) recordDuring() string {
	first := t.c.lastFactBy(t.violation.From)
	if first == none {
		return ""
	}
	var named []string
	add := func(i int) {
		name := "nobody"
		if e := &t.c.events[i]; e.Record != nil {
			name = t.c.ownerName(e.Record, i)
		}
		if len(named) == 0 || named[len(named)-1] != name {
			named = append(named, name)
		}
	}
	add(first)
	for _, i := range t.c.facts {
		if i > first && t.c.events[i].Time < t.violation.To {
			add(i)
		}
	}
	if len(named) > 4 {
		named = append(named[:3:3], "others")
	}
	return ", while its record named " + strings.Join(named, ", then ")
}

// stuckConclusion says whom the record named and how the wait ended.
func (t *teller) stuckConclusion() string {
	v := t.violation
	text := fmt.Sprintf("Nobody held %s for %s although the faults were over", v.Key, length(v.To-v.From))
	for _, claim := range t.c.claims {
		if claim.Start >= v.To {
			return text + fmt.Sprintf("; then %s got it.", t.c.name(claim.Process))
		}
	}
	return text + ", and nobody got it before the run ended."
}

// sentence gives a clause its full stop, a capital where it does not begin with a name, and durations in the style of
// the story.
func sentence(text string) string {
	words := strings.Fields(strings.TrimSuffix(text, ".") + ".")
	for i, word := range words {
		bare := strings.TrimRight(word, ".,;:)")
		if d, err := time.ParseDuration(bare); err == nil && strings.HasSuffix(bare, "s") {
			words[i] = length(d) + word[len(bare):]
		}
	}
	text = strings.Join(words, " ")
	if word, _, _ := strings.Cut(text, " "); word == "the" || word == "an" || word == "a" {
		return strings.ToUpper(text[:1]) + text[1:]
	}
	return text
}
