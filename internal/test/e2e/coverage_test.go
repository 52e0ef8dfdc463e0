package e2e

import (
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

// hereOnly are options that no test sets for a CLI in another root directory, and why that
// makes no difference.
func hereOnly() map[string]string {
	const (
		fixture = "startReal sets it for every test"
		inside  = "it works in this program alone"
		stream  = "package sandbox tests that lines come from there"
		dialog  = "it answers over the same streams as CanUseTool"
	)
	return map[string]string{
		"CLIPath": fixture, "Cwd": fixture, "Env": fixture, "Transport": "inEachRoot sets it",
		"Logger": inside, "Trace": inside, "Stderr": stream, "Timeouts": inside, "Limits": inside,
		"OnElicitation": dialog, "OnUserDialog": dialog, "DialogKinds": dialog, "Requests": dialog,
	}
}

// TestEveryOptionWorksElsewhere wants a test with the real CLI in another root directory for
// each option. The one that sets nearly all of them at once counts: for what no other sets
// there, it shows that the CLI starts with it and answers, and no effect.
func TestEveryOptionWorksElsewhere(t *testing.T) {
	moved := make(map[string]bool)
	for _, test := range harness.ReadTests(t) {
		if test.Calls["inEachRoot"] {
			for field := range test.Sets {
				moved[field] = true
			}
		}
	}
	excused := hereOnly()
	for f := range reflect.TypeFor[claude.Options]().Fields() {
		_, ok := excused[f.Name]
		switch delete(excused, f.Name); {
		case !ok && !moved[f.Name]:
			t.Errorf("no test calls inEachRoot with Options.%s", f.Name)
		case ok && moved[f.Name]:
			t.Errorf("a test calls inEachRoot with Options.%s now", f.Name)
		}
	}
	for field := range excused {
		t.Errorf("Options has no %s", field)
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
