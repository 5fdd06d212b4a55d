package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockstep-sim/lockstep/internal/visible"
	"github.com/lockstep-sim/lockstep/reports/server"
)

func newServe() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "serve [FOLDER]",
		Short: "Shows the runs of a folder in a browser",
		Long: `Serve shows a folder of runs, by default ` + outputFolder + `, to a browser on this machine: an index of all
runs by verdict, the campaigns with how far they have come, and every file of a run. The index keeps itself up to date
while a campaign runs. Nothing is written and nothing outside of the folder is shown. It ends when it is interrupted.`,
		Example: `  lockstep serve
  lockstep serve lockstep-out --listen 127.0.0.1:0`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			folder := outputFolder
			if len(args) == 1 {
				folder = args[0]
			} else if len(args) > 1 {
				return usage("want one folder, not %d", len(args))
			}
			return serveFolder(cmd, folder, listen)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:7057", "loopback address and port; port 0 takes a free one")
	return cmd
}

// serveFolder serves until the command is interrupted.
func serveFolder(cmd *cobra.Command, folder, listen string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("%s: %w; name a folder that lockstep has written", folder, cause(err))
	}
	defer root.Close()
	listener, err := listenLoopback(listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s is shown on http://%s/\n", visible.Line(folder), listener.Addr())
	if err := serveHTTP(cmd.Context(), listener, server.New(root)); err != nil {
		return internal(err)
	}
	return nil
}

// Limits for browsers that dawdle.
const (
	headerTimeout   = 10 * time.Second
	shutdownTimeout = 3 * time.Second
)

// serveHTTP serves until ctx ends, and then finishes the requests that it is at, as far as they are quick.
func serveHTTP(ctx context.Context, listener net.Listener, handler http.Handler) error {
	s := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		err := s.Shutdown(limit)
		if errors.Is(err, context.DeadlineExceeded) {
			err = s.Close()
		}
		stopped <- err
	})
	defer stop()
	if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}
