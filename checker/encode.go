package checker

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf8"
)

// schemaName is how the version of the format stands in a file.
const schemaName = "lockstep-history/"

// The processes that are not clients, as they stand in a file.
const (
	serverName = "server"
	faultName  = "nemesis"
)

// WriteHistory writes a whole history as JSONL: the header, then one line for each event. Equal histories give equal
// bytes.
func WriteHistory(w io.Writer, h *History) error {
	e, err := NewEncoder(w, h.Header)
	if err != nil {
		return err
	}
	for i := range h.Events {
		if err := e.Encode(&h.Events[i]); err != nil {
			return err
		}
	}
	return e.Flush()
}

// Encoder writes a history event by event.
type Encoder struct {
	w    *bufio.Writer
	line []byte
}

// NewEncoder writes the header and returns what writes the events. Flush must be called at the end.
func NewEncoder(w io.Writer, header Header) (*Encoder, error) {
	if header.Schema != 0 && header.Schema != Schema {
		return nil, fmt.Errorf("history: cannot write schema %d: this program writes %d", header.Schema, Schema)
	}
	e := &Encoder{w: bufio.NewWriterSize(w, 1<<16)}
	e.line = appendHeader(e.line, &header)
	_, err := e.w.Write(e.line)
	return e, err
}

// Encode writes one event.
func (e *Encoder) Encode(event *Event) error {
	line, err := appendEvent(e.line[:0], event)
	if err != nil {
		return err
	}
	e.line = line
	_, err = e.w.Write(line)
	return err
}

// Flush writes what is still buffered.
func (e *Encoder) Flush() error { return e.w.Flush() }

// object appends the members of one JSON object, leaving out the empty ones.
type object struct {
	b     []byte
	empty bool
}

func begin(b []byte) object { return object{append(b, '{'), true} }

func (o *object) end() []byte { return append(o.b, '}') }

func (o *object) key(name string) {
	if !o.empty {
		o.b = append(o.b, ',')
	}
	o.empty = false
	o.b = append(o.b, '"')
	o.b = append(o.b, name...)
	o.b = append(o.b, '"', ':')
}

func (o *object) text(name, value string) {
	if value != "" {
		o.key(name)
		o.b = appendText(o.b, value)
	}
}

func (o *object) number(name string, value int64) {
	if value != 0 {
		o.key(name)
		o.b = strconv.AppendInt(o.b, value, 10)
	}
}

func appendHeader(b []byte, h *Header) []byte {
	o := begin(b)
	o.text("schema", schemaName+strconv.Itoa(Schema))
	o.text("scenario", h.Scenario)
	o.text("implementation", h.Implementation)
	o.key("seed")
	o.b = strconv.AppendUint(o.b, h.Seed, 10)
	o.text("transport", h.Transport)
	o.text("lock", h.Lock)
	o.text("resource", h.Resource)
	o.number("lease", int64(h.Lease))
	if len(h.Parameters) > 0 {
		o.key("parameters")
		for i, p := range h.Parameters {
			o.b = append(o.b, "[,"[min(i, 1)])
			o.b = append(o.b, '[')
			o.b = appendText(o.b, p.Name)
			o.b = append(o.b, ',')
			o.b = appendText(o.b, p.Value)
			o.b = append(o.b, ']')
		}
		o.b = append(o.b, ']')
	}
	if len(h.Plan) > 0 {
		o.key("plan")
		for i, fault := range h.Plan {
			o.b = append(o.b, "[,"[min(i, 1)])
			o.b = appendText(o.b, fault)
		}
		o.b = append(o.b, ']')
	}
	return append(o.end(), '\n')
}

func appendEvent(b []byte, e *Event) ([]byte, error) {
	o := begin(b)
	o.key("index")
	o.b = strconv.AppendInt(o.b, e.Index, 10)
	o.key("time")
	o.b = strconv.AppendInt(o.b, int64(e.Time), 10)
	o.key("process")
	switch {
	case e.Process >= 0:
		o.b = strconv.AppendInt(o.b, int64(e.Process), 10)
	case e.Process == ProcessServer:
		o.b = appendText(o.b, serverName)
	case e.Process == ProcessFault:
		o.b = appendText(o.b, faultName)
	default:
		return nil, fmt.Errorf("history: event %d has process %d: want 0 or more for a client", e.Index, e.Process)
	}
	o.text("node", e.Node)
	o.text("type", string(e.Type))
	o.text("f", e.F)
	o.text("key", e.Key)
	o.text("value", e.Value)
	o.text("error", e.Error)
	if !e.Clock.IsZero() {
		clock := e.Clock.UTC()
		if y := clock.Year(); y < 0 || y > 9999 {
			return nil, fmt.Errorf("history: event %d shows a clock in the year %d: want 0 to 9999", e.Index, y)
		}
		o.key("clock")
		o.b = append(o.b, '"')
		o.b = clock.AppendFormat(o.b, time.RFC3339Nano)
		o.b = append(o.b, '"')
	}
	o.number("token", e.Token)
	o.number("deadline", int64(e.Deadline))
	o.number("wait", int64(e.Wait))
	o.text("owner", e.Owner)
	o.number("count", e.Count)
	o.text("command", e.Command)
	if e.Accepted {
		o.key("accepted")
		o.b = append(o.b, "true"...)
	}
	o.number("call", e.Call)
	o.record("previous", e.Previous)
	o.record("record", e.Record)
	return append(o.end(), '\n'), nil
}

func (o *object) record(name string, r *Record) {
	if r == nil {
		return
	}
	o.key(name)
	inner := begin(o.b)
	inner.text("owner", r.Owner)
	inner.number("count", r.Count)
	inner.number("expires", r.Expires)
	inner.number("now", r.Now)
	o.b = inner.end()
}

// appendText appends a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendText(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r)
			i += size
			continue
		}
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c == '\t':
			b = append(b, '\\', 't')
		case c < ' ' || c == 0x7f:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
		i++
	}
	return append(b, '"')
}

// errNoHeader is what an empty file gives.
var errNoHeader = errors.New("history: line 1: there is no header: the file is empty")
