package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/internal/visible"
	"github.com/lockstep-sim/lockstep/scenarios/strategy"
)

// ScriptFile is the name of the script in the folder of a run that was shrunk.
const ScriptFile = "shrunk.txt"

// Script is one run as a text to read, to change and to run again: what happens there in prose, the machines, programs
// and faults, the decisions, and what comes of it.
//
//	# c2 and c3 both hold the lock.
//
//	scenario
//	name: dead-record
//	clients: 2
//	program:
//	  c1, c2: [lock, work 1s, unlock]
//	----
//
//	run impl=redis/getset seed=1
//	c1>redis GETSET #1 takes 1.5ms
//	----
//	     2.000ms c1 acquire
//	mutual-exclusion violated: overlap
//
// The lines below the last ---- are what is expected. It is in the format of package datadriven
// (github.com/cockroachdb/datadriven), so a Go test can run a folder of such files.
type Script struct {
	// Prose is what stands before the first command, comments each.
	Prose          []string
	Scenario       *Scenario
	Implementation string
	Transport      Transport
	Seed           uint64
	Decisions      []strategy.Decision
	Expected       string
}

// scriptScenario is the command that begins a script.
const scriptScenario = "scenario"

// scriptEnd separates what is run from what is expected.
const scriptEnd = "----"

// String renders the file.
func (s *Script) String() string {
	var b strings.Builder
	for _, line := range s.Prose {
		b.WriteString(strings.TrimRight("# "+line, " ") + "\n")
	}
	fmt.Fprintf(&b, "\nscenario\n%s\n%s\n\n", strings.TrimRight(string(s.Scenario.Text), "\n"), scriptEnd)
	implementation := s.Implementation
	if strings.Contains(implementation, "!") {
		implementation = "(" + implementation + ")"
	}
	fmt.Fprintf(&b, "run impl=%s seed=%d", implementation, s.Seed)
	if s.Transport != Direct {
		fmt.Fprintf(&b, " transport=%s", s.Transport)
	}
	b.WriteString("\n")
	for _, decision := range s.Decisions {
		b.WriteString(decision.String() + "\n")
	}
	b.WriteString(scriptEnd + "\n" + s.Expected)
	return b.String()
}

// ScriptOf is the script of a run.
func ScriptOf(setup Setup, outcome *Outcome, prose []string) *Script {
	s := &Script{
		Prose: prose, Scenario: setup.Scenario, Implementation: setup.Implementation, Transport: setup.Transport,
		Seed: setup.Seed, Decisions: setup.Decisions, Expected: Events(outcome),
	}
	if s.Transport == "" {
		s.Transport = Direct
	}
	return s
}

// Setup is the run that the script describes.
func (s *Script) Setup() Setup {
	return Setup{
		Scenario: s.Scenario, Implementation: s.Implementation, Transport: s.Transport, Seed: s.Seed,
		Decisions: s.Decisions,
	}
}

// Play runs the script and returns what comes of it, as Expected has it.
func (s *Script) Play(t *testing.T) (*Outcome, string, error) {
	outcome, err := Run(t, s.Setup())
	if err == nil {
		err = outcome.Err
	}
	if err != nil {
		return nil, "", err
	}
	return outcome, Events(outcome), nil
}

// Events renders what happened in a run, one line for each event, and what was violated. Names that would act on a
// terminal or break a line are written so that they do not.
func Events(o *Outcome) string {
	var b strings.Builder
	for _, e := range o.History.Events {
		if line := eventLine(&e); line != "" {
			fmt.Fprintf(&b, "%12s %s\n", milliseconds(e.Time), visible.Line(line))
		}
	}
	violated := 0
	for _, v := range o.Verdicts {
		if v.Result != checker.Violated || v.Skipped {
			continue
		}
		violated++
		var kinds []string
		for _, violation := range v.Violations {
			if !slices.Contains(kinds, violation.Kind) {
				kinds = append(kinds, violation.Kind)
			}
		}
		fmt.Fprintf(&b, "%s violated: %s\n", v.Property, strings.Join(kinds, ", "))
	}
	for _, f := range o.Mechanisms {
		fmt.Fprintf(&b, "%s by %s (%s)\n", f.Property, f.Mechanism.Ref, f.Mechanism.Name)
	}
	if violated == 0 {
		b.WriteString("nothing violated\n")
	}
	return b.String()
}

// milliseconds renders a time with three decimals.
func milliseconds(d time.Duration) string {
	us := d.Round(time.Microsecond).Microseconds()
	return fmt.Sprintf("%d.%03dms", us/1000, us%1000)
}

// eventLine renders what an event says; "" for what is only there for checkers.
func eventLine(e *checker.Event) string {
	switch e.F {
	case checker.FaultApplied:
		return e.Node + " fault: " + e.Command
	case checker.RecordSet:
		record := fmt.Sprintf("record: %s count %d (%s)", e.Record.Owner, e.Record.Count, e.Command)
		return strings.TrimSpace(e.Node + " " + record)
	case checker.RecordGone:
		return strings.TrimSpace(fmt.Sprintf("%s record gone (%s)", e.Node, e.Command))
	}
	if e.Process < 0 {
		return ""
	}
	line := e.Node + " " + e.F
	if e.Type != checker.Invoke && e.F != checker.Crash && e.F != checker.Applied {
		line += " " + string(e.Type)
	}
	if e.F == checker.Applied && !e.Accepted {
		line += " refused"
	}
	if e.Error != "" {
		line += ": " + e.Error
	}
	return line
}

