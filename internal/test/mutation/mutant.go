package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"hash/fnv"
	"strings"
)

// mutant is one small change of the code.
type mutant struct {
	id   int // counts from 1 in a package
	file *file
	line int
	fn   string // the function it is in, such as Inbox.Put
	kind string
	text string // what it changes, on one line
	nth  int    // counts the mutants of one function, change and text from 1

	// The changed source has these around the changed text.
	start, end     int
	prefix, suffix string
}

// key names a mutant without its line, so that it stays the same when code
// above it moves.
func (m *mutant) key() string {
	key := m.fn + ": " + m.kind + ": " + m.text
	if m.nth > 1 {
		key += fmt.Sprintf(" (%d)", m.nth)
	}
	return key
}

// rank is where a mutant is in a sample: anywhere, but always there.
func (m *mutant) rank() uint32 {
	h := fnv.New32a()
	fmt.Fprint(h, m.file.ast.Name.Name, m.key())
	return h.Sum32()
}

// finder collects the mutants of a package.
type finder struct {
	*source
	file *file
	fn   string
	out  []*mutant
	same map[string]int    // how many mutants have the same name
	sure map[ast.Expr]bool // errors that are returned because they are not nil
}

// mutants lists every mutant of a package, in the order of the source.
func (s *source) mutants() []*mutant {
	f := &finder{source: s, same: make(map[string]int), sure: make(map[ast.Expr]bool)}
	for _, f.file = range s.files {
		for _, d := range f.file.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				f.fn = funcName(fn)
				f.body(fn.Body, fn.Type)
			}
		}
	}
	return f.out
}

// funcName is Type.Method, or the name of a function.
func funcName(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
			continue
		case *ast.IndexExpr:
			t = x.X
			continue
		case *ast.Ident:
			return x.Name + "." + fn.Name.Name
		}
		return fn.Name.Name
	}
}

// body looks at a function: typ has the types of its return statements.
func (f *finder) body(body *ast.BlockStmt, typ *ast.FuncType) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			f.body(n.Body, n.Type)
			return false
		case *ast.BlockStmt:
			f.statements(n.List)
		case *ast.CaseClause:
			f.statements(n.Body)
			if len(n.List) == 1 {
				f.failing(n.List[0], n.Body)
			}
		case *ast.CommClause:
			f.statements(n.Body)
		case *ast.IfStmt:
			f.condition(n.Cond, true)
			f.failing(n.Cond, n.Body.List)
		case *ast.ForStmt:
			f.condition(n.Cond, false) // for ever is a slow way to fail
		case *ast.ReturnStmt:
			f.results(n, typ)
		case *ast.CallExpr:
			if isName(n.Fun, "make") && len(n.Args) == 3 {
				return false // a capacity is invisible
			}
		case *ast.BinaryExpr:
			f.binary(n)
		}
		return true
	})
}

// wrap adds a mutant that stands around a node.
func (f *finder) wrap(n ast.Node, kind, prefix, suffix string) {
	begin, end := f.offset(n.Pos()), f.offset(n.End())
	m := &mutant{
		id: len(f.out) + 1, file: f.file, line: f.fset.Position(n.Pos()).Line, fn: f.fn, kind: kind,
		text:  oneLine(string(f.file.text[begin:end])),
		start: begin, end: end,
	}
	name := m.key()
	f.same[name]++
	m.nth = f.same[name]
	id := fmt.Sprint(m.id)
	m.prefix, m.suffix = strings.ReplaceAll(prefix, "#", id), strings.ReplaceAll(suffix, "#", id)
	f.out = append(f.out, m)
}

func (f *finder) offset(p token.Pos) int { return f.fset.Position(p).Offset }

func (f *finder) of(n ast.Node) string {
	return string(f.file.text[f.offset(n.Pos()):f.offset(n.End())])
}

// oneLine shortens source text for a list.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 90 {
		s = s[:87] + "..."
	}
	return strings.ReplaceAll(s, "|", "¦")
}

// statements offers each statement to be left out. What must be there for the
// compiler, or only declares, stays.
func (f *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			if call, ok := s.X.(*ast.CallExpr); ok && isName(call.Fun, "panic") {
				continue
			}
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE || isName(s.Lhs[0], "_") {
				continue
			}
		case *ast.BranchStmt:
			if s.Tok != token.BREAK && s.Tok != token.CONTINUE {
				continue
			}
		case *ast.ReturnStmt:
			if len(s.Results) > 0 {
				continue
			}
		case *ast.IncDecStmt, *ast.SendStmt, *ast.DeferStmt, *ast.GoStmt:
		default:
			continue
		}
		f.wrap(s, "left out", "if !mutantOn(#) { ", " }")
	}
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// condition offers the leaves of a condition to be always true or false. What
// && and || join is looked at on its own, see binary.
func (f *finder) condition(e ast.Expr, both bool) {
	if e == nil || !f.isBool(e) {
		return
	}
	if b, ok := ast.Unparen(e).(*ast.BinaryExpr); ok && (b.Op == token.LAND || b.Op == token.LOR) {
		return
	}
	f.wrap(e, "always false", "(!mutantOn(#) && (", "))")
	if both {
		f.wrap(e, "always true", "(mutantOn(#) || (", "))")
	}
}

