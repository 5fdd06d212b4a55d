package foreign_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/lockstep-sim/lockstep/checker/foreign"
)

// endless goes on for ever after its beginning.
type endless struct {
	beginning string
	rest      string
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.beginning)
	e.beginning = e.beginning[n:]
	for n < len(p) {
		n += copy(p[n:], e.rest)
	}
	return n, nil
}

// TestEndlessLine gives the readers a line of 1 GB. It is one error, and does not take 1 GB of memory to find.
func TestEndlessLine(t *testing.T) {
	const mostMemory = 256 << 20
	for _, test := range []struct {
		name, beginning, rest, want string
	}{
		{"lockstep", `{"schema":"lockstep-history/1","scenario":"`, "x", "history: line 1: longer than 16777216 bytes"},
		{"lockstep event", `{"schema":"lockstep-history/1"}` + "\n" + `{"value":"`, "x", "history: line 2: longer than"},
		{"edn string", `{:process 1 :note "`, "x", "edn history: line 1: one record takes more than 1048576 bytes"},
		{"edn word", `{:process 1 :note `, "x", "line 1: one record takes more than"},
		{"edn values", `[{:process 1 :note [`, "1 ", "line 1: one record takes more than"},
		{"edn depth", `[{:process 1 :note `, "[", "line 1: values lie 101 deep in each other"},
		{"edn discarded", `[`, "#_", "line 1: values lie 101 deep in each other"},
		{"edn tags", `[`, "#a ", "line 1: values lie 101 deep in each other"},
		{"edn comment", `;`, "x", "line 1: one record takes more than"},
		{"edn space", `[`, "\n", "one record takes more than"},
		{"json string", `{"note":"`, "x", "json history: line 1: one record takes more than 1048576 bytes"},
		{"json values", `{"note":[1`, ",1", "line 1: one record takes more than"},
		{"json depth", `{"note":`, "[", "line 1: values lie 101 deep in each other"},
		{"json objects", `[`, `{"a":`, "line 1: values lie 101 deep in each other"},
		{"log", "INFO  jepsen.util - 0\t:invoke\t:read\t", "x", "jepsen-log history: line 1: longer than 65536 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := foreign.Read(io.LimitReader(&endless{test.beginning, test.rest}, 1<<30), foreign.Auto)
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if taken := after.TotalAlloc - before.TotalAlloc; taken > mostMemory {
				t.Errorf("it took %d MB to find out", taken>>20)
			}
		})
	}
}

// TestReaderFails passes on what goes wrong below.
func TestReaderFails(t *testing.T) {
	for _, beginning := range []string{"", "{:process 1 ", `{"process":1`, "INFO"} {
		_, err := foreign.Read(io.MultiReader(strings.NewReader(beginning), broken{}), foreign.Auto)
		if err == nil || !strings.Contains(err.Error(), "the disk is on fire") {
			t.Errorf("after %q: got %v", beginning, err)
		}
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errFire }

var errFire = errors.New("the disk is on fire")

func fuzz(f *testing.F, format foreign.Format, seeds ...string) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := foreign.Read(strings.NewReader(text), format)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("more than one line: %q", err)
			}
			return
		}
		if err := r.Validate(); err != nil {
			t.Fatal(err)
		}
		if len(r.Events) == 0 {
			return // which is a history to package checker alone
		}
		foreign.Linearizable(&r.History, r.Object, 1000)
		for name, write := range writers {
			var b bytes.Buffer
			if err := write(&b, &r.History); err != nil {
				t.Fatal(err)
			}
			again, err := foreign.Read(&b, foreign.Format(name))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if len(again.Events) != len(r.Events) {
				t.Fatalf("%s: %d events, want %d", name, len(again.Events), len(r.Events))
			}
		}
	})
}

func FuzzReadEDN(f *testing.F) {
	fuzz(f, foreign.EDN,
		`[{:type :invoke, :f :acquire, :process 1, :time 10, :index 0} {:type :ok, :f :acquire, :process 1, :time 5}]`,
		`{:type :invoke, :f :acquire, :process 1, :index 0} {:type :info, :f :acquire, :process 1, :index 1}`,
		`#knossos.op.Op{:process 0 :type :invoke :f :lock :value {:client "a" :uid #uuid "f8"}} ; more`,
		`({:process :nemesis :type :info :f :start :value #{1 2N -1.5M 1/3 \newline \u0041 "\ud83d\ude00"}} #_ nil)`,
		`{:process 0 :type :invoke :f :append :key "x" :value [:a nil]}`)
}

func FuzzReadJSON(f *testing.F) {
	fuzz(f, foreign.JSON,
		`[{"type":"invoke","f":"acquire","process":1,"time":10},{"type":"ok","f":"acquire","process":1,"time":20}]`,
		`{"process":"nemesis","type":"info","f":"kill","value":{"n1":[1.5e3,true,null,"\ud83d\ude00"]}}`,
		`{"process":0,"type":"invoke","f":"cas","value":[1,2]} {"process":0,"type":"info","f":"cas"}`,
		`{"index":3,"process":"server","type":"info","f":"record-set","record":{"owner":"a"},"call":3}`,
		`{"process":2,"type":"info","f":"lost","clock":"2024-01-31T10:00:00Z"}`)
}

func FuzzReadAtlasDB(f *testing.F) {
	fuzz(f, foreign.AtlasDB,
		`[{"f":"lock","process":0,"time":1,"type":"invoke","value":"bob"},`+
			`{"f":"lock","process":0,"query-params":"","time":2,"type":"ok","value":"T"},`+
			`{"f":"refresh","process":0,"time":3,"type":"invoke","value":"bob"},`+
			`{"f":"refresh","process":0,"time":4,"type":"ok","value":""}]`,
		`{"f":"unlock","process":0,"type":"invoke","value":"bob"}{"f":"unlock","process":0,"type":"ok","value":"false"}`)
}

func FuzzReadLog(f *testing.F) {
	fuzz(f, foreign.JepsenLog,
		"INFO  jepsen.util - 0\t:invoke\t:read\tnil\nINFO  jepsen.util - 0\t:fail\t:read\t:timed-out\n",
		"INFO  jepsen.core - x\n1\t:invoke\t:cas\t[3 4]\n:nemesis\t:info\t:start\tnil\n1\t:info\t:cas\t:timed-out")
}

// FuzzSniff gives the reader whatever may come, without saying what it is.
func FuzzSniff(f *testing.F) {
	fuzz(f, foreign.Auto, `{"schema":"lockstep-history/1"}`, "hello", "[", "{:", `[{"`, "INFO", "0\t", "; x\n[]")
}
