// Package zklock has four locks on ZooKeeper.
//
//   - [Fair], "zk/fair": the published fair lock on a queue of sequential nodes with watches, with its faults.
//   - [Polling], "zk/polling": the simple lock that it was written to improve on: one node, and everybody tries.
//   - [Repaired], "zk/fair-repaired": the nodes and calls of the first; every place is proved, leased and fenced.
//   - [GoZooKeeper], "zk/go-zookeeper": the lock of the client library, unmodified.
//
// FAULTS.md numbers the faults of the others; testdata/interleavings plays them, and what the repaired lock makes of
// the same moments.
//
// [Entries] is what the catalogue is told of them. The name of a lock is the path of a directory, and the nodes of its
// contenders are the children; a name without a leading slash gets one. One directory is one lock.
//
// A *zk.Conn of github.com/go-zookeeper/zk serves any of them. [Watch] passes the events of its session on to several
// locks:
//
//	conn, events, err := zk.Connect(servers, 10*time.Second)
//	...
//	start := func(f func()) { go f() }
//	session := zklock.Watch(events, start)
//	lock, err := zklock.NewRepaired(impl.Environment{
//		Clock:         clockwork.NewRealClock(),
//		ZooKeeper:     conn,
//		SessionEvents: session.Events(),
//		Random:        rand.Reader,
//		Go:            start,
//	}, impl.Settings{Name: "/locks/job", Owner: owner, Lease: 10 * time.Second}, zklock.Options{})
//
// The client's requests know no context. A call of these locks ends with its context all the same; what it has asked
// for then goes on without it.
package zklock
