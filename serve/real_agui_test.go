package serve_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// The real CLI writes the result of a call into its transcript a moment after the next
// answer has begun to stream. A client of AG-UI still gets one thing after the other: no
// call and no result is inside of a text, and the text is whole.
func TestRealAGUI(t *testing.T) {
	realcli.Needs(t, "2.1.325", "a fleet")
	cli, mark := realcli.Need(t, realcli.Tested()), leak.Processes(t)
	const before, after = "I look at both.", "Both are there, and this answer is long enough to be written in many pieces."
	model := claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		if len(c.ToolResults) > 0 {
			return claudetest.Say(after).Chunks(3, 5*time.Millisecond)
		}
		return claudetest.Say(before).With(claudetest.UseTools(
			claudetest.ScriptedCall{ID: "toolu_one", Name: "Bash", Input: map[string]string{"command": "echo one"}},
			claudetest.ScriptedCall{ID: "toolu_two", Name: "Bash", Input: map[string]string{"command": "echo two"}},
		)).Chunks(5, time.Millisecond)
	})
	base, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	env, _ := realcli.Env(t, base)
	presets := []serve.Preset{{Name: "shop", Roots: []string{t.TempDir()}, Options: &claude.Options{
		CLIPath: cli, Env: append(env, mark), Logger: slog.New(slog.DiscardHandler), AllowedTools: []string{"Bash(echo:*)"}, PartialMessages: true,
	}}}
	r := newRealRig(t, fleet.Options{Store: store.Files(t.TempDir())}, serve.Options{Presets: presets})
	ada := r.as("ada", api.RoleOperator)
	for i := range 8 {
		var types []string
		text, open := "", false
		for _, e := range ada.aguiRun(fmt.Sprintf(`{"threadId":"t%d","runId":"r","messages":[{"id":"1","role":"user","content":"look"}],"tools":[],"context":[]}`, i)) {
			types = append(types, e.Type)
			switch e.Type {
			case "TEXT_MESSAGE_START":
				open = true
			case "TEXT_MESSAGE_CONTENT":
				text += e.Delta
			case "TEXT_MESSAGE_END":
				open = false
			case "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT":
				if open {
					t.Errorf("run %d: %s is inside of a text: %q", i, e.Type, types)
				}
			}
		}
		results := len(slices.DeleteFunc(slices.Clone(types), func(kind string) bool { return kind != "TOOL_CALL_RESULT" }))
		if text != before+after || results != 2 || !slices.Contains(types, "RUN_FINISHED") {
			t.Errorf("run %d: the text is %q, with %d results: %s", i, text, results, strings.Join(types, " "))
		}
	}
}
