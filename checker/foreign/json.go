package foreign

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// jsonReader reads JSON. Unlike encoding/json it refuses a key that comes twice and text that is not UTF-8.
type jsonReader struct{ source }

func (r *jsonReader) skip() error {
	for {
		c, err := r.peek()
		if err != nil || c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return err
		}
		if _, err := r.next(); err != nil {
			return err
		}
	}
}

// value reads one value.
func (r *jsonReader) value(depth int) (value, error) {
	if depth > maxDepth {
		return value{}, r.fault("values lie %d deep in each other: this is no history", depth)
	}
	if err := r.skip(); err != nil {
		return value{}, err
	}
	c, err := r.peek()
	if err != nil {
		return value{}, err
	}
	switch c {
	case '[', '{', '"':
		if _, err := r.next(); err != nil {
			return value{}, err
		}
	}
	switch c {
	case '[':
		return r.array(depth)
	case '{':
		return r.object(depth)
	case '"':
		return r.quoted(false)
	default:
		return r.scalar()
	}
}

// another reads a comma or the end of an array or object, of which it says whether the comma stood there.
func (r *jsonReader) another(end byte) (bool, error) {
	if err := r.skip(); err != nil {
		return false, err
	}
	c, err := r.peek()
	if err != nil {
		return false, err
	}
	if c != ',' && c != end {
		return false, r.wrong(fmt.Sprintf("a comma or %q", end))
	}
	_, err = r.next()
	return c == ',', err
}

// empty takes the end of an array or object that has nothing in it.
func (r *jsonReader) empty(end byte) (bool, error) {
	if err := r.skip(); err != nil {
		return false, err
	}
	c, err := r.peek()
	if err != nil || c != end {
		return false, err
	}
	_, err = r.next()
	return true, err
}

func (r *jsonReader) array(depth int) (value, error) {
	v := value{kind: list}
	none, err := r.empty(']')
	for more := !none; more && err == nil; {
		var item value
		if item, err = r.value(depth + 1); err != nil {
			break
		}
		v.items = append(v.items, item)
		more, err = r.another(']')
	}
	return v, r.inside(err, "an array")
}

func (r *jsonReader) object(depth int) (value, error) {
	v := value{kind: object}
	none, err := r.empty('}')
	for more := !none; more && err == nil; {
		var key, member value
		if key, err = r.key(); err != nil {
			break
		}
		if member, err = r.value(depth + 1); err != nil {
			break
		}
		v.items = append(v.items, key, member)
		more, err = r.another('}')
	}
	return v, r.inside(err, "an object")
}

// key reads the key of a member and the colon after it.
func (r *jsonReader) key() (value, error) {
	if err := r.skip(); err != nil {
		return value{}, err
	}
	c, err := r.peek()
	if err != nil {
		return value{}, err
	}
	if c != '"' {
		return value{}, r.wrong("a key in quotes")
	}
	if _, err := r.next(); err != nil {
		return value{}, err
	}
	key, err := r.quoted(false)
	if err != nil {
		return value{}, err
	}
	if err := r.skip(); err != nil {
		return value{}, err
	}
	if c, err := r.peek(); err != nil || c != ':' {
		if err != nil {
			return value{}, err
		}
		return value{}, r.wrong("a colon")
	}
	_, err = r.next()
	return key, err
}

// scalar reads a number, true, false or null.
func (r *jsonReader) scalar() (value, error) {
	word, err := r.take(func(c byte) bool {
		return c > ' ' && c < utf8.RuneSelf && strings.IndexByte(`,:[]{}"`, c) < 0
	})
	if err != nil {
		return value{}, err
	}
	switch name := string(word); {
	case name == "null":
		return value{}, nil
	case name == "true", name == "false":
		return value{kind: boolean, text: name}, nil
	case name == "":
		return value{}, r.wrong("a value")
	case !jsonNumber.MatchString(name):
		return value{}, r.fault("%q is no value", name)
	default:
		return value{kind: number, text: name}, nil
	}
}

// jsonNumber is a number as JSON writes it.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]+)?$`)

// jsonRecords reads the operations of a file in JSON: one array of objects, or objects one after the other.
type jsonRecords struct {
	jsonReader
	inArray, started, ended bool
}

func (r *jsonRecords) record() (value, int, error) {
	r.budget = maxRecord
	err := r.skip()
	if err == nil && !r.started {
		err = r.enter()
	} else if err == nil && r.inArray && !r.ended {
		var more bool
		more, err = r.another(']')
		r.ended = !more
	}
	r.started = true
	if err == nil {
		err = r.skip()
	}
	switch {
	case errors.Is(err, io.EOF) && r.inArray && !r.ended:
		return value{}, 0, r.inside(err, "the array of operations")
	case err != nil:
		return value{}, 0, err
	case r.ended:
		return value{}, 0, r.wrong("the end of the file after the array of operations")
	}
	line := r.line
	v, err := r.value(0)
	return v, line, r.inside(err, "an operation")
}

// enter takes the bracket that opens the array of operations, if there is one, and looks whether it is empty.
func (r *jsonRecords) enter() error {
	c, err := r.peek()
	if err != nil || c != '[' {
		return err
	}
	r.inArray = true
	if _, err := r.next(); err != nil {
		return err
	}
	r.ended, err = r.empty(']')
	return err
}
