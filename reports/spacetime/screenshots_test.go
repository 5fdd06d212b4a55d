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

	"github.com/lockstep-sim/lockstep/reports"
	"github.com/lockstep-sim/lockstep/reports/index"
)

var only = flag.String("only", "", "draw only the pages and views with this in their name, such as crowd-whole")

var shots = flag.String("shots", "", "folder for TestScreenshots: it draws every page and plot for a person to look at")

// TestScreenshots draws for a person to look at: the space-time page in all its forms, Porcupine's pages and
// the plots of the same runs, and the index over them:
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
	runs := t.TempDir()
	for _, shown := range samples(t) {
		shown.keep(t, runs)
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

// keep writes the folder of the run and draws what lies in it besides the space-time page; the index over all
// runs so far is drawn again each time.
func (s *sample) keep(t *testing.T, runs string) {
	t.Helper()
	folder := filepath.Join(runs, s.name, "lock", "seed-1")
	if err := reports.WriteFolder(folder, s.run); err != nil {
		t.Fatal(err)
	}
	if err := index.Write(runs); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(folder, "linearizability*.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		name := strings.TrimSuffix(filepath.Base(page), ".html")
		draw(t, page, s.name+"-"+name)
	}
	draw(t, filepath.Join(runs, index.File), "index")
	plots, err := filepath.Glob(filepath.Join(folder, "plots", "*.png"))
	if err != nil {
		t.Fatal(err)
	}
	for _, plot := range plots {
		content, err := os.ReadFile(plot)
		if err == nil {
			err = os.WriteFile(filepath.Join(*shots, s.name+"-plot-"+filepath.Base(plot)), content, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// draw draws a page as it opens, if it is wanted.
func draw(t *testing.T, page, name string) {
	t.Helper()
	if !strings.Contains(name, *only) {
		return
	}
	b := openWhen(t, page, "body", 1440, 900)
	b.screenshot(filepath.Join(*shots, name+".png"))
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
