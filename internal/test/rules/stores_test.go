package rules

import (
	"go/ast"
	"testing/fstest"
)

func storeRules() []rule {
	return []rule{{
		name:  "no type assertion on a store",
		check: checkStoreAssertions,
		bad: fstest.MapFS{
			"a.go": source("package claude", `import "github.com/claude-agent-go/claude/store"`,
				"func f(s store.Transcripts) { _, _ = s.(store.Leases); _ = s.(error) }"),
			"b.go": source("package claude", `import kept "github.com/claude-agent-go/claude/store"`,
				"func g(s any) { switch s.(type) { case kept.Records: } }"),
			"store/a.go":      source("package store", "func f(s any) { _ = s.(Fleet); _ = s.(*KeyError) }"),
			"store/b.go":      source("package store", "func g(s any) { _ = s.(Notifier) }"),
			"fleet/notice.go": source("package fleet", `import "github.com/claude-agent-go/claude/store"`, "func f(s any) { _ = s.(store.Notifier) }"),
		},
		want: []string{"a.go:3:41: ", "b.go:3:40: ", "store/a.go:2:24: ", "store/b.go:2:24: "},
	}}
}

// asked are the abilities of stores that are still found by type assertion, and where. No
// others may be added.
func asked() map[string][]string {
	return map[string][]string{
		"Notifier": {"fleet/notice.go", "fleet/options.go"},
	}
}

// checkStoreAssertions wants all code to take the contract of a store that it
// needs. A type assertion bypasses a store that wraps another one.
func checkStoreAssertions(m *module) []string {
	contracts := map[string]bool{"Transcripts": true, "Leases": true, "Records": true, "Sessions": true, "Fleet": true}
	for name := range asked() {
		contracts[name] = true
	}
	var complaints []string
	for _, f := range m.sources() {
		pkg := importName(f, modulePath+"/store")
		check := func(t ast.Expr) {
			name := ""
			switch t := t.(type) {
			case *ast.SelectorExpr:
				if pkg != "" && isIdent(t.X, pkg) {
					name = t.Sel.Name
				}
			case *ast.Ident:
				if f.dir() == "store" {
					name = t.Name
				}
			}
			if !contracts[name] {
				return
			}
			for _, at := range asked()[name] {
				if at == f.path {
					return
				}
			}
			complaints = append(complaints, m.at(t)+": a store is asked whether it is a "+name+": take the contract that is needed instead")
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeAssertExpr:
				if n.Type != nil {
					check(n.Type)
				}
			case *ast.TypeSwitchStmt:
				for _, c := range n.Body.List {
					for _, t := range c.(*ast.CaseClause).List {
						check(t)
					}
				}
			}
			return true
		})
	}
	return complaints
}
