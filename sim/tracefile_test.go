package sim

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestTraceFile checks that a trace is read back as it was written.
func TestTraceFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		written := &Trace{}
		for i := range rapid.IntRange(0, 5).Draw(t, "entries") {
			written.Entries = append(written.Entries, Entry{
				Index: uint64(i) + 1, Time: time.Duration(rapid.Int64().Draw(t, "time")),
				Kind: Kind(rapid.IntRange(1, len(kindNames)-1).Draw(t, "kind")),
				From: rapid.StringMatching(`[a-z0-9<>&]*`).Draw(t, "from"), To: rapid.StringMatching(`[a-z0-9]*`).Draw(t, "to"),
				Conn: rapid.Uint64().Draw(t, "conn"), Cause: rapid.Uint64Range(0, uint64(i)).Draw(t, "cause"),
				Text: rapid.StringMatching(`[ -~]*`).Draw(t, "text"),
			})
		}
		var file bytes.Buffer
		if err := written.WriteJSONL(&file); err != nil {
			t.Fatal(err)
		}
		read, err := ReadJSONL(&file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(written.Entries, read.Entries); diff != "" {
			t.Fatalf("it is read back as another one (-want +got):\n%s", diff)
		}
		if difference := FirstDifference(written, read); difference != "" {
			t.Fatal(difference)
		}
	})
}

func TestTraceFileErrors(t *testing.T) {
	const first = `{"index":1,"time":5,"kind":"note"}` + "\n"
	for text, want := range map[string]string{
		first + "hello\n": "line 2: it is no entry",
		first + `{"index":3,"time":5,"kind":"note"}`:           "line 2: the index is 3",
		first + `{"index":2,"time":5,"kind":"rumour"}`:         `line 2: there is no kind "rumour"`,
		first + `{"index":2,"time":5,"kind":"note","cause":2}`: "line 2: its cause, 2, does not come before it",
		`{"f":"invoke","index":1}`:                             `line 1: there is no kind ""`,
	} {
		if _, err := ReadJSONL(strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %q", text, err, want)
		}
	}
}

// FuzzReadJSONL checks that no text makes the reader panic, and that traces that are read can be explained and written.
func FuzzReadJSONL(f *testing.F) {
	f.Add([]byte(`{"index":1,"time":5,"kind":"send","from":"c1","to":"redis","conn":3,"text":"GET"}` + "\n"))
	f.Add([]byte(`{"index":1,"time":5,"kind":"note"}` + "\n" + `{"index":2,"time":5,"kind":"drop","cause":1}`))
	f.Add([]byte("{}\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		trace, err := ReadJSONL(bytes.NewReader(text))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("the error has several lines: %q", err)
			}
			return
		}
		FirstDifference(trace, &Trace{})
		var file bytes.Buffer
		if err := trace.WriteJSONL(&file); err != nil {
			t.Fatal(err)
		}
		if again, err := ReadJSONL(&file); err != nil || FirstDifference(trace, again) != "" {
			t.Fatalf("it is not read back: %v", err)
		}
	})
}
