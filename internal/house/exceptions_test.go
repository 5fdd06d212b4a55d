package house

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestExceptionsAreUsed finds rows of the tables that the tree has outgrown: an exception that nobody needs is a hole.
func TestExceptionsAreUsed(t *testing.T) {
	tree, err := moduleTree()
	if err != nil {
		t.Fatal(err)
	}
	imports := importsOf(tree)
	for path, row := range layers {
		used, known := imports[path]
		if !known {
			t.Errorf("layers: there is no package %s", path)
			continue
		}
		for _, name := range slices.Concat(row.house, row.modules, row.tests) {
			if !slices.ContainsFunc(used, func(u string) bool { return u == name || below(u, name) }) {
				t.Errorf("layers: %s does not import %s any more", path, name)
			}
		}
	}
	for name, allowed := range guarded {
		for _, path := range allowed {
			if !slices.Contains(imports[path], name) {
				t.Errorf("guarded: %s does not import %s any more", path, name)
			}
		}
	}
	used := make(map[string]bool)
	everywhere := Rule{check: func(tree *Tree, report reporter) {
		forbidUses(tree, report, timeless, realClockCure, nil)
	}}
	for _, finding := range Check(tree, []Rule{everywhere}) {
		used[finding.File] = true
	}
	for name := range realClock {
		if !used[name] {
			t.Errorf("realClock: %s does not read the real clock any more", name)
		}
	}
}

// importsOf returns what each package imports, tests included; packages of the house without the module's path.
func importsOf(tree *Tree) map[string][]string {
	imports := make(map[string][]string)
	for _, p := range tree.Packages {
		imports[p.Path] = []string{}
		for _, f := range p.all() {
			for _, spec := range f.ast.Imports {
				name, err := strconv.Unquote(spec.Path.Value)
				if err == nil {
					imports[p.Path] = append(imports[p.Path], strings.TrimPrefix(name, Module+"/"))
				}
			}
		}
	}
	return imports
}
