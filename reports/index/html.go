package index

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/lockstep-sim/lockstep/internal/visible"
	"github.com/lockstep-sim/lockstep/reports/ci"
)

//go:embed assets/index.css
var style string

//go:embed assets/index.js
var script string

//go:embed assets/index.html
var markup string

// Policy is the content security policy of the page: nothing but its own style and script, and where it is served, the
// page itself to see whether it has changed.
var Policy = fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; connect-src 'self'; base-uri 'none'; "+
	"form-action 'none'", digest(style), digest(script))

// digest names a text of the page in its policy.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

var page = template.Must(template.New("index").Funcs(template.FuncMap{
	"visible": visible.Line,
	"href":    href,
	"short":   func(file string) string { return strings.TrimSuffix(file, filepath.Ext(file)) },
	"style":   func() template.HTML { return template.HTML("<style>" + style + "</style>") },
	"script":  func() template.HTML { return template.HTML("<script>" + script + "</script>") },
	"policy":  func() template.HTMLAttr { return template.HTMLAttr(`content="` + Policy + `"`) },
	"sign":    sign,
	"class":   class,
	"first":   first,
	"rest":    rest,
	"time":    func(r Run) string { return r.Written.Format("2006-01-02 15:04:05") },
}).Parse(markup))

// href is the reference to a file of a folder. Each part is escaped by itself, and none can be taken for a scheme.
func href(folder, file string) template.URL {
	parts := strings.Split(folder+"/"+file, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return template.URL("./" + strings.Join(parts, "/"))
}

// sign is the shape of a verdict: whoever cannot tell the colours apart can tell these.
func sign(v Verdict) string {
	switch v {
	case Violated:
		return "✖"
	case Unknown:
		return "▲"
	case Holds:
		return "●"
	default:
		return "?"
	}
}

// class sorts a row of a campaign into the verdicts.
func class(row ci.Row) Verdict {
	switch {
	case row.Passed:
		return Holds
	case row.LeftOut || len(row.Problems) > 0 && row.Problems[0].Severity != ci.Error:
		return Unknown
	default:
		return Violated
	}
}

// first is the file to look at first.
func first(files []string) string {
	if len(files) == 0 {
		return ""
	}
	return files[0]
}

func rest(files []string) []string {
	if len(files) < 2 {
		return nil
	}
	return files[1:]
}

// Count counts the runs with a verdict.
func (x *Index) Count(v Verdict) int {
	n := 0
	for _, r := range x.Runs {
		if r.Verdict == v {
			n++
		}
	}
	return n
}

// Verdicts lists all verdicts, the worst first.
func (x *Index) Verdicts() []Verdict { return []Verdict{Violated, Unknown, Unreadable, Holds} }

// WriteHTML writes the page. Equal indexes give equal bytes.
func (x *Index) WriteHTML(w io.Writer) error { return page.Execute(w, x) }

// File is the name of the page in the folder that it lists.
const File = "index.html"

// Write writes the page into the folder that it lists. It is written under another name and renamed, so that nobody
// ever reads half a page.
func Write(dir string) error {
	x, err := Scan(os.DirFS(dir))
	if err != nil {
		return fmt.Errorf("the index of %s: %w", dir, err)
	}
	var text bytes.Buffer
	if err := x.WriteHTML(&text); err != nil {
		return fmt.Errorf("the index of %s: %w", dir, err)
	}
	partial, err := os.CreateTemp(dir, "."+File+".partial-")
	if err != nil {
		return fmt.Errorf("the index of %s: %w", dir, err)
	}
	_, err = partial.Write(text.Bytes())
	if closed := partial.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Chmod(partial.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(partial.Name(), filepath.Join(dir, File))
	}
	if err != nil {
		_ = os.Remove(partial.Name())
		return fmt.Errorf("the index of %s: %w", dir, err)
	}
	return nil
}
