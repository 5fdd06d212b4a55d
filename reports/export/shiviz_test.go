package export_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/lockstep-sim/lockstep/reports/export"
	"github.com/lockstep-sim/lockstep/reports/spacetime"
)

// logEvent is a line as ShiViz reads it.
type logEvent struct {
	host  string
	clock map[string]int
	text  string
}

// readLog reads a log by the regular expression in its first line.
func readLog(t *testing.T, text string) []logEvent {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) < 3 || lines[1] != "" {
		t.Fatal("there is no expression, no empty line or no event")
	}
	expression, err := regexp.Compile("^" + lines[0] + "$")
	if err != nil {
		t.Fatal(err)
	}
	var events []logEvent
	for number, line := range lines[2:] {
		match := expression.FindStringSubmatch(line)
		if match == nil {
			t.Fatalf("line %d does not match: %s", number+3, line)
		}
		e := logEvent{host: match[expression.SubexpIndex("host")], text: match[expression.SubexpIndex("event")]}
		if err := json.Unmarshal([]byte(match[expression.SubexpIndex("clock")]), &e.clock); err != nil {
			t.Fatalf("line %d: %v", number+3, err)
		}
		events = append(events, e)
	}
	return events
}

func logOf(t *testing.T, page *spacetime.Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := export.WriteShiViz(&b, page); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// notAfter tells whether all that a knows is known to b.
func notAfter(a, b map[string]int) bool {
	for host, count := range a {
		if b[host] < count {
			return false
		}
	}
	return true
}

// judgeShiViz checks what ShiViz demands of clocks: each host counts its own events from 1 on, knows no event that is
// not there, and knows all that its cause knew.
func judgeShiViz(t *testing.T, run export.Run) {
	events := readLog(t, logOf(t, run.Page))
	if len(events) != len(run.Page.Events) {
		t.Fatalf("%d events, want %d", len(events), len(run.Page.Events))
	}
	counts := map[string]int{}
	for i, e := range events {
		counts[e.host]++
		if e.clock[e.host] != counts[e.host] {
			t.Fatalf("event %d is number %d of %s and says %d", i, counts[e.host], e.host, e.clock[e.host])
		}
		for host, count := range e.clock {
			if count < 1 || count > counts[host] {
				t.Fatalf("event %d knows %d events of %s, which had %d", i, count, host, counts[host])
			}
		}
		if cause := run.Page.Events[i].Cause; cause != spacetime.None && !notAfter(events[cause].clock, e.clock) {
			t.Fatalf("event %d with %v does not know its cause %d with %v", i, e.clock, cause, events[cause].clock)
		}
	}
}

// TestShiVizOrder compares the order of clocks with what can be reached by causes, for all pairs of a run.
func TestShiVizOrder(t *testing.T) {
	page := kept(t).Page
	events := readLog(t, logOf(t, page))
	n := len(events)
	reaches := make([][]bool, n)
	before := map[int]int{}
	concurrent := 0
	for i := range n {
		reaches[i] = make([]bool, n) // from what i can be reached
		direct := []int{page.Events[i].Cause}
		if last, known := before[page.Events[i].Lane]; known {
			direct = append(direct, last)
		}
		before[page.Events[i].Lane] = i
		for _, k := range direct {
			if k == spacetime.None {
				continue
			}
			reaches[i][k] = true
			for m, reached := range reaches[k] {
				reaches[i][m] = reaches[i][m] || reached
			}
		}
		for k := range i {
			if got := notAfter(events[k].clock, events[i].clock); got != reaches[i][k] {
				t.Fatalf("clocks say %v of event %d before event %d, causes say %v", got, k, i, reaches[i][k])
			}
			if !reaches[i][k] {
				concurrent++
			}
		}
	}
	if concurrent == 0 {
		t.Error("no two events are concurrent, so this tests nothing")
	}
}

func TestShiVizGolden(t *testing.T) {
	golden(t, "shiviz.txt", []byte(logOf(t, kept(t).Page)))
}

// TestShiVizHostile checks that any text stays on its line and in its field, and that hosts keep apart.
func TestShiVizHostile(t *testing.T) {
	run := hostileRun()
	text := logOf(t, run.Page)
	events := readLog(t, text)
	if len(events) != len(run.Page.Events) {
		t.Errorf("%d events, want %d", len(events), len(run.Page.Events))
	}
	hosts := map[string]bool{}
	for _, e := range events {
		hosts[e.host] = true
	}
	if len(hosts) != len(run.Page.Lanes)+1 {
		t.Errorf("hosts %v, want %d", hosts, len(run.Page.Lanes)+1)
	}
	if strings.ContainsAny(text, "\x1b\t\u2028") {
		t.Errorf("it has characters that cannot be seen:\n%q", text)
	}
}

// TestShiVizWithoutTrace checks that nobody is shown an order that nobody knows.
func TestShiVizWithoutTrace(t *testing.T) {
	run := kept(t)
	err := export.WriteShiViz(new(bytes.Buffer), show(run.History, nil, nil).Page)
	if err == nil || !strings.Contains(err.Error(), "no trace") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
}
