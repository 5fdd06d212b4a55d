package spacetime_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/lockstep-sim/lockstep/reports/spacetime"
	"github.com/lockstep-sim/lockstep/scenarios"
)

// TestKeyboard operates the page without a mouse.
func TestKeyboard(t *testing.T) {
	s := show(t)
	selected := func() int { return eval[int](s.browser, `+(document.querySelector("#detail").dataset.row ?? -1)`) }
	s.toTop()
	s.press(kb.ArrowDown)
	first := selected()
	s.press(kb.ArrowDown, kb.ArrowDown, kb.ArrowUp)
	if got := selected(); got != first+1 {
		t.Errorf("two down and one up from event %d is event %d", first, got)
	}
	row := s.row(9)
	for selected() < row {
		s.press(kb.ArrowDown)
	}
	s.press(kb.ArrowLeft)
	if got, want := selected(), s.page.Events[row].Cause; got != want {
		t.Errorf("what led to event %d is event %d, want %d", row, got, want)
	}
	s.press(kb.ArrowRight)
	if got := selected(); s.page.Events[got].Cause != s.page.Events[row].Cause {
		t.Errorf("what event %d led to is event %d", s.page.Events[row].Cause, got)
	}
	s.press(kb.Escape)
	if !eval[bool](s.browser, `document.querySelector("#detail").hidden`) {
		t.Error("Escape does not let go of the selection")
	}
	s.press("?")
	if !eval[bool](s.browser, `document.querySelector("#help").open`) {
		t.Error("? does not open the help")
	}
	s.press("?", "/")
	if focus := eval[string](s.browser, `document.activeElement.id`); focus != "filter" {
		t.Errorf("/ leads to %q", focus)
	}
	s.do(chromedp.KeyEvent(kb.Enter))
	if focus := eval[string](s.browser, `document.activeElement.id`); focus != "diagram" {
		t.Errorf("Enter in the filter leads to %q", focus)
	}
}

// TestAccessible checks that what can be operated has a name, that each has its role, and that focus can be seen.
func TestAccessible(t *testing.T) {
	s := show(t)
	s.press("n")
	nameless := eval[[]string](s.browser, `[...document.querySelectorAll("button, input, summary, [role]")].filter(e =>
		!(e.ariaLabel || e.textContent.trim() || e.title || e.closest("label")?.textContent.trim() ||
			e.getAttribute("aria-labelledby") || e.hidden || e.matches("[role=status], [role=list]")))
		.map(e => e.outerHTML)`)
	if len(nameless) > 0 {
		t.Errorf("without a name: %q", nameless)
	}
	for _, selector := range []string{
		`[role="toolbar"]`, `[role="application"][tabindex="0"]`, `[role="tablist"] [role="tab"]`, `[role="tabpanel"]`,
		`[role="status"][aria-live="polite"]`, `#steps .step[aria-current="step"]`,
	} {
		if s.count(selector) == 0 {
			t.Errorf("there is no %s", selector)
		}
	}
	s.do(chromedp.Focus(chromedp.CSS("#diagram")), chromedp.KeyEvent(kb.Tab))
	if outline := eval[string](s.browser, `getComputedStyle(document.activeElement).outlineStyle`); outline == "none" {
		t.Error("the focus cannot be seen")
	}
}

// TestThemes looks at the page as users have it who want dark pages, or want this one to be otherwise.
func TestThemes(t *testing.T) {
	s := show(t)
	back := func() string { return eval[string](s.browser, `getComputedStyle(document.body).backgroundColor`) }
	s.dark(false)
	light := back()
	s.dark(true)
	dark := back()
	if light == dark || dark == "rgb(255, 255, 255)" {
		t.Errorf("light is %s and dark is %s", light, dark)
	}
	s.press("t")
	if got := back(); got != light {
		t.Errorf("light by choice is %s, want %s", got, light)
	}
	s.dark(false)
	s.press("t")
	if got := back(); got != dark {
		t.Errorf("dark by choice is %s, want %s", got, dark)
	}
	s.press("t")
}

// TestClocks compares readings of clocks with the run: one of its clocks is wrong.
func TestClocks(t *testing.T) {
	findChromium(t)
	s := showSample(t, library(t, "redis-clock-step", "redis/setnx-px", 1, scenarios.Direct), 1800, 900)
	wrong := slices.IndexFunc(s.page.Events, func(e spacetime.Event) bool {
		return e.SkewKnown && e.Skew > 1e9 && e.Kind == spacetime.Send
	})
	if wrong < 0 {
		t.Fatal("no clock is wrong in this run")
	}
	s.reach(wrong)
	e := s.page.Events[wrong]
	want := fmt.Sprintf("%.3f", (e.Time + e.Skew).Seconds())
	if got := s.text(fmt.Sprintf(`#picture .mark[data-row="%d"] .clock.off`, wrong)); got != want {
		t.Errorf("event %d has the reading %q, want %q", wrong, got, want)
	}
	s.click(fmt.Sprintf(`#picture .mark[data-row="%d"] circle`, wrong))
	want = fmt.Sprintf("%.6f s", (e.Time + e.Skew).Seconds())
	if got := s.text("#detail .clocks tr.own"); !strings.Contains(got, want) {
		t.Errorf("the clock of event %d is %q, want %q", wrong, got, want)
	}
	if got := s.text("#detail .clocks tr:not(.own)"); !strings.Contains(got, fmt.Sprintf("%.6f s", e.Time.Seconds())) {
		t.Errorf("the first clock, which is right, is %q at %v", got, e.Time)
	}
	// What the wrong clock showed while something happened elsewhere lies on the line between two readings.
	other := wrong + slices.IndexFunc(s.page.Events[wrong:], func(o spacetime.Event) bool {
		return o.Time > e.Time && o.Lane != e.Lane && o.Kind == spacetime.Send
	})
	s.reach(other)
	s.click(fmt.Sprintf(`#picture .mark[data-row="%d"] circle`, other))
	want = fmt.Sprintf("%.6f s", (s.page.Events[other].Time + e.Skew).Seconds())
	if got := s.text("#detail .clocks"); !strings.Contains(got, want) {
		t.Errorf("at event %d the wrong clock does not show %q: %s", other, want, got)
	}
}

