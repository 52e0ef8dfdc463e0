package acp

import (
	"testing"

	"github.com/claude-agent-go/claude/permission"
)

// TestEchoes distinguishes the CLI's own changes from reports of the editor's.
func TestEchoes(t *testing.T) {
	var e echoes
	want := func(mode permission.Mode, news bool) {
		t.Helper()
		if got := e.news(mode); got != news {
			t.Errorf("%s is news: %v, want %v", mode, got, news)
		}
	}
	want("plan", true)
	e.expect("acceptEdits")
	e.expect("auto")
	e.expect("default")
	want("plan", true)
	want("auto", false)
	want("acceptEdits", true) // answered with auto
	want("default", false)
	want("default", true)
	e.expect("plan")
	e.settle()
	want("plan", true)
}
