package spacetime

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longest is how many characters a label has at most; the whole text is in the detail.
const longest = 96

// hexadecimal matches digests and random tokens, of which the first digits are enough to tell them apart.
var hexadecimal = regexp.MustCompile(`\b[0-9a-f]{20,}\b`)

// Words says what a message says, for people: of a request its words, without the body of a script; of a reply the
// value. The text is what a trace has: words as they are, or the quoted bytes of something said to or by Redis,
// ZooKeeper, or any server that speaks text.
func Words(text string) string {
	if text != "" && text[0] == '"' {
		if raw, err := strconv.Unquote(text); err == nil {
			return bytesWords(raw)
		}
	}
	if script, found := strings.CutPrefix(text, "EVAL "); found {
		if end := strings.LastIndexByte(script, '\n'); end >= 0 {
			return "EVAL (script)" + script[end+1:]
		}
	}
	return text
}

func bytesWords(raw string) string {
	if words, ok := zooKeeperWords([]byte(raw)); ok {
		return words
	}
	if strings.HasSuffix(raw, "\r\n") {
		if words, rest, ok := redisWords(raw, 0); ok {
			if rest != "" {
				words += " and more"
			}
			return words
		}
	}
	return raw
}

// Shorten makes a text fit into a label: one line, not long, of digests and random tokens only the first digits.
func Shorten(text string) string {
	if len(text) > 8*longest {
		text = strings.ToValidUTF8(text[:8*longest], "") // what follows cannot become part of the label
	}
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError
	}), " ")
	text = hexadecimal.ReplaceAllStringFunc(text, func(digits string) string { return digits[:6] + "…" })
	if utf8.RuneCountInString(text) <= longest {
		return text
	}
	return string([]rune(text)[:longest-1]) + "…"
}

// deepest is how far arrays in a reply may be nested.
const deepest = 8

// redisWords reads one value of the Redis protocol, and returns what follows it.
func redisWords(raw string, depth int) (words, rest string, ok bool) {
	line, rest, found := strings.Cut(raw, "\r\n")
	if !found || line == "" || depth > deepest {
		return "", "", false
	}
	kind, value := line[0], line[1:]
	switch kind {
	case '+', ':', ',', '(':
		return value, rest, true
	case '-':
		return "error " + value, rest, true
	case '_':
		return "nil", rest, true
	case '#':
		return map[string]string{"t": "true"}[value] + map[string]string{"f": "false"}[value], rest, true
	}
	n, err := strconv.Atoi(value)
	switch {
	case err != nil || n < -1 || n > len(raw):
		return "", "", false
	case n == -1:
		return "nil", rest, true
	case kind == '$' || kind == '=':
		if len(rest) < n+2 {
			return "", "", false
		}
		return rest[:n], rest[n+2:], true
	case kind == '*' || kind == '~' || kind == '>' || kind == '%':
		return redisList(rest, n*map[bool]int{true: 2, false: 1}[kind == '%'], depth)
	}
	return "", "", false
}

func redisList(rest string, n, depth int) (string, string, bool) {
	parts := make([]string, 0, min(n, 16))
	for range n {
		part, after, ok := redisWords(rest, depth+1)
		if !ok {
			return "", "", false
		}
		rest, parts = after, append(parts, part)
	}
	return "[" + strings.Join(parts, " ") + "]", rest, true
}

// The header of a reply of ZooKeeper: its length, the request's number, the transaction, an error.
const (
	zkHeader  = 20
	zkEvent   = -1
	zkPing    = -2
	zkAuth    = -4
	zkConnect = 40 // the length of the reply to a connect
)

// zkErrors are the errors that ZooKeeper answers with.
var zkErrors = map[int32]string{
	-4: "ConnectionLoss", -6: "Unimplemented", -7: "OperationTimeout", -8: "BadArguments", -101: "NoNode",
	-102: "NoAuth", -103: "BadVersion", -108: "NoChildrenForEphemerals", -110: "NodeExists", -111: "NotEmpty",
	-112: "SessionExpired", -113: "InvalidCallback", -114: "InvalidACL", -115: "AuthFailed", -118: "SessionMoved",
}

// zkPath matches what a reply has of paths and names of nodes.
var zkPath = regexp.MustCompile(`[A-Za-z0-9_./-]{4,}`)

// zooKeeperWords reads a frame of ZooKeeper.
func zooKeeperWords(raw []byte) (string, bool) {
	if len(raw) < zkHeader {
		return "", false
	}
	number := func(at int) int32 { return int32(binary.BigEndian.Uint32(raw[at:])) }
	length := int(number(0))
	if length < zkHeader-4 || length > len(raw)-4 {
		return "", false
	}
	more := ""
	if length < len(raw)-4 {
		more = " and more"
	}
	if number(4) == 0 && length+4 == zkConnect+1 || length+4 == zkConnect {
		return "session", true
	}
	body := raw[zkHeader : length+4]
	failed := number(16)
	switch number(4) {
	case zkPing:
		return "pong" + more, true
	case zkAuth:
		return "authenticated" + more, true
	case zkEvent:
		return "watch event" + names(body) + more, true
	}
	if failed != 0 {
		if name := zkErrors[failed]; name != "" {
			return name + more, true
		}
		return fmt.Sprintf("error %d", failed) + more, true
	}
	return "ok" + names(body) + more, true
}

// names lists the paths in the body of a reply.
func names(body []byte) string {
	const most = 3
	found := zkPath.FindAll(body, most+1)
	if len(found) == 0 {
		return ""
	}
	text := " " + string(bytes.Join(found[:min(len(found), most)], []byte(" ")))
	if len(found) > most {
		text += " …"
	}
	return text
}
