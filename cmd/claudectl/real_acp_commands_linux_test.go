package main

import (
	"slices"
	"testing"

	"github.com/claude-agent-go/claude/acp/schema"
	"github.com/claude-agent-go/claude/claudetest"
)

// TestRealACPConnectCommands is an editor whose program talks to a server with the real
// CLI. It learns the slash commands with the first turn, once, those of the project among
// them; the next editor learns them when it opens the conversation, whose CLI need not run.
func TestRealACPConnectCommands(t *testing.T) {
	s := newRealServer(t, []claudetest.Reply{claudetest.Say("Hello."), claudetest.Say("Hello again.")}, func(s *realServer) { furnish(t, s.dir) })
	one := s.bridge(t)
	id := one.New(t, s.dir)
	for _, prompt := range []string{"Say hello.", "/hi Bob"} {
		if got := <-one.begin(t, id, prompt); got != schema.StopReasonEndTurn {
			t.Errorf("%s ended %s", prompt, got)
		}
	}
	first := <-one.listed
	if len(one.listed) != 0 || !slices.Contains(first, "hi") || !slices.Contains(first, "compact") {
		t.Errorf("told %q, and %d lists more", first, len(one.listed))
	}
	one.Close()

	two := s.bridge(t)
	if err := two.Call(t.Context(), schema.MethodAgentSessionLoad, schema.LoadSessionRequest{SessionID: id, Cwd: s.dir}, nil); err != nil {
		t.Fatal(err)
	}
	if again := <-two.listed; !slices.Equal(first, again) {
		t.Errorf("loaded, it was told %q, want %q", again, first)
	}
	two.Close()
}
