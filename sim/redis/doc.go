// Package redis is a Redis machine of the simulated world: the commands, scripts, messages and expiry of Redis 7.0
// without sockets, goroutines or timers of its own.
//
// # Types
//
// A [Server] holds the data. [Server.Connect] opens a [Conn], which takes requests decoded ([Conn.Command], the direct
// transport) or as bytes ([Conn.Bytes], the wire transport); answers that come later leave through the connection's
// [Port]. All of it runs on the caller's goroutine and is done when the call returns, so that the order of calls
// decides everything. [Machine] makes a Server a machine of a sim.World:
//
//	sim.Run(t, sim.Config{Seed: 1}, func(w *sim.World) {
//		m := redis.NewMachine(w, redis.Options{Name: "redis"})
//		defer m.Release()
//		p := w.NewNode(sim.NodeConfig{Name: "c1"}).Process()
//		p.Go("main", func() {
//			r := p.NewDirectClient(sim.DirectConfig{Address: "redis"})
//			r.Do(p.Context(), "SET", "lock", "token", "NX", "PX", 30_000)
//		})
//		w.RunUntil(time.Minute, nil)
//	})
//
// # How it is built
//
// The data structures are miniredis's, and most commands are answered by it through its command table. This package
// answers by itself what must follow the world or must be exact: the string commands of locks, expiry (clock.go),
// transactions (transaction.go), blocking commands (blocking.go), messages (pubsub.go) and scripts (script.go, lua.go).
//
// Time is the machine's wall clock, read once per command (once per script and per EXEC). Deadlines are absolute, as
// in Redis: a clock that steps back prolongs them, one that steps forward ends them, and a key lives through the
// millisecond of its deadline. Time-outs of blocking commands run on the machine's monotonic clock.
//
// A blocking command that finds nothing is parked. When a later command creates one of its keys, those who wait for it
// are served in the order in which they came, as in Redis. Nothing is kept in a goroutine, so that a server can be
// pooled across worlds ([Get], [Put]); a pooled one answers exactly as a new one.
//
// Scripts are compiled once per process and run in pooled Lua machines whose globals and libraries are read-only. A
// script is stopped after a number of instructions ([Config.ScriptBudget]), which is the same in every run; what it
// wrote before stays written. The memory of a script that doubles a string over and over is not bounded.
//
// Random commands follow [Config.Seed]. KEYS, SCAN, SMEMBERS, HGETALL and the like answer in sorted order.
//
// # Differences from Redis
//
// testdata/conformance holds requests with the replies of redis-server 7.0.15; the tests hold this server to them,
// hold an installed redis-server to them, and send random requests to both. What is different on purpose:
//
//	subject                 Redis 7.0.15                         here
//	expired keys            removed when touched, or within      all removed before the next command of anybody
//	                        some 100 ms in the background
//	deadlines               any                                  at most 140 years ahead
//	KEYS, HGETALL, ...      in an internal order                 sorted
//	random commands         truly random                         by seed
//	SCAN                    in portions                          everything at once
//	bulk strings            up to 512 MB                         up to 64 MB, requests up to 128 MB
//	runaway scripts         BUSY to others until SCRIPT KILL     stopped: an error that begins with BUSY
//	errors of Lua itself    "attempt to index local 'a' ..."     other words behind the same prefix and position
//	Lua libraries           also struct, cmsgpack                string, table, math, coroutine, bit, cjson, redis
//	pairs(string), ...      lists the library                    finds nothing: libraries are seen through a view
//	a number in a string    1e15 .. "" is 1e+15                  1000000000000000; tostring(1e15) is right
//	SUBSCRIBE, direct       (no such transport)                  refused: a direct call has one reply
//	DUMP, RESTORE           serialized with a version            the string itself
//	HEXPIRE, HTTL, ...      unknown (since 7.4)                  answered
//	CLIENT, CONFIG, INFO    everything                           what client libraries ask for
//	ACL, FUNCTION, CLUSTER, MONITOR, SORT, LCS, keyspace notifications: not offered
package redis
