package checker

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// maxLine bounds one line of a file, so that a file that is no history does not fill the memory.
const maxLine = 16 << 20

// ReadHistory reads a whole history and checks that it is well-formed. Calls without return stay open.
func ReadHistory(r io.Reader) (History, error) {
	d, err := NewDecoder(r)
	if err != nil {
		return History{}, err
	}
	h := History{Header: d.Header()}
	for {
		var e Event
		err := d.Decode(&e)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return History{}, err
		}
		h.Events = append(h.Events, e)
	}
	if err := h.Validate(); err != nil {
		return History{}, fmt.Errorf("history: %w", err)
	}
	return h, nil
}

// Decoder reads a history event by event. It checks each line by itself; that the lines fit together is for
// History.Validate to say.
type Decoder struct {
	r      *bufio.Reader
	long   []byte
	number int
	header Header
	last   *Event
	kept   Event
	known  map[string]string
}

// NewDecoder reads the header.
func NewDecoder(r io.Reader) (*Decoder, error) {
	d := &Decoder{r: bufio.NewReaderSize(r, 1<<16), known: make(map[string]string)}
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
	s := scanner{line: line, known: d.known}
	if err := s.event(e); err != nil {
		return d.wrap(err)
	}
	if err := e.validate(); err != nil {
		return d.wrap(err)
	}
	if d.last != nil {
		if err := inOrder(d.last, e); err != nil {
			return d.wrap(err)
		}
	}
	d.kept = *e
	d.last = &d.kept
	return nil
}

func (d *Decoder) wrap(err error) error { return fmt.Errorf("history: line %d: %w", d.number, err) }

// line reads the next line, without its end. The last line may lack its newline.
func (d *Decoder) line() ([]byte, error) {
	d.number++
	d.long = d.long[:0]
	for {
		part, err := d.r.ReadSlice('\n')
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

var eventKeys = []string{
	"index", "time", "process", "node", "type", "f", "key", "value", "error", "clock", "token", "deadline", "wait",
	"owner", "count", "command", "accepted", "previous", "record",
}

var recordKeys = []string{"owner", "count", "expires", "now"}

// event reads one line after the header.
func (s *scanner) event(e *Event) error {
	seen := ""
	err := s.object(eventKeys, func(key string) error {
		switch key {
		case "index", "time", "process":
			seen += key[:1]
		}
		return s.member(e, key)
	})
	if err != nil {
		return err
	}
	if err := s.finish(); err != nil {
		return err
	}
	for _, key := range []string{"index", "time", "process"} {
		if !strings.Contains(seen, key[:1]) {
			return fmt.Errorf("the event has no %q: every event needs index, time and process", key)
		}
	}
	return nil
}

// member reads the value of one key of an event.
func (s *scanner) member(e *Event, key string) error {
	switch key {
	case "index":
		return s.signed(&e.Index)
	case "time":
		return s.duration(&e.Time)
	case "process":
		return s.process(&e.Process)
	case "node":
		return s.text(&e.Node)
	case "type":
		return s.text((*string)(&e.Type))
	case "f":
		return s.text(&e.F)
	case "key":
		return s.text(&e.Key)
	case "value":
		return s.text(&e.Value)
	case "error":
		return s.text(&e.Error)
	case "clock":
		return s.clock(&e.Clock)
	case "token":
		return s.signed(&e.Token)
	case "deadline":
		return s.duration(&e.Deadline)
	case "wait":
		return s.duration(&e.Wait)
	case "owner":
		return s.text(&e.Owner)
	case "count":
		return s.signed(&e.Count)
	case "command":
		return s.text(&e.Command)
	case "accepted":
		return s.boolean(&e.Accepted)
	case "previous":
		return s.record(&e.Previous)
	default:
		return s.record(&e.Record)
	}
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
	var name string
	if err := s.text(&name); err != nil {
		return err
	}
	switch name {
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
	var text string
	if err := s.text(&text); err != nil {
		return err
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return fmt.Errorf("clock %q: want a time such as 2024-01-31T10:00:00.5Z", text)
	}
	*clock = t.UTC()
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
