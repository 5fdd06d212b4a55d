package scenarios

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/faults"
	"github.com/lockstep-sim/lockstep/impl"
	"github.com/lockstep-sim/lockstep/scenarios/strategy"
	"github.com/lockstep-sim/lockstep/sim"
)

//go:embed library/*.yaml
var library embed.FS

// Library returns the scenarios that come with the program, sorted by name.
func Library() []*Scenario {
	names, err := fs.Glob(library, "library/*.yaml")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	var all []*Scenario
	for _, name := range names {
		text, err := library.ReadFile(name)
		if err != nil {
			panic(err)
		}
		s, err := Parse(path.Base(name), text)
		if err != nil {
			panic(fmt.Sprintf("an embedded scenario is broken: %v", err)) // every one is parsed by the tests
		}
		s.Source = ""
		all = append(all, s)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

// LibraryText returns the file of a scenario that comes with the program.
func LibraryText(name string) ([]byte, error) { return library.ReadFile("library/" + name + ".yaml") }

// Load finds a scenario: by name among those that come with the program, or by path when the word has a slash or ends
// in .yaml or .yml.
func Load(word string) (*Scenario, error) {
	if strings.ContainsAny(word, "/\\") || strings.HasSuffix(word, ".yaml") || strings.HasSuffix(word, ".yml") {
		return loadFile(word)
	}
	if text, err := LibraryText(word); err == nil {
		s, err := Parse(word+".yaml", text)
		if err == nil {
			s.Source = ""
		}
		return s, err
	}
	var names []string
	for _, s := range Library() {
		names = append(names, s.Name)
	}
	meant := ""
	if near := impl.Near(word, names); len(near) > 0 {
		meant = "did you mean " + strings.Join(near, " or ") + "? "
	}
	return nil, fmt.Errorf("no scenario is named %q: %ssee \"lockstep list\", or name the path of a .yaml file", word,
		meant)
}

// maxFileBytes bounds what is read of a scenario's file.
const maxFileBytes = 1 << 20

func loadFile(name string) (*Scenario, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", name, errors.Unwrap(err))
	}
	if info.IsDir() {
		return nil, fmt.Errorf("scenario %s: it is a folder; name the .yaml file in it", name)
	}
	if info.Size() > maxFileBytes {
		return nil, fmt.Errorf("scenario %s: the file is larger than 1 MiB", name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", name, errors.Unwrap(err))
	}
	s, err := Parse(name, text)
	if err != nil {
		return nil, err
	}
	s.word = name
	if s.Source, err = filepath.Abs(name); err != nil {
		return nil, err
	}
	return s, nil
}

// text is a scalar that remembers where it stands.
type text struct {
	value        string
	line, column int
	indent       int // of a block: how far its lines are moved to the right
}

// UnmarshalYAML takes any scalar as it is written.
func (t *text) UnmarshalYAML(node ast.Node) error {
	scalar, ok := node.(ast.ScalarNode)
	token := node.GetToken()
	t.line, t.column = token.Position.Line, token.Position.Column
	if !ok {
		return at(*t, errors.New("want a word, a number or a block of text (a bar, then indented lines), "+
			"not a list or a map"))
	}
	t.value = fmt.Sprint(scalar.GetValue())
	if block, isBlock := node.(*ast.LiteralNode); isBlock {
		t.value = block.Value.Value
		origin := block.Value.GetToken().Origin
		t.indent = len(origin) - len(strings.TrimLeft(origin, " "))
	}
	if scalar.Type() == ast.NullType {
		t.value = ""
	}
	return nil
}

// placedError is an error with its place in the file.
type placedError struct {
	line, column int
	err          error
}

func (e *placedError) Error() string { return fmt.Sprintf("%d:%d: %v", e.line, e.column, e.err) }
func (e *placedError) Unwrap() error { return e.err }

func at(t text, err error) error { return &placedError{t.line, t.column, err} }

// document mirrors the file.
type document struct {
	Name  text   `yaml:"name"`
	About string `yaml:"about"`
	Lock  struct {
		Name  text `yaml:"name"`
		Lease text `yaml:"lease"`
	} `yaml:"lock"`
	Clients         text                         `yaml:"clients"`
	Identity        text                         `yaml:"identity"`
	Random          text                         `yaml:"random"`
	Threads         text                         `yaml:"threads"`
	Retries         text                         `yaml:"retries"`
	Swarm           text                         `yaml:"swarm"`
	TimeServer      text                         `yaml:"timeserver"`
	Servers         text                         `yaml:"servers"`
	Server          text                         `yaml:"server"`
	Differ          map[string]map[string]string `yaml:"differ"`
	Network         text                         `yaml:"network"`
	Strategy        text                         `yaml:"strategy"`
	Program         map[string][]text            `yaml:"program"`
	Heal            text                         `yaml:"heal"`
	Until           text                         `yaml:"until"`
	Grace           text                         `yaml:"grace"`
	Faults          text                         `yaml:"faults"`
	Implementations map[string]struct {
		Knobs  map[string]string `yaml:"knobs"`
		Faults text              `yaml:"faults"`
		Find   map[string]text   `yaml:"find"`
		Allow  []text            `yaml:"allow"`
		Why    string            `yaml:"why"`
	} `yaml:"implementations"`
}

// Parse reads a scenario. An error is one line with the file's name, line and column, and what to do.
func Parse(name string, source []byte) (*Scenario, error) {
	var d document
	err := decode(source, &d, "a scenario")
	if err != nil {
		return nil, fmt.Errorf("%s:%w", name, oneLine(err))
	}
	s, err := d.scenario()
	if err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	s.Source, s.Text = name, source
	return s, nil
}

// decode reads the YAML of something into a document. The library panics at some files that are none, such as a list
// that is left open.
func decode(source []byte, d any, something string) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("it is no YAML: a value, a list or a map is cut off; see the README for what %s looks like",
				something)
		}
	}()
	return yaml.UnmarshalContext(context.Background(), source, d, yaml.Strict())
}

