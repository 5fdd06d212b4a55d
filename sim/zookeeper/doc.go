// Package zookeeper is a ZooKeeper machine of the simulated world: the tree, sessions, watches and wire protocol of a
// standalone ZooKeeper 3.8 without sockets, goroutines or timers of its own. It also serves real connections.
//
// # Types
//
// A [State] is a pure state machine: connections, requests and the time go in; replies, events and connections to be
// closed come out. A [Server] puts the wire protocol in front of it: [Server.Connect] opens a [Conn], which takes bytes
// and answers through its [Port], one frame at a time. All of it runs on the caller's goroutine and is done when the
// call returns, so that the order of calls decides everything. [Machine] makes a Server a machine of a sim.World, for
// unmodified clients over the wire transport:
//
//	sim.Run(t, sim.Config{Seed: 1, RuntimeTimers: true}, func(w *sim.World) {
//		m := zookeeper.NewMachine(w, zookeeper.Options{Name: "zookeeper"})
//		p := w.NewNode(sim.NodeConfig{Name: "c1"}).Process()
//		p.Go("main", func() {
//			c, _, _ := zk.Connect([]string{"zookeeper:2181"}, 10*time.Second, zk.WithHostProvider(...),
//				zk.WithDialer(func(network, address string, _ time.Duration) (net.Conn, error) {
//					return p.Dial(p.Context(), network, address)
//				}))
//			c.Create("/node", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
//		})
//		w.At(20*time.Second, func() { m.ExpireSession(m.SessionsOf(p.Node())[0].ID) })
//		w.RunUntil(time.Minute, nil)
//	})
//
// zk.Conn is deterministic there when its HostProvider keeps one order and reports retryStart, and when crypto/rand is
// seeded (testing/cryptotest) wherever it names a node by a random number. [Embedded] serves real connections by a real
// clock.
//
// # How it is built
//
// A request that changes something is first checked against the tree (write.go: prepare) and then applied; the
// requests of a multi are checked against what those before them would leave. A transaction is counted also when the
// check fails, as in ZooKeeper, so that zxids are the same. An event is written before the reply to its own cause and
// before the reply to any later read.
//
// Sessions end by the machine's monotonic clock, in ticks: after the time-out since the last sign of life is over,
// and not more than a tick later. Nodes are stamped by its wall clock. A restarted server that kept its data lets its
// sessions begin their time anew. One that lost it refuses clients that have seen more transactions than it knows, as
// ZooKeeper does.
//
// The number behind sequential names counts the children ever created, in a signed 32-bit integer. After 2147483647
// follows -2147483648, as documented and as in ZooKeeper up to 3.5. Later versions do not: see
// [Settings.CounterSticks].
//
// Children are listed in the order of a Java hash set, which is the order in which ZooKeeper lists them: not sorted.
//
// # Differences from ZooKeeper
//
// testdata/conformance holds requests with the replies of ZooKeeper 3.8.0; the tests hold this server to them, hold an
// installed ZooKeeper to them, and send random requests to both. What is different on purpose:
//
//	subject                  ZooKeeper 3.8.0                     here
//	the counter at its end   see Settings.CounterSticks          wraps, unless told to stick
//	watchers of one path     told in any order                   in the order in which they came
//	sessions of one tick     end in any order                    in the order in which they began
//	containers, TTL nodes    swept in any order                  by path
//	more than 8 children     listed in the order of a tree       in the order in which they came
//	  in one hash bucket
//	connections of a client  60 for each address                 any number
//	connections without a    closed after 10 to 20 s             stay
//	  session
//	TTL nodes                with extendedTypesEnabled only      always
//	createTTL with a ttl of  ends the server                     BadArguments
//	  -1 and no TTL mode
//	SASL, createSession as   answered                            Unimplemented, and the connection closed
//	  a request
//	an ACL of a null scheme  InvalidACL                          MarshallingError
//	strings that are not     a replacement character for each    for each byte
//	  UTF-8                  part
//	quotas                   kept in /zookeeper/quota            not kept
//	latencies                measured                            0
//	four-letter words        as the whitelist allows             ruok, srvr, stat, conf, isro
package zookeeper
