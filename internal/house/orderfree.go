package house

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// orderFree proves for simple loops over maps that the order does not matter: each turn only counts in integers,
// writes under its own key, deletes, or gathers into a slice that a statement after the loop sorts. It is content with
// few shapes; everything else needs a mark.
func (p *Package) orderFree(loop *ast.RangeStmt, after []ast.Stmt) bool {
	proof := orderProof{p: p, after: after, loop: loop}
	if key, ok := loop.Key.(*ast.Ident); ok {
		proof.key = p.info.Defs[key]
	}
	return proof.statements(loop.Body.List)
}

// orderProof carries what is known of one loop.
type orderProof struct {
	p     *Package
	loop  *ast.RangeStmt
	key   types.Object // the loop's key variable, nil when it has none
	after []ast.Stmt
}

func (o *orderProof) statements(list []ast.Stmt) bool {
	return !slices.ContainsFunc(list, func(s ast.Stmt) bool { return !o.statement(s) })
}

func (o *orderProof) statement(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.IncDecStmt:
		return o.isInteger(s.X) && o.pure(s.X)
	case *ast.AssignStmt:
		return o.assignment(s)
	case *ast.ExprStmt: // delete(m, key)
		call, ok := s.X.(*ast.CallExpr)
		return ok && o.isBuiltin(call, "delete") && o.pure(call.Args[0]) && o.isKey(call.Args[1])
	case *ast.BranchStmt:
		return s.Tok == token.CONTINUE && s.Label == nil
	case *ast.IfStmt:
		return s.Init == nil && s.Else == nil && o.pure(s.Cond) && !o.mentionsOuter(s.Cond) && o.statements(s.Body.List)
	}
	return false
}

func (o *orderProof) assignment(s *ast.AssignStmt) bool {
	if len(s.Lhs) != 1 || len(s.Rhs) != 1 {
		return false
	}
	left, right := s.Lhs[0], s.Rhs[0]
	switch s.Tok {
	case token.ADD_ASSIGN, token.OR_ASSIGN, token.AND_ASSIGN, token.XOR_ASSIGN:
		return o.isInteger(left) && o.pure(right) && !o.mentionsOuter(right)
	case token.ASSIGN:
		if element, ok := left.(*ast.IndexExpr); ok { // other[key] = value
			return o.isKey(element.Index) && o.pure(right) && !o.mentionsOuter(right)
		}
		call, ok := right.(*ast.CallExpr) // list = append(list, key); ...; slices.Sort(list)
		return ok && o.isBuiltin(call, "append") && len(call.Args) == 2 && same(left, call.Args[0]) &&
			o.isKey(call.Args[1]) && o.sortedAfter(left)
	}
	return false
}

// sortedAfter tells whether a statement after the loop sorts the list, before anything else looks into it.
func (o *orderProof) sortedAfter(list ast.Expr) bool {
	for _, s := range o.after {
		if o.sortStatement(s, list) {
			return true
		}
		branch, ok := s.(*ast.IfStmt)
		switch {
		case !mentions(s, list):
		case ok && branch.Else == nil && o.measures(branch, list):
			// A list with something in it is sorted first thing, so after the branch it is sorted or empty.
			if len(branch.Body.List) > 0 && o.sortStatement(branch.Body.List[0], list) {
				return true
			}
			if mentions(branch.Body, list) {
				return false
			}
		default:
			return false
		}
	}
	return false
}

// measures tells whether a branch asks whether the list holds anything, and nothing else.
func (o *orderProof) measures(branch *ast.IfStmt, list ast.Expr) bool {
	cond, ok := branch.Cond.(*ast.BinaryExpr)
	if !ok || branch.Init != nil {
		return false
	}
	call, ok := cond.X.(*ast.CallExpr)
	if !ok || !o.isBuiltin(call, "len") || !same(call.Args[0], list) {
		return false
	}
	limit := o.p.info.Types[cond.Y].Value
	return limit != nil && limit.ExactString() == "0"
}

// sortStatement tells whether a statement sorts the list and does nothing else.
func (o *orderProof) sortStatement(s ast.Stmt, list ast.Expr) bool {
	expression, ok := s.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := expression.X.(*ast.CallExpr)
	return ok && len(call.Args) > 0 && same(list, call.Args[0]) && o.sorts(call)
}

func (o *orderProof) sorts(call *ast.CallExpr) bool {
	callee := o.p.calls(call)
	return callee != nil &&
		slices.Contains([]string{"slices.Sort", "sort.Strings", "sort.Ints"}, callee.FullName())
}

// pure tells whether an expression can be evaluated any number of times in any order: it calls nothing but len, cap,
// conversions and functions of strings and slices that only look.
func (o *orderProof) pure(e ast.Expr) bool {
	pure := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			pure = pure && o.onlyLooks(n)
		case *ast.FuncLit:
			pure = false
		case *ast.UnaryExpr:
			pure = pure && n.Op != token.ARROW
		}
		return pure
	})
	return pure
}

func (o *orderProof) onlyLooks(call *ast.CallExpr) bool {
	if o.p.info.Types[call.Fun].IsType() || o.isBuiltin(call, "len") || o.isBuiltin(call, "cap") {
		return true
	}
	callee := o.p.calls(call)
	if callee == nil || callee.Pkg() == nil {
		return false
	}
	switch callee.Pkg().Path() {
	case "strings":
		return callee.Signature().Recv() == nil
	case "slices":
		return slices.Contains([]string{"Contains", "Index", "Equal", "BinarySearch"}, callee.Name())
	}
	return false
}

// mentionsOuter tells whether the expression reads a variable that the loop's body writes: then turns depend on
// each other.
func (o *orderProof) mentionsOuter(e ast.Expr) bool {
	found := false
	ast.Inspect(o.loop.Body, func(n ast.Node) bool {
		var targets []ast.Expr
		switch n := n.(type) {
		case *ast.AssignStmt:
			targets = n.Lhs
		case *ast.IncDecStmt:
			targets = []ast.Expr{n.X}
		case *ast.CallExpr: // delete(m, key) writes m
			if o.isBuiltin(n, "delete") {
				targets = n.Args[:1]
			}
		}
		for _, target := range targets {
			if element, ok := target.(*ast.IndexExpr); ok {
				target = element.X
			}
			found = found || mentions(&ast.ExprStmt{X: e}, target)
		}
		return !found
	})
	return found
}

func (o *orderProof) isKey(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return ok && o.key != nil && o.p.info.Uses[name] == o.key
}

func (o *orderProof) isInteger(e ast.Expr) bool {
	found := o.p.typeOf(e)
	if found == nil {
		return false
	}
	basic, ok := found.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsInteger != 0
}

func (o *orderProof) isBuiltin(call *ast.CallExpr, name string) bool {
	callee, ok := call.Fun.(*ast.Ident)
	if !ok || callee.Name != name {
		return false
	}
	_, ok = o.p.info.Uses[callee].(*types.Builtin)
	return ok
}

// same compares two expressions as text.
func same(a, b ast.Expr) bool { return types.ExprString(a) == types.ExprString(b) }

// mentions tells whether a statement names the expression.
func mentions(s ast.Stmt, list ast.Expr) bool {
	found := false
	ast.Inspect(s, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok && same(e, list) {
			found = true
		}
		return !found
	})
	return found
}
