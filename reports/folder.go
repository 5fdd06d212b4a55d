package reports

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/measure"
	"github.com/lockstep-sim/lockstep/checker/mechanism"
	"github.com/lockstep-sim/lockstep/reports/spacetime"
)

// Run is all that is kept of one run.
type Run struct {
	History  *checker.History
	Verdicts []checker.Verdict
	// Judging are the options with which the verdicts came about.
	Judging  checker.Options
	Findings []mechanism.Finding
	// Trace writes what the engine traced, line by line; nil when there is no trace to keep.
	Trace func(io.Writer) error
	// Replay is the text of the file by which the run can be repeated.
	Replay string
	// Scenario is the scenario's own file; nil for one that comes with the program.
	Scenario []byte
	// Script is the run as a text to change and to run again; empty = there is none.
	Script string
	Hash   uint64
	Story  *Story // nil when nothing was violated
}

// The names in a run's folder.
const (
	replayFile   = "replay.txt"
	historyFile  = "history.jsonl"
	traceFile    = "trace.jsonl"
	verdictFile  = "verdict.json"
	storyFile    = "story.txt"
	pageFile     = "report.html"
	diagramFile  = "story.mmd"
	sequenceFile = "sequence.txt"
	scenarioFile = "scenario.yaml"
	scriptFile   = "shrunk.txt"
	plotsFolder  = "plots"
	shrunkFolder = "shrunk" // the folder of the same violation, shrunk
	dataFolder   = "data"
)

// runFiles lists all that a run's folder can hold. A folder with anything else in it is somebody else's.
var runFiles = []string{
	replayFile, historyFile, traceFile, verdictFile, storyFile, scenarioFile, scriptFile, pageFile, diagramFile,
	sequenceFile, plotsFolder, dataFolder, shrunkFolder,
}

// WriteFolder writes a run's folder. It is written beside dir under another name and renamed once it is complete, so
// that dir never holds half a run. Parent folders are made. An existing folder of a run, or an empty one, is
// replaced; one with other files in it is left alone.
func WriteFolder(dir string, run Run) error {
	if err := writeFolder(filepath.Clean(dir), run); err != nil {
		return fmt.Errorf("cannot write the run's folder %s: %w", dir, err)
	}
	return nil
}

func writeFolder(dir string, run Run) (err error) {
	if run.History == nil {
		return errors.New("the run has no history")
	}
	if dir, err = resolve(dir); err != nil {
		return err
	}
	if err := replaceable(dir); err != nil {
		return err
	}
	made, err := makeParents(filepath.Dir(dir))
	defer func() {
		if err != nil {
			for _, parent := range slices.Backward(made) {
				_ = os.Remove(parent) // fails, rightly, once somebody else has put something there
			}
		}
	}()
	if err != nil {
		return plain(err)
	}
	partial, err := makeBeside(dir, "partial")
	if err != nil {
		return plain(err)
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(partial)
		}
	}()
	if err := fill(partial, run); err != nil {
		return err
	}
	return replace(dir, partial)
}

// resolve follows a link, so that what it points to is replaced and not the link.
func resolve(dir string) (string, error) {
	target, err := filepath.EvalSymlinks(dir)
	switch {
	case err == nil:
		return filepath.Abs(target)
	case errors.Is(err, fs.ErrNotExist):
		return filepath.Abs(dir)
	}
	return "", plain(err)
}

// replaceable refuses to replace what does not look like the folder of a run.
func replaceable(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return plain(err)
	}
	for _, entry := range entries {
		if !slices.Contains(runFiles, entry.Name()) && !isSearchPage(entry.Name()) {
			return fmt.Errorf("it exists and holds %s, which no run has written: name another folder or move that away",
				entry.Name())
		}
	}
	return nil
}

// makeParents makes a folder and its parents, and tells which of them were not there, outermost first.
func makeParents(dir string) (made []string, err error) {
	for p := dir; ; p = filepath.Dir(p) {
		if _, err := os.Lstat(p); err == nil || p == filepath.Dir(p) {
			break
		}
		made = append(made, p)
	}
	slices.Reverse(made)
	return made, os.MkdirAll(dir, 0o777)
}

// makeBeside makes a folder beside dir that nobody else has.
func makeBeside(dir, purpose string) (string, error) {
	name, err := freeBeside(dir, purpose)
	if err != nil {
		return "", err
	}
	return name, os.Mkdir(name, 0o777)
}

