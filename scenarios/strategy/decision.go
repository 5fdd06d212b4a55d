package strategy

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Decision is one choice of a schedule that is not what the seed draws: how long a message travels, or how long a
// program waits. It has one line of text:
//
//	c1>redis GETSET #1 takes 1.5ms      the request with which c1 says GETSET for the first time
//	redis>c1 GETSET #1 takes 1.5ms      its reply
//	zookeeper>c2 event #3 takes 20ms    what a server says unasked
//	c1>redis open #1 takes 2ms          what a connection itself says: open, opened, end, reset
//	c3 wait #2 takes 163ms              the second wait of c3's program; "work" likewise
//
// It is addressed by its meaning, so that it stays where it belongs while a run is shrunk. What faults add to the
// latency of a message comes on top.
type Decision struct {
	From string // the sender, or the thread that waits
	To   string // the receiver; empty for a span of a program
	What string // a command in upper case, "event", "open", ..., or for a span "wait" or "work"
	Nth  int    // which of them, from 1
	// Takes is the latency, or the length of the span.
	Takes time.Duration
	// Made is when the decision took effect, for the order in which decisions are listed. It is no part of the text.
	Made time.Duration
}

// The spans of programs that a decision can be about.
const (
	Wait = "wait"
	Work = "work"
)

// String writes the decision as one line that Parse reads back.
func (d Decision) String() string {
	return fmt.Sprintf("%s %s #%d takes %s", d.place(), d.What, d.Nth, d.Takes)
}

func (d Decision) place() string {
	if d.To == "" {
		return d.From
	}
	return d.From + ">" + d.To
}

// example is what errors show.
const example = `"c1>redis GETSET #1 takes 1.5ms" or "c3 wait #2 takes 163ms"`

// Parse reads a decision.
func Parse(text string) (Decision, error) {
	words := strings.Fields(text)
	if len(words) != 5 || words[3] != "takes" {
		return Decision{}, fmt.Errorf("decision %q: want %s", short(text), example)
	}
	var d Decision
	from, to, isMessage := strings.Cut(words[0], ">")
	if !isName(from) || isMessage && !isName(to) {
		return Decision{}, fmt.Errorf("decision %q: %q names no machines: want %s", short(text), short(words[0]), example)
	}
	d.From, d.To, d.What = from, to, words[1]
	switch {
	case !isName(d.What):
		return Decision{}, fmt.Errorf("decision %q: %q is no command: want %s", short(text), short(d.What), example)
	case !isMessage && d.What != Wait && d.What != Work:
		return Decision{}, fmt.Errorf("decision %q: a program decides how long to %s or to %s, not %q", short(text), Wait,
			Work, short(d.What))
	}
	number, ok := strings.CutPrefix(words[2], "#")
	nth, err := strconv.Atoi(number)
	if !ok || err != nil || nth < 1 || strconv.Itoa(nth) != number {
		return Decision{}, fmt.Errorf("decision %q: %q is no number: want one such as #1", short(text), short(words[2]))
	}
	d.Nth = nth
	d.Takes, err = time.ParseDuration(words[4])
	if err != nil || d.Takes < 0 || d.Takes > maxSpan {
		return Decision{}, fmt.Errorf("decision %q: %q is no duration from 0s to %v", short(text), short(words[4]), maxSpan)
	}
	return d, nil
}

// maxSpan bounds what a decision can ask for.
const maxSpan = 24 * time.Hour

// isName says whether a word can name a machine, a thread of one or a command.
func isName(word string) bool {
	for _, c := range word {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '/', c == '-':
		default:
			return false
		}
	}
	return word != "" && len(word) <= 100
}

// short cuts what an error quotes.
func short(text string) string {
	const most = 60
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}