// oneLine makes one line of the library's errors, which quote the source over several lines.
func oneLine(err error) error {
	var placed *placedError
	if errors.As(err, &placed) {
		return placed
	}
	var located yaml.Error
	if !errors.As(err, &located) {
		return fmt.Errorf("1:1: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	position := text{line: 1, column: 1}
	if token := located.GetToken(); token != nil {
		position.line, position.column = token.Position.Line, token.Position.Column
	}
	message := located.GetMessage()
	var unknown *yaml.UnknownFieldError
	if errors.As(err, &unknown) {
		message = strings.Replace(message, "unknown field", "unknown key", 1) + "; see the README for the keys"
	}
	return at(position, errors.New(strings.Join(strings.Fields(message), " ")))
}

// scenario checks a document and makes a Scenario of it.
func (d *document) scenario() (*Scenario, error) {
	s := &Scenario{
		Name: d.Name.value, About: strings.TrimSpace(d.About), Lock: d.Lock.Name.value,
		Programs: map[string]Program{},
	}
	if s.Lock == "" {
		s.Lock = "job"
	}
	if !isName(s.Name) {
		return nil, at(orFirst(d.Name), fmt.Errorf("name %q: want small letters, digits and dashes, such as dead-record",
			s.Name))
	}
	if slices.Contains(reservedNames, s.Name) {
		return nil, at(orFirst(d.Name), fmt.Errorf("name %q: it is taken in the folder of runs; want another one", s.Name))
	}
	if err := d.numbers(s); err != nil {
		return nil, err
	}
	for _, client := range sortedKeys(d.Program) {
		if err := d.program(s, client); err != nil {
			return nil, err
		}
	}
	for i := 1; i <= s.Clients; i++ {
		if _, ok := s.Programs[Client(i)]; !ok {
			return nil, at(orFirst(d.Clients), fmt.Errorf("program: %s has none; add it, or one for \"others\"", Client(i)))
		}
	}
	var err error
	if s.Faults, err = templates(s, d.Faults); err != nil {
		return nil, err
	}
	return s, d.expectations(s)
}

// reservedNames are those of other things that lie beside the folders of scenarios.
var reservedNames = []string{"campaign", "herd", "latest", "plots", "strategies", "sweep"}

func isName(name string) bool {
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' {
			return false
		}
	}
	return name != "" && name[0] != '-' && len(name) <= 64
}

// orFirst stands in for a key that is missing.
func orFirst(t text) text {
	if t.line == 0 {
		t.line, t.column = 1, 1
	}
	return t
}

// span reads a duration, with a default for a missing key.
func (t text) span(key string, fallback time.Duration) (time.Duration, error) {
	if t.value == "" {
		return fallback, nil
	}
	d, err := parseSpan(t.value)
	if err != nil {
		return 0, at(t, fmt.Errorf("%s: %w", key, err))
	}
	return d, nil
}

