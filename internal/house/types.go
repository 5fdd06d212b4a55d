package house

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
)

// exports says where the compiler left what it knows of each package, by import path.
type exports map[string]string

// listExports asks the go command for the packages of the module in root and all that they import, tests included.
// What is not built yet is built by it.
func listExports(root string) (exports, error) {
	command := exec.Command("go", "list", "-e", "-export", "-deps", "-test", "-json=ImportPath,Export", "./...")
	command.Dir = root
	var complaint strings.Builder
	command.Stderr = &complaint
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("house: go list in %s: %w\n%s", root, err, complaint.String())
	}
	found := make(exports)
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var entry struct{ ImportPath, Export string }
		err := decoder.Decode(&entry)
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, fmt.Errorf("house: go list in %s: %w", root, err)
		}
		if entry.Export != "" {
			found[entry.ImportPath] = entry.Export
		}
	}
}

// open serves the importer of the standard library.
func (e exports) open(path string) (io.ReadCloser, error) {
	name, found := e[path]
	if !found {
		return nil, fmt.Errorf("%s is not built", path)
	}
	return os.Open(name)
}

// checkTypes finds out what each name of the built files of p means.
func (t *Tree) checkTypes(p *Package) {
	p.info = &types.Info{
		Defs:       make(map[*ast.Ident]types.Object),
		Uses:       make(map[*ast.Ident]types.Object),
		Types:      make(map[ast.Expr]types.TypeAndValue),
		Selections: make(map[*ast.SelectorExpr]*types.Selection),
	}
	config := types.Config{
		Importer: importer.ForCompiler(t.fset, "gc", t.exports.open),
		Error: func(err error) {
			var fault types.Error
			if errors.As(err, &fault) {
				p.faults = append(p.faults, fault)
			}
		},
	}
	files := make([]*ast.File, 0, len(p.Files))
	for _, f := range p.Files {
		files = append(files, f.ast)
	}
	// The error is the first of those that went to config.Error.
	_, _ = config.Check(Module+"/"+p.Path, t.fset, files, p.info)
}

// typeOf is the type of an expression, nil where it is unknown.
func (p *Package) typeOf(e ast.Expr) types.Type { return p.info.TypeOf(e) }

// functionOf is the function or method that a name stands for, nil for anything else.
func (p *Package) functionOf(name *ast.Ident) *types.Func {
	f, _ := p.info.Uses[name].(*types.Func)
	return f
}

// calls returns the function that a call certainly runs, nil where that is not known or where it is a conversion.
func (p *Package) calls(call *ast.CallExpr) *types.Func {
	switch callee := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		return p.functionOf(callee)
	case *ast.SelectorExpr:
		return p.functionOf(callee.Sel)
	case *ast.IndexExpr: // a generic function with its type given
		if selector, ok := callee.X.(*ast.SelectorExpr); ok {
			return p.functionOf(selector.Sel)
		}
	}
	return nil
}