// isBool reports whether e is a plain bool that is not a constant.
func (f *finder) isBool(e ast.Expr) bool {
	t, ok := f.info.Types[e]
	if !ok || t.Value != nil || t.Type == nil {
		return false
	}
	b, ok := t.Type.(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

// binary looks at an operator.
func (f *finder) binary(e *ast.BinaryExpr) {
	t := f.info.Types[e]
	if t.Value != nil {
		return
	}
	switch e.Op {
	case token.LAND, token.LOR:
		f.condition(e.X, true)
		f.condition(e.Y, true)
	case token.LSS, token.GTR:
		if f.isBool(e) && f.pure(e.X) && f.pure(e.Y) {
			f.wrap(e, "or equal", "(", fmt.Sprintf(" || mutantOn(#) && %s == %s)", f.of(e.X), f.of(e.Y)))
		}
	case token.LEQ, token.GEQ:
		if f.isBool(e) && f.pure(e.X) && f.pure(e.Y) {
			f.wrap(e, "not equal", "(", fmt.Sprintf(" && !(mutantOn(#) && %s == %s))", f.of(e.X), f.of(e.Y)))
		}
	case token.ADD, token.SUB, token.MUL:
		if b, ok := t.Type.Underlying().(*types.Basic); ok && b.Info()&types.IsInteger != 0 && b.Info()&types.IsUntyped == 0 {
			f.wrap(e, "one more", "mutantMore(#, ", ")")
		}
	}
}

// pure reports whether an expression can be written twice, on one line.
func (f *finder) pure(e ast.Expr) bool {
	pure := !strings.Contains(f.of(e), "\n")
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if !isName(n.Fun, "len") && !isName(n.Fun, "cap") && !f.info.Types[n.Fun].IsType() {
				pure = false
			}
		case *ast.FuncLit:
			pure = false
		case *ast.UnaryExpr:
			pure = pure && n.Op != token.ARROW
		}
		return pure
	})
	return pure
}

// results offers what a function returns to be nothing. Beside an error or a
// false, callers ignore the other results.
func (f *finder) results(r *ast.ReturnStmt, typ *ast.FuncType) {
	if typ.Results == nil || len(r.Results) != typ.Results.NumFields() {
		return
	}
	var kinds []types.Type
	for _, field := range typ.Results.List {
		for range max(1, len(field.Names)) {
			kinds = append(kinds, f.info.Types[field.Type].Type)
		}
	}
	last := r.Results[len(r.Results)-1]
	fails := isName(last, "false") || isError(kinds[len(kinds)-1]) && f.isFailure(last)
	for i, e := range r.Results {
		t := f.info.Types[e]
		switch {
		case fails && e != last:
		case f.isBool(e):
			f.condition(e, true)
		case t.Value != nil || t.IsNil() || t.Type == nil || isZero(e, t.Type):
		case isError(kinds[i]):
			f.wrap(e, "no error", "mutantZero[error](#, ", ")")
		default:
			if b, ok := t.Type.(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
				continue
			}
			f.wrap(e, "nothing", "mutantZero(#, ", ")")
		}
	}
}

// isZero reports whether an expression is a struct without a value in it.
func isZero(e ast.Expr, t types.Type) bool {
	lit, ok := e.(*ast.CompositeLit)
	if !ok || len(lit.Elts) > 0 {
		return false
	}
	_, ok = t.Underlying().(*types.Struct)
	return ok
}

func isError(t types.Type) bool { return t != nil && t.String() == "error" }

// failing notes the errors that the body of "if err != nil" returns.
func (f *finder) failing(cond ast.Expr, body []ast.Stmt) {
	c, ok := cond.(*ast.BinaryExpr)
	if !ok || c.Op != token.NEQ || !isName(c.Y, "nil") {
		return
	}
	for _, s := range body {
		if r, ok := s.(*ast.ReturnStmt); ok && len(r.Results) > 0 {
			last := r.Results[len(r.Results)-1]
			f.sure[last] = f.of(last) == f.of(c.X)
		}
	}
}

// isFailure reports whether an expression is an error for sure: one that was
// looked at, one that has just been made, or one with a name of its own.
func (f *finder) isFailure(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.UnaryExpr:
		return true
	case *ast.CallExpr:
		return f.of(e.Fun) == "fmt.Errorf" || f.of(e.Fun) == "errors.New"
	case *ast.Ident:
		return f.sure[e] || strings.HasPrefix(e.Name, "Err")
	case *ast.SelectorExpr:
		return strings.HasPrefix(e.Sel.Name, "Err")
	}
	return false
}
