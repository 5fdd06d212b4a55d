package scenarios

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/mechanism"
	"github.com/lockstep-sim/lockstep/faults"
	"github.com/lockstep-sim/lockstep/scenarios/strategy"
	"github.com/lockstep-sim/lockstep/sim"
)

// Replay is a run that can be run again, and what is to be seen then. Its text is the replay file:
//
//	lockstep replay 2
//	program v0.1.0
//	scenario dead-record
//	implementation redis/getset
//	transport direct
//	strategy pct
//	seed 17
//	hash 00c0ffee00c0ffee
//	violated mutual-exclusion
//	kind overlap
//	mechanism R1
//	plan
//	  crash c1 on c1 after SETNX or on c1 after EVAL
//	decisions
//	  c1>redis SETNX #1 takes 1.5ms
//	end
//
// The lines come in this order; those of the strategy, of the kind, of the mechanism and of decisions may be missing. A
// scenario is one that comes with the program, or the file scenario.yaml beside the replay file. The plan says what
// goes wrong and the decisions how long messages and spans of programs take; the seed decides everything else. A
// decision about something that does not occur has no effect.
//
// With "holds" in the place of "violated" the file tells of a run that must not show the violation, as one does once
// the lock is repaired.
type Replay struct {
	// Program is the version that wrote the file: another version may run differently.
	Program        string
	Scenario       string
	Implementation string
	Transport      Transport
	// Strategy is the one that found it; "" = the seed alone, without one.
	Strategy string
	Seed     uint64
	Hash     uint64
	// Holds says that the violation must not be seen.
	Holds     bool
	Violated  checker.Property
	Kind      string // of the violation; "" = any
	Mechanism string // its number; "" = none explains the violation
	Plan      faults.Plan
	// Decisions are the strategy's; nil = there was none.
	Decisions []strategy.Decision
}

// The names of files in the folder of a violation.
const (
	ReplayFile     = "replay.txt"
	replayScenario = "scenario.yaml"
)

const (
	replayFormat  = "lockstep replay "
	replayVersion = "2"
)

// String renders the replay file.
func (r *Replay) String() string {
	var b strings.Builder
	b.WriteString(replayFormat + replayVersion + "\n")
	fmt.Fprintf(&b, "program %s\n", r.Program)
	fmt.Fprintf(&b, "scenario %s\n", r.Scenario)
	fmt.Fprintf(&b, "implementation %s\n", r.Implementation)
	fmt.Fprintf(&b, "transport %s\n", r.Transport)
	optional(&b, "strategy", r.Strategy)
	fmt.Fprintf(&b, "seed %d\n", r.Seed)
	fmt.Fprintf(&b, "hash %016x\n", r.Hash)
	if r.Holds {
		fmt.Fprintf(&b, "holds %s\n", r.Violated)
	} else {
		fmt.Fprintf(&b, "violated %s\n", r.Violated)
	}
	optional(&b, "kind", r.Kind)
	optional(&b, "mechanism", r.Mechanism)
	b.WriteString("plan\n")
	for _, fault := range r.Plan {
		b.WriteString(planIndent + fault.String() + "\n")
	}
	if r.Decisions != nil {
		b.WriteString("decisions\n")
	}
	for _, decision := range r.Decisions {
		b.WriteString(planIndent + decision.String() + "\n")
	}
	b.WriteString("end\n")
	return b.String()
}

// optional writes a line that is left out when there is nothing to say.
func optional(b *strings.Builder, key, value string) {
	if value != "" {
		fmt.Fprintf(b, "%s %s\n", key, value)
	}
}

// ParseReplay reads a replay file. An error is one line with the file's name and the line.
func ParseReplay(name, text string) (*Replay, error) {
	p := &replayParser{name: name, lines: strings.Split(text, "\n")}
	r := &Replay{}
	if err := p.replay(r); err != nil {
		return nil, err
	}
	return r, nil
}

// replayParser walks over the lines of a replay file.
type replayParser struct {
	name  string
	lines []string
	next  int // index of the next line
}

// fail makes an error about the line that was read last.
func (p *replayParser) fail(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", p.name, max(p.next, 1), fmt.Sprintf(format, args...))
}

// line reads a line. The end of the text reads as an empty line.
func (p *replayParser) line() string {
	p.next++
	if p.next > len(p.lines) {
		p.next = len(p.lines)
		return ""
	}
	return strings.TrimSuffix(p.lines[p.next-1], "\r")
}

// value reads the line "key value".
func (p *replayParser) value(key, example string) (string, error) {
	return p.valueOf(p.line(), key, example)
}

