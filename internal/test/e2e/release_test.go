package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// A slot that the question of an MCP server holds is released: the server learns
// that there will be no answer, the turn ends, and a waiting conversation gets the
// slot.
func TestRealRelease(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "an elicitation")
	r := startReal(t, claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		switch n := len(c.ToolResults); {
		case n > 0:
			return claudetest.Say("It says: " + c.ToolResults[n-1].Text)
		case strings.Contains(c.Prompt, "ask"):
			return claudetest.UseTool("mcp__eli__ask", map[string]any{})
		}
		return claudetest.Say("hello")
	}))
	r.withMCP(t)
	db := store.Files(t.TempDir())
	f := r.fleet(t, db, fleet.Options{MaxLive: 1, Gate: &approval.Options{Patience: time.Hour, Needs: onlyBash}})
	defer closeFleet(t, f)
	s, err := serve.New(f, serve.Options{Records: db, Project: "p", Logger: harness.Logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	first, err := f.Send(t.Context(), "ada/1", fleet.Prompt{Text: "ask me"})
	if err != nil {
		t.Fatal(err)
	}
	var asked approval.Question
	for q, err := range f.Approvals().Watch(t.Context(), approval.Filter{States: []approval.State{approval.StateOpen}}) {
		if err != nil {
			t.Fatal(err)
		}
		asked = q
		break
	}
	if asked.Tool != approval.ElicitationTool || !asked.HoldsProcess {
		t.Fatalf("asked %+v", asked)
	}
	const second = "22222222-2222-4222-8222-222222222222"
	if _, err := f.Send(t.Context(), "bob/1", fleet.Prompt{ID: second, Text: "hi"}); err != nil {
		t.Fatal(err)
	}
	if info, err := f.Get(t.Context(), "bob/1"); err != nil || info.State != fleet.StatePending {
		t.Errorf("the other conversation: %+v, %v", info, err)
	}
	root := api.User{Name: "root", Role: api.RoleAdmin}
	if err := s.Service().Release(t.Context(), root, "ada~1"); err != nil {
		t.Fatal(err)
	}
	if text, err := lastText(f.RunPrompt(t.Context(), "bob/1", fleet.Prompt{ID: second, Text: "hi"})); err != nil || text != "hello" {
		t.Errorf("the other conversation says %q, %v", text, err)
	}
	if o, err := f.Prompt(t.Context(), "ada/1", first); err != nil || o.Status != fleet.PromptAnswered || !strings.Contains(o.Text, `"action":"decline"`) {
		t.Errorf("the first conversation: %+v, %v", o, err)
	}
}
