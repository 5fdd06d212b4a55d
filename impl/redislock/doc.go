// Package redislock has locks on Redis: four on one server, and one on several.
//
//   - [GetSet], "redis/getset": the published reentrant lock on SETNX, GET and GETSET, with its faults.
//   - [Repaired], "redis/getset-repaired": the same record and calls, every transition atomic, checked and fenced.
//   - [SetNX], "redis/setnx-px": the canonical SET NX PX, fenced, with optional renewal.
//   - [PubSub], "redis/pubsub": the same, with waiters that listen to a channel instead of asking again and again.
//   - [Redlock], "redis/redlock": the key on a majority of several independent servers.
//
// FAULTS.md numbers the faults of the first, and what the last two must not do; testdata/interleavings plays most of
// them, and what the others make of the same moments.
//
// [Entries] is what the catalogue is told of them. [Record] is the value that the first two keep on the server.
// [FromGoRedis] makes a go-redis client serve any of them:
//
//	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", MaxRetries: -1})
//	lock, err := redislock.NewRepaired(impl.Environment{
//		Clock:  clockwork.NewRealClock(),
//		Redis:  redislock.FromGoRedis(client),
//		Random: rand.Reader,
//		Go:     func(f func()) { go f() },
//	}, impl.Settings{Name: "job", Owner: owner, Lease: 10 * time.Second})
//
// The client bounds how long one command may take; the locks put no time limit of their own on it.
package redislock
