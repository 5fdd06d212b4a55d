package foreign

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/internal/visible"
)

// WriteEDN writes the events of a history as Jepsen's operations in EDN, one map a line. What Jepsen has no name for
// stands under that of package checker. Read gets the same events back.
func WriteEDN(w io.Writer, h *checker.History) error {
	b := bufio.NewWriter(w)
	var line []byte
	for i := range h.Events {
		members, err := fields(&h.Events[i])
		if err != nil {
			return err
		}
		v := value{kind: object}
		for _, m := range members {
			if m.value.kind == keyword && !plainKeyword(m.value.text) {
				m.value.kind = text
			}
			v.items = append(v.items, value{kind: keyword, text: m.name}, m.value)
		}
		line = append(v.edn(line[:0]), '\n')
		if _, err := b.Write(line); err != nil {
			return err
		}
	}
	return b.Flush()
}

// plainKeyword says whether every reader of EDN takes s for a keyword.
func plainKeyword(s string) bool {
	for i, c := range s {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || !(c >= '0' && c <= '9' || c == '-' || c == '_')) {
			return false
		}
	}
	return s != ""
}

// WriteJSON writes the events of a history as Jepsen's operations in JSON, one array of objects. Read gets the same
// events back.
func WriteJSON(w io.Writer, h *checker.History) error {
	b := bufio.NewWriter(w)
	line := []byte("[")
	for i := range h.Events {
		members, err := fields(&h.Events[i])
		if err != nil {
			return err
		}
		if i > 0 {
			line = append(line, ',')
		}
		line = appendJSON(append(line, '\n'), members)
		if _, err := b.Write(line); err != nil {
			return err
		}
		line = line[:0]
	}
	if _, err := b.Write(append(line, "\n]\n"...)); err != nil {
		return err
	}
	return b.Flush()
}

func appendJSON(b []byte, members []field) []byte {
	b = append(b, '{')
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, m.name), ':')
		switch m.value.kind {
		case null:
			b = append(b, "null"...)
		case text, keyword:
			b = appendString(b, m.value.text)
		case object:
			var inner []field
			for j := 0; j+1 < len(m.value.items); j += 2 {
				inner = append(inner, field{m.value.items[j].text, m.value.items[j+1]})
			}
			b = appendJSON(b, inner)
		default:
			b = append(b, m.value.text...)
		}
	}
	return append(b, '}')
}

// columns are the columns of WriteCSV.
var columns = []string{
	"index", "time", "process", "node", "type", "f", "key", "value", "error", "clock", "token", "deadline", "wait",
	"owner", "count", "command", "call", "accepted", "previous", "record",
}

// WriteCSV writes the events of a history as a table: a line with the names of the columns, one line for each event.
// Times are in nanoseconds; records of the server stand in one cell each, as EDN. Characters that would act on a
// terminal or break the row are written as their numbers.
func WriteCSV(w io.Writer, h *checker.History) error {
	table := csv.NewWriter(w)
	if err := table.Write(columns); err != nil {
		return err
	}
	row := make([]string, len(columns))
	for i := range h.Events {
		members, err := fields(&h.Events[i])
		if err != nil {
			return err
		}
		for k, name := range columns {
			row[k] = ""
			for j := range members {
				if m := &members[j]; m.name == name {
					row[k] = m.value.text
					if m.value.kind == object {
						row[k] = m.value.plain()
					}
					row[k] = visible.Cell(row[k])
				}
			}
		}
		if err := table.Write(row); err != nil {
			return err
		}
	}
	table.Flush()
	return table.Error()
}

// field is one member of an operation.
type field struct {
	name  string
	value value
}

// fields lists what there is to write of an event. Jepsen wants a value in every operation.
func fields(e *checker.Event) ([]field, error) {
	process := value{kind: number, text: strconv.Itoa(e.Process)}
	switch {
	case e.Process == checker.ProcessFault:
		process = value{kind: keyword, text: nemesisName}
	case e.Process == checker.ProcessServer:
		process = value{kind: keyword, text: serverName}
	case e.Process < 0:
		return nil, fmt.Errorf("event %d has process %d: want 0 or more for a client", e.Index, e.Process)
	}
	members := []field{
		{"index", integer(e.Index)},
		{"time", integer(int64(e.Time))},
		{"process", process},
		{"type", value{kind: keyword, text: string(e.Type)}},
		{"f", value{kind: keyword, text: e.F}},
		{"value", words(e.Value)},
	}
	add := func(name string, v value) {
		if v.kind != null && !(v.kind == number && v.text == "0") {
			members = append(members, field{name, v})
		}
	}
	add("node", words(e.Node))
	add("key", words(e.Key))
	add("error", words(e.Error))
	if !e.Clock.IsZero() {
		add("clock", words(e.Clock.UTC().Format(time.RFC3339Nano)))
	}
	add("token", integer(e.Token))
	add("deadline", integer(int64(e.Deadline)))
	add("wait", integer(int64(e.Wait)))
	add("owner", words(e.Owner))
	add("count", integer(e.Count))
	add("command", words(e.Command))
	add("call", integer(e.Call))
	if e.Accepted {
		add("accepted", value{kind: boolean, text: "true"})
	}
	add("previous", recorded(e.Previous))
	add("record", recorded(e.Record))
	return members, nil
}

func integer(n int64) value { return value{kind: number, text: strconv.FormatInt(n, 10)} }

// words is a text, null if there is none.
func words(s string) value {
	if s == "" {
		return value{}
	}
	return value{kind: text, text: s}
}

func recorded(r *checker.Record) value {
	if r == nil {
		return value{}
	}
	v := value{kind: object}
	for _, m := range []field{
		{"owner", words(r.Owner)},
		{"count", integer(r.Count)},
		{"expires", integer(r.Expires)},
		{"now", integer(r.Now)},
	} {
		v.items = append(v.items, value{kind: keyword, text: m.name}, m.value)
	}
	return v
}
