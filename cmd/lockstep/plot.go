package main

import (
	"bufio"
	"context"
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
	"github.com/lockstep-sim/lockstep/checker/measure"
	"github.com/lockstep-sim/lockstep/reports"
	"github.com/lockstep-sim/lockstep/reports/spacetime"
)

// plotCommand is "plot" with its flags.
type plotCommand struct {
	kinds []string
	out   string
}

func newPlot() *cobra.Command {
	p := &plotCommand{}
	cmd := &cobra.Command{
		Use:   "plot FOLDER|FILE...",
		Short: "Draws plots of runs: waits, hand-overs, queue, fairness, clocks, overlaps",
		Long: `Plot draws what histories tell: of the folder of a run, of all runs in the folders below a folder, or of a file
as history.jsonl is, also one that was recorded elsewhere. Each plot is written as SVG, PNG and CSV with the data that
it shows. Older files of these names are replaced.

Kinds: ` + strings.Join(reports.PlotKinds(), ", ") + `. Those that compare locks put all runs of a lock together; those
that show what happened over time take one run. A kind that the runs do not support is told in one line. A history of
millions of events is read as a stream; what is left out of a plot for that, its caption says.

It exits 0 when something was drawn, 2 when nothing was.`,
		Example: `  lockstep plot lockstep-out/dead-record/redis-getset/seed-5
  lockstep plot lockstep-out --kind wait,fairness --out compared
  lockstep plot history.jsonl`,
		RunE: p.run,
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&p.kinds, "kind", nil, "kind of plot to draw, several with commas (default all)")
	flags.StringVar(&p.out, "out", "", "folder to write (default "+filepath.ToSlash(plotFolder())+")")
	return cmd
}

// plotFolder is what is written without --out.
func plotFolder() string { return filepath.Join(outputFolder, "plots") }

func (p *plotCommand) run(cmd *cobra.Command, args []string) error {
	kinds, folder, err := p.plan(cmd, args)
	if err != nil {
		return err
	}
	files, err := findHistories(args)
	if err != nil {
		return err
	}
	var samples []reports.Sample
	for _, file := range files {
		sample, err := readSample(cmd.Context(), file)
		if err != nil {
			return err
		}
		samples = append(samples, sample)
	}
	out := cmd.OutOrStdout()
	drawn := 0
	for _, kind := range kinds {
		figure, err := reports.DrawPlot(kind, samples...)
		if err != nil {
			fmt.Fprintf(out, "%s: not drawn: %s\n", kind, oneLine(err.Error()))
			continue
		}
		if err := reports.WriteFigure(folder, kind, figure); err != nil {
			return internal(err)
		}
		fmt.Fprintf(out, "%s: %s\n", kind, filepath.Join(folder, kind+".svg"))
		drawn++
	}
	if drawn == 0 {
		return exit(exitUnknown)
	}
	if err := publishFigures(folder); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s of %s written to %s, each as .svg, .png and .csv\n", count(drawn, "plot"),
		count(len(samples), "run"), folder)
	return nil
}

// plan reads arguments and flags.
func (p *plotCommand) plan(cmd *cobra.Command, args []string) (kinds []string, folder string, err error) {
	if len(args) == 0 {
		return nil, "", usage("want the folder of a run, or a file as history.jsonl is")
	}
	known := reports.PlotKinds()
	if kinds = p.kinds; !cmd.Flags().Changed("kind") {
		kinds = known
	}
	for i, kind := range kinds {
		if kinds[i] = strings.TrimSpace(kind); !slices.Contains(known, kinds[i]) {
			return nil, "", usage("--kind %q: want one of %s", kind, strings.Join(known, ", "))
		}
		if slices.Contains(kinds[:i], kinds[i]) {
			return nil, "", usage("--kind: %s stands there twice", kinds[i])
		}
	}
	if len(kinds) == 0 {
		return nil, "", usage("--kind: want one of %s", strings.Join(known, ", "))
	}
	folder, err = outFolder(cmd, p.out, plotFolder())
	return kinds, folder, err
}

