package foreign

import (
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// ednReader reads EDN, https://github.com/edn-format/edn.
type ednReader struct{ source }

func ednSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == ','
}

// ednWord says whether c may stand in a symbol, keyword or number.
func ednWord(c byte) bool {
	return !ednSpace(c) && c > ' ' && c != 0x7f && strings.IndexByte(`()[]{}";@^~`+"`", c) < 0
}

// skip passes over space, comments and discarded forms.
func (r *ednReader) skip(depth int) error {
	for {
		c, err := r.peek()
		if err != nil {
			return err
		}
		switch {
		case ednSpace(c):
			_, err = r.next()
		case c == ';':
			err = r.comment()
		case c == '#':
			var more bool
			if more, err = r.discard(depth); err == nil && !more {
				return nil
			}
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// comment passes over the rest of a line, however long: nothing of it is kept.
func (r *ednReader) comment() error {
	for {
		c, err := r.next()
		if err != nil || c == '\n' {
			return err
		}
	}
}

// discard passes over a form that #_ switches off, and says whether there was one.
func (r *ednReader) discard(depth int) (bool, error) {
	if b, _ := r.r.Peek(2); len(b) < 2 || b[1] != '_' {
		return false, nil
	}
	for range 2 {
		if _, err := r.next(); err != nil {
			return false, err
		}
	}
	_, err := r.value(depth + 1)
	return true, r.inside(err, "a discarded form")
}

// value reads one value. It returns io.EOF if there is none before the end of the file.
func (r *ednReader) value(depth int) (value, error) {
	if depth > maxDepth {
		return value{}, r.fault("values lie %d deep in each other: this is no history", depth)
	}
	if err := r.skip(depth); err != nil {
		return value{}, err
	}
	c, err := r.peek()
	if err != nil {
		return value{}, err
	}
	switch c {
	case '(', '[', '{', '"', '#', '\\':
		if _, err := r.next(); err != nil {
			return value{}, err
		}
	}
	switch c {
	case '(':
		return r.collection(depth, list, ')')
	case '[':
		return r.collection(depth, list, ']')
	case '{':
		return r.collection(depth, object, '}')
	case '"':
		return r.quoted(true)
	case '#':
		return r.dispatch(depth)
	case '\\':
		return r.character()
	default:
		return r.scalar()
	}
}

// collection reads values up to the closing bracket.
func (r *ednReader) collection(depth int, k kind, end byte) (value, error) {
	const what = "a collection"
	v := value{kind: k}
	for {
		if err := r.skip(depth); err != nil {
			return value{}, r.inside(err, what)
		}
		c, err := r.peek()
		if err != nil {
			return value{}, r.inside(err, what)
		}
		if c == end {
			break
		}
		item, err := r.value(depth + 1)
		if err != nil {
			return value{}, r.inside(err, what)
		}
		v.items = append(v.items, item)
	}
	if k == object && len(v.items)%2 != 0 {
		return value{}, r.fault("a map has a key without a value")
	}
	_, err := r.next()
	return v, err
}

// dispatch reads what follows a #: a set, a tagged value or one of the numbers that have no digits.
func (r *ednReader) dispatch(depth int) (value, error) {
	c, err := r.peek()
	switch {
	case err != nil:
		return value{}, r.inside(err, "a tagged value")
	case c == '{':
		if _, err := r.next(); err != nil {
			return value{}, err
		}
		return r.collection(depth, list, '}')
	}
	word, err := r.take(ednWord)
	if err != nil {
		return value{}, err
	}
	tag := string(word)
	if tag == "" || !utf8.ValidString(tag) {
		return value{}, r.wrong("a set or a tag after #")
	}
	v, err := r.value(depth + 1)
	if err != nil {
		return value{}, r.inside(err, "a tagged value")
	}
	v.tag = tag
	return v, nil
}

// character reads what follows a backslash: \a, \newline, \u0041.
func (r *ednReader) character() (value, error) {
	first, size, err := r.r.ReadRune()
	if err != nil {
		return value{}, r.inside(err, "a character")
	}
	if first == utf8.RuneError && size <= 1 {
		return value{}, r.fault("a character is not UTF-8")
	}
	rest, err := r.take(ednWord)
	if err != nil {
		return value{}, err
	}
	name := string(first) + string(rest)
	for word, c := range map[string]string{ // order-free: one name is looked up
		"newline": "\n", "space": " ", "tab": "\t", "return": "\r", "backspace": "\b", "formfeed": "\f",
	} {
		if name == word {
			return value{kind: text, text: c}, nil
		}
	}
	if len(name) == 5 && first == 'u' {
		if n, err := strconv.ParseUint(name[1:], 16, 16); err == nil && !utf16.IsSurrogate(rune(n)) {
			return value{kind: text, text: string(rune(n))}, nil
		}
	}
	if len(rest) > 0 {
		return value{}, r.fault("there is no character %q", "\\"+name)
	}
	return value{kind: text, text: name}, nil
}

// scalar reads a number, keyword, symbol, truth value or nil.
func (r *ednReader) scalar() (value, error) {
	word, err := r.take(ednWord)
	if err != nil {
		return value{}, err
	}
	switch {
	case len(word) == 0:
		return value{}, r.wrong("a value")
	case !utf8.Valid(word):
		return value{}, r.fault("a name is not UTF-8")
	}
	name := string(word)
	digits := strings.TrimLeft(name[:min(2, len(name))], "+-")
	switch {
	case name == "nil":
		return value{}, nil
	case name == "true", name == "false":
		return value{kind: boolean, text: name}, nil
	case name == ":" || strings.HasPrefix(name, "::"):
		return value{}, r.fault("there is no keyword %q", name)
	case name[0] == ':':
		return value{kind: keyword, text: name[1:]}, nil
	case digits == "" || digits[0] < '0' || digits[0] > '9':
		return value{kind: symbol, text: name}, nil
	}
	if !ednNumber.MatchString(name) {
		return value{}, r.fault("%q is no number", name)
	}
	return value{kind: number, text: name}, nil
}

// ednNumber is a whole number, a decimal or a ratio.
var ednNumber = regexp.MustCompile(`^[+-]?(0|[1-9][0-9]*)(N|/[1-9][0-9]*|([.][0-9]*)?([eE][+-]?[0-9]+)?M?)$`)

// ednRecords reads the operations of a file in EDN: one list of maps, or maps one after the other.
type ednRecords struct {
	ednReader
	end     byte // of the list that holds them, 0 without one
	started bool
	ended   bool
}

func (r *ednRecords) record() (value, int, error) {
	r.budget = maxRecord
	if !r.started {
		r.started = true
		if err := r.enter(); err != nil {
			return value{}, 0, err
		}
	}
	if err := r.skip(0); err != nil {
		if r.end != 0 && !r.ended {
			return value{}, 0, r.inside(err, "the list of operations")
		}
		return value{}, 0, err
	}
	c, err := r.peek()
	if err != nil {
		return value{}, 0, err
	}
	if r.ended {
		return value{}, 0, r.wrong("the end of the file after the list of operations")
	}
	if r.end != 0 && c == r.end {
		r.ended = true
		if _, err := r.next(); err != nil {
			return value{}, 0, err
		}
		return r.record()
	}
	line := r.line
	v, err := r.value(0)
	if errors.Is(err, io.EOF) {
		err = r.inside(err, "an operation")
	}
	return v, line, err
}

// enter takes the bracket that opens the list of operations, if there is one.
func (r *ednRecords) enter() error {
	if err := r.skip(0); err != nil {
		return err
	}
	c, err := r.peek()
	if err != nil {
		return err
	}
	if i := strings.IndexByte("[(", c); i >= 0 {
		r.end = "])"[i]
		_, err = r.next()
	}
	return err
}
