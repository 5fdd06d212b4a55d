package foreign

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Bounds on one record, so that a file that is no history does not fill the memory.
const (
	maxRecord = 1 << 20 // bytes
	maxDepth  = 100     // of values in values
)

// source is a file, byte by byte, that knows the line it is in.
type source struct {
	r      *bufio.Reader
	line   int
	budget int    // how many bytes the record may still take
	word   []byte // reused
}

func newSource(r *bufio.Reader) source { return source{r: r, line: 1, budget: maxRecord} }

// fault is an error at the present place.
func (s *source) fault(format string, args ...any) error {
	return fmt.Errorf("line %d: "+format, append([]any{s.line}, args...)...)
}

// peek returns the next byte without taking it, io.EOF at the end of the file.
func (s *source) peek() (byte, error) {
	b, err := s.r.Peek(1)
	if len(b) == 1 {
		return b[0], nil
	}
	if errors.Is(err, io.EOF) {
		return 0, io.EOF
	}
	return 0, s.fault("%w", err)
}

// next takes the next byte.
func (s *source) next() (byte, error) {
	c, err := s.r.ReadByte()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return 0, io.EOF
		}
		return 0, s.fault("%w", err)
	}
	if c == '\n' {
		s.line++
	}
	if s.budget--; s.budget < 0 {
		return 0, s.fault("one record takes more than %d bytes: this is no history", maxRecord)
	}
	return c, nil
}

// inside turns the end of the file into an error: it comes in the middle of something.
func (s *source) inside(err error, what string) error {
	if errors.Is(err, io.EOF) {
		return s.fault("the file ends inside %s: it was cut off", what)
	}
	return err
}

// found quotes what stands at the present place.
func (s *source) found() string {
	b, _ := s.r.Peek(12)
	if len(b) == 0 {
		return "the end of the file"
	}
	return strconv.Quote(string(b))
}

// wrong is the error for what stands at the present place.
func (s *source) wrong(want string) error { return s.fault("want %s, found %s", want, s.found()) }

// take reads as long as the bytes belong to a word. The result is valid until the next call.
func (s *source) take(belongs func(byte) bool) ([]byte, error) {
	s.word = s.word[:0]
	for {
		c, err := s.peek()
		if errors.Is(err, io.EOF) || err == nil && !belongs(c) {
			return s.word, nil
		}
		if err == nil {
			_, err = s.next()
		}
		if err != nil {
			return nil, err
		}
		s.word = append(s.word, c)
	}
}

// quoted reads a string after its opening quote. JSON forbids line breaks in it, EDN does not.
func (s *source) quoted(multiline bool) (value, error) {
	var b []byte
	for {
		c, err := s.next()
		if err != nil {
			return value{}, s.inside(err, "a string")
		}
		switch {
		case c == '"':
			if !utf8.Valid(b) {
				return value{}, s.fault("a string is not UTF-8")
			}
			return value{kind: text, text: string(b)}, nil
		case c < ' ' && !multiline:
			return value{}, s.fault("a control character stands in a string: write it as \\u%04x", c)
		case c != '\\':
			b = append(b, c)
		default:
			r, err := s.escape()
			if err != nil {
				return value{}, err
			}
			b = utf8.AppendRune(b, r)
		}
	}
}

// escape reads what follows a backslash.
func (s *source) escape() (rune, error) {
	c, err := s.next()
	if err != nil {
		return 0, s.inside(err, "a string")
	}
	switch c {
	case '"', '\\', '/':
		return rune(c), nil
	case 'n':
		return '\n', nil
	case 't':
		return '\t', nil
	case 'r':
		return '\r', nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'u':
		return s.unicode()
	default:
		return 0, s.fault("there is no escape %q in a string", "\\"+string(rune(c)))
	}
}

// unicode reads the digits of \uXXXX. A character beyond 16 bits is written as two of them.
func (s *source) unicode() (rune, error) {
	high, err := s.unit()
	if err != nil || !utf16.IsSurrogate(high) {
		return high, err
	}
	for _, want := range []byte(`\u`) {
		c, err := s.next()
		if err != nil {
			return 0, s.inside(err, "a string")
		}
		if c != want {
			return 0, s.fault("half a character stands in a string: \\u%04x", high)
		}
	}
	low, err := s.unit()
	if err != nil {
		return 0, err
	}
	r := utf16.DecodeRune(high, low)
	if r == utf8.RuneError {
		return 0, s.fault("half a character stands in a string: \\u%04x", high)
	}
	return r, nil
}

func (s *source) unit() (rune, error) {
	var digits [4]byte
	for i := range digits {
		c, err := s.next()
		if err != nil {
			return 0, s.inside(err, "a string")
		}
		digits[i] = c
	}
	n, err := strconv.ParseUint(string(digits[:]), 16, 16)
	if err != nil {
		return 0, s.fault("want four hexadecimal digits after \\u in a string, found %q", digits)
	}
	return rune(n), nil
}
