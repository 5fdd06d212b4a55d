package faults

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// quantity is a kind of number in a fault: how it is written and between which bounds it makes sense.
//
// Bounds are intervals and never depend on another number of the fault. Therefore everything that lies between two
// valid faults of the same shape is valid too, which is what lets a Template draw each number by itself.
type quantity struct {
	such        string // what to expect, with an example
	least, most int64
	duration    bool // drawn on a readable grain, see grain
	parse       func(text string) (int64, bool)
	print       func(value int64) string
}

// maxDuration bounds every duration of a fault. Runs last minutes; what is longer than a day is a slip of the pen.
const maxDuration = 24 * time.Hour

// The quantities of the grammar.
var (
	// length is how long something takes; nothing takes no time.
	length = quantity{
		such: "a duration such as 2s", least: 1, most: int64(maxDuration),
		duration: true, parse: parseDuration, print: printDuration,
	}
	// instant is a time since the start of the run.
	instant = quantity{
		such: "a time such as 2s", least: 0, most: int64(maxDuration),
		duration: true, parse: parseDuration, print: printDuration,
	}
	// spread is a size without direction; none means that the effect ends.
	spread = quantity{
		such: "a duration such as 5ms", least: 0, most: int64(maxDuration),
		duration: true, parse: parseDuration, print: printDuration,
	}
	// unit is what a clock counts that should count milliseconds; one of less would show a time that no clock can.
	unit = quantity{
		such: "a duration such as 1s, from 1ms to 1h", least: int64(time.Millisecond), most: int64(time.Hour),
		duration: true, parse: parseDuration, print: printDuration,
	}
	// shift is a signed duration. Zero is allowed: an offset of zero sets a clock right, and a range may span it.
	shift = quantity{
		such: "a signed duration such as +2s", least: -int64(maxDuration), most: int64(maxDuration),
		duration: true, parse: parseDuration, print: printShift,
	}
	// rate is parts per million, from half speed to double speed. A clock that stands still is no clock.
	rate = quantity{
		such: "a rate such as +200ppm", least: -500_000, most: 1_000_000,
		parse: parseRate, print: printRate,
	}
	// count is what a signed 32-bit counter can show.
	count = quantity{
		such: "a number such as 2147483640", least: -1 << 31, most: 1<<31 - 1,
		parse: parseCount, print: func(value int64) string { return strconv.FormatInt(value, 10) },
	}
	// ordinal counts from one.
	ordinal = quantity{
		such: "a number such as #2", least: 1, most: 1_000_000,
		parse: parseOrdinal, print: func(value int64) string { return "#" + strconv.FormatInt(value, 10) },
	}
)

// text writes one value, or a range where the ends differ.
func (q quantity) text(low, high int64) string {
	if low == high {
		return q.print(low)
	}
	// The mark of an ordinal belongs to the whole range: #1..3.
	return q.print(low) + rangeMark + strings.TrimPrefix(q.print(high), "#")
}

// rangeMark separates the ends of a range.
const rangeMark = ".."

// span reads a value, or a range where the text is a template.
func (p *parser) span(q quantity) (low, high int64, err error) {
	token := p.token()
	first, second, isRange := strings.Cut(token.text, rangeMark)
	if isRange && !p.template {
		return 0, 0, p.errorAt(token, fmt.Sprintf("%q is a range, which only a template may have: "+
			"write one value", abbreviate(token.text)))
	}
	if !isRange {
		second = first
	} else if strings.HasPrefix(first, "#") && !strings.HasPrefix(second, "#") {
		second = "#" + second
	}
	low, ok := q.parse(first)
	switch {
	case !ok && isRange:
		return 0, 0, p.errorAt(token, fmt.Sprintf("the range %q does not begin with %s", abbreviate(token.text), q.such))
	case !ok:
		return 0, 0, p.expected(q.such)
	}
	if high, ok = q.parse(second); !ok {
		return 0, 0, p.errorAt(token, fmt.Sprintf("the range %q does not end with %s", abbreviate(token.text), q.such))
	}
	if low > high {
		return 0, 0, p.errorAt(token, fmt.Sprintf("the range %q ends before it begins", abbreviate(token.text)))
	}
	if low < q.least || high > q.most {
		return 0, 0, p.errorAt(token, fmt.Sprintf("%q is out of bounds: it must lie between %s and %s",
			abbreviate(token.text), q.print(q.least), q.print(q.most)))
	}
	p.advance()
	return low, high, nil
}

func parseDuration(text string) (int64, bool) {
	d, err := time.ParseDuration(text)
	return int64(d), err == nil
}

// printDuration writes the shortest text in Go's syntax, in ASCII: 1.5s, 90us, 1m, 2h30m.
func printDuration(value int64) string {
	text := strings.Replace(time.Duration(value).String(), "µs", "us", 1)
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// printShift writes a duration that always shows its direction.
func printShift(value int64) string {
	if value < 0 {
		return printDuration(value)
	}
	return "+" + printDuration(value)
}

func parseRate(text string) (int64, bool) {
	number, ok := strings.CutSuffix(text, "ppm")
	if !ok {
		return 0, false
	}
	value, err := strconv.ParseInt(number, 10, 64)
	return value, err == nil
}

func printRate(value int64) string { return fmt.Sprintf("%+dppm", value) }

func parseOrdinal(text string) (int64, bool) {
	number, ok := strings.CutPrefix(text, "#")
	if !ok || strings.HasPrefix(number, "+") {
		return 0, false
	}
	value, err := strconv.ParseInt(number, 10, 64)
	return value, err == nil
}

// minDraws is how many different values a range should at least offer to a draw.
const minDraws = 1000

// grain returns the step on which a duration between low and high is drawn: the coarsest of a millisecond, a
// microsecond and a nanosecond that meets both ends and still offers enough values. Drawn faults stay readable so.
func grain(low, high int64) int64 {
	for _, unit := range []time.Duration{time.Millisecond, time.Microsecond} {
		step := int64(unit)
		if low%step == 0 && high%step == 0 && (high-low)/step >= minDraws {
			return step
		}
	}
	return 1
}

// parseCount reads a plain number, in the form in which it is written.
func parseCount(text string) (int64, bool) {
	value, err := strconv.ParseInt(text, 10, 64)
	return value, err == nil && strconv.FormatInt(value, 10) == text
}
