package foreign

import (
	"strconv"
	"strings"
)

// kind tells values apart.
type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	keyword
	symbol
	list   // a list, vector, set or array
	object // a map: keys and values by turns
)

// value is one value of EDN or JSON.
type value struct {
	kind  kind
	text  string // of a scalar: its text without quotes and colon
	items []value
	tag   string // EDN's tag, such as knossos.op.Op
}

// named says whether v is a word: a string, keyword or symbol. JSON has no keywords and writes them as strings.
func (v *value) named() bool { return v.kind == text || v.kind == keyword || v.kind == symbol }

// truth reads a truth value, also from its text, as AtlasDB's histories have it.
func (v *value) truth() (answer, known bool) {
	if (v.kind == boolean || v.kind == text) && (v.text == "true" || v.text == "false") {
		return v.text == "true", true
	}
	return false, false
}

// integer reads a whole number of 64 bits.
func (v *value) integer() (int64, bool) {
	if v.kind != number {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimPrefix(strings.TrimSuffix(v.text, "N"), "+"), 10, 64)
	return n, err == nil
}

// member returns the value of a key of an object, nil if there is none.
func (v *value) member(name string) *value {
	if v.kind != object {
		return nil
	}
	for i := 0; i+1 < len(v.items); i += 2 {
		if k := &v.items[i]; k.named() && k.text == name {
			return &v.items[i+1]
		}
	}
	return nil
}

// plain renders v for people and for Event.Value: a string as it is, null as nothing, everything else as EDN.
func (v *value) plain() string {
	switch v.kind {
	case null:
		return ""
	case text:
		return v.text
	default:
		return string(v.edn(nil))
	}
}

// name renders what names something: as plain, a keyword without its colon.
func (v *value) name() string {
	if v.kind == keyword {
		return v.text
	}
	return v.plain()
}

// edn appends v as EDN. Sets and lists have become vectors.
func (v *value) edn(b []byte) []byte {
	switch v.kind {
	case null:
		return append(b, "nil"...)
	case text:
		return appendString(b, v.text)
	case keyword:
		return append(append(b, ':'), v.text...)
	case list:
		return v.enclosed(b, '[', ']')
	case object:
		return v.enclosed(b, '{', '}')
	default:
		return append(b, v.text...)
	}
}

func (v *value) enclosed(b []byte, open, end byte) []byte {
	b = append(b, open)
	for i := range v.items {
		if i > 0 {
			b = append(b, ' ')
		}
		b = v.items[i].edn(b)
	}
	return append(b, end)
}

// appendString appends s as a string that both EDN and JSON read.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for _, r := range s { // what is no UTF-8 becomes U+FFFD
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, '\\', 'n')
		case r == '\r':
			b = append(b, '\\', 'r')
		case r == '\t':
			b = append(b, '\\', 't')
		case r < ' ' || r == 0x7f:
			b = append(b, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			b = append(b, string(r)...)
		}
	}
	return append(b, '"')
}
