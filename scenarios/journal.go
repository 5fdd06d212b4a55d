package scenarios

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Journal is the folder in which a campaign keeps what it has run, so that it can go on after it was killed, and so
// that parts that ran on several machines can be put together.
//
// campaign.json says what is run, scenarios included. results.jsonl has one line for each seed that was run, written
// with one call as soon as its result is there. A process that is killed leaves at most one line without an end, which
// is cut off when the journal is opened; its seed is run again.
type Journal struct {
	dir      string
	document journalDocument
	results  []seedResult // what was there when it was opened
	whole    int64        // so many bytes of the results are whole lines
	file     *os.File     // nil = it is only read
}

// The names in a journal's folder.
const (
	journalFile = "campaign.json"
	resultsFile = "results.jsonl"
)

// journalSchema is the version of both files.
const journalSchema = "lockstep-campaign/1"

// Build is the program that runs a campaign. Results of different programs are not put together.
type Build struct {
	// Version is what "lockstep version" says.
	Version string `json:"version"`
	// Sum tells builds of one version apart, such as those before and after an edit of a lock; "" = it is not known.
	Sum string `json:"sum,omitempty"`
}

// journalDocument is campaign.json.
type journalDocument struct {
	Schema          string            `json:"schema"`
	Build           Build             `json:"build"`
	Scenarios       []journalScenario `json:"scenarios"`
	Implementations []string          `json:"implementations,omitempty"` // none = those that each scenario names
	Seeds           string            `json:"seeds,omitempty"`           // "" = what each expectation asks for
	Shard           string            `json:"shard"`
	Transport       Transport         `json:"transport"`
	Strategy        string            `json:"strategy,omitempty"` // "" = what each scenario says
	Twice           bool              `json:"twice,omitempty"`
}

// journalScenario is a scenario as the user named it, with the text of its file.
type journalScenario struct {
	Word string `json:"word"`
	Own  bool   `json:"own,omitempty"` // it does not come with the program
	Text string `json:"text"`
}

// documentOf is what a campaign's journal says of it.
func documentOf(c *Campaign, b Build) journalDocument {
	d := journalDocument{
		Schema: journalSchema, Build: b, Implementations: c.Implementations, Seeds: c.Seeds.String(),
		Shard: c.Shard.String(), Transport: c.Transport, Strategy: c.Strategy, Twice: c.Twice,
	}
	for _, s := range c.Scenarios {
		d.Scenarios = append(d.Scenarios, journalScenario{s.Word(), s.Source != "", string(s.Text)})
	}
	return d
}

// Word is how the user names the scenario: its name, or the path of its file.
func (s *Scenario) Word() string {
	if s.Source == "" {
		return s.Name
	}
	if s.word != "" {
		return s.word
	}
	return s.Source
}

// BeginJournal begins a new journal in a folder. A journal that was there is replaced.
func BeginJournal(dir string, c *Campaign, b Build) (*Journal, error) {
	j := &Journal{dir: dir, document: documentOf(c, b)}
	if err := j.begin(); err != nil {
		return nil, fmt.Errorf("the campaign cannot be kept: %w", err)
	}
	return j, nil
}

