package server

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-sim/lockstep/reports/index"
)

const secret = "the secret of the machine"

// folder makes a folder of runs beside a secret that links lead to.
func folder(t testing.TB) (*Handler, string) {
	t.Helper()
	base := t.TempDir()
	dir := filepath.Join(base, "lockstep-out")
	for name, text := range map[string]string{
		"secret.txt": secret,
		"lockstep-out/dead-record/redis-getset/seed-5/verdict.json":            `{"result":"violated"}`,
		"lockstep-out/dead-record/redis-getset/seed-5/report.html":             "<title>report</title><p>x",
		"lockstep-out/dead-record/redis-getset/seed-5/history.jsonl":           "{}\n",
		"lockstep-out/dead-record/redis-getset/seed-5/plots/a b#?%.svg":        "<svg/>",
		"lockstep-out/dead-record/redis-getset/seed-6/story.txt":               "a story\n",
		"lockstep-out/dead-record/redis-getset/.seed-7.partial-1/verdict.json": secret,
		"lockstep-out/dead-record/redis-getset/seed-8/program.exe":             "MZ",
		"lockstep-out/.secret.txt":                                             secret,
	} {
		path := filepath.Join(base, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"latest": "dead-record/redis-getset/seed-5", "out.txt": "../secret.txt", "up": "..",
		"absolute.txt": filepath.Join(base, "secret.txt"), "loop": "loop",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skipf("there are no symbolic links here: %v", err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return New(root), dir
}

// ask sends one request, whose target is sent as it is.
func ask(h http.Handler, method, target string, header ...string) *http.Response {
	r := httptest.NewRequest(method, "http://127.0.0.1:7057/", nil)
	r.Host = "127.0.0.1:7057"
	r.RequestURI = target
	r.URL = &url.URL{Path: target}
	if u, err := url.ParseRequestURI(target); err == nil {
		r.URL = u
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t testing.TB, r *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const run = "/dead-record/redis-getset/seed-5/"

// TestServe asks for what is there.
func TestServe(t *testing.T) {
	h, _ := folder(t)
	for _, test := range []struct{ target, media, policy, text string }{
		{"/", "text/html; charset=utf-8", index.Policy + "; frame-ancestors 'none'", "dead-record"},
		{"/index.html", "text/html; charset=utf-8", index.Policy + "; frame-ancestors 'none'", "dead-record"},
		{run + "report.html", "text/html; charset=utf-8", report, "<title>report"},
		{"/latest/report.html", "text/html; charset=utf-8", report, "<title>report"},
		{run + "history.jsonl", "text/plain; charset=utf-8", inert, "{}"},
		{run + "verdict.json", "application/json", inert, "violated"},
		{run + "plots/a%20b%23%3F%25.svg", "image/svg+xml", picture, "<svg/>"},
		{"/dead-record/redis-getset/seed-8/program.exe", "application/octet-stream", inert, "MZ"},
	} {
		got := ask(h, http.MethodGet, test.target)
		if got.StatusCode != http.StatusOK || !strings.Contains(body(t, got), test.text) {
			t.Errorf("%s: %s", test.target, got.Status)
		}
		for name, want := range map[string]string{
			"Content-Type": test.media, "Content-Security-Policy": test.policy, "X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got.Header.Get(name) != want {
				t.Errorf("%s: %s is %q, want %q", test.target, name, got.Header.Get(name), want)
			}
		}
		head := ask(h, http.MethodHead, test.target)
		if head.StatusCode != http.StatusOK || body(t, head) != "" {
			t.Errorf("HEAD %s: %s", test.target, head.Status)
		}
	}
}

// TestFolders checks that a folder leads to what is to be looked at first.
func TestFolders(t *testing.T) {
	h, _ := folder(t)
	for target, want := range map[string]string{
		run: run + "report.html", "/latest": "/latest/report.html",
		"/dead-record/redis-getset/seed-6/": "/dead-record/redis-getset/seed-6/story.txt",
	} {
		if got := ask(h, http.MethodGet, target); got.StatusCode != http.StatusFound || got.Header.Get("Location") != want {
			t.Errorf("%s: %s, to %q", target, got.Status, got.Header.Get("Location"))
		}
	}
}

// leaving are paths that lead out of the folder, are hidden, or are none.
var leaving = []string{
	"/../secret.txt", "/..%2fsecret.txt", "/%2e%2e/secret.txt", "/%2e%2e%2fsecret.txt", "/a/../../secret.txt",
	"/..\\secret.txt", "/..%5csecret.txt", "//secret.txt", "//../secret.txt", "/./index.html", "/secret.txt%00.html",
	"/%00", "/out.txt", "/up/secret.txt", "/up", "/absolute.txt", "/loop", "/latest/../../secret.txt", "/.secret.txt",
	"/dead-record/redis-getset/.seed-7.partial-1/verdict.json", "/dead-record", "/nowhere", "/dead-record//redis-getset",
	"/file:///etc/passwd", "/C:/windows", "/%252e%252e/secret.txt", run + "..%2f..%2f..%2f..%2fsecret.txt",
}

// TestNothingElse asks for what is not to be shown.
func TestNothingElse(t *testing.T) {
	h, _ := folder(t)
	for _, target := range leaving {
		got := ask(h, http.MethodGet, target)
		if text := body(t, got); got.StatusCode != http.StatusNotFound || strings.Contains(text, secret) {
			t.Errorf("%s: %s: %s", target, got.Status, text)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE", "PROPFIND"} {
		got := ask(h, method, "/")
		if got.StatusCode != http.StatusMethodNotAllowed || got.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %s", method, got.Status)
		}
	}
	for host, want := range map[string]int{
		"127.0.0.1:7057": 200, "localhost:7057": 200, "localhost": 200, "[::1]:7057": 200, "[::1]": 200, "127.9.9.9": 200,
		"evil.example:7057": 403, "evil.example": 403, "127.0.0.1.evil.example": 403, "localhost.evil.example:80": 403,
		"192.168.1.1:7057": 403, "": 403,
	} {
		if got := ask(h, http.MethodGet, "/", "Host", host); got.StatusCode != want {
			t.Errorf("host %q: %s, want %d", host, got.Status, want)
		}
	}
}

// TestIndexChanges checks that the index is told anew when the folder has changed, and only then.
func TestIndexChanges(t *testing.T) {
	h, dir := folder(t)
	tag := ask(h, http.MethodGet, "/").Header.Get("ETag")
	if got := ask(h, http.MethodGet, "/", "If-None-Match", tag); got.StatusCode != http.StatusNotModified || tag == "" {
		t.Errorf("the folder has not changed: %s", got.Status)
	}
	if err := os.MkdirAll(filepath.Join(dir, "new", "lock", "seed-1"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "new", "lock", "seed-1", "verdict.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	got := ask(h, http.MethodGet, "/", "If-None-Match", tag)
	if got.StatusCode != http.StatusOK || !strings.Contains(body(t, got), "new") {
		t.Errorf("the folder has changed: %s", got.Status)
	}
}

// TestOverTCP checks the handler behind a real server, whose own treatment of paths comes before it.
func TestOverTCP(t *testing.T) {
	h, _ := folder(t)
	s := httptest.NewServer(h)
	defer s.Close()
	client := s.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return errors.New("nothing leads elsewhere") }
	for _, target := range append([]string{"/"}, leaving...) {
		want := http.StatusNotFound
		if target == "/" {
			want = http.StatusOK
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.URL.Opaque = "//" + request.URL.Host + target
		got, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if text := body(t, got); strings.Contains(text, secret) || got.StatusCode != want && got.StatusCode != 400 {
			t.Errorf("%s: %s", target, got.Status)
		}
		got.Body.Close()
	}
}

// FuzzPath checks that no path gets at anything outside of the folder or hidden in it.
func FuzzPath(f *testing.F) {
	for _, target := range leaving {
		f.Add(target)
	}
	h, _ := folder(f)
	f.Fuzz(func(t *testing.T, target string) {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/", nil)
		r.URL.Path = target
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if strings.Contains(w.Body.String(), secret) {
			t.Errorf("%q shows the secret", target)
		}
		if got := w.Code; got != 200 && got != 302 && got != 404 {
			t.Errorf("%q has status %d", target, got)
		}
	})
}
