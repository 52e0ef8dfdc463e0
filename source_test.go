package claude_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// testSource is what a function of the tests does, as it is written.
type testSource struct {
	file  string
	sets  map[string]bool // names of fields that are set
	calls map[string]bool // names of methods and functions that are called
}

// readTests reads the functions in the tests of this package, by their names.
func readTests(t *testing.T) map[string]*testSource {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	tests := make(map[string]*testSource)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				tests[f.Name.Name] = readTest(name, f)
			}
		}
	}
	return tests
}

// real reports whether the function belongs to tests with the real CLI.
func (s *testSource) real() bool { return strings.HasPrefix(s.file, "real_") }

func readTest(file string, f *ast.FuncDecl) *testSource {
	s := &testSource{file, make(map[string]bool), make(map[string]bool)}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				for sel, ok := left.(*ast.SelectorExpr); ok; sel, ok = sel.X.(*ast.SelectorExpr) {
					s.sets[sel.Sel.Name] = true
				}
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok {
				s.sets[key.Name] = true
			}
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok {
				s.calls[sel.Sel.Name] = true
			}
		}
		return true
	})
	return s
}
