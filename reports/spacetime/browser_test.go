package spacetime_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// browser is one window of a real browser that shows a page.
type browser struct {
	t   testing.TB
	ctx context.Context
}

// patience is how long a browser may take; a test never waits for it to pass.
const patience = 90 * time.Second

var chromiumNames = []string{"chromium", "chromium-browser", "google-chrome"}

// TestMain ends the browser that the tests have started.
func TestMain(m *testing.M) {
	code := m.Run()
	if started {
		_, stop := chromium()
		stop()
	}
	os.Exit(code)
}

// findChromium skips without a browser, but fails where CI must have one.
func findChromium(t testing.TB) {
	t.Helper()
	for _, name := range chromiumNames {
		if _, err := exec.LookPath(name); err == nil {
			return
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("no chromium: install it, the pages must be looked at")
	}
	t.Skip("no chromium: the page is not opened in a browser")
}

// started says that there is a browser to end.
var started bool

// chromium is the one browser of all tests; each test has a window of its own in it.
var chromium = sync.OnceValues(func() (context.Context, context.CancelFunc) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, chromedp.Flag("hide-scrollbars", false),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND"),
	)
	for _, name := range chromiumNames {
		if path, err := exec.LookPath(name); err == nil {
			options = append(options, chromedp.ExecPath(path))
			break
		}
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	return ctx, func() { cancel(); stop() }
})

// open shows a page in a window of its own.
func open(t testing.TB, path string, width, height int) *browser {
	t.Helper()
	return openWhen(t, path, `#picture[data-ready="true"]`, width, height)
}

// openWhen shows a file in a window of its own and waits until there is an element.
func openWhen(t testing.TB, path, ready string, width, height int) *browser {
	t.Helper()
	findChromium(t)
	root, _ := chromium()
	started = true
	if err := chromedp.Do(root); err != nil { // starts it, so that its end is not the end of the first window
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(root)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, patience)
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx}
	b.do(chromedp.EmulateViewport(int64(width), int64(height)), chromedp.Navigate("file://"+filepath.ToSlash(path)),
		chromedp.WaitReady(chromedp.CSS(ready)))
	b.settle()
	return b
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// settle waits until what was asked for has been painted.
func (b *browser) settle() {
	b.t.Helper()
	get(b, chromedp.Evaluate[bool](
		`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`,
		chromedp.EvalAwaitPromise))
}

// eval evaluates an expression of the page.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	return get(b, chromedp.Evaluate[T](expression))
}

// get runs one action for its value.
func get[T any](b *browser, action chromedp.Action[T]) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, action)
	if err != nil {
		b.t.Fatal(err)
	}
	return value
}

// count counts elements.
func (b *browser) count(selector string) int {
	b.t.Helper()
	return eval[int](b, fmt.Sprintf("document.querySelectorAll(%q).length", selector))
}

// text is the text of an element.
func (b *browser) text(selector string) string {
	b.t.Helper()
	return eval[string](b, fmt.Sprintf("document.querySelector(%q).textContent", selector))
}

// texts lists the texts of elements.
func (b *browser) texts(selector string) []string {
	b.t.Helper()
	return eval[[]string](b, fmt.Sprintf("[...document.querySelectorAll(%q)].map(e => e.textContent)", selector))
}

// press presses keys in the picture.
func (b *browser) press(keys ...string) {
	b.t.Helper()
	for _, key := range keys {
		b.do(chromedp.KeyEvent(key))
	}
	b.settle()
}

// click clicks into the middle of an element, as a mouse does.
func (b *browser) click(selector string) {
	b.t.Helper()
	b.do(chromedp.Click(chromedp.CSS(selector)))
	b.settle()
}

// screenshot writes what the window shows.
func (b *browser) screenshot(path string) {
	b.t.Helper()
	if err := os.WriteFile(path, get(b, chromedp.CaptureScreenshot()), 0o666); err != nil {
		b.t.Fatal(err)
	}
}
