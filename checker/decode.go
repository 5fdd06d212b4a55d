package checker

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

// maxLine bounds one line of a file, so that a file that is no history does not fill the memory.
const maxLine = 16 << 20

// ReadHistory reads a whole history and checks that it is well-formed. Calls without return stay open. A reader with a
// method Len that tells how many bytes are left, such as a bytes.Reader, saves it a copy of all events.
func ReadHistory(r io.Reader) (History, error) {
	d, err := NewDecoder(r)
	if err != nil {
		return History{}, err
	}
	h := History{Header: d.Header()}
	if h.Events, err = d.rest(); err != nil {
		return History{}, err
	}
	if at, err := h.firstFault(); err != nil {
		const headerLines = 1
		return History{}, fmt.Errorf("history: line %d: %w", headerLines+at+1, err)
	}
	return h, nil
}

// rest reads all events that are left. A slice that grows copies large events again and again: where the reader tells
// how long it is, the first events tell how many there will be; elsewhere they are gathered in pieces and put together
// once.
func (d *Decoder) rest() ([]Event, error) {
	const piece = 4096
	var full [][]Event
	events := make([]Event, 0, 64)
	for {
		events = append(events, Event{})
		err := d.Decode(&events[len(events)-1])
		if errors.Is(err, io.EOF) {
			events = events[:len(events)-1]
			if full == nil {
				return events, nil
			}
			return slices.Concat(append(full, events)...), nil
		}
		if err != nil {
			return nil, err
		}
		switch {
		case len(events) < piece || len(events) < cap(events):
		case d.size > 0 && full == nil:
			events = slices.Grow(events, d.further(len(events)))
		default:
			full, events = append(full, events), make([]Event, 0, piece)
		}
	}
}

// further estimates how many events will come after so many, with some to spare. It makes room for a few times as many
// as there are, at most: a file may begin with short lines and go on with long ones.
func (d *Decoder) further(events int) int {
	const most = 16
	left := max(d.size-d.read, 0)
	return min(int(left/(d.read/int64(events)+1)*17/16)+64, most*events)
}

// Decoder reads a history event by event. It checks each line by itself; that the lines fit together is for
// History.Validate to say.
type Decoder struct {
	r      *bufio.Reader
	long   []byte
	number int
	header Header
	size   int64 // of all that is to be read; 0 = nobody knows
	read   int64 // bytes, so far
	some   bool  // an event was read
	last   stamp // of the event before
	known  known
	s      scanner
}

// stamp is where an event stands among the others.
type stamp struct {
	index int64
	time  time.Duration
}

// NewDecoder reads the header.
func NewDecoder(r io.Reader) (*Decoder, error) {
	d := &Decoder{r: bufio.NewReaderSize(r, 1<<16)}
	if sized, ok := r.(interface{ Len() int }); ok {
		d.size = int64(sized.Len())
	}
	line, err := d.line()
	if errors.Is(err, io.EOF) {
		return nil, errNoHeader
	}
	if err != nil {
		return nil, err
	}
	s := scanner{line: line}
	if err := s.header(&d.header); err != nil {
		return nil, d.wrap(err)
	}
	return d, nil
}

// Header returns what the history is a history of.
func (d *Decoder) Header() Header { return d.header }

// Decode reads the next event. It returns io.EOF after the last.
func (d *Decoder) Decode(e *Event) error {
	line, err := d.line()
	if err != nil {
		return err
	}
	*e = Event{}
	d.s = scanner{line: line, known: &d.known}
	if err := d.s.event(e); err != nil {
		return d.wrap(err)
	}
	if err := e.validate(); err != nil {
		return d.wrap(err)
	}
	if d.some {
		if err := inOrder(d.last, e.stamp()); err != nil {
			return d.wrap(err)
		}
	}
	d.some, d.last = true, e.stamp()
	return nil
}

func (d *Decoder) wrap(err error) error { return fmt.Errorf("history: line %d: %w", d.number, err) }

