package timeserver

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDescribe(t *testing.T) {
	if got := Describe([]byte("TIME\n")); !slices.Equal(got, []string{"TIME"}) {
		t.Errorf("a request is described as %q", got)
	}
	for _, other := range []string{"", "TIME", "TIME\nTIME\n", "time\n", "TIME\r\n", "IME\n"} {
		if got := Describe([]byte(other)); got != nil {
			t.Errorf("%q is described as %q", other, got)
		}
	}
}

func TestSession(t *testing.T) {
	for _, test := range []struct {
		name    string
		arrived []string
		answers string
		fails   bool
	}{
		{"one", []string{"TIME\n"}, "7\n", false},
		{"in pieces", []string{"T", "IM", "", "E", "\n"}, "7\n", false},
		{"pipelined", []string{"TIME\nTIME\nTI", "ME\n"}, "7\n7\n7\n", false},
		{"unfinished", []string{"TIME"}, "", false},
		{"garbage", []string{"GET / HTTP/1.1\r\n"}, "", true},
		{"carriage return", []string{"TIME\r\n"}, "", true},
		{"garbage after a request", []string{"TIME\nX"}, "7\n", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var session Session
			var answers []byte
			var err error
			for _, part := range test.arrived {
				if answers, err = session.Answer(answers, []byte(part), 7); err != nil {
					break
				}
			}
			if string(answers) != test.answers || errors.Is(err, errGarbage) != test.fails {
				t.Errorf("answers %q, error %v", answers, err)
			}
		})
	}
}

func TestParseAnswer(t *testing.T) {
	for _, bad := range []string{
		"", "\n", "1475068172329", "-\n", "+1\n", "01\n", "-0\n", " 1\n", "1 \n", "1\r\n", "1.5\n", "1e3\n",
		"1\n2\n", "9223372036854775808\n", strings.Repeat("1", replyMax) + "\n",
	} {
		if millis, err := parseAnswer([]byte(bad)); !errors.Is(err, errGarbage) {
			t.Errorf("%q is read as %d, %v", bad, millis, err)
		}
	}
}

// TestAnswerRoundTrip: what the server writes at any time, the client reads back, and it fits.
func TestAnswerRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		millis := rapid.Int64().Draw(t, "millis")
		var session Session
		line, err := session.Answer(nil, requestBytes, millis)
		if err != nil || len(line) > replyMax {
			t.Fatalf("answer %q, %v", line, err)
		}
		if got, err := parseAnswer(line); err != nil || got != millis {
			t.Fatalf("%d came back as %d, %v", millis, got, err)
		}
	})
}

// FuzzSession: the answers do not depend on how the bytes were cut, and there is one for each request before garbage.
func FuzzSession(f *testing.F) {
	f.Add([]byte("TIME\nTIME\n"), 3)
	f.Add([]byte("TIMETIME\n"), 4)
	f.Add([]byte("\x00"), 0)
	f.Fuzz(func(t *testing.T, p []byte, cut int) {
		var whole, split Session
		want, wantErr := whole.Answer(nil, p, 7)
		cut = max(0, min(cut, len(p)))
		got, gotErr := split.Answer(nil, p[:cut], 7)
		if gotErr == nil {
			got, gotErr = split.Answer(got, p[cut:], 7)
		}
		if string(got) != string(want) || (gotErr == nil) != (wantErr == nil) {
			t.Fatalf("%q cut at %d: %q, %v; uncut: %q, %v", p, cut, got, gotErr, want, wantErr)
		}
		rest, requests := string(p), 0
		for strings.HasPrefix(rest, request) {
			rest = rest[len(request):]
			requests++
		}
		if len(want) != 2*requests || (wantErr == nil) != strings.HasPrefix(request, rest) {
			t.Fatalf("%q: %d requests answered by %q, %v", p, requests, want, wantErr)
		}
	})
}

// FuzzParseAnswer: a line that is read is the very line that the server would have written.
func FuzzParseAnswer(f *testing.F) {
	f.Add([]byte("1475068172329\n"))
	f.Add([]byte("-9223372036854775808\n"))
	f.Add([]byte("007\n"))
	f.Fuzz(func(t *testing.T, line []byte) {
		millis, err := parseAnswer(line)
		if err != nil {
			return
		}
		var session Session
		if written, _ := session.Answer(nil, requestBytes, millis); string(written) != string(line) {
			t.Fatalf("%q is read as %d, which is written %q", line, millis, written)
		}
	})
}
