package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/lockstep-sim/lockstep/checker"
)

// programVersion is the version that the Go tool has put into the program, "devel" when it has not.
func programVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Says which lockstep this is",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			fmt.Fprintf(cmd.OutOrStdout(), "lockstep %s (history schema %d, %s %s/%s)\n", programVersion(), checker.Schema,
				runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}
