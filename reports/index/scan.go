package index

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/reports/ci"
)

// Index is what a folder holds.
type Index struct {
	Campaigns []Campaign
	Runs      []Run // by scenario, implementation and folder
	// Figures are sweeps, plots, envelopes and whatever else was drawn over many runs.
	Figures []Figures
	// More says that there are more runs than a page lists.
	More bool
}

// Campaign is a campaign of the folder.
type Campaign struct {
	Name   string // of its folder
	Result *ci.Campaign
	// Broken says why there is no result; "" = there is one.
	Broken string
}

// Run is the folder of one run.
type Run struct {
	Folder         string // with slashes, as seen from the index
	Scenario       string
	Implementation string
	Seed           string
	Transport      string
	Verdict        Verdict
	Violated       []string // properties
	Unknown        []string
	Mechanisms     []string
	Written        time.Time
	Files          []string // that can be looked at, as seen from the run's folder
}

// Verdict is the worst verdict of a run, or that it cannot be read.
type Verdict string

// The verdicts.
const (
	Violated   Verdict = "violated"
	Unknown    Verdict = "unknown"
	Holds      Verdict = "holds"
	Unreadable Verdict = "unreadable"
)

// The names of what is read.
const (
	verdictFile     = "verdict.json"
	campaignsFolder = "campaign"
	// ResultFile is the name of the file in the folder of a campaign that has what came of it so far.
	ResultFile = "result.json"
)

const (
	mostRuns  = 20_000
	mostBytes = 64 << 20 // of a file that is read
	mostFiles = 100      // of a run
)

// Scanner reads a folder again and again. It reads the files of a run only when they have changed. It is for one
// goroutine at a time.
type Scanner struct {
	known map[string]Run // by folder
}

// Scan reads a folder. What it cannot read is listed as that; links are not followed.
func Scan(folder fs.FS) (*Index, error) { return new(Scanner).Scan(folder) }

// Scan reads a folder.
func (s *Scanner) Scan(folder fs.FS) (*Index, error) {
	x, err := s.scan(folder)
	if err != nil {
		return nil, err
	}
	s.known = map[string]Run{}
	for _, run := range x.Runs {
		s.known[run.Folder] = run
	}
	return x, nil
}

func (s *Scanner) scan(folder fs.FS) (*Index, error) {
	x := &Index{}
	if err := x.campaigns(folder); err != nil {
		return nil, err
	}
	if info, err := fs.Stat(folder, verdictFile); err == nil { // the folder of one run
		x.Runs = append(x.Runs, s.run(folder, ".", info))
	}
	if err := x.figures(folder); err != nil {
		return nil, err
	}
	scenarios, err := folders(folder, ".")
	if err != nil {
		return nil, err
	}
	for _, scenario := range scenarios {
		if !holdsScenario(scenario) {
			continue
		}
		locks, err := folders(folder, scenario)
		if err != nil {
			return nil, err
		}
		for _, lock := range locks {
			if err := s.runs(folder, path.Join(scenario, lock), x); err != nil {
				return nil, err
			}
		}
	}
	return x, nil
}

