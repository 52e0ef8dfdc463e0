package rules

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"slices"
	"strings"
	"testing/fstest"
	"time"
)

// leastPatience is how long a test must be ready to wait. A process on a busy machine
// stands still for a second, and now and then for several.
const leastPatience = 10 * time.Second

func patienceRules() []rule {
	return []rule{{
		name:  "tests are patient",
		check: checkPatience,
		bad: fstest.MapFS{
			"a_test.go": source("package claude", `import ("context"; "testing"; "testing/synctest"; "time")`,
				"func f() { context.WithTimeout(nil, 3*time.Second) }",
				"func g() { context.WithTimeout(nil, 10*time.Second) }",
				"func h() { context.WithTimeout(nil, time.Second) } // real time: it has to end",
				"func i() { _ = Options{TTL: 100 * time.Millisecond, Poll: time.Second} }",
				"func j() { o.TTL, o.Poll = time.Second, time.Second; if time.Since(x) > 5*(time.Second) { f() } }",
				"func k() { select { case <-time.After(time.Second): t.Fatal(1); case <-time.After(time.Second): f() } }",
				"func l() { synctest.Test(nil, func(*testing.T) { context.WithTimeout(nil, time.Second); m() }) }",
				"func m() { context.WithTimeout(nil, time.Second); n() }",
				"func n() { context.WithTimeout(nil, time.Second) }",
				"func inside(do func()) { synctest.Test(nil, func(*testing.T) { do() }) }",
				"func o() { inside(func() { context.WithTimeout(nil, time.Second) }) }",
				"func TestP() { n() }",
			),
			"b.go": source("package claude", `import ("context"; "time")`, "func q() { context.WithTimeout(nil, time.Second) }"),
		},
		want: []string{"a_test.go:3:37", "a_test.go:6:29", "a_test.go:7:28", "a_test.go:7:73", "a_test.go:8:39", "a_test.go:11:37"},
	}}
}

// checkPatience finds what can fail a test because the machine is slow: contexts, leases
// and bounds of less than ten seconds. Clocks of bubbles stand still while something
// runs, so what only runs there may be short. A line whose comment says "real time: " and
// why, or that it is "in a bubble", is left out.
func checkPatience(m *module) (complaints []string) {
	packages := make(map[string][]*file)
	for _, f := range m.tests() {
		packages[f.dir()] = append(packages[f.dir()], f)
	}
	for _, files := range packages {
		s := newSurvey(files)
		excused := make(map[string]bool) // lines
		for _, f := range files {
			for _, c := range slices.Concat(comments(f)...) {
				if strings.HasPrefix(c.Text, "// real time: ") || strings.HasPrefix(c.Text, "// in a bubble") {
					p := m.fset.Position(c.Pos())
					excused[fmt.Sprint(p.Filename, p.Line)] = true
				}
			}
		}
		for _, h := range s.hasty {
			if p := m.fset.Position(h.at.Pos()); !s.bubbles[h.by] && !excused[fmt.Sprint(p.Filename, p.Line)] {
				complaints = append(complaints, fmt.Sprintf("%s: %v is too short for a busy machine: wait for %v, use synctest, or say \"real time: \" and why it cannot fail", p, h.d, leastPatience))
			}
		}
	}
	slices.Sort(complaints)
	return complaints
}

func comments(f *file) (all [][]*ast.Comment) {
	for _, g := range f.ast.Comments {
		all = append(all, g.List)
	}
	return all
}

// survey holds the knowledge about the waits in the tests of a package.
type survey struct {
	declared map[string]bool // functions, by their names
	wraps    map[string]bool // those that call synctest.Test, for what they are given
	uses     map[string][]use
	bubbles  map[string]bool // functions that only run in bubbles
	hasty    []hasty
}

// use is where a function is named.
type use struct {
	by     string
	bubble bool
}

// hasty is a wait that is short, in a function.
type hasty struct {
	by string
	at ast.Expr
	d  time.Duration
}

