package rules

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing/fstest"
)

// rootBudget is how many lines "go doc -short" of the root package may have: a
// reader should be able to take it in at one sitting.
const rootBudget = 76

func docRules() []rule {
	budget := []string{"package claude"}
	for i := range rootBudget {
		budget = append(budget, fmt.Sprintf("func F%d() {}", i))
	}
	budget = append(budget, "type T struct{}", "func NewT() *T { return nil }", "const (", "A = 1", "B = 2", ")", "func hidden() {}")
	return []rule{{
		name:  "doc comments",
		check: checkDocs,
		bad: fstest.MapFS{"message/m.go": source(
			"// Package message is documented.",
			"package message",
			"func Bare() {}",
			"// It is described without its name.", "func Wrong() {}",
			"// Right does.", "func Right() {}",
			"type T struct{}",
			"// Colors of a thing.", "type (", "// Red is one.", "Red int", "Blue int", ")",
			"func (T) Method() {}", "func (*T) String() string { return \"\" }", "func (hidden) Method() {}",
			"type hidden struct{}",
			"// The sizes.", "const (", "Small = 1", "Large = 2", ")",
			"const (", "Loose = 1", "Lined = 2 // Lined has a remark.", "private = 3", ")",
			"var Alone = 1",
			"// List is generic.", "type List[E any] struct{}",
			"func (l *List[E]) Push(E) {}",
		), "hook/h.go": source("package hook")},
		want: []string{
			"func Bare", "func Wrong", "type T ", "type Blue", "method T.Method", "Loose", "Alone", "method List.Push",
			"hook has no package comment",
		},
	}, {
		name:  "root budget",
		check: checkBudget,
		bad:   fstest.MapFS{"claude.go": source(budget...)},
		want:  []string{"the root package shows 79 lines"},
	}}
}

// undocumented methods need no words: their meaning is that of a well-known
// interface.
func undocumented(name string) bool {
	return slices.Contains([]string{"Error", "Unwrap", "String", "MarshalJSON", "UnmarshalJSON", "Head"}, name)
}

func checkDocs(m *module) []string {
	var complaints []string
	commented := make(map[string]bool)
	for _, f := range m.sources() {
		if _, ok := commented[f.dir()]; !ok || f.ast.Doc != nil {
			commented[f.dir()] = f.ast.Doc != nil || commented[f.dir()]
		}
		for _, decl := range f.ast.Decls {
			for _, what := range badDocs(decl) {
				complaints = append(complaints, fmt.Sprintf("%s: %s needs a comment that begins with its name", m.at(decl), what))
			}
		}
	}
	for dir, ok := range commented {
		if !ok {
			complaints = append(complaints, dir+" has no package comment")
		}
	}
	slices.Sort(complaints)
	return complaints
}

// badDocs names what a declaration exports without a proper comment.
func badDocs(decl ast.Decl) []string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		return badFunc(d)
	case *ast.GenDecl:
		var bad []string
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if !ast.IsExported(spec.Name.Name) || begins(spec.Doc, spec.Name.Name) {
					continue
				}
				if d.Lparen.IsValid() || !begins(d.Doc, spec.Name.Name) {
					bad = append(bad, "type "+spec.Name.Name+" ")
				}
			case *ast.ValueSpec:
				bad = append(bad, badValues(d, spec)...)
			}
		}
		return bad
	}
	return nil
}

func badFunc(d *ast.FuncDecl) []string {
	if !d.Name.IsExported() || begins(d.Doc, d.Name.Name) {
		return nil
	}
	if d.Recv == nil {
		return []string{"func " + d.Name.Name}
	}
	owner := receiver(d.Recv.List[0].Type)
	if !ast.IsExported(owner) || undocumented(d.Name.Name) {
		return nil
	}
	return []string{"method " + owner + "." + d.Name.Name}
}

// badValues judges constants and variables. Those of a group may share the
// comment of the group, or have a remark at the end of the line.
func badValues(d *ast.GenDecl, spec *ast.ValueSpec) []string {
	var bad []string
	for _, name := range spec.Names {
		if !name.IsExported() || begins(spec.Doc, name.Name) {
			continue
		}
		if d.Lparen.IsValid() && (d.Doc != nil || spec.Comment != nil) || begins(d.Doc, name.Name) {
			continue
		}
		bad = append(bad, d.Tok.String()+" "+name.Name)
	}
	return bad
}

// receiver is the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// begins reports whether a comment begins with a name.
func begins(c *ast.CommentGroup, name string) bool {
	first, _, _ := strings.Cut(strings.ReplaceAll(c.Text(), "\n", " "), " ")
	return strings.TrimRight(first, ",.:;") == name
}

// checkBudget counts as "go doc -short" prints: a group of constants or
// variables is one line.
func checkBudget(m *module) []string {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, f := range m.sources() {
		if f.dir() != "." {
			continue
		}
		// Parsed again, because package doc changes what it is given.
		parsed, err := parser.ParseFile(fset, f.path, f.src, parser.ParseComments)
		if err != nil {
			return []string{err.Error()}
		}
		files = append(files, parsed)
	}
	p, err := doc.NewFromFiles(fset, files, modulePath)
	if err != nil {
		return []string{err.Error()}
	}
	n := len(p.Consts) + len(p.Vars) + len(p.Funcs)
	for _, t := range p.Types {
		n += 1 + len(t.Consts) + len(t.Vars) + len(t.Funcs)
	}
	if n > rootBudget {
		return []string{fmt.Sprintf("the root package shows %d lines, its budget is %d", n, rootBudget)}
	}
	return nil
}
