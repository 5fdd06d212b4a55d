package redislock

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/lockstep-sim/lockstep/impl"
)

// publishedRecord is from the log of the published program.
const publishedRecord = `{"count":1,"expires":1475068172329,"jvmPid":22224,"mac":"28-D2-44-0E-0D-9A","threadId":11}`

var publishedOwner = impl.Owner{Machine: "28-D2-44-0E-0D-9A", Process: 22224, Thread: 11}

func TestRecordIsThePublishedOne(t *testing.T) {
	record := newRecord(publishedOwner, 1475068172329)
	if got := record.String(); got != publishedRecord {
		t.Errorf("String() = %s, want %s", got, publishedRecord)
	}
	parsed, err := ParseRecord(publishedRecord)
	if err != nil || parsed != record {
		t.Errorf("ParseRecord = %+v, %v, want %+v", parsed, err, record)
	}
	if parsed.Owner() != publishedOwner {
		t.Errorf("Owner() = %v, want %v", parsed.Owner(), publishedOwner)
	}
}

func TestParseRecord(t *testing.T) {
	whole := newRecord(publishedOwner, 1475068172329)
	for _, test := range []struct {
		name, text string
		want       Record
		fails      bool
	}{
		{name: "other order", want: whole, text: `{"threadId":11,"mac":"28-D2-44-0E-0D-9A",` +
			`"jvmPid":22224,"expires":1475068172329,"count":1}`},
		{name: "spaces", want: whole, text: ` { "count" : 1, "expires":1475068172329,` + "\n" +
			`"jvmPid":22224,"mac":"28-D2-44-0E-0D-9A","threadId":11 } `},
		{name: "more fields", want: whole, text: `{"count":1,"expires":1475068172329,"host":{"a":[1]},` +
			`"jvmPid":22224,"mac":"28-D2-44-0E-0D-9A","threadId":11}`},
		{name: "missing fields", text: `{"expires":5}`, want: Record{Expires: 5}},
		{name: "none", text: `{}`},
		{
			name: "below zero", text: `{"count":-1,"expires":-5,"jvmPid":0,"mac":"","threadId":0}`,
			want: Record{Count: -1, Expires: -5},
		},
		{
			name: "escapes", text: `{"count":0,"expires":0,"jvmPid":0,"mac":"a\"\\\u00e9<","threadId":0}`,
			want: Record{Machine: `a"\é<`},
		},
		{name: "empty", text: ``, fails: true},
		{name: "null", text: `null`, fails: true},
		{name: "no object", text: `"count"`, fails: true},
		{name: "word", text: `hello`, fails: true},
		{name: "cut", text: publishedRecord[:60], fails: true},
		{name: "more after it", text: publishedRecord + `}`, fails: true},
		{name: "fraction", text: `{"count":1.5}`, fails: true},
		{name: "too big", text: `{"count":9223372036854775808}`, fails: true},
		{name: "leading zero", text: `{"count":01,"expires":1,"jvmPid":1,"mac":"","threadId":1}`, fails: true},
		{name: "text for number", text: `{"count":"1"}`, fails: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := ParseRecord(test.text)
			if (err != nil) != test.fails || got != test.want {
				t.Errorf("ParseRecord(%s) = %+v, %v", test.text, got, err)
			}
		})
	}
}

func TestRecordRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		record := Record{
			Count:   rapid.Int64().Draw(t, "count"),
			Expires: rapid.Int64().Draw(t, "expires"),
			Process: rapid.Int64().Draw(t, "process"),
			Machine: rapid.String().Draw(t, "machine"),
			Thread:  rapid.Int64().Draw(t, "thread"),
		}
		got, err := ParseRecord(record.String())
		if err != nil || got != record {
			t.Fatalf("%s read back as %+v, %v", record, got, err)
		}
	})
}

// FuzzParseRecord holds the quick reader against package json: what it accepts, both must read alike.
func FuzzParseRecord(f *testing.F) {
	f.Add(publishedRecord)
	f.Add(`{"count":-0,"expires":1,"jvmPid":1,"mac":"x","threadId":1}`)
	f.Add(`{"count":1,"expires":,"jvmPid":1,"mac":"x\u0000","threadId":1}`)
	f.Add(`{"threadId":1}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, text string) {
		record, err := ParseRecord(text)
		if quick, ok := parseCanonical(text); ok {
			var slow Record
			if err := json.Unmarshal([]byte(text), &slow); err != nil || slow != quick {
				t.Fatalf("%q: quickly %+v, by package json %+v, %v", text, quick, slow, err)
			}
			if quick.String() != text {
				t.Fatalf("%q is taken for canonical and written as %s", text, quick)
			}
		}
		if err != nil {
			return
		}
		if again, err := ParseRecord(record.String()); err != nil || again != record {
			t.Fatalf("%+v written and read again: %+v, %v", record, again, err)
		}
	})
}

func BenchmarkParseRecord(b *testing.B) {
	b.Run("canonical", func(b *testing.B) {
		for b.Loop() {
			ParseRecord(publishedRecord)
		}
	})
	b.Run("json", func(b *testing.B) {
		for b.Loop() {
			ParseRecord(" " + publishedRecord)
		}
	})
}
