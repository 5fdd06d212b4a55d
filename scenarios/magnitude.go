package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/faults"
	"github.com/lockstep-sim/lockstep/sim"
)

// Magnitude is one number of a scenario that can be varied: how long a pause lasts, by how much a clock is off, the
// lease. Its values are whole numbers: nanoseconds of a duration, or as many as the number says.
type Magnitude struct {
	text     string // as it was asked for
	hole     string // the fault with a question mark for the number; empty for lease and latency
	setting  string // lease or latency
	duration bool
}

// The settings of a scenario that a Magnitude can be, beside the number of a fault.
const (
	leaseSetting   = "lease"
	latencySetting = "latency"
)

// holeMark stands for the number that is varied.
const holeMark = "?"

// magnitudeHelp says what can be varied.
const magnitudeHelp = `a fault with ? for its number, such as "clock c2 offset +?" or "pause c1 for ? at 2s"; or ` +
	`"skew NODE", "drift NODE", "pause NODE", "lease", "latency"`

// ParseMagnitude reads what is to be varied: a fault with a question mark in the place of its number, or a short name:
// lease, latency (of every message), skew NODE and drift NODE (of its clock, ahead) and pause NODE, which means the
// pause that the scenario has for the implementation.
func ParseMagnitude(text string, s *Scenario, implementation string) (*Magnitude, error) {
	m := &Magnitude{text: strings.Join(strings.Fields(text), " "), duration: true}
	switch words := strings.Fields(text); {
	case len(words) == 1 && (words[0] == leaseSetting || words[0] == latencySetting):
		m.setting = words[0]
		return m, nil
	case strings.Contains(text, holeMark):
		m.hole = m.text
	case len(words) == 2:
		var err error
		if m.hole, err = shortMagnitude(words[0], words[1], s, implementation); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("vary %q: want %s", text, magnitudeHelp)
	}
	return m, m.settle(s)
}

// shortMagnitude finds the fault that a short name means: one of the scenario, or the plainest there is.
func shortMagnitude(what, node string, s *Scenario, implementation string) (string, error) {
	form, known := map[string]struct {
		kind                  faults.Kind
		before, number, plain string
	}{
		"skew":  {faults.ClockOffset, "offset", "?", "clock " + node + " offset +?"},
		"drift": {faults.ClockDrift, "drift", "?ppm", "clock " + node + " drift +?ppm"},
		"pause": {faults.Pause, "for", "?", ""},
	}[what]
	if !known {
		return "", fmt.Errorf("vary %q: want %s", what+" "+node, magnitudeHelp)
	}
	e, _ := s.Expects(implementation)
	for _, template := range s.templates(e) {
		if low := template.Low(); low.Kind != form.kind || string(low.Node) != node {
			continue
		}
		words := strings.Fields(fixedText(template))
		i := slices.Index(words, form.before) + 1
		sign := strings.TrimRight(words[i][:1], "0123456789")
		words[i] = sign + form.number
		return strings.Join(words, " "), nil
	}
	if form.plain == "" {
		return "", fmt.Errorf("vary %q: scenario %s has no such fault, so it is not clear when; write it in full, such as %q",
			what+" "+node, s.Name, what+" "+node+" for ? at 2s")
	}
	return form.plain, nil
}

// fixedText is a template without its odds.
func fixedText(t faults.Template) string {
	text := t.String()
	if t.Odds().Total > 0 {
		text = strings.Join(strings.Fields(text)[2:], " ")
	}
	return text
}

// settle finds out what kind of number is asked for, and that the rest of the fault is one.
func (m *Magnitude) settle(s *Scenario) error {
	if strings.Count(m.hole, holeMark) != 1 {
		return fmt.Errorf("vary %q: want one ?, in the place of the number to vary", m.text)
	}
	template, err := faults.ParseTemplate(strings.Replace(m.hole, holeMark, "1s", 1))
	if err != nil {
		m.duration = false
		var second error
		if template, second = faults.ParseTemplate(strings.Replace(m.hole, holeMark, "1", 1)); second != nil {
			return fmt.Errorf("vary %q: with 1s for the ? it is no fault: %w", m.text, err)
		}
	}
	return faults.Validate(faults.Plan{template.Low()}, s.Machines())
}

// String is the magnitude as it was asked for.
func (m *Magnitude) String() string { return m.text }

// Duration says that its values are nanoseconds.
func (m *Magnitude) Duration() bool { return m.duration }

