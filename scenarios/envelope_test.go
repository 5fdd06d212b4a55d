package scenarios

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/sim"
)

// paper is one bound that follows on paper from lease, latency and drift.
type paper struct {
	name, scenario, implementation string
	vary, from, to                 string
	property                       checker.Property
	leases                         []time.Duration
	// bound is the magnitude from which it breaks; nil = nothing breaks it. tolerance is what one latency comes to.
	bound     func(lease, latency time.Duration) int64
	tolerance func(lease, latency time.Duration) int64
}

func oneLatency(_, latency time.Duration) int64 { return int64(latency) }

// papers are the formulas that stand in the scenarios, with their numbers.
var papers = []paper{
	{
		"skew against lease", "envelope-clock", "redis/getset", "clock timeserver step +? at 1s", "0s", "20s", "",
		[]time.Duration{4 * time.Second, 10 * time.Second},
		func(lease, latency time.Duration) int64 {
			const waits = 2 * time.Second
			return int64(lease + 2*time.Millisecond - waits - 6*latency)
		}, oneLatency,
	},
	{
		"pause against lease, validity off", "envelope-pause", "redis/setnx-px!no-validity-check", "pause c1", "0s",
		"1900ms", "",
		[]time.Duration{time.Second, 2 * time.Second},
		func(lease, latency time.Duration) int64 {
			const works = 500 * time.Millisecond
			return int64(lease + time.Millisecond + 3*latency - works)
		}, oneLatency,
	},
	{
		"pause against lease, validity on", "envelope-pause", "redis/setnx-px", "pause c1", "0s", "1900ms", "",
		[]time.Duration{500 * time.Millisecond, time.Second},
		nil, nil,
	},
	{
		"drift against allowance", "envelope-drift", "redis/setnx-px", "drift c1", "0", "50000", "",
		[]time.Duration{2 * time.Second, 4 * time.Second},
		func(lease, latency time.Duration) int64 {
			believes, lasts := lease-lease/100-2*time.Millisecond, lease+time.Millisecond+6*latency
			return int64(1e6 * (lasts - believes) / lasts)
		},
		func(lease, latency time.Duration) int64 { return int64(1e6 * latency / lease) },
	},
	{
		"pause against session time-out", "envelope-session", "zk/fair-repaired", "pause c1", "0s", "10s", checker.Resource,
		[]time.Duration{2 * time.Second, 4 * time.Second},
		func(timeout, latency time.Duration) int64 {
			tick := timeout / ticksPerLease
			ends := ((9*latency+timeout)/tick + 1) * tick
			return int64(ends - 6*latency)
		}, oneLatency,
	},
}

// TestEnvelopeAgreesWithPaper holds the bounds that are found against those that follow on paper, for several leases
// and latencies: they agree to within one latency.
func TestEnvelopeAgreesWithPaper(t *testing.T) {
	for _, p := range papers {
		for _, lease := range p.leases {
			for _, latency := range []time.Duration{time.Millisecond, 4 * time.Millisecond} {
				p.check(t, lease, latency)
			}
		}
	}
}

func (p *paper) check(t *testing.T, lease, latency time.Duration) {
	t.Helper()
	s := *mustLoad(t, p.scenario)
	s.Lease, s.Latency = lease, sim.Fixed(latency)
	m, err := ParseMagnitude(p.vary, &s, p.implementation)
	if err != nil {
		t.Fatal(err)
	}
	axis := Axis{Magnitude: m, Step: int64(100 * time.Microsecond)}
	if !m.Duration() {
		axis.Step = 10
	}
	if axis.From, err = m.ParseValue(p.from); err != nil {
		t.Fatal(err)
	}
	if axis.To, err = m.ParseValue(p.to); err != nil {
		t.Fatal(err)
	}
	e := Envelope{Scenario: &s, Implementation: p.implementation, Seeds: SeedsUpTo(3), Property: p.property}
	bound, err := e.Bisect(context.Background(), axis)
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	if p.bound == nil {
		if bound.Broke != nil {
			t.Errorf("%s: it breaks at %s, and no value should break it", p.name, m.ValueText(bound.Broke.Value))
		}
		return
	}
	if bound.Held == nil || bound.Broke == nil || len(bound.Against) > 0 {
		t.Fatalf("%s, lease %v, latency %v: held %v, broke %v, against %v", p.name, lease, latency, bound.Held, bound.Broke,
			bound.Against)
	}
	want, allowed := p.bound(lease, latency), p.tolerance(lease, latency)
	t.Logf("%s: lease %v, latency %v: on paper %s, found %s to %s", p.name, lease, latency, m.ValueText(want),
		m.ValueText(bound.Held.Value), m.ValueText(bound.Broke.Value))
	if off := bound.Broke.Value - want; off > allowed+axis.Step || -off > allowed+axis.Step {
		t.Errorf("%s: lease %v, latency %v: on paper it breaks from %s, and it does from %s", p.name, lease, latency,
			m.ValueText(want), m.ValueText(bound.Broke.Value))
	}
}

