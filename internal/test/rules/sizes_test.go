package rules

import (
	"fmt"
	"go/ast"
	"strings"
	"testing/fstest"
)

// What a reader can hold in mind.
const (
	maxSource = 500 // lines of a file
	maxTest   = 900 // lines of a file of tests
	maxFunc   = 80  // lines of a function
)

func sizeRules() []rule {
	blank := func(n int) string { return strings.Repeat("\n", n) }
	return []rule{{
		name:  "sizes",
		check: checkSizes,
		bad: fstest.MapFS{
			"long.go":      source("package claude", blank(maxSource-1)),
			"long_test.go": source("package claude", blank(maxTest-1)),
			"fits.go":      source("package claude", blank(maxSource-2)),
			"func.go": source("package claude",
				"func long() {"+blank(maxFunc)+"}",
				"func fits() {"+blank(maxFunc-1)+"}"),
		},
		want: []string{
			"long.go has 501 lines, at most 500",
			"long_test.go has 901 lines, at most 900",
			"func.go:2:1: long has 81 lines, at most 80",
		},
	}}
}

func checkSizes(m *module) []string {
	var complaints []string
	for _, f := range m.files {
		bound := maxSource
		if f.test {
			bound = maxTest
		}
		if f.lines > bound {
			complaints = append(complaints, fmt.Sprintf("%s has %d lines, at most %d", f.path, f.lines, bound))
		}
	}
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
