package scenarios

import (
	"fmt"
	"math"
	"sort"
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/mechanism"
	"github.com/lockstep-sim/lockstep/faults"
	"github.com/lockstep-sim/lockstep/sim"
)

// Scenario is a workload on some machines, what goes wrong there, and what is expected of whom.
type Scenario struct {
	Name  string
	About string
	// Source is where it was read from: a path, or "" for one that comes with the program.
	Source string
	word   string // the path as the user wrote it; "" = it comes with the program
	// Text is the file itself.
	Text []byte

	// Server is the machine that keeps the lock, and so the backend of the implementations that can run: redisMachine
	// or zooKeeperMachine.
	Server string
	// Servers is how many of them there are, each by itself. More than one is for locks that count a majority.
	Servers int
	Lock    string // the lock's name
	Lease   time.Duration
	Clients int // machines c1, c2, ...
	// SharedIdentity gives all clients one Owner, as cloned machines have it.
	SharedIdentity bool
	// PrefixIdentity gives each client an Owner whose text begins with that of the client before.
	PrefixIdentity bool
	// SharedRandom has the locks of all clients draw the same random bytes, as machines do that were started from one
	// image and seed.
	SharedRandom bool
	// Threads says what the threads of one machine share; "" = OwnThreads.
	Threads Threads
	// Retries is how often the client library of Redis sends a command again when no answer came.
	Retries    int
	TimeServer bool
	Latency    sim.Range
	// Strategy is the one that campaigns run its seeds with; "" = strategy.Uniform.
	Strategy string
	// Programs says what each client does, by machine name. "c1/2" is the second thread of c1, which shares the lock
	// object of the first.
	Programs map[string]Program
	// Differ gives single machines other knobs than the implementation's.
	Differ map[string]map[string]string

	// Heal is when all faults end; liveness is judged from then on. Until is when clients stop to begin anew. Grace is
	// the longest time for which a wanted lock may be nobody's after Heal; the run ends at the latest Grace after Until.
	Heal, Until, Grace time.Duration

	Faults []faults.Template
	// Swarm is the pool that each seed draws further faults from.
	Swarm           []faults.Kind
	Implementations []Expectation // sorted by name
}

// Expectation is what must come out for one implementation.
type Expectation struct {
	Implementation string
	Knobs          map[string]string
	// Faults replaces the scenario's, for a lock whose commands are others; nil = the scenario's.
	Faults []faults.Template
	// Find lists what some seed among the first Within must show.
	Find []MustFind
	// Allow lists properties that may be violated besides, with the reason in Why.
	Allow []checker.Property
	Why   string
}

// MustFind is a property that must be seen violated, or a mechanism that must be recognised, by its name or its R
// number.
type MustFind struct {
	What   string
	Within int
}

// Expects finds the expectation for an implementation.
func (s *Scenario) Expects(implementation string) (Expectation, bool) {
	for _, e := range s.Implementations {
		if e.Implementation == implementation {
			return e, true
		}
	}
	return Expectation{}, false
}

// Client names the i-th client machine, from 1.
func Client(i int) string { return fmt.Sprintf("c%d", i) }

// Machines names all machines: servers first, then clients.
func (s *Scenario) Machines() []string {
	machines := append(s.servers(), storeMachine)
	if s.TimeServer {
		machines = append(machines, timeServerMachine)
	}
	for i := 1; i <= s.Clients; i++ {
		machines = append(machines, Client(i))
	}
	return machines
}

// servers names the machines that keep the lock.
func (s *Scenario) servers() []string {
	if s.Servers <= 1 {
		return []string{s.Server}
	}
	var names []string
	for i := 1; i <= s.Servers; i++ {
		names = append(names, fmt.Sprintf("%s%d", s.Server, i))
	}
	return names
}

// The names of the server machines. Where several keep the lock they are numbered: redis1, redis2, ...
const (
	redisMachine      = "redis"
	zooKeeperMachine  = "zookeeper"
	storeMachine      = "store"
	timeServerMachine = "timeserver"
)

// threads lists the programs of a machine: its own, then those of its further threads, in order.
func (s *Scenario) threads(machine string) []string {
	names := []string{machine}
	for _, name := range sortedKeys(s.Programs) {
		if strings.HasPrefix(name, machine+"/") {
			names = append(names, name)
		}
	}
	return names
}

// Program is what one client does: steps in order, and how often.
type Program struct {
	Steps []Step
	// Rounds is how often the steps are run; 0 = again and again until the scenario's Until.
	Rounds int
}

// Verb says what a Step does.
type Verb string

// The verbs of steps. An acquire that is refused or fails skips everything up to its unlock.
const (
	Wait   Verb = "wait"   // do nothing for a while
	Lock   Verb = "lock"   // acquire; with For, for at most that long
	Try    Verb = "try"    // one attempt
	Work   Verb = "work"   // do something for a while, as long as the lock is believed to be held
	Write  Verb = "write"  // write to the protected resource, if the lock is believed to be held
	Unlock Verb = "unlock" // release one level
	Nest   Verb = "nest"   // enter up to Levels levels deeper, each "lock for For", and leave them again
)

// Step is one thing that a client does.
type Step struct {
	Verb   Verb
	For    sim.Range // Wait, Work: how long; Lock, Nest: how long to try, zero = for ever
	Levels [2]int64  // Nest: range of levels
	Timed  bool      // Lock: it tries for For, which may be nothing or less
	Retry  bool      // Lock, Unlock: again after an unknown outcome, until it is known
	skipTo int       // Lock, Try: the step after its unlock
}

