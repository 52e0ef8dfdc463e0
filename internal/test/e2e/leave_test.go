package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// Leaving the loop of a prompt does not end a turn that another prompt shares.
func TestRealLeavingRunSparesAnotherPrompt(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "a prompt that joins a turn")
	dir := t.TempDir()
	started, release := filepath.Join(dir, "started"), filepath.Join(dir, "release")
	bash := claudetest.UseTool("Bash", map[string]any{"command": "touch " + started + "; " + untilExists(release)})
	hold := make(chan struct{})
	r := realCLI(t, bash, claudetest.Say("it answers both of them").Chunks(2, 0).Hold(hold))
	r.opts.PermissionMode, r.opts.PartialMessages = permission.ModeBypassPermissions, true
	s := r.connect(t)
	other := ""
	for msg, err := range s.Run(t.Context(), "first") {
		if err != nil {
			t.Fatal(err)
		}
		switch m := msg.(type) {
		case *message.Assistant:
			if other == "" && len(m.ToolUses()) > 0 {
				waitForFile(t, started)
				if other, err = s.Send(t.Context(), "second"); err != nil {
					t.Fatal(err)
				}
			}
		case *message.CommandLifecycle:
			if m.CommandUUID == other && m.State == message.CommandQueued {
				if err := os.WriteFile(release, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		if m, ok := msg.(*message.StreamEvent); ok && other != "" && strings.Contains(m.Text(), "it") {
			break
		}
	}
	if err := s.SetModel(t.Context(), ""); err != nil { // an interrupt would have been read by now
		t.Fatal(err)
	}
	close(hold)
	for msg, err := range s.Messages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := msg.(*message.Result); ok {
			if m.Failed() || m.Text != "it answers both of them" || !slices.Contains(m.Prompts, other) {
				t.Errorf("result %+v, want the answer to the other prompt", m)
			}
			break
		}
	}
}
