package rules

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing/fstest"
)

// apiFile has everything that programs can use of this module and of those inside
// of it, one name a line. A line that goes, or changes, breaks programs.
const apiFile = "docs/api.txt"

func apiRules() []rule {
	return []rule{{
		name:  "API",
		check: checkAPI,
		bad: fstest.MapFS{
			"a.go": source("package claude",
				"type T struct { A int; b int; *B }", "type B struct{}", "type base struct{}", "func (base) Promoted() {}",
				"func New(name string, n ...int) (t *T, err error) { return nil, nil }",
				"func (t *T) Do(x, y int) {}", "func hidden() {}",
				"type I interface { Close() error; sealed() }",
				"type E string", `const One E = "one"`, "const Two = 2",
				"func As[V any](v V) V { return v }",
				"type S struct { base }"),
			"internal/x/x.go": source("package x", "func Inside() {}"),
			"cmd/c/main.go":   source("package main", "func Main() {}"),
			"a/b/go.mod":      source("module example.com/b"),
			"a/b/b.go":        source("package b", "func Inner() {}", "func Gone() {}"),
			"a/b/c/c.go":      source("package c", "func Below() {}"),
			apiFile: source(
				"a/b func Gone()", "a/b/c func Below()",
				"claude const One E = \"one\"", "claude const Two = 2",
				"claude field T.*B", "claude field T.A int",
				"claude func As[V any](V) V", "claude func New(string, ...int) (*T, error)", "claude func Old()",
				"claude interface I.Close() error", "claude interface I: others cannot implement it",
				"claude method (*T) Do(int) ",
				"claude method (S) Promoted()", "claude type B struct", "claude type E string",
				"claude type I interface", "claude type S struct", "claude type T struct"),
		},
		want: []string{
			"- claude func Old()",
			"+ a/b func Inner()",
			"- claude method (*T) Do(int) ",
			"+ claude method (*T) Do(int, int)",
			"go test ./internal/test/rules -update",
		},
	}, {
		name:  "one name for one type",
		check: checkTypeNames,
		bad: fstest.MapFS{
			"a.go":            source("package claude", "type Options struct{}", "type Usage struct{}", "type Effort = control.Effort", "type task struct{}"),
			"control/c.go":    source("package control", "type Usage struct{}", "type Effort string", "type Task struct{}"),
			"host/h.go":       source("package host", "type Options struct{}", "type Usage int"),
			"internal/x/x.go": source("package x", "type Task struct{}"),
			"serve/api/s.go":  source("package api", "type Task struct{}"),
		},
		want: []string{"type Usage is in claude, control, host"},
	}}
}

// sharedNames are names of types that several packages may have, because each
// is the noun of its package and cannot be taken for the other.
func sharedNames() map[string]string {
	return map[string]string{
		"Options":  "what a session, and what a host, is started with",
		"Result":   "how a turn ends, and what a tool returns",
		"Session":  "one that runs, and one in the list of a store",
		"Answer":   "what the model says, and what a person decides",
		"Question": "what the model asks a user, and a call that a person must decide",
		"State":    "how far a session has come, and how far a question has",
		"Activity": "the word of the CLI for what a session is doing, and the whole of it",
		"Fleet":    "conversations that run, and what a store must do for them",
	}
}

// ownVocabulary are packages whose types are the nouns of something outside of
// Go, and may have the names that others have.
func ownVocabulary() map[string]string {
	return map[string]string{
		"serve":     "a server and its parts, which nobody takes for those of a library",
		"serve/api": "the nouns of a JSON API, named in its OpenAPI document",
	}
}

// checkTypeNames reports types of different packages with the same name: people
// take one for the other, and a thing that has two types is decoded twice. A
// second name for the same type, declared with =, is fine.
func checkTypeNames(m *module) (complaints []string) {
	homes := make(map[string][]string)
	for _, line := range m.api() {
		dir, what, _ := strings.Cut(line, " ")
		name, isType := strings.CutPrefix(what, "type ")
		name, kind, _ := strings.Cut(name, " ")
		name, _, _ = strings.Cut(name, "[")
		if _, own := ownVocabulary()[dir]; isType && !own && !strings.HasPrefix(kind, "=") {
			homes[name] = append(homes[name], dir)
		}
	}
	for name, dirs := range homes {
		if _, shared := sharedNames()[name]; len(dirs) > 1 && !shared {
			complaints = append(complaints, fmt.Sprintf("type %s is in %s: merge them if they mean the same, else rename", name, strings.Join(dirs, ", ")))
		}
	}
	slices.Sort(complaints)
	return complaints
}

func checkAPI(m *module) []string {
	data, err := fs.ReadFile(m.fsys, apiFile)
	if err != nil {
		return []string{err.Error()}
	}
	was, is := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"), m.wholeAPI()
	var diff []string
	for _, line := range was {
		if _, found := slices.BinarySearch(is, line); !found {
			diff = append(diff, "- "+line)
		}
	}
	known := make(map[string]bool, len(was))
	for _, line := range was {
		known[line] = true
	}
	for _, line := range is {
		if !known[line] {
			diff = append(diff, "+ "+line)
		}
	}
	if diff != nil {
		diff = append(diff, "the API is not that of "+apiFile+": a line with - breaks programs. To accept it: go test ./internal/test/rules -update")
	}
	return diff
}

