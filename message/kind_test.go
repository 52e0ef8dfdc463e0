package message_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
)

// Every type of message is in the table of kinds, and a line of each kind is
// decoded by a test.
func TestKinds(t *testing.T) {
	for _, gap := range kindGaps(t, messageTypes(t), message.Kinds(), lines(t)) {
		t.Error(gap)
	}
}

func TestKindGaps(t *testing.T) {
	types, kinds, all := messageTypes(t), message.Kinds(), lines(t)
	status := slices.IndexFunc(kinds, func(m message.Message) bool { return m.Head().Subtype == "status" })
	misnamed := &message.Status{Header: message.Header{Type: "system", Subtype: "state"}}
	for want, got := range map[string][]string{
		"New is not in the table":                 kindGaps(t, append(types, "New"), kinds, all),
		"Status is not in the table":              kindGaps(t, types, slices.Delete(slices.Clone(kinds), status, status+1), all),
		"system/status is in the table 2 times":   kindGaps(t, types, append(slices.Clone(kinds), kinds[status]), all),
		"no test decodes a line of system/status": kindGaps(t, types, kinds, nil),
		"Status is written as another kind than":  kindGaps(t, types, append(slices.Delete(slices.Clone(kinds), status, status+1), misnamed), all),
	} {
		if !slices.ContainsFunc(got, func(gap string) bool { return strings.Contains(gap, want) }) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func kindName(h *message.Header) string { return strings.TrimSuffix(h.Type+"/"+h.Subtype, "/") }

// kindGaps lists what does not agree.
func kindGaps(t *testing.T, types []string, kinds []message.Message, lines []string) (found []string) {
	complain := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	decoded := make(map[string]bool)
	for _, line := range lines {
		h := mustDecode(t, line).Head()
		decoded[h.Type], decoded[kindName(h)] = true, true
	}
	rows, inTable, written := make(map[string]int), make(map[string]bool), make(map[string]string)
	for _, m := range kinds {
		name, typ := kindName(m.Head()), reflect.TypeOf(m).Elem().Name()
		rows[name]++
		inTable[typ] = true
		if !decoded[name] {
			complain("no test decodes a line of %s", name)
		}
		// What is built in Go names its kind when it is written.
		line, err := jsonx.Marshal(reflect.New(reflect.TypeOf(m).Elem()).Interface())
		if err != nil {
			complain("%s: %v", typ, err)
		}
		var h message.Header
		_ = jsonx.Unmarshal(line, &h)
		if h.Type != "system" {
			h.Subtype = ""
		}
		written[typ] = kindName(&h)
	}
	for name, n := range rows {
		if n > 1 {
			complain("%s is in the table %d times", name, n)
		}
	}
	for typ, name := range written {
		if rows[name] == 0 {
			complain("%s is written as another kind than the table has: %s", typ, name)
		}
	}
	for _, typ := range types {
		if !inTable[typ] {
			complain("%s is not in the table", typ)
		}
	}
	return found
}

// lines are the lines that tests decode: recorded ones, and one of every notice.
func lines(t *testing.T) []string {
	all := slices.Clone(recorded(t))
	for _, v := range notices {
		all = append(all, v.line)
	}
	return all
}

// messageTypes reads from the source which types are messages. System and
// Unknown stand for everything that is not in the table.
func messageTypes(t *testing.T) (types []string) {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.IsExported() && embedsHeader(spec) {
				types = append(types, spec.Name.Name)
			}
			return true
		})
	}
	types = slices.DeleteFunc(types, func(name string) bool { return name == "System" || name == "Unknown" })
	if len(types) < 30 {
		t.Fatalf("only %d types of messages found: is this the folder of the package?", len(types))
	}
	return types
}

func embedsHeader(spec *ast.TypeSpec) bool {
	st, ok := spec.Type.(*ast.StructType)
	if !ok || len(st.Fields.List) == 0 {
		return false
	}
	id, ok := st.Fields.List[0].Type.(*ast.Ident)
	return ok && id.Name == "Header" && len(st.Fields.List[0].Names) == 0
}