// line reads the next line, without its end. The last line may lack its newline.
func (d *Decoder) line() ([]byte, error) {
	d.number++
	d.long = d.long[:0]
	for {
		part, err := d.r.ReadSlice('\n')
		d.read += int64(len(part))
		if len(d.long)+len(part) > maxLine {
			return nil, d.wrap(fmt.Errorf("longer than %d bytes: this is no history", maxLine))
		}
		switch {
		case err == nil && len(d.long) == 0:
			return part[:len(part)-1], nil
		case err == nil:
			d.long = append(d.long, part...)
			return d.long[:len(d.long)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
			d.long = append(d.long, part...)
		case errors.Is(err, io.EOF):
			d.long = append(d.long, part...)
			if len(d.long) == 0 {
				return nil, io.EOF
			}
			return d.long, nil
		default:
			return nil, fmt.Errorf("history: line %d: %w", d.number, err)
		}
	}
}

// header reads the first line.
func (s *scanner) header(h *Header) error {
	err := s.object(headerKeys, func(key string) error {
		switch key {
		case "schema":
			return s.schema(&h.Schema)
		case "scenario":
			return s.text(&h.Scenario)
		case "implementation":
			return s.text(&h.Implementation)
		case "seed":
			return s.unsigned(&h.Seed)
		case "transport":
			return s.text(&h.Transport)
		case "lock":
			return s.text(&h.Lock)
		case "resource":
			return s.text(&h.Resource)
		case "lease":
			return s.duration(&h.Lease)
		case "parameters":
			return s.list(func() error { return s.parameter(h) })
		default:
			return s.list(func() error {
				var fault string
				err := s.text(&fault)
				h.Plan = append(h.Plan, fault)
				return err
			})
		}
	})
	if err == nil {
		err = s.finish()
	}
	if err == nil && h.Schema == 0 {
		err = fmt.Errorf("the header has no schema: want \"schema\":\"%s%d\" in the first line", schemaName, Schema)
	}
	return err
}

func (s *scanner) schema(version *int) error {
	var name string
	if err := s.text(&name); err != nil {
		return err
	}
	if name != schemaName+strconv.Itoa(Schema) {
		return fmt.Errorf("schema %q: this program reads \"%s%d\"", name, schemaName, Schema)
	}
	*version = Schema
	return nil
}

func (s *scanner) parameter(h *Header) error {
	var pair []string
	err := s.list(func() error {
		var part string
		err := s.text(&part)
		pair = append(pair, part)
		return err
	})
	if err != nil {
		return err
	}
	if len(pair) != 2 {
		return s.wrong(`["name","value"] for each parameter`)
	}
	h.Parameters = append(h.Parameters, Parameter{Name: pair[0], Value: pair[1]})
	return nil
}

var headerKeys = []string{
	"schema", "scenario", "implementation", "seed", "transport", "lock", "resource", "lease", "parameters", "plan",
}

var recordKeys = []string{"owner", "count", "expires", "now"}

// eventFields are the keys of an event with what reads their values, in the order in which they are written. The first
// of them stand in every event.
var eventFields = [...]struct {
	name string
	read func(*scanner, *Event) error
}{
	{"index", func(s *scanner, e *Event) error { return s.signed(&e.Index) }},
	{"time", func(s *scanner, e *Event) error { return s.duration(&e.Time) }},
	{"process", func(s *scanner, e *Event) error { return s.process(&e.Process) }},
	{"node", func(s *scanner, e *Event) error { return s.text(&e.Node) }},
	{"type", func(s *scanner, e *Event) error { return s.text((*string)(&e.Type)) }},
	{"f", func(s *scanner, e *Event) error { return s.text(&e.F) }},
	{"key", func(s *scanner, e *Event) error { return s.text(&e.Key) }},
	{"value", func(s *scanner, e *Event) error { return s.text(&e.Value) }},
	{"error", func(s *scanner, e *Event) error { return s.text(&e.Error) }},
	{"clock", func(s *scanner, e *Event) error { return s.clock(&e.Clock) }},
	{"token", func(s *scanner, e *Event) error { return s.signed(&e.Token) }},
	{"deadline", func(s *scanner, e *Event) error { return s.duration(&e.Deadline) }},
	{"wait", func(s *scanner, e *Event) error { return s.duration(&e.Wait) }},
	{"owner", func(s *scanner, e *Event) error { return s.text(&e.Owner) }},
	{"count", func(s *scanner, e *Event) error { return s.signed(&e.Count) }},
	{"command", func(s *scanner, e *Event) error { return s.text(&e.Command) }},
	{"accepted", func(s *scanner, e *Event) error { return s.boolean(&e.Accepted) }},
	{"call", func(s *scanner, e *Event) error { return s.signed(&e.Call) }},
	{"previous", func(s *scanner, e *Event) error { return s.record(&e.Previous) }},
	{"record", func(s *scanner, e *Event) error { return s.record(&e.Record) }},
}

// neededFields is how many of eventFields every event has.
const neededFields = 3

// event reads one line after the header.
func (s *scanner) event(e *Event) error {
	if !s.accept('{') {
		return s.wrong("an object")
	}
	var seen uint64
	for k, more := 0, !s.accept('}'); more; {
		var err error
		if k, err = s.field(k, seen); err != nil {
			return err
		}
		seen |= 1 << k
		if err := eventFields[k].read(s, e); err != nil {
			return err
		}
		if more, err = s.another(); err != nil {
			return err
		}
	}
	if err := s.finish(); err != nil {
		return err
	}
	for k, field := range eventFields[:neededFields] {
		if seen&(1<<k) == 0 {
			return fmt.Errorf("the event has no %q: every event needs index, time and process", field.name)
		}
	}
	return nil
}

// field reads a key and the colon after it, and returns which of eventFields it is. It looks first for what follows
// the field before, where this package writes it.
func (s *scanner) field(before int, seen uint64) (int, error) {
	start := s.at
	name, err := s.raw()
	if err != nil {
		return 0, err
	}
	k := before
	for range eventFields {
		if k++; k >= len(eventFields) {
			k = 0
		}
		if eventFields[k].name == string(name) {
			if seen&(1<<k) != 0 {
				return 0, fmt.Errorf("column %d: key %q comes twice", start+1, name)
			}
			if !s.accept(':') {
				return 0, s.wrong("a colon")
			}
			return k, nil
		}
	}
	var names []string
	for _, field := range eventFields {
		names = append(names, field.name)
	}
	return 0, unknownKey(start, name, names)
}

func (s *scanner) process(process *int) error {
	if s.peek() != '"' {
		var n int64
		if err := s.signed(&n); err != nil {
			return err
		}
		if n < 0 || int64(int(n)) != n {
			return fmt.Errorf("process %d: want 0 or more for a client, %q or %q", n, serverName, faultName)
		}
		*process = int(n)
		return nil
	}
	name, err := s.raw()
	if err != nil {
		return err
	}
	switch string(name) {
	case serverName:
		*process = ProcessServer
	case faultName:
		*process = ProcessFault
	default:
		return fmt.Errorf("process %q: want a number, %q or %q", name, serverName, faultName)
	}
	return nil
}

func (s *scanner) clock(clock *time.Time) error {
	text, err := s.raw()
	if err != nil {
		return err
	}
	if err := clock.UnmarshalText(text); err != nil {
		return fmt.Errorf("clock %q: want a time such as 2024-01-31T10:00:00.5Z", text)
	}
	*clock = clock.UTC()
	if y := clock.Year(); y < 0 || y > 9999 {
		return fmt.Errorf("clock %q: want a year from 0 to 9999 in UTC", text)
	}
	return nil
}

func (s *scanner) record(record **Record) error {
	r := &Record{}
	*record = r
	return s.object(recordKeys, func(key string) error {
		switch key {
		case "owner":
			return s.text(&r.Owner)
		case "count":
			return s.signed(&r.Count)
		case "expires":
			return s.signed(&r.Expires)
		default:
			return s.signed(&r.Now)
		}
	})
}
