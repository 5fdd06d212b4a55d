package faults

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Parse reads one fault. Words and commands may be in any case; the names of machines are taken as they are.
//
// An error is a *SyntaxError.
func Parse(text string) (Fault, error) {
	t, err := parseLine(text, 0, false)
	return t.low, err
}

// ParseTemplate reads one template: a fault whose numbers may be ranges, with optional odds before it.
//
// An error is a *SyntaxError.
func ParseTemplate(text string) (Template, error) { return parseLine(text, 0, true) }

// SyntaxError says what is wrong with the text of a fault and where.
type SyntaxError struct {
	Line    int // from 1; 0 where the text is a single line
	Column  int // from 1, in characters
	Message string
}

func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("column %d: %s", e.Column, e.Message)
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// parseLine reads one line: a fault, or a template where those are welcome.
func parseLine(text string, line int, template bool) (Template, error) {
	p := &parser{text: text, line: line, template: template, tokens: split(text)}
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return Template{}, p.errorAt(token{start: i}, "one fault has one line: read several with ParsePlan")
	}
	var t Template
	if err := p.odds(&t); err != nil {
		return Template{}, err
	}
	if err := p.fault(&t); err != nil {
		return Template{}, err
	}
	return t, nil
}

// parser walks over the words of one line.
type parser struct {
	text     string
	line     int
	template bool // ranges and odds are welcome
	tokens   []token
	next     int      // index of the current token
	tried    []string // what could have stood where the current token is
	usage    string   // how to write what is being read, empty as long as several forms fit
}

// token is a word of the line and the byte at which it starts.
type token struct {
	text  string
	start int
}

// split cuts a line into words at spaces and tabs.
func split(text string) []token {
	var tokens []token
	for i := 0; i < len(text); {
		rest := text[i:]
		size := strings.IndexAny(rest, " \t\r")
		if size < 0 {
			size = len(rest)
		}
		if size > 0 {
			tokens = append(tokens, token{text: rest[:size], start: i})
		}
		i += size + 1
	}
	return tokens
}

// token returns the current word; at the end of the line its text is empty.
func (p *parser) token() token {
	if p.next < len(p.tokens) {
		return p.tokens[p.next]
	}
	return token{start: len(p.text)}
}

// advance moves on to the next word.
func (p *parser) advance() {
	p.next++
	p.tried = p.tried[:0]
}

// note remembers what else could have stood here, for the message if nothing fits.
func (p *parser) note(what string) {
	if !slices.Contains(p.tried, what) {
		p.tried = append(p.tried, what)
	}
}

// accept moves past the current word if it is one of these, and returns which.
func (p *parser) accept(words ...string) (string, bool) {
	for _, word := range words {
		if strings.EqualFold(p.token().text, word) {
			p.advance()
			return word, true
		}
	}
	for _, word := range words {
		p.note(word)
	}
	return "", false
}

// expected tells what could have stood here: all that was tried, and what, unless that is empty.
func (p *parser) expected(what string) error {
	found := p.token()
	near := nearest(strings.ToLower(found.text), p.tried)
	choices := make([]string, 0, len(p.tried)+1)
	for _, word := range p.tried {
		choices = append(choices, fmt.Sprintf("%q", word))
	}
	if what != "" {
		choices = append(choices, what)
	}
	message := "expected " + enumerate(choices, "or") + ", found "
	switch {
	case found.text == "":
		message += "the end of the line"
	case near != "":
		message += fmt.Sprintf("%q; did you mean %q?", abbreviate(found.text), near)
	default:
		message += fmt.Sprintf("%q", abbreviate(found.text))
	}
	return p.errorAt(found, message)
}

// errorAt blames a word. Once it is clear what was meant, the error shows how to write it.
func (p *parser) errorAt(t token, message string) error {
	if p.usage != "" {
		message += " (usage: " + p.usage + ")"
	}
	column := utf8.RuneCountInString(p.text[:t.start]) + 1
	return &SyntaxError{Line: p.line, Column: column, Message: message}
}

