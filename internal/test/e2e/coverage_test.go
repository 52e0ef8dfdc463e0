package e2e

import (
	"maps"
	"reflect"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/harness"
)

// unseen are options whose effect no test with the real CLI shows, and why.
func unseen() map[string]string {
	return map[string]string{
		"AgentProgressSummaries": "the first comes after half a minute: internal/test/compat waits for it",
		"Requests":               "the CLI asks for nothing yet that this package does not know",
	}
}

// TestEveryOptionIsSeen wants a test with the real CLI for each option. The one
// that sets nearly all of them at once shows no effects and does not count.
func TestEveryOptionIsSeen(t *testing.T) {
	real := make(map[string]bool)
	for name, test := range harness.ReadTests(t) {
		if name != "TestRealOptionsAreTaken" {
			for field := range test.Sets {
				real[field] = true
			}
		}
	}
	excused := unseen()
	for f := range reflect.TypeFor[claude.Options]().Fields() {
		_, ok := excused[f.Name]
		switch delete(excused, f.Name); {
		case !ok && !real[f.Name]:
			t.Errorf("no test with the real CLI sets Options.%s", f.Name)
		case ok && real[f.Name]:
			t.Errorf("Options.%s is set by a test with the real CLI now", f.Name)
		}
	}
	for field := range excused {
		t.Errorf("Options has no %s", field)
	}
}

// notElsewhere are rows of the options table, or structs whose rows are, of which no test shows
// the effect in another root directory, and why that makes no difference.
func notElsewhere() map[string]string {
	const inside = "it works in this program alone"
	return map[string]string{
		"AgentProgressSummaries": unseen()["AgentProgressSummaries"],
		"Requests":               unseen()["Requests"],
		"Logger":                 inside,
		"Trace":                  inside,
		"Timeouts":               inside, // but for Timeouts.API, which a test shows
		"Limits":                 inside,
	}
}

// optionRows yields the rows of the options table: the fields of Options, with those of its
// structs in their place.
func optionRows(yield func(row, group string) bool) {
	for f := range reflect.TypeFor[claude.Options]().Fields() {
		if f.Type.Kind() != reflect.Struct {
			if !yield(f.Name, f.Name) {
				return
			}
			continue
		}
		for inner := range f.Type.Fields() {
			if !yield(f.Name+"."+inner.Name, f.Name) {
				return
			}
		}
	}
}

// TestEveryOptionWorksElsewhere wants, for each row of the options table, a test that shows
// its effect with the real CLI in another root directory.
func TestEveryOptionWorksElsewhere(t *testing.T) {
	shown := make(map[string]bool)
	for _, test := range harness.ReadTests(t) {
		if test.Calls["inEachRoot"] || test.Calls["inAnotherRoot"] {
			maps.Copy(shown, test.Shows)
		}
	}
	excuses := notElsewhere()
	used := make(map[string]bool)
	for row, group := range optionRows {
		switch {
		case shown[row] && excuses[row] != "":
			t.Errorf("a test shows the effect of Options.%s now", row)
		case shown[row]:
			delete(shown, row)
		case excuses[group] != "":
			used[group] = true
		default:
			t.Errorf("no test shows the effect of Options.%s in another root directory", row)
		}
	}
	for row := range shown {
		t.Errorf("a test shows %s, which is not an option", row)
	}
	for group := range excuses {
		if !used[group] {
			t.Errorf("the excuse for %s is for nothing", group)
		}
	}
}

// TestEveryOperationIsSeen wants a test with the real CLI for each method of a
// session.
func TestEveryOperationIsSeen(t *testing.T) {
	called := make(map[string]bool)
	for _, test := range harness.ReadTests(t) {
		for method := range test.Calls {
			called[method] = true
		}
	}
	for m := range reflect.TypeFor[*claude.Session]().Methods() {
		if !called[m.Name] {
			t.Errorf("no test with the real CLI calls Session.%s", m.Name)
		}
	}
}
