package reports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/faults"
)

// TestEveryKindHasWords reads the kinds of violations from where they are declared: a new one needs a headline, and a
// conclusion unless it is told by figures.
func TestEveryKindHasWords(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "checker", "verdict.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	byFigures := map[string]bool{
		checker.KindOverlap: true, checker.KindStuck: true, checker.KindStaleWrite: true,
		checker.KindWriteWithoutHold: true, checker.KindTokenAccepted: true,
	}
	kinds := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Kind") || len(spec.Values) != 1 {
			return true
		}
		kind, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		kinds++
		if labels[kind] == "" {
			t.Errorf("there is no label for %s: add it to labels", spec.Names[0].Name)
		}
		if outcomes[kind] == "" && !byFigures[kind] {
			t.Errorf("there is no conclusion for %s: add it to outcomes", spec.Names[0].Name)
		}
		return true
	})
	if kinds < 17 {
		t.Errorf("found only %d kinds of violations: they are declared elsewhere now", kinds)
	}
}

// TestEveryFaultHasWords tells one fault of each kind. The text of faults is the contract between the two packages.
func TestEveryFaultHasWords(t *testing.T) {
	for _, test := range []struct{ text, machine, who, what string }{
		{"crash c1 silent at 12s", "c1", "c1", "crashes"},
		{"restart redis empty at 20s", "redis", "redis", "starts again and has lost its data"},
		{"restart c1 as new at 15s", "c1", "c1", "starts again as somebody new"},
		{"restart c1 at 15s", "c1", "c1", "starts again"},
		{"pause holder for 12s on holder before DEL", "c2", "c2", "stands still for 12.000 s"},
		{"clock redis step -5s at 3s", "redis", "redis", "its clock jumps back by 5.000 s"},
		{"clock redis step +5s at 3s", "redis", "redis", "its clock jumps forward by 5.000 s"},
		{"clock c2 offset +1.73s", "c2", "c2", "its clock is set 1.730 s ahead"},
		{"clock c2 offset -1.73s", "c2", "c2", "its clock is set 1.730 s behind"},
		{"clock c2 drift -200ppm", "c2", "c2", "its clock runs wrong by -200 parts per million"},
		{"clock c2 jitter 5ms", "c2", "c2", "each reading of its clock is off by up to 0.005 s"},
		{
			"lose request of c1>redis silent on c1 before DEL", "", "c1",
			"its request to redis is lost before it is executed",
		},
		{
			"lose reply of c1>redis on c1 before SETNX", "", "c1",
			"its request is executed by redis, but the reply is lost",
		},
		{"delay request of c1>redis by 11s on c1 before GET", "", "c1", "its request to redis is delayed by 11.000 s"},
		{
			"delay reply of c2>redis by 3s on c2 before GET #2", "", "c2",
			"the reply that it waits for from redis is delayed by 3.000 s",
		},
		{
			"slow c1-redis by 400ms for 10s at 5s", "", "network",
			"is slow between c1 and redis, by 0.400 s, for 10.000 s",
		},
		{"slow c1>redis by 400ms for 10s at 5s", "", "network", "is slow from c1 to redis, by 0.400 s, for 10.000 s"},
		{
			"cut c1-redis for 6s silent on c1 after SETNX", "", "network",
			"carries nothing from c1 to redis and back for 6.000 s",
		},
		{"cut c1>redis for 6s at 2s", "", "network", "carries nothing from c1 to redis for 6.000 s"},
		{"down timeserver for 4s at 8s", "timeserver", "timeserver", "is away for 4.000 s"},
		{"expire session of holder at 1s", "c2", "c2", "its session is ended by the server"},
		{"preset counter of /lock on zookeeper to 7", "zookeeper", "zookeeper", "the counter of /lock shows 7"},
		{"add /lock/x on zookeeper at 1s", "zookeeper", "zookeeper", "a third party adds /lock/x"},
		{"add job as list on redis", "redis", "redis", "a third party adds the list job"},
		{"remove job on redis at 1s", "redis", "redis", "a third party removes job"},
		{
			"delay event of c2>redis by 3s at 1s", "", "c2",
			"the next event that redis sends it is delayed by 3.000 s",
		},
		{"lose event of c2>redis on c2 after SUBSCRIBE", "", "c2", "the next event that redis sends it gets lost"},
		{
			"repeat event of c2>redis after 300ms at 1s", "", "c2",
			"the next event that redis sends it comes once more 0.300 s later",
		},
		{"starve timers of holder for 3s at 1s", "c1", "c1", "the timers of its lock do not fire for 3.000 s"},
		{
			"reorder timers of c1 for 3s at 1s", "c1", "c1",
			"the timers of its lock do not fire for 3.000 s, and then the last one first",
		},
		{"cancel call of next at 1s", "c3", "c3", "its call is called off"},
		{"roll back redis by 2s at 3s", "redis", "redis", "starts again without what it was told in the last 2.000 s"},
		{"cancel call of c3 as timeout at deadline of holder +1ms", "c3", "c3", "the time of its call is over"},
		{
			"fail script of c1>redis at write #2 on c1 before EVAL", "", "c1",
			"its script fails on redis at one of its writes, and the earlier ones stay",
		},
	} {
		fault, err := faults.Parse(test.text)
		if err != nil {
			t.Errorf("the test is wrong: %v", err)
			continue
		}
		if who, what := faultWords(fault.String(), test.machine); who != test.who || what != test.what {
			t.Errorf("%s:\n got %s: %s\nwant %s: %s", test.text, who, what, test.who, test.what)
		}
		if got := faultLength(fault.String()); got != fault.For {
			t.Errorf("%s lasts %v, want %v", test.text, got, fault.For)
		}
	}
}

