package sim

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// ReadJSONL reads what WriteJSONL wrote. An error names the line. The trace has entries only: it can be compared and
// written again, but it has no hash.
func ReadJSONL(r io.Reader) (*Trace, error) {
	t := &Trace{mode: Full}
	lines := bufio.NewReader(r)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if len(line) > 0 {
			entry, failure := parseEntry(line)
			if failure != nil {
				return nil, fmt.Errorf("line %d: %w", number, failure)
			}
			if entry.Index != uint64(number) {
				return nil, fmt.Errorf("line %d: the index is %d; a trace counts its entries from 1", number, entry.Index)
			}
			if entry.Cause >= entry.Index {
				return nil, fmt.Errorf("line %d: its cause, %d, does not come before it", number, entry.Cause)
			}
			t.Entries = append(t.Entries, entry)
		}
		if err != nil {
			t.count = uint64(len(t.Entries))
			return t, nil
		}
	}
}

// parseEntry reads one line.
func parseEntry(line []byte) (Entry, error) {
	var e jsonEntry
	if err := json.Unmarshal(line, &e); err != nil {
		return Entry{}, errors.New("it is no entry of a trace: want a JSON object, one in a line")
	}
	kind := slices.Index(kindNames[:], e.Kind)
	if kind < 1 {
		return Entry{}, fmt.Errorf("there is no kind %q of entries", e.Kind)
	}
	return Entry{
		Index: e.Index, Time: time.Duration(e.Time), Kind: Kind(kind), From: e.From, To: e.To, Conn: e.Conn,
		Cause: e.Cause, Text: e.Text,
	}, nil
}
