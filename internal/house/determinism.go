package house

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// bench are the folders whose code decides what happens in a run, or judges it.
var bench = []string{"sim", "impl", "checker", "faults", "scenarios"}

// timeless are the folders that know no time but the one of a run.
var timeless = append(slices.Clone(bench), "reports")

// realClock lists the files that may use the Go runtime's own clock, with the reason.
var realClock = map[string]string{
	"sim/world.go": "in the bubble the runtime's clock is virtual and follows the engine",
	"sim/wire.go":  "net.Conn states deadlines on the runtime's clock, which is virtual there",
	"sim/run.go":   "the watchdog of a world that stops lives outside of the bubble, in real time",
}

func determinismRules() []Rule {
	return []Rule{
		{"clocks", "no real clock in sim, impl, checker, faults, scenarios, reports", clocks},
		{"contexts", "no timeout that runs on the runtime's timer where a simulated clock is at hand", contexts},
		{"random", "no generator that is shared, seeded by chance or without a key", random},
		{"map-order", "no map order on a path that decides or prints anything", mapOrder},
		{"floats", "no float on a path that decides anything", floats},
	}
}

// forbidUses reports every use of the named functions, also as values, in the built files of the folders.
// The names are as types.Func.FullName renders them; the value is what to do instead.
func forbidUses(
	t *Tree, report reporter, folders []string, cure func(f *types.Func) string, allowed map[string]string,
) {
	for _, p := range t.Packages {
		if !p.within(folders...) {
			continue
		}
		for _, f := range p.Files {
			if allowed[f.Name] != "" {
				continue
			}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				name, ok := n.(*ast.Ident)
				if !ok {
					return true
				}
				if function := p.functionOf(name); function != nil {
					if text := cure(function); text != "" {
						report(name.Pos(), "%s", text)
					}
				}
				return true
			})
		}
	}
}

func clocks(t *Tree, report reporter) { forbidUses(t, report, timeless, realClockCure, realClock) }

// realClockCure says what to do in place of a function that reads the real clock or waits for it.
func realClockCure(f *types.Func) string {
	if f.Pkg() == nil || f.Signature().Recv() != nil {
		return ""
	}
	switch from, name := f.Pkg().Path(), f.Name(); from {
	case "time":
		switch name {
		case "Now", "Since", "Until":
			return "time." + name + " reads the real clock; ask the machine's clock, or leave time to the caller"
		case "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick":
			return "time." + name + " waits for the real clock; use the machine's clock"
		}
	case "github.com/jonboulle/clockwork":
		if name == "NewRealClock" {
			return "clockwork.NewRealClock reads the real clock; take a clockwork.Clock from the caller"
		}
	}
	return ""
}

func contexts(t *Tree, report reporter) {
	names := []string{"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause"}
	cure := func(f *types.Func) string {
		if f.Pkg() == nil || !slices.Contains(names, f.Name()) {
			return ""
		}
		switch f.Pkg().Path() {
		case "context":
			return "context." + f.Name() + " runs on the runtime's timer; use impl.WithTimeout and a clock"
		case "github.com/jonboulle/clockwork":
			return "clockwork." + f.Name() + " falls back to the runtime's timer for every clock but clockwork's own fake; " +
				"use impl.WithTimeout"
		}
		return ""
	}
	forbidUses(t, report, bench, cure, nil)
}

func random(t *Tree, report reporter) {
	constructors := []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "NewSource"}
	cure := func(f *types.Func) string {
		if f.Pkg() == nil || f.Signature().Recv() != nil {
			return ""
		}
		switch from := f.Pkg().Path(); {
		case strings.HasPrefix(from, "math/rand") && !slices.Contains(constructors, f.Name()):
			return from + "." + f.Name() + " draws from the generator of the whole process; draw from a keyed stream"
		case from == "crypto/rand":
			return "crypto/rand." + f.Name() + " differs from run to run; take an io.Reader from the caller"
		case from == "hash/maphash" && f.Name() == "MakeSeed":
			return "maphash.MakeSeed differs from run to run; use a hash without a seed"
		}
		return ""
	}
	forbidUses(t, report, timeless, cure, nil)
}

