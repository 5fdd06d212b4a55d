package house

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Module is the path of this module; a house import begins with it.
const Module = "github.com/lockstep-sim/lockstep"

// Tree is a module as the rules see it.
type Tree struct {
	Packages []*Package // sorted by path
	Texts    []*Text    // every text file, Go sources too, sorted by name
	names    []string   // every file, sorted

	fset    *token.FileSet
	exports exports // of everything that the packages import
}

// Package is one folder of Go sources.
type Package struct {
	Path  string  // relative to the module: "sim/redis"; "." is the root
	Files []*File // what is built, without tests
	Tests []*File
	// Left are the files that build constraints leave out here: they are parsed, but not checked for types.
	Left []*File

	info *types.Info // of Files
	// faults are the errors of the type checker; rules that need types say nothing about a package that has some.
	faults []types.Error
}

// File is one Go source.
type File struct {
	Name string // relative to the root: "sim/world.go"
	ast  *ast.File
	// Comments by line: those with a line of their own, and those at the end of a line of code.
	above, beside map[int]string
}

// Text is a file of text, by lines.
type Text struct {
	Name  string
	Lines []string
	start token.Pos // where its first byte stands in the FileSet
	file  *token.File
}

// Load reads the module in the folder root. Its dependencies must be there already: nothing is fetched.
func Load(root string) (*Tree, error) {
	exports, err := listExports(root)
	if err != nil {
		return nil, err
	}
	return load(root, exports)
}

// load reads the tree below root and checks its types with the given dependencies.
func load(root string, exports exports) (*Tree, error) {
	names, err := listFiles(root)
	if err != nil {
		return nil, err
	}
	t := &Tree{names: names, fset: token.NewFileSet(), exports: exports}
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return nil, fmt.Errorf("house: %w", err)
		}
		if bytes.IndexByte(content, 0) >= 0 {
			continue // a picture
		}
		if err := t.add(root, name, content); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(t.Packages, func(a, b *Package) int { return strings.Compare(a.Path, b.Path) })
	for _, p := range t.Packages {
		t.checkTypes(p)
	}
	return t, nil
}

// add takes one text file into the tree.
func (t *Tree) add(root, name string, content []byte) error {
	if path.Ext(name) != ".go" || inTestdata(name) {
		file := t.fset.AddFile(name, -1, len(content))
		file.SetLinesForContent(content)
		t.addText(name, content, file)
		return nil
	}
	parsed, err := parser.ParseFile(t.fset, name, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("house: %w; it must parse before it can be judged", err)
	}
	t.addText(name, content, t.fset.File(parsed.FileStart))
	f := &File{Name: name, ast: parsed, above: make(map[int]string), beside: make(map[int]string)}
	f.noteComments(t, content)
	p := t.folder(path.Dir(name))
	built, err := build.Default.MatchFile(filepath.Join(root, filepath.FromSlash(path.Dir(name))), path.Base(name))
	switch {
	case err != nil:
		return fmt.Errorf("house: %w", err)
	case !built:
		p.Left = append(p.Left, f)
	case strings.HasSuffix(name, "_test.go"):
		p.Tests = append(p.Tests, f)
	default:
		p.Files = append(p.Files, f)
	}
	return nil
}

func (t *Tree) addText(name string, content []byte, file *token.File) {
	lines := strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
	t.Texts = append(t.Texts, &Text{Name: name, Lines: lines, start: token.Pos(file.Base()), file: file})
}

// folder returns the package of a folder, made when first met.
func (t *Tree) folder(dir string) *Package {
	for _, p := range t.Packages {
		if p.Path == dir {
			return p
		}
	}
	p := &Package{Path: dir}
	t.Packages = append(t.Packages, p)
	return p
}

// all returns every source of the package.
func (p *Package) all() []*File { return slices.Concat(p.Files, p.Tests, p.Left) }

// within tells whether the package is in one of the folders or below it.
func (p *Package) within(folders ...string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool {
		return p.Path == folder || strings.HasPrefix(p.Path, folder+"/")
	})
}

// at is the position of a line of the text; the first is 1.
func (x *Text) at(line int) token.Pos {
	if line > x.file.LineCount() {
		return x.start
	}
	return x.file.LineStart(line)
}

func (t *Tree) position(at token.Pos) token.Position { return t.fset.Position(at) }

// noteComments files each comment under the line where it stands.
func (f *File) noteComments(t *Tree, content []byte) {
	lines := bytes.Split(content, []byte("\n"))
	for _, group := range f.ast.Comments {
		for _, comment := range group.List {
			line := t.position(comment.Pos()).Line
			if bytes.HasPrefix(bytes.TrimSpace(lines[line-1]), []byte("//")) {
				f.above[line] = comment.Text
			} else {
				f.beside[line] = comment.Text
			}
		}
	}
}

// marked tells whether the line of at, or a comment on the line above, carries the mark and a reason.
func (t *Tree) marked(f *File, at token.Pos, mark string) bool {
	line := t.position(at).Line
	for _, comment := range []string{f.beside[line], f.above[line-1]} {
		if _, reason, found := strings.Cut(comment, mark); found && strings.TrimSpace(reason) != "" {
			return true
		}
	}
	return false
}

// inTestdata tells whether a file is data of a test: no package, whatever its name.
func inTestdata(name string) bool { return strings.Contains("/"+name, "/testdata/") }

// listFiles returns what belongs to the tree: what git tracks or would track, everything where there is no git.
func listFiles(root string) ([]string, error) {
	var names []string
	if _, err := os.Stat(filepath.Join(root, ".git")); err == nil {
		command := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
		command.Dir = root
		out, err := command.Output()
		if err != nil {
			return nil, fmt.Errorf("house: git ls-files in %s: %w", root, err)
		}
		for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			// What is deleted and not yet committed is still listed.
			if info, err := os.Lstat(filepath.Join(root, name)); err == nil && info.Mode().IsRegular() {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names, nil
	}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("house: %w", err)
	}
	if len(names) == 0 {
		return nil, errors.New("house: the folder " + root + " is empty")
	}
	return names, nil
}
