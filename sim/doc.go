// Package sim is a simulated world of machines: virtual time, a clock per machine, a network that loses and delays,
// machines that pause, crash and come back. Programs on the machines are ordinary Go code with their real client
// libraries. A run is a function of its seed: the same seed gives the same events, hash and trace, on any number of
// processors.
//
// # The engine
//
// Everything that crosses from one machine to another, every timer of a machine and every fault is an event in one
// queue. [World.RunUntil] repeats four steps:
//
//  1. wait until every goroutine of the world is blocked (testing/synctest), and take in what they asked for, in an
//     order that does not depend on who ran first;
//  2. take the earliest event; of equal times the one with the lower key, never the one that was made first;
//  3. set virtual time to it;
//  4. deliver it: bytes to a server, a reply to a client, a timer, a fault.
//
// So whatever a goroutine does between two events happens within one instant, and nothing that it does there can
// depend on another machine.
//
// # What is in a world
//
//   - [Run] makes a [World] from a [Config], hands it to the harness's code (the body) and takes it apart. It counts
//     the goroutines that are left over, and gives up a world that makes no progress in real time ([StuckError]).
//   - A [Node] is a machine. Either it has a [Service], which answers on the engine's goroutine, or programs:
//     goroutines of its current incarnation, the [Process]. Pause, Resume, Crash and Restart are its faults.
//   - A [Clock] is a machine's clock, a clockwork.Clock. Its readings carry a wall and a monotonic part, as those of
//     time.Now do, and the two can be bent apart: StepClock, SetClockOffset, SetClockDrift, SetClockJitter,
//     SetClockUnit.
//   - A [Link] is one direction of the network between two machines: its latency, Slow, Cut and Heal.
//   - Connections come as [Process.Dial] and [Process.Listen] (real bytes: net.Conn and net.Listener) and as
//     [DirectClient] (requests to a Service without encoding, several times faster). Both are the same TCP-like
//     connections: bytes of one stay in order, connections overtake each other.
//   - A [Tap] sees each request before it leaves, before it is executed and when it has been answered, and may lose or
//     delay it or strike machines at that moment.
//   - A [Stream] is a keyed source of randomness: a draw more in one moves no other.
//   - The [Trace] holds what happened, as a running hash or in full with causes; [FirstDifference] tells where two
//     runs part.
//
// # Rules for code that runs on machines
//
// It needs no hooks, but it has to leave these decisions to the world:
//
//   - Time comes from the machine's Clock. Package time works too if [Config.RuntimeTimers] is set (client libraries
//     use it), on a clock that nobody can bend or pause; without it, package time stands still. context.WithTimeout
//     and clockwork.WithTimeout take timers from package time; a timeout on the machine's clock is built on
//     Clock.AfterFunc. Deadlines of connections may come from either clock.
//   - Randomness comes from a Stream. crypto/rand, math/rand and the order of maps differ from run to run.
//   - Whatever is held while waiting for the network or for a timer is a one-slot channel, not a sync.Mutex: a
//     goroutine that waits for a mutex is not at rest, so time stands still, and the run ends with a StuckError.
//   - Goroutines of one machine that are woken within one instant run in parallel. Their requests are put in order by
//     connection, their timers by deadline, their reports by the lane of [Process.Do]. Two that dial the same machine,
//     or share one DirectClient, or start equal timers within one instant, are told apart by chance alone; such
//     goroutines have to differ in nothing, or wait for each other. Process.Go starts one after the other for that
//     reason.
//   - What the whole world shares, such as a history, is written through Process.Do.
//   - After a crash, calls into the world fail with [ErrCrashed], channels of timers deliver, the functions of
//     AfterFunc run and Sleep does not return, so that every goroutine comes to its end; none of it has an effect any
//     more. Code that goes on calling in spite of that is ended. A goroutine that waits for something else (a channel
//     of its own, a Ticker alone) should also watch [Process.Context]; otherwise it is reported as a leak.
//   - Channels, timers and wait groups belong to one world; what is pooled across worlds must hold none.
package sim
