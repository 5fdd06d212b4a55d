package spacetime

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// small is a page with one of everything.
func small() *Page {
	return &Page{
		Title: "small", Facts: []Fact{{"seed", "1"}}, Verdicts: []Verdict{{"mutual-exclusion", "violated", "two", 3}},
		Lanes: []Lane{{"c1", Client}, {"c2", Client}, {"redis", Server}},
		Events: []Event{
			{Kind: Send, Lane: 0, Peer: 2, Cause: None, Label: "GET job", Detail: "GET job", SkewKnown: true, Entry: 1},
			{Time: 2e6, Kind: Deliver, Lane: 2, Peer: 0, Cause: 0, Label: "GET job", Entry: 2},
			{Time: 2e6, Kind: Send, Lane: 2, Peer: 0, Cause: 1, Label: "nil", Entry: 3},
			{Time: 3e6, Kind: Drop, Lane: 0, Peer: 2, Cause: 2, Label: "lost", Skew: time.Second, SkewKnown: true, Entry: 4},
			{Time: 3e6, Kind: OK, Lane: 1, Peer: None, Cause: None, Label: "has job", Index: 1},
			{Time: 9e9, Kind: Phase, Lane: None, Peer: None, Cause: None, Label: "the end", Index: 3},
		},
		Bars: []Bar{
			{Kind: Hold, Lane: 0, Owner: 0, From: 0, To: 5e6, Start: 0, End: None},
			{Kind: Overlap, Lane: 0, Owner: 0, From: 3e6, To: 5e6, Start: 4, End: None},
		},
		Bands: []Band{{Kind: Paused, Lanes: []int{1}, From: 0, To: 1e6, Label: "pause c2"}},
		Story: &Story{
			Headline: "Two holders", Steps: []Step{
				{Number: 1, Time: 3e6, Who: "c2", Lane: 1, Text: "is told: it holds", Event: 4},
				{Number: 2, Time: 5e6, Who: "bench", Lane: None, Text: "ends all", Event: None},
			},
		},
	}
}

func render(t testing.TB, p *Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestHTMLIsSelfContained checks that the file refers to nothing outside, and that its policy is about its own parts.
func TestHTMLIsSelfContained(t *testing.T) {
	text := render(t, small())
	for _, forbidden := range []string{"http://", "https://", "src=", "@import", "url(//", "<link", "{{", "eval(", "innerHTML"} {
		for _, found := range regexp.MustCompile(regexp.QuoteMeta(forbidden)+".{0,40}").FindAllString(text, -1) {
			if !strings.Contains(found, "www.w3.org/2000/svg") {
				t.Errorf("the page has %q in it", found)
			}
		}
	}
	written := regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(text)
	policy := html.UnescapeString(written[1])
	for _, part := range []struct{ directive, begin, end string }{
		{"style-src", "<style>", "</style>"}, {"script-src", "<script>", "</script>"},
	} {
		_, after, _ := strings.Cut(text, part.begin)
		content, _, _ := strings.Cut(after, part.end)
		sum := sha256.Sum256([]byte(content))
		want := part.directive + " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		if len(content) < 1000 || !strings.Contains(policy, want) {
			t.Errorf("the policy %q lacks %q", policy, want)
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is %q", policy)
	}
	if again := render(t, small()); again != text {
		t.Error("equal pages give different bytes")
	}
}

// TestEncodingReadsBack decodes the data of a page and compares.
func TestEncodingReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := small()
		text := rapid.SampledFrom([]string{"plain", "</script>", "<!--", "\u2028", "\"'\\", "{{script}}", "", "é"})
		n := rapid.IntRange(0, 20).Draw(t, "events")
		p.Events, p.Bars, p.Story, p.Verdicts = nil, nil, nil, nil
		now := time.Duration(0)
		for i := range n {
			now += time.Duration(rapid.SampledFrom([]int64{0, 1, 5e6, 3e12}).Draw(t, "gap"))
			e := Event{
				Time: now, Kind: Kind(rapid.IntRange(0, int(kinds)-1).Draw(t, "kind")),
				Lane: rapid.IntRange(None, 2).Draw(t, "lane"), Peer: rapid.IntRange(None, 2).Draw(t, "peer"),
				Cause: rapid.IntRange(None, i-1).Draw(t, "cause"), Label: text.Draw(t, "label"), Detail: text.Draw(t, "detail"),
				Bent: rapid.Bool().Draw(t, "bent"), Control: rapid.Bool().Draw(t, "control"),
			}
			if e.Lane != None && rapid.Bool().Draw(t, "known") {
				e.SkewKnown, e.Skew = true, time.Duration(rapid.Int64Range(-1e15, 1e15).Draw(t, "skew"))
			}
			if rapid.Bool().Draw(t, "traced") {
				e.Entry = uint64(i + 1)
			} else {
				e.Index = int64(2*i + 1)
			}
			p.Events = append(p.Events, e)
		}
		data, err := p.encode()
		if err != nil {
			t.Fatal(err)
		}
		if bytes.ContainsAny(data, "<>\u2028") {
			t.Fatalf("the data could end its element: %s", data)
		}
		var e encoded
		if err := json.Unmarshal(data, &e); err != nil {
			t.Fatal(err)
		}
		for i, got := range decodeEvents(&e) {
			if got != p.Events[i] {
				t.Fatalf("event %d is %+v, want %+v", i, got, p.Events[i])
			}
		}
	})
}