// valueOf takes the value out of a line that was read.
func (p *replayParser) valueOf(line, key, example string) (string, error) {
	word, value, _ := strings.Cut(line, " ")
	if word != key || value == "" || strings.TrimSpace(value) != value || !utf8.ValidString(value) {
		return "", p.fail("%s: want %q", quoteShort(line), key+" "+example)
	}
	return value, nil
}

// quoteShort quotes a line of the file, or its beginning.
func quoteShort(line string) string {
	const most = 60
	if line == "" {
		return "an empty line"
	}
	if len(line) > most {
		return strconv.Quote(line[:most]) + "..."
	}
	return strconv.Quote(line)
}

func (p *replayParser) replay(r *Replay) error {
	version, is := strings.CutPrefix(p.line(), replayFormat)
	if !is {
		return p.fail("it is no replay file: want %q as its first line", replayFormat+replayVersion)
	}
	if version != replayVersion {
		return p.fail("it has format %s and this program reads format %s: use the version of lockstep that wrote it, or "+
			"hunt again", quoteShort(version), replayVersion)
	}
	for _, read := range []func(*Replay) error{p.setting, p.run, p.expected, p.plan} {
		if err := read(r); err != nil {
			return err
		}
	}
	for p.next < len(p.lines) {
		if line := p.line(); line != "" {
			return p.fail("%s: nothing may follow \"end\"", quoteShort(line))
		}
	}
	return nil
}

// setting reads what was run.
func (p *replayParser) setting(r *Replay) (err error) {
	if r.Program, err = p.value("program", "v0.1.0"); err != nil {
		return err
	}
	if r.Scenario, err = p.value("scenario", "dead-record"); err != nil {
		return err
	}
	if r.Scenario != replayScenario && !isName(r.Scenario) {
		return p.fail("scenario %q: want the name of a scenario, or %s for the file beside this one", r.Scenario,
			replayScenario)
	}
	if r.Implementation, err = p.value("implementation", "redis/getset"); err != nil {
		return err
	}
	if _, err := catalogue.Lookup(r.Implementation); err != nil {
		return p.fail("implementation %q: %v", r.Implementation, err)
	}
	transport, err := p.value("transport", "direct")
	if err != nil {
		return err
	}
	if r.Transport, err = ParseTransport(transport); err != nil {
		return p.fail("%v", err)
	}
	return nil
}

// run reads which run it was.
func (p *replayParser) run(r *Replay) error {
	line := p.line()
	if name, is := strings.CutPrefix(line, "strategy "); is {
		if err := strategy.Check(name); err != nil && name != strategy.Exhaustive {
			return p.fail("%v", err)
		}
		r.Strategy = name
		line = p.line()
	}
	seed, err := p.valueOf(line, "seed", "17")
	if err != nil {
		return err
	}
	if r.Seed, err = strconv.ParseUint(seed, 10, 64); err != nil || strconv.FormatUint(r.Seed, 10) != seed {
		return p.fail("seed %q: want a number from 0 to %d", seed, uint64(1<<64-1))
	}
	hash, err := p.value("hash", "00c0ffee00c0ffee")
	if err != nil {
		return err
	}
	if r.Hash, err = strconv.ParseUint(hash, 16, 64); err != nil || fmt.Sprintf("%016x", r.Hash) != hash {
		return p.fail("hash %q: want 16 digits of 0-9 and a-f", hash)
	}
	return nil
}

// expected reads what is to be seen.
func (p *replayParser) expected(r *Replay) error {
	line := p.line()
	key := "violated"
	if strings.HasPrefix(line, "holds ") {
		key, r.Holds = "holds", true
	}
	violated, err := p.valueOf(line, key, "mutual-exclusion")
	if err != nil {
		return err
	}
	if r.Violated = checker.Property(violated); !isProperty(violated) {
		return p.fail("%s %q: want one of %v", key, violated, checker.Properties())
	}
	line = p.line()
	if kind, is := strings.CutPrefix(line, "kind "); is {
		if !isName(kind) {
			return p.fail("kind %q: want a kind of violation, such as %s", kind, checker.KindOverlap)
		}
		r.Kind = kind
		line = p.line()
	}
	if ref, is := strings.CutPrefix(line, "mechanism "); is {
		known, ok := mechanism.Named(ref)
		if !ok || known.Ref != ref {
			return p.fail("mechanism %q: want a number such as R1", ref)
		}
		r.Mechanism = ref
		line = p.line()
	}
	if line != "plan" {
		return p.fail("%s: want \"plan\" or \"mechanism R1\"", quoteShort(line))
	}
	return nil
}

// planIndent stands before each fault and each decision.
const planIndent = "  "

