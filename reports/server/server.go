package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockstep-sim/lockstep/reports/index"
)

// Handler answers requests for a folder of runs.
type Handler struct {
	root *os.Root
	mu   sync.Mutex
	scan index.Scanner // guarded by mu
}

// New makes a handler for a folder. Whoever opened it closes it when no request is answered any more.
func New(root *os.Root) *Handler { return &Handler{root: root} }

// kind is how files with an ending are sent.
type kind struct{ media, policy string }

// The policies by what a file can do. Pages of runs have script and style of their own in them, and nothing else.
const (
	inert   = "default-src 'none'; sandbox; frame-ancestors 'none'"
	picture = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
	report  = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src 'self' data: blob:; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox allow-scripts allow-downloads"
)

var kinds = map[string]kind{
	".html":  {"text/html; charset=utf-8", report},
	".svg":   {"image/svg+xml", picture},
	".png":   {"image/png", inert},
	".json":  {"application/json", inert},
	".csv":   {"text/csv; charset=utf-8", inert},
	".txt":   {"text/plain; charset=utf-8", inert},
	".jsonl": {"text/plain; charset=utf-8", inert},
	".yaml":  {"text/plain; charset=utf-8", inert},
	".mmd":   {"text/plain; charset=utf-8", inert},
	".edn":   {"text/plain; charset=utf-8", inert},
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", inert)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-cache")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "this server only shows what is there", http.StatusMethodNotAllowed)
		return
	}
	if !isLoopback(r.Host) {
		http.Error(w, "this server answers to loopback addresses only", http.StatusForbidden)
		return
	}
	name, ok := nameOf(r.URL.Path)
	switch {
	case !ok:
		http.NotFound(w, r)
	case name == "." || name == index.File:
		h.serveIndex(w, r)
	default:
		h.serveFile(w, r, name)
	}
}

// isLoopback tells whether a request was meant for this machine. The name of another host may lead here as well: then a
// page of that host asks.
func isLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// nameOf is the file that a path means. Paths that are not as they should be mean none, and neither do hidden files.
func nameOf(requested string) (string, bool) {
	name := strings.TrimSuffix(strings.TrimPrefix(requested, "/"), "/")
	if name == "" {
		return ".", true
	}
	if !fs.ValidPath(name) || strings.ContainsAny(name, "\\\x00") {
		return "", false
	}
	hidden := slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.HasPrefix(part, ".") })
	return name, !hidden
}

// serveIndex sends the index as the folder is now.
func (h *Handler) serveIndex(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	x, err := h.scan.Scan(h.root.FS())
	h.mu.Unlock()
	var page bytes.Buffer
	if err == nil {
		err = x.WriteHTML(&page)
	}
	if err != nil {
		http.Error(w, "the folder cannot be read", http.StatusInternalServerError)
		return
	}
	sum := sha256.Sum256(page.Bytes())
	w.Header().Set("Content-Type", kinds[".html"].media)
	w.Header().Set("Content-Security-Policy", index.Policy+"; frame-ancestors 'none'")
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:16])+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(page.Bytes()))
}

// serveFile sends a file, or leads from a folder to the file in it to look at first.
func (h *Handler) serveFile(w http.ResponseWriter, r *http.Request, name string) {
	file, info, err := h.open(name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer file.Close()
	if info.IsDir() {
		for _, inside := range []string{"report.html", "story.txt", "verdict.json"} {
			if found, _, err := h.open(path.Join(name, inside)); err == nil {
				found.Close()
				target := url.URL{Path: "/" + path.Join(name, inside)}
				http.Redirect(w, r, target.EscapedPath(), http.StatusFound)
				return
			}
		}
		http.NotFound(w, r)
		return
	}
	k, known := kinds[path.Ext(name)]
	if !known {
		k = kind{"application/octet-stream", inert}
		w.Header().Set("Content-Disposition", "attachment")
	}
	w.Header().Set("Content-Type", k.media)
	w.Header().Set("Content-Security-Policy", k.policy)
	http.ServeContent(w, r, "", info.ModTime(), file)
}

var errNoFile = errors.New("neither a file nor a folder")

// open opens a file or a folder below the root; a link that leads out of it is an error.
func (h *Handler) open(name string) (*os.File, fs.FileInfo, error) {
	// A pipe would have to be opened to find out that it is one, and that may wait for ever.
	info, err := h.root.Stat(name)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = errNoFile
	}
	if err != nil {
		return nil, nil, err
	}
	file, err := h.root.Open(name)
	if err != nil {
		return nil, nil, err
	}
	if info, err = file.Stat(); err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}
