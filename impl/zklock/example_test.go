package zklock_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/jonboulle/clockwork"

	"github.com/lockstep-sim/lockstep/impl"
	"github.com/lockstep-sim/lockstep/impl/zklock"
	"github.com/lockstep-sim/lockstep/sim/zookeeper"
)

// In production the client dials an ensemble; here it is given one server in the same process.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go zookeeper.NewEmbedded(zookeeper.EmbeddedOptions{Clock: clockwork.NewRealClock()}).Serve(ctx, listener)

	const timeout = 10 * time.Second
	conn, events, err := zk.Connect([]string{listener.Addr().String()}, timeout, zk.WithLogger(silence{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	start := func(f func()) { go f() }
	lock, err := zklock.NewRepaired(impl.Environment{
		Clock:         clockwork.NewRealClock(),
		ZooKeeper:     conn,
		SessionEvents: zklock.Watch(events, start).Events(), // one for each lock on the connection
		Random:        rand.Reader,
		Go:            start,
	}, impl.Settings{
		Name:  "/locks/job",
		Owner: impl.Owner{Machine: "28-D2-44-0E-0D-9A", Process: int64(os.Getpid()), Thread: 11},
		Lease: timeout,
	}, zklock.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}

	held, err := lock.TryLockFor(ctx, 3*time.Second)
	if !held || err != nil {
		fmt.Println("somebody else is at it", err)
		return
	}
	// Send the token along with whatever the lock protects, and stop when Lost is closed.
	fmt.Println("working with token", lock.Token() > 0)
	if err := lock.Unlock(ctx); errors.Is(err, impl.ErrLost) {
		fmt.Println("the work was not protected to its end")
	}
	// Output: working with token true
}