// begin makes the files. campaign.json comes last: a folder without it is no journal, whenever the process is killed.
func (j *Journal) begin() error {
	if err := os.MkdirAll(j.dir, 0o777); err != nil {
		return err
	}
	name := filepath.Join(j.dir, journalFile)
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// An older campaign that still runs goes on writing to the file that it has, which has no name any more.
	if err := os.Remove(filepath.Join(j.dir, resultsFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := j.open(); err != nil {
		return err
	}
	text, err := json.MarshalIndent(j.document, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(name+".partial", append(text, '\n'), 0o666); err != nil {
		return err
	}
	return os.Rename(name+".partial", name)
}

// open opens the results to add to them.
func (j *Journal) open() (err error) {
	j.file, err = os.OpenFile(filepath.Join(j.dir, resultsFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	return err
}

// ErrNoJournal says that a folder holds no campaign.
var ErrNoJournal = errors.New("it holds no campaign")

// ReadJournal reads a journal. The error is ErrNoJournal where there is none.
func ReadJournal(dir string) (*Journal, error) {
	j := &Journal{dir: dir}
	name := filepath.Join(dir, journalFile)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", dir, ErrNoJournal)
	}
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&j.document); err != nil {
		return nil, fmt.Errorf("%s: %w; begin the campaign anew", name, err)
	}
	if j.document.Schema != journalSchema {
		return nil, fmt.Errorf("%s: its schema is %q and this program reads %q; use the version that wrote it, or begin the "+
			"campaign anew", name, j.document.Schema, journalSchema)
	}
	return j, j.readResults()
}

// readResults reads the lines that are whole.
func (j *Journal) readResults() error {
	name := filepath.Join(j.dir, resultsFile)
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	j.whole = int64(len(text))
	number := 0
	for line := range bytes.Lines(text) {
		number++
		var result seedResult
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&result); err != nil {
			return fmt.Errorf("%s:%d: %w; begin the campaign anew", name, number, err)
		}
		j.results = append(j.results, result)
	}
	return nil
}

// Resume makes a journal that was read ready to be added to.
func (j *Journal) Resume() error {
	err := os.Truncate(filepath.Join(j.dir, resultsFile), j.whole)
	if err == nil {
		err = j.open()
	}
	if err != nil {
		return fmt.Errorf("the campaign cannot be kept: %w", err)
	}
	return nil
}

// Close ends the writing.
func (j *Journal) Close() error {
	if j.file == nil {
		return nil
	}
	return j.file.Close()
}

// Seeds counts the results that were there when the journal was read.
func (j *Journal) Seeds() int {
	n := 0
	for _, r := range j.results {
		if !r.Again {
			n++
		}
	}
	return n
}

// add keeps a result.
func (j *Journal) add(result seedResult) error {
	line, err := json.Marshal(result)
	if err == nil {
		_, err = j.file.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("the campaign cannot be kept: %w", err)
	}
	return nil
}

// recall gives a campaign that begins the results that the journal holds. Of two for one seed the first counts.
func (j *Journal) recall(r *campaignRun) error {
	for _, result := range j.results {
		if result.Row < 0 || result.Row >= len(r.rows) {
			return fmt.Errorf("%s: its results are of another campaign: there is no row %d; begin the campaign anew", j.dir,
				result.Row)
		}
		row := r.rows[result.Row]
		if result.Place < 0 || result.Place >= len(row.results) || row.row.Seeds.At(result.Place) != result.Seed {
			return fmt.Errorf("%s: its results are of another campaign: row %d has no seed %d at place %d; begin the "+
				"campaign anew", j.dir, result.Row, result.Seed, result.Place)
		}
		switch {
		case result.Again && row.seconds[result.Place] == nil:
			row.seconds[result.Place] = &result
		case !result.Again && row.results[result.Place] == nil:
			row.results[result.Place] = &result
			r.done++
		}
	}
	return nil
}

// Campaign is the campaign of the journal. What is not in the journal, such as the workers, is left to the caller.
func (j *Journal) Campaign() (*Campaign, error) {
	d := &j.document
	c := &Campaign{
		Implementations: d.Implementations, Transport: d.Transport, Strategy: d.Strategy, Twice: d.Twice, Journal: j,
	}
	var err error
	if d.Seeds != "" {
		if c.Seeds, err = ParseSeeds(d.Seeds); err != nil {
			return nil, fmt.Errorf("%s: %w", j.dir, err)
		}
	}
	if c.Shard, err = ParseShard(d.Shard); err != nil {
		return nil, fmt.Errorf("%s: %w", j.dir, err)
	}
	for _, kept := range d.Scenarios {
		name := kept.Word
		if !kept.Own {
			name += ".yaml"
		}
		s, err := Parse(name, []byte(kept.Text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", j.dir, err)
		}
		if s.Source, s.word = "", ""; kept.Own {
			s.Source, s.word = kept.Word, kept.Word
		}
		c.Scenarios = append(c.Scenarios, s)
	}
	return c, nil
}

// Fits says why a campaign is not the one of the journal; nil = it is.
func (j *Journal) Fits(c *Campaign, b Build) error {
	return j.document.fits(documentOf(c, b))
}

// fits tells in what two campaigns differ, the weightiest first; nil = in nothing.
func (d journalDocument) fits(other journalDocument) error {
	differ := func(what, one, two string) error { return fmt.Errorf("%s differ: %s and %s", what, one, two) }
	switch {
	case d.Build.Version != other.Build.Version:
		return differ("the versions of lockstep", d.Build.Version, other.Build.Version)
	case d.Build.Sum != other.Build.Sum:
		return errors.New("another build of lockstep began it, whose results may be others")
	case !slices.Equal(d.Scenarios, other.Scenarios):
		return errors.New("the scenarios differ, or what is in their files")
	case !slices.Equal(d.Implementations, other.Implementations):
		return differ("the implementations", fmt.Sprint(d.Implementations), fmt.Sprint(other.Implementations))
	case d.Seeds != other.Seeds:
		return differ("the seeds", orDefault(d.Seeds), orDefault(other.Seeds))
	case d.Shard != other.Shard:
		return differ("the parts", d.Shard, other.Shard)
	case d.Transport != other.Transport:
		return differ("the transports", string(d.Transport), string(other.Transport))
	case d.Strategy != other.Strategy:
		return differ("the strategies", orDefault(d.Strategy), orDefault(other.Strategy))
	case d.Twice != other.Twice:
		return errors.New("whether each seed is run twice differs")
	}
	return nil
}

// orDefault names what a campaign has none of its own of.
func orDefault(text string) string {
	if text == "" {
		return "the default"
	}
	return text
}

// Merge puts the journals of all parts of a campaign together into one, which is only read.
func Merge(journals ...*Journal) (*Journal, error) {
	if len(journals) == 0 {
		return nil, errors.New("there is no part")
	}
	first := journals[0]
	merged := &Journal{dir: first.dir, document: first.document}
	merged.document.Shard = Shard{}.String()
	parts := map[string]*Journal{}
	whole, err := ParseShard(first.document.Shard)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", first.dir, err)
	}
	for _, j := range journals {
		shard, err := ParseShard(j.document.Shard)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", j.dir, err)
		}
		if shard.Count != whole.Count {
			return nil, fmt.Errorf("%s is part %s and %s is part %s: want the parts of one campaign", first.dir, whole, j.dir,
				shard)
		}
		if twice := parts[shard.String()]; twice != nil {
			return nil, fmt.Errorf("part %s is there twice: %s and %s", shard, twice.dir, j.dir)
		}
		parts[shard.String()] = j
		// Builds of one version may differ from machine to machine.
		one, other := first.document, j.document
		one.Shard, other.Shard, one.Build.Sum, other.Build.Sum = "", "", "", ""
		if err := one.fits(other); err != nil {
			return nil, fmt.Errorf("%s and %s do not go together: %w", first.dir, j.dir, err)
		}
		merged.results = append(merged.results, j.results...)
	}
	for i := 1; i <= whole.Count; i++ {
		if name := (Shard{i, whole.Count}).String(); parts[name] == nil {
			return nil, fmt.Errorf("part %s is missing", name)
		}
	}
	return merged, nil
}
