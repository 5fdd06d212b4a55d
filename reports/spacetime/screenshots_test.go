package spacetime_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

var only = flag.String("only", "", "draw only the pages and views with this in their name, such as crowd-whole")

var shots = flag.String("shots", "", "folder for TestScreenshots: it draws every kind of page for a person to look at")

// TestScreenshots draws pages for a person to look at:
//
//	go test ./reports/spacetime -run Screenshots -args -shots DIR
func TestScreenshots(t *testing.T) {
	if *shots == "" {
		t.Skip("no folder given with -shots: nothing is drawn")
	}
	if err := os.MkdirAll(*shots, 0o777); err != nil {
		t.Fatal(err)
	}
	findChromium(t)
	for _, shown := range samples(t) {
		t.Run(shown.name, func(t *testing.T) {
			path := writePage(t, shown.page())
			for _, view := range views {
				if *only != "" && !strings.Contains(shown.name+"-"+view.name, *only) {
					continue
				}
				b := open(t, path, view.width, view.height)
				b.dark(view.dark)
				if view.then != nil {
					view.then(b)
				}
				b.settle()
				b.screenshot(filepath.Join(*shots, shown.name+"-"+view.name+".png"))
			}
		})
	}
}

// views are what a page is looked at as.
var views = []struct {
	name          string
	width, height int
	dark          bool
	then          func(b *browser)
}{
	{"light", 1440, 900, false, nil},
	{"dark-step", 1440, 900, true, func(b *browser) { b.press("n", "n", "n", "n", "n", "n") }},
	{"whole", 1440, 900, false, func(b *browser) { b.press("0") }},
	{"linear", 1440, 900, false, func(b *browser) { b.press("n", "n", "n", "n", "n", "n", "s") }},
	{"clocks-events", 1440, 900, true, func(b *browser) { b.press("c", "n"); b.click("#tab-events") }},
	{"help", 1000, 760, false, func(b *browser) { b.press("?") }},
	{"narrow", 420, 800, false, func(b *browser) { b.press("n") }},
	{"print", 1000, 1400, false, func(b *browser) {
		eval[bool](b, `dispatchEvent(new Event("beforeprint"))`)
		b.media("print", false)
	}},
}

// dark asks for dark or light, as the system of a user does.
func (b *browser) dark(dark bool) {
	b.t.Helper()
	b.media("", dark)
}

// media shows the page on a screen, or as on paper.
func (b *browser) media(name string, dark bool) {
	b.t.Helper()
	scheme := map[bool]string{true: "dark", false: "light"}[dark]
	b.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Media:    name,
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}))
	b.settle()
}
