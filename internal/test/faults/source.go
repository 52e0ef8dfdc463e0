package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// tests are the test functions of the module: by package and name, with the
// text literals that stand in their package, among which are the names of
// subtests.
type tests struct {
	functions map[string]map[string]bool // "package.TestX", or "TestX" of the root: literals of the function
	literals  map[string]map[string]bool // "package": literals of its test files
}

// readTests parses the test files below a root.
func readTests(root fs.FS) (*tests, error) {
	t := &tests{functions: make(map[string]map[string]bool), literals: make(map[string]map[string]bool)}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); name != "." && (base[0] == '.' || base == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		src, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		return t.add(name, src)
	})
	return t, err
}

func (t *tests) add(name string, src []byte) error {
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir := path.Dir(name)
	if t.literals[dir] == nil {
		t.literals[dir] = make(map[string]bool)
	}
	for _, decl := range file.Decls {
		found := literals(decl)
		for text := range found {
			t.literals[dir][text] = true
		}
		f, ok := decl.(*ast.FuncDecl)
		if ok && f.Recv == nil && (strings.HasPrefix(f.Name.Name, "Test") || strings.HasPrefix(f.Name.Name, "Fuzz")) {
			t.functions[strings.TrimPrefix(dir+".", "..")+f.Name.Name] = found
		}
	}
	return nil
}

// literals are the texts that stand in a declaration.
func literals(decl ast.Decl) map[string]bool {
	found := make(map[string]bool)
	ast.Inspect(decl, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				found[text] = true
			}
		}
		return true
	})
	return found
}

// missing returns what is wrong with the name of a test, "" if it exists. In the
// name of a function * stands for any letters: one test at least must match. The
// parts of a subtest's name are looked for as literals: in the function, or,
// where its cases stand in another one, in its package.
func (t *tests) missing(name string) string {
	if strings.Contains(name, "*") {
		for known := range t.functions {
			if ok, err := path.Match(name, known); ok && err == nil {
				return ""
			}
		}
		return "there is no test like " + name
	}
	if _, ok := t.functions[name]; ok {
		return ""
	}
	// The package may have slashes of its own.
	for i := strings.IndexByte(name, '/'); i >= 0; i = next(name, i) {
		if f, ok := t.functions[name[:i]]; ok {
			return t.subtest(name[:i], name[i+1:], f)
		}
	}
	return "there is no test " + name
}

// next is the place of the next slash after i, -1 if there is none.
func next(name string, i int) int {
	j := strings.IndexByte(name[i+1:], '/')
	if j < 0 {
		return -1
	}
	return i + 1 + j
}

func (t *tests) subtest(test, sub string, own map[string]bool) string {
	dir := "."
	if i := strings.LastIndexByte(test, '.'); i >= 0 {
		dir = test[:i]
	}
	for part := range strings.SplitSeq(sub, "/") {
		if !own[part] && !t.literals[dir][part] {
			return test + " has no case " + strconv.Quote(part)
		}
	}
	return ""
}
