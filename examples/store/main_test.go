package main

import (
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/store"
)

func TestRun(t *testing.T) {
	t.Setenv("JOURNAL_DIR", t.TempDir())
	var out strings.Builder
	if err := run(t.Context(), &out, store.Files(t.TempDir()), claudetest.New(claudetest.Say("I will."))); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "6 lines are stored\n"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}
