package rules

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing/fstest"
)

// Go code in documents is taken from files that are compiled and run. The line
// above such a block names the source:
//
//	<!-- snippet examples/chat/main.go -->                          the file without its package clause
//	<!-- snippet examples/chat/main.go answer -->                   a declaration
//	<!-- snippet examples/tools/main.go Shop.Sell -->               a method
//	<!-- snippet examples/chat/main.go run "s, err" -->             the statement that begins so
//	<!-- snippet examples/chat/main.go run "s, err" "defer" -->     from that one to that one
//
// "go test ./internal/test/rules -update" fills the blocks in.
var snippetForm = regexp.MustCompile(`^<!-- snippet (\S+)(?: ([\w.]+))?(?: "([^"]+)")?(?: "([^"]+)")? -->$`)

func snippetRules() []rule {
	example := source("package main", "func run() {", "\tone()", "\tfor range 3 {", "\t\tf()", "\t}", "\ttwo() // and a remark", "}", "",
		"// T is a type.", "type T int", "func (*T) M() {}")
	return []rule{{
		name:  "snippets",
		check: checkSnippets,
		bad: fstest.MapFS{
			"README.md": source("# Title",
				`<!-- snippet main.go run "for range" "two()" -->`, "```go", "for range 3 {", "\tf()", "}", "two() // and a remark", "```",
				`<!-- snippet main.go run "for range" -->`, "```go", "for range 4 {", "\tf()", "}", "```",
				"```go", "loose()", "```",
				"```sh", "go build", "```"),
			"docs/guide/a.md": source(
				"<!-- snippet main.go T -->", "```go", "// T is a type.", "type T int", "```",
				"<!-- snippet main.go T.M -->", "```go", "func (*T) M() {}", "```",
				"<!-- snippet main.go gone -->", "```go", "```",
				`<!-- snippet main.go run "three()" -->`, "```go", "```",
				"<!-- snippet other.go run -->", "```go", "```",
				"<!-- snippet main.go run -->", "Text.", "<!-- snippet: main.go -->"),
			"main.go": example,
		},
		want: []string{
			`README.md:9: differs from main.go run "for range"`,
			"README.md:15: Go code without a line that says where it is from",
			"docs/guide/a.md:10: main.go declares no gone",
			`docs/guide/a.md:13: no statement of run begins with "three()"`,
			"docs/guide/a.md:16: there is no other.go",
			"docs/guide/a.md:19: no Go code follows",
			"docs/guide/a.md:21: this names no snippet",
		},
	}, {
		name:  "README has examples",
		check: checkReadme,
		bad:   fstest.MapFS{"README.md": source("# Title")},
		want:  []string{"README.md shows no Go"},
	}}
}

func checkReadme(m *module) []string {
	text, err := fs.ReadFile(m.fsys, "README.md")
	if err == nil && !strings.Contains(string(text), "\n```go\n") {
		return []string{"README.md shows no Go"}
	}
	return nil
}

func checkSnippets(m *module) []string {
	var complaints []string
	for _, name := range m.documents() {
		_, some := m.filled(name)
		complaints = append(complaints, some...)
	}
	return complaints
}

// documents are the Markdown files of the module.
func (m *module) documents() []string {
	var names []string
	_ = fs.WalkDir(m.fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && d.Name()[0] == '.' && d.Name() != ".github":
			return fs.SkipDir
		case path.Ext(name) == ".md":
			names = append(names, name)
		}
		return nil
	})
	return names
}