// freeBeside finds a name beside dir that is not taken. What a killed run has left behind is not touched.
func freeBeside(dir, purpose string) (string, error) {
	const attempts = 1000
	for i := 1; i <= attempts; i++ {
		name := filepath.Join(filepath.Dir(dir), fmt.Sprintf(".%s.%s-%d", filepath.Base(dir), purpose, i))
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return name, nil
		} else if err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("%d unfinished folders .%s.%s-N lie beside it: remove them",
		attempts, filepath.Base(dir), purpose)
}

// replace puts a complete folder in the place of dir. If that fails, the folder that was there is put back.
func replace(dir, complete string) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return plain(os.Rename(complete, dir))
	}
	old, err := freeBeside(dir, "old")
	if err != nil {
		return plain(err)
	}
	if err := os.Rename(dir, old); err != nil {
		return plain(err)
	}
	if err := os.Rename(complete, dir); err != nil {
		return errors.Join(plain(err), plain(os.Rename(old, dir)))
	}
	return plain(os.RemoveAll(old))
}

// fill writes all files of a run.
func fill(dir string, run Run) error {
	files := []struct {
		name   string
		wanted bool
		write  func(io.Writer) error
	}{
		{replayFile, run.Replay != "", literal(run.Replay)},
		{historyFile, true, func(w io.Writer) error { return checker.WriteHistory(w, run.History) }},
		{traceFile, run.Trace != nil, run.Trace},
		{verdictFile, true, func(w io.Writer) error { return writeVerdict(w, &run) }},
		{storyFile, run.Story != nil, func(w io.Writer) error { return literal(run.Story.String())(w) }},
		{scenarioFile, run.Scenario != nil, literal(string(run.Scenario))},
		{scriptFile, run.Script != "", literal(run.Script)},
	}
	for _, file := range files {
		if !file.wanted {
			continue
		}
		if err := writeFile(filepath.Join(dir, file.name), file.write); err != nil {
			return fmt.Errorf("%s: %w", file.name, err)
		}
	}
	trace, notice, err := readTrace(filepath.Join(dir, traceFile), &run)
	if err != nil {
		return err
	}
	page := NewPage(&run, trace)
	if notice != "" {
		page.Notices = append(page.Notices, notice)
	}
	if err := fillPages(dir, &run, page); err != nil {
		return err
	}
	if err := fillSearchPages(dir, &run); err != nil {
		return err
	}
	if err := fillData(filepath.Join(dir, dataFolder), run.History); err != nil {
		return fmt.Errorf("%s: %w", dataFolder, err)
	}
	return fillPlots(filepath.Join(dir, plotsFolder), run, ClockTracks(trace))
}

// fillPages writes the space-time page and, of a violation, its excerpts for pasting.
func fillPages(dir string, run *Run, page *spacetime.Page) error {
	for _, file := range []struct {
		name   string
		wanted bool
		write  func(io.Writer) error
	}{
		{pageFile, true, page.WriteHTML},
		{diagramFile, run.Story != nil, func(w io.Writer) error { return literal(page.Mermaid())(w) }},
		{sequenceFile, run.Story != nil, func(w io.Writer) error { return literal(page.Text())(w) }},
	} {
		if !file.wanted {
			continue
		}
		if err := writeFile(filepath.Join(dir, file.name), file.write); err != nil {
			return fmt.Errorf("%s: %w", file.name, err)
		}
	}
	return nil
}

// mostSearchPages is for how many locks there are pages. Those whose answers fit no order come first.
const mostSearchPages = 20

