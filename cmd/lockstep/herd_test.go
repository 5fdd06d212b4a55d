package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHerdFigure compares the figure in docs with what the command makes of it today.
func TestHerdFigure(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs 200 clients")
	}
	dir := t.TempDir()
	var messages strings.Builder
	code := execute(t.Context(), []string{"herd", "--out", dir}, streams{strings.NewReader(""), io.Discard, &messages})
	if code != exitExpected {
		t.Fatalf("it exits %d: %s", code, messages.String())
	}
	for _, name := range []string{"herd.csv", "herd.svg"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("docs/%s is not what the command makes; if that is meant: go run ./cmd/lockstep herd --out docs", name)
		}
	}
}

func TestParseCrowds(t *testing.T) {
	got, err := parseCrowds("50, 2,10")
	if err != nil || len(got) != 3 || got[0] != 2 || got[1] != 10 || got[2] != 50 {
		t.Errorf("parseCrowds returns %v, %v", got, err)
	}
	for _, bad := range []string{"", "2,", "1", "-5", "2.5", "1e2", "2,2", "1001", "9999999999999999999"} {
		if got, err := parseCrowds(bad); err == nil {
			t.Errorf("parseCrowds(%q) returns %v", bad, got)
		}
	}
}