// decodeEvents undoes columns, as the page's script does.
func decodeEvents(e *encoded) []Event {
	at := func(column []int, i int) int {
		if i < len(column) {
			return column[i]
		}
		return 0
	}
	at64 := func(column []int64, i int) int64 {
		if i < len(column) {
			return column[i]
		}
		return 0
	}
	c := &e.Events
	skews := make([]time.Duration, len(e.Lanes))
	var events []Event
	var last Event
	for i := range c.Count {
		last.Time += time.Duration(at64(c.Time, i))
		flags := at(c.Flags, i)
		x := Event{
			Time: last.Time, Kind: Kind(at(c.Kind, i)), Lane: at(c.Lane, i) - 1, Peer: at(c.Peer, i) - 1, Cause: None,
			Label: e.Strings[at(c.Label, i)], Detail: e.Strings[at(c.Detail, i)], Bent: flags&flagBent != 0,
			Control: flags&flagControl != 0, SkewKnown: flags&flagSkew != 0,
		}
		if back := at(c.Cause, i); back != 0 {
			x.Cause = i - back
		}
		if x.SkewKnown {
			skews[x.Lane] += time.Duration(at64(c.Skew, i))
			x.Skew = skews[x.Lane]
		}
		if d := at64(c.Entry, i); d != 0 {
			last.Entry += uint64(d)
			x.Entry = last.Entry
		}
		if d := at64(c.Index, i); d != 0 {
			last.Index += d
			x.Index = last.Index
		}
		events = append(events, x)
	}
	return events
}

// TestPagesThatCannotBeDrawn are refused with one line that says why.
func TestPagesThatCannotBeDrawn(t *testing.T) {
	for _, test := range []struct {
		spoil func(p *Page)
		want  string
	}{
		{func(p *Page) { p.Events[1].Kind = kinds }, "event 1 has kind 15"},
		{func(p *Page) { p.Events[1].Lane = 3 }, "event 1 is on lanes 3 and 0: there are 3"},
		{func(p *Page) { p.Events[1].Peer = -2 }, "event 1 is on lanes 2 and -2"},
		{func(p *Page) { p.Events[1].Cause = 1 }, "event 1 has cause 1, which does not come before it"},
		{func(p *Page) { p.Events[5].Time = 1 }, "event 5 at 1ns is earlier"},
		{func(p *Page) { p.Bars[1].To = 1 }, "bar 1 does not fit"},
		{func(p *Page) { p.Bars[0].Start = 6 }, "bar 0 does not fit"},
		{func(p *Page) { p.Bands[0].Lanes = []int{7} }, "band 0 is on lane 7"},
		{func(p *Page) { p.Verdicts[0].Event = 6 }, "verdict 0 is about event 6"},
		{func(p *Page) { p.Story.Steps[1].Lane = 3 }, "step 2 is about event -1 on lane 3"},
	} {
		p := small()
		test.spoil(p)
		var b bytes.Buffer
		err := p.WriteHTML(&b)
		if err == nil || !strings.Contains(err.Error(), test.want) || b.Len() != 0 {
			t.Errorf("the error is %v after %d bytes, want %q", err, b.Len(), test.want)
		}
	}
}

// fullDisk takes so many writes.
type fullDisk int

func (d *fullDisk) Write(p []byte) (int, error) {
	if *d--; *d < 0 {
		return 0, errors.New("the disk is full")
	}
	return len(p), nil
}

func TestHTMLOnAFullDisk(t *testing.T) {
	for room := range 11 {
		disk := fullDisk(room)
		if err := small().WriteHTML(&disk); err == nil {
			t.Errorf("after %d writes the disk is full, and nobody says so", room)
		}
	}
	disk := fullDisk(11)
	if err := small().WriteHTML(&disk); err != nil {
		t.Error(err)
	}
}
