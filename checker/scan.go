package checker

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner reads one line of JSON of a known shape. It is stricter than encoding/json: a key must be spelled exactly
// and come once, text must be UTF-8, numbers are integers. Its errors name the column and what is wanted.
type scanner struct {
	line  []byte
	at    int
	known *known // may be nil
}

// known keeps texts that came before, so that equal ones share their memory. A text that takes the place of another
// costs a copy and nothing else, so that a file cannot make it grow.
type known [1 << 10]string

// text returns b as a string.
func (k *known) text(b []byte) string {
	const longest = 64
	n := len(b)
	if k == nil || n == 0 || n > longest {
		return string(b)
	}
	place := uint(n)*31 ^ uint(b[0])*7 ^ uint(b[n-1])*131 ^ uint(b[n/2])*17
	kept := &k[place%uint(len(k))]
	if *kept != string(b) {
		*kept = string(b)
	}
	return *kept
}

// wrong is the error for what stands at the present place.
func (s *scanner) wrong(want string) error {
	s.space()
	found := "the end of the line"
	if s.at < len(s.line) {
		rest := s.line[s.at:]
		if len(rest) > 12 {
			rest = rest[:12]
		}
		found = strconv.Quote(string(rest))
	}
	return fmt.Errorf("column %d: want %s, found %s", s.at+1, want, found)
}

