package spacetime_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/reports/spacetime"
	"github.com/lockstep-sim/lockstep/scenarios"
)

// shown is a sample in a window.
type shown struct {
	*browser
	*sample
	page *spacetime.Page
}

// show opens the violation by which most of these tests look.
func show(t *testing.T) *shown {
	t.Helper()
	findChromium(t)
	s := library(t, "dead-record", "redis/getset", 5, scenarios.Direct)
	return showSample(t, s, 1440, 900)
}

func showSample(t *testing.T, s *sample, width, height int) *shown {
	t.Helper()
	findChromium(t)
	page := s.page()
	return &shown{open(t, writePage(t, page), width, height), s, page}
}

// row is the row of an event of the history.
func (s *shown) row(index int64) int {
	return slices.IndexFunc(s.page.Events, func(e spacetime.Event) bool { return e.Index == index })
}

// counts of a kind of entries in the trace.
func (s *shown) traced(kind string) int {
	n := 0
	for _, e := range s.entries {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// TestOpensAtTheViolation checks what a page shows before anything is pressed: the place of the violation, in
// the middle as far as there is something on both sides, and the lane of the server that keeps the record. The
// first step of the story is one key away.
func TestOpensAtTheViolation(t *testing.T) {
	s := showSample(t, long(t, "crowd", "1800ms"), 1100, 700)
	event := s.page.Verdicts[slices.IndexFunc(s.page.Verdicts, func(v spacetime.Verdict) bool {
		return v.Result == "violated" && v.Event != spacetime.None
	})].Event
	if at := eval[float64](s.browser, fmt.Sprintf(`(() => {
		const d = document.querySelector("#diagram").getBoundingClientRect();
		const e = document.querySelector('#picture [data-row="%d"]').getBoundingClientRect();
		return ((e.top + e.bottom) / 2 - d.top) / d.height;
	})()`, event)); at < 0.4 || at > 0.65 {
		t.Errorf("the violation lies at %.2f of the height of the window, want it in the middle", at)
	}
	if !eval[bool](s.browser, `(() => {
		const d = document.querySelector("#diagram").getBoundingClientRect();
		const e = document.querySelector("#picture .head.server").getBoundingClientRect();
		return e.left >= d.left && e.right <= d.right;
	})()`) {
		t.Error("the lane of the server is out of sight")
	}
	if n := s.count(`#steps .step[aria-current="step"]`); n > 0 {
		t.Errorf("%d steps of the story are marked before a key is pressed", n)
	}
	s.press("n")
	if step := s.texts(`#steps .step[aria-current="step"] .number`); !slices.Equal(step, []string{"1"}) {
		t.Errorf("the first key leads to step %q, want the first one", step)
	}
}

// toTop moves to the beginning of the run.
func (b *browser) toTop() {
	b.t.Helper()
	eval[bool](b, `(document.querySelector("#diagram").scrollTop = 0, true)`)
	b.settle()
}

// TestPictureShowsTheRun compares what is drawn of a whole run with the run.
func TestPictureShowsTheRun(t *testing.T) {
	s := show(t)
	s.press("0")
	var lanes []string
	for _, l := range s.page.Lanes {
		lanes = append(lanes, l.Name)
	}
	heads := s.texts("#picture .head title")
	if !slices.Equal(heads, lanes) || strings.Join(lanes, " ") != "c1 c2 c3 redis store timeserver" {
		t.Errorf("the lanes are %q, the page has %q", heads, lanes)
	}
	holds, overlaps := 0, 0
	for _, c := range checker.Claims(s.run.History) {
		holds++
		for _, other := range checker.Claims(s.run.History) {
			if other.Process != c.Process && other.Start < c.End && c.Start < other.End {
				overlaps++
			}
		}
	}
	for _, drawn := range []struct {
		what, selector string
		want           int
	}{
		{"messages", "#picture .arrow", s.traced("send")},
		{"lost messages", "#picture .arrow.lost .cross", s.traced("drop")},
		{"believed holds", "#picture .bar.hold", holds},
		{"overlaps", "#picture .bar.overlap", overlaps},
		{"crosses of arrows that arrive", "#picture .arrow:not(.lost) .cross", 0},
		{"steps", "#picture .badge", len(s.run.Story.Steps)},
		{"steps beside it", "#steps .step", len(s.run.Story.Steps)},
		{"verdicts", "#verdicts .verdict", len(s.run.Verdicts)},
		{"events", "#picture .mark", len(s.page.Events)},
		{"crashed machines", "#picture .band.down", 1},
	} {
		if got := s.count(drawn.selector); got != drawn.want || drawn.want == 0 && !strings.Contains(drawn.selector, ":not") {
			t.Errorf("%s: %d are drawn, the run has %d", drawn.what, got, drawn.want)
		}
	}
	s.leases()
	s.arrows()
}

// leases compares the bars on the server's lane with the facts of the history.
func (s *shown) leases() {
	var want []string
	for _, e := range s.run.History.Events {
		if e.F == checker.RecordSet {
			want = append(want, "names "+e.Node+" with")
		}
	}
	got := s.texts("#picture .bar.lease title")
	for _, w := range want {
		if !slices.ContainsFunc(got, func(title string) bool { return strings.Contains(title, w) }) {
			s.t.Errorf("no bar says that the record %s: %q", w, got)
		}
	}
	if over := s.count("#picture .bar.lease.over"); over != 1 {
		s.t.Errorf("%d leases are drawn as over, want that of the crashed client", over)
	}
}

// arrows checks from where to where each is drawn.
func (s *shown) arrows() {
	type end struct {
		Row    int
		X1, X2 float64
	}
	drawn := eval[[]end](s.browser, `[...document.querySelectorAll("#picture .arrow")].map(e => {
		const l = e.querySelector(".shaft");
		return {Row: +e.dataset.row, X1: l.x1.baseVal.value, X2: l.x2.baseVal.value};
	})`)
	x := eval[[]float64](s.browser,
		`[...document.querySelectorAll("#picture .lanelines line")].map(e => e.x1.baseVal.value)`)
	for _, d := range drawn {
		e := s.page.Events[d.Row]
		lost := slices.ContainsFunc(s.page.Events, func(o spacetime.Event) bool {
			return o.Kind == spacetime.Drop && o.Cause == d.Row
		})
		from, to := x[e.Lane], x[e.Peer]
		if math.Abs(d.X1-from) > 4 || !lost && math.Abs(d.X2-to) > 4 || lost && math.Abs(d.X2-to) < 10 {
			s.t.Errorf("event %d goes from lane %d at %v to lane %d at %v (lost: %v), and is drawn from %v to %v", d.Row, e.Lane,
				from, e.Peer, to, lost, d.X1, d.X2)
		}
	}
}

// TestClickShowsTheEvent clicks events of the history and of the trace and reads what comes up beside.
func TestClickShowsTheEvent(t *testing.T) {
	s := show(t)
	for _, index := range []int64{2, 9, 15, 23} {
		e := &s.run.History.Events[index-1]
		row := s.row(index)
		s.press("1")
		s.toTop()
		s.reach(row)
		s.click(fmt.Sprintf(`#picture .mark[data-row="%d"] :is(path, rect, circle):not(.labelback)`, row))
		detail := s.text("#detail")
		for _, want := range []string{
			fmt.Sprintf("%.9f s", e.Time.Seconds()), fmt.Sprintf("history %d", index), e.Owner, e.Command, e.Error,
			"what: " + string(e.Type) + " " + e.F,
		} {
			if !strings.Contains(detail, want) {
				t.Errorf("event %d: the detail lacks %q: %s", index, want, detail)
			}
		}
		s.chain(row)
	}
}

// reach scrolls until a row is drawn.
func (s *shown) reach(row int) {
	s.t.Helper()
	for range 60 {
		inside := eval[bool](s.browser, fmt.Sprintf(`(() => {
			const m = document.querySelector('#picture .mark[data-row="%d"]');
			if (!m) return false;
			const b = m.getBoundingClientRect(), d = document.querySelector("#diagram").getBoundingClientRect();
			return b.top > d.top + 60 && b.bottom < d.bottom - 60;
		})()`, row))
		if inside {
			return
		}
		eval[bool](s.browser, `(document.querySelector("#diagram").scrollTop += 300, true)`)
		s.settle()
	}
	s.t.Fatalf("row %d is not drawn anywhere", row)
}

// chain compares the causes beside and those that are highlighted with the run.
func (s *shown) chain(row int) {
	s.t.Helper()
	var want []int
	for cause := s.page.Events[row].Cause; cause != spacetime.None; cause = s.page.Events[cause].Cause {
		want = append(want, cause)
	}
	got := eval[[]int](s.browser, `[...document.querySelectorAll("#detail .chain")].slice(0, 1).flatMap(
		e => [...e.querySelectorAll("[data-goto]")].map(b => +b.dataset.goto))`)
	if len(want) == 0 || !slices.Equal(got, want[:min(len(want), 30)]) {
		s.t.Errorf("row %d: the causes are %v, want %v", row, got, want)
	}
	linked := eval[[]int](s.browser, `[...document.querySelectorAll("#picture .mark.linked")].map(e => +e.dataset.row)`)
	for _, l := range linked {
		if l != row && !slices.Contains(want, l) {
			s.t.Errorf("row %d: row %d is highlighted, and did not lead to it", row, l)
		}
	}
	if !slices.Contains(linked, row) || len(linked) < 2 {
		s.t.Errorf("row %d: highlighted is %v", row, linked)
	}
}

// TestFilters filters by text, machine and kind, and compares what is left with the run.
func TestFilters(t *testing.T) {
	s := show(t)
	s.press("0")
	s.do(chromedp.SendKeys(chromedp.CSS("#filter"), "getset job"))
	get(s.browser, chromedp.Poll[bool](`document.querySelector("#picture").dataset.arrows == "2"`))
	s.settle()
	for _, title := range s.texts("#picture .arrow title") {
		if !strings.Contains(title, "GETSET") {
			t.Errorf("the filter leaves %q", title)
		}
	}
	want := 0
	for _, e := range s.entries {
		if e.Kind == "send" && strings.HasPrefix(e.Text, "GETSET") {
			want++
		}
	}
	if got := s.count("#picture .arrow"); got != want || want == 0 {
		t.Errorf("%d arrows are left, the run has %d GETSETs", got, want)
	}
	eval[bool](s.browser, `(() => {
		const filter = document.querySelector("#filter");
		filter.value = "";
		return filter.dispatchEvent(new Event("input"));
	})()`)
	get(s.browser, chromedp.Poll[bool](
		fmt.Sprintf(`document.querySelector("#picture").dataset.arrows == "%d"`, s.traced("send"))))
	s.filterMachine()
}

func (s *shown) filterMachine() {
	s.t.Helper()
	s.click("#machines summary")
	s.click(`#machinelist input[data-name="c1"]`)
	between := 0
	for _, e := range s.entries {
		if e.Kind == "send" && e.From != "c1" && e.To != "c1" {
			between++
		}
	}
	if got := eval[int](s.browser, `+document.querySelector("#picture").dataset.arrows`); got != between {
		s.t.Errorf("without c1 there are %d arrows, the run has %d", got, between)
	}
	if heads := s.count("#picture .head"); heads != len(s.page.Lanes)-1 {
		s.t.Errorf("without c1 there are %d lanes, want %d", heads, len(s.page.Lanes)-1)
	}
	s.click(`#machinelist input[data-name="c1"]`)
	s.click("#kinds summary")
	s.click(`#kindlist input[data-name="Requests and replies"]`)
	control := 0
	for _, e := range s.entries {
		if e.Kind == "send" && slices.Contains([]string{"open", "opened", "end", "reset"}, e.Text) {
			control++
		}
	}
	if got := eval[int](s.browser, `+document.querySelector("#picture").dataset.arrows`); got != control || control == 0 {
		s.t.Errorf("without requests and replies there are %d arrows, the run has %d", got, control)
	}
}

// TestStory steps through the story with the keyboard and by clicks.
func TestStory(t *testing.T) {
	s := show(t)
	current := func() int {
		return eval[int](s.browser,
			`[...document.querySelectorAll("#steps .step")].findIndex(e => e.classList.contains("current"))`)
	}
	for i, step := range s.run.Story.Steps {
		s.press("n")
		if got := current(); got != i {
			t.Fatalf("after %d times n the step is %d", i+1, got)
		}
		if got := s.text("#steps .step.current"); !strings.Contains(got, step.Text) {
			t.Errorf("step %d says %q, the story %q", i+1, got, step.Text)
		}
		if step.Event != 0 && !strings.Contains(s.text("#detail"), fmt.Sprintf("history %d", step.Event)) {
			t.Errorf("step %d is event %d, and the detail shows %s", i+1, step.Event, s.text("#detail"))
		}
		visible := fmt.Sprintf(`(() => {
			const b = document.querySelector('#picture .badge[data-step="%d"]');
			return !!b && b.classList.contains("current") && b.querySelector("text").textContent === "%d";
		})()`, i, step.Number)
		if !eval[bool](s.browser, visible) {
			t.Errorf("step %d is not numbered in the picture", i+1)
		}
		if said := s.text("#spoken"); !strings.Contains(said, step.Text) {
			t.Errorf("step %d is not spoken: %q", i+1, said)
		}
	}
	s.press("p", "p")
	if got, want := current(), len(s.run.Story.Steps)-3; got != want {
		t.Errorf("two steps back is step %d, want %d", got, want)
	}
	s.click(`#steps .step[data-step="0"]`)
	if got := current(); got != 0 {
		t.Errorf("a click on the first step leads to step %d", got)
	}
}

// TestZoom zooms, and switches between folded and linear time.
func TestZoom(t *testing.T) {
	s := show(t)
	s.press("0")
	a, b := s.row(8), s.row(15)
	gap := func() float64 { return s.y(b) - s.y(a) }
	before := gap()
	s.press("+")
	if now := gap(); math.Abs(now/before-1.4) > 0.02 {
		t.Errorf("zooming in by 1.4 makes %v of %v", now, before)
	}
	s.press("-")
	if now := gap(); math.Abs(now/before-1) > 0.02 {
		t.Errorf("zooming out again makes %v of %v", now, before)
	}
	if s.count("#picture .folds path") != 0 && s.count("#picture .times .folded") == 0 {
		t.Error("a fold does not say how long it is")
	}
	s.press("s", "0")
	if pressed := s.text("#scale"); eval[string](s.browser, `document.querySelector("#scale").ariaPressed`) != "true" {
		t.Errorf("the switch %q is not pressed", pressed)
	}
	c := s.row(2)
	time := func(row int) float64 { return s.page.Events[row].Time.Seconds() }
	drawn, real := (s.y(b)-s.y(a))/(s.y(a)-s.y(c)), (time(b)-time(a))/(time(a)-time(c))
	if math.Abs(drawn-real) > 0.02 {
		t.Errorf("on the linear scale two times are as %v, and are drawn as %v", real, drawn)
	}
}

// y is the height at which a row is drawn.
func (s *shown) y(row int) float64 {
	s.t.Helper()
	return eval[float64](s.browser, fmt.Sprintf(`(() => {
		const b = document.querySelector('#picture .mark[data-row="%d"] :is(path, rect, circle):not(.labelback)').getBBox();
		return b.y + b.height / 2;
	})()`, row))
}