// IsScript tells whether a text is a script, and not a replay file: its first line that is neither empty nor a comment
// is the command "scenario".
func IsScript(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); line != "" && !strings.HasPrefix(line, "#") {
			return line == scriptScenario
		}
	}
	return false
}

// ReadScript reads a script file.
func ReadScript(name string) (*Script, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return ParseScript(name, string(text))
}

// ParseScript reads a script. An error is one line with the file's name and the line.
func ParseScript(name, text string) (*Script, error) {
	p := &scriptParser{name: name, lines: strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")}
	s := &Script{Transport: Direct}
	for p.next < len(p.lines) && (p.lines[p.next] == "" || strings.HasPrefix(p.lines[p.next], "#")) {
		if line := p.lines[p.next]; line != "" {
			s.Prose = append(s.Prose, strings.TrimPrefix(strings.TrimPrefix(line, "#"), " "))
		}
		p.next++
	}
	if err := p.scenario(s); err != nil {
		return nil, err
	}
	for p.next < len(p.lines) && p.lines[p.next] == "" {
		p.next++
	}
	return s, p.run(s)
}

// scriptParser walks over the lines of a script.
type scriptParser struct {
	name  string
	lines []string
	next  int
}

func (p *scriptParser) fail(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", p.name, line, fmt.Sprintf(format, args...))
}

// block reads lines up to the separator.
func (p *scriptParser) block() (from int, lines []string, err error) {
	from = p.next
	for ; p.next < len(p.lines); p.next++ {
		if p.lines[p.next] == scriptEnd {
			p.next++
			return from, p.lines[from : p.next-1], nil
		}
	}
	return 0, nil, p.fail(len(p.lines), "no line of %s follows", scriptEnd)
}

// scenario reads the scenario, whose errors are placed in the script.
func (p *scriptParser) scenario(s *Script) error {
	if p.next >= len(p.lines) || p.lines[p.next] != "scenario" {
		return p.fail(min(p.next+1, len(p.lines)), "want \"scenario\", then its lines, then %s", scriptEnd)
	}
	p.next++
	from, lines, err := p.block()
	if err != nil {
		return err
	}
	// The lines keep their numbers when as many empty ones stand before them.
	source := strings.Join(lines, "\n") + "\n"
	if s.Scenario, err = Parse(p.name, []byte(strings.Repeat("\n", from)+source)); err != nil {
		return err
	}
	s.Scenario.Text, s.Scenario.Source = []byte(source), filepath.Join(filepath.Dir(p.name), replayScenario)
	return nil
}

// run reads the run and what is expected of it.
func (p *scriptParser) run(s *Script) error {
	if p.next >= len(p.lines) || !strings.HasPrefix(p.lines[p.next], "run ") {
		return p.fail(min(p.next+1, len(p.lines)), "want \"run impl=NAME seed=N\"")
	}
	for _, word := range strings.Fields(p.lines[p.next])[1:] {
		if err := p.setting(s, word); err != nil {
			return err
		}
	}
	if s.Implementation == "" {
		return p.fail(p.next+1, "want an implementation, such as impl=redis/getset")
	}
	p.next++
	from, lines, err := p.block()
	if err != nil {
		return err
	}
	for i, line := range lines {
		decision, err := strategy.Parse(line)
		if err != nil {
			return p.fail(from+i+1, "%v", err)
		}
		s.Decisions = append(s.Decisions, decision)
	}
	if s.Expected = strings.TrimRight(strings.Join(p.lines[p.next:], "\n"), "\n"); s.Expected != "" {
		s.Expected += "\n"
	}
	if _, err := newRun(s.Setup()); err != nil {
		return p.fail(from, "%v", err)
	}
	return nil
}

// setting reads one word of the run.
func (p *scriptParser) setting(s *Script, word string) (err error) {
	key, value, _ := strings.Cut(word, "=")
	value = strings.TrimSuffix(strings.TrimPrefix(value, "("), ")")
	switch key {
	case "impl":
		entry, err := catalogue.Lookup(value)
		if err != nil {
			return p.fail(p.next+1, "%v", err)
		}
		s.Implementation = entry.Name
	case "seed":
		if s.Seed, err = strconv.ParseUint(value, 10, 64); err != nil {
			return p.fail(p.next+1, "seed %q: want a number from 0 to %d", value, uint64(1<<64-1))
		}
	case "transport":
		if s.Transport, err = ParseTransport(value); err != nil {
			return p.fail(p.next+1, "%v", err)
		}
	default:
		return p.fail(p.next+1, "%q: want impl=NAME, seed=N or transport=wire", word)
	}
	return nil
}