// floats reports arithmetic and comparisons: a float that is only carried decides nothing.
func floats(t *Tree, report reporter) {
	for _, p := range t.Packages {
		if !p.within(bench...) || p.within("sim/redis") { // Redis itself counts scores and Lua numbers in floats
			continue
		}
		for _, f := range p.Files {
			ast.Inspect(f.ast, func(n ast.Node) bool {
				operation, ok := n.(*ast.BinaryExpr)
				if !ok || !(p.isFloat(operation.X) || p.isFloat(operation.Y)) {
					return true
				}
				if value := p.info.Types[operation].Value; value != nil {
					return true // a constant is exact
				}
				if !t.marked(f, operation.Pos(), "float:") {
					report(operation.OpPos, "arithmetic on floats; count in integers (ns, ppm), or say why not: // float: why")
				}
				return false
			})
		}
	}
}

func (p *Package) isFloat(e ast.Expr) bool {
	found := p.typeOf(e)
	if found == nil {
		return false
	}
	basic, ok := found.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsFloat != 0
}

// mapOrder reports loops over maps, and iterators over maps that nobody sorts.
func mapOrder(t *Tree, report reporter) {
	for _, p := range t.Packages {
		if !p.within(timeless...) {
			continue
		}
		for _, f := range p.Files {
			w := orderWalk{tree: t, p: p, file: f, report: report}
			w.walk()
		}
	}
}

// orderWalk looks for map order in one file.
type orderWalk struct {
	tree   *Tree
	p      *Package
	file   *File
	report reporter
	sorted map[*ast.CallExpr]bool // calls whose result goes straight into a sort
}

func (w *orderWalk) walk() {
	w.sorted = make(map[*ast.CallExpr]bool)
	ast.Inspect(w.file.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			w.statements(n.List)
		case *ast.CaseClause:
			w.statements(n.Body)
		case *ast.CommClause:
			w.statements(n.Body)
		case *ast.CallExpr:
			w.call(n)
		}
		return true
	})
}

// statements judges the loops that stand in one list; what follows a loop may sort what the loop gathered.
func (w *orderWalk) statements(list []ast.Stmt) {
	for i, s := range list {
		if label, ok := s.(*ast.LabeledStmt); ok {
			s = label.Stmt
		}
		loop, ok := s.(*ast.RangeStmt)
		if !ok || !w.isMap(loop.X) || w.tree.marked(w.file, loop.Pos(), "order-free:") {
			continue
		}
		if !w.p.orderFree(loop, list[i+1:]) {
			w.report(loop.Pos(), "range over a map: its order differs from run to run; sort the keys, "+
				"or say why it does not matter: // order-free: why")
		}
	}
}

// call judges iterators over maps. Parents are visited before children, so a sort is met before what it sorts.
func (w *orderWalk) call(call *ast.CallExpr) {
	callee := w.p.calls(call)
	if callee == nil || callee.Pkg() == nil {
		return
	}
	switch name := callee.FullName(); {
	case strings.HasPrefix(name, "slices.Sorted"):
		if argument, ok := call.Args[0].(*ast.CallExpr); ok {
			w.sorted[argument] = true
		}
	case slices.Contains([]string{"maps.Keys", "maps.Values", "maps.All"}, name) && !w.sorted[call],
		name == "(*sync.Map).Range", name == "(reflect.Value).MapRange", name == "(reflect.Value).MapKeys":
		if !w.tree.marked(w.file, call.Pos(), "order-free:") {
			w.report(call.Pos(), "%s comes in an order that differs from run to run; sort it (slices.Sorted), "+
				"or say why it does not matter: // order-free: why", name)
		}
	}
}

func (w *orderWalk) isMap(e ast.Expr) bool {
	found := w.p.typeOf(e)
	if found == nil {
		return false
	}
	return onlyMaps(found)
}

// onlyMaps tells whether values of the type are maps; those of a type parameter are when its constraint says so.
func onlyMaps(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Map:
		return true
	case *types.Interface:
		for embedded := range u.EmbeddedTypes() {
			if union, ok := embedded.(*types.Union); ok && union.Len() == 1 && onlyMaps(union.Term(0).Type()) {
				return true
			}
		}
	}
	return false
}
