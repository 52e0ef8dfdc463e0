package harness

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
)

// TestSource describes the source of a test function.
type TestSource struct {
	Sets  map[string]bool // names of fields that are set
	Calls map[string]bool // names of methods and functions that are called
	Shows map[string]bool // keys of the maps that are given to a method named shows
}

// ReadTests reads the functions in the tests of the package in the current
// directory, by their names.
func ReadTests(t TB) map[string]*TestSource {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	tests := make(map[string]*TestSource)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%v", err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				tests[f.Name.Name] = readTest(f)
			}
		}
	}
	return tests
}

func readTest(f *ast.FuncDecl) *TestSource {
	s := &TestSource{make(map[string]bool), make(map[string]bool), make(map[string]bool)}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				for sel, ok := left.(*ast.SelectorExpr); ok; sel, ok = sel.X.(*ast.SelectorExpr) {
					s.Sets[sel.Sel.Name] = true
				}
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok {
				s.Sets[key.Name] = true
			}
		case *ast.CallExpr:
			switch f := n.Fun.(type) {
			case *ast.SelectorExpr:
				s.Calls[f.Sel.Name] = true
				if f.Sel.Name == "shows" {
					s.readShown(n.Args)
				}
			case *ast.Ident:
				s.Calls[f.Name] = true
			}
		}
		return true
	})
	return s
}

// readShown reads the keys of maps that are written where they are given away.
func (s *TestSource) readShown(args []ast.Expr) {
	for _, arg := range args {
		shown, ok := arg.(*ast.CompositeLit)
		if !ok {
			continue
		}
		for _, element := range shown.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				if key, ok := pair.Key.(*ast.BasicLit); ok {
					s.Shows[strings.Trim(key.Value, `"`)] = true
				}
			}
		}
	}
}