func (s *scanner) space() {
	for s.at < len(s.line) {
		switch s.line[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// peek returns the next byte that is no space, 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.at < len(s.line) {
		return s.line[s.at]
	}
	return 0
}

// accept moves past c if it comes next.
func (s *scanner) accept(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

// finish checks that nothing follows.
func (s *scanner) finish() error {
	if s.peek() != 0 || s.at < len(s.line) {
		return s.wrong("the end of the line")
	}
	return nil
}

// object reads an object whose keys are among keys, and calls member at the value of each.
func (s *scanner) object(keys []string, member func(key string) error) error {
	if !s.accept('{') {
		return s.wrong("an object")
	}
	if s.accept('}') {
		return nil
	}
	var seen uint64
	for {
		start := s.at
		name, err := s.raw()
		if err != nil {
			return err
		}
		k := -1
		for i, known := range keys {
			if string(name) == known {
				k = i
			}
		}
		if k < 0 {
			return unknownKey(start, name, keys)
		}
		if seen&(1<<k) != 0 {
			return fmt.Errorf("column %d: key %q comes twice", start+1, name)
		}
		seen |= 1 << k
		if !s.accept(':') {
			return s.wrong("a colon")
		}
		if err := member(keys[k]); err != nil {
			return err
		}
		if more, err := s.another(); err != nil || !more {
			return err
		}
	}
}

// another reads what stands between two members of an object and says whether there is one more.
func (s *scanner) another() (bool, error) {
	switch {
	case s.accept(','):
		return true, nil
	case s.accept('}'):
		return false, nil
	default:
		return false, s.wrong("a comma or a closing brace")
	}
}

// unknownKey is the error for a key that is not among keys.
func unknownKey(start int, name []byte, keys []string) error {
	return fmt.Errorf("column %d: unknown key %q: want one of %s", start+1, name, strings.Join(keys, ", "))
}

// list reads a list and calls element at each of its elements.
func (s *scanner) list(element func() error) error {
	if !s.accept('[') {
		return s.wrong("a list")
	}
	if s.accept(']') {
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		if s.accept(']') {
			return nil
		}
		if !s.accept(',') {
			return s.wrong("a comma or a closing bracket")
		}
	}
}

// text reads a string.
func (s *scanner) text(value *string) error {
	b, err := s.raw()
	*value = s.known.text(b)
	return err
}

// raw reads a string and returns its bytes, which are valid until the line is gone.
func (s *scanner) raw() ([]byte, error) {
	if s.peek() != '"' {
		return nil, s.wrong("a string")
	}
	start := s.at
	ascii := true
	for at := start + 1; at < len(s.line); at++ {
		switch c := s.line[at]; {
		case c == '"':
			b := s.line[start+1 : at]
			s.at = at + 1
			if !ascii && !utf8.Valid(b) {
				return nil, fmt.Errorf("column %d: the string is not UTF-8", start+1)
			}
			return b, nil
		case c == '\\':
			s.at = at
			return s.escaped(start)
		case c < ' ':
			return nil, fmt.Errorf("column %d: a control character stands in a string: write it as \\u%04x", at+1, c)
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, fmt.Errorf("column %d: the string has no end", start+1)
}

// escaped reads a string that has escapes.
func (s *scanner) escaped(start int) ([]byte, error) {
	b := append([]byte(nil), s.line[start+1:s.at]...)
	for s.at < len(s.line) {
		c := s.line[s.at]
		s.at++
		switch {
		case c == '"':
			if !utf8.Valid(b) {
				return nil, fmt.Errorf("column %d: the string is not UTF-8", start+1)
			}
			return b, nil
		case c < ' ':
			return nil, fmt.Errorf("column %d: a control character stands in a string: write it as \\u%04x", s.at, c)
		case c != '\\':
			b = append(b, c)
		default:
			r, ok := s.escape()
			if !ok {
				return nil, fmt.Errorf("column %d: no such escape in a string", s.at+1)
			}
			b = utf8.AppendRune(b, r)
		}
	}
	return nil, fmt.Errorf("column %d: the string has no end", start+1)
}

// escape reads what follows a backslash.
func (s *scanner) escape() (rune, bool) {
	if s.at >= len(s.line) {
		return 0, false
	}
	c := s.line[s.at]
	if c != 'u' {
		i := strings.IndexByte(`"\/bfnrt`, c)
		if i < 0 {
			return 0, false
		}
		s.at++
		return rune("\"\\/\b\f\n\r\t"[i]), true
	}
	r, ok := s.unit()
	if !ok || !utf16.IsSurrogate(r) {
		return r, ok
	}
	if s.at+1 < len(s.line) && s.line[s.at] == '\\' && s.line[s.at+1] == 'u' {
		s.at++
		low, ok := s.unit()
		r = utf16.DecodeRune(r, low)
		return r, ok && r != utf8.RuneError
	}
	return 0, false
}

// unit reads uXXXX.
func (s *scanner) unit() (rune, bool) {
	if s.at+5 > len(s.line) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s.line[s.at+1:s.at+5]), 16, 16)
	if err != nil {
		return 0, false
	}
	s.at += 5
	return rune(n), true
}

// digits takes the longest run of bytes that may be a number.
func (s *scanner) digits() string {
	s.space()
	start := s.at
	for s.at < len(s.line) && strings.IndexByte("+-.0123456789eE", s.line[s.at]) >= 0 {
		s.at++
	}
	return string(s.line[start:s.at])
}

// canonical tells numbers as JSON writes them from those that only Go reads, such as +1 and 007.
func canonical(digits string) bool {
	digits = strings.TrimPrefix(digits, "-")
	return digits == "0" || digits != "" && digits[0] >= '1' && digits[0] <= '9'
}

func (s *scanner) signed(value *int64) error {
	s.space()
	at, n := s.at, int64(0)
	negative := at < len(s.line) && s.line[at] == '-'
	if negative {
		at++
	}
	first := at
	for at < len(s.line) && s.line[at] >= '0' && s.line[at] <= '9' {
		n = n*10 + int64(s.line[at]-'0')
		at++
	}
	const safe = 18 // so many digits always fit
	if length := at - first; length == 0 || length > safe || length > 1 && s.line[first] == '0' ||
		at < len(s.line) && strings.IndexByte("+-.eE", s.line[at]) >= 0 {
		return s.anySigned(value)
	}
	if negative {
		n = -n
	}
	s.at, *value = at, n
	return nil
}

// anySigned reads a number of any length, or finds that it is none.
func (s *scanner) anySigned(value *int64) error {
	start := s.at
	digits := s.digits()
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !canonical(digits) {
		s.at = start
		return s.wrong("an integer of at most 64 bits")
	}
	*value = n
	return nil
}

func (s *scanner) unsigned(value *uint64) error {
	start := s.at
	digits := s.digits()
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || !canonical(digits) {
		s.at = start
		return s.wrong("an integer from 0 to 18446744073709551615")
	}
	*value = n
	return nil
}

func (s *scanner) duration(value *time.Duration) error { return s.signed((*int64)(value)) }

func (s *scanner) boolean(value *bool) error {
	s.space()
	rest := s.line[s.at:]
	for _, word := range []string{"true", "false"} {
		if len(rest) >= len(word) && string(rest[:len(word)]) == word {
			s.at += len(word)
			*value = word == "true"
			return nil
		}
	}
	return s.wrong("true or false")
}
