package reports

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/mechanism"
	"github.com/lockstep-sim/lockstep/internal/visible"
)

// Limits on the length of a story. Steps beside the matter go once there are more than asideSteps, those that only
// round it off once there are more than comfortableSteps.
const (
	maxSteps         = 15
	comfortableSteps = 12
	asideSteps       = 7
)

// Story is a violation told in words: what was broken, by which known mechanism if by one, and how it came to it, step
// by step.
type Story struct {
	Title    string // the run: property, scenario, implementation, seed
	Headline string // what was violated, in one sentence
	// Mechanism names the known way in which it happened, empty where none is known.
	Mechanism  string
	Steps      []Step
	Omitted    int // how many steps that matter less were left out
	Conclusion string
}

// Step is one thing that happened.
type Step struct {
	Number int
	Time   time.Duration // true time since the start of the run
	Who    string        // the machine that did it or to which it happened
	Clock  string        // what a clock showed that matters and that was wrong, such as "own clock 12.003 s"
	Text   string        // what it did or believed
	Event  int64         // index of the event in the history, 0 for the end of a lease or of a fault
}

// Tell tells a violation. The finding says by which mechanism it came about and may be nil. Equal arguments give equal
// stories.
func Tell(
	h *checker.History, property checker.Property, violation checker.Violation, finding *mechanism.Finding,
) Story {
	t := newTeller(h, violation, finding)
	story := Story{Title: title(&h.Header, property), Headline: headline(violation)}
	if finding != nil {
		story.Mechanism = fmt.Sprintf("%s (%s): %s", finding.Mechanism.Name, finding.Mechanism.Ref, finding.Mechanism.About)
	}
	candidates := t.candidates()
	kept := trim(candidates)
	story.Omitted = len(candidates) - len(kept)
	for i := range kept {
		kept[i].Number = i + 1
		story.Steps = append(story.Steps, kept[i].Step)
	}
	story.Conclusion = t.conclusion()
	return story.visible()
}

// visible renders what others have named, such as locks and scenarios, so that it does nothing where a story is shown.
func (s Story) visible() Story {
	s.Title, s.Headline, s.Mechanism = visible.Line(s.Title), visible.Line(s.Headline), visible.Line(s.Mechanism)
	s.Conclusion = visible.Line(s.Conclusion)
	for i := range s.Steps {
		step := &s.Steps[i]
		step.Who, step.Clock, step.Text = visible.Line(step.Who), visible.Line(step.Clock), visible.Line(step.Text)
	}
	return s
}

// title names the run that a story is from, as far as the history says.
func title(header *checker.Header, property checker.Property) string {
	text := string(property) + " violated"
	var run []string
	for _, part := range []struct{ label, value string }{
		{"scenario ", header.Scenario}, {"", header.Implementation},
	} {
		if part.value != "" {
			run = append(run, part.label+part.value)
		}
	}
	if header.Scenario != "" || header.Seed != 0 {
		run = append(run, fmt.Sprintf("seed %d", header.Seed))
	}
	if len(run) > 0 {
		text += ": " + strings.Join(run, ", ")
	}
	return text
}

// Layout of a story as text.
const (
	textWidth  = 104
	clockTitle = "lease clock"
)

// String renders the story as plain text that ends with a newline.
func (s Story) String() string {
	var b strings.Builder
	b.WriteString(s.Title + "\n\n")
	wrap(&b, s.Headline, 0)
	if s.Mechanism != "" {
		b.WriteByte('\n')
		wrap(&b, "How: "+s.Mechanism, 0)
	}
	b.WriteByte('\n')
	s.writeSteps(&b)
	if s.Omitted > 0 {
		fmt.Fprintf(&b, "\n(%s left out that matter%s less.)\n", plural(int64(s.Omitted), "step"),
			map[bool]string{true: "s", false: ""}[s.Omitted == 1])
	}
	if s.Conclusion != "" {
		b.WriteByte('\n')
		wrap(&b, s.Conclusion, 0)
	}
	return b.String()
}

func (s Story) writeSteps(b *strings.Builder) {
	timeWidth, whoWidth := 0, 0
	for _, step := range s.Steps {
		timeWidth = max(timeWidth, len(seconds(step.Time)))
		whoWidth = max(whoWidth, utf8.RuneCountInString(step.Who))
	}
	leaseClock := false
	for _, step := range s.Steps {
		head := fmt.Sprintf("%2d. %*s  %s%s  ", step.Number, timeWidth, seconds(step.Time), step.Who,
			strings.Repeat(" ", whoWidth-utf8.RuneCountInString(step.Who)))
		text := step.Text
		if step.Clock != "" {
			text += " [" + step.Clock + "]"
		}
		leaseClock = leaseClock || strings.Contains(text, clockTitle)
		b.WriteString(head)
		wrapFrom(b, text, utf8.RuneCountInString(head))
	}
	if leaseClock {
		b.WriteString("\nThe lease clock is the clock that decides when a lease is over. The first column is true time.\n")
	}
}

// wrap writes a paragraph with an indent.
func wrap(b *strings.Builder, text string, indent int) {
	b.WriteString(strings.Repeat(" ", indent))
	wrapFrom(b, text, indent)
}

// wrapFrom writes a paragraph whose first line has already come as far as the indent.
func wrapFrom(b *strings.Builder, text string, indent int) {
	column := indent
	for i, word := range units(text) {
		width := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+width > textWidth:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += width
	}
	b.WriteByte('\n')
}

// units splits a text into words, and keeps a number and its unit together. Two colons never begin a line, where the
// log of a build would take them for a command.
func units(text string) []string {
	var words []string
	for _, word := range strings.Fields(text) {
		last := len(words) - 1
		unit := last >= 0 && strings.Trim(word, ".,;:)]") == "s" && endsInDigit(words[last])
		if last >= 0 && (unit || strings.HasPrefix(word, "::")) {
			words[last] += " " + word
			continue
		}
		words = append(words, word)
	}
	return words
}

func endsInDigit(word string) bool {
	last := word[len(word)-1]
	return '0' <= last && last <= '9'
}
