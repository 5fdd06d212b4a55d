// Package impl says what a distributed lock is, and keeps the catalogue of the locks that the bench knows.
//
// A lock is a [Lock]: four calls, each with a context. What only some locks can do is asked for by a type assertion
// to [Holder], [Fenced], [Leased] or [Lossy]. A lock is made from an [Environment], which is what its machine
// offers (a clock, a Redis connection, a dialer, randomness, goroutines), and from [Settings], which are its user's
// choices. Everything below this package is production code: it does not know whether its environment is real.
//
// # The catalogue
//
// An [Entry] describes one implementation: what it promises, its knobs, and its ablations, that is the safeguards
// which can be switched off by name to prove that the bench notices. A [Catalogue] finds entries by name:
//
//	locks, err := impl.NewCatalogue(redislock.Entries()...)
//	...
//	entry, err := locks.Lookup("redis/getset-repaired!no-validity-check")
//	...
//	lock, err := entry.New(environment, impl.Settings{Name: "job", Owner: owner, Lease: 10 * time.Second})
//
// # Time
//
// A lock reads only the clock of its Environment. [WithTimeout] is context.WithTimeout on such a clock.
//
// # Errors
//
// An error of a call to a server is one of two things. A [RedisError] is an answer: the command was refused. Any
// other error means that nobody knows whether the command took effect, and a lock has to live with both outcomes.
package impl
