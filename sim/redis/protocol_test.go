package redis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestProtocolErrors(t *testing.T) {
	long := strings.Repeat("x", maxInline+1)
	for name, test := range map[string]struct{ input, want string }{
		"multibulk length":      {"*x\r\n", "invalid multibulk length"},
		"multibulk too many":    {"*1048577\r\n", "invalid multibulk length"},
		"multibulk line":        {"*" + long, "too big mbulk count string"},
		"no dollar":             {"*1\r\n:1\r\n", "expected '$', got ':'"},
		"bulk length":           {"*1\r\n$x\r\n", "invalid bulk length"},
		"bulk negative":         {"*1\r\n$-1\r\n", "invalid bulk length"},
		"bulk too long":         {"*1\r\n$67108865\r\n", "invalid bulk length"},
		"bulk line":             {"*1\r\n$" + long, "too big bulk count string"},
		"inline too long":       {long, "too big inline request"},
		"quotes":                {"SET \"a\r\n", "unbalanced quotes in request"},
		"text behind quotes":    {"SET \"a\"b c\r\n", "unbalanced quotes in request"},
		"after a good request":  {"PING\r\n*1\r\n:1\r\n", "expected '$', got ':'"},
		"single quotes at end":  {"SET 'a\r\n", "unbalanced quotes in request"},
		"empty bulk annoucment": {"*1\r\n\r\n", "expected '$', got '\r'"},
	} {
		t.Run(name, func(t *testing.T) {
			port := &recorder{}
			c := New(Config{Now: fixedClock}).Connect(1, port)
			c.Bytes([]byte(test.input))
			reply := string(port.written)
			reply = strings.TrimPrefix(reply, "+PONG\r\n")
			want := "-ERR Protocol error: " + strings.ReplaceAll(test.want, "\r", " ") + "\r\n"
			if reply != want {
				t.Errorf("got %q, want %q", reply, want)
			}
			if !port.closed {
				t.Error("the connection stays open")
			}
			written := len(port.written)
			c.Bytes([]byte("PING\r\n"))
			if len(port.written) != written {
				t.Error("the connection goes on after the error")
			}
		})
	}
}

func TestInlineRequests(t *testing.T) {
	for line, want := range map[string][]string{
		"PING":                          {"PING"},
		"  SET  a\tb  ":                 {"SET", "a", "b"},
		`SET "a b" 'c d'`:               {"SET", "a b", "c d"},
		`SET "\x41\n\r\t\b\a\"\\" '\''`: {"SET", "A\n\r\t\b\a\"\\", "'"},
		`SET a"b c"`:                    {"SET", "ab c"},
		`SET "" ''`:                     {"SET", "", ""},
		`SET "\xZZ"`:                    {"SET", "xZZ"},
	} {
		for _, end := range []string{"\n", "\r\n"} {
			if got := Describe([]byte(line + end)); !slices.Equal(got, want) {
				t.Errorf("%q: got %q, want %q", line, got, want)
			}
		}
	}
}

func TestDescribeWantsExactlyOneRequest(t *testing.T) {
	one := string(encode([]string{"GET", "k"}))
	for _, input := range []string{"", "GET", one[:len(one)-1], one + "x", one + one, "*0\r\n", "\r\n", "*x\r\n"} {
		if got := Describe([]byte(input)); got != nil {
			t.Errorf("%q is described as %q", input, got)
		}
	}
	if got := Describe([]byte(one)); !slices.Equal(got, []string{"GET", "k"}) {
		t.Errorf("got %q", got)
	}
}

// TestRequestsInPieces cuts a stream of requests anywhere: what comes out must not depend on the cuts.
func TestRequestsInPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		requests := rapid.SliceOfN(rapid.SliceOfN(rapid.String(), 1, 4), 1, 5).Draw(t, "requests")
		var stream []byte
		for _, words := range requests {
			stream = append(stream, encode(words)...)
		}
		var p requestParser
		var got [][]string
		for len(stream) > 0 {
			n := rapid.IntRange(1, len(stream)).Draw(t, "piece")
			p.feed(stream[:n])
			stream = stream[n:]
			for {
				words, err := p.next()
				if err != nil {
					t.Fatal(err)
				}
				if words == nil {
					break
				}
				got = append(got, words)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(requests) {
			t.Fatalf("got %q, want %q", got, requests)
		}
	})
}

