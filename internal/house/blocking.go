package house

import (
	"go/ast"
	"go/types"
	"slices"
)

func blockingRules() []Rule {
	return []Rule{
		{"select", "in impl and scenarios, a select that may find several cases ready says which of them wins", ranked},
		{"mutexes", "in impl, whatever is held across a wait is a one-slot channel: a mutex stops the world", mutexes},
		{
			"goroutines", "in impl, goroutines are started through the environment, so that they end with their machine",
			goroutines,
		},
	}
}

// visitNodes visits every node of the built files of the folders.
func visitNodes(t *Tree, folders []string, visit func(p *Package, f *File, n ast.Node)) {
	for _, p := range t.Packages {
		if !p.within(folders...) {
			continue
		}
		for _, f := range p.Files {
			ast.Inspect(f.ast, func(n ast.Node) bool {
				visit(p, f, n)
				return true
			})
		}
	}
}

// outsideWorlds lists files of scenarios whose goroutines are of no world, with the reason why chance decides nothing.
var outsideWorlds = map[string]string{
	"scenarios/workers.go": "workers race in real time; what they answer is counted in the order of seeds",
}

// ranked reports selects with several communications: where more than one is ready, the runtime tosses a coin.
func ranked(t *Tree, report reporter) {
	visitNodes(t, []string{"impl", "scenarios"}, func(_ *Package, f *File, n ast.Node) {
		choice, ok := n.(*ast.SelectStmt)
		if !ok || outsideWorlds[f.Name] != "" {
			return
		}
		cases := 0
		for _, s := range choice.Body.List {
			if s.(*ast.CommClause).Comm != nil {
				cases++
			}
		}
		if cases >= 2 && !t.marked(f, choice.Pos(), "ranked:") {
			report(choice.Pos(), "a select with %d cases: the runtime tosses a coin where several are ready; "+
				"look again at the one that wins, and say so: // ranked: why", cases)
		}
	})
}

func mutexes(t *Tree, report reporter) {
	locks := []string{"Mutex", "RWMutex", "Cond", "Locker"}
	visitNodes(t, []string{"impl"}, func(p *Package, f *File, n ast.Node) {
		name, ok := n.(*ast.Ident)
		if !ok {
			return
		}
		typ, ok := p.info.Uses[name].(*types.TypeName)
		if !ok || typ.Pkg() == nil || typ.Pkg().Path() != "sync" || !slices.Contains(locks, typ.Name()) {
			return
		}
		if !t.marked(f, name.Pos(), "never held across ") {
			report(name.Pos(), "sync.%s: one that is held across a network wait stops the simulated world; use a channel "+
				"with one slot, or promise it: // never held across a wait", typ.Name())
		}
	})
}

func goroutines(t *Tree, report reporter) {
	visitNodes(t, []string{"impl"}, func(_ *Package, f *File, n ast.Node) {
		if statement, ok := n.(*ast.GoStmt); ok && !t.marked(f, statement.Pos(), "production:") {
			report(statement.Pos(), "a go statement: the goroutine would outlive a crash of its machine; "+
				"use Environment.Go, or say that only real machines come here: // production: why")
		}
	})
}
