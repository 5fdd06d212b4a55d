package spacetime

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"
)

// encoded is how a page stands in the file. Events are columns, and each text stands in the table once: events of one
// run have much in common. Times and causes are differences, which are short.
type encoded struct {
	Title    string           `json:"title"`
	Facts    [][2]string      `json:"facts"`
	Verdicts []encodedVerdict `json:"verdicts"`
	Story    *encodedStory    `json:"story"`
	Notices  []string         `json:"notices"`
	Lanes    []encodedLane    `json:"lanes"`
	Events   columns          `json:"events"`
	Bars     []encodedBar     `json:"bars"`
	Bands    []encodedBand    `json:"bands"`
	Strings  []string         `json:"strings"`
}

type encodedVerdict struct {
	Property string `json:"property"`
	Result   string `json:"result"`
	Why      string `json:"why"`
	Event    int    `json:"event"`
}

type encodedStory struct {
	Headline   string        `json:"headline"`
	Mechanism  string        `json:"mechanism"`
	Conclusion string        `json:"conclusion"`
	Omitted    int           `json:"omitted"`
	Text       string        `json:"text"`
	Steps      []encodedStep `json:"steps"`
}

type encodedStep struct {
	Number int    `json:"number"`
	Time   int64  `json:"time"`
	Who    string `json:"who"`
	Lane   int    `json:"lane"`
	Clock  string `json:"clock"`
	Text   string `json:"text"`
	Event  int    `json:"event"`
}

type encodedLane struct {
	Name   string `json:"name"`
	Server bool   `json:"server"`
}

// columns has one slice for each property of an event. Columns at the end of which nothing but zeros follow are cut
// there, so that one which is all zeros costs nothing.
type columns struct {
	Count  int     `json:"count"`
	Time   []int64 `json:"time"` // nanoseconds since the event before
	Kind   []int   `json:"kind"`
	Lane   []int   `json:"lane"`
	Peer   []int   `json:"peer"`  // 0 = none, else its lane + 1
	Cause  []int   `json:"cause"` // how many events before, 0 = none
	Label  []int   `json:"label"`
	Detail []int   `json:"detail"`
	Skew   []int64 `json:"skew"` // nanoseconds since the lane's event before
	Flags  []int   `json:"flags"`
	Entry  []int64 `json:"entry"` // since the last that is from the trace, 0 = it is not from the trace
	Index  []int64 `json:"index"` // since the last that is from the history, 0 = it is not from the history
}

// The flags of an event.
const (
	flagSkew    = 1
	flagBent    = 2
	flagControl = 4
)

type encodedBar struct {
	Kind   int   `json:"kind"`
	Lane   int   `json:"lane"`
	Owner  int   `json:"owner"`
	From   int64 `json:"from"`
	To     int64 `json:"to"`
	Start  int   `json:"start"`
	End    int   `json:"end"`
	Slot   int   `json:"slot"`
	Label  int   `json:"label"`
	Detail int   `json:"detail"`
}

type encodedBand struct {
	Kind  int    `json:"kind"`
	Lanes []int  `json:"lanes"`
	From  int64  `json:"from"`
	To    int64  `json:"to"`
	Label string `json:"label"`
}

// table numbers texts in the order in which they come up; number 0 is the empty text.
type table struct {
	texts   []string
	numbers map[string]int
}

func (t *table) number(text string) int {
	if n, known := t.numbers[text]; known {
		return n
	}
	n := len(t.texts)
	t.texts, t.numbers[text] = append(t.texts, text), n
	return n
}

