package faults

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Template is a fault of which some numbers are not settled: each may be a range to draw from. It may also have odds,
// by which the fault is left out of a plan.
//
// It keeps the fault twice, with every number at its least and at its greatest. The two differ in nothing else.
type Template struct {
	odds      Odds
	low, high Fault
}

// Odds are the chances that a fault is in the plan: Wins of Total. The zero value means always.
type Odds struct{ Wins, Total int64 }

// maxOdds bounds Odds.Total.
const maxOdds = 1_000_000

// Stream is where a draw takes its randomness from.
type Stream interface {
	// Between returns an integer from low to high, both included, each with the same chance.
	Between(low, high int64) int64
}

// Fixed returns the template that always draws this fault.
func Fixed(f Fault) Template { return Template{low: f.clone(), high: f.clone()} }

// Odds returns the chances that the fault is in the plan.
func (t Template) Odds() Odds { return t.odds }

// Low returns the fault with every number at its least.
func (t Template) Low() Fault { return t.low.clone() }

// High returns the fault with every number at its greatest.
func (t Template) High() Fault { return t.high.clone() }

// Draw settles the odds and every range. It reports false when the odds leave the fault out.
//
// Odds are drawn first, then the numbers that are ranges, each independently. Durations fall on whole milliseconds or
// microseconds where the range is wide enough for that, so that drawn faults stay readable.
func (t Template) Draw(stream Stream) (Fault, bool) {
	if t.odds.Total > 0 && stream.Between(1, t.odds.Total) > t.odds.Wins {
		return Fault{}, false
	}
	drawn, high := t.low.clone(), t.high
	greatest := values(&high)
	for i, value := range values(&drawn) {
		low, high := *value.number, *greatest[i].number
		if low == high {
			continue
		}
		step := int64(1)
		if value.duration {
			step = grain(low, high)
		}
		*value.number = low + step*stream.Between(0, (high-low)/step)
	}
	return drawn, true
}

// String writes the template as one line that ParseTemplate reads back to an equal value.
func (t Template) String() string {
	form, ok := formOf(t.low.Kind)
	if !ok {
		return t.low.Kind.String()
	}
	var w writer
	if t.odds.Total > 0 {
		w.add("maybe", fmt.Sprintf("%d/%d", t.odds.Wins, t.odds.Total))
	}
	for _, clause := range form.clauses {
		if clause.word != "" {
			w.add(clause.word)
		} else {
			clause.write(&w, t)
		}
	}
	return strings.Join(w.words, " ")
}

// Equal says whether two templates are the same.
func (t Template) Equal(other Template) bool {
	return t.odds == other.odds && t.low.Equal(other.low) && t.high.Equal(other.high)
}

// MarshalText writes the template as String does.
func (t Template) MarshalText() ([]byte, error) {
	text := t.String()
	if back, err := ParseTemplate(text); err != nil {
		return nil, fmt.Errorf("template %q: %w", text, err)
	} else if !back.Equal(t) {
		return nil, fmt.Errorf("template %q: its fault does not check", text)
	}
	return []byte(text), nil
}

// UnmarshalText reads the template as ParseTemplate does.
func (t *Template) UnmarshalText(text []byte) error {
	parsed, err := ParseTemplate(string(text))
	if err != nil {
		return err
	}
	*t = parsed
	return nil
}

// odds reads the optional "maybe 1/2" before a template.
func (p *parser) odds(t *Template) error {
	if !p.template {
		if found := p.token(); strings.EqualFold(found.text, "maybe") {
			return p.errorAt(found, "odds belong to a template: a fault of a plan is there or it is not")
		}
		return nil
	}
	if _, ok := p.accept("maybe"); !ok {
		return nil
	}
	token := p.token()
	wins, total, ok := strings.Cut(token.text, "/")
	if !ok {
		return p.expected("odds such as 1/2")
	}
	w, errWins := strconv.ParseInt(wins, 10, 64)
	n, errTotal := strconv.ParseInt(total, 10, 64)
	switch {
	case errWins != nil || errTotal != nil:
		return p.expected("odds such as 1/2")
	case w < 1 || w > n || n > maxOdds:
		return p.errorAt(token, fmt.Sprintf("%q are no odds: write wins/total with wins from 1 to total, "+
			"and total up to %d", abbreviate(token.text), maxOdds))
	}
	t.odds = Odds{Wins: w, Total: n}
	p.advance()
	return nil
}

// clone copies what the fault shares with others.
func (f Fault) clone() Fault {
	f.When = slices.Clone(f.When)
	return f
}
