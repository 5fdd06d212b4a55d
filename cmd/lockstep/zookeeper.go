package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/spf13/cobra"

	"github.com/lockstep-sim/lockstep/sim/zookeeper"
)

func newZooKeeper() *cobra.Command {
	var listen string
	var tick time.Duration
	cmd := &cobra.Command{
		Use:   "zookeeper",
		Short: "Serves an empty ZooKeeper, the one of the simulated worlds",
		Long: `Zookeeper serves an empty ZooKeeper in memory, over TCP on this machine only, until it is interrupted. It is
the machine that simulated worlds have, in real time: for tests that want a ZooKeeper at once, and to hold it against
any client. Nothing is kept when it ends.`,
		Example: `  lockstep zookeeper
  lockstep zookeeper --listen 127.0.0.1:0 --tick 500ms`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if tick < time.Millisecond || tick > time.Hour {
				return usage("--tick %v: want 1ms to 1h", tick)
			}
			return serveZooKeeper(cmd.Context(), listen, tick, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:2181", "loopback address and port; port 0 takes a free one")
	cmd.Flags().DurationVar(&tick, "tick", zookeeper.DefaultTick, "unit of session time-outs, which are 2 to 20 of it")
	return cmd
}

// serveZooKeeper serves until ctx ends.
func serveZooKeeper(ctx context.Context, listen string, tick time.Duration, out io.Writer) error {
	listener, err := listenLoopback(listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "ZooKeeper on %s\n", listener.Addr())
	server := zookeeper.NewEmbedded(zookeeper.EmbeddedOptions{Clock: clockwork.NewRealClock(), Tick: tick})
	if err := server.Serve(ctx, listener); err != nil {
		return internal(err)
	}
	return nil
}