// encode renders the page as JSON that may stand inside of a script element: nothing in it can end one.
func (p *Page) encode() ([]byte, error) {
	texts := &table{texts: []string{""}, numbers: map[string]int{"": 0}}
	e := encoded{
		Title: p.Title, Facts: [][2]string{}, Verdicts: []encodedVerdict{}, Notices: slices.Clone(p.Notices),
		Lanes: []encodedLane{}, Bars: []encodedBar{}, Bands: []encodedBand{},
	}
	for _, f := range p.Facts {
		e.Facts = append(e.Facts, [2]string{f.Name, f.Value})
	}
	for _, v := range p.Verdicts {
		e.Verdicts = append(e.Verdicts, encodedVerdict(v))
	}
	for _, l := range p.Lanes {
		e.Lanes = append(e.Lanes, encodedLane{Name: l.Name, Server: l.Kind == Server})
	}
	if p.Story != nil {
		e.Story = p.Story.encode()
	}
	e.Events = p.columns(texts)
	for _, b := range p.Bars {
		e.Bars = append(e.Bars, encodedBar{
			Kind: int(b.Kind), Lane: b.Lane, Owner: b.Owner, From: int64(b.From), To: int64(b.To), Start: b.Start, End: b.End,
			Slot: b.Slot, Label: texts.number(b.Label), Detail: texts.number(b.Detail),
		})
	}
	for _, b := range p.Bands {
		e.Bands = append(e.Bands, encodedBand{
			Kind: int(b.Kind), Lanes: append([]int{}, b.Lanes...), From: int64(b.From), To: int64(b.To), Label: b.Label,
		})
	}
	e.Strings = texts.texts
	var out bytes.Buffer
	if err := json.NewEncoder(&out).Encode(e); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

func (s *Story) encode() *encodedStory {
	e := &encodedStory{
		Headline: s.Headline, Mechanism: s.Mechanism, Conclusion: s.Conclusion, Omitted: s.Omitted, Text: s.Text,
		Steps: []encodedStep{},
	}
	for _, step := range s.Steps {
		e.Steps = append(e.Steps, encodedStep{
			Number: step.Number, Time: int64(step.Time), Who: step.Who, Lane: step.Lane, Clock: step.Clock,
			Text: step.Text, Event: step.Event,
		})
	}
	return e
}

func (p *Page) columns(texts *table) columns {
	n := len(p.Events)
	c := columns{
		Count: n, Time: make([]int64, n), Kind: make([]int, n), Lane: make([]int, n), Peer: make([]int, n),
		Cause: make([]int, n), Label: make([]int, n), Detail: make([]int, n), Skew: make([]int64, n), Flags: make([]int, n),
		Entry: make([]int64, n), Index: make([]int64, n),
	}
	skews := make([]time.Duration, len(p.Lanes))
	var last Event
	for i := range p.Events {
		e := &p.Events[i]
		c.Time[i], last.Time = int64(e.Time-last.Time), e.Time
		c.Kind[i], c.Lane[i], c.Peer[i] = int(e.Kind), e.Lane+1, e.Peer+1
		if e.Cause != None {
			c.Cause[i] = i - e.Cause
		}
		c.Label[i], c.Detail[i] = texts.number(e.Label), texts.number(e.Detail)
		if e.SkewKnown && e.Lane != None {
			c.Skew[i], skews[e.Lane] = int64(e.Skew-skews[e.Lane]), e.Skew
			c.Flags[i] |= flagSkew
		}
		if e.Bent {
			c.Flags[i] |= flagBent
		}
		if e.Control {
			c.Flags[i] |= flagControl
		}
		if e.Entry != 0 {
			c.Entry[i], last.Entry = int64(e.Entry-last.Entry), e.Entry
		}
		if e.Index != 0 {
			c.Index[i], last.Index = e.Index-last.Index, e.Index
		}
	}
	c.Time, c.Skew, c.Entry, c.Index = cut(c.Time), cut(c.Skew), cut(c.Entry), cut(c.Index)
	c.Kind, c.Lane, c.Peer, c.Cause = cut(c.Kind), cut(c.Lane), cut(c.Peer), cut(c.Cause)
	c.Label, c.Detail, c.Flags = cut(c.Label), cut(c.Detail), cut(c.Flags)
	return c
}

// cut removes the zeros at the end.
func cut[T int | int64](column []T) []T {
	n := len(column)
	for n > 0 && column[n-1] == 0 {
		n--
	}
	return column[:n]
}
