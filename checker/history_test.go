package checker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawText draws text as it may come from anywhere: quotes, control characters, all of Unicode.
func drawText() *rapid.Generator[string] { return rapid.OneOf(rapid.Just(""), rapid.StringN(0, 8, -1)) }

func drawRecord(t *rapid.T, label string) *Record {
	if !rapid.Bool().Draw(t, label) {
		return nil
	}
	return &Record{
		Owner: drawText().Draw(t, "owner"), Count: rapid.Int64().Draw(t, "count"),
		Expires: rapid.Int64().Draw(t, "expires"), Now: rapid.Int64().Draw(t, "now"),
	}
}

// drawHistory draws a history that is well-formed line by line, not as a whole.
func drawHistory(t *rapid.T) *History {
	h := &History{Header: Header{
		Schema: Schema, Scenario: drawText().Draw(t, "scenario"), Implementation: drawText().Draw(t, "implementation"),
		Seed: rapid.Uint64().Draw(t, "seed"), Transport: drawText().Draw(t, "transport"), Lock: drawText().Draw(t, "lock"),
		Resource: drawText().Draw(t, "resource"), Lease: time.Duration(rapid.Int64().Draw(t, "lease")),
		Plan: rapid.SliceOfN(drawText(), 0, 3).Draw(t, "plan"),
	}}
	for range rapid.IntRange(0, 3).Draw(t, "parameters") {
		h.Header.Parameters = append(h.Header.Parameters, Parameter{drawText().Draw(t, "name"), drawText().Draw(t, "value")})
	}
	if len(h.Header.Plan) == 0 {
		h.Header.Plan = nil
	}
	index, now := int64(-1), time.Duration(0)
	for range rapid.IntRange(0, 6).Draw(t, "events") {
		index += rapid.Int64Range(1, 1<<40).Draw(t, "step")
		now += time.Duration(rapid.Int64Range(0, 1<<40).Draw(t, "wait"))
		e := Event{
			Index: index, Time: now, Process: rapid.IntRange(ProcessFault, 1<<40).Draw(t, "process"),
			Node: drawText().Draw(t, "node"), Type: rapid.SampledFrom([]Type{Invoke, OK, Fail, Info}).Draw(t, "type"),
			F: rapid.StringN(1, 8, -1).Draw(t, "f"), Key: drawText().Draw(t, "key"), Value: drawText().Draw(t, "value"),
			Error: drawText().Draw(t, "error"), Token: rapid.Int64().Draw(t, "token"),
			Deadline: time.Duration(rapid.Int64Min(0).Draw(t, "deadline")),
			Wait:     time.Duration(rapid.Int64Min(0).Draw(t, "wait")),
			Owner:    drawText().Draw(t, "owner"), Count: rapid.Int64().Draw(t, "count"),
			Call: rapid.Int64().Draw(t, "call"), Command: drawText().Draw(t, "command"),
			Accepted: rapid.Bool().Draw(t, "accepted"), Previous: drawRecord(t, "previous"), Record: drawRecord(t, "record"),
		}
		if rapid.Bool().Draw(t, "clock") {
			e.Clock = time.Unix(rapid.Int64Range(0, 1<<36).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
		}
		h.Events = append(h.Events, e)
	}
	return h
}

// readLines reads what WriteHistory wrote without asking whether the events fit together.
func readLines(r io.Reader) (*History, error) {
	d, err := NewDecoder(r)
	if err != nil {
		return nil, err
	}
	h := &History{Header: d.Header()}
	for {
		var e Event
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			return h, nil
		} else if err != nil {
			return nil, err
		}
		h.Events = append(h.Events, e)
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistory(t)
		var first, second bytes.Buffer
		if err := WriteHistory(&first, h); err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(first.Bytes()) {
			if !json.Valid(line) {
				t.Fatalf("not JSON: %s", line)
			}
		}
		got, err := readLines(bytes.NewReader(first.Bytes()))
		if err != nil {
			t.Fatalf("%v\n%s", err, first.Bytes())
		}
		if diff := cmp.Diff(h, got); diff != "" {
			t.Fatal(diff)
		}
		if err := WriteHistory(&second, got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatal("the same history gave other bytes")
		}
	})
}

const (
	headerLine = `{"schema":"lockstep-history/1","seed":1}` + "\n"
	eventLine  = `{"index":0,"time":5,"process":1,"type":"invoke","f":"acquire"}` + "\n"
)

// servedLine is the line of a fact by which the request of a call was served.
func servedLine(index, call int) string {
	return fmt.Sprintf(`{"index":%d,"time":5,"process":"server","type":"ok","f":"served","call":%d}`+"\n", index, call)
}

func TestReadErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty", "", "line 1: there is no header"},
		{"no JSON", "hello", `line 1: column 1: want an object, found "hello"`},
		{"no schema", "{}", `line 1: the header has no schema: want "schema":"lockstep-history/1"`},
		{"other schema", `{"schema":"lockstep-history/2"}`, `line 1: schema "lockstep-history/2": this program reads`},
		{"header key", `{"schema":"lockstep-history/1","sed":1}`, `line 1: column 32: unknown key "sed": want one of`},
		{"unknown key", headerLine + eventLine + `{"index":1,"when":5}`, `line 3: column 12: unknown key "when": want one`},
		{"key in capitals", headerLine + `{"Index":0}`, `unknown key "Index"`},
		{"key twice", headerLine + `{"index":0,"index":1}`, `line 2: column 12: key "index" comes twice`},
		{"no index", headerLine + `{"time":5,"process":1,"type":"ok","f":"acquire"}`, `line 2: the event has no "index"`},
		{"no process", headerLine + `{"index":0,"time":5,"type":"ok","f":"acquire"}`, `the event has no "process"`},
		{"fraction", headerLine + `{"index":1.5}`, `line 2: column 10: want an integer of at most 64 bits, found "1.5}"`},
		{"leading zero", headerLine + `{"index":007}`, "want an integer"},
		{"too big", headerLine + `{"index":9223372036854775808}`, "want an integer of at most 64 bits"},
		{"negative seed", `{"schema":"lockstep-history/1","seed":-1}`, "want an integer from 0"},
		{"process", headerLine + `{"index":0,"time":5,"process":"client"}`, `process "client": want a number`},
		{"process below", headerLine + `{"index":0,"time":5,"process":-1}`, `process -1: want 0 or more`},
		{"type", headerLine + strings.Replace(eventLine, "invoke", "call", 1), `event 0 has type "call": want invoke, ok`},
		{"clock", headerLine + `{"clock":"noon"}`, `clock "noon": want a time such as`},
		{"accepted", headerLine + `{"accepted":1}`, `want true or false, found "1}"`},
		{"string", headerLine + `{"f":acquire}`, `want a string, found "acquire}"`},
		{"open string", headerLine + `{"f":"acq`, "line 2: column 6: the string has no end"},
		{"escape", headerLine + `{"f":"\x"}`, "no such escape"},
		{"lone surrogate", headerLine + `{"f":"\ud800"}`, "no such escape"},
		{"control character", headerLine + "{\"f\":\"a\tb\"}", `write it as \u0009`},
		{"bad UTF-8", headerLine + "{\"f\":\"\xff\"}", "the string is not UTF-8"},
		{"more on the line", headerLine + strings.TrimSpace(eventLine) + "x", `want the end of the line, found "x"`},
		{"empty line", headerLine + "\n" + eventLine, "line 2: column 1: want an object, found the end of the line"},
		{"index repeats", headerLine + eventLine + eventLine, "line 3: event 0 comes after event 0: indices must rise"},
		{
			"time falls", headerLine + eventLine + `{"index":1,"time":4,"process":2,"type":"invoke","f":"acquire"}`,
			"line 3: event 1 at 4 ns is earlier than event 0 at 5 ns",
		},
		{"cut off", headerLine + eventLine[:len(eventLine)-5], "line 2: column 53: the string has no end"},
		{"cut off in the header", headerLine[:20], "line 1: column 11: the string has no end"},
		{
			"index falls", headerLine + strings.Replace(eventLine, `"index":0`, `"index":7`, 1) + eventLine,
			"line 3: event 0 comes after event 7: indices must rise",
		},
		{"header twice", headerLine + headerLine + eventLine, `line 2: column 2: unknown key "schema"`},
		{"list", `{"schema":"lockstep-history/1","plan":"crash"}`, "want a list"},
		{"parameter", `{"schema":"lockstep-history/1","parameters":[["lease"]]}`, `want ["name","value"] for each parameter`},
		{"record", headerLine + `{"record":{"ttl":1}}`, `unknown key "ttl": want one of owner, count, expires, now`},
		{
			"negative wait", headerLine + strings.Replace(eventLine, "}", `,"wait":-7}`, 1),
			"line 2: event 0 has a wait of -7 ns: want 0 for one attempt, or more",
		},
		{
			"negative deadline", headerLine + strings.Replace(eventLine, "}", `,"deadline":-7}`, 1),
			"line 2: event 0 has a deadline of -7 ns: want a time since the start, or 0 for none",
		},
		{
			"serves nothing", headerLine + eventLine + servedLine(1, 3),
			"line 3: event 1 says that call 3 was served: want the index of a call before it",
		},
		{
			"serves a fact", headerLine + eventLine + servedLine(1, 0) + servedLine(2, 1),
			"line 4: event 2 says that call 1 was served: want the index of a call before it",
		},
		{
			"return without call", headerLine + strings.Replace(eventLine, "invoke", "ok", 1),
			"line 2: event 0 returns acquire for process 1, which called nothing",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := ReadHistory(strings.NewReader(test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
}

// TestReadTolerance checks what may differ from the bytes that this package writes.
func TestReadTolerance(t *testing.T) {
	text := "{ \"seed\" : 1 , \"schema\":\"lockstep-history/1\" }\r\n" +
		`{"f":"acqu\u0069re","key":"\ud83d\ude00\/","type":"invoke","process":0,"time":0,"index":0}`
	h, err := ReadHistory(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if e := h.Events[0]; e.F != Acquire || e.Key != "😀/" {
		t.Errorf("got %q and %q", e.F, e.Key)
	}
}

func TestWriteErrors(t *testing.T) {
	tests := []struct {
		name string
		h    History
		want string
	}{
		{"schema", History{Header: Header{Schema: 9}}, "cannot write schema 9: this program writes 1"},
		{"process", History{Events: []Event{{Process: -3}}}, "event 0 has process -3"},
		{"clock", History{Events: []Event{{Clock: time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)}}}, "in the year 12000"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := WriteHistory(io.Discard, &test.h); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestLongLine(t *testing.T) {
	h := History{Events: []Event{{Type: Invoke, F: Acquire, Value: strings.Repeat("x", 1<<20)}}}
	var b bytes.Buffer
	if err := WriteHistory(&b, &h); err != nil {
		t.Fatal(err)
	}
	got, err := ReadHistory(&b)
	if err != nil || got.Events[0].Value != h.Events[0].Value {
		t.Errorf("a long line does not come back: %v", err)
	}
	_, err = ReadHistory(io.LimitReader(endless{}, 1<<30))
	if err == nil || !strings.Contains(err.Error(), "line 1: longer than") {
		t.Errorf("got %v for a line without end", err)
	}
}

// endless is a file that is one long line.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// FuzzReadHistory checks that no input makes the reader or the checks fail otherwise than by an error of one line, and
// that what is read is written and read again as the same.
func FuzzReadHistory(f *testing.F) {
	f.Add(headerLine + eventLine)
	f.Add(headerLine + eventLine +
		`{"index":1,"time":6,"process":1,"type":"ok","f":"acquire","token":3,"deadline":9}` + "\n")
	f.Add(headerLine + `{"index":0,"time":5,"process":1,"type":"info","f":"lost","clock":"2024-01-31T10:00:00.5+01:00"}`)
	f.Add(headerLine + `{"index":0,"time":0,"process":"server","type":"info","f":"record-set","key":"job",` +
		`"previous":{"owner":"a","count":1,"expires":5,"now":9},"record":{"owner":"b"}}` + "\n")
	f.Add(`{"schema":"lockstep-history/1","parameters":[["a","b"]],"plan":["x"],"lease":5}` + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := ReadHistory(strings.NewReader(text))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("more than one line: %q", err)
			}
			return
		}
		Check(&h, Options{LivenessBound: 1, Promises: Promises{Fenced: true, Reentrant: true}})
		var b bytes.Buffer
		if err := WriteHistory(&b, &h); err != nil {
			t.Fatal(err)
		}
		again, err := ReadHistory(bytes.NewReader(b.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(h, again); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestReadHistoryOfKnownLength reads a history of many pieces from readers that tell how long it is, do not, or lie.
func TestReadHistoryOfKnownLength(t *testing.T) {
	h := generator{clients: 5, operations: 20_000}.generate(1)
	var file bytes.Buffer
	if err := WriteHistory(&file, h); err != nil {
		t.Fatal(err)
	}
	for name, length := range map[string]int{
		"right": file.Len(), "unknown": 0, "too short": 1000, "far too long": math.MaxInt, "less than nothing": -1,
	} {
		got, err := ReadHistory(&lengthReader{bytes.NewReader(file.Bytes()), length})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(got.Events, h.Events) {
			t.Errorf("%s: %d events are read, not equal to the %d that were written", name, len(got.Events), len(h.Events))
		}
		if most := 17 * len(h.Events); cap(got.Events) > most {
			t.Errorf("%s: there is room for %d events, want at most %d", name, cap(got.Events), most)
		}
	}
}

// lengthReader says that it has some length.
type lengthReader struct {
	io.Reader
	length int
}

func (r *lengthReader) Len() int { return r.length }
