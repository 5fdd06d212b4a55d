// Package faults says what goes wrong in a run, as text and as values.
//
// A [Fault] is one thing that goes wrong once: a process dies, a clock jumps, a reply is lost. It has one line of
// text, which [Parse] reads and [Fault.String] writes, so a fault looks the same in a scenario, in a history, in a
// replay file and on the screen. A [Plan] is the faults of one run, one per line.
//
// A [Template] is a fault with open numbers. Every duration, rate and ordinal may be a range, and odds may stand in
// front. [Draw] settles templates into a plan, with randomness from a stream of its own for each template:
//
//	maybe 1/2 pause holder for 8s..15s on holder before DEL #1..3
//
// # The kinds
//
// Every kind with its syntax, what it does, and an example. Words in capitals are explained below, what stands in
// brackets may be left out, and where the brackets offer a choice the first is the default.
//
//	crash NODE [reset|silent] WHEN
//	    The process dies. Its peers see a reset, or nothing.
//	    > crash c1 silent at 12s
//
//	restart NODE [empty] [as same|as new] WHEN
//	    A crashed or running machine comes back: a server with its data or empty, a client as the owner that it was or
//	    as one that nobody has met yet.
//	    > restart redis empty at 20s
//	    > restart c1 as new at 15s
//
//	pause NODE for DURATION WHEN
//	    The machine stands still: nothing reaches it, none of its timers fires, nothing that it sends gets out.
//	    > pause holder for 12s on holder before DEL
//	    > pause c1 for 12s on c1 after SETNX
//
//	clock NODE step +-DURATION WHEN
//	    Its wall clock jumps.
//	    > clock redis step -5s at 3s
//
//	clock NODE offset +-DURATION [WHEN]
//	    Its wall clock is set to true time plus the offset, at the start unless WHEN says otherwise.
//	    > clock c2 offset +1.73s
//
//	clock NODE drift +-Nppm [WHEN]
//	    Both its clocks run too fast or too slow by so many parts per million.
//	    > clock c2 drift -200ppm
//
//	clock NODE jitter DURATION [WHEN]
//	    Each reading of its wall clock is off by up to so much.
//	    > clock timeserver jitter 5ms
//
//	clock NODE unit DURATION [WHEN]
//	    Its wall clock counts such units since 1970 where milliseconds are expected.
//	    > clock c2 unit 1s
//
//	lose request [of] CLIENT>SERVER [reset|silent] WHEN
//	    The connection is cut before the server executes the request.
//	    > lose request of c1>redis silent on c1 before DEL
//
//	lose reply [of] CLIENT>SERVER [reset|silent] WHEN
//	    The server executes the request, then the connection is cut and the reply lost.
//	    > lose reply of c1>redis on c1 before SETNX
//
//	delay [request] [of] CLIENT>SERVER by DURATION WHEN
//	    One request stays longer in the network.
//	    > delay request of c1>redis by 11s on c1 between GET and GETSET
//
//	delay reply [of] CLIENT>SERVER by DURATION WHEN
//	    One reply stays longer in the network.
//	    > delay reply of c2>timeserver by 3s on c2 before TIME #2
//
//	slow NODE>NODE|NODE-NODE by DURATION for DURATION WHEN
//	    Every message of one direction, or of both, takes longer for a while.
//	    > slow c1-redis by 400ms for 10s at 5s
//
//	cut NODE>NODE|NODE-NODE for DURATION [reset|silent] WHEN
//	    One direction, or both, carries nothing for a while.
//	    > cut c1-redis for 6s silent on c1 after SETNX
//
//	down NODE for DURATION WHEN
//	    The machine is away for a while and comes back with its data.
//	    > down timeserver for 4s at 8s
//
//	expire session [of] NODE WHEN
//	    The server ends the session of a client before its time, and the connection with it.
//	    > expire session of holder at 2s
//
//	preset counter [of] PATH on NODE to N [WHEN]
//	    The counter behind the names of sequential nodes shows another number, at the start unless WHEN says otherwise.
//	    > preset counter of /lock on zookeeper to 2147483646
//
//	add PATH [as list] on NODE [WHEN]
//	    A third party adds a key or node, at the start unless WHEN says otherwise. A key holds a text that is no lock's,
//	    or a list.
//	    > add /lock/content on zookeeper
//	    > add job as list on redis
//
//	remove PATH on NODE WHEN
//	    A third party removes a key or node; the star as last part of a path means the node that was created first.
//	    > remove /lock/* on zookeeper at 3s
//
//	delay event [of] CLIENT>SERVER by DURATION WHEN
//	    The next message that the server sends unasked (the event of a watch, a message of a channel) stays longer in the
//	    network, and all that follows it on its connection.
//	    > delay event of c2>zookeeper by 2s on c2 after EXISTS
//
//	lose event [of] CLIENT>SERVER WHEN
//	    The next message that the server would send unasked is not sent. The connection lives on.
//	    > lose event of c2>redis on c2 after SUBSCRIBE
//
//	repeat event [of] CLIENT>SERVER after DURATION WHEN
//	    The next message that the server sends unasked is sent once more so much later: a left-over of what is past.
//	    > repeat event of next>redis after 300ms at 1s
//
//	starve timers [of] NODE for DURATION WHEN
//	    The timers of its lock do not fire, those of its program do: no renewal, no end of a wait, no watch over a
//	    deadline. What was due fires when the time is over.
//	    > starve timers of holder for 3s on holder after EVALSHA
//
//	reorder timers [of] NODE for DURATION WHEN
//	    The same, and then the timer that was due last fires first.
//	    > reorder timers of c1 for 500ms at 2s
//
//	cancel call [of] NODE [as timeout] WHEN
//	    The call to its lock in which its program is has its context cancelled, or ended as if its time were over. Two
//	    such faults can end an acquisition and the unlock that cleans up after it.
//	    > cancel call of c2 on c2 after SETNX
//	    > cancel call of next as timeout at 800ms
//
//	fail script [of] CLIENT>SERVER at write #N WHEN
//	    A script of the client fails at its N-th write, the earlier ones stay: the first script that gets so far on the
//	    connection of the request that WHEN is about.
//	    > fail script of c1>redis at write #2 on c1 before EVALSHA #3
//
//	roll back NODE by DURATION WHEN
//	    A Redis machine fails and starts again as it was so long before: its last writes are lost, as from a log that is
//	    flushed now and then.
//	    > roll back redis by 1s at 3s
//
// # NODE
//
// The name of a machine: a letter, then letters, digits, dots and underscores. The names "holder", "waiter" and "next"
// are reserved: they mean whoever plays that role at the moment, see [NodeRef]. A client holds a lock only once the
// reply that says so has reached it: "on holder after SETNX" is not about the SETNX that makes it the holder. The
// waiter is who has waited longest, and so is the next in line where the server keeps no queue.
//
// # WHEN
//
//	at DURATION                             true time since the start of the run
//	at start                                the same as at 0s
//	on NODE before COMMAND [#N]             when its N-th such request leaves it: the fault strikes first
//	on NODE after COMMAND [#N]              when its N-th such request was executed and the reply has not left
//	on NODE between COMMAND and COMMAND [#N]   when it sends the second, right after the first to the same server
//	at deadline of NODE [+-DURATION] [#N]   when its N-th lease ends at the server, or so long after or before
//	WHEN or WHEN                            whichever occurs first
//
// COMMAND is a server command, or * for any; #N is #1 unless it is given. A moment given by its meaning stays where
// it belongs while a failing run is shrunk; a moment given by time does not. The end of a lease is the first instant of
// the last millisecond, or the tick, in which the server still counts it; a lease that is given up or extended before
// the moment does not count.
//
// A fault that picks one message strikes the message that its WHEN is about, so NODE must be the link's client there.
// With a time or deadline, that message is the first request which the client sends over the link from then on, or its
// reply.
//
// # Swarms
//
// A [Swarm] makes plans by itself: each seed switches a random subset of the kinds off and draws how often the others
// strike from a wide range.
//
// Words and commands may be written in any case. A DURATION is in Go's syntax (1.73s, 500ms, 1m30s), at most 24h. In
// the text of a plan, # begins a comment unless a digit follows.
package faults
