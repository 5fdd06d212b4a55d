package spacetime

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"io"
	"strings"
)

//go:embed assets
var assets embed.FS

// scripts are the parts of the page's script, in the order in which they build upon each other.
var scripts = []string{"data.js", "scale.js", "draw.js", "panel.js", "view.js"}

// The marks in assets/page.html that are replaced. They stand in this order.
const (
	markPolicy = "{{policy}}"
	markTitle  = "{{title}}"
	markStyle  = "{{style}}"
	markData   = "{{data}}"
	markScript = "{{script}}"
)

// WriteHTML writes the page as one file that needs nothing else.
func (p *Page) WriteHTML(w io.Writer) error {
	if err := p.check(); err != nil {
		return fmt.Errorf("space-time page: %w", err)
	}
	frame, style, script, err := parts()
	if err != nil {
		return err
	}
	data, err := p.encode()
	if err != nil {
		return err
	}
	for _, part := range []struct{ mark, text string }{
		{markPolicy, html.EscapeString(policy(style, script))},
		{markTitle, html.EscapeString(p.Title)},
		{markStyle, style},
		{markData, string(data)},
		{markScript, script},
	} {
		before, after, found := strings.Cut(frame, part.mark)
		if !found {
			return fmt.Errorf("space-time page: assets/page.html lacks %s", part.mark)
		}
		frame = after
		if _, err := io.WriteString(w, before); err != nil {
			return err
		}
		if _, err := io.WriteString(w, part.text); err != nil {
			return err
		}
	}
	_, err = io.WriteString(w, frame)
	return err
}

// parts reads what is the same in every page.
func parts() (frame, style, script string, err error) {
	read := func(name string) string {
		content, bad := assets.ReadFile("assets/" + name)
		err = errors.Join(err, bad)
		return string(content)
	}
	var b bytes.Buffer
	b.WriteString("\"use strict\";\n(() => {\n")
	for _, name := range scripts {
		b.WriteString(read(name))
	}
	b.WriteString("})();\n")
	return read("page.html"), read("page.css"), b.String(), err
}

// policy allows the page its own script and style, each by its digest, and nothing else.
func policy(style, script string) string {
	digest := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; script-src " + digest(script) + "; style-src " + digest(style) +
		"; base-uri 'none'; form-action 'none'"
}

// check reports the first reason for which the page cannot be drawn.
func (p *Page) check() error {
	lane := func(n int) bool { return n >= None && n < len(p.Lanes) }
	event := func(n int) bool { return n >= None && n < len(p.Events) }
	for i := range p.Events {
		e := &p.Events[i]
		switch {
		case e.Kind >= kinds:
			return fmt.Errorf("event %d has kind %d: there are %d", i, e.Kind, kinds)
		case !lane(e.Lane) || !lane(e.Peer):
			return fmt.Errorf("event %d is on lanes %d and %d: there are %d", i, e.Lane, e.Peer, len(p.Lanes))
		case e.Cause < None || e.Cause >= i:
			return fmt.Errorf("event %d has cause %d, which does not come before it", i, e.Cause)
		case i > 0 && e.Time < p.Events[i-1].Time, e.Time < 0:
			return fmt.Errorf("event %d at %v is earlier than what comes before it", i, e.Time)
		}
	}
	for i := range p.Bars {
		if b := &p.Bars[i]; !lane(b.Lane) || !lane(b.Owner) || !event(b.Start) || !event(b.End) || b.To < b.From {
			return fmt.Errorf("bar %d does not fit: lane %d, owner %d, events %d and %d, from %v to %v", i, b.Lane, b.Owner,
				b.Start, b.End, b.From, b.To)
		}
	}
	for i := range p.Bands {
		for _, n := range p.Bands[i].Lanes {
			if n == None || !lane(n) {
				return fmt.Errorf("band %d is on lane %d: there are %d", i, n, len(p.Lanes))
			}
		}
	}
	for i, v := range p.Verdicts {
		if !event(v.Event) {
			return fmt.Errorf("verdict %d is about event %d: there are %d", i, v.Event, len(p.Events))
		}
	}
	if p.Story == nil {
		return nil
	}
	for i, s := range p.Story.Steps {
		if !lane(s.Lane) || !event(s.Event) {
			return fmt.Errorf("step %d is about event %d on lane %d: there are %d on %d", i+1, s.Event, s.Lane, len(p.Events),
				len(p.Lanes))
		}
	}
	return nil
}
