package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/leak"
)

// The demo shows each thing that the two sides can do, in this order.
func TestDemo(t *testing.T) {
	type event struct{ Who, What string }
	var events []event
	got := invoke(t, "", "demo", "--json")
	if got.code != 0 || got.stderr != "" {
		t.Fatalf("exit code %d, stderr %q, want 0 and nothing", got.code, got.stderr)
	}
	for line := range strings.Lines(got.stdout) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		events = append(events, e)
	}
	for _, want := range []event{
		{"about", "simulated"}, {"connected", "version"}, {"you", "bolts"},
		{"claude", "Let me count"}, {"claude", "calls mcp__stock__count"}, {"hook", "mcp__stock__count"}, {"tool", "returns 42"},
		{"claude", "calls Write"}, {"hook", "Write"}, {"asked", "may Write run?"}, {"answer", "allowed, this once"}, {"claude", "42 bolts"},
		{"result", "completed"}, {"cost", "$0.0"}, {"you", "everything"}, {"interrupt", ""}, {"result", "interrupted"},
		{"next", "--scripted-model"}, {"next", "--cli"},
	} {
		i := slices.IndexFunc(events, func(e event) bool { return e.Who == want.Who && strings.Contains(e.What, want.What) })
		if i < 0 {
			t.Fatalf("no %s %q after that; in all:\n%s", want.Who, want.What, got.stdout)
		}
		events = events[i+1:]
	}
}

func TestDemoWithoutFolder(t *testing.T) {
	leak.TempFolder(t, filepath.Join(t.TempDir(), "none"))
	got := invoke(t, "", "demo")
	if got.code != int(exitFailed) || !strings.Contains(got.stderr, "no folder for the demo") {
		t.Errorf("got %+v, want exit code %d and a word", got, exitFailed)
	}
}

func TestDemoText(t *testing.T) {
	leak.TempFolder(t, t.TempDir())
	got := invoke(t, "", "demo")
	if got.code != 0 || strings.Contains(got.stdout, "\x1b") {
		t.Errorf("exit code %d, stdout %q, want 0 and no codes", got.code, got.stdout)
	}
	for _, want := range []string{"    claude  There are 42 bolts, and stock.txt says so.\n", "interrupt  that is enough\n"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("stdout %q, want %q in it", got.stdout, want)
		}
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v, want nothing", left, err)
	}
}
