// Package foreign reads histories that other tools have recorded, and writes histories for them.
//
// Read understands, and finds out by itself which it is:
//
//	lockstep     the format of package checker
//	edn          operations of Jepsen and Knossos in EDN: one list or one map after the other, plain or as
//	             #knossos.op.Op{...} and #jepsen.history.Op{...}; also the key-value logs that Porcupine is tested with
//	json         the same in JSON, as an array or one object after the other
//	atlasdb      the JSON of AtlasDB's lock test, whose answers are told by their values
//	jepsen-log   lines of Jepsen's log and of history.txt; also the etcd logs that Porcupine is tested with
//
// A file is read strictly. What is not understood, cut off, out of order or twice there is an error of one line, which
// names the line of the file. Nothing is guessed: what a file does not say and had to be decided is told in
// Recording.Assumed. No record may be so large that it fills the memory.
//
// # What becomes of operations
//
// Calls and returns are matched by process. acquire and lock become checker.Acquire, release and unlock
// checker.Release, try-acquire, tryLock and the like checker.TryAcquire; other names stay. In Jepsen's words
// fail is certain and info is not: a failed acquire took no effect and says nothing else, an info stays open. Events of
// the nemesis become faults. A key that is not given is DefaultLock. The value of a lock operation may name a client
// and a fence, which become owner and token, and may be a pair of key and value.
//
// Where all records have a time they are put in its order; records of one time, and those without, stay in the order of
// the file. Indices are kept as long as they give the same order.
//
// # Registers and key-value stores
//
// Linearizable judges histories of registers and key-value stores, by which other checkers of linearizability are
// known. Histories of locks are for checker.Check.
package foreign
