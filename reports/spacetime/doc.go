// Package spacetime draws a run: a lane for each machine, time downwards, messages as arrows between the lanes, what
// the server's record said beside what the clients believed.
//
// A [Page] is the neutral description of what is to be seen. Whoever has a run fills it, see package reports; this
// package knows nothing of histories, verdicts or locks. It has three forms:
//
//   - [Page.WriteHTML] writes one file that needs nothing else, neither a network nor a server. It scrolls, zooms,
//     filters, and is operated by keyboard; it shows what led to an event, and folds times at which nothing happens;
//   - [Page.Mermaid] gives a sequence diagram in Mermaid's notation, of the few events that matter;
//   - [Page.Text] gives the same few events as aligned text.
//
// [ReadTrace] reads what the engine has traced, [Words] says what a message of the trace says, and [Shorten] makes a
// label of it.
//
// # The file
//
// Everything is in the one file: style, script, and the run as JSON in columns with a table of strings, so that a run
// of 100,000 events stays below 30 MB and is drawn as it is scrolled into view. A content security policy in the file
// forbids everything but its own script and style, each by its digest. Text of the run reaches the page as text only.
//
// Equal pages give equal bytes.
package spacetime