func (d *document) numbers(s *Scenario) error {
	var err error
	if s.Clients, err = strconv.Atoi(d.Clients.value); err != nil || s.Clients < 1 || s.Clients > 1000 {
		return at(orFirst(d.Clients), fmt.Errorf("clients %q: want a number from 1 to 1000", d.Clients.value))
	}
	if s.Lease, err = d.Lock.Lease.span("lease", 10*time.Second); err != nil {
		return err
	}
	if s.Until, err = d.Until.span("until", 30*time.Second); err != nil {
		return err
	}
	if s.Heal, err = d.Heal.span("heal", s.Until); err != nil {
		return err
	}
	if s.Grace, err = d.Grace.span("grace", 2*s.Lease); err != nil {
		return err
	}
	if s.Heal > s.Until {
		return at(orFirst(d.Heal), fmt.Errorf("heal: %v is after until, %v", s.Heal, s.Until))
	}
	if err := d.sharing(s); err != nil {
		return err
	}
	switch d.Server.value {
	case "", redisMachine:
		s.Server = redisMachine
	case zooKeeperMachine:
		s.Server = zooKeeperMachine
		if !strings.HasPrefix(s.Lock, "/") {
			s.Lock = "/" + s.Lock
		}
	default:
		return at(d.Server, fmt.Errorf("server %q: want redis or zookeeper", d.Server.value))
	}
	if err := d.servers(s); err != nil {
		return err
	}
	s.Differ = d.Differ
	switch d.TimeServer.value {
	case "", "true":
		s.TimeServer = true
	case "false":
	default:
		return at(d.TimeServer, fmt.Errorf("timeserver %q: want true or false", d.TimeServer.value))
	}
	if s.Strategy = d.Strategy.value; s.Strategy != "" {
		if err := strategy.Check(s.Strategy); err != nil {
			return at(d.Strategy, err)
		}
	}
	if d.Network.value != "" {
		if s.Latency, err = parseRange(d.Network.value); err != nil {
			return at(d.Network, fmt.Errorf("network: %w", err))
		}
		return nil
	}
	s.Latency = sim.Range{Min: 500 * time.Microsecond, Max: 2 * time.Millisecond}
	return nil
}

// maxPrefixes is how many clients can each have an identity whose text begins with that of the one before.
const maxPrefixes = 18

// sharing reads what clients and their threads have in common, and what their library does by itself.
func (d *document) sharing(s *Scenario) error {
	switch d.Identity.value {
	case "", "own":
	case "shared":
		s.SharedIdentity = true
	case "prefixes":
		s.PrefixIdentity = true
		if s.Clients > maxPrefixes {
			return at(d.Identity, fmt.Errorf("identity prefixes: it is for %d clients at most", maxPrefixes))
		}
	default:
		return at(d.Identity, fmt.Errorf("identity %q: want own, shared or prefixes", d.Identity.value))
	}
	switch d.Random.value {
	case "", "own":
	case "shared":
		s.SharedRandom = true
	default:
		return at(d.Random, fmt.Errorf("random %q: want own or shared", d.Random.value))
	}
	var err error
	if s.Threads, err = parseThreads(d.Threads.value); err != nil {
		return at(d.Threads, err)
	}
	if d.Retries.value != "" {
		if s.Retries, err = strconv.Atoi(d.Retries.value); err != nil || s.Retries < 0 || s.Retries > 100 {
			return at(d.Retries, fmt.Errorf("retries %q: want a number from 0 to 100", d.Retries.value))
		}
	}
	if d.Swarm.value != "" {
		if s.Swarm, err = faults.ParseKinds(d.Swarm.value); err != nil {
			return at(d.Swarm, fmt.Errorf("swarm: %w", err))
		}
	}
	return nil
}

// servers reads how many machines keep the lock.
func (d *document) servers(s *Scenario) error {
	s.Servers = 1
	if d.Servers.value == "" {
		return nil
	}
	n, err := strconv.Atoi(d.Servers.value)
	if err != nil || n < 1 || n > mostServers {
		return at(d.Servers, fmt.Errorf("servers %q: want a number from 1 to %d", d.Servers.value, mostServers))
	}
	if n > 1 && s.Server != redisMachine {
		return at(d.Servers, fmt.Errorf("servers %d: only Redis has several machines that know nothing of each other", n))
	}
	s.Servers = n
	return nil
}

