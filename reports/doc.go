// Package reports makes runs readable: it tells a violation in words, draws who believed to hold a lock when and how
// long acquires waited, and keeps all that belongs to a run in one folder.
//
// [Tell] makes a [Story] of a violation: what was broken, by which known mechanism, the few steps that led to it, and
// what it came to. Its text is for somebody who knows locks and leases but has never seen this program:
//
//	story := reports.Tell(&history, verdict.Property, verdict.Violations[0], finding)
//	fmt.Print(story)
//
// [HolderPlot], [DrawPlot], [DrawSweep] and [HerdPlot] make a [Figure], which is written as SVG or PNG, and as CSV
// with the data that it shows; [WriteFigure] writes all three. DrawPlot draws what package measure took from
// histories, which may be longer than memory holds; DrawSweep compares locks over a quantity that was varied.
// [NewPage] makes the space-time page of a run, see package spacetime: machines side by side, messages between them,
// who believed to hold and whom the record named. [WriteFolder] writes everything of a [Run] at once: the folder is
// there as a whole or not at all.
//
// Equal histories give equal bytes, in the text, the SVG and the CSV. The package judges nothing: verdicts come from
// package checker, and what the plots show as claims is what the verdict on mutual exclusion rests on.
//
// # The folder of a run
//
// What is in it, each column of its tables and each key of its JSON, is told in docs/output.md, which a test compares
// with what is written. A plot that cannot be drawn, because nobody asked for a lock, is replaced by a text with the
// reason.
//
// Tables are made so that those of many runs can be put one below the other, and that no spreadsheet runs what somebody
// has put into the name of a lock: [WriteTable].
package reports
