package rules

import (
	"fmt"
	"go/ast"
	"strings"
	"testing/fstest"
)

// What a reader can hold in mind.
const maxFunc = 80 // lines of a function

func sizeRules() []rule {
	blank := func(n int) string { return strings.Repeat("\n", n) }
	return []rule{{
		name:  "sizes",
		check: checkSizes,
		bad: fstest.MapFS{
			"func.go": source("package claude",
				"func long() {"+blank(maxFunc)+"}",
				"func fits() {"+blank(maxFunc-1)+"}"),
		},
		want: []string{
			"func.go:2:1: long has 81 lines, at most 80",
		},
	}}
}

func checkSizes(m *module) []string {
	var complaints []string
	for _, f := range m.sources() {
		for _, decl := range f.ast.Decls {
			d, ok := decl.(*ast.FuncDecl)
			if n := m.lines(decl); ok && n > maxFunc {
				complaints = append(complaints, fmt.Sprintf("%s: %s has %d lines, at most %d", m.at(d), d.Name.Name, n, maxFunc))
			}
		}
	}
	return complaints
}
