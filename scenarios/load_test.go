package scenarios

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstep-sim/lockstep/faults"
	"github.com/lockstep-sim/lockstep/sim"
)

// smallScenario is a whole scenario; each bad file of TestParseErrors is one edit away from it.
const smallScenario = `name: small
about: Two clients.
lock: {name: job, lease: 1s}
clients: 2
network: 1ms..2ms
program:
  c1: [lock, work 1s..2s, write, unlock]
  others: [wait 10ms, lock for 5s, nest 0..2 for 1s, unlock until answered, repeat 3]
faults: |
  crash c1 on c1 after SETNX #2   # the second one
  maybe 1/2 pause c2 for 1s..2s at 1s
heal: 2s
until: 3s
grace: 4s
implementations:
  redis/getset:
    find: {R1: 50, mutual-exclusion: 20}
    allow: [resource]
    why: because
`

func TestParse(t *testing.T) {
	s, err := Parse("small.yaml", []byte(smallScenario))
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "small" || s.Lease != time.Second || s.Clients != 2 || s.Heal != 2*time.Second ||
		s.Grace != 4*time.Second {
		t.Errorf("numbers are wrong: %+v", s)
	}
	if s.Latency != (sim.Range{Min: time.Millisecond, Max: 2 * time.Millisecond}) {
		t.Errorf("network is %v", s.Latency)
	}
	if p := s.Programs["c2"]; p.Rounds != 3 || len(p.Steps) != 4 || !p.Steps[3].Retry || p.Steps[1].skipTo != 4 {
		t.Errorf("the program of c2 is %+v", p)
	}
	if len(s.Faults) != 2 || !strings.HasSuffix(s.Faults[0].String(), "#2") {
		t.Errorf("faults are %v: the number of a fault must not be lost as a comment", s.Faults)
	}
	e, ok := s.Expects("redis/getset")
	if !ok || len(e.Find) != 2 || e.Find[0] != (MustFind{"R1", 50}) || len(e.Allow) != 1 || e.Why != "because" {
		t.Errorf("expectation is %+v", e)
	}
}

