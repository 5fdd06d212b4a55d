// Package checker judges histories of distributed locks.
//
// A History is what was observed of one run, in order: calls and returns of clients, facts seen at the servers,
// faults. It may come from the simulator or from anywhere else; this package knows neither locks nor worlds. A history
// is kept as JSONL, one Event a line after a Header, with the keys that Jepsen uses (WriteHistory, ReadHistory;
// Encoder and Decoder for one event at a time).
//
// Check puts a list of properties to a history and gives one Verdict for each:
//
//	verdicts := checker.Check(&history, checker.Options{
//		Promises:      checker.Promises{Reentrant: true},
//		LivenessBound: 15 * time.Second,
//	})
//	for _, v := range verdicts {
//		fmt.Println(v)
//	}
//
// A verdict is Holds, Violated or Unknown. Unknown is never a pass: it is the answer wherever the history does not put
// the property to the test (one client alone cannot break mutual exclusion), lacks what it takes to judge, or is too
// hard to decide. A property that the lock does not promise is marked as Skipped and not judged. A Violation names the
// events that show it and says in one sentence what went wrong.
//
// # Claims
//
// Most properties rest on claims: the times during which a client may rightly believe that it holds the lock. A claim
// lasts from the return of the outermost successful acquire to the first of: the call of the outermost release, the
// deadline that the lock stated (Event.Deadline, moved by nested acquires and by Renew), the report of its loss, a
// crash.
// Mutual exclusion asks whether claims overlap in true time. Linearizability asks something else, whether the answers
// fit one lock object; a lease lock that hands the lock on in time can pass the one and fail the other.
//
// # Order
//
// A lock that promises it (Promises.Fair) must let its clients in in the order in which they asked. To ask is not to
// call: requests of two callers may cross on their way. What counts is the doorway, the Request by which an acquire
// made its node in the queue of the lock. Of an acquire that made several, the last counts where it was overtaken and
// the first where it overtook, so that nobody is accused because of what is not known. Whoever lost its place, with its
// session or by a deletion, is not overtaken from then on. Without doorways on record only Options.OrderBound, counted
// from the calls, can show something.
//
// # What a recorder must do
//
//   - Give each incarnation of a client a process of its own, and let a process make one call at a time.
//   - Number the events in the order in which they happened. Index decides order, Time measures.
//   - Record a call whose outcome nobody knows as Info, or not at all: it stays open.
//   - State in Event.Count of the call of a nested release how many levels will be left. Without a count a release of
//     unknown outcome is taken to have given its level back, although the client may be about to repeat it.
//   - State the Wait of a try that waits: its refusal says nothing about the lock at one instant.
//   - Record facts of the server where there are any. They tell when a record had lapsed, without which a lock
//     that takes over dead records cannot be told from one that breaks in. Event.Node is the client whose request
//     caused the fact, Event.Owner the identity that it gave.
//   - Record as Served, where it can be told, what the server decided about a call, right after the fact that the
//     request caused. Of several decisions about one call the last counts: a try may have had its record undone.
//   - Record as the record of a lock on several servers what a majority of them agrees on. What one of them has may be
//     recorded as a fact about LOCK@SERVER: no property judges it.
//   - Record as a Request what is done to the queue of a fair lock, the ends of sessions included.
//   - Name in the Header which Lock protects the Resource if the two have different names and there are several locks.
//
// # Linearizability
//
// Whether the answers of a lock fit one lock object that handled the calls one at a time is decided by the first of
// these that can: the order in which the server executed the requests (Served) is replayed; the holds are put in their
// one possible order, so that only what lies between two of them is in question (gap.md has the proof); all orders that
// fit are followed; Porcupine searches a piece between two points at which the lock was surely held. Verdict.By names
// what decided. Options.Model chooses the lock object, see package model; without one it is the lock that the promises
// make, whose holds also end where the history says that they did. A release that repeats one of unknown outcome and is
// told that all is well may find the lock held or not.
//
// # Formats
//
// A file is JSONL: a header with the version of the format, then one event a line. It is read strictly, line by line:
// an error names the line and what is wrong with it. Nothing is guessed, and no line may be so long that it fills the
// memory. Package foreign reads the formats of other tools.
//
// # Limits
//
// All properties take O(n log n) time but for linearizability where a search is needed: it is exact, and takes about as
// long as long as few operations have an unknown outcome. Where more orders are possible than Options.Configurations,
// and Porcupine takes more than Options.PorcupineSteps, it says Unknown. All limits count steps and not time, so that a
// verdict is a function of the history.
//
// A refusal that the server's record explains is not put to the lock object, which knows no records. The server may
// end a hold at any time after its own client took it as over, so an early grant after that is not noticed here.
package checker
