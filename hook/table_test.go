package hook_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/hook"
)

// declared holds the declarations in this package's source.
type declared struct {
	events map[string]string // names of events, by their constants
	types  []string          // inputs and outputs
	funcs  map[string]string // functions, and the output that the hook they make returns
}

// The table has every event that the package names, and every type that an
// event is about.
func TestTable(t *testing.T) {
	for _, gap := range gaps(declarations(t), hook.Events()) {
		t.Error(gap)
	}
}

func TestTableGaps(t *testing.T) {
	known := hook.Events()
	without := func(event hook.Event) []hook.EventInfo {
		return slices.DeleteFunc(slices.Clone(known), func(i hook.EventInfo) bool { return i.Event == event })
	}
	changed := func(event hook.Event, change func(*hook.EventInfo)) []hook.EventInfo {
		all := slices.Clone(known)
		for i := range all {
			if all[i].Event == event {
				change(&all[i])
			}
		}
		return all
	}
	for name, tt := range map[string]struct {
		table []hook.EventInfo
		want  string
	}{
		"no row":               {without(hook.EventStop), "EventStop is not in the table"},
		"no row for an input":  {without(hook.EventSetup), "no event has the input SetupInput"},
		"no row for an output": {without(hook.EventWorktreeCreate), "no event has the output WorktreeOutput"},
		"two rows":             {append(without(""), known[0]), "PreToolUse is in the table 2 times"},
		"no constant":          {append(without(""), hook.EventInfo{Event: "New"}), "no constant for New"},
		"no function":          {append(without(""), hook.EventInfo{Event: "New"}), "no function New"},
		"another output":       {changed(hook.EventStop, func(i *hook.EventInfo) { i.Output = known[0].Output }), `Stop: the function takes the output "StopOutput"`},
		"no version":           {changed(hook.EventStop, func(i *hook.EventInfo) { i.Since = "" }), "Stop: it is not said since when"},
		"no effect":            {changed(hook.EventStop, func(i *hook.EventInfo) { i.Effect = "" }), "Stop: Effect \"\" does not go with its output"},
		"effect of nothing":    {changed(hook.EventSessionEnd, func(i *hook.EventInfo) { i.Effect = "block" }), "SessionEnd: Effect \"block\" does not go"},
		"not said that blocks": {changed(hook.EventStop, func(i *hook.EventInfo) { i.Closed = "" }), "Stop: Closed \"\" does not go with the reply"},
		"said that blocks":     {changed(hook.EventSetup, func(i *hook.EventInfo) { i.Closed = "x" }), "Setup: Closed \"x\" does not go with the reply"},
		"gate that is open":    {changed(hook.EventSetup, func(i *hook.EventInfo) { i.Gate = true }), "Setup: a gate that cannot be closed"},
	} {
		got := gaps(declarations(t), tt.table)
		if !slices.ContainsFunc(got, func(gap string) bool { return strings.Contains(gap, tt.want) }) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// gaps lists the disagreements.
func gaps(source declared, table []hook.EventInfo) (found []string) {
	complain := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	rows, used := make(map[hook.Event]int), make(map[string]bool)
	for _, info := range table {
		rows[info.Event]++
		for _, typ := range []reflect.Type{info.Input, info.Output} {
			used[nameOf(typ)] = true
		}
		output, known := source.funcs[string(info.Event)]
		switch {
		case !known:
			complain("there is no function %s", info.Event)
		case output != nameOf(info.Output):
			complain("%s: the function takes the output %q, the table says %q", info.Event, output, nameOf(info.Output))
		}
		if info.Since == "" {
			complain("%s: it is not said since when", info.Event)
		}
		if (info.Effect == "") != (info.Output == nil) {
			complain("%s: Effect %q does not go with its output %v", info.Event, info.Effect, info.Output)
		}
		reply := string(hook.Hook{Event: info.Event}.FailureReply(hook.FailClosed, "r"))
		if (info.Closed == "") != (reply == open) {
			complain("%s: Closed %q does not go with the reply %s", info.Event, info.Closed, reply)
		}
		if (info.Gate || info.Waits) && info.Closed == "" {
			complain("%s: a gate that cannot be closed", info.Event)
		}
	}
	for name, event := range source.events {
		if n := rows[hook.Event(event)]; n == 0 {
			complain("%s is not in the table", name)
		} else if n > 1 {
			complain("%s is in the table %d times", event, n)
		}
	}
	for event := range rows {
		if !slices.Contains(slices.Collect(maps.Values(source.events)), string(event)) {
			complain("there is no constant for %s", event)
		}
	}
	for _, name := range source.types {
		if kind := strings.ToLower(name[strings.LastIndexAny(name, "IO"):]); !used[name] {
			complain("no event has the %s %s", kind, name)
		}
	}
	return found
}

func nameOf(typ reflect.Type) string {
	if typ == nil {
		return ""
	}
	return typ.Name()
}

// outputOf returns the output in "fn func(…) (*StopOutput, error)", the last
// parameter of a constructor; "" for a function without one.
func outputOf(decl *ast.FuncDecl) string {
	params := decl.Type.Params.List
	if len(params) == 0 {
		return ""
	}
	fn, ok := params[len(params)-1].Type.(*ast.FuncType)
	if !ok || len(fn.Results.List) != 2 {
		return ""
	}
	if star, ok := fn.Results.List[0].Type.(*ast.StarExpr); ok {
		if name, ok := star.X.(*ast.Ident); ok {
			return name.Name
		}
	}
	return ""
}

// declarations reads the source. An output that stands for itself, such as
// RawOutput, belongs to no event.
func declarations(t *testing.T) declared {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	d := declared{events: make(map[string]string), funcs: make(map[string]string)}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil {
					d.funcs[n.Name.Name] = outputOf(n)
				}
			case *ast.TypeSpec:
				_, isStruct := n.Type.(*ast.StructType)
				input, output := strings.HasSuffix(n.Name.Name, "Input"), strings.HasSuffix(n.Name.Name, "Output")
				if n.Name.IsExported() && isStruct && (input || output) {
					d.types = append(d.types, n.Name.Name)
				}
			case *ast.ValueSpec:
				if typ, ok := n.Type.(*ast.Ident); ok && typ.Name == "Event" {
					d.events[n.Names[0].Name] = strings.Trim(n.Values[0].(*ast.BasicLit).Value, `"`)
				}
			}
			return true
		})
	}
	if len(d.events) < 33 || len(d.types) < 40 {
		t.Fatalf("only %d events and %d types found: is this the folder of the package?", len(d.events), len(d.types))
	}
	return d
}

// Each constructor does what the table states about its event.
func TestConstructors(t *testing.T) {
	tests := eventTests()
	table := hook.Events()
	if len(tests) != len(table) {
		t.Fatalf("%d events are tested, the table has %d", len(tests), len(table))
	}
	for i, info := range table {
		h := tests[i].hook
		if h.Event != info.Event {
			t.Fatalf("event %d is %s here and %s in the table", i, h.Event, info.Event)
		}
		if want := info.Subject != ""; (h.Matcher == "m") != want {
			t.Errorf("%s: takes a matcher = %v, want %v", h.Event, !want, want)
		}
		if got := inputOf(t, h, `{}`); reflect.TypeOf(got) != reflect.PointerTo(info.Input) {
			t.Errorf("%s: the input is a %T, the table says %v", h.Event, got, info.Input)
		}
		if h.Event.Gate() != info.Gate {
			t.Errorf("%s: Gate = %v", h.Event, h.Event.Gate())
		}
	}
	if info, known := hook.Event("NewEvent").Info(); known || info.Event != "" {
		t.Errorf("an event that nobody knows: %+v, %v", info, known)
	}
}