// TestHostileStrings opens a page whose every string would like to be something else.
func TestHostileStrings(t *testing.T) {
	findChromium(t)
	s := showSample(t, hostile(), 1440, 900)
	s.press("0", "n", "n")
	s.click("#tab-events")
	s.click("#tab-run")
	title := s.page.Title
	if got := eval[string](s.browser, `document.querySelector("#title").textContent`); got != title {
		t.Errorf("the title is %q, want %q", got, title)
	}
	if got := eval[string](s.browser, "document.title"); got == "broken" || got == "" {
		t.Errorf("the title of the window is %q", got)
	}
	scripts, foreign := s.count("script"), s.count("img, iframe, object, embed, link, base")
	if scripts != 2 || foreign != 0 {
		t.Errorf("the page has %d scripts and %d foreign elements", scripts, foreign)
	}
	text := s.text("#run-facts") + s.text("#story")
	for _, bad := range evil {
		if !strings.Contains(text, string([]rune(bad))) {
			t.Errorf("%q is not shown as text", bad)
		}
	}
}

// TestNothingRemote checks that the page asks for nothing, and could not if it wanted.
func TestNothingRemote(t *testing.T) {
	s := show(t)
	if n := eval[int](s.browser, `performance.getEntriesByType("resource").length`); n != 0 {
		t.Errorf("the page has asked for %d resources", n)
	}
	blocked := get(s.browser, chromedp.Evaluate[[]string](`new Promise(done => {
		const seen = [];
		document.addEventListener("securitypolicyviolation", e => {
			seen.push(e.effectiveDirective);
			if (seen.length === 3) done(seen.sort());
		});
		new Image().src = "http://127.0.0.1:9/x.png";
		fetch("http://127.0.0.1:9/x").catch(() => {});
		const script = document.createElement("script");
		script.textContent = "document.title = 'broken'";
		document.body.append(script);
	})`, chromedp.EvalAwaitPromise))
	if want := []string{"connect-src", "img-src", "script-src-elem"}; !slices.Equal(blocked, want) {
		t.Errorf("blocked was %q, want %q", blocked, want)
	}
}

// TestManyEvents opens a run of more than 10,000 events: nothing is left out, and what is drawn stays little.
func TestManyEvents(t *testing.T) {
	findChromium(t)
	s := showSample(t, long(t, "crowd", "1800ms"), 1440, 900)
	n := len(s.page.Events)
	if n < 10_000 {
		t.Fatalf("the run has %d events", n)
	}
	if got := s.text("#count"); got != fmt.Sprintf("%d events", n) {
		t.Errorf("the page says %q of %d", got, n)
	}
	for _, key := range []string{"1", "0", "s", "+"} {
		s.press(key)
		if drawn := s.count("#picture *"); drawn == 0 || drawn > 15_000 {
			t.Errorf("after %q %d elements are drawn", key, drawn)
		}
	}
	s.press("s", "0")
	if got := eval[int](s.browser, `+document.querySelector("#picture").dataset.arrows`); got != s.traced("send") {
		t.Errorf("the page has %d messages, the run %d", got, s.traced("send"))
	}
	last := n - 1
	s.click("#tab-events")
	eval[bool](s.browser, `(document.querySelector("#events").scrollTop = 1e9, true)`)
	s.settle()
	s.click(fmt.Sprintf(`#eventrows [data-row="%d"]`, last))
	if got := s.text("#detail"); !strings.Contains(got, fmt.Sprintf("%.9f s", s.page.Events[last].Time.Seconds())) {
		t.Errorf("the last event is %s", got)
	}
}

// TestPrint looks at what goes to paper: all of a short run, and its story.
func TestPrint(t *testing.T) {
	s := show(t)
	eval[bool](s.browser, `(dispatchEvent(new Event("beforeprint")), true)`)
	rows := eval[[]int](s.browser, `[...new Set([...document.querySelectorAll("#print .mark")].map(e => +e.dataset.row))]`)
	if len(rows) != len(s.page.Events) {
		t.Errorf("%d of %d events are printed", len(rows), len(s.page.Events))
	}
	missing := eval[int](s.browser, `[...document.querySelectorAll("#print [fill^='url(']")].filter(
		e => !document.querySelector("#print " + e.getAttribute("fill").slice(4, -1))).length`)
	if missing != 0 || s.count("#print .bar.overlap") == 0 {
		t.Errorf("%d patterns are not printed", missing)
	}
	if text := s.text("#print"); !strings.Contains(text, s.run.Story.Steps[0].Text) {
		t.Error("the story is not printed")
	}
	if pdf := get(s.browser, chromedp.PrintToPDF()); !strings.HasPrefix(string(pdf), "%PDF") {
		t.Error("the page cannot be printed")
	}
}
