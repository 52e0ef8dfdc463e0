package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing/fstest"
)

func conductRules() []rule {
	return []rule{{
		name:  "testing stays in tests",
		check: checkTesting,
		bad: fstest.MapFS{
			"a.go":                 source("package claude", `import _ "testing"`),
			"b.go":                 source("package claude", `import _ "testing/fstest"`),
			"a_test.go":            source("package claude", `import _ "testing"`),
			"store/storetest/s.go": source("package storetest", `import _ "testing"`),
		},
		want: []string{"a.go:2:8", "b.go:2:8"},
	}, {
		name:  "tests do not sleep",
		check: checkSleep,
		bad: fstest.MapFS{
			"a_test.go": source("package claude", `import "time"`, "func f() { time.Sleep(1); time.Now(); other.Sleep() }"),
			"b_test.go": source("package claude", `import clock "time"`, "var nap = clock.Sleep"),
			"c.go":      source("package claude", `import "time"`, "func g() { time.Sleep(1) }"),
		},
		want: []string{"a_test.go:3:12", "b_test.go:3:11"},
	}, {
		name:  "tests name what they need",
		check: checkSystemSkip,
		bad: fstest.MapFS{
			"a_test.go": source("package claude", `import "runtime"`, "func f(t *testing.T) {",
				`if runtime.GOOS == "windows" { t.Skip("no") }`,
				`if x && runtime.GOOS != "linux" { log(); t.Skipf("no %s", "x") }`,
				`if runtime.GOOS == "windows" { name += ".exe" }`,
				`if err != nil { t.Skip("no") }`, "}"),
		},
		want: []string{"a_test.go:4:1", "a_test.go:5:1"},
	}, {
		name:  "folders are private",
		check: checkFolders,
		bad: fstest.MapFS{
			"a.go":               source("package claude", `import "os"`, "func f() { os.Mkdir(p, 0o700); os.MkdirAll(p, 0o700); root.Mkdir(p, 0o700); os.Remove(p) }"),
			"serve/b.go":         source("package serve", `import system "os"`, "var temp = system.MkdirTemp"),
			"b_test.go":          source("package claude", `import "os"`, "func g() { os.MkdirAll(p, 0o755) }"),
			"internal/test/x.go": source("package test", `import "os"`, "func g() { os.MkdirAll(p, 0o755) }"),
			"examples/x/main.go": source("package main", `import "os"`, "func g() { os.MkdirAll(p, 0o755) }"),
		},
		want: []string{"a.go:3:12", "a.go:3:32", "serve/b.go:3:12"},
	}, {
		name:  "no init",
		check: checkInit,
		bad: fstest.MapFS{"a.go": source("package claude",
			"func init() {}", "type t struct{}", "func (t) init() {}", "func initialize() {}")},
		want: []string{"a.go:2:1"},
	}, {
		name:  "no package state",
		check: checkState,
		bad: fstest.MapFS{
			"a.go": source("package claude",
				"var counter int",
				"var enabled = true",
				`var table = map[string]int{"a": 1}`,
				`var Names = []string{"a"}`,
				"var lock = sync.Mutex{}",
				"var cache = make(map[string]int)",
				`var ErrFine = errors.New("fine")`,
				"var ErrTheirs = peer.ErrCancelled",
				"var theirs = peer.Table",
				`var form = regexp.MustCompile("a")`,
				`var errWrapped = fmt.Errorf("more: %w", ErrFine)`,
				"var kind = reflect.TypeFor[int]()",
				"var _ error = (*T)(nil)",
				"var fixed = [...]int{1, 2}",
				"var pair = struct{ a, b int }{1, 2}",
				"var ptr = &T{}",
				`var ErrMoved = errors.New("moved")`,
				"var bumped = [1]int{0}",
				"var shared = [1]int{0}",
				"//go:embed page.md", "var page string",
				"//go:embed moved.md", "var moved string"),
			"b.go": source("package claude",
				`func set() { table["b"] = 2; ErrMoved = nil; bumped[0]++; use(&shared); moved = ""; local := fixed; local[0] = 1; _ = table["a"] }`),
			"hook/h.go": source("package hook", "func f() { fixed[0] = 1 }"),
		},
		want: []string{"counter", "enabled", "table", "lock", "cache", "ptr", "theirs", "ErrMoved", "bumped", "shared", "moved"},
	}}
}

func checkTesting(m *module) []string {
	var complaints []string
	for _, f := range m.sources() {
		if dir := f.dir(); dir == "store/storetest" || dir == "workspace/blobtest" || dir == "internal/test/realstore" { // tests for others to run
			continue
		}
		for _, spec := range f.ast.Imports {
			if name := importPath(spec); name == "testing" || strings.HasPrefix(name, "testing/") {
				complaints = append(complaints, m.at(spec)+": only tests import "+name)
			}
		}
	}
	return complaints
}

func checkSleep(m *module) []string {
	var complaints []string
	for _, f := range m.tests() {
		clock := importName(f, "time")
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Sleep" && isIdent(sel.X, clock) {
				complaints = append(complaints, m.at(sel)+": a test that sleeps is slow or flaky: wait for what it waits for")
			}
			return true
		})
	}
	return complaints
}

// checkSystemSkip finds tests that are skipped by the name of a system.
func checkSystemSkip(m *module) []string {
	var complaints []string
	for _, f := range m.tests() {
		system := importName(f, "runtime")
		ast.Inspect(f.ast, func(n ast.Node) bool {
			branch, ok := n.(*ast.IfStmt)
			if !ok || !mentions(branch.Cond, func(sel *ast.SelectorExpr) bool { return sel.Sel.Name == "GOOS" && isIdent(sel.X, system) }) {
				return true
			}
			if mentions(branch.Body, func(sel *ast.SelectorExpr) bool { return strings.HasPrefix(sel.Sel.Name, "Skip") }) {
				complaints = append(complaints, m.at(branch)+": a test is skipped by what it needs (internal/test/need), not by the name of a system")
			}
			return true
		})
	}
	return complaints
}

