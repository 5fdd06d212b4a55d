package server

import (
	"context"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/chromedp"
)

var shots = flag.String("shots", "", "folder into which TestIndexInBrowser draws the index for a person to look at")

// patience is how long a browser may take; a test never waits for it to pass.
const patience = 60 * time.Second

// chromium finds the browser. It skips without one, but fails where CI must have it.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("no chromium: install it, the pages must be looked at")
	}
	t.Skip("no chromium: the index is not opened in a browser")
	return ""
}

// window is one window of a browser.
type window struct {
	t   *testing.T
	ctx context.Context
}

func openWindow(t *testing.T) *window {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.ExecPath(chromium(t)))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, patience)
	t.Cleanup(cancel)
	return &window{t, ctx}
}

func (w *window) do(actions ...chromedp.Action[chromedp.Void]) {
	w.t.Helper()
	if err := chromedp.Do(w.ctx, actions...); err != nil {
		w.t.Fatal(err)
	}
}

// eval evaluates an expression of the page; a promise is waited for.
func eval[T any](w *window, expression string) T {
	w.t.Helper()
	value, err := chromedp.Run(w.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		w.t.Fatal(err)
	}
	return value
}

// shown lists the seeds of the rows that are to be seen, from above.
func (w *window) shown() string {
	w.t.Helper()
	return eval[string](w, `[...document.querySelectorAll("#runs tbody tr")].filter(r => r.offsetParent)
		.map(r => r.dataset.seed).join(" ")`)
}

func (w *window) picture(name string) {
	w.t.Helper()
	if *shots == "" {
		return
	}
	picture, err := chromedp.Run(w.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*shots, name+".png"), picture, 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// crowd fills the folder with more runs, and a campaign.
func crowd(t *testing.T, dir string) {
	t.Helper()
	put := func(name, text string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i, result := range []string{"holds", "violated", "unknown", "violated", "holds"} {
		put(fmt.Sprintf("late-getset/redis-mine/seed-%d/verdict.json", 9+i), fmt.Sprintf(`{"scenario":"late-getset",
			"implementation":"redis/mine","seed":%d,"result":%q,"transport":"wire",
			"verdicts":[{"property":"mutual-exclusion","result":%q}],
			"mechanisms":[{"name":"loser-enters","number":"R%d"}]}`, 9+i, result, result, i))
		put(fmt.Sprintf("late-getset/redis-mine/seed-%d/story.txt", 9+i), "a story\n")
		put(fmt.Sprintf("late-getset/redis-mine/seed-%d/plots/holders.svg", 9+i), "<svg/>")
	}
	put("campaign/whole/result.json", `{"schema":"lockstep-result/1","passed":1,"failed":2,"seeds":90,"result":"differs",
		"rows":[{"scenario":"late-getset","implementation":"redis/mine","result":"differs","wanted":50,"ran":50,
		"problems":[{"severity":"error","text":"mutual-exclusion is violated in seed 10 (12 of 50 seeds)",
		"folder":"late-getset/redis-mine/seed-10"}],"mechanisms":[{"number":"R1","first_seed":10}]},
		{"scenario":"late-getset","implementation":"redis/setnx-px","result":"unknown","wanted":50,"ran":20,
		"problems":[{"severity":"warning","text":"its fault never struck"}]},
		{"scenario":"late-getset","implementation":"zk/fair-repaired","result":"as expected","passed":true,"wanted":20,
		"ran":20}]}`)
}

// TestIndexInBrowser looks at the index in a real browser: what it shows, filters and sorts, that it takes over a new
// run by itself, and that its policy lets it. Then it opens a report from it.
func TestIndexInBrowser(t *testing.T) {
	w := openWindow(t)
	h, dir := folder(t)
	crowd(t, dir)
	s := httptest.NewServer(h)
	defer s.Close()
	complaints := w.listen()
	w.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.URL+"/"), chromedp.WaitReady("#runs"))
	if got := w.shown(); got != " 9 10 11 12 13" {
		t.Errorf("it shows the seeds %q", got)
	}
	w.picture("index-light")
	w.do(chromedp.KeyEvent("/"))
	if got := eval[string](w, `document.activeElement.id`); got != "filter" {
		t.Errorf("a slash leads to %q", got)
	}
	w.clear()
	w.do(chromedp.KeyEvent("r1 late"))
	if got := w.shown(); got != "10" {
		t.Errorf("filtered for a mechanism it shows %q", got)
	}
	if got := eval[string](w, `document.querySelector("#count").textContent`); got != "1 of 6 runs" {
		t.Errorf("it counts %q", got)
	}
	w.clear()
	w.do(chromedp.Click(`input[value="holds"]`))
	if got := w.shown(); got != " 10 11 12" {
		t.Errorf("without what holds it shows %q", got)
	}
	w.do(chromedp.Click(`button[data-key="seed"]`), chromedp.Click(`button[data-key="seed"]`))
	if got := w.shown(); got != "12 11 10 " {
		t.Errorf("sorted by seed, downwards, it shows %q", got)
	}
	sorted := eval[string](w, `document.querySelector('button[data-key="seed"]').closest("th").ariaSort`)
	if sorted != "descending" {
		t.Errorf("the sorting is told as %q", sorted)
	}
	colours := eval[int](w, `new Set([...document.querySelectorAll("#runs .tag")]
		.map(e => getComputedStyle(e).color)).size`)
	if colours != 3 {
		t.Errorf("three verdicts have %d colours", colours)
	}
	w.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
		})
		return err
	}))
	if got := eval[string](w, `getComputedStyle(document.body).backgroundColor`); got != "rgb(20, 23, 26)" {
		t.Errorf("in the dark the paper is %s", got)
	}
	w.picture("index-dark")
	w.takesOver(dir)
	w.do(chromedp.Navigate(eval[string](w, `document.querySelector('a[href$="seed-5/report.html"]').href`)))
	if got := eval[string](w, `document.title`); got != "report" {
		t.Errorf("the link leads to %q", got)
	}
	if all := complaints(); len(all) > 0 {
		t.Errorf("the browser complains: %q", all)
	}
}

