package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/reports"
	"github.com/lockstep-sim/lockstep/reports/export"
	"github.com/lockstep-sim/lockstep/reports/spacetime"
)

// exportedRun is a run as it was read from its files.
type exportedRun struct {
	history  checker.History
	entries  []spacetime.Entry
	verdicts []checker.Verdict
}

// exporters are what "export" can write, in the order in which they are named.
var exporters = []struct {
	name  string
	write func(w io.Writer, run *exportedRun, table string) error
}{
	{"perfetto", func(w io.Writer, run *exportedRun, _ string) error {
		return export.WritePerfetto(w, export.Run{History: &run.history, Page: run.page(), Verdicts: run.verdicts})
	}},
	{"shiviz", func(w io.Writer, run *exportedRun, _ string) error { return export.WriteShiViz(w, run.page()) }},
	{"csv", func(w io.Writer, run *exportedRun, table string) error {
		return reports.WriteTable(w, &run.history, table)
	}},
}

func (r *exportedRun) page() *spacetime.Page {
	return reports.NewPage(&reports.Run{History: &r.history, Verdicts: r.verdicts}, r.entries)
}

// exportCommand is "export" with its flags.
type exportCommand struct{ to, table, trace, out string }

func newExport() *cobra.Command {
	var x exportCommand
	cmd := &cobra.Command{
		Use:   "export FOLDER|HISTORY",
		Short: "Writes a run for the viewers of others and as tables",
		Long: `Export takes the folder of a run, or its history alone, and writes it for other programs:

  perfetto  the JSON of Chrome's trace format, for https://ui.perfetto.dev: machines as processes, calls as slices,
            messages as arrows, holds and leases and faults side by side, holders and waiters as counters
  shiviz    a log with vector clocks, for ShiViz; it needs the engine's trace
  csv       a table: events, calls or holds

The history can be read from "-", the standard input.

` + writeExitHelp,
		Example: `  lockstep export lockstep-out/latest --to perfetto --out trace.json
  lockstep export history.jsonl --to csv --table calls`,
		Args: oneArgument("one folder of a run, or one history"),
		RunE: func(cmd *cobra.Command, args []string) error { return x.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&x.to, "to", "perfetto", "what to write: "+strings.Join(exporterNames(), ", "))
	flags.StringVar(&x.table, "table", reports.Tables()[0], "the table of csv: "+strings.Join(reports.Tables(), ", "))
	flags.StringVar(&x.trace, "trace", "", "the engine's trace (default that of the folder)")
	flags.StringVar(&x.out, "out", "", "file to write (default the standard output)")
	return cmd
}

func exporterNames() []string {
	var names []string
	for _, e := range exporters {
		names = append(names, e.name)
	}
	return names
}

func (x *exportCommand) run(cmd *cobra.Command, source string) error {
	at := slices.Index(exporterNames(), x.to)
	switch flags := cmd.Flags(); {
	case at < 0:
		return usage("--to %q: want one of %s", x.to, strings.Join(exporterNames(), ", "))
	case flags.Changed("table") && x.to != "csv":
		return usage("--table: only --to csv writes a table")
	case !slices.Contains(reports.Tables(), x.table):
		return usage("--table %q: want one of %s", x.table, strings.Join(reports.Tables(), ", "))
	case flags.Changed("trace") && x.to == "csv":
		return usage("--trace: the tables are made of the history alone")
	case flags.Changed("out") && x.out == "":
		return usage("--out: want the name of a file")
	}
	run, err := interruptible(cmd.Context(), func() (*exportedRun, error) {
		return readRun(cmd.InOrStdin(), source, x.trace, x.to != "csv")
	})
	if err != nil {
		return err
	}
	write := func(w io.Writer) error { return exporters[at].write(w, run, x.table) }
	if x.out != "" {
		if err := replaceFile(x.out, write); err != nil {
			return fmt.Errorf("cannot write %w", err)
		}
		return nil
	}
	buffered := bufio.NewWriter(cmd.OutOrStdout())
	if err := write(buffered); err != nil {
		return err
	}
	return buffered.Flush()
}

// readRun reads the history of a run and, if more is wanted than that, the trace and the verdicts beside it.
func readRun(stdin io.Reader, source, trace string, more bool) (*exportedRun, error) {
	run := &exportedRun{}
	history, folder := source, ""
	if info, err := os.Stat(source); source != "-" && err == nil && info.IsDir() {
		history, folder = filepath.Join(source, historyFile), source
	}
	err := readInput(stdin, history, func(r io.Reader) (err error) {
		run.history, err = checker.ReadHistory(r)
		return err
	})
	if folder != "" && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not the folder of a run: it has no %s", folder, historyFile)
	}
	if err != nil || !more {
		return run, err
	}
	readEntries := func(r io.Reader) (err error) {
		run.entries, err = spacetime.ReadTrace(r)
		return err
	}
	if trace != "" {
		return run, readInput(stdin, trace, readEntries)
	}
	if folder == "" {
		return run, nil
	}
	for _, file := range []struct {
		name string
		read func(io.Reader) error
	}{{traceFile, readEntries}, {verdictFile, run.readVerdicts}} {
		err := readInput(stdin, filepath.Join(folder, file.name), file.read)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // either may not have been kept
			return nil, err
		}
	}
	return run, nil
}

// The names in the folder of a run that are read.
const (
	historyFile = "history.jsonl"
	traceFile   = "trace.jsonl"
	verdictFile = "verdict.json"
)

// readVerdicts reads the verdicts of verdict.json.
func (r *exportedRun) readVerdicts(in io.Reader) error {
	var document struct {
		Verdicts []checker.Verdict `json:"verdicts"`
	}
	if err := json.NewDecoder(in).Decode(&document); err != nil {
		return fmt.Errorf("it has no verdicts: %w", err)
	}
	r.verdicts = document.Verdicts
	return nil
}

// readInput reads a file or, for "-", the standard input. An error names what was read.
func readInput(stdin io.Reader, name string, read func(io.Reader) error) error {
	in, title := stdin, "standard input"
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, cause(err))
		}
		defer file.Close()
		in, title = file, name
	}
	if err := read(in); err != nil {
		return fmt.Errorf("%s: %w", title, err)
	}
	return nil
}
