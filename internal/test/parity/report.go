package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/officialsdk"
	"github.com/claude-agent-go/claude/message"
)

// row is one line of the report.
type row struct {
	name string
	entry
}

// report compares the two. The problems are what nobody has explained.
func report(theirs *surface, ours *source) (page string, problems []string) {
	var b strings.Builder
	fmt.Fprintf(&b, `# Parity with the official SDKs

Made by `+"`go run ./internal/test/parity -write`"+` from the declarations of `+"`%s`"+` %s. A test fails when they name something that this table does not, and the other way round.

What the Python SDK has, as of `+"`%s`"+` %s, is kept by hand. A test fails when something here that it is compared with is gone.
`, officialsdk.Name, officialsdk.Version, pythonPackage, pythonVersion)
	for _, section := range []struct {
		title string
		names []string
		table map[string]entry
	}{
		{"Options", theirs.options, ours.named("Options.", theirs.options, options())},
		{"Control requests", theirs.subtypes, controls()},
		{"Hook events", theirs.hooks, hooks()},
		{"Messages", theirs.messages, messages(theirs.messages)},
		{"Methods of a query", theirs.methods, ours.named("Session.", theirs.methods, methods())},
		{"Functions and classes", theirs.exports, exports()},
		{"Python: options", names(pythonOptions()), pythonOptions()},
		{"Python: methods of a client", names(pythonMethods()), pythonMethods()},
		{"Python: functions and classes", names(pythonExports()), pythonExports()},
	} {
		var rows []row
		for _, name := range section.names {
			e, known := section.table[name]
			if !known || e.here == "" && e.why == "" {
				problems = append(problems, fmt.Sprintf("%s: %s is neither offered nor explained", section.title, name))
			}
			for _, what := range split(e.here) {
				if !ours.has(what) {
					problems = append(problems, fmt.Sprintf("%s: %s is said to be %s, which does not exist", section.title, name, what))
				}
			}
			rows = append(rows, row{name, e})
		}
		for _, name := range slices.Sorted(maps.Keys(section.table)) {
			if !slices.Contains(section.names, name) {
				problems = append(problems, fmt.Sprintf("%s: %s is gone from the official SDK", section.title, name))
			}
		}
		render(&b, section.title, rows)
	}
	return b.String(), problems
}

func render(b *strings.Builder, title string, rows []row) {
	offered := 0
	for _, r := range rows {
		if r.here != "" {
			offered++
		}
	}
	rest := ""
	if offered < len(rows) {
		rest = ", the rest explained"
	}
	fmt.Fprintf(b, "\n## %s\n\n%d of %d offered%s.\n\n| there | here | |\n|---|---|---|\n", title, offered, len(rows), rest)
	for _, r := range rows {
		here := "not offered"
		if names := split(r.here); len(names) > 0 {
			here = "`" + strings.Join(names, "`, `") + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", r.name, here, r.why)
	}
}

func names(table map[string]entry) []string { return slices.Sorted(maps.Keys(table)) }

func split(here string) []string {
	if here == "" {
		return nil
	}
	return strings.Split(here, ", ")
}

// hooks finds the function for each event.
func hooks() map[string]entry {
	table := make(map[string]entry)
	for _, info := range hook.Events() {
		table[string(info.Event)] = entry{here: "hook." + string(info.Event)}
	}
	return table
}

// messages decodes one message of each kind.
func messages(kinds []string) map[string]entry {
	table := untyped()
	for _, kind := range kinds {
		typ, subtype, _ := strings.Cut(kind, "/")
		m, err := message.DecodeAs(typ, subtype, fmt.Appendf(nil, `{"type":%q,"subtype":%q}`, typ, subtype))
		if err != nil {
			continue
		}
		switch name := strings.TrimPrefix(fmt.Sprintf("%T", m), "*"); name {
		case "message.System", "message.Unknown":
		default:
			table[kind] = entry{here: name}
		}
	}
	return table
}

// source is what the packages of this module declare.
type source struct {
	names map[string]bool // "Options.Model", "Session.Run", "Ask", "hook.Stop"
}

// named adds to a table what has the same name on both sides, but for its case.
func (s *source) named(prefix string, theirs []string, table map[string]entry) map[string]entry {
	for name := range s.names {
		short, ok := strings.CutPrefix(name, prefix)
		i := slices.IndexFunc(theirs, func(their string) bool { return strings.EqualFold(their, short) })
		if !ok || i < 0 || !ast.IsExported(short) {
			continue
		}
		if _, written := table[theirs[i]]; !written {
			table[theirs[i]] = entry{here: name}
		}
	}
	return table
}

func (s *source) has(name string) bool { return s.names[name] }

// readSource reads the packages that users of the official SDKs would look into.
func readSource(root fs.FS) (*source, error) {
	s := &source{make(map[string]bool)}
	for dir, prefix := range map[string]string{".": "", "history": "history.", "hook": "hook.", "message": "message.", "tool": "tool."} {
		files, err := fs.ReadDir(root, dir)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
				continue
			}
			text, err := fs.ReadFile(root, strings.TrimPrefix(dir+"/"+f.Name(), "./"))
			if err != nil {
				return nil, err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), f.Name(), text, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			for _, decl := range parsed.Decls {
				s.declare(prefix, decl)
			}
		}
	}
	return s, nil
}

func (s *source) declare(prefix string, decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			recv := d.Recv.List[0].Type
			if star, ok := recv.(*ast.StarExpr); ok {
				recv = star.X
			}
			if id, ok := recv.(*ast.Ident); ok {
				name = id.Name + "." + name
			}
		}
		s.names[prefix+name] = true
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if t, ok := spec.(*ast.TypeSpec); ok {
				s.declareType(prefix+t.Name.Name, t.Type)
			}
		}
	}
}

func (s *source) declareType(name string, typ ast.Expr) {
	s.names[name] = true
	if st, ok := typ.(*ast.StructType); ok {
		for _, field := range st.Fields.List {
			for _, id := range field.Names {
				s.names[name+"."+id.Name] = true
			}
		}
	}
}
