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
	noCleanup             = "no-cleanup-after-unknown"
	tokenReused           = "token-reused"
	expiryByClientClock   = "expiry-by-client-clock"
	recordWithoutTTL      = "record-without-ttl"
	renewalNeverStopped   = "renewal-never-stopped"
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
	{Name: noCleanup, About: "after a lost answer nothing is sent: the leftover blocks everybody for a lease (R16)"},
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
}
