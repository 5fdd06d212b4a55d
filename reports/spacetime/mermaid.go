package spacetime

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// noteWidth is how many characters a line of a note has.
const noteWidth = 44

// Mermaid renders the few events that matter as a sequence diagram in Mermaid's notation, to paste into an issue. The
// time in which two clients believe to hold is shaded. It ends with a newline.
func (p *Page) Mermaid() string {
	lines := p.excerpt()
	var b strings.Builder
	b.WriteString("sequenceDiagram\n")
	fmt.Fprintf(&b, "    title %s\n", entities(p.Title))
	used := p.usedLanes(lines)
	for _, lane := range used {
		fmt.Fprintf(&b, "    participant m%d as %s\n", lane, entities(p.Lanes[lane].Name))
	}
	shaded := false
	for i, l := range lines {
		if len(used) == 0 {
			break
		}
		if within := p.overlaps(l.row); within != shaded {
			b.WriteString(map[bool]string{true: "    rect rgba(213, 94, 0, 0.18)\n", false: "    end\n"}[within])
			shaded = within
		}
		b.WriteString("    " + p.mermaidLine(l, used) + "\n")
		if shaded && i == len(lines)-1 {
			b.WriteString("    end\n")
		}
	}
	return b.String()
}

// usedLanes lists the lanes that some line is about, in their order.
func (p *Page) usedLanes(lines []line) []int {
	var used []int
	for _, l := range lines {
		for _, lane := range []int{l.lane, l.to} {
			if lane != None && !slices.Contains(used, lane) {
				used = append(used, lane)
			}
		}
	}
	slices.Sort(used)
	return used
}

// overlaps tells whether two clients believe to hold right after an event.
func (p *Page) overlaps(row int) bool {
	return slices.ContainsFunc(p.Bars, func(b Bar) bool {
		if b.Kind != Overlap || row >= len(p.Events) {
			return false
		}
		at := p.Events[row].Time
		after := b.From < at || b.From == at && b.Start <= row
		return after && (at < b.To || at == b.To && b.End != None && row < b.End)
	})
}

func (p *Page) mermaidLine(l line, used []int) string {
	if l.to != None {
		arrow := map[bool]string{false: "->>", true: "-->>"}[l.reply]
		if l.lost {
			arrow = map[bool]string{false: "-x", true: "--x"}[l.reply]
		}
		return fmt.Sprintf("m%d%sm%d: %s", l.lane, arrow, l.to, said(Shorten(l.text)))
	}
	over := fmt.Sprintf("m%d", l.lane)
	if l.lane == None {
		over = fmt.Sprintf("m%d", used[0])
		if last := used[len(used)-1]; last != used[0] {
			over += fmt.Sprintf(",m%d", last)
		}
	}
	text := seconds(l.time) + " " + l.text
	if l.number != 0 {
		text = fmt.Sprintf("%d. %s", l.number, text)
	}
	parts := wrap(plain(text), noteWidth)
	for i := range parts {
		parts[i] = said(parts[i])
	}
	return fmt.Sprintf("Note over %s: %s", over, strings.Join(parts, "<br/>"))
}

// said is a text behind a colon, where a further colon means nothing.
func said(text string) string { return strings.ReplaceAll(entities(text), "#58;", ":") }

// entities writes a text so that Mermaid takes it as text: on one line, all that could mean something as a number.
func entities(text string) string {
	var b strings.Builder
	for _, r := range plain(text) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), strings.ContainsRune(" .,()+-_/×→‹›", r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	if b.Len() == 0 {
		return "-"
	}
	return b.String()
}
