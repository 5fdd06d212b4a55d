package house

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// What fits a screen.
const (
	maxFunctionLines = 70
	maxColumns       = 120
)

func shapeRules() []Rule {
	return []Rule{
		{"function-length", "a function fits a screen", functionLength},
		{"line-length", "a line of Go has at most 120 columns", lineLength},
		{"package-comment", "each package says what it is, in doc.go and there only", packageComment},
		{"doc-comment", "each exported name of the bench says what it is", docComment},
		{"names", "a file or folder is named for its idea", names},
		{"leftovers", "nothing is left for later in the source", leftovers},
	}
}

func functionLength(t *Tree, report reporter) {
	for _, p := range t.Packages {
		for _, f := range slices.Concat(p.Files, p.Left) {
			for _, d := range f.ast.Decls {
				function, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				lines := t.position(function.End()).Line - t.position(function.Pos()).Line + 1
				if lines > maxFunctionLines {
					report(function.Name.Pos(), "%s has %d lines; split it into functions of at most %d",
						function.Name.Name, lines, maxFunctionLines)
				}
			}
		}
	}
}

func lineLength(t *Tree, report reporter) {
	for _, x := range t.Texts {
		if path.Ext(x.Name) != ".go" {
			continue
		}
		for i, line := range x.Lines {
			columns := utf8.RuneCountInString(line)
			// An address and a directive cannot be broken.
			if columns <= maxColumns || strings.Contains(line, "://") || strings.HasPrefix(line, "//go:") {
				continue
			}
			report(x.at(i+1), "%d columns; at most %d", columns, maxColumns)
		}
	}
}

func packageComment(t *Tree, report reporter) {
	for _, p := range t.Packages {
		if len(p.Files) == 0 {
			continue // only tests
		}
		documented := false
		for _, f := range p.Files {
			switch isDoc := path.Base(f.Name) == "doc.go"; {
			case f.ast.Doc == nil && isDoc:
				report(f.ast.Package, "doc.go has no package comment")
				documented = true
			case f.ast.Doc != nil && !isDoc:
				report(f.ast.Doc.Pos(), "a package comment outside doc.go; move it there")
			case isDoc:
				documented = true
				want := "Package " + f.ast.Name.Name
				if f.ast.Name.Name == "main" {
					want = "Command " + path.Base(p.Path)
				}
				if !strings.HasPrefix(f.ast.Doc.Text(), want+" ") {
					report(f.ast.Doc.Pos(), "the package comment must begin with %q", want)
				}
			}
		}
		if !documented {
			report(p.Files[0].ast.Package, "the package %s has no doc.go with a package comment", p.Path)
		}
	}
}

// customary are methods whose meaning is fixed by an interface that everybody knows.
var customary = []string{"Error", "String", "Unwrap", "Len", "Less", "Swap", "Push", "Pop"}

func docComment(t *Tree, report reporter) {
	for _, p := range t.Packages {
		if !p.within(timeless...) {
			continue
		}
		for _, f := range p.Files {
			for _, d := range f.ast.Decls {
				judgeDoc(d, report)
			}
		}
	}
}

func judgeDoc(d ast.Decl, report reporter) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil && (!receiverExported(d.Recv) || slices.Contains(customary, d.Name.Name)) {
			return
		}
		if d.Name.IsExported() && d.Doc == nil {
			report(d.Name.Pos(), "%s is exported and has no comment", d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			for _, name := range undocumented(d, s) {
				report(name.Pos(), "%s is exported and has no comment", name.Name)
			}
		}
	}
}

// undocumented returns the exported names of a spec without a comment of its own, beside it, or of its whole group.
func undocumented(d *ast.GenDecl, s ast.Spec) []*ast.Ident {
	var found []*ast.Ident
	add := func(name *ast.Ident, comments ...*ast.CommentGroup) {
		missing := !slices.ContainsFunc(comments, func(c *ast.CommentGroup) bool { return c != nil })
		if name.IsExported() && missing {
			found = append(found, name)
		}
	}
	switch s := s.(type) {
	case *ast.TypeSpec:
		add(s.Name, d.Doc, s.Doc, s.Comment)
	case *ast.ValueSpec:
		for _, name := range s.Names {
			add(name, d.Doc, s.Doc, s.Comment)
		}
	}
	return found
}

func receiverExported(receiver *ast.FieldList) bool {
	typ := receiver.List[0].Type
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.IndexListExpr:
			typ = t.X
		case *ast.Ident:
			return t.IsExported()
		default:
			return false
		}
	}
}

var meaningless = regexp.MustCompile(`(?i)^(utils?|commons?|helpers?|misc|shared|base|lib|stuff)(_test)?$`)

func names(t *Tree, report reporter) {
	for _, p := range t.Packages {
		first := p.all()[0].ast.Package
		if meaningless.MatchString(path.Base(p.Path)) {
			report(first, "the folder name %q says nothing; name it for its idea", path.Base(p.Path))
		}
		for _, f := range p.all() {
			name := strings.TrimSuffix(path.Base(f.Name), ".go")
			if meaningless.MatchString(name) {
				report(f.ast.Package, "the file name %q says nothing; name it for its idea", path.Base(f.Name))
			}
			if strings.ToLower(name) != name || strings.Contains(name, "-") {
				report(f.ast.Package, "the file name %q must be in lower case, words joined by _", path.Base(f.Name))
			}
		}
	}
}

var (
	laterMark   = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`)
	unfinished  = regexp.MustCompile(`(?i)\b(un|not (yet )?)implemented\b`)
	linterMutes = regexp.MustCompile(`^//\s*(nolint|lint:ignore|lint:file-ignore)\b`)
	// A linter is muted with its reason after the name of the check.
	muteReason = regexp.MustCompile(`(nolint:\S+ //|lint:(file-)?ignore \S+) \S`)
)

func leftovers(t *Tree, report reporter) {
	for _, p := range t.Packages {
		for _, f := range p.all() {
			for _, group := range f.ast.Comments {
				for _, comment := range group.List {
					if mark := laterMark.FindString(comment.Text); mark != "" {
						report(comment.Pos(), "a %s: do it, or file it where work is planned", mark)
					}
					if linterMutes.MatchString(comment.Text) && !muteReason.MatchString(comment.Text) {
						report(comment.Pos(), "a linter is muted without a reason; add it after the name of the check")
					}
				}
			}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if ok && isName(call.Fun, "panic") && hasUnfinished(call.Args) {
					report(call.Pos(), "a panic in place of an implementation")
				}
				return true
			})
		}
	}
}

func isName(e ast.Expr, name string) bool {
	ident, ok := e.(*ast.Ident)
	return ok && ident.Name == name
}

func hasUnfinished(args []ast.Expr) bool {
	found := false
	for _, arg := range args {
		ast.Inspect(arg, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			found = found || ok && literal.Kind == token.STRING && unfinished.MatchString(literal.Value)
			return true
		})
	}
	return found
}
