package zklock

import "github.com/lockstep-sim/lockstep/impl"

// The safeguards that can be switched off. The numbers in their descriptions are those of FAULTS.md.
const (
	errorEnters        = "error-enters"
	waitIgnored        = "wait-ignored"
	noRecheck          = "no-recheck"
	absentEnters       = "absent-predecessor-enters"
	ownNodeUnverified  = "own-node-unverified"
	noDeadline         = "no-deadline"
	noLossReport       = "no-loss-report"
	ownerBlind         = "owner-blind"
	stringOrder        = "string-order"
	eventBeforeWait    = "event-before-wait-lost"
	createUntracked    = "create-untracked"
	triedNodeStays     = "tried-node-stays"
	foreignCounted     = "foreign-nodes-counted"
	releaseOnce        = "release-once"
	tokenReused        = "token-reused"
	deadlineFromAnswer = "deadline-from-answer"
)

var repairedAblations = []impl.Ablation{
	{Name: errorEnters, About: "an error or the end of the context ends Lock as if the lock had been won; two " +
		"holders (Z1, Z13, Z15)"},
	{Name: waitIgnored, About: "a timed try succeeds when its time is over; two holders (Z2)"},
	{Name: noRecheck, About: "whatever ends the wait is taken for the release: the predecessor may have died in the " +
		"queue, or a connection come back; two holders (Z3, Z4)"},
	{Name: absentEnters, About: "a predecessor that is gone when it is to be watched is taken for the last one; two " +
		"holders (Z5)"},
	{Name: ownNodeUnverified, About: "after an unlock with an unknown result the node is taken to be still there: its " +
		"path stands at the head of the queue without a node; two holders (Z7)"},
	{Name: noDeadline, About: "a hold ends only when the client says so: cut off from the servers the owner works on " +
		"after its session has ended; two holders (Z8)"},
	{Name: noLossReport, About: "nobody is told that a hold has ended: the channel stays open and unlock " +
		"returns nil (Z8)"},
	{Name: ownerBlind, About: "all owners of one object share its hold: they enter and free each other's, and wait " +
		"for each other's calls; two holders (Z9, Z10, Z21)"},
	{Name: stringOrder, About: "nodes are put in order as strings: another prefix, or a number past the end of the " +
		"counter, sorts in front of the holder; two holders (Z11, Z12)"},
	{Name: eventBeforeWait, About: "an event between the setting of a watch and the wait for it is lost: the owner " +
		"sleeps for good, and the queue behind it (Z16)"},
	{Name: createUntracked, About: "a node whose creation was executed and not answered is not looked for: its own " +
		"maker waits behind it (Z17, Z23)"},
	{Name: triedNodeStays, About: "a refused try leaves its node in the queue: it becomes the first, and nobody " +
		"stands behind it (Z18)"},
	{Name: foreignCounted, About: "a node that no session owns counts as a contender: nobody ever gets in (Z19)"},
	{Name: releaseOnce, About: "an unlock whose delete was not answered is left at that and called a success: the " +
		"others wait for the end of the session (Z20)"},
	{Name: tokenReused, About: "a new hold gets the token of the one before: the resource cannot tell a late write of " +
		"a holder that was paused past its session"},
	{Name: deadlineFromAnswer, About: "a hold is believed for a whole lease from when an answer came, however late it " +
		"came: the session may have ended by then; two holders (Z8)"},
}
