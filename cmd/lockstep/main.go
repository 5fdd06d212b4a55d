package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(command()) }

// command runs the command line of this process. The first interrupt ends the work in order, the second at once.
func command() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return execute(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})
}