// plan reads the faults, the decisions and the end.
func (p *replayParser) plan(r *Replay) error {
	r.Plan = faults.Plan{}
	for {
		line := p.line()
		if line == "end" || line == "decisions" && r.Decisions == nil {
			if line == "end" {
				return nil
			}
			r.Decisions = []strategy.Decision{}
			continue
		}
		text, is := strings.CutPrefix(line, planIndent)
		if !is {
			return p.fail("%s: want a %s, indented by two spaces, or \"end\"", quoteShort(line), p.entry(r))
		}
		if err := p.planned(r, text); err != nil {
			return err
		}
	}
}

// entry is what one line of the plan is, or of the decisions.
func (p *replayParser) entry(r *Replay) string {
	if r.Decisions == nil {
		return "fault"
	}
	return "decision"
}

// planned reads one fault or one decision.
func (p *replayParser) planned(r *Replay, text string) error {
	if r.Decisions != nil {
		decision, err := strategy.Parse(text)
		if err != nil {
			return p.fail("%v", err)
		}
		r.Decisions = append(r.Decisions, decision)
		return nil
	}
	fault, err := faults.Parse(text)
	if err != nil {
		var syntax *faults.SyntaxError
		if errors.As(err, &syntax) {
			return fmt.Errorf("%s:%d:%d: fault: %s", p.name, p.next, syntax.Column+len(planIndent), syntax.Message)
		}
		return p.fail("fault: %v", err)
	}
	r.Plan = append(r.Plan, fault)
	return nil
}

// ParseTransport reads the name of a transport.
func ParseTransport(text string) (Transport, error) {
	if t := Transport(text); t == Direct || t == Wire {
		return t, nil
	}
	return "", fmt.Errorf("transport %q: want direct or wire", text)
}

// Played is a replay that was run.
type Played struct {
	*Outcome
	// Same says that it was the very same run: its hash is that of the file.
	Same bool
	// Choice is the violation that the file tells of. Shows says that it is there, by the same mechanism if there is one.
	Choice Choice
	Shows  bool
}

// Load finds the scenario and makes sure that the plan fits it. folder is where the replay file lies.
func (r *Replay) Load(folder string) (Setup, error) {
	word := r.Scenario
	if word == replayScenario {
		word = filepath.Join(folder, replayScenario)
	}
	s, err := Load(word)
	if err != nil {
		return Setup{}, err
	}
	setup := Setup{
		Scenario: s, Implementation: r.Implementation, Seed: r.Seed, Transport: r.Transport, Plan: r.Plan, FixedPlan: true,
		Decisions: r.Decisions,
	}
	_, err = newRun(setup)
	return setup, err
}

// Play runs it again, in the setup that Load made.
func (r *Replay) Play(t *testing.T, setup Setup) (*Played, error) {
	outcome, err := Run(t, setup)
	if err != nil {
		return nil, err
	}
	if outcome.Err != nil {
		return nil, outcome.Err
	}
	played := &Played{Outcome: outcome, Same: outcome.Hash == r.Hash}
	played.Choice, played.Shows = outcome.find(target{property: r.Violated, kind: r.Kind, mechanism: r.Mechanism})
	return played, nil
}

// maxReplayBytes bounds what is read of a replay file.
const maxReplayBytes = 1 << 20

// ReadReplay reads a replay file, or the one in a folder, and tells in which folder it lies.
func ReadReplay(name string) (r *Replay, folder string, err error) {
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		name = filepath.Join(name, ReplayFile)
		info, err = os.Stat(name)
	}
	if err != nil {
		return nil, "", fmt.Errorf("replay %s: %w; name a replay file, or a folder that holds %s", name, errors.Unwrap(err),
			ReplayFile)
	}
	if !info.Mode().IsRegular() || info.Size() > maxReplayBytes {
		return nil, "", fmt.Errorf("replay %s: it is no file of less than 1 MiB", name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, "", fmt.Errorf("replay %s: %w", name, errors.Unwrap(err))
	}
	r, err = ParseReplay(name, string(text))
	return r, filepath.Dir(name), err
}

// Diverge runs a setup again and again, up to so many times, until two runs differ, and returns both and where they
// part. It returns "" when they were all the same.
func Diverge(t *testing.T, setup Setup, times int) (one, other *Outcome, difference string, err error) {
	setup.Trace = sim.Full
	if one, err = Run(t, setup); err != nil {
		return nil, nil, "", err
	}
	for range times {
		if other, err = Run(t, setup); err != nil {
			return nil, nil, "", err
		}
		if difference = sim.FirstDifference(&one.Trace, &other.Trace); difference != "" {
			return one, other, difference, nil
		}
	}
	return one, other, "", nil
}
