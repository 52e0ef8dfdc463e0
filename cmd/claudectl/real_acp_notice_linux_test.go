package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/acp/schema"
)

// TestRealACPConnectBlocked is an editor whose program talks to a server with the real
// CLI, where a hook of the project blocks each prompt: the editor shows why.
func TestRealACPConnectBlocked(t *testing.T) {
	s := newRealServer(t, nil, func(s *realServer) {
		if err := os.Mkdir(filepath.Join(s.dir, ".claude"), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(s.dir, ".claude", "settings.json"),
			`{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command","command":"echo not on Fridays >&2; exit 2"}]}]}}`, os.FileMode(0o600))
	})
	one := s.bridge(t)
	id := one.New(t, s.dir)
	if got := <-one.begin(t, id, "Deploy it."); got != schema.StopReasonEndTurn {
		t.Errorf("ended %s", got)
	}
	if text := one.Text(id); strings.Count(text, "]: not on Fridays") != 1 {
		t.Errorf("shown %q, want once why the prompt was blocked", text)
	}
	one.Close()
}