// TestFaultKindsAreKnown fails when package faults learns a kind that has no words yet.
func TestFaultKindsAreKnown(t *testing.T) {
	for _, kind := range faults.Kinds() {
		words := strings.Fields(kind.Syntax())
		if _, what := faultWords("zzz "+kind.Syntax(), ""); !strings.HasPrefix(what, "fault: ") {
			t.Errorf("an unknown fault is told as %q", what)
		}
		example := strings.NewReplacer(
			"CLIENT>SERVER", "c1>redis", "NODE>NODE|NODE-NODE", "c1>redis", "NODE", "c1", "DURATION", "1s", "WHEN", "at 1s",
			"[", "", "]", "",
		).Replace(kind.Syntax())
		if _, what := faultWords(example, ""); strings.HasPrefix(what, "fault: ") {
			t.Errorf("there are no words for a fault of the kind %s: %s", kind, words)
		}
	}
}

func TestFaultLabel(t *testing.T) {
	for _, test := range []struct{ text, machine, want string }{
		{"pause holder for 412.491ms on holder before DEL", "c2", "pause c2 for 0.412 s"},
		{"clock timeserver step +10s at 1s", "timeserver", "clock timeserver step +10.000 s"},
		{"clock timeserver step -2.5s at 1s", "timeserver", "clock timeserver step -2.500 s"},
		{"crash c1 on c1 after SETNX", "c1", "crash c1"},
		{"", "", ""},
	} {
		if got := faultLabel(test.text, test.machine); got != test.want {
			t.Errorf("%q: got %q, want %q", test.text, got, test.want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for _, test := range []struct {
		d    time.Duration
		want string
	}{
		{0, "0.000 s"},
		{10004 * time.Millisecond, "10.004 s"},
		{-1820 * time.Millisecond, "-1.820 s"},
		{1499999, "0.001 s"},
		{1500000, "0.002 s"},
	} {
		if got := seconds(test.d); got != test.want {
			t.Errorf("seconds(%d) = %q, want %q", test.d, got, test.want)
		}
	}
	if got := length(1234); got != "0.000001 s" {
		t.Errorf("length of 1234 ns is %q", got)
	}
	if got := span(time.Second, time.Second+400); got != "from 1.000000000 s to 1.000000400 s" {
		t.Errorf("span of 400 ns is %q", got)
	}
}

// FuzzFaultWords makes sure that no text of a fault, however broken, is more than told as it stands.
func FuzzFaultWords(f *testing.F) {
	for _, seed := range []string{
		"", "pause", "clock", "clock c1", "clock c1 step", "lose reply of", "slow >", "cut a-b", "delay request x>y by z",
	} {
		f.Add(seed, "c1")
		f.Add(seed, "")
	}
	f.Fuzz(func(t *testing.T, text, machine string) {
		_, what := faultWords(text, machine)
		if what == "" {
			t.Errorf("%q is not told", text)
		}
		faultLabel(text, machine)
		if faultLength(text) < 0 {
			t.Errorf("%q lasts a negative time", text)
		}
	})
}