// wholeAPI lists what the public packages of the module, and of those inside of it,
// export.
func (m *module) wholeAPI() []string {
	lines := slices.Clone(m.api())
	nested, err := m.nested()
	if err != nil {
		return []string{err.Error()}
	}
	for dir, other := range nested {
		for _, line := range other.api() {
			if rest, top := strings.CutPrefix(line, "claude "); top {
				line = " " + rest
			} else {
				line = "/" + line
			}
			lines = append(lines, dir+line)
		}
	}
	slices.Sort(lines)
	return lines
}

// listAPI lists what the public packages export.
func (m *module) listAPI() []string {
	files := make(map[string][]*ast.File)
	fset := token.NewFileSet()
	for _, f := range m.sources() {
		if !public(f) {
			continue
		}
		// Parsed again, because package doc changes what it is given.
		parsed, err := parser.ParseFile(fset, f.path, f.src, parser.SkipObjectResolution)
		if err == nil {
			files[f.dir()] = append(files[f.dir()], parsed)
		}
	}
	var lines []string
	for dir, parsed := range files {
		p, err := doc.NewFromFiles(fset, parsed, path.Join(modulePath, dir))
		if err != nil {
			return []string{err.Error()}
		}
		prefix := dir + " "
		if dir == "." {
			prefix = "claude "
		}
		for _, line := range exported(p) {
			lines = append(lines, prefix+line)
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines) // systems may have their own version of a function
}

// public reports whether other modules can import a file's package.
func public(f *file) bool {
	return f.ast.Name.Name != "main" && !slices.Contains(strings.Split(f.dir(), "/"), "internal")
}

// exported describes a package, name by name.
func exported(p *doc.Package) []string {
	lines := values(p.Consts, p.Vars)
	for _, f := range p.Funcs {
		lines = append(lines, "func "+f.Name+signature(f.Decl.Type))
	}
	for _, t := range p.Types {
		spec := t.Decl.Specs[0].(*ast.TypeSpec)
		lines = append(lines, values(t.Consts, t.Vars)...)
		lines = append(lines, structure(spec)...)
		for _, f := range t.Funcs {
			lines = append(lines, "func "+f.Name+signature(f.Decl.Type))
		}
		for _, f := range t.Methods {
			lines = append(lines, fmt.Sprintf("method (%s) %s%s", f.Recv, f.Name, signature(f.Decl.Type)))
		}
	}
	return lines
}

// structure describes a type: its kind, its fields, its methods if it is an
// interface.
func structure(spec *ast.TypeSpec) []string {
	name := spec.Name.Name
	head := "type " + name + typeParams(spec.TypeParams)
	if spec.Assign.IsValid() {
		head += " ="
	}
	switch t := spec.Type.(type) {
	case *ast.StructType:
		lines := []string{head + " struct"}
		for _, f := range t.Fields.List {
			for _, n := range f.Names {
				lines = append(lines, fmt.Sprintf("field %s.%s %s", name, n.Name, show(f.Type)))
			}
			if f.Names == nil {
				lines = append(lines, fmt.Sprintf("field %s.%s", name, show(f.Type)))
			}
		}
		return lines
	case *ast.InterfaceType:
		lines := []string{head + " interface"}
		for _, f := range t.Methods.List {
			for _, n := range f.Names {
				lines = append(lines, fmt.Sprintf("interface %s.%s%s", name, n.Name, signature(f.Type.(*ast.FuncType))))
			}
			if f.Names == nil {
				lines = append(lines, fmt.Sprintf("interface %s.%s", name, show(f.Type)))
			}
		}
		if t.Incomplete {
			lines = append(lines, "interface "+name+": others cannot implement it")
		}
		return lines
	case *ast.FuncType:
		return []string{head + " func" + signature(t)}
	}
	return []string{head + " " + show(spec.Type)}
}

// values describes constants and variables.
func values(groups ...[]*doc.Value) []string {
	var lines []string
	for _, group := range groups {
		for _, v := range group {
			typ := "" // in a group with iota the type stands only once
			for _, spec := range v.Decl.Specs {
				spec := spec.(*ast.ValueSpec)
				if spec.Type != nil {
					typ = " " + show(spec.Type)
				} else if spec.Values != nil {
					typ = ""
				}
				for i, name := range spec.Names {
					line := v.Decl.Tok.String() + " " + name.Name + typ
					if i < len(spec.Values) {
						if literal, ok := spec.Values[i].(*ast.BasicLit); ok {
							line += " = " + literal.Value
						}
					}
					if name.IsExported() {
						lines = append(lines, line)
					}
				}
			}
		}
	}
	return lines
}

// signature is the type of a function without the names of its parameters,
// which may change freely.
func signature(t *ast.FuncType) string {
	s := typeParams(t.TypeParams) + "(" + strings.Join(types(t.Params), ", ") + ")"
	switch results := types(t.Results); len(results) {
	case 0:
		return s
	case 1:
		return s + " " + results[0]
	default:
		return s + " (" + strings.Join(results, ", ") + ")"
	}
}

func types(list *ast.FieldList) []string {
	var all []string
	if list == nil {
		return nil
	}
	for _, f := range list.List {
		for range max(1, len(f.Names)) {
			all = append(all, show(f.Type))
		}
	}
	return all
}

func typeParams(list *ast.FieldList) string {
	if list == nil {
		return ""
	}
	var all []string
	for _, f := range list.List {
		for _, n := range f.Names {
			all = append(all, n.Name+" "+show(f.Type))
		}
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// show writes a type on one line.
func show(e ast.Expr) string {
	if f, ok := e.(*ast.FuncType); ok {
		return "func" + signature(f)
	}
	var b bytes.Buffer
	if err := format.Node(&b, token.NewFileSet(), e); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
