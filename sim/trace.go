package sim

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
)

// TraceMode says how much of a run is kept.
type TraceMode int

// Off keeps nothing, HashOnly a running hash of every event, Full also the events themselves.
const (
	HashOnly TraceMode = iota
	Full
	Off
)

// Kind says what an entry of the trace is.
type Kind uint8

// The kinds of trace entries.
const (
	KindSend    Kind = iota + 1 // a message left its machine
	KindDeliver                 // a message was handed over
	KindDrop                    // a message ended on the way
	KindTimer                   // a timer of a machine fired
	KindNode                    // a machine paused, resumed, crashed, restarted, or its clock was bent
	KindNote                    // something that the harness wrote down
)

var kindNames = [...]string{"", "send", "deliver", "drop", "timer", "node", "note"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Entry is one event of the trace.
type Entry struct {
	Index uint64
	Time  time.Duration // true time
	Kind  Kind
	From  string // machine
	To    string // machine, for messages
	Conn  uint64 // connection, for messages
	Cause uint64 // Index of the entry that led to this one, 0 = the harness
	// Skew is by how much the wall clock of the machine at which it happened was ahead of true time, without jitter.
	Skew time.Duration
	Text string
}

// String renders the entry on one line.
func (e Entry) String() string {
	place := e.From
	if e.To != "" {
		place = fmt.Sprintf("%s>%s #%d", e.From, e.To, e.Conn)
	}
	return fmt.Sprintf("%6d %14.6f s %-7s %-22s %s (cause %d)", e.Index, e.Time.Seconds(), e.Kind, place, e.Text, e.Cause)
}

// Trace is the record of everything that happened in a world, in the order in which it happened.
type Trace struct {
	mode    TraceMode
	hash    uint64
	count   uint64
	current uint64 // the entry that is being acted on: the cause of what follows
	Entries []Entry
}

// Hash is the running hash over every entry so far. Equal hashes mean equal runs.
func (t *Trace) Hash() uint64 { return t.hash }

// Count is the number of entries so far.
func (t *Trace) Count() uint64 { return t.count }

// texter renders an entry; it is asked in Full mode only.
type texter interface{ text() string }

type plain string

func (p plain) text() string { return string(p) }

// add appends one entry. sum is the hash of what text would say.
func (t *Trace) add(at int64, kind Kind, from, to *Node, conn, cause, sum uint64, text texter) uint64 {
	if t.mode == Off || at < 0 {
		return 0
	}
	t.count++
	h := t.hash
	h = mix(h ^ uint64(at))
	h = mix(h ^ uint64(kind)<<56 ^ nodeNumber(from)<<40 ^ nodeNumber(to)<<24 ^ conn)
	t.hash = mix(h ^ sum)
	if t.mode == Full {
		t.Entries = append(t.Entries, Entry{
			Index: t.count, Time: time.Duration(at), Kind: kind, From: nodeName(from), To: nodeName(to), Conn: conn,
			Cause: cause, Skew: skewAt(at, kind, from, to), Text: text.text(),
		})
	}
	return t.count
}

// skewAt is by how much the clock of the machine at which an entry happens is ahead. It takes no draw: looking at a
// run must not change it.
func skewAt(at int64, kind Kind, from, to *Node) time.Duration {
	n := from
	if kind == KindDeliver || kind == KindDrop {
		n = to
	}
	if n == nil {
		return 0
	}
	return time.Duration(n.clock.steadyWall(at) - at)
}

func nodeNumber(n *Node) uint64 {
	if n == nil {
		return 0
	}
	return uint64(n.number)
}

func nodeName(n *Node) string {
	if n == nil {
		return ""
	}
	return n.name
}

// hashStrings is the sum of a request: its words and where they end.
func hashStrings(words []string) uint64 {
	h := uint64(len(words))
	for _, word := range words {
		h = mix(h ^ xxhash.Sum64String(word))
	}
	return h
}

// jsonEntry fixes the keys and their order in the JSONL form.
type jsonEntry struct {
	Index uint64 `json:"index"`
	Time  int64  `json:"time"`
	Kind  string `json:"kind"`
	From  string `json:"from,omitempty"`
	To    string `json:"to,omitempty"`
	Conn  uint64 `json:"conn,omitempty"`
	Cause uint64 `json:"cause,omitempty"`
	Skew  int64  `json:"skew,omitempty"`
	Text  string `json:"text,omitempty"`
}

// WriteJSONL writes the entries of a Full trace, one JSON object a line: index, time in nanoseconds of true time, kind,
// from, to, conn, cause, skew in nanoseconds, text. What is zero or empty is left out.
func (t *Trace) WriteJSONL(w io.Writer) error {
	out := bufio.NewWriter(w)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, e := range t.Entries {
		line := jsonEntry{
			Index: e.Index, Time: int64(e.Time), Kind: e.Kind.String(), From: e.From, To: e.To,
			Conn: e.Conn, Cause: e.Cause, Skew: int64(e.Skew), Text: e.Text,
		}
		if err := encoder.Encode(line); err != nil {
			return err
		}
	}
	return out.Flush()
}

// FirstDifference compares two Full traces and describes the first entry at which they part, with the chain of causes
// that led to it in each. It returns "" when they are equal.
func FirstDifference(a, b *Trace) string {
	for i := 0; i < len(a.Entries) || i < len(b.Entries); i++ {
		if i < len(a.Entries) && i < len(b.Entries) && a.Entries[i] == b.Entries[i] {
			continue
		}
		return fmt.Sprintf("the runs part at entry %d:\n  one run:   %s\n  the other: %s",
			i+1, a.explain(i), b.explain(i))
	}
	return ""
}

// explain renders entry i and up to three of its causes.
func (t *Trace) explain(i int) string {
	if i >= len(t.Entries) {
		return "has ended"
	}
	var b strings.Builder
	b.WriteString(strings.TrimSpace(t.Entries[i].String()))
	cause := t.Entries[i].Cause
	for depth := 0; depth < 3 && cause > 0; depth++ {
		e := t.Entries[cause-1]
		fmt.Fprintf(&b, "\n      because of %s", strings.TrimSpace(e.String()))
		cause = e.Cause
	}
	return b.String()
}
