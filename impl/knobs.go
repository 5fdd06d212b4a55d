package impl

import (
	"fmt"
	"strconv"
	"time"
)

// KnobReader reads the knobs of one lock and keeps the first error, so that a constructor asks once, at the end.
type KnobReader struct {
	entry  Entry
	values map[string]string
	err    error
}

// ReadKnobs returns a reader of the knobs that settings gives, with the entry's defaults for the others.
func (e Entry) ReadKnobs(s Settings) *KnobReader { return &KnobReader{entry: e, values: s.Knobs} }

// Err returns the first error: a value that does not parse or is out of range, or a knob that the entry lacks.
func (r *KnobReader) Err() error { return r.err }

// Duration reads a duration such as "250ms" between least and most.
func (r *KnobReader) Duration(name string, least, most time.Duration) time.Duration {
	text := r.text(name)
	d, err := time.ParseDuration(text)
	if err != nil || d < least || d > most {
		r.fail(name, text, fmt.Sprintf("a duration from %v to %v", least, most))
		return least
	}
	return d
}

// Integer reads a whole number between least and most.
func (r *KnobReader) Integer(name string, least, most int64) int64 {
	text := r.text(name)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		r.fail(name, text, fmt.Sprintf("a whole number from %d to %d", least, most))
		return least
	}
	return n
}

// Switch reads "on" or "off".
func (r *KnobReader) Switch(name string) bool {
	text := r.text(name)
	if text != "on" && text != "off" {
		r.fail(name, text, `"on" or "off"`)
	}
	return text == "on"
}

// Text reads any text that is valid; want completes "it must be".
func (r *KnobReader) Text(name, want string, valid func(text string) bool) string {
	text := r.text(name)
	if !valid(text) {
		r.fail(name, text, want)
	}
	return text
}

func (r *KnobReader) text(name string) string {
	if value, set := r.values[name]; set {
		return value
	}
	for _, knob := range r.entry.Knobs {
		if knob.Name == name {
			return knob.Default
		}
	}
	return ""
}

func (r *KnobReader) fail(name, text, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: knob %s is %q; it must be %s", r.entry.Name, name, text, want)
	}
}