// ParseValue reads a value, such as 1.73s, or 200 for a number of parts per million.
func (m *Magnitude) ParseValue(text string) (int64, error) {
	if m.duration {
		d, err := time.ParseDuration(text)
		if err != nil || d < -maxSpan || d > maxSpan {
			return 0, fmt.Errorf("%q: want a duration up to %v, such as 1.73s", text, maxSpan)
		}
		return int64(d), nil
	}
	value, err := strconv.ParseInt(strings.TrimSuffix(text, "ppm"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q: want a whole number, such as 200", text)
	}
	return value, nil
}

// ValueText writes a value as ParseValue reads it.
func (m *Magnitude) ValueText(value int64) string {
	if m.duration {
		return spanText(time.Duration(value))
	}
	return strconv.FormatInt(value, 10)
}

// same tells whether two magnitudes are one number, so that the value of the second would undo that of the first.
func (m *Magnitude) same(other *Magnitude) bool {
	if m.setting != "" || other.setting != "" {
		return m.setting == other.setting
	}
	a, errA := m.fault(1)
	b, errB := other.fault(1)
	return errA == nil && errB == nil && sameButNumber(a.Low(), b.Low())
}

// Beside lists the faults of a scenario that stay although they do the like to the same machine: a bound is then one of
// both together.
func (m *Magnitude) Beside(s *Scenario, implementation string) []string {
	if m.setting != "" {
		return nil
	}
	varied, err := m.fault(1)
	if err != nil {
		return nil
	}
	like := varied.Low()
	e, _ := s.Expects(implementation)
	var texts []string
	replaced := false
	for _, template := range s.templates(e) {
		other := template.Low()
		if !replaced && sameButNumber(other, like) {
			replaced = true
			continue
		}
		if alike(other.Kind, like.Kind) && other.Node == like.Node && other.Link == like.Link {
			texts = append(texts, template.String())
		}
	}
	return texts
}

// alike tells whether two kinds of faults do the like: the same, or both set a clock wrong.
func alike(a, b faults.Kind) bool {
	clocks := []faults.Kind{faults.ClockStep, faults.ClockOffset, faults.ClockDrift, faults.ClockJitter, faults.ClockUnit}
	return a == b || slices.Contains(clocks, a) && slices.Contains(clocks, b)
}

// errNoFault says that a value means that the fault is not there at all.
var errNoFault = errors.New("no fault")

// fault is the fault with a value for the ?. A length of zero is no fault.
func (m *Magnitude) fault(value int64) (faults.Template, error) {
	t, err := faults.ParseTemplate(strings.Replace(m.hole, holeMark, m.ValueText(value), 1))
	if err != nil && value == 0 {
		return t, errNoFault
	}
	if err != nil {
		return t, fmt.Errorf("vary %q: with %s for the ?: %w", m.text, m.ValueText(value), err)
	}
	return t, nil
}

// apply gives the number a value, in a scenario of the caller's own that knows one implementation. The fault takes the
// place of the scenario's own for the same machine, kind and moment, or comes to its faults.
func (m *Magnitude) apply(s *Scenario, value int64) error {
	switch m.setting {
	case leaseSetting:
		s.Lease = time.Duration(value)
		return nil
	case latencySetting:
		s.Latency = sim.Fixed(time.Duration(value))
		return nil
	}
	fault, err := m.fault(value)
	if err != nil && !errors.Is(err, errNoFault) {
		return err
	}
	if f := fault.High(); err == nil && f.For+f.When[0].At > s.Heal {
		return fmt.Errorf("vary %q: with %s the fault lasts beyond %s, when scenario %s heals all faults; take smaller "+
			"values, or a copy of the scenario with a later heal", m.text, m.ValueText(value), spanText(s.Heal), s.Name)
	}
	e := &s.Implementations[0]
	kept := slices.Clone(s.templates(*e))
	like := fault.Low()
	if errors.Is(err, errNoFault) {
		other, err := m.fault(1)
		if err != nil {
			return err
		}
		like = other.Low()
	}
	place := slices.IndexFunc(kept, func(t faults.Template) bool { return sameButNumber(t.Low(), like) })
	switch {
	case err != nil && place >= 0:
		kept = slices.Delete(kept, place, place+1)
	case err != nil:
	case place >= 0:
		kept[place] = fault
	default:
		kept = append(kept, fault)
	}
	s.Faults, e.Faults = kept, nil
	return nil
}

// sameButNumber tells whether two faults are of one kind, for one machine or link, and for moments that differ in their
// numbers at most.
func sameButNumber(a, b faults.Fault) bool {
	if a.Kind != b.Kind || a.Node != b.Node || a.Link != b.Link || a.Path != b.Path || len(a.When) != len(b.When) {
		return false
	}
	for i := range a.When {
		x, y := a.When[i], b.When[i]
		if x.Moment != y.Moment || x.Node != y.Node || x.Command != y.Command || x.Previous != y.Previous {
			return false
		}
	}
	return true
}

// alone is a copy of the scenario that states one implementation only, and expects nothing of it.
func (s *Scenario) alone(implementation string) *Scenario {
	c := *s
	e, _ := s.Expects(implementation)
	c.Implementations = []Expectation{{Implementation: implementation, Knobs: e.Knobs}}
	if e.Faults != nil {
		c.Faults = e.Faults
	}
	return &c
}

// asFile makes the scenario one that was read from a file, so that workers and replay files can be given it.
func (s *Scenario) asFile() {
	s.Text = s.YAML()
	s.Source = replayScenario
}
