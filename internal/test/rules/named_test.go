package rules

import (
	"fmt"
	"go/ast"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing/fstest"
)

func namedRules() []rule {
	return []rule{{
		name:  "promises name tests",
		check: checkNamed,
		bad: fstest.MapFS{
			"SECURITY.md":      source("# Security", "It holds: `TestThere`, `FuzzThere`.", "This also holds: `TestGone`, `FuzzGone`."),
			"docs/seeded.md":   source("| a bug | `TestLost` |", "| another | `TestInside` |"),
			"docs/promises.md": source("| a promise | `TestThere`, `y.TestInside`, `y.TestVanished` |"),
			"y/go.mod":         source("module example.com/y"),
			"y/y_test.go":      source("package y", "func TestInside() {}"),
			"a_test.go":        source("package claude", "func TestThere() {}", "func FuzzThere() {}", "func (t) TestGone() {}"),
			"b.go":             source("package claude", "func TestGone() {}"),
		},
		want: []string{
			"SECURITY.md:3: there is no test TestGone",
			"SECURITY.md:3: there is no test FuzzGone",
			"docs/seeded.md:1: there is no test TestLost",
			"docs/promises.md:1: there is no test TestVanished",
		},
	}, {
		name:  "commands name tests",
		check: checkContributing,
		bad: fstest.MapFS{
			"CONTRIBUTING.md": source("```sh", "go test -run 'TestTh|TestGone' -fuzz '^FuzzThere$' ./...  # FuzzGone: slow", "```"),
			"a_test.go":       source("package claude", "func TestThere() {}", "func FuzzThere() {}"),
		},
		want: []string{
			"CONTRIBUTING.md:2: no test begins with TestGone",
			"CONTRIBUTING.md:2: no test begins with FuzzGone",
		},
	}, {
		name:  "promises are made",
		check: checkNamed,
		bad:   fstest.MapFS{"docs/seeded.md": source("`Test`"), "docs/promises.md": source("`Test`")},
		want:  []string{"SECURITY.md"},
	}}
}

// testName is the name of a test, or package and name.
var testName = regexp.MustCompile("`(?:[a-z0-9]+\\.)?((?:Test|Fuzz)[A-Z][A-Za-z0-9_]*)`")

// testNames are the functions of test files, those of the modules inside of the
// module included.
func testNames(m *module) map[string]bool {
	known := make(map[string]bool)
	all, err := m.nested()
	if err != nil {
		return known // then nothing is known, and every name is a complaint
	}
	for _, m := range append(slices.Collect(maps.Values(all)), m) {
		for _, f := range m.tests() {
			for _, decl := range f.ast.Decls {
				if d, ok := decl.(*ast.FuncDecl); ok && d.Recv == nil {
					known[d.Name.Name] = true
				}
			}
		}
	}
	return known
}

// checkNamed holds pages that promise something to tests that exist.
func checkNamed(m *module) []string {
	known := testNames(m)
	var complaints []string
	for _, page := range []string{"SECURITY.md", "docs/seeded.md", "docs/promises.md"} {
		text, err := fs.ReadFile(m.fsys, page)
		if err != nil {
			complaints = append(complaints, err.Error())
			continue
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			for _, match := range testName.FindAllStringSubmatch(line, -1) {
				if !known[match[1]] {
					complaints = append(complaints, fmt.Sprintf("%s:%d: there is no test %s", page, n, match[1]))
				}
			}
		}
	}
	return complaints
}

var testPrefix = regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z][A-Za-z0-9_]*`)

// checkContributing checks that the commands for contributors name existing
// tests: a command names the beginning of one.
func checkContributing(m *module) []string {
	const page = "CONTRIBUTING.md"
	text, err := fs.ReadFile(m.fsys, page)
	if err != nil {
		return nil
	}
	names := slices.Collect(maps.Keys(testNames(m)))
	var complaints []string
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		for _, prefix := range testPrefix.FindAllString(line, -1) {
			if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, prefix) }) {
				complaints = append(complaints, fmt.Sprintf("%s:%d: no test begins with %s", page, n, prefix))
			}
		}
	}
	return complaints
}
