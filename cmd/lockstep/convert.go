package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/foreign"
)

func newConvert() *cobra.Command {
	var format, to, out string
	cmd := &cobra.Command{
		Use:   "convert FILE",
		Short: "Writes a recorded history in another format",
		Long: `Convert reads a history as "lockstep check" does, from "-" for the standard input too, and writes it for
another tool: edn and json as Jepsen has them, csv as a table, lockstep as the format of this program. The others have
events only: what the head of a history says is lost in them, and that is told.

` + writeExitHelp,
		Example: `  lockstep convert etcd.edn > etcd.jsonl
  lockstep convert history.jsonl --to csv --out history.csv`,
		Args: oneArgument("one history, or - for the standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			write, err := historyWriter(to)
			if err != nil {
				return err
			}
			kind, err := foreign.ParseFormat(format)
			if err != nil {
				return usage("--format: %w", err)
			}
			recording, err := interruptible(cmd.Context(), func() (*foreign.Recording, error) {
				recording, _, err := readHistory(cmd.InOrStdin(), args[0], kind)
				return recording, err
			})
			if err != nil {
				return err
			}
			for _, assumed := range recording.Assumed {
				writeLine(cmd.ErrOrStderr(), "assumed: ", assumed)
			}
			if lost := headerFields(&recording.Header); len(lost) > 0 && to != "lockstep" {
				writeLine(cmd.ErrOrStderr(), "lost: ", to+" has no place for "+strings.Join(lost, ", "))
			}
			if out != "" {
				return replaceFile(out, func(w io.Writer) error { return write(w, &recording.History) })
			}
			buffered := bufio.NewWriter(cmd.OutOrStdout())
			if err := write(buffered, &recording.History); err != nil {
				return err
			}
			return buffered.Flush()
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&format, "format", string(foreign.Auto), "format of the file: "+joinProperties(foreign.Formats()))
	flags.StringVar(&to, "to", "lockstep", "format to write: lockstep, edn, json or csv")
	flags.StringVar(&out, "out", "", "file to write (default the standard output)")
	return cmd
}

// writeExitHelp lists the exit codes of commands that judge nothing and write something.
const writeExitHelp = `Exit codes:
  0   it is written
  2   interrupted; nothing is written
  64  the command line or a file is wrong
  70  lockstep itself failed`

// headerFields names what the head of a history says.
func headerFields(h *checker.Header) []string {
	var fields []string
	for _, field := range []struct {
		name  string
		given bool
	}{
		{"the scenario", h.Scenario != ""},
		{"the implementation", h.Implementation != ""},
		{"the seed", h.Seed != 0},
		{"the transport", h.Transport != ""},
		{"the lock under test", h.Lock != ""},
		{"the resource", h.Resource != ""},
		{"the lease", h.Lease != 0},
		{"the parameters", len(h.Parameters) > 0},
		{"the plan", len(h.Plan) > 0},
	} {
		if field.given {
			fields = append(fields, field.name)
		}
	}
	return fields
}

// historyWriter finds what writes a format.
func historyWriter(format string) (func(io.Writer, *checker.History) error, error) {
	switch format {
	case "lockstep":
		return checker.WriteHistory, nil
	case "edn":
		return foreign.WriteEDN, nil
	case "json":
		return foreign.WriteJSON, nil
	case "csv":
		return foreign.WriteCSV, nil
	}
	return nil, usage("--to %q: want lockstep, edn, json or csv", format)
}

// readHistory reads a history from a file or, for "-", from the standard input, and says what to call it.
func readHistory(stdin io.Reader, name string, format foreign.Format) (*foreign.Recording, string, error) {
	in := stdin
	if name == "-" {
		name = "standard input"
	} else {
		file, err := os.Open(name)
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", name, cause(err))
		}
		defer file.Close()
		if info, err := file.Stat(); err == nil && info.IsDir() {
			return nil, "", fmt.Errorf("%s is a folder: want a history, such as %s in the folder of a run", name, historyFile)
		}
		in = file
	}
	recording, err := foreign.Read(in, format)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", name, err)
	}
	return recording, name, nil
}