// TestBisectSaysWhenThereAreTwoBounds varies a pause beyond which the other client has finished before the paused one
// wakes: it breaks in the middle of the span only.
func TestBisectSaysWhenThereAreTwoBounds(t *testing.T) {
	s := *mustLoad(t, "envelope-pause")
	s.Programs = map[string]Program{"c1": s.Programs["c1"], "c2": mustProgram(t, "wait 20ms", "lock", "work 1s", "unlock")}
	m, err := ParseMagnitude("pause c1", &s, "redis/setnx-px!no-validity-check")
	if err != nil {
		t.Fatal(err)
	}
	e := Envelope{Scenario: &s, Implementation: "redis/setnx-px!no-validity-check", Seeds: SeedsUpTo(2)}
	bound, err := e.Bisect(context.Background(), Axis{
		Magnitude: m, To: int64(6 * time.Second), Step: int64(time.Millisecond),
	})
	if err != nil {
		t.Fatal(err)
	}
	if bound.Held == nil || bound.Broke == nil || len(bound.Against) == 0 {
		t.Fatalf("held %v, broke %v, against %v", bound.Held, bound.Broke, bound.Against)
	}
	if at := time.Duration(bound.Broke.Value); at < 495*time.Millisecond || at > 515*time.Millisecond ||
		bound.Broke.Value-bound.Held.Value != int64(time.Millisecond) {
		t.Errorf("the lower bound is from %s to %s, want about 500ms", m.ValueText(bound.Held.Value),
			m.ValueText(bound.Broke.Value))
	}
}