// checkFolders finds folders that are private by their mode alone, which Windows ignores.
func checkFolders(m *module) []string {
	var complaints []string
	for _, f := range m.sources() {
		switch dir := f.dir(); {
		case dir == "internal/private", dir == "internal/release", strings.HasPrefix(dir, "internal/test"), strings.HasPrefix(dir, "examples/"), strings.Contains(dir, "bench"):
			continue // what makes them, and what holds nothing of a user
		case dir == "claudetest": // folders for the golden files of a repository
			continue
		}
		system := importName(f, "os")
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && strings.HasPrefix(sel.Sel.Name, "Mkdir") && isIdent(sel.X, system) {
				complaints = append(complaints, m.at(sel)+": on Windows a mode keeps no one out: make the folder with internal/private")
			}
			return true
		})
	}
	return complaints
}

// mentions reports whether a selector in a piece of code is one of those that are wanted.
func mentions(code ast.Node, wanted func(*ast.SelectorExpr) bool) (found bool) {
	ast.Inspect(code, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		found = found || ok && wanted(sel)
		return !found
	})
	return found
}

// importName is how a file calls an imported package, "" if it does not.
func importName(f *file, importPkg string) string {
	for _, spec := range f.ast.Imports {
		if importPath(spec) != importPkg {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(importPkg)
	}
	return ""
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && name != "" && id.Name == name
}

func checkInit(m *module) []string {
	var complaints []string
	for _, f := range m.sources() {
		for _, decl := range f.ast.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok && d.Recv == nil && d.Name.Name == "init" {
				complaints = append(complaints, m.at(d)+": nothing happens on import: no init")
			}
		}
	}
	return complaints
}

// checkState allows variables of packages that are constants in all but name:
// errors, expressions, embedded files, and tables that never change, also those that are
// made when they are first used.
func checkState(m *module) []string {
	var complaints []string
	changed := changes(m)
	for _, f := range m.sources() {
		for _, decl := range f.ast.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok || d.Tok != token.VAR {
				continue
			}
			for _, spec := range d.Specs {
				v := spec.(*ast.ValueSpec)
				for i, name := range v.Names {
					constant := i < len(v.Values) && isConstant(v.Values[i]) || isEmbedded(d, v)
					if name.Name == "_" || constant && !changed[f.dir()+" "+name.Name] {
						continue
					}
					complaints = append(complaints, fmt.Sprintf("%s: the variable %s is state of the package", m.at(name), name.Name))
				}
			}
		}
	}
	return complaints
}

// isEmbedded reports whether a variable is filled by the compiler.
func isEmbedded(d *ast.GenDecl, v *ast.ValueSpec) bool {
	for _, group := range []*ast.CommentGroup{d.Doc, v.Doc} {
		if group != nil && slices.ContainsFunc(group.List, func(c *ast.Comment) bool {
			return strings.HasPrefix(c.Text, "//go:embed ")
		}) {
			return true
		}
	}
	return false
}

// isConstant reports whether a value can stand for a constant.
func isConstant(value ast.Expr) bool {
	switch v := value.(type) {
	case *ast.CallExpr:
		fun := v.Fun
		if index, ok := fun.(*ast.IndexExpr); ok { // of a generic function
			fun = index.X
		}
		if isIdent(fun, "lazily") { // an expression that is compiled when it is first used
			return true
		}
		sel, ok := fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		pkg, ok := sel.X.(*ast.Ident)
		return ok && slices.Contains([]string{"errors.New", "fmt.Errorf", "regexp.MustCompile", "reflect.TypeFor", "sync.OnceValue", "sync.OnceValues"}, pkg.Name+"."+sel.Sel.Name)
	case *ast.SelectorExpr: // an error of another package, offered here
		return strings.HasPrefix(v.Sel.Name, "Err")
	case *ast.CompositeLit:
		sel, ok := v.Type.(*ast.SelectorExpr)
		return !ok || !isIdent(sel.X, "sync") && !isIdent(sel.X, "atomic")
	}
	return false
}

// changes finds names that are assigned to, counted up or down, or whose
// address is taken, by package. It goes by the name alone, so a local variable
// must not be called like one of the package.
func changes(m *module) map[string]bool {
	changed := make(map[string]bool)
	for _, f := range m.sources() {
		note := func(e ast.Expr) {
			if name := base(e); name != "" {
				changed[f.dir()+" "+name] = true
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if n.Tok != token.DEFINE {
					for _, e := range n.Lhs {
						note(e)
					}
				}
			case *ast.IncDecStmt:
				note(n.X)
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					note(n.X)
				}
			case *ast.CallExpr:
				if id, ok := n.Fun.(*ast.Ident); ok && slices.Contains([]string{"delete", "clear", "copy"}, id.Name) && len(n.Args) > 0 {
					note(n.Args[0])
				}
			}
			return true
		})
	}
	return changed
}

// base is the variable that an expression is a part of.
func base(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.IndexExpr:
		return base(e.X)
	case *ast.SelectorExpr:
		return base(e.X)
	case *ast.SliceExpr:
		return base(e.X)
	case *ast.ParenExpr:
		return base(e.X)
	case *ast.StarExpr:
		return base(e.X)
	}
	return ""
}
