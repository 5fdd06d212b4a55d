// Package reports makes runs readable: it tells a violation in words, draws who believed to hold a lock when and how
// long acquires waited, and keeps all that belongs to a run in one folder.
//
// [Tell] makes a [Story] of a violation: what was broken, by which known mechanism, the few steps that led to it, and
// what it came to. Its text is for somebody who knows locks and leases but has never seen this program:
//
//	story := reports.Tell(&history, verdict.Property, verdict.Violations[0], finding)
//	fmt.Print(story)
//
// [HolderPlot], [WaitPlot] and [HerdPlot] make a [Figure], which is written as SVG or PNG, and as CSV with the data
// that it shows; [WriteFigure] writes all three.
// [WriteFolder] writes everything of a [Run] at once: the folder is there as a whole or not at all.
//
// Equal histories give equal bytes, in the text, the SVG and the CSV. The package judges nothing: verdicts come from
// package checker, and what the plots show as claims is what the verdict on mutual exclusion rests on.
//
// # The folder of a run
//
//	replay.txt         how to repeat the run; only if there is something to repeat
//	story.txt          the violation in words; only if there is one
//	verdict.json       what was found about each property, and the mechanisms that were recognised
//	history.jsonl      what was observed, one event a line, see package checker
//	trace.jsonl        what the engine did, one entry a line; only if it was traced
//	scenario.yaml      the scenario; only if it does not come with the program
//	plots/holders.svg  who believed to hold when, around the violation (also .png and .csv)
//	plots/wait.svg     how long those waited who got the lock (also .png and .csv)
//
// A plot that cannot be drawn, because nobody asked for a lock, is replaced by a text with the reason.
//
// # verdict.json
//
// Times are nanoseconds of true time since the start of the run.
//
//	schema          "lockstep-verdict/1"
//	scenario, implementation, seed, transport
//	                what the run was a run of
//	hash            of the run, 16 hexadecimal digits: equal for equal runs
//	result          violated, unknown or holds; of all that the lock promises, the worst
//	plan            the faults, one each
//	verdicts        for each property: property, result, skipped (not promised), why, and violations with kind, key,
//	                events, from, to, processes, nodes, text; found counts them all, longest and sum are durations
//	mechanisms      for each way of failing that was recognised: name, number, about, property, text, events, from, to
//
// # plots/holders.csv
//
// One row for each mark that the plot shows. Marks that reach beyond the plot have their full length here.
//
//	kind            claim, lease, lease-over, overlap, nobody, fault, crash
//	machine         the client whose lane it is on, empty for all
//	process         the number of the process in the history
//	start_s, end_s  true time in seconds; equal for what happened at one instant
//	detail          claim: how it ended; lease and lease-over: the levels that the record counts; overlap: who; nobody:
//	                the kind of violation; fault: its text
//
// # plots/wait.csv
//
// One row for each acquire. Those that got the lock come first, the shortest wait first.
//
//	scenario, implementation, seed
//	machine, process
//	asked_s         true time of the call in seconds
//	wait_s          how long until the return, or until the end where there was none
//	outcome         got, re-entry, refused, unknown (an error in place of an answer), open (no answer)
//	share           the part of those that got the lock which had waited no longer
package reports
