// Package scenarios puts a lock to work on simulated machines, lets things go wrong, and judges what came of it.
//
// A Scenario is a file: the lock, the machines, what each client does, which faults strike, and for each implementation
// what must be found and what must hold. The ones that come with the program are in the folder library; Load finds
// them by name, and others by path. Run runs one scenario once, for one implementation and one seed:
//
//	scenario, err := scenarios.Load("dead-record")
//	outcome, err := scenarios.Run(t, scenarios.Setup{Scenario: scenario, Implementation: "redis/getset", Seed: 2})
//	for _, verdict := range outcome.Verdicts {
//		fmt.Println(verdict)
//	}
//
// A run is a pure function of its Setup: the Outcome has a hash over everything that happened, and equal setups give
// equal hashes, over both transports as long as no connection has to be opened anew.
//
// A run has two phases. Until Scenario.Heal its faults strike; then everything heals, and liveness is judged. The world
// is built of a Redis machine, a time server, a store (the resource that the lock protects) and the clients.
//
// Campaign runs many seeds and compares what was found with what the scenario expects. A Replay file names one run.
// Shrink makes a run that broke a promise small, and a Script shows what is left as a text to change. Envelope varies a
// number of a scenario and looks for the size at which a lock breaks.
package scenarios
