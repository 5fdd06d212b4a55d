package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"

	"github.com/jonboulle/clockwork"
	"github.com/spf13/cobra"

	"github.com/lockstep-sim/lockstep/impl/timeserver"
)

func newTimeServer() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "timeserver",
		Short: "Serves the time that the published Redis lock asks for",
		Long: `Timeserver answers what time it is, over TCP on this machine only, until it is interrupted. The published Redis
lock needs it: its leases are judged by the clock of this server. Simulated worlds bring their own.`,
		Example: `  lockstep timeserver
  lockstep timeserver --listen 127.0.0.1:0`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serveTime(cmd.Context(), listen, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:9999", "loopback address and port; port 0 takes a free one")
	return cmd
}

// serveTime serves until ctx ends.
func serveTime(ctx context.Context, listen string, out io.Writer) error {
	listener, err := listenLoopback(listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "time server on %s\n", listener.Addr())
	server := timeserver.Server{Clock: clockwork.NewRealClock()}
	if err := server.Serve(ctx, listener); err != nil {
		return internal(err)
	}
	return nil
}

// listenLoopback opens the address of a --listen flag.
func listenLoopback(listen string) (net.Listener, error) {
	if err := checkLoopback(listen); err != nil {
		return nil, usage("--listen %q: %w", listen, err)
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		var cause *net.OpError
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return nil, usage("--listen %s: %w; choose another port, or 0 for a free one", listen, err)
	}
	return listener, nil
}

// checkLoopback refuses addresses that other machines could reach: nobody is asked who they are.
func checkLoopback(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return errors.New("want an address and a port, such as 127.0.0.1:9999")
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("port %q: want a number from 0 to 65535", port)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return errors.New("other machines could reach that: want a loopback address, 127.0.0.1 or [::1]")
	}
	return nil
}
