package spacetime

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReadTrace(t *testing.T) {
	text := `{"index":1,"time":0,"kind":"send","from":"c1","to":"redis","conn":7,"text":"GET job"}
{"index":2,"time":614420,"kind":"deliver","from":"c1","to":"redis","conn":7,"cause":1,"skew":-5,"text":"GET job"}
{"index":4,"time":614420,"kind":"note","text":"the end"}`
	want := []Entry{
		{Index: 1, Kind: "send", From: "c1", To: "redis", Conn: 7, Text: "GET job"},
		{
			Index: 2, Time: 614420 * time.Nanosecond, Kind: "deliver", From: "c1", To: "redis", Conn: 7, Cause: 1, Skew: -5,
			Text: "GET job",
		},
		{Index: 4, Time: 614420, Kind: "note", Text: "the end"},
	}
	for _, end := range []string{"", "\n"} {
		got, err := ReadTrace(strings.NewReader(text + end))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("read otherwise than it stands there (-want +got):\n%s", diff)
		}
	}
	kinds := []Kind{Send, Deliver, Note}
	for i := range want {
		if got := want[i].KindOf(); got != kinds[i] {
			t.Errorf("%s is kind %d, want %d", want[i].Kind, got, kinds[i])
		}
	}
}

func TestReadTraceRefuses(t *testing.T) {
	good := `{"index":5,"time":7,"kind":"timer","from":"c1"}` + "\n"
	for _, test := range []struct{ line, want string }{
		{"nonsense", "line 2: it is no entry of a trace"},
		{"", "line 2: it is no entry of a trace"},
		{`[1]`, "line 2: it is no entry of a trace"},
		{`{"index":6,"time":8}`, `line 2: the kind is "": want send, deliver, drop, timer, node or note`},
		{`{"index":6,"time":8,"kind":"rumour"}`, `line 2: the kind is "rumour"`},
		{`{"index":5,"time":8,"kind":"note"}`, "line 2: index 5 comes after index 5: indices must rise"},
		{`{"index":6,"time":6,"kind":"note"}`, "line 2: time 6 comes after time 7: times must not fall"},
		{`{"index":6,"time":-1,"kind":"note"}`, "line 2: the time is -1: times start at 0"},
		{`{"index":6,"time":8,"kind":"note","cause":6}`, "line 2: cause 6 of entry 6 does not come before it"},
	} {
		_, err := ReadTrace(strings.NewReader(good + test.line + "\n"))
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: the error is %v, want one line with %q", test.line, err, test.want)
		}
	}
}

func FuzzReadTrace(f *testing.F) {
	f.Add(`{"index":1,"time":0,"kind":"send","from":"c1","to":"redis","conn":7,"text":"GET job"}` + "\n")
	f.Add(`{"index":1,"kind":"note"}` + "\n" + `{"index":2,"kind":"node","cause":1}`)
	f.Add("\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := ReadTrace(strings.NewReader(text))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has several lines: %q", err)
			}
			return
		}
		for i := range entries {
			if e := &entries[i]; e.Cause >= e.Index || i > 0 && (e.Index <= entries[i-1].Index || e.Time < entries[i-1].Time) {
				t.Errorf("entry %d is out of order: %+v", i, e)
			}
		}
	})
}