// folders lists the folders in a folder, without hidden ones: those are unfinished.
func folders(folder fs.FS, dir string) ([]string, error) {
	entries, err := fs.ReadDir(folder, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // it was replaced just now
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// campaigns reads what came of the campaigns.
func (x *Index) campaigns(folder fs.FS) error {
	names, err := folders(folder, campaignsFolder)
	if err != nil {
		return err
	}
	for _, name := range names {
		c := Campaign{Name: name}
		if c.Result, err = readCampaign(folder, path.Join(campaignsFolder, name, ResultFile)); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			c.Broken = err.Error()
		}
		x.Campaigns = append(x.Campaigns, c)
	}
	return nil
}

func readCampaign(folder fs.FS, name string) (*ci.Campaign, error) {
	file, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return ci.ReadJSON(io.LimitReader(file, mostBytes))
}

// runs reads the runs of one implementation in one scenario, in the order of their seeds.
func (s *Scanner) runs(folder fs.FS, dir string, x *Index) error {
	names, err := folders(folder, dir)
	if err != nil {
		return err
	}
	slices.SortFunc(names, func(a, b string) int {
		if len(a) != len(b) && strings.TrimRight(a, "0123456789") == strings.TrimRight(b, "0123456789") {
			return len(a) - len(b) // seed-9 before seed-10
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		if name == envelopeFolder {
			x.addFigures(folder, path.Join(dir, name), "at which size of a fault "+dir+" breaks")
			continue
		}
		if len(x.Runs) == mostRuns {
			x.More = true
			return nil
		}
		name = path.Join(dir, name)
		if info, err := fs.Stat(folder, path.Join(name, verdictFile)); err == nil {
			x.Runs = append(x.Runs, s.run(folder, name, info))
		}
	}
	return nil
}

// run reads the folder of a run, or remembers what it read: such a folder is replaced as a whole.
func (s *Scanner) run(folder fs.FS, dir string, info fs.FileInfo) Run {
	if known, ok := s.known[dir]; ok && known.Written.Equal(info.ModTime()) {
		return known
	}
	run := readRun(folder, dir)
	run.Written = info.ModTime().UTC()
	return run
}

// verdictDocument is what is read of a run's verdicts.
type verdictDocument struct {
	Scenario       string      `json:"scenario"`
	Implementation string      `json:"implementation"`
	Seed           json.Number `json:"seed"`
	Transport      string      `json:"transport"`
	Result         Verdict     `json:"result"`
	Verdicts       []struct {
		Property string  `json:"property"`
		Result   Verdict `json:"result"`
		Skipped  bool    `json:"skipped"`
	} `json:"verdicts"`
	Mechanisms []struct {
		Name   string `json:"name"`
		Number string `json:"number"`
	} `json:"mechanisms"`
}

// readRun reads the folder of a run.
func readRun(folder fs.FS, dir string) Run {
	run := Run{Folder: dir, Verdict: Unreadable, Files: runFiles(folder, dir)}
	parts := strings.Split(dir, "/")
	if len(parts) == 3 { // what the file says is more exact
		run.Scenario, run.Implementation, run.Seed = parts[0], parts[1], strings.TrimPrefix(parts[2], "seed-")
	}
	file, err := folder.Open(path.Join(dir, verdictFile))
	if err != nil {
		return run
	}
	defer file.Close()
	var d verdictDocument
	if err := json.NewDecoder(io.LimitReader(file, mostBytes)).Decode(&d); err != nil {
		return run
	}
	run.Scenario, run.Implementation, run.Seed, run.Transport = d.Scenario, d.Implementation, d.Seed.String(), d.Transport
	if d.Result == Violated || d.Result == Unknown || d.Result == Holds {
		run.Verdict = d.Result
	}
	for _, v := range d.Verdicts {
		switch {
		case v.Skipped:
		case v.Result == Violated:
			run.Violated = append(run.Violated, v.Property)
		case v.Result == Unknown:
			run.Unknown = append(run.Unknown, v.Property)
		}
	}
	for _, m := range d.Mechanisms {
		if name := fmt.Sprintf("%s (%s)", m.Name, m.Number); !slices.Contains(run.Mechanisms, name) {
			run.Mechanisms = append(run.Mechanisms, name)
		}
	}
	return run
}

// runFiles lists what is in the folder of a run and one level below it, the page to read first in front.
func runFiles(folder fs.FS, dir string) []string {
	var files []string
	list := func(below string) {
		entries, _ := fs.ReadDir(folder, path.Join(dir, below)) // what cannot be read is not listed
		for _, entry := range entries {
			if name := path.Join(below, entry.Name()); entry.Type().IsRegular() && len(files) < mostFiles &&
				!strings.HasPrefix(entry.Name(), ".") {
				files = append(files, name)
			}
		}
	}
	list(".")
	below, _ := folders(folder, dir)
	for _, name := range below {
		if dir != "." || name == "plots" || name == "data" { // not the folders of other runs
			list(name)
		}
	}
	rank := func(name string) int {
		if i := slices.Index([]string{"report.html", "story.txt", "replay.txt"}, name); i >= 0 {
			return i
		}
		return 3 + strings.Count(name, "/")
	}
	slices.SortStableFunc(files, func(a, b string) int { return rank(a) - rank(b) })
	return files
}