// program reads the steps of one key of the program block: a client's name, several with commas, or "others".
func (d *document) program(s *Scenario, key string) error {
	var p Program
	first := text{line: 1, column: 1}
	lines := d.Program[key]
	if len(lines) > 0 {
		first = lines[0]
	}
	p.Rounds = 1
	if n := len(lines); n > 0 && strings.HasPrefix(lines[n-1].value, "repeat") {
		if _, err := fmt.Sscanf(lines[n-1].value+"\n", "repeat %d\n", &p.Rounds); lines[n-1].value == "repeat" {
			p.Rounds = 0
		} else if err != nil || p.Rounds < 1 {
			return at(lines[n-1], fmt.Errorf("step %q: want \"repeat\" or \"repeat 3\"", lines[n-1].value))
		}
		lines = lines[:n-1]
	}
	for _, line := range lines {
		step, err := ParseStep(line.value)
		if err != nil {
			return at(line, err)
		}
		p.Steps = append(p.Steps, step)
	}
	if len(p.Steps) == 0 {
		return at(first, fmt.Errorf("program of %s: it has no steps", key))
	}
	if err := p.link(); err != nil {
		return at(first, fmt.Errorf("program of %s: %w", key, err))
	}
	for name := range strings.SplitSeq(key, ",") {
		if name = strings.TrimSpace(name); name == "others" {
			continue
		}
		machine, thread, isThread := strings.Cut(name, "/")
		number, err := strconv.Atoi(thread)
		badThread := isThread && (err != nil || number < 2 || number > 9)
		if !slices.Contains(s.Machines(), machine) || !strings.HasPrefix(machine, "c") || badThread {
			return at(first, fmt.Errorf("program of %q: want c1 to c%d, c1/2 for a second thread, or others", name, s.Clients))
		}
		if _, twice := s.Programs[name]; twice {
			return at(first, fmt.Errorf("program of %s: it has another one", name))
		}
		s.Programs[name] = p
	}
	if strings.TrimSpace(key) == "others" {
		d.others(s, p)
	}
	return nil
}

// others gives a program to the clients that no key names.
func (d *document) others(s *Scenario, p Program) {
	named := strings.Split(strings.ReplaceAll(strings.Join(sortedKeys(d.Program), ","), " ", ""), ",")
	for i := 1; i <= s.Clients; i++ {
		if !slices.Contains(named, Client(i)) {
			s.Programs[Client(i)] = p
		}
	}
}

// templates reads a block of fault lines and checks the machines that they name. The faults are a block of text, not a
// list: in a list, YAML would take the "#2" of a fault for a comment.
func templates(s *Scenario, block text) ([]faults.Template, error) {
	all, err := faults.ParseTemplates(block.value)
	var syntax *faults.SyntaxError
	if errors.As(err, &syntax) {
		cause := fmt.Errorf("fault: %s", syntax.Message)
		return nil, &placedError{block.line + syntax.Line, block.indent + syntax.Column, cause}
	} else if err != nil {
		return nil, at(block, err)
	}
	for _, t := range all {
		if err := faults.Validate(faults.Plan{t.Low()}, s.Machines()); err != nil {
			return nil, at(block, err)
		}
	}
	return all, nil
}

func (d *document) expectations(s *Scenario) error {
	for _, name := range sortedKeys(d.Implementations) {
		raw := d.Implementations[name]
		e := Expectation{Implementation: name, Knobs: raw.Knobs, Why: strings.TrimSpace(raw.Why)}
		if raw.Faults.line > 0 {
			var err error
			if e.Faults, err = templates(s, raw.Faults); err != nil {
				return err
			}
		}
		for _, what := range sortedKeys(raw.Find) {
			within, err := strconv.Atoi(raw.Find[what].value)
			if err != nil || within < 1 {
				return at(raw.Find[what], fmt.Errorf("find %s: %q: want the number of seeds within which it must be found",
					what, raw.Find[what].value))
			}
			if !isProperty(what) && !isMechanism(what) {
				return at(raw.Find[what], fmt.Errorf("find %s: it is neither a property nor a known mechanism", what))
			}
			e.Find = append(e.Find, MustFind{what, within})
		}
		for _, property := range raw.Allow {
			if !isProperty(property.value) && property.value != string(LeakAllowed) {
				return at(property, fmt.Errorf("allow %q: want one of %v", property.value, checker.Properties()))
			}
			e.Allow = append(e.Allow, checker.Property(property.value))
		}
		s.Implementations = append(s.Implementations, e)
	}
	return nil
}