func TestParseErrors(t *testing.T) {
	for _, test := range []struct{ name, from, to, want string }{
		{"unknown key", "clients: 2", "clinets: 2", `4:1: unknown key "clinets"`},
		{"wrong type", "clients: 2", "clients: [2]", "4:10: want a word, a number"},
		{"not a number", "clients: 2", "clients: two", `4:10: clients "two": want a number from 1 to 1000`},
		{"no clients", "clients: 2\n", "", `clients "": want a number`},
		{"duration without unit", "lease: 1s", "lease: 10", `3:26: lease: duration "10": want a number with a unit`},
		{"range upside down", "1ms..2ms", "2ms..1ms", "5:10: network: range"},
		{"heal after until", "heal: 2s", "heal: 20s", "12:7: heal: 20s is after until, 3s"},
		{
			"unknown step", "write, unlock]", "wirte, unlock]",
			`7:27: step "wirte": "wirte" is no step: want one of wait, lock`,
		},
		{"step with too much", "work 1s..2s", "work 1s 2s", `step "work 1s 2s": want "work" and a duration`},
		{"lock without unlock", "write, unlock]", "write]", "program of c1: step 1, lock: no unlock follows"},
		{"unlock without lock", "[lock, work", "[work", "program of c1: step 3, unlock: nothing is locked there"},
		{"unknown client", "  c1: [", "  c9: [", `program of "c9": want c1 to c2, c1/2 for a second thread, or others`},
		{"thread without a number", "  c1: [", "  c1/x: [", `program of "c1/x": want c1 to c2, c1/2 for a second thread`},
		{"identity", "clients: 2", "clients: 2\nidentity: equal", `5:11: identity "equal": want own, shared or prefixes`},
		{"many prefixes", "clients: 2", "clients: 19\nidentity: prefixes", "5:11: identity prefixes: it is for 18 clients"},
		{"random", "clients: 2", "clients: 2\nrandom: none", `5:9: random "none": want own or shared`},
		{"threads", "clients: 2", "clients: 2\nthreads: 2", `5:10: threads "2": want own, identity or handle`},
		{"retries", "clients: 2", "clients: 2\nretries: many", `5:10: retries "many": want a number from 0 to 100`},
		{"swarm", "clients: 2", "clients: 2\nswarm: puase", `5:8: swarm: "puase" is no kind of fault`},
		{"servers", "clients: 2", "clients: 2\nservers: 0", `5:10: servers "0": want a number from 1 to 15`},
		{
			"servers of ZooKeeper", "clients: 2", "clients: 2\nserver: zookeeper\nservers: 3",
			"6:10: servers 3: only Redis has several machines",
		},
		{"client without program", "  others: [", "  c1, c1: [", "program of c1: it has another one"},
		{"fault", "crash c1 on", "crsh c1 on", `10:3: fault: expected`},
		{"fault on a machine that is not there", "pause c2", "pause c7", `c7`},
		{"unknown find", "R1: 50", "R99: 50", "find R99: it is neither a property nor a known mechanism"},
		{"find without a number", "R1: 50", "R1: soon", "want the number of seeds"},
		{"unknown allow", "[resource]", "[resources]", `allow "resources": want one of`},
		{"name", "name: small", "name: Small One", `1:7: name "Small One": want small letters`},
		{"broken yaml", "lock: {name", "lock: {{name", "3:"},
		{"no yaml at all", smallScenario, "\x00\x01", "1:1"},
		{"empty", smallScenario, "", "1:1: name"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse("x.yaml", []byte(strings.Replace(smallScenario, test.from, test.to, 1)))
			if err == nil {
				t.Fatal("the file was accepted")
			}
			if text := err.Error(); !strings.HasPrefix(text, "x.yaml:") || !strings.Contains(text, test.want) ||
				strings.Contains(text, "\n") {
				t.Errorf("the error is %q, want one line that begins with x.yaml: and contains %q", text, test.want)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	for _, test := range []struct{ word, want string }{
		{"dead-recrod", `no scenario is named "dead-recrod": did you mean "dead-record"? see "lockstep list"`},
		{"zzzzzzzzzz", `no scenario is named "zzzzzzzzzz": see "lockstep list"`},
		{"./nowhere.yaml", "no such file"},
		{"testdata/", "folder"},
	} {
		if _, err := Load(test.word); err == nil || !strings.Contains(err.Error(), test.want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("Load(%q) says %v, want one line with %q", test.word, err, test.want)
		}
	}
	for _, s := range Library() {
		if again, err := Load(s.Name); err != nil || again.Name != s.Name || again.Source != "" {
			t.Errorf("Load(%q): %v", s.Name, err)
		}
		if s.About == "" || len(s.Implementations) == 0 {
			t.Errorf("%s says nothing of itself or expects nothing", s.Name)
		}
	}
}

// TestParseSharing reads what clients and threads have in common.
func TestParseSharing(t *testing.T) {
	const keys = "clients: 2\nidentity: prefixes\nrandom: shared\nthreads: handle\nretries: 3\nswarm: pause, lose reply"
	const second = "  c1/2: [lock for -1s, unlock, lock for 0s..2540400h, unlock]\n  others:"
	edited := strings.Replace(smallScenario, "clients: 2", keys, 1)
	edited = strings.Replace(edited, "  others:", second, 1)
	s, err := Parse("small.yaml", []byte(edited))
	if err != nil {
		t.Fatal(err)
	}
	if !s.PrefixIdentity || s.SharedIdentity || !s.SharedRandom || s.Threads != SameHandle || s.Retries != 3 {
		t.Errorf("read as %+v", s)
	}
	if got := faults.KindsText(s.Swarm); got != "pause, lose reply" {
		t.Errorf("the pool is %q", got)
	}
	steps := s.Programs["c1/2"].Steps
	if !steps[0].Timed || steps[0].For != sim.Fixed(-time.Second) || steps[2].For.Max != 2_540_400*time.Hour {
		t.Errorf("the waits are %+v", steps)
	}
	if again, err := Parse("again.yaml", s.YAML()); err != nil || faults.KindsText(again.Swarm) != "pause, lose reply" ||
		!again.PrefixIdentity || !again.SharedRandom || again.Threads != SameHandle || again.Retries != 3 {
		t.Errorf("written as\n%s\nwhich is read as %+v, %v", s.YAML(), again, err)
	}
}

// TestStepText checks that a step reads back as it prints.
func TestStepText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := func(label string) sim.Range {
			low := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, label))
			return sim.Range{Min: low, Max: low + time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, label+" width"))}
		}
		step := Step{Verb: rapid.SampledFrom([]Verb{Wait, Lock, Try, Work, Write, Unlock, Nest}).Draw(t, "verb")}
		switch step.Verb {
		case Wait, Work:
			step.For = span("span")
		case Lock, Nest:
			if rapid.Bool().Draw(t, "timed") {
				step.For, step.Timed = span("span"), step.Verb == Lock
			}
		}
		if step.Verb == Nest {
			step.Levels[0] = rapid.Int64Range(0, 50).Draw(t, "least")
			step.Levels[1] = step.Levels[0] + rapid.Int64Range(0, 50).Draw(t, "more")
		}
		if step.Verb == Lock || step.Verb == Unlock {
			step.Retry = rapid.Bool().Draw(t, "retry")
		}
		text := step.String()
		back, err := ParseStep(text)
		if step.For == (sim.Range{}) && step.Verb == Nest {
			step.For = back.For // "for 0s" is not written
		}
		if err != nil || back != step {
			t.Fatalf("%q reads back as %+v, %v; want %+v", text, back, err, step)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(smallScenario))
	for _, s := range Library() {
		text, err := LibraryText(s.Name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		s, err := Parse("x.yaml", source)
		if err == nil && (s.Clients < 1 || s.Heal > s.Until || s.Lease < 0) {
			t.Errorf("a senseless scenario was accepted: %+v", s)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("the error has more than one line: %q", err)
		}
	})
}
