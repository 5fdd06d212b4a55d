// Package strategy decides when things happen in a run: how long each message travels and how long programs wait,
// within what the scenario allows.
//
// A strategy is chosen by its name ([Names]): uniform and swarm take what the seed draws, pct schedules by priorities,
// deadline steers requests to where leases end and in between what others read and write. [New] makes the [Schedule] of
// one seed. It goes into sim.Config.Scheduler, and each program asks its [Thread] how long to wait:
//
//	s := strategy.New(strategy.Deadline, seed)
//	sim.Run(t, sim.Config{Seed: seed, Scheduler: s}, func(w *sim.World) {
//		s.Enter(w, marks)
//		...
//	})
//	decisions := s.Decisions()
//
// What a schedule decided otherwise than the seed draws is a list of [Decision]s, one line of text each. [Follow] makes
// the schedule that decides the same again, so that a run can be repeated, edited and shrunk without its strategy:
//
//	c1>redis GETSET #1 takes 1.5ms
//	c3 wait #2 takes 163ms
//
// An [Explorer] does not draw: it goes through all schedules of a small world, up to a number of deviations from the
// usual one, and tells when there is none left.
//
// [Marks] count how often a run came to where locks break, whatever its strategy.
package strategy
