package reports

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// crowds are the points of a lock that hands over from one to the next and of two that poll, not in order.
func crowds() []HerdPoint {
	var points []HerdPoint
	for _, clients := range []int{100, 2, 10} {
		handOvers := clients - 1
		points = append(points,
			HerdPoint{
				Implementation: "queue", Clients: clients, Seed: 1, HandOvers: handOvers, Requests: 3 * handOvers,
				WakeUps: handOvers, HandOverTime: 7500 * time.Microsecond,
			},
			HerdPoint{
				Implementation: "polling", Knobs: "interval=10ms", Clients: clients, Seed: 1, HandOvers: handOvers,
				Requests: handOvers * clients, HandOverTime: 3 * time.Millisecond,
			},
			HerdPoint{
				Implementation: "polling", Clients: clients, Seed: 2, HandOvers: handOvers,
				Requests: handOvers * (clients/10 + 2), HandOverTime: 30 * time.Millisecond,
			},
		)
	}
	return points
}

func TestHerdsByLockAndSize(t *testing.T) {
	var got []string
	for _, h := range herds(crowds()) {
		line := h.name
		for _, p := range h.points {
			line += " " + strconv.Itoa(p.Clients)
		}
		got = append(got, line)
	}
	want := []string{"queue 2 10 100", "polling, interval=10ms 2 10 100", "polling 2 10 100"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestHerdRange checks that the axis of requests ends at a round number and begins just below a smaller one.
func TestHerdRange(t *testing.T) {
	for _, test := range []struct{ requests, handOvers, low, high int }{
		{1, 1, 1, 2}, {3, 1, 2, 5}, {74, 1, 50, 100}, {2, 1, 2, 5}, {100, 1, 100, 200},
	} {
		_, _, low, high := herdRange([]HerdPoint{{Clients: 2, HandOvers: test.handOvers, Requests: test.requests}})
		if !near(low*1.15, test.low) || !near(high, test.high) {
			t.Errorf("%d requests: from %v to %v, want %d to %d", test.requests, low, high, test.low, test.high)
		}
	}
}

func near(got float64, want int) bool {
	return got > float64(want)*(1-1e-9) && got < float64(want)*(1+1e-9)
}

func TestHerdPlotRefuses(t *testing.T) {
	for _, points := range [][]HerdPoint{
		nil,
		{{Implementation: "queue", HandOvers: 1, Requests: 1}},
		{{Implementation: "queue", Clients: 2, Requests: 1}},
		{{Implementation: "queue", Clients: 2, HandOvers: 1}},
	} {
		if _, err := HerdPlot(points...); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("HerdPlot(%v) returns %v", points, err)
		}
	}
}

// TestWriteFigure checks that a figure replaces an older one and leaves nothing else behind, also where it cannot be
// written.
func TestWriteFigure(t *testing.T) {
	figure, err := HerdPlot(crowds()...)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 {
		if err := WriteFigure(dir, "herd", figure); err != nil {
			t.Fatal(err)
		}
		if got := listing(t, dir); !slices.Equal(got, []string{"herd.csv", "herd.png", "herd.svg"}) {
			t.Fatalf("it writes %v", got)
		}
	}
	want := drawFigure(t, figure, nil)
	for name, bytes := range map[string][]byte{"herd.csv": want.csv, "herd.svg": want.svg, "herd.png": want.png} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !slices.Equal(got, bytes) {
			t.Errorf("%s is not the figure (%v)", name, err)
		}
	}
	blocked := t.TempDir()
	if err := os.Mkdir(filepath.Join(blocked, "herd.csv"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := WriteFigure(blocked, "herd", figure); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("over a folder of the same name it returns %v", err)
	}
	if got := listing(t, blocked); !slices.Equal(got, []string{"herd.csv"}) {
		t.Errorf("it leaves %v behind", got)
	}
	file := filepath.Join(dir, "herd.csv")
	if err := WriteFigure(file, "herd", figure); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("into a file it returns %v", err)
	}
}

func listing(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
