package spacetime

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ExcerptLimit is how many lines an excerpt has at most: more are not read where it is pasted.
const ExcerptLimit = 30

// line is one line of an excerpt: a message, or something that is said of a lane.
type line struct {
	row    int // the event, or the one before which it comes
	time   time.Duration
	number int // of the step, 0 for what is no step
	lane   int
	to     int // of a message, else None
	reply  bool
	lost   bool
	text   string
}

// excerpt picks the few lines that matter: the steps of the story, and as far as there is room the messages by which
// they came about. Without a story it is what clients called and were told, up to the limit.
func (p *Page) excerpt() []line {
	var lines []line
	if p.Story != nil {
		lines = p.storyLines()
	} else {
		for i := range p.Events {
			switch p.Events[i].Kind {
			case Call, OK, Refused, Unknown, Record, Applied, Fault, Belief:
				lines = append(lines, p.eventLine(i))
			}
			if len(lines) == ExcerptLimit {
				break
			}
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.row, b.row) })
	return lines
}

func (p *Page) eventLine(row int) line {
	e := &p.Events[row]
	return line{row: row, time: e.Time, lane: e.Lane, to: None, text: e.Label}
}

// storyLines are the steps, and the messages that brought about what they tell.
func (p *Page) storyLines() []line {
	var lines []line
	shown := map[int]bool{}
	for _, s := range p.Story.Steps {
		row := s.Event
		if row == None {
			row, _ = slices.BinarySearchFunc(p.Events, s.Time+1, func(e Event, at time.Duration) int {
				return cmp.Compare(e.Time, at)
			})
		}
		text := s.Text
		if s.Clock != "" {
			text += " [" + s.Clock + "]"
		}
		if s.Lane == None {
			text = s.Who + " " + text
		}
		lines = append(lines, line{row: row, time: s.Time, number: s.Number, lane: s.Lane, to: None, text: text})
	}
	for _, s := range p.Story.Steps {
		if send := p.broughtBy(s.Event); send != None && !shown[send] && len(lines) < ExcerptLimit {
			shown[send] = true
			lines = append(lines, p.messageLine(send))
		}
	}
	return lines
}

// broughtBy is the message that led to an event at once: the request that changed the record, the reply that told a
// client.
func (p *Page) broughtBy(row int) int {
	for cause := row; cause != None; cause = p.Events[cause].Cause {
		e := &p.Events[cause]
		switch {
		case e.Time != p.Events[row].Time:
			return None
		case e.Kind == Deliver || e.Kind == Drop:
			return e.Cause
		case e.Kind == Send, e.Kind == Timer:
			return None
		}
	}
	return None
}

func (p *Page) messageLine(send int) line {
	e := &p.Events[send]
	l := p.eventLine(send)
	l.to, l.reply = e.Peer, e.Lane != None && p.Lanes[e.Lane].Kind == Server
	for i := send + 1; i < len(p.Events); i++ {
		if p.Events[i].Cause == send && p.Events[i].Kind <= Drop {
			l.lost = p.Events[i].Kind == Drop
			break
		}
	}
	return l
}

// Text renders the few events that matter as text in columns, to paste where a picture does not fit: the number of the
// step, true time, who, and what. It ends with a newline.
func (p *Page) Text() string {
	lines := p.excerpt()
	var b strings.Builder
	b.WriteString(plain(p.Title) + "\n\n")
	whoWidth, timeWidth := 0, 0
	for _, l := range lines {
		whoWidth, timeWidth = max(whoWidth, width(p.who(l))), max(timeWidth, len(seconds(l.time)))
	}
	for _, l := range lines {
		number := "  "
		if l.number != 0 {
			number = pad(strconv.Itoa(l.number), -2)
		}
		head := number + "  " + pad(seconds(l.time), -timeWidth) + "  " + pad(p.who(l), whoWidth) + "  "
		const whole = 104
		for i, part := range wrap(plain(l.text), max(whole-width(head), 30)) {
			if i > 0 {
				head = strings.Repeat(" ", width(head))
			}
			b.WriteString(strings.TrimRight(head+part, " ") + "\n")
		}
	}
	return b.String()
}

// who says between whom or with whom a line is.
func (p *Page) who(l line) string {
	switch {
	case l.to == None:
		return p.laneName(l.lane)
	case l.lost:
		return p.laneName(l.lane) + " -x " + p.laneName(l.to)
	}
	return p.laneName(l.lane) + " -> " + p.laneName(l.to)
}

func (p *Page) laneName(lane int) string {
	if lane == None {
		return ""
	}
	return plain(p.Lanes[lane].Name)
}