func mustProgram(t *testing.T, steps ...string) Program {
	t.Helper()
	p := Program{Rounds: 1}
	for _, text := range steps {
		step, err := ParseStep(text)
		if err != nil {
			t.Fatal(err)
		}
		p.Steps = append(p.Steps, step)
	}
	if err := p.link(); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestGrid checks that a grid counts for each pair of values what a campaign counts.
func TestGrid(t *testing.T) {
	s := mustLoad(t, "envelope-clock")
	axis := func(text, from, to string, points int) Axis {
		m, err := ParseMagnitude(text, s, "redis/getset")
		if err != nil {
			t.Fatal(err)
		}
		a := Axis{Magnitude: m, Points: points}
		a.From, _ = m.ParseValue(from)
		a.To, _ = m.ParseValue(to)
		return a
	}
	e := Envelope{Scenario: s, Implementation: "redis/getset", Seeds: SeedsUpTo(2)}
	x, y := axis("clock timeserver step +? at 1s", "2s", "8s", 3), axis("lease", "4s", "8s", 3)
	cells, err := e.Grid(context.Background(), x, y)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range cells {
		// It breaks where the step is at least the lease less the two seconds that the contender waits.
		if want := c.X >= c.Y-int64(2*time.Second); c.Ran != 2 || c.Violated != map[bool]int{true: 2}[want] {
			t.Errorf("step %v, lease %v: %d of %d", time.Duration(c.X), time.Duration(c.Y), c.Violated, c.Ran)
		}
		got = append(got, x.Magnitude.ValueText(c.X)+"/"+y.Magnitude.ValueText(c.Y))
	}
	if want := "2s/4s 5s/4s 8s/4s 2s/6s 5s/6s 8s/6s 2s/8s 5s/8s 8s/8s"; strings.Join(got, " ") != want {
		t.Errorf("the cells are %v, want %s", got, want)
	}
}

func TestMagnitudes(t *testing.T) {
	s := mustLoad(t, "paused-holder")
	for _, test := range []struct{ text, value, want string }{
		{"pause holder", "1500ms", "pause holder for 1.5s at 50ms..300ms"},
		{"pause c2", "700ms", "pause c2 for 700ms on c2 after GETSET"},
		{"skew c3", "1.73s", "clock c3 offset +1.73s at start"},
		{"drift  c3", "200ppm", "clock c3 drift +200ppm at start"},
		{"clock c3 drift -?ppm", "200", "clock c3 drift -200ppm at start"},
		{"slow c1>redis by ? for 900ms at 1s", "5ms", "slow c1>redis by 5ms for 900ms at 1s"},
		{"crash c1 on c1 before GET #?", "3", "crash c1 on c1 before GET #3"},
	} {
		m, err := ParseMagnitude(test.text, s, "redis/getset")
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		value, err := m.ParseValue(test.value)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		c := s.alone("redis/getset")
		if err := m.apply(c, value); err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		found := 0
		for _, template := range c.Faults {
			if template.String() == test.want {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%s with %s gives the faults %v, want %q among them", test.text, test.value, c.Faults, test.want)
		}
		if again, err := Parse("x.yaml", c.YAML()); err != nil || len(again.Faults) != len(c.Faults) {
			t.Errorf("%s: the scenario is no file: %v", test.text, err)
		}
	}
	c := s.alone("redis/getset")
	if m, err := ParseMagnitude("pause holder", s, "redis/getset"); err != nil || m.apply(c, 0) != nil ||
		len(c.Faults) != len(s.Faults)-1 {
		t.Errorf("a pause of no length leaves the faults %v (%v)", c.Faults, err)
	}
}

func TestMagnitudeErrors(t *testing.T) {
	s := mustLoad(t, "dead-record")
	for _, test := range []struct{ text, want string }{
		{"", `vary "": want a fault with ?`},
		{"weather", `vary "weather": want a fault with ?`},
		{"wind c1", `vary "wind c1": want a fault with ?`},
		{"pause c1", `scenario dead-record has no such fault, so it is not clear when; write it in full`},
		{"skew c9", `there is no machine "c9"`},
		{"pause c1 for ? at ?", "want one ?"},
		{"pause c1 fro ? at 1s", "with 1s for the ? it is no fault: column 10"},
	} {
		if _, err := ParseMagnitude(test.text, s, "redis/getset"); err == nil || !strings.Contains(err.Error(), test.want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: the error is %v, want one with %q", test.text, err, test.want)
		}
	}
	m, err := ParseMagnitude("lease", s, "redis/getset")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"5", "-25h", "soon"} {
		if _, err := m.ParseValue(text); err == nil {
			t.Errorf("%q is taken for a value of a lease", text)
		}
	}
}

// TestBeside checks which of a scenario's own faults are said to stay beside one that is varied.
func TestBeside(t *testing.T) {
	s := mustLoad(t, "envelope-clock")
	for _, test := range []struct {
		vary string
		want []string
	}{
		{"skew timeserver", []string{"clock timeserver step +8s at 1s"}},
		{"clock timeserver step +? at 1s", nil},
		{"clock timeserver step +? on c1 after GETSET", []string{"clock timeserver step +8s at 1s"}},
		{"skew c1", nil},
		{"pause c1 for ? at 2s", nil},
		{"lease", nil},
	} {
		m, err := ParseMagnitude(test.vary, s, "redis/getset")
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Beside(s, "redis/getset"); !slices.Equal(got, test.want) {
			t.Errorf("beside %q stays %q, want %q", test.vary, got, test.want)
		}
	}
}

// TestSameMagnitude tells two names of one number from two numbers.
func TestSameMagnitude(t *testing.T) {
	s := mustLoad(t, "envelope-pause")
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"lease", "lease", true},
		{"lease", "latency", false},
		{"lease", "skew c1", false},
		{"skew c1", "clock c1 offset +?", true},
		{"skew c1", "skew c2", false},
		{"skew c1", "drift c1", false},
		{"pause c1", "pause c1 for ? on c1 after EVAL", true},
		{"pause c1", "pause c1 for ? at 2s", false},
	} {
		var both [2]*Magnitude
		for i, text := range []string{test.a, test.b} {
			var err error
			if both[i], err = ParseMagnitude(text, s, "redis/setnx-px"); err != nil {
				t.Fatal(err)
			}
		}
		if got := both[0].same(both[1]); got != test.want {
			t.Errorf("%q and %q are the same: %v, want %v", test.a, test.b, got, test.want)
		}
	}
}
