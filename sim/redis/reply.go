package redis

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ReplyError is an error that the server answered: the request was received and refused.
type ReplyError string

func (e ReplyError) Error() string { return string(e) }

// Texts of refusals that several commands share.
const (
	errWrongType   = "WRONGTYPE Operation against a key holding the wrong kind of value"
	errNotInteger  = "ERR value is not an integer or out of range"
	errSyntax      = "ERR syntax error"
	errNoSuchKey   = "ERR no such key"
	errOutOfRange  = "ERR DB index is out of range"
	errDenied      = "ERR This Redis command is not allowed from script"
	errSameObjects = "ERR source and destination objects are the same"
)

// The functions below append one element of the protocol. Those that depend on the protocol's version ask the
// connection.

func (c *Conn) writeStatus(s string) {
	c.out = append(append(append(c.out, '+'), s...), "\r\n"...)
}

func (c *Conn) writeOK() { c.out = append(c.out, "+OK\r\n"...) }

// writeError appends a refusal on one line, whatever the text holds.
func (c *Conn) writeError(text string) {
	if strings.ContainsAny(text, "\r\n") {
		text = strings.NewReplacer("\r", " ", "\n", " ").Replace(text)
	}
	c.out = append(append(append(c.out, '-'), text...), "\r\n"...)
}

func (c *Conn) writeInt(n int64) {
	c.out = append(strconv.AppendInt(append(c.out, ':'), n, 10), "\r\n"...)
}

func (c *Conn) writeBulk(s string) {
	c.out = append(strconv.AppendInt(append(c.out, '$'), int64(len(s)), 10), "\r\n"...)
	c.out = append(append(c.out, s...), "\r\n"...)
}

func (c *Conn) writeNull() {
	if c.resp3 {
		c.out = append(c.out, "_\r\n"...)
		return
	}
	c.out = append(c.out, "$-1\r\n"...)
}

func (c *Conn) writeNullArray() {
	if c.resp3 {
		c.out = append(c.out, "_\r\n"...)
		return
	}
	c.out = append(c.out, "*-1\r\n"...)
}

func (c *Conn) writeLen(kind byte, n int) {
	c.out = append(strconv.AppendInt(append(c.out, kind), int64(n), 10), "\r\n"...)
}

func (c *Conn) writeArray(n int) { c.writeLen('*', n) }

func (c *Conn) writeMap(n int) {
	if c.resp3 {
		c.writeLen('%', n)
		return
	}
	c.writeLen('*', 2*n)
}

func (c *Conn) writeSet(n int) {
	if c.resp3 {
		c.writeLen('~', n)
		return
	}
	c.writeLen('*', n)
}

// writePush starts a message that no request asked for.
func (c *Conn) writePush(n int) {
	if c.resp3 {
		c.writeLen('>', n)
		return
	}
	c.writeLen('*', n)
}

func (c *Conn) writeBool(b bool) {
	switch {
	case c.resp3 && b:
		c.out = append(c.out, "#t\r\n"...)
	case c.resp3:
		c.out = append(c.out, "#f\r\n"...)
	case b:
		c.writeInt(1)
	default:
		c.writeInt(0)
	}
}

func (c *Conn) writeDouble(f float64) {
	text := formatDouble(f)
	if c.resp3 {
		c.out = append(append(append(c.out, ','), text...), "\r\n"...)
		return
	}
	c.writeBulk(text)
}

// formatDouble writes a number with 17 significant digits, as Redis 7.0 does.
func formatDouble(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	}
	return strconv.FormatFloat(f, 'g', 17, 64)
}

var errMalformed = errors.New("malformed reply")

// decodeReply turns the bytes of one reply into a value: string, int64, float64, bool, []any, map[any]any, ReplyError
// or nil. It also returns what follows the reply.
func decodeReply(raw []byte) (value any, rest []byte, err error) {
	line, rest, found := cutLine(raw)
	if !found || len(line) == 0 {
		return nil, nil, errMalformed
	}
	body := line[1:]
	switch line[0] {
	case ':':
		n, ok := parseDecimal(body)
		if !ok {
			return nil, nil, errMalformed
		}
		return n, rest, nil
	case '+':
		if string(body) == "OK" {
			return "OK", rest, nil
		}
		return string(body), rest, nil
	case '-':
		return ReplyError(body), rest, nil
	case '_':
		return nil, rest, nil
	case '#':
		return string(body) == "t", rest, nil
	case ',':
		f, err := strconv.ParseFloat(string(body), 64)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: double %q", errMalformed, body)
		}
		return f, rest, nil
	case '(':
		return string(body), rest, nil
	case '$', '=':
		return decodeBulk(line[0], body, rest)
	case '*', '~', '>', '%':
		return decodeAggregate(line[0], body, rest)
	}
	return nil, nil, fmt.Errorf("%w: type %q", errMalformed, line[0])
}

func decodeBulk(kind byte, length, rest []byte) (any, []byte, error) {
	n, ok := parseDecimal(length)
	if !ok || n > int64(len(rest)) {
		return nil, nil, errMalformed
	}
	if n < 0 {
		return nil, rest, nil
	}
	if int64(len(rest)) < n+2 {
		return nil, nil, errMalformed
	}
	text := string(rest[:n])
	if kind == '=' && len(text) >= 4 { // a verbatim string begins with its format, such as "txt:"
		text = text[4:]
	}
	return text, rest[n+2:], nil
}

func decodeAggregate(kind byte, length, rest []byte) (any, []byte, error) {
	n, ok := parseDecimal(length)
	if !ok || n > int64(len(rest)) {
		return nil, nil, errMalformed
	}
	if n < 0 {
		return nil, rest, nil
	}
	if kind == '%' {
		return decodeMap(int(n), rest)
	}
	values := make([]any, n)
	for i := range values {
		var err error
		if values[i], rest, err = decodeReply(rest); err != nil {
			return nil, nil, err
		}
	}
	return values, rest, nil
}

func decodeMap(n int, rest []byte) (any, []byte, error) {
	values := make(map[any]any, n)
	for range n {
		key, after, err := decodeReply(rest)
		if err != nil {
			return nil, nil, err
		}
		switch key.(type) {
		case []any, map[any]any: // not comparable in Go, and no command of Redis answers such a key
			key = fmt.Sprint(key)
		}
		if values[key], rest, err = decodeReply(after); err != nil {
			return nil, nil, err
		}
	}
	return values, rest, nil
}

// cutLine splits off the first line without its line end.
func cutLine(b []byte) (line, rest []byte, found bool) {
	for i, char := range b {
		if char == '\r' {
			if i+1 < len(b) && b[i+1] == '\n' {
				return b[:i], b[i+2:], true
			}
			return nil, nil, false
		}
	}
	return nil, nil, false
}

// parseDecimal reads the integers of the protocol. It avoids the string that strconv would need.
func parseDecimal(b []byte) (n int64, ok bool) {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 19 {
		return 0, false
	}
	var magnitude uint64
	for _, char := range b {
		if char < '0' || char > '9' {
			return 0, false
		}
		magnitude = magnitude*10 + uint64(char-'0')
	}
	switch {
	case negative && magnitude <= 1<<63:
		return -int64(magnitude), true
	case !negative && magnitude <= math.MaxInt64:
		return int64(magnitude), true
	}
	return 0, false
}

// parseInteger reads an integer argument as strictly as Redis: no sign but a minus, no leading zero, no space.
func parseInteger(s string) (n int64, ok bool) {
	if s == "0" {
		return 0, true
	}
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || digits[0] < '1' || digits[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}
