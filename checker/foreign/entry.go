package foreign

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
)

// entry is one record of a file, understood field by field.
type entry struct {
	checker.Event
	line           int
	indexed, timed bool  // the file gives an index, a time
	value          value // as it stands in the file
}

// newEntry reads the fields that Jepsen and this package give an operation. Others are passed over: test suites add
// their own.
func newEntry(v *value, line int) (*entry, error) {
	e := &entry{line: line}
	if v.kind != object {
		return nil, e.fault("want an operation, which is a map, found %q", shorten(v.plain()))
	}
	if v.tag != "" && !strings.HasSuffix(v.tag, "Op") {
		return nil, e.fault("want an operation, found a value with the tag #%s", v.tag)
	}
	seen := make(map[string]bool)
	for i := 0; i+1 < len(v.items); i += 2 {
		key, member := &v.items[i], &v.items[i+1]
		if !key.named() {
			continue
		}
		if seen[key.text] {
			return nil, e.fault("%s comes twice", key.text)
		}
		seen[key.text] = true
		if want := e.set(key.text, member); want != "" {
			return nil, e.fault("%s: want %s, found %q", key.text, want, shorten(member.plain()))
		}
	}
	for _, needed := range []string{"process", "type", "f"} {
		if !seen[needed] {
			return nil, e.fault("the operation has no %s", needed)
		}
	}
	return e, nil
}

func (e *entry) fault(format string, args ...any) error {
	return fmt.Errorf("line %d: "+format, append([]any{e.line}, args...)...)
}

func shorten(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "..."
	}
	return s
}

// set takes over one field. It returns what the field should be, or nothing if all is well.
func (e *entry) set(name string, v *value) (want string) {
	switch name {
	case "index":
		e.indexed = v.kind != null
		return whole(v, &e.Index)
	case "time":
		e.timed = v.kind != null
		return span(v, &e.Time)
	case "process":
		return e.setProcess(v)
	case "type":
		return e.setType(v)
	case "f":
		e.F = v.text
		if !v.named() || v.text == "" {
			return "a name"
		}
		return ""
	case "value":
		e.value, e.Value = *v, v.plain()
		return ""
	case "error":
		e.Error = v.name()
		return ""
	case "key":
		e.Key = v.name()
		return ""
	default:
		return e.setOwn(name, v)
	}
}

// setOwn takes over a field that this package writes and Jepsen does not know.
func (e *entry) setOwn(name string, v *value) (want string) {
	switch name {
	case "node":
		return word(v, &e.Node)
	case "owner":
		return word(v, &e.Owner)
	case "command":
		return word(v, &e.Command)
	case "clock":
		return clock(v, &e.Clock)
	case "token":
		return whole(v, &e.Token)
	case "deadline":
		return span(v, &e.Deadline)
	case "wait":
		return span(v, &e.Wait)
	case "count":
		return whole(v, &e.Count)
	case "call":
		return whole(v, &e.Call)
	case "accepted":
		return truth(v, &e.Accepted)
	case "previous":
		return record(v, &e.Previous)
	case "record":
		return record(v, &e.Record)
	}
	return ""
}

// The names of processes that are not clients.
const (
	nemesisName = "nemesis"
	serverName  = "server"
)

func (e *entry) setProcess(v *value) (want string) {
	const process = "the number of a client, nemesis or server"
	if v.named() {
		switch v.text {
		case nemesisName:
			e.Process = checker.ProcessFault
		case serverName:
			e.Process = checker.ProcessServer
		default:
			return process
		}
		return ""
	}
	n, ok := v.integer()
	if !ok || n < 0 || int64(int(n)) != n {
		return process
	}
	e.Process = int(n)
	return ""
}

func (e *entry) setType(v *value) (want string) {
	switch e.Type = checker.Type(v.text); e.Type {
	case checker.Invoke, checker.OK, checker.Fail, checker.Info:
		if v.named() {
			return ""
		}
	}
	return "invoke, ok, fail or info"
}

func whole(v *value, n *int64) (want string) {
	if v.kind == null {
		return ""
	}
	var ok bool
	if *n, ok = v.integer(); !ok {
		return "a whole number of 64 bits"
	}
	return ""
}

func span(v *value, d *time.Duration) (want string) {
	if whole(v, (*int64)(d)) != "" {
		return "nanoseconds as a whole number"
	}
	return ""
}

func word(v *value, s *string) (want string) {
	if v.kind == list || v.kind == object {
		return "a word"
	}
	*s = v.name()
	return ""
}

func truth(v *value, b *bool) (want string) {
	if v.kind == null {
		return ""
	}
	var ok bool
	if *b, ok = v.truth(); !ok {
		return "true or false"
	}
	return ""
}

func clock(v *value, t *time.Time) (want string) {
	if v.kind == null {
		return ""
	}
	var err error
	if *t, err = time.Parse(time.RFC3339Nano, v.text); err != nil || v.kind != text {
		return "a time such as 2024-01-31T10:00:00.5Z"
	}
	*t = t.UTC()
	if y := t.Year(); y < 0 || y > 9999 {
		return "a year from 0 to 9999 in UTC"
	}
	return ""
}

func record(v *value, r **checker.Record) (want string) {
	if v.kind == null {
		return ""
	}
	const form = "a record with owner, count, expires and now"
	if v.kind != object {
		return form
	}
	*r = &checker.Record{}
	for i := 0; i+1 < len(v.items); i += 2 {
		member := &v.items[i+1]
		switch v.items[i].text {
		case "owner":
			want = word(member, &(*r).Owner)
		case "count":
			want = whole(member, &(*r).Count)
		case "expires":
			want = whole(member, &(*r).Expires)
		case "now":
			want = whole(member, &(*r).Now)
		default:
			return form
		}
		if want != "" {
			return form
		}
	}
	return ""
}
