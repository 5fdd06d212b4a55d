package reports

import (
	"bytes"
	"encoding/csv"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/lockstep-sim/lockstep/checker"
)

// table writes a table of a history and reads it back.
func table(t *testing.T, d dataset, h *checker.History) (text []byte, rows [][]string) {
	t.Helper()
	var b bytes.Buffer
	if err := d.write(&b, h); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(b.Bytes())).ReadAll() // it also checks that all rows are equally long
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), rows
}

// TestData compares the tables of an example with those that are kept, and with the history.
func TestData(t *testing.T) {
	h := readExample(t, "loser-enters").history
	for _, d := range datasets {
		text, rows := table(t, d, h)
		golden(t, filepath.Join("data", d.name+".csv"), text)
		want := len(h.Events)
		switch d.name {
		case "calls":
			want = 0
			for _, e := range h.Events {
				if e.Type == checker.Invoke {
					want++
				}
			}
		case "holds":
			want = len(checker.Claims(h))
		}
		if len(rows) != want+1 {
			t.Errorf("%s has %d rows, want %d and the columns", d.name, len(rows), want)
		}
	}
}

// TestCalls checks what came of calls: answered, refused, unknown, never answered because another followed or none did,
// and those of two processes between each other.
func TestCalls(t *testing.T) {
	h := &checker.History{Events: []checker.Event{
		{Index: 1, Time: 10, Process: 1, Type: checker.Invoke, F: checker.Acquire, Key: "job"},
		{Index: 2, Time: 11, Process: 2, Type: checker.Invoke, F: checker.TryAcquire, Key: "job"},
		{Index: 3, Time: 12, Process: 1, Type: checker.Info, F: checker.Renew, Key: "job"},
		{Index: 4, Time: 15, Process: 1, Type: checker.OK, F: checker.Acquire, Key: "job", Token: 7},
		{Index: 5, Time: 16, Process: 2, Type: checker.Fail, F: checker.TryAcquire, Key: "job"},
		{Index: 6, Time: 20, Process: 1, Type: checker.Invoke, F: checker.Release, Key: "job"},
		{Index: 7, Time: 21, Process: 1, Type: checker.Info, F: checker.Release, Key: "job", Error: "=a,\"b\"\nc"},
		{Index: 8, Time: 30, Process: 2, Type: checker.Invoke, F: checker.Acquire, Key: "job"},
		{Index: 9, Time: 31, Process: checker.ProcessServer, Type: checker.Info, F: checker.RecordGone, Key: "job"},
	}}
	_, rows := table(t, datasets[1], h)
	column := func(name string) int { return slices.Index(rows[0], name) }
	for i, want := range []struct{ back, took, outcome, failure, token string }{
		{"4", "5", "ok", "", "7"},
		{"5", "5", "fail", "", ""},
		{"7", "1", "info", `'=a,"b"\nc`, ""},
		{"", "", "open", "", ""},
	} {
		row := rows[i+1]
		got := struct{ back, took, outcome, failure, token string }{
			row[column("return")], row[column("took_ns")], row[column("outcome")], row[column("error")], row[column("token")],
		}
		if got != want {
			t.Errorf("call %s: %+v, want %+v", strconv.Quote(row[column("call")]), got, want)
		}
	}
}
