// Package measure takes from a history what a lock cost and whom it served: how long acquires waited, how long
// hand-overs took, who was overtaken, how many waited at a time, what the server was asked, how far clocks were off.
//
// A [Collector] takes events one by one, so that a history of a million operations need not be in memory at once; it
// keeps a few words for each call and bounded summaries of everything else. What it calls a hold is exactly what
// package checker calls a claim. A [Run] is what has been collected, a [Summary] its figures, which are small and can
// be added up over runs.
//
// Nothing here judges: whether a promise was kept is for package checker to say.
package measure
