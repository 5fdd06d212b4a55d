// Package server shows a folder of runs to a browser on the same machine: the index, made anew from what the folder
// holds at that moment, and the files of the runs.
//
// It only reads, and only below its folder: a link that leads out of it is not followed, hidden files are unfinished
// and do not exist, and a request that names another host is refused, so that no page from elsewhere can read along.
// Each answer has a content security policy that lets a page run its own script and nothing else: neither can it ask
// for anything, nor send anything away.
package server