// clear empties the filter.
func (w *window) clear() {
	w.t.Helper()
	eval[bool](w, `(() => { const f = document.querySelector("#filter"); f.value = "";
		f.dispatchEvent(new Event("input", {bubbles: true})); return true; })()`)
}

// takesOver writes one more run and waits until the page shows it, filtered and sorted as before.
func (w *window) takesOver(dir string) {
	w.t.Helper()
	name := filepath.Join(dir, "late-getset", "redis-mine", "seed-99")
	if err := os.MkdirAll(name, 0o755); err != nil {
		w.t.Fatal(err)
	}
	verdict := []byte(`{"seed":99,"result":"violated"}`)
	if err := os.WriteFile(filepath.Join(name, "verdict.json"), verdict, 0o644); err != nil {
		w.t.Fatal(err)
	}
	eval[bool](w, `new Promise(done => new MutationObserver((_, o) => {
		if (document.querySelector('[data-seed="99"]')) { o.disconnect(); done(true); }
	}).observe(document.body, {childList: true, subtree: true}))`)
	if got := w.shown(); got != "99 12 11 10 " {
		w.t.Errorf("with a new run it shows %q", got)
	}
}

// listen gathers what the browser's console complains of, such as a breach of a policy.
func (w *window) listen() func() []string {
	var mu sync.Mutex
	var all []string
	err := chromedp.Listen(w.ctx, func(event any) {
		entry, ok := event.(*log.EventEntryAdded)
		if !ok || strings.HasSuffix(entry.Entry.URL, "/favicon.ico") { // browsers ask for it, and there is none
			return
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, entry.Entry.Text)
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, log.Enable, cdp.Empty{})
		return err
	}))
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}
