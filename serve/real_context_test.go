package serve_test

import (
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// The real CLI reports how large a context is, and its answers how much of it is full:
// without what sub-agents read, and less after a compaction.
func TestRealContext(t *testing.T) {
	realcli.Needs(t, "2.1.325", "a fleet")
	cli, mark := realcli.Need(t, realcli.Tested()), leak.Processes(t)
	read := func(r claudetest.Reply, tokens int) claudetest.Reply {
		return r.Usage(claudetest.ReplyUsage{InputTokens: 10, CacheCreationInputTokens: 990, CacheReadInputTokens: tokens - 1000, OutputTokens: 7})
	}
	var delegated atomic.Bool
	model := claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		switch {
		case strings.Contains(c.Prompt, "look inside"): // the sub-agent
			delegated.Store(true)
			return read(claudetest.Say("seen"), 150_000)
		case strings.Contains(c.Prompt, "delegate") && len(c.ToolResults) == 0:
			return read(claudetest.UseTools(claudetest.ScriptedCall{ID: "toolu_agent", Name: "Agent", Input: map[string]any{
				"description": "Look", "prompt": "look inside", "subagent_type": "general-purpose", "run_in_background": false,
			}}), 45_000)
		case strings.Contains(c.Prompt, "delegate"):
			return read(claudetest.Say("done"), 50_000)
		case strings.Contains(c.Prompt, "afterwards"):
			return read(claudetest.Say("fresh"), 9_000)
		}
		return read(claudetest.Say("noted"), 41_000)
	})
	base, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	env, _ := realcli.Env(t, base)

	quiet := slog.New(slog.DiscardHandler)
	presets := []serve.Preset{{Name: "shop", Roots: []string{t.TempDir()}, Options: &claude.Options{CLIPath: cli, Env: append(env, mark), Logger: quiet, AllowedTools: []string{"Agent"}}}}
	r := newRealRig(t, fleet.Options{Store: store.Files(t.TempDir())}, serve.Options{Presets: presets})
	ada := r.as("ada", api.RoleAdmin)
	own := ada.begin("hello")
	for i, step := range []struct {
		prompt string
		tokens int64 // 0: not known
	}{{"", 41_000}, {"delegate", 50_000}, {"/compact", 0}, {"afterwards", 9_000}} {
		if step.prompt != "" {
			want[api.Prompt](ada, ada.do("POST", "/v1/conversations/"+own.ID+"/prompts", `{"content":"`+step.prompt+`"}`), http.StatusAccepted)
		}
		for _, turn := range ada.turnsOf(own.ID, i+1) {
			if turn.State != api.PromptAnswered {
				t.Fatalf("%q: %+v", step.prompt, turn)
			}
		}
		got := get[api.Conversation](ada, "/v1/conversations/"+own.ID).Context
		switch {
		case step.tokens == 0 && got != nil:
			t.Errorf("after %q: %+v, want nothing", step.prompt, got)
		case step.tokens != 0 && (got == nil || got.Tokens != step.tokens || got.Window < 200_000 || got.Model == ""):
			t.Errorf("after %q: %+v, want %d tokens", step.prompt, got, step.tokens)
		}
	}
	if !delegated.Load() {
		t.Error("no sub-agent has run")
	}
}