// outFolder is the folder of --out or another, if it can be written.
func outFolder(cmd *cobra.Command, out, otherwise string) (string, error) {
	folder := otherwise
	if cmd.Flags().Changed("out") {
		if folder = out; out == "" {
			return "", usage("--out: want the name of a folder")
		}
	}
	if err := checkFolder(folder); err != nil {
		return "", usage("--out: %w", err)
	}
	return folder, nil
}

// findHistories lists the histories that arguments name, those below a folder in the order of their paths.
func findHistories(args []string) ([]string, error) {
	var files []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", arg, cause(err))
		}
		if !info.IsDir() {
			files = append(files, arg)
			continue
		}
		folder, err := filepath.EvalSymlinks(arg) // a walk follows no link, not even the one at which it begins
		if err != nil {
			return nil, fmt.Errorf("%s: %w", arg, cause(err))
		}
		found := len(files)
		err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && path != folder && strings.HasPrefix(entry.Name(), "."):
				return fs.SkipDir // it is being written, or what a killed run has left
			case entry.IsDir() && path != folder && entry.Name() == shrunkFolder:
				return fs.SkipDir // the run in whose folder it lies, once more
			case entry.Name() == historyFile && entry.Type().IsRegular():
				files = append(files, path)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", arg, cause(err))
		}
		if len(files) == found {
			return nil, fmt.Errorf("%s: there is no %s in it or below it; name the folder of a run", arg, historyFile)
		}
	}
	return files, nil
}

// readSample measures a history without keeping it, and takes the verdict that lies beside it.
func readSample(ctx context.Context, file string) (reports.Sample, error) {
	f, err := os.Open(file)
	if err != nil {
		return reports.Sample{}, fmt.Errorf("%s: %w", file, cause(err))
	}
	defer f.Close()
	run, err := measureHistory(ctx, f)
	if err != nil {
		return reports.Sample{}, fmt.Errorf("%s: %w", file, err)
	}
	folder := filepath.Dir(file)
	return reports.Sample{
		Run: run, Result: readResult(filepath.Join(folder, "verdict.json")), Tracks: readTracks(folder, file),
	}, nil
}

// readTracks takes what the trace in a run's folder says of clocks. Without one that can be read, clocks are drawn as
// the history has read them.
func readTracks(folder, history string) []reports.ClockTrack {
	if filepath.Base(history) != historyFile {
		return nil // it may be another run than that of the trace
	}
	f, err := os.Open(filepath.Join(folder, "trace.jsonl"))
	if err != nil {
		return nil
	}
	defer f.Close()
	trace, err := spacetime.ReadTrace(f)
	if err != nil {
		return nil
	}
	return reports.ClockTracks(trace)
}

func measureHistory(ctx context.Context, r io.Reader) (*measure.Run, error) {
	decoder, err := checker.NewDecoder(bufio.NewReaderSize(r, 1<<18))
	if err != nil {
		return nil, err
	}
	collector := measure.NewCollector(decoder.Header())
	var e checker.Event
	for n := 0; ; n++ {
		const often = 10_000
		if n%often == 0 && ctx.Err() != nil {
			return nil, &exitError{exitUnknown, "interrupted; nothing is written"}
		}
		err := decoder.Decode(&e)
		if errors.Is(err, io.EOF) {
			return collector.Finish(), nil
		}
		if err == nil {
			err = collector.Add(&e)
		}
		if err != nil {
			return nil, err
		}
	}
}

// readResult is the result in a run's verdict.json, empty where there is none that can be read: a plot is worth having
// without it.
func readResult(file string) checker.Result {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	var verdict struct {
		Result checker.Result `json:"result"`
	}
	if json.Unmarshal(text, &verdict) != nil {
		return ""
	}
	switch verdict.Result {
	case checker.Holds, checker.Violated, checker.Unknown:
		return verdict.Result
	}
	return ""
}