// filled is a document with its snippets as they should be, and what is wrong
// with it as it is.
func (m *module) filled(name string) (text string, complaints []string) {
	data, err := fs.ReadFile(m.fsys, name)
	if err != nil {
		return "", []string{err.Error()}
	}
	lines := strings.SplitAfter(string(data), "\n")
	complain := func(i int, format string, args ...any) {
		complaints = append(complaints, fmt.Sprintf("%s:%d: ", name, i+1)+fmt.Sprintf(format, args...))
	}
	var b strings.Builder
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		b.WriteString(lines[i])
		form := snippetForm.FindStringSubmatch(line)
		switch {
		case form == nil && strings.HasPrefix(line, "<!-- snippet"):
			complain(i, "this names no snippet")
			continue
		case form == nil && line == "```go":
			complain(i, "Go code without a line that says where it is from")
			for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "```"; i++ {
				b.WriteString(lines[i])
			}
			b.WriteString("```\n")
			continue
		case form == nil:
			continue
		case i+1 >= len(lines) || strings.TrimSpace(lines[i+1]) != "```go":
			complain(i, "no Go code follows")
			continue
		}
		end := i + 2
		for end < len(lines) && strings.TrimSpace(lines[end]) != "```" {
			end++
		}
		is := strings.Join(lines[i+2:end], "")
		should, err := m.snippet(form[1], form[2], form[3], form[4])
		switch {
		case err != nil:
			complain(i, "%v", err)
			should = is
		case should != is:
			where := strings.TrimSuffix(strings.TrimPrefix(line, "<!-- snippet "), " -->")
			complain(i, "differs from %s (go test ./internal/test/rules -update)", where)
		}
		b.WriteString("```go\n" + should)
		i = end - 1
	}
	return b.String(), complaints
}

// snippet cuts code out of a file.
func (m *module) snippet(file, name, first, last string) (string, error) {
	for _, f := range m.files {
		if f.path != file {
			continue
		}
		if name == "" {
			return strings.TrimLeft(cut(f, m.fset.Position(f.ast.Name.Pos()).Line+1, f.lines), "\n"), nil
		}
		node, doc := declaration(f, name)
		if node == nil {
			return "", fmt.Errorf("%s declares no %s", file, name)
		}
		if first == "" {
			begin := node.Pos()
			if doc != nil {
				begin = doc.Pos()
			}
			return cut(f, m.fset.Position(begin).Line, m.fset.Position(node.End()).Line), nil
		}
		begin := m.statement(f, node, first, 0)
		if begin == nil {
			return "", fmt.Errorf("no statement of %s begins with %q", name, first)
		}
		end := m.statement(f, node, cmp.Or(last, first), m.fset.Position(begin.Pos()).Line)
		if end == nil {
			return "", fmt.Errorf("no statement of %s after that begins with %q", name, last)
		}
		return cut(f, m.fset.Position(begin.Pos()).Line, m.fset.Position(end.End()).Line), nil
	}
	other := &module{fsys: m.fsys, fset: token.NewFileSet()} // a file of another module
	if err := other.add(file); err == nil {
		return other.snippet(file, name, first, last)
	}
	return "", fmt.Errorf("there is no %s", file)
}

// declaration finds what a file declares under a name: "f", "T" or "T.m".
func declaration(f *file, name string) (ast.Node, *ast.CommentGroup) {
	for _, decl := range f.ast.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			full := d.Name.Name
			if d.Recv != nil {
				full = receiver(d.Recv.List[0].Type) + "." + full
			}
			if full == name {
				return d, d.Doc
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok && t.Name.Name == name {
					return d, d.Doc
				}
			}
		}
	}
	return nil, nil
}

// statement finds the first statement whose line begins with a text, from a
// line on. Of several that begin there it is the whole.
func (m *module) statement(f *file, in ast.Node, text string, from int) ast.Stmt {
	lines := strings.Split(string(f.src), "\n")
	var found ast.Stmt
	ast.Inspect(in, func(n ast.Node) bool {
		stmt, ok := n.(ast.Stmt)
		if _, block := n.(*ast.BlockStmt); !ok || block || found != nil {
			return found == nil
		}
		line := m.fset.Position(stmt.Pos()).Line
		if line >= from && strings.HasPrefix(strings.TrimSpace(lines[line-1]), text) {
			found = stmt
		}
		return found == nil
	})
	return found
}

// cut takes lines out of a file, counted from 1, and takes their common
// indentation away.
func cut(f *file, first, last int) string {
	lines := strings.SplitAfter(string(f.src), "\n")[first-1 : last]
	indent := -1
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			n := len(line) - len(strings.TrimLeft(line, "\t"))
			if indent < 0 || n < indent {
				indent = n
			}
		}
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(line[min(indent, len(line)-len(strings.TrimLeft(line, "\t"))):])
	}
	return b.String()
}
