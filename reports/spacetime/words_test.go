package spacetime

import (
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestWords(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"GET job", "GET job"},
		{"EVAL \nlocal a = 1\nreturn a\n 2 job job:token abc 500", "EVAL (script) 2 job job:token abc 500"},
		{strconv.Quote(":1\r\n"), "1"},
		{strconv.Quote("+OK\r\n"), "OK"},
		{strconv.Quote("$-1\r\n"), "nil"},
		{strconv.Quote("$7\r\na\r\nb c!\r\n"), "a\r\nb c!"},
		{strconv.Quote("-NOSCRIPT No matching script.\r\n"), "error NOSCRIPT No matching script."},
		{strconv.Quote("*3\r\n:1\r\n*1\r\n+x\r\n$-1\r\n"), "[1 [x] nil]"},
		{strconv.Quote("+OK\r\n+OK\r\n"), "OK and more"},
		{strconv.Quote("%1\r\n+a\r\n:2\r\n"), "[a 2]"},
		{strconv.Quote("#t\r\n"), "true"},
		{strconv.Quote("_\r\n"), "nil"},
		{strconv.Quote("946688400003\n"), "946688400003\n"},
		{strconv.Quote("*9\r\n:1\r\n"), "*9\r\n:1\r\n"}, // cut short: as it stands there
		{strconv.Quote("$9999\r\nx\r\n"), "$9999\r\nx\r\n"},
		{strings.Repeat("*1\r\n", 3), strings.Repeat("*1\r\n", 3)},
		{`"broken quote`, `"broken quote`},
		{zkFrame(2, -101, ""), "NoNode"},
		{zkFrame(2, -999, ""), "error -999"},
		{zkFrame(3, 0, "\x00\x00\x00\x05/lock"), "ok /lock"},
		{zkFrame(-2, 0, ""), "pong"},
		{zkFrame(-1, 0, "\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00\x05/lock"), "watch event /lock"},
	} {
		if got := Words(test.text); got != test.want {
			t.Errorf("%q says %q, want %q", test.text, got, test.want)
		}
	}
}

// zkFrame is a reply of ZooKeeper as it stands in a trace.
func zkFrame(request, failed int32, body string) string {
	number := func(n uint32) string { return string([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}) }
	text := number(uint32(request)) + "\x00\x00\x00\x00\x00\x00\x00\x09" + number(uint32(failed)) + body
	return strconv.Quote(number(uint32(len(text))) + text)
}

func TestShorten(t *testing.T) {
	long := strings.Repeat("word ", 50)
	for _, test := range []struct{ text, want string }{
		{"a  b\n\tc", "a b c"},
		{"\x1b[31mred\x1b[0m", "[31mred [0m"},
		{"\u202eright to left\u2066", "right to left"},
		{"set b09fafcc0001d90349865476e89ad631446c3ce6 x", "set b09faf… x"},
		{long, strings.Repeat("word ", 19) + "…"},
		{"bad \xff bytes", "bad bytes"},
	} {
		if got := Shorten(test.text); got != test.want {
			t.Errorf("%q becomes %q, want %q", test.text, got, test.want)
		}
	}
}

func FuzzWords(f *testing.F) {
	for _, seed := range []string{
		"GET job", `"*2\r\n:1\r\n$3\r\nabc\r\n"`, `"$-1\r\n"`, zkFrame(3, 0, "\x00\x00\x00\x05/lock"), "EVAL x\ny",
		`"*1000000\r\n"`, `"$9223372036854775807\r\n\r\n"`, "\x1b[2J",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		label := Shorten(Words(text))
		if utf8.RuneCountInString(label) > longest {
			t.Errorf("the label is %d long: %q", utf8.RuneCountInString(label), label)
		}
		if strings.ContainsFunc(label, unicode.IsControl) || !utf8.ValidString(label) {
			t.Errorf("the label is no clean line: %q", label)
		}
	})
}
