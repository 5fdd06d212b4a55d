// Package export writes runs for the viewers of others: Perfetto and Chrome's trace viewer, and ShiViz.
//
// Both take the space-time page of a run, see package spacetime, which has put the history and the engine's trace
// together. Equal runs give equal bytes. Text of any kind may stand in keys, owners and messages: it stays text.
//
// # Perfetto
//
// [WritePerfetto] writes the JSON of the Trace Event Format, one event a line, in order of time. A process (pid) is a
// machine; process 1 is the world, with what belongs to no machine. A thread (tid) is a process of a client, or one
// kind of what happens on a machine. Times are true time in microseconds, to the nanosecond.
//
//	cat        ph    what
//	call       X     a call of a client, on its thread, from the call to its return; args.outcome as in a history, or
//	                 open where there was none
//	client     i     a hold that was lost or extended, a crash
//	hold       b, e  a client believed to hold a lock
//	overlap    b, e  it did so while another did
//	lease      b, e  the record named somebody and its lease lasted, on the server
//	lease-over b, e  the record still stood though its lease was over
//	message    X     on the thread "network": a message left (send), came (receive) or was lost; these last no time and
//	                 are drawn a little wider, so that they can be seen
//	message    s, f  from where it left to where it came or was lost
//	record     i     the lock's record was set or went away, on the thread "record"
//	decision   i     what the server decided about a call, on the same thread
//	request    i     a request that the server executed, on the same
//	write      i     a write that the protected resource executed, on its thread "writes"
//	timer      i     a timer of the machine fired
//	machine    i     it paused, went on, crashed, restarted, or its clock was set
//	note       i     something that was written down
//	fault      i     a fault struck; on the world's thread "faults" where it is about no machine
//	fault      b, e  a fault that lasted, on each machine that it struck
//	phase      i     all faults end, the workload ends
//	violation  b, e  a violation, on the world, from its beginning to its end
//	count      C     "holders of LOCK" and "waiters for LOCK", on the world
//	clock      C     by how many nanoseconds the wall clock of a machine is ahead of true time
//
// Calls and messages nest on their threads; what need not nest, holds and leases and faults, is asynchronous and has an
// id of its own.
//
// # ShiViz
//
// [WriteShiViz] writes a log with vector clocks: the first line is the regular expression by which ShiViz reads the
// others, the second, which would part executions, is empty. Hosts are the machines, and "world" for what belongs to
// none. An event comes after the one before it on its host and after what led to it.
package export
