package openapi

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "write words.json")

// The embedded words are the comments in the source, and no member of the API is
// without one.
func TestWords(t *testing.T) {
	said := commentsOf(t, append(sources(t, "../../api"), "../agui/types.go"))
	var lacking []string
	for name, w := range said {
		for member, text := range w.Members {
			if text == "" {
				lacking = append(lacking, name+"."+member)
			}
		}
	}
	if slices.Sort(lacking); len(lacking) > 0 {
		t.Errorf("%d members have no comment: %s", len(lacking), strings.Join(lacking, " "))
	}
	data, err := json.MarshalIndent(said, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	data = append(data, '\n')
	if *update {
		if err := os.WriteFile("words.json", data, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(data, embedded) {
		t.Error("words.json differs from the comments in the source: go test ./serve/internal/openapi -update writes it")
	}
}

func TestCommentsOf(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.go")
	source := "package x\n" + `
// Kind is a kind.
type Kind string

// The kinds.
const (
	One Kind = "one" // the first
	Two Kind = "two"
)

// Thing is a thing
// of two lines.
type Thing struct {
	// Added and Removed count lines.
	Added   int ` + "`json:\"added\"`" + `
	Removed int ` + "`json:\"removed\"`" + `
	Left    int ` + "`json:\"left\"`" + `
	// Kind is its kind. See Added.
	Kind   Kind ` + "`json:\"kind,omitzero\"`" + `
	Hidden int ` + "`json:\"-\"`" + `
	Day    string ` + "`json:\"day\"` // 2006-01-02" + `
}
`
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	want := map[string]Words{
		"Kind": {About: "Kind is a kind.", Values: []Value{{"one", "the first"}, {"two", ""}}},
		"Thing": {About: "Thing is a thing of two lines.", Members: map[string]string{
			"added": "Added and Removed count lines.", "removed": "Added and Removed count lines.", "left": "",
			"kind": "Its kind. See Added.", "day": "2006-01-02",
		}},
	}
	if got := commentsOf(t, []string{file}); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func sources(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
}

// commentsOf returns the comments of the types in files, by their names.
func commentsOf(t *testing.T, files []string) map[string]Words {
	t.Helper()
	all := make(map[string]Words)
	values := make(map[string][]Value)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					w := Words{About: oneLine(d.Doc.Text())}
					if body, ok := s.Type.(*ast.StructType); ok {
						w.Members = membersOf(body)
					}
					all[s.Name.Name] = w
				case *ast.ValueSpec:
					kind, named := s.Type.(*ast.Ident)
					if d.Tok != token.CONST || !named || len(s.Values) != 1 {
						continue
					}
					if text, err := strconv.Unquote(s.Values[0].(*ast.BasicLit).Value); err == nil {
						values[kind.Name] = append(values[kind.Name], Value{text, oneLine(s.Comment.Text())})
					}
				}
			}
		}
	}
	for name, w := range all {
		w.Values = values[name]
		all[name] = w
	}
	return all
}

// membersOf returns the comments of a struct's members in JSON. A field without a
// comment has the one above it, if that mentions the field.
func membersOf(body *ast.StructType) map[string]string {
	members := make(map[string]string)
	above := ""
	for _, f := range body.Fields.List {
		text := oneLine(f.Doc.Text())
		if text != "" {
			above = text
		}
		if text == "" {
			text = oneLine(f.Comment.Text())
		}
		if len(f.Names) == 0 || f.Tag == nil {
			continue
		}
		tag, _ := strconv.Unquote(f.Tag.Value)
		member, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		if member == "-" {
			continue
		}
		name := f.Names[0].Name
		if text == "" && regexp.MustCompile(`\b`+name+`\b`).MatchString(above) {
			text = above
		}
		members[member] = withoutName(text, name)
	}
	return members
}

// withoutName leaves out the name with which a comment in Go begins: readers of the
// document know the field by another.
func withoutName(text, name string) string {
	for _, verb := range []string{" is ", " are "} {
		text = strings.TrimPrefix(text, name+verb)
	}
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