// FuzzRequests feeds anything, whole and byte by byte: never a panic, and the same requests and error either way.
func FuzzRequests(f *testing.F) {
	for _, seed := range []string{
		"PING\r\n", "*1\r\n$4\r\nPING\r\n", "*2\r\n$3\r\nGET\r\n$1\r\nk\r\nPING\n", "*0\r\n\r\n", "*-1\r\n",
		"SET \"a\\x41\" 'b'\r\n", "*1\r\n$0\r\n\r\n", "*3\r\n$3\r\nSET\r\n$1\r\na", "\x00\n", "*1\r\n$x\r\n",
	} {
		f.Add([]byte(seed))
	}
	read := func(pieces ...[]byte) string {
		var p requestParser
		var seen strings.Builder
		for _, piece := range pieces {
			p.feed(piece)
			for {
				words, err := p.next()
				if err != nil {
					return seen.String() + err.Error()
				}
				if words == nil {
					break
				}
				if len(words) == 0 {
					return "an empty request"
				}
				fmt.Fprintf(&seen, "%q\n", words)
			}
		}
		return seen.String()
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		whole := read(input)
		bytewise := read(slices.Collect(slices.Chunk(input, 1))...)
		if whole != bytewise || whole == "an empty request" {
			t.Errorf("whole: %s\nbytewise: %s", whole, bytewise)
		}
		if words := Describe(input); words != nil && !strings.HasPrefix(whole, fmt.Sprintf("%q", words)) {
			t.Errorf("described as %q, read as %s", words, whole)
		}
	})
}

func TestDecodeReply(t *testing.T) {
	for raw, want := range map[string]any{
		"+OK\r\n":                         "OK",
		"-ERR no\r\n":                     ReplyError("ERR no"),
		":-42\r\n":                        int64(-42),
		":-9223372036854775808\r\n":       int64(-9223372036854775808),
		"$3\r\na\r\n\r\n":                 "a\r\n",
		"$-1\r\n":                         nil,
		"*-1\r\n":                         nil,
		"_\r\n":                           nil,
		"#t\r\n":                          true,
		",1.5\r\n":                        1.5,
		"=7\r\ntxt:abc\r\n":               "abc",
		"*2\r\n:1\r\n*1\r\n+a\r\n":        []any{int64(1), []any{"a"}},
		"%1\r\n+a\r\n:1\r\n":              map[any]any{"a": int64(1)},
		"~1\r\n:1\r\n":                    []any{int64(1)},
		">2\r\n+message\r\n+x\r\n":        []any{"message", "x"},
		"(12345678901234567890\r\n":       "12345678901234567890",
		"%1\r\n*1\r\n:1\r\n:2\r\n":        map[any]any{"[1]": int64(2)},
		"*1\r\n-WRONGTYPE x\r\n":          []any{ReplyError("WRONGTYPE x")},
		":1\r\n:2\r\n":                    int64(1),
		"*2\r\n$1\r\na\r\n$-1\r\n+rest\r": []any{"a", nil},
	} {
		got, _, err := decodeReply([]byte(raw))
		if err != nil || fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
			t.Errorf("%q: got %#v, %v; want %#v", raw, got, err, want)
		}
	}
	for _, raw := range []string{
		"", "+OK", ":x\r\n", ":\r\n", ":9223372036854775808\r\n", "$3\r\nab\r\n", "*2\r\n:1\r\n", "?\r\n",
		"*99999999999\r\n", "%1\r\n+a\r\n", ",x\r\n", "$9999999999999999999\r\n",
	} {
		if got, _, err := decodeReply([]byte(raw)); err == nil {
			t.Errorf("%q: got %#v, want an error", raw, got)
		}
	}
}

// FuzzDecodeReply looks for panics and for memory that the input does not justify.
func FuzzDecodeReply(f *testing.F) {
	for _, seed := range []string{"+OK\r\n", "*1\r\n:1\r\n", "%1\r\n+a\r\n+b\r\n", "$-1\r\n", "*1000000\r\n", ",nan\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, rest, err := decodeReply(raw)
		if err == nil && len(rest) >= len(raw) {
			t.Error("nothing was consumed")
		}
	})
}

func TestGlob(t *testing.T) {
	for _, test := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true},
		{"*", "", true},
		{"a*c", "abbc", true},
		{"a*c", "abb", false},
		{"a?c", "abc", true},
		{"a?c", "ac", false},
		{"[ab]", "b", true},
		{"[^ab]", "b", false},
		{"[a-c]x", "bx", true},
		{"[c-a]", "b", true},
		{"[a", "a", true},
		{`\*`, "*", true},
		{`\*`, "x", false},
		{`[\]]`, "]", true},
		{"**a", "bba", true},
		{"lock:*:wait", "lock:7:wait", true},
	} {
		if got := globMatches(test.pattern, test.text); got != test.want {
			t.Errorf("%q on %q: %v", test.pattern, test.text, got)
		}
	}
}
