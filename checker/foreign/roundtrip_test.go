package foreign_test

import (
	"bytes"
	"encoding/csv"
	"io"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/foreign"
)

// writers are the exporters whose files Read reads.
var writers = map[string]func(io.Writer, *checker.History) error{
	"edn": foreign.WriteEDN, "json": foreign.WriteJSON,
}

// drawHistory draws a well-formed history of clients, server and faults, with text as it may come from anywhere.
func drawHistory(t *rapid.T) *checker.History {
	text := rapid.OneOf(rapid.Just(""), rapid.StringN(0, 6, -1))
	h := &checker.History{Header: checker.Header{Schema: checker.Schema}}
	open := map[int]checker.Event{}
	now, index := time.Duration(0), int64(rapid.IntRange(0, 3).Draw(t, "first"))
	for range rapid.IntRange(1, 12).Draw(t, "events") {
		now += time.Duration(rapid.IntRange(0, 3).Draw(t, "wait"))
		index += int64(rapid.IntRange(1, 3).Draw(t, "step"))
		e := checker.Event{
			Index: index, Time: now, Process: rapid.SampledFrom([]int{0, 1, 2, checker.ProcessServer, checker.ProcessFault}).
				Draw(t, "process"),
			Value: text.Draw(t, "value"), Node: text.Draw(t, "node"), Error: text.Draw(t, "error"), Type: checker.Info,
			Token: int64(rapid.IntRange(-1, 2).Draw(t, "token")), Command: text.Draw(t, "command"),
		}
		call, called := open[e.Process]
		switch {
		case e.Process == checker.ProcessServer:
			e.F, e.Key = rapid.SampledFrom([]string{checker.RecordSet, checker.RecordGone}).Draw(t, "f"), "job"
			e.Record = &checker.Record{Owner: text.Draw(t, "owner"), Expires: rapid.Int64().Draw(t, "expires")}
		case e.Process == checker.ProcessFault:
			e.F = rapid.SampledFrom([]string{checker.FaultApplied, checker.Healed, checker.WorkloadEnd}).Draw(t, "f")
		case called:
			e.F, e.Key = call.F, call.Key
			e.Type = rapid.SampledFrom([]checker.Type{checker.OK, checker.Fail, checker.Info}).Draw(t, "type")
			delete(open, e.Process)
		default:
			e.F = rapid.SampledFrom([]string{checker.Acquire, checker.TryAcquire, checker.Release, "renew it"}).Draw(t, "f")
			e.Type, e.Key = checker.Invoke, rapid.StringN(1, 4, -1).Draw(t, "key")
			open[e.Process] = e
		}
		h.Events = append(h.Events, e)
	}
	return h
}

// TestRoundTrip writes histories for other tools and reads them back.
func TestRoundTrip(t *testing.T) {
	for name, write := range writers {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				h := drawHistory(t)
				var b bytes.Buffer
				if err := write(&b, h); err != nil {
					t.Fatal(err)
				}
				text := b.String()
				for _, format := range []foreign.Format{foreign.Auto, foreign.Format(name)} {
					got, err := foreign.Read(strings.NewReader(text), format)
					if err != nil {
						t.Fatalf("%v\n%s", err, text)
					}
					if diff := cmp.Diff(h.Events, got.Events); diff != "" {
						t.Fatalf("%s\n%s", diff, text)
					}
				}
			})
		})
	}
}

// fullEvent has a value of its own in every field, those that are added one day included.
func fullEvent(t *testing.T) checker.Event {
	t.Helper()
	e := checker.Event{Type: checker.Info, F: checker.RecordSet, Clock: time.Unix(1700000000, 5).UTC()}
	fill(t, reflect.ValueOf(&e).Elem())
	return e
}

func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	for i := range v.NumField() {
		field, name := v.Field(i), v.Type().Field(i).Name
		switch {
		case name == "Process":
			field.SetInt(checker.ProcessServer)
		case !field.IsZero():
		case field.Kind() == reflect.String:
			field.SetString("some " + name)
		case field.CanInt():
			field.SetInt(int64(100 + i))
		case field.Kind() == reflect.Bool:
			field.SetBool(true)
		case field.Kind() == reflect.Pointer:
			field.Set(reflect.New(field.Type().Elem()))
			fill(t, field.Elem())
		default:
			t.Fatalf("there is no test value for the field %s", name)
		}
	}
}

// TestEveryField checks that no field of an event is forgotten, by any writer and reader.
func TestEveryField(t *testing.T) {
	e := fullEvent(t)
	e.Call = e.Index
	h := &checker.History{Header: checker.Header{Schema: checker.Schema}, Events: []checker.Event{e}}
	all := map[string]func(io.Writer, *checker.History) error{"lockstep": checker.WriteHistory}
	for name, write := range writers {
		all[name] = write
	}
	for name, write := range all {
		var b bytes.Buffer
		if err := write(&b, h); err != nil {
			t.Fatal(err)
		}
		got, err := foreign.Read(&b, foreign.Format(name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(h.Events, got.Events); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestCSV reads the table back as a table, in which nothing acts and each event is one line.
func TestCSV(t *testing.T) {
	full := fullEvent(t)
	full.Value = "with \"quotes\",\nand lines\x1b[31m\tand tabs"
	h := &checker.History{Events: []checker.Event{
		full,
		{Index: 200, Time: full.Time, Process: 3, Type: checker.Invoke, F: checker.Acquire, Key: "job"},
	}}
	var b bytes.Buffer
	if err := foreign.WriteCSV(&b, h); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 3 || len(rows[0]) != reflect.TypeFor[checker.Event]().NumField() {
		t.Fatalf("%d rows with %d columns, want 3 and one for each field", len(rows), len(rows[0]))
	}
	for column, name := range rows[0] {
		if rows[1][column] == "" {
			t.Errorf("the column %s is empty", name)
		}
	}
	want := map[string]string{
		"index": strconv.FormatInt(full.Index, 10), "process": "server", "accepted": "true",
		"value": `with "quotes",\nand lines\x1b[31m` + "\tand tabs",
		"clock": "2023-11-14T22:13:20.000000005Z", "record": `{:owner "some Owner" :count 101 :expires 102 :now 103}`,
	}
	for column, name := range rows[0] {
		if text, known := want[name]; known && rows[1][column] != text {
			t.Errorf("%s is %q, want %q", name, rows[1][column], text)
		}
	}
	second := strings.TrimRight(strings.Join(rows[2], "|"), "|")
	if want := "200|" + rows[1][1] + "|3||invoke|acquire|job"; second != want {
		t.Errorf("the second event is %s, want %s", second, want)
	}
}
