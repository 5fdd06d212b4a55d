package export

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/lockstep-sim/lockstep/reports/spacetime"
)

// shivizExpression is how ShiViz reads a line: the time in seconds, the host, its clock, and what happened.
const shivizExpression = `(?<time>\S+) (?<host>\S+) (?<clock>\{\S*\}) (?<event>.*)`

// WriteShiViz writes what happened in a run as a log with vector clocks, for ShiViz. It needs the messages of the
// engine's trace: without them nobody knows what led to what.
func WriteShiViz(w io.Writer, page *spacetime.Page) error {
	if !slices.ContainsFunc(page.Events, func(e spacetime.Event) bool { return e.Entry != 0 }) {
		return errors.New("there is no trace of the engine, so nobody knows what led to what: " +
			"name the folder of a run that has trace.jsonl")
	}
	hosts := hostNames(page)
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s\n\n", shivizExpression)
	for i, clock := range vectorClocks(page) {
		e := &page.Events[i]
		fmt.Fprintf(out, "%s %s %s %s\n", decimalSeconds(e.Time), hosts[e.Lane+1], clockText(clock, hosts),
			visible(logText(page, e)))
	}
	return out.Flush()
}

// vectorClocks gives each event a clock with one number for the world and one for each lane, in this order: how many
// events there happened before it or are itself. An event comes after the one before it on its lane and after its
// cause.
func vectorClocks(page *spacetime.Page) [][]int {
	latest := make([]int, len(page.Lanes)+1) // of each host: its latest event, plus 1
	clocks := make([][]int, len(page.Events))
	for i := range page.Events {
		e := &page.Events[i]
		clock := make([]int, len(latest))
		for _, before := range []int{latest[e.Lane+1] - 1, e.Cause} {
			if before == spacetime.None {
				continue
			}
			for host, count := range clocks[before] {
				clock[host] = max(clock[host], count)
			}
		}
		clock[e.Lane+1]++
		clocks[i], latest[e.Lane+1] = clock, i+1
	}
	return clocks
}

// clockText renders a clock as the JSON that ShiViz reads, without spaces. Hosts of which nothing is known are left
// out.
func clockText(clock []int, hosts []string) string {
	var parts []string
	for host, count := range clock {
		if count > 0 {
			parts = append(parts, `"`+hosts[host]+`":`+strconv.Itoa(count))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// hostNames names the world and the lanes in words without spaces and quotes, each once.
func hostNames(page *spacetime.Page) []string {
	names := []string{"world"}
	for _, lane := range page.Lanes {
		name := strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.:/#", r) {
				return r
			}
			return '_'
		}, lane.Name)
		if name == "" {
			name = "_"
		}
		unique := name
		for n := 2; slices.Contains(names, unique); n++ {
			unique = name + "-" + strconv.Itoa(n)
		}
		names = append(names, unique)
	}
	return names
}

// logWords say what events are, where their labels do not.
var logWords = map[spacetime.Kind]string{
	spacetime.Send: "send to ", spacetime.Deliver: "receive from ", spacetime.Drop: "lost from ",
	spacetime.Timer: "timer", spacetime.Node: "machine", spacetime.Note: "note", spacetime.Fault: "fault",
}

func logText(page *spacetime.Page, e *spacetime.Event) string {
	word, label := logWords[e.Kind], e.Label
	if _, isMessage := messageTitles[e.Kind]; isMessage {
		label = strings.TrimPrefix(label, "lost: ") // the word says so
		if e.Peer == spacetime.None {
			word += "somebody"
		} else {
			word += page.Lanes[e.Peer].Name
		}
	}
	switch {
	case word == "" && label == "":
		return "event"
	case word == "" || label == "" || label == word:
		return word + strings.TrimPrefix(label, word)
	}
	return word + ": " + label
}

// decimalSeconds renders a time in seconds, to the nanosecond.
func decimalSeconds(d time.Duration) string {
	return fmt.Sprintf("%d.%09d", d/time.Second, d%time.Second)
}

// visible renders a text on one line, with what cannot be seen written out.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == ' ' || strconv.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}