// String renders the step as it is written in a scenario.
func (s Step) String() string {
	text := string(s.Verb)
	switch s.Verb {
	case Wait, Work:
		text += " " + rangeText(s.For)
	case Nest:
		text += fmt.Sprintf(" %d..%d", s.Levels[0], s.Levels[1])
		fallthrough
	case Lock:
		if s.Timed || s.For != (sim.Range{}) {
			text += " for " + rangeText(s.For)
		}
	}
	if s.Retry {
		text += " until answered"
	}
	return text
}

func rangeText(r sim.Range) string {
	if r.Min == r.Max {
		return r.Min.String()
	}
	return r.Min.String() + ".." + r.Max.String()
}

// ParseStep reads one step: "wait D", "lock [for D] [until answered]", "try", "work D", "write",
// "unlock [until answered]", "nest N..M [for D]". D is a duration or a range of two, "1s..3s".
func ParseStep(text string) (Step, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return Step{}, fmt.Errorf("an empty step: want one of %s", verbList())
	}
	s := Step{Verb: Verb(words[0])}
	words = words[1:]
	mayRetry := s.Verb == Lock || s.Verb == Unlock
	if n := len(words); mayRetry && n >= 2 && words[n-2] == "until" && words[n-1] == "answered" {
		s.Retry = true
		words = words[:n-2]
	}
	var err error
	switch s.Verb {
	case Wait, Work:
		if len(words) != 1 {
			return Step{}, fmt.Errorf("step %q: want %q and a duration, such as %q", text, s.Verb, string(s.Verb)+" 1s..3s")
		}
		s.For, err = parseRange(words[0])
		words = nil
	case Nest:
		if len(words) == 0 {
			return Step{}, fmt.Errorf("step %q: want the number of levels, such as \"nest 0..4 for 5s\"", text)
		}
		if s.Levels, err = parseLevels(words[0]); err != nil {
			return Step{}, fmt.Errorf("step %q: %w", text, err)
		}
		words = words[1:]
		fallthrough
	case Lock:
		if len(words) == 2 && words[0] == "for" {
			s.For, err = parseSpans(words[1], parseWait)
			s.Timed = s.Verb == Lock
			words = nil
		}
	case Try, Write, Unlock:
	default:
		return Step{}, fmt.Errorf("step %q: %q is no step: want one of %s", text, s.Verb, verbList())
	}
	if err != nil {
		return Step{}, fmt.Errorf("step %q: %w", text, err)
	}
	if len(words) > 0 {
		return Step{}, fmt.Errorf("step %q: %q is too much after %q", text, strings.Join(words, " "), s.Verb)
	}
	return s, nil
}

func verbList() string { return "wait, lock, try, work, write, unlock, nest" }

func parseLevels(text string) ([2]int64, error) {
	var low, high int64
	if n, err := fmt.Sscanf(text+"\n", "%d..%d\n", &low, &high); n != 2 || err != nil || low < 0 || high < low ||
		high > 100 {
		return [2]int64{}, fmt.Errorf("levels %q: want a range of 0 to 100 such as 0..4", text)
	}
	return [2]int64{low, high}, nil
}

// maxSpan bounds every duration of a scenario.
const maxSpan = 24 * time.Hour

func parseSpan(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("duration %q: want a number with a unit, such as 500ms or 2s", text)
	}
	if d < 0 || d > maxSpan {
		return 0, fmt.Errorf("duration %q: want 0s to %v", text, maxSpan)
	}
	return d, nil
}

// parseWait reads how long to try for a lock. What makes no sense is welcome: locks must do with it.
func parseWait(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("duration %q: want a number with a unit, such as 500ms, 0s or -1s, up to %v", text,
			time.Duration(math.MaxInt64))
	}
	return d, nil
}

func parseRange(text string) (sim.Range, error) { return parseSpans(text, parseSpan) }

// parseSpans reads one duration, or a range of two.
func parseSpans(text string, parse func(string) (time.Duration, error)) (sim.Range, error) {
	from, to, isRange := strings.Cut(text, "..")
	low, err := parse(from)
	if err != nil || !isRange {
		return sim.Fixed(low), err
	}
	high, err := parse(to)
	if err != nil {
		return sim.Range{}, err
	}
	if high < low {
		return sim.Range{}, fmt.Errorf("range %q: the second duration is shorter than the first", text)
	}
	return sim.Range{Min: low, Max: high}, nil
}

// link finds for every acquire where to go on when it is refused, and reports what is not balanced.
func (p *Program) link() error {
	var open []int
	for i := range p.Steps {
		switch p.Steps[i].Verb {
		case Lock, Try:
			open = append(open, i)
		case Unlock:
			if len(open) == 0 {
				return fmt.Errorf("step %d, unlock: nothing is locked there", i+1)
			}
			p.Steps[open[len(open)-1]].skipTo = i + 1
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("step %d, %s: no unlock follows", open[0]+1, p.Steps[open[0]])
	}
	return nil
}

// sortedKeys lists a map's keys in order.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func isMechanism(name string) bool {
	_, ok := mechanism.Named(name)
	return ok
}

// isProperty tells whether a name is that of a property, or of a group of them.
func isProperty(name string) bool {
	return len(checker.Property(name).Members()) > 0
}
