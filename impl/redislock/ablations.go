package redislock

import "github.com/lockstep-sim/lockstep/impl"

// The safeguards that can be switched off. The numbers in their descriptions are those of FAULTS.md.
const (
	loserWrites           = "loser-writes"
	noValidityCheck       = "no-validity-check"
	ownerByNameOnly       = "owner-by-name-only"
	releaseWithoutCompare = "release-without-compare"
	reentryWithoutCompare = "reentry-without-compare"
	relativeCount         = "relative-count"
	reentryAfterLoss      = "reentry-after-loss"
	noLossReport          = "no-loss-report"
	noCleanupAfterUnknown = "no-cleanup-after-unknown"
	noCleanup             = "no-cleanup"
	tokenReused           = "token-reused"
	expiryByClientClock   = "expiry-by-client-clock"
	recordWithoutTTL      = "record-without-ttl"
	renewalNeverStopped   = "renewal-never-stopped"
	deadlineUntold        = "deadline-untold"

	subscribeLate             = "subscribe-late"
	noFallbackTimer           = "no-fallback-timer"
	messageIsGrant            = "message-is-grant"
	publishBeforeDelete       = "publish-before-delete"
	brokenSubscriptionIgnored = "broken-subscription-ignored"

	halfIsEnough           = "half-is-enough"
	wallClockValidity      = "wall-clock-validity"
	noDriftAllowance       = "no-drift-allowance"
	cleanupOfGrantedOnly   = "cleanup-of-granted-only"
	answersCounted         = "answers-counted"
	idReused               = "id-reused"
	extensionWithoutQuorum = "extension-without-quorum"
)

var repairedAblations = []impl.Ablation{
	{Name: loserWrites, About: "a dead record is looked at first and taken by a later write that is judged " +
		"afterwards: who comes second has overwritten the winner and finds its own name at its next try; " +
		"two holders (R1, R3)"},
	{Name: noValidityCheck, About: "a success is believed for a whole lease from when its answer came, however " +
		"late: the record may be dead and taken by then; two holders (R4, R11)"},
	{Name: ownerByNameOnly, About: "a record that names the same machine, process and thread is taken for the own " +
		"hold: namesakes enter each other's holds, and a leftover of a lost answer is entered (R10, R16)"},
	{Name: releaseWithoutCompare, About: "unlock deletes whatever record is there: one that was sent in time and " +
		"arrives late frees the next holder's lock; two holders (R5)"},
	{Name: reentryWithoutCompare, About: "re-entry and the lowering of the count write over whatever record is " +
		"there: arriving late they take the lock from the next holder; two holders, unlocks are refused (R6, R7)"},
	{Name: relativeCount, About: "the server counts levels up and down instead of being told the level: an unlock " +
		"repeated after a lost answer counts twice and frees the lock inside the outer section (R9)"},
	{Name: reentryAfterLoss, About: "a lock call after the own deadline starts a new hold at level one: its first " +
		"unlock leaves the outer sections unprotected, and their unlocks are refused (R8)"},
	{Name: noLossReport, About: "nobody is told that a hold has ended: the channel stays open and unlock returns " +
		"nil (R25)"},
	{Name: noCleanupAfterUnknown, About: "after a lost answer nothing is sent: the leftover blocks everybody for a " +
		"lease (R16)"},
	{Name: tokenReused, About: "a new hold gets the token of the one before: the resource cannot tell a late " +
		"write (R13)"},
	{Name: expiryByClientClock, About: "deadlines are written and judged by the clock of whoever asks: a machine " +
		"whose clock is ahead takes a live record; two holders (R12, R17)"},
	{Name: recordWithoutTTL, About: "keys have no TTL: the record of a dead holder stays until somebody contends (R20)"},
}

var setNXAblations = []impl.Ablation{
	{Name: releaseWithoutCompare, About: "unlock deletes the key whoever set it: sent in time and arriving late it " +
		"frees the next holder's lock; two holders (as R5)"},
	{Name: noValidityCheck, About: "a success is believed for a whole lease from when its answer came, however " +
		"late: the key may be gone and taken by then; two holders (as R4)"},
	{Name: tokenReused, About: "a new hold gets the token of the one before: the resource cannot tell a late " +
		"write (R13)"},
	{Name: renewalNeverStopped, About: "with renew=on: unlock does not stop the renewal, which sets the key again " +
		"when it finds it gone: the lock comes back with no holder, for ever"},
	{Name: deadlineUntold, About: "with renew=on: the owner is told of no deadline and works on until it hears of a " +
		"loss: what keeps the timer of the renewal from firing keeps that news back as well; two holders"},
}

var pubSubAblations = []impl.Ablation{
	{Name: subscribeLate, About: "a waiter that has subscribed does not ask once more: an unlock between its refusal " +
		"and its subscription is heard by nobody, and it sleeps on beside a free lock (S1)"},
	{Name: noFallbackTimer, About: "a waiter sleeps until it hears a message: the end of a lease publishes nothing, and " +
		"a lost message is not sent again, so it sleeps for ever (S2)"},
	{Name: messageIsGrant, About: "a waiter that hears a message takes it for a grant and writes its own value over " +
		"whatever is there: a message wakes all, and may be left over from before; two holders (S3)"},
	{Name: publishBeforeDelete, About: "unlock publishes before it deletes: who is woken finds the key and sleeps on " +
		"beside a free lock (S4)"},
	{Name: brokenSubscriptionIgnored, About: "a waiter does not notice that its subscription has ended: it misses what " +
		"is published from then on (S5)"},
}

var redlockAblations = []impl.Ablation{
	{Name: halfIsEnough, About: "half of the servers, rounded down, is enough to win: two attempts may both have that " +
		"many; two holders (M1)"},
	{Name: answersCounted, About: "each answer is a vote: a server that is asked once more has two; two holders (M1)"},
	{Name: noValidityCheck, About: "a success is believed for a whole lease from when its last answer came: the time " +
		"spent asking is not subtracted, and the first keys may be gone by then; two holders (M3)"},
	{Name: wallClockValidity, About: "validity is counted on the wall clock: a step back while the servers are asked " +
		"prolongs the hold; two holders (M4)"},
	{Name: noDriftAllowance, About: "nothing is kept back for the clocks: a holder whose clock is slow goes on after " +
		"the servers have let the next one in; two holders (M5)"},
	{Name: noCleanup, About: "a failed attempt leaves its keys behind: attempts that split the servers block each " +
		"other, and everybody, for a lease (M6)"},
	{Name: cleanupOfGrantedOnly, About: "a failed attempt gives back only what it knows that it has: where the answer " +
		"was lost or late the key stays for a lease (M7)"},
	{Name: idReused, About: "all attempts of one call use one value: the late release of a failed one deletes the keys " +
		"of the one that won; two holders (M8)"},
	{Name: releaseWithoutCompare, About: "unlock deletes the keys whoever set them: sent in time and arriving late it " +
		"frees the next holder's lock; two holders (M9)"},
	{Name: extensionWithoutQuorum, About: "with renew=on: one server that extends is enough: the others let the next " +
		"one in; two holders (M10)"},
}
