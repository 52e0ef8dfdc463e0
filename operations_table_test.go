package claude_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/operation"
)

// TestEveryOperationHasARow holds the table of operations against the methods of
// a session, and wants a test in this package for what each sends.
func TestEveryOperationHasARow(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	performed := make(map[string]bool)
	var tests strings.Builder
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			tests.Write(text)
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		operationsIn(file, performed)
	}
	for op := range performed {
		if operation.Find(op) == nil {
			t.Errorf("internal/operation has no row for %s", op)
		}
	}
	session := reflect.TypeFor[*claude.Session]()
	for op := range operation.All() {
		if !strings.Contains(op.Methods, "Session.") || op.Subtype == "initialize" {
			continue
		}
		if !performed[op.Subtype] {
			t.Errorf("no method performs %s", op.Subtype)
		}
		if !strings.Contains(tests.String(), `"`+op.Subtype+`"`) {
			t.Errorf("no test in this package shows what %s sends", op.Subtype)
		}
		for name := range strings.SplitSeq(op.Methods, ", ") {
			if _, ok := session.MethodByName(strings.TrimPrefix(name, "Session.")); !ok {
				t.Errorf("%s is said to be performed by %s, which does not exist", op.Subtype, name)
			}
		}
	}
}

// operationsIn notes the operations that a file performs: the text in a call of
// operate, or a constant op beside it.
func operationsIn(file *ast.File, performed map[string]bool) {
	note := func(e ast.Expr) {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if op, err := strconv.Unquote(lit.Value); err == nil {
				performed[op] = true
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "operate" && len(n.Args) > 1 {
				note(n.Args[1])
			}
		case *ast.ValueSpec:
			if n.Names[0].Name == "op" && len(n.Values) == 1 {
				note(n.Values[0])
			}
		}
		return true
	})
}