// fault follows all forms at once and drops those that the text rules out.
//
// Two forms that start alike have equal clauses up to where they part, and they part at a word. Therefore the clauses
// at the same index are either all words, or all the same clause.
func (p *parser) fault(t *Template) error {
	candidates := forms
	for i := 0; i < len(candidates[0].clauses); i++ {
		if len(candidates) == 1 {
			p.usage = candidates[0].syntax()
		}
		t.low.Kind, t.high.Kind = candidates[0].kind, candidates[0].kind
		clause := candidates[0].clauses[i]
		if clause.word == "" {
			if err := clause.read(p, t); err != nil {
				return err
			}
			continue
		}
		if candidates = p.choose(candidates, i); len(candidates) == 0 {
			return p.expected("")
		}
	}
	if p.token().text != "" {
		return p.expected("the end of the line")
	}
	return nil
}

// choose returns the candidates whose i-th clause is the current word. If there are none, it leaves the word alone and
// returns those that can do without.
func (p *parser) choose(candidates []form, i int) []form {
	var matching, without []form
	for _, candidate := range candidates {
		clause := candidate.clauses[i]
		if strings.EqualFold(clause.word, p.token().text) {
			matching = append(matching, candidate)
		} else if clause.optional {
			without = append(without, candidate)
		}
	}
	if len(matching) > 0 {
		p.advance()
		return matching
	}
	for _, candidate := range candidates {
		p.note(candidate.clauses[i].word)
	}
	return without
}

// maxName bounds the names of machines and commands.
const maxName = 64

// node reads the name of a machine, or a role.
func (p *parser) node() (NodeRef, error) {
	ref, ok := nodeRef(p.token().text)
	if !ok {
		return "", p.expected("a machine such as c1")
	}
	p.advance()
	return ref, nil
}

// maxPath bounds the paths of keys and nodes.
const maxPath = 256

// path reads a key or the path of a node: visible characters without a space, and no # where it would look like a
// comment or a number.
func (p *parser) path() (string, error) {
	text := p.token().text
	ok := text != "" && len(text) <= maxPath && text[0] != '#'
	for i := 0; ok && i < len(text); i++ {
		ok = text[i] > ' ' && text[i] < 0x7f
	}
	if !ok {
		return "", p.expected("a key or path such as /lock")
	}
	p.advance()
	return text, nil
}

// nodeRef reads a name: a letter, then letters, digits, dots and underscores. A hyphen would make "a-b" ambiguous.
func nodeRef(text string) (NodeRef, bool) {
	if text == "" || len(text) > maxName || !isLetter(text[0]) {
		return "", false
	}
	for i := 1; i < len(text); i++ {
		if c := text[i]; !isLetter(c) && !isDigit(c) && c != '.' && c != '_' {
			return "", false
		}
	}
	for _, role := range roles {
		if strings.EqualFold(text, string(role)) {
			return role, true
		}
	}
	return NodeRef(text), true
}

// link reads client>server, a direction a>b, or both directions a-b where that is allowed.
func (p *parser) link(such string, bothAllowed bool) (Link, error) {
	text := p.token().text
	i := strings.IndexAny(text, ">-")
	if i < 0 {
		return Link{}, p.expected(such)
	}
	from, fromOK := nodeRef(text[:i])
	to, toOK := nodeRef(text[i+1:])
	link := Link{From: from, To: to, Both: text[i] == '-'}
	switch {
	case !fromOK, !toOK, link.Both && !bothAllowed:
		return Link{}, p.expected(such)
	case from == to:
		return Link{}, p.errorAt(p.token(), fmt.Sprintf("%s is no link: both ends are the same", link))
	}
	p.advance()
	return link, nil
}

// command reads the name of a server command, or the star for any.
func (p *parser) command() (string, error) {
	text := p.token().text
	ok := text == AnyCommand
	if !ok && text != "" && len(text) <= maxName {
		ok = true
		for i := 0; i < len(text); i++ {
			c := text[i]
			ok = ok && (isLetter(c) || isDigit(c) || c == '-' || c == '/')
		}
	}
	if !ok {
		return "", p.expected("a command such as GET, or * for any")
	}
	p.advance()
	return strings.ToUpper(text), nil
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