// fillSearchPages writes Porcupine's page of each lock whose answers were judged: linearizability.html, of a second
// lock linearizability-2.html, and so on. Those whose answers fit no order come first, in the order in which they were
// found, then the others by their names. Where a page cannot be made, a text stands in its place and says why: the rest
// of the folder is worth keeping all the same.
func fillSearchPages(dir string, run *Run) error {
	k := slices.IndexFunc(run.Verdicts, func(v checker.Verdict) bool { return v.Property == checker.Linearizability })
	if k < 0 || run.Verdicts[k].Skipped || run.Verdicts[k].Result == checker.Unknown {
		return nil
	}
	var shown []string // locks
	show := func(lock string, write func(io.Writer) error) error {
		if slices.Contains(shown, lock) || len(shown) == mostSearchPages {
			return nil
		}
		shown = append(shown, lock)
		name, page := searchPage(len(shown)), new(bytes.Buffer)
		if err := write(page); err != nil {
			name = strings.TrimSuffix(name, ".html") + ".txt"
			page = bytes.NewBufferString(lock + ": " + err.Error() + "\n")
		}
		if err := writeFile(filepath.Join(dir, name), literal(page.String())); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	for i := range run.Verdicts[k].Violations {
		x := &run.Verdicts[k].Violations[i]
		err := show(x.Key, func(w io.Writer) error { return checker.WritePage(w, run.History, run.Judging, x) })
		if err != nil {
			return err
		}
	}
	for _, lock := range run.History.Locks() {
		err := show(lock, func(w io.Writer) error {
			return checker.WriteLockPage(w, run.History, run.Judging, lock)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// searchPage is the name of the page of the n-th lock. It is not made of the lock's name, which may be anything.
func searchPage(n int) string {
	if n == 1 {
		return searchName + ".html"
	}
	return fmt.Sprintf("%s-%d.html", searchName, n)
}

// searchName begins the names of Porcupine's pages.
const searchName = "linearizability"

// isSearchPage tells whether a file has such a name.
func isSearchPage(name string) bool {
	ending := filepath.Ext(name)
	return strings.HasPrefix(name, searchName) && (ending == ".html" || ending == ".txt")
}

// readTrace reads the trace of a run as it has been written. One that cannot be read is worth keeping all the
// same: page and plots then show what the history tells, and the notice says why.
func readTrace(file string, run *Run) (trace []spacetime.Entry, notice string, err error) {
	if run.Trace == nil {
		return nil, "", nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, "", plain(err)
	}
	defer f.Close()
	if trace, err = spacetime.ReadTrace(f); err != nil {
		return nil, "The trace could not be read: " + err.Error() + ".", nil
	}
	return trace, "", nil
}

func literal(content string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, content)
		return err
	}
}

// fillPlots writes each plot as SVG and PNG, with its data as CSV. A history that cannot be drawn is worth keeping all
// the same: the reason stands in the place of the plot.
func fillPlots(dir string, run Run, tracks []ClockTrack) error {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return plain(err)
	}
	measured, err := measure.Of(run.History)
	if err != nil {
		return writeFile(filepath.Join(dir, "plots.txt"), literal("There are no plots: "+err.Error()+".\n"))
	}
	sample := Sample{Run: measured, Result: checker.Overall(run.Verdicts), Tracks: tracks}
	for _, kind := range plotKinds {
		draw := func() (*Figure, error) { return kind.draw([]Sample{sample}) }
		if kind.name == holdersKind {
			draw = func() (*Figure, error) {
				return HolderPlot(run.History, HolderOptions{Violation: firstViolation(run.Verdicts)})
			}
		}
		if err := fillPlot(filepath.Join(dir, kind.name), draw); err != nil {
			return fmt.Errorf("%s: %w", plotsFolder, err)
		}
	}
	return nil
}

func fillPlot(path string, draw func() (*Figure, error)) error {
	figure, err := draw()
	if err != nil {
		return writeFile(path+".txt", literal("There is no plot: "+err.Error()+".\n"))
	}
	for _, form := range figure.forms() {
		if err := writeFile(path+form.ending, form.write); err != nil {
			return err
		}
	}
	return nil
}

// firstViolation picks what the plot of holders is about. An overlap comes first, as in the order of the properties.
func firstViolation(verdicts []checker.Verdict) *checker.Violation {
	for _, v := range verdicts {
		if len(v.Violations) > 0 {
			return &v.Violations[0]
		}
	}
	return nil
}

// writeFile writes one file. A disk that is full shows at the latest when it is closed.
func writeFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return plain(err)
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = plain(closed)
		}
	}()
	b := bufio.NewWriterSize(f, 1<<16)
	if err := write(b); err != nil {
		return plain(err)
	}
	return plain(b.Flush())
}

// plain keeps the reason of a failed operation on a file, with the path only: one line that a user can act on.
func plain(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return fmt.Errorf("%s: %w", path.Path, path.Err)
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return fmt.Errorf("%s: %w", link.New, link.Err)
	}
	if err != nil && strings.Contains(err.Error(), "\n") {
		return errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return err
}
