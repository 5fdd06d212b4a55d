// Package lockstep is the root of a simulation and verification bench for distributed locks. It holds no code.
//
// The bench runs lock implementations, written as ordinary Go, against lock servers inside one simulated world with
// virtual time, a clock per machine, a network that loses and delays, and machines that pause and crash. It records
// what every client believed, checks the record, and tells what went wrong. A run is a pure function of a scenario,
// an implementation and a seed.
//
// The command is cmd/lockstep. The packages, from the bottom up:
//
//   - impl says what a lock is and keeps the catalogue; impl/redislock and impl/timeserver are the locks and what
//     they need.
//   - sim is the world: engine, clocks, network, machines, trace. sim/redis is a Redis machine in it.
//   - checker judges histories, and checker/mechanism says by which known mechanism a lock broke.
//   - faults are what goes wrong in a run, as text and as values.
//   - scenarios put locks, machines, faults and expectations together, and run them.
//   - reports tell and draw a run, and write its folder.
//
// README.md says how to use it, ARCHITECTURE.md how it works and how to extend it.
package lockstep
