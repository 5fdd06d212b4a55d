package reports

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/internal/visible"
	"pgregory.net/rapid"
)

// plainCell gives back what there was before safeCell.
func plainCell(cell string) string { return strings.TrimPrefix(cell, quoteMark) }

func TestSafeCell(t *testing.T) {
	for cell, want := range map[string]string{
		"": "", "job": "job", "a=b": "a=b", " =1": " =1", "-5": "-5", "-0.25": "-0.25", "12": "12",
		"=1+1": "'=1+1", "=cmd|' /C calc'!A0": "'=cmd|' /C calc'!A0", "+1": "'+1", "-1+2": "'-1+2", "--5": "'--5",
		"-": "'-", "-.": "'-.", "-1e5": "'-1e5", "-Inf": "'-Inf", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1",
		"\r=1": `\x0d=1`, "\n=1": `\n=1`, "=\x1b[1m": `'=\x1b[1m`, "'": "''", "'=1": "''=1", "\uff1d1": "'\uff1d1",
	} {
		if got := safeCell(cell); got != want {
			t.Errorf("%q becomes %q, want %q", cell, got, want)
		}
	}
}

// TestTableReadsBack writes any text and reads it with another's reader: the same cells come back, made visible, each
// row is one line, and no cell is a formula.
func TestTableReadsBack(t *testing.T) {
	cell := rapid.OneOf(
		rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("=+-@\t\n'\"\\,;x1.\uff1d"))), rapid.Just("-12"),
	)
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.SliceOfN(cell, 3, 3), 1, 5).Draw(t, "rows")
		var b bytes.Buffer
		if err := writeTable(&b, rows); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(b.String(), "\n"); got != len(rows) {
			t.Fatalf("%d lines are written of %d rows", got, len(rows))
		}
		back, err := csv.NewReader(&b).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if len(back) != len(rows) {
			t.Fatalf("%d rows come back of %d", len(back), len(rows))
		}
		for i, row := range back {
			for k, got := range row {
				if first := strings.TrimLeft(got, "=+-@\t\r\n\uff1d"); first != got && !isNumber(got) {
					t.Fatalf("%q is a formula", got)
				}
				want := visible.Cell(rows[i][k])
				if plain := plainCell(got); plain != want && got != want {
					t.Fatalf("%q comes back as %q", want, got)
				}
			}
		}
	})
}

// TestWriteTable writes each table by its name, and refuses others.
func TestWriteTable(t *testing.T) {
	h := &checker.History{Events: []checker.Event{{
		Index: 1, Process: checker.ProcessServer, Type: checker.Info, F: checker.RecordSet, Key: "=job",
		Record: &checker.Record{Owner: "-me", Count: 2, Expires: 70, Now: 60},
	}}}
	for _, name := range Tables() {
		var b bytes.Buffer
		if err := WriteTable(&b, h, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, rows := table(t, datasets[slices.Index(Tables(), "events")], h)
	for column, want := range map[string]string{
		"key": "'=job", "record_owner": "'-me", "record_count": "2", "record_expires_ms": "70", "record_now_ms": "60",
		"previous_owner": "", "previous_count": "",
	} {
		if got := rows[1][slices.Index(rows[0], column)]; got != want {
			t.Errorf("%s is %q, want %q", column, got, want)
		}
	}
	err := WriteTable(new(bytes.Buffer), h, "clocks")
	if err == nil || err.Error() != `there is no table "clocks": want one of events, calls, holds` {
		t.Errorf("error %v", err)
	}
}
