package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestServe serves a folder while it changes, and ends with an interrupt.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	process, stdout, stderr := start(t, "serve", dir, "--listen", "127.0.0.1:0")
	line, err := stdout.ReadString('\n')
	_, address, found := strings.Cut(strings.TrimSpace(line), " is shown on ")
	if err != nil || !found {
		rest, _ := io.ReadAll(stderr)
		t.Fatalf("it says %q, %v: %s", line, err, rest)
	}
	if page := fetch(t, address); !strings.Contains(page, "There is no run yet") {
		t.Errorf("an empty folder shows %s", page)
	}
	run := filepath.Join(dir, "dead-record", "redis-getset", "seed-5")
	if err := os.MkdirAll(run, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(run, "verdict.json"), []byte(`{"result":"violated"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if page := fetch(t, address); !strings.Contains(page, "dead-record/redis-getset/seed-5/verdict.json") {
		t.Errorf("with a run it shows %s", page)
	}
	if got := fetch(t, address+"dead-record/redis-getset/seed-5/verdict.json"); got != `{"result":"violated"}` {
		t.Errorf("the verdict is %q", got)
	}
	if err := process.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := process.Wait(); err != nil {
		t.Errorf("after an interrupt it ends with %v", err)
	}
}

func fetch(t *testing.T, address string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", address, answer.Status, err)
	}
	return string(text)
}
