package house

import (
	"go/ast"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

func textRules() []Rule {
	return []Rule{
		{"words", "the tree speaks to its readers, not of the place where it was written", words},
		{"links", "each link of a Markdown file to a file or a heading of the tree leads somewhere", links},
		{"documented", "the README names each key of a scenario file", documented},
	}
}

// ruleData holds sources that break rules on purpose.
const ruleData = "internal/house/testdata/"

// foreign are words that mean nothing to a reader of the tree. Each is written so that it does not find itself.
var foreign = []struct{ cure, words string }{
	{"an absolute path of one machine; make it relative", `(^|[^\w.*])/(wor[k]|roo[t]|hom[e]|User[s])/`},
	{"a path of one machine; remove it", `/tmp/(brie[f]|bash_jo[b]s)`},
	{"a number that a reader cannot look up; say it", `(?i)\bissues? #?[0-9]+\b|\bissues (sho[w]|lis[t])\b`},
	{"a word about who wrote it; say what the reader needs", `(?i)\b(foun[d]er|work ?pla[c]e|C[E]O)\b`},
	{"a file that is not in the tree; say it here", `\bshared/(design|locks|checkers|models|seeds)\b`},
	{"a word about how it was written; remove it", `(?i)\b(chatg[p]t|langu[a]ge model|a[i] assistant)\b`},
}

func words(t *Tree, report reporter) {
	for _, f := range foreign {
		pattern := regexp.MustCompile(f.words)
		for _, x := range t.Texts {
			if strings.HasPrefix(x.Name, ruleData) {
				continue
			}
			for i, line := range x.Lines {
				for _, found := range pattern.FindAllString(line, -1) {
					report(x.at(i+1), "%q: %s", strings.TrimSpace(found), f.cure)
				}
			}
		}
	}
}

// documented reports keys that a scenario file may have and the README does not name in a code span.
func documented(t *Tree, report reporter) {
	readme := ""
	for _, x := range t.Texts {
		if x.Name == "README.md" {
			readme = strings.Join(x.Lines, "\n")
		}
	}
	for _, p := range t.Packages {
		if p.Path != "scenarios" {
			continue
		}
		for _, f := range p.Files {
			ast.Inspect(f.ast, func(n ast.Node) bool {
				field, ok := n.(*ast.Field)
				if !ok || field.Tag == nil {
					return true
				}
				tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`"))
				if key, isKey := tag.Lookup("yaml"); isKey && !strings.Contains(readme, "`"+key+"`") {
					report(field.Tag.Pos(), "the README does not name the key `%s` of a scenario file", key)
				}
				return true
			})
		}
	}
}

// link finds the target of an inline link or picture; code spans are cut out before.
var (
	link     = regexp.MustCompile(`!?\[[^\]]*\]\(([^()\s]+)(\s+"[^"]*")?\)`)
	codeSpan = regexp.MustCompile("`[^`]*`")
)

func links(t *Tree, report reporter) {
	for _, x := range t.Texts {
		if path.Ext(x.Name) != ".md" || strings.HasPrefix(x.Name, ruleData) {
			continue
		}
		for i, line := range prose(x.Lines) {
			for _, match := range link.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, "``"), -1) {
				if complaint := t.follow(x, match[1]); complaint != "" {
					report(x.at(i+1), "%s", complaint)
				}
			}
		}
	}
}

// follow returns what is wrong with a link, empty when nothing is.
func (t *Tree) follow(from *Text, target string) string {
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return "" // not of this tree
	}
	name, anchor, hasAnchor := strings.Cut(target, "#")
	to := from.Name
	if name != "" {
		to = path.Join(path.Dir(from.Name), name)
		if !t.exists(to) {
			return "the link to " + target + " leads nowhere"
		}
	}
	if !hasAnchor || path.Ext(to) != ".md" {
		return ""
	}
	at := slices.IndexFunc(t.Texts, func(x *Text) bool { return x.Name == to })
	if at >= 0 && !slices.Contains(headings(t.Texts[at]), anchor) {
		return "there is no heading #" + anchor + " in " + to
	}
	return ""
}

// exists tells whether the tree has such a file or folder.
func (t *Tree) exists(name string) bool {
	return slices.ContainsFunc(t.names, func(n string) bool { return n == name || strings.HasPrefix(n, name+"/") })
}

// headings returns the anchors of a Markdown file's headings, in the form that forges give them.
func headings(x *Text) []string {
	var anchors []string
	for _, line := range prose(x.Lines) {
		text := strings.TrimLeft(line, "#")
		if text == line || !strings.HasPrefix(text, " ") {
			continue
		}
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(text))
		anchors = append(anchors, anchor)
	}
	return anchors
}

// prose blanks the fenced and indented code of a Markdown file, so that lines keep their numbers.
func prose(lines []string) []string {
	out := make([]string, len(lines))
	fence := ""
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
		case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
			fence = trimmed[:3]
		case strings.HasPrefix(line, "    "):
		default:
			out[i] = line
		}
	}
	return out
}
