package zookeeper_test

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/jonboulle/clockwork"

	"github.com/lockstep-sim/lockstep/sim/zookeeper"
)

// An embedded server for the tests of anything that needs a ZooKeeper.
func ExampleEmbedded() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error)
	server := zookeeper.NewEmbedded(zookeeper.EmbeddedOptions{Clock: clockwork.NewRealClock()})
	go func() { done <- server.Serve(ctx, listener) }()

	c, _, err := zk.Connect([]string{listener.Addr().String()}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		fmt.Println(err)
		return
	}
	path, err := c.Create("/node-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	fmt.Println(path, err)
	c.Close()
	server.Do(func(s *zookeeper.Server) { fmt.Println(s.State().Children("/")) })

	cancel()
	fmt.Println(<-done)
	// Output:
	// /node-0000000000 <nil>
	// [zookeeper]
	// <nil>
}