func newSurvey(files []*file) *survey {
	s := &survey{declared: make(map[string]bool), wraps: make(map[string]bool), uses: make(map[string][]use), bubbles: make(map[string]bool)}
	each := func(do func(name string, d ast.Decl)) {
		for _, f := range files {
			for _, d := range f.ast.Decls {
				name := ""
				if fn, ok := d.(*ast.FuncDecl); ok {
					name = fn.Name.Name
				}
				do(name, d)
			}
		}
	}
	each(func(name string, d ast.Decl) {
		s.declared[name] = name != ""
		ast.Inspect(d, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && called(call) == "synctest.Test" && !strings.HasPrefix(name, "Test") {
				s.wraps[name] = true
			}
			return true
		})
	})
	each(func(name string, d ast.Decl) { s.walk(d, name, false) })
	for name := range s.declared {
		s.bubbles[name] = name != "" && len(s.uses[name]) > 0
	}
	for changed := true; changed; {
		changed = false
		for name := range s.bubbles {
			outside := func(u use) bool { return u.by != name && !u.bubble && !s.bubbles[u.by] }
			if s.bubbles[name] && slices.ContainsFunc(s.uses[name], outside) {
				s.bubbles[name], changed = false, true
			}
		}
	}
	return s
}

// walk takes note of what a part of a function does.
func (s *survey) walk(n ast.Node, by string, bubble bool) {
	ast.Inspect(n, func(inner ast.Node) bool {
		note := func(e ast.Expr) {
			if d := duration(e); d > 0 && d < leastPatience && !bubble {
				s.hasty = append(s.hasty, hasty{by, e, d})
			}
		}
		switch e := inner.(type) {
		case *ast.FuncDecl:
			if e.Body != nil && inner == n {
				s.walk(e.Body, by, bubble)
			}
			return false
		case *ast.CallExpr:
			name := called(e)
			if (name == "synctest.Test" || s.wraps[name]) && !bubble {
				for _, arg := range e.Args {
					s.walk(arg, by, true)
				}
				return false
			}
			if name == "context.WithTimeout" && len(e.Args) == 2 {
				note(e.Args[1])
			}
		case *ast.KeyValueExpr:
			if isIdent(e.Key, "TTL") {
				note(e.Value)
			}
		case *ast.AssignStmt:
			for i, left := range e.Lhs {
				if sel, ok := left.(*ast.SelectorExpr); ok && sel.Sel.Name == "TTL" && len(e.Lhs) == len(e.Rhs) {
					note(e.Rhs[i])
				}
			}
		case *ast.BinaryExpr:
			if call, ok := e.X.(*ast.CallExpr); ok && e.Op == token.GTR && called(call) == "time.Since" {
				note(e.Y)
			}
		case *ast.CommClause:
			if d := awaited(e.Comm); d != nil && fails(e.Body) {
				note(d)
			}
		case *ast.Ident:
			if s.declared[e.Name] {
				s.uses[e.Name] = append(s.uses[e.Name], use{by, bubble})
			}
		}
		return true
	})
}

// called is the name of what is called, with its package or variable.
func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			return x.Name + "." + f.Sel.Name
		}
	}
	return ""
}

// awaited is the time of a case that waits for time.After, nil for any other.
func awaited(comm ast.Stmt) ast.Expr {
	s, ok := comm.(*ast.ExprStmt)
	if !ok {
		return nil
	}
	if recv, ok := s.X.(*ast.UnaryExpr); ok {
		if call, ok := recv.X.(*ast.CallExpr); ok && called(call) == "time.After" && len(call.Args) == 1 {
			return call.Args[0]
		}
	}
	return nil
}

// fails reports whether statements fail the test.
func fails(body []ast.Stmt) bool {
	for _, s := range body {
		if e, ok := s.(*ast.ExprStmt); ok {
			if call, ok := e.X.(*ast.CallExpr); ok {
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Fatal", "Fatalf", "Error", "Errorf"}, sel.Sel.Name) {
					return true
				}
			}
		}
	}
	return false
}

// duration is the value of a constant time, 0 of anything else.
func duration(e ast.Expr) time.Duration {
	v := value(e)
	if v == nil {
		return 0
	}
	n, _ := constant.Int64Val(constant.ToInt(v))
	return time.Duration(n)
}

func value(e ast.Expr) constant.Value {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return value(e.X)
	case *ast.BasicLit:
		return constant.MakeFromLiteral(e.Value, e.Kind, 0)
	case *ast.SelectorExpr:
		units := map[string]time.Duration{"Microsecond": time.Microsecond, "Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}
		if d, ok := units[e.Sel.Name]; ok && isIdent(e.X, "time") {
			return constant.MakeInt64(int64(d))
		}
	case *ast.BinaryExpr:
		if x, y := value(e.X), value(e.Y); x != nil && y != nil && e.Op == token.MUL {
			return constant.BinaryOp(x, e.Op, y)
		}
	}
	return nil
}
