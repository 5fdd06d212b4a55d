package spacetime

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Entry is one entry of an engine's trace.
type Entry struct {
	Index uint64        `json:"index"`
	Time  time.Duration `json:"time"`
	Kind  string        `json:"kind"`
	From  string        `json:"from"`
	To    string        `json:"to"`
	Conn  uint64        `json:"conn"`
	Cause uint64        `json:"cause"`
	Skew  time.Duration `json:"skew"`
	Text  string        `json:"text"`
}

// The kinds of entries, as they stand in a trace, and what they are on a page.
var entryKinds = map[string]Kind{
	"send": Send, "deliver": Deliver, "drop": Drop, "timer": Timer, "node": Node, "note": Note,
}

// KindOf is what the entry is on a page.
func (e *Entry) KindOf() Kind { return entryKinds[e.Kind] }

// ReadTrace reads a trace as the engine writes it: one JSON object a line. An error is one line that names the line of
// the file.
func ReadTrace(r io.Reader) ([]Entry, error) {
	lines := bufio.NewReaderSize(r, 1<<16)
	var entries []Entry
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("trace: line %d: %w", number, err)
		}
		if len(line) == 0 {
			return entries, nil
		}
		entries = append(entries, Entry{})
		e := &entries[len(entries)-1]
		if bad := json.Unmarshal(line, e); bad != nil {
			return nil, fmt.Errorf("trace: line %d: it is no entry of a trace: %w", number, bad)
		}
		if bad := follows(entries[:len(entries)-1], e); bad != nil {
			return nil, fmt.Errorf("trace: line %d: %w", number, bad)
		}
	}
}

// follows checks that an entry may come after those before it.
func follows(before []Entry, e *Entry) error {
	if _, known := entryKinds[e.Kind]; !known {
		return fmt.Errorf("the kind is %q: want send, deliver, drop, timer, node or note", e.Kind)
	}
	if e.Time < 0 {
		return fmt.Errorf("the time is %d: times start at 0", e.Time)
	}
	last := Entry{}
	if n := len(before); n > 0 {
		last = before[n-1]
	}
	switch {
	case e.Index <= last.Index:
		return fmt.Errorf("index %d comes after index %d: indices must rise", e.Index, last.Index)
	case e.Time < last.Time:
		return fmt.Errorf("time %d comes after time %d: times must not fall", e.Time, last.Time)
	case e.Cause >= e.Index:
		return fmt.Errorf("cause %d of entry %d does not come before it", e.Cause, e.Index)
	}
	return nil
}
