package serve_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// The real CLI writes the calls of an answer into its transcript a moment after the next
// answer has begun to stream. An editor on a server still sees the calls, and their
// results, before the text that follows them, even if the answers with the calls have no
// text of their own.
func TestRealEditorOrder(t *testing.T) {
	realcli.Needs(t, "2.1.325", "a fleet")
	cli, mark := realcli.Need(t, realcli.Tested()), leak.Processes(t)
	const said = "All of them are there, and this answer is long enough to be written in many pieces."
	model := claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		next := "toolu_one"
		if len(c.ToolResults) > 0 {
			if c.ToolResults[0].ToolUseID == "toolu_two" {
				return claudetest.Say(said).Chunks(3, 5*time.Millisecond)
			}
			next = "toolu_two"
		}
		return claudetest.UseTools(claudetest.ScriptedCall{ID: next, Name: "Bash", Input: map[string]string{"command": "echo one"}})
	})
	base, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	env, _ := realcli.Env(t, base)
	root := t.TempDir()
	presets := []serve.Preset{{Name: "shop", Roots: []string{root}, Options: &claude.Options{
		CLIPath: cli, Env: append(env, mark), Logger: slog.New(slog.DiscardHandler), AllowedTools: []string{"Bash(echo:*)"}, PartialMessages: true,
	}}}
	r := newRealRig(t, fleet.Options{Store: store.Files(t.TempDir())}, serve.Options{Presets: presets})
	ada := newEditor(t, &acp.Remote{Server: r.remote("ada", api.RoleOperator, nil)})
	for i := range 8 {
		id := ada.New(t, root)
		if got := <-ada.begin(t, id, "look"); got != schema.StopReasonEndTurn {
			t.Fatalf("ended %s", got)
		}
		var kinds []string
		for _, up := range ada.Updates(id) {
			switch {
			case up.AgentMessageChunk != nil && !slices.Contains(kinds, "text"):
				kinds = append(kinds, "text")
			case up.ToolCall != nil:
				kinds = append(kinds, "call")
			case up.ToolCallUpdate != nil && up.ToolCallUpdate.Status == schema.ToolCallStatusCompleted:
				kinds = append(kinds, "result")
			}
		}
		if got := strings.Join(kinds, " "); got != "call result call result text" || ada.Text(id) != said {
			t.Errorf("session %d: %s; the text is %q", i, got, ada.Text(id))
		}
	}
}
