package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// withMCP gives the CLI the MCP server of the test binary, under the name eli.
func (r *real) withMCP(t *testing.T) {
	t.Helper()
	r.opts.MCPServers = claude.MCPServers{"eli": asker(t)}
	r.opts.AllowedTools = append(r.opts.AllowedTools, "mcp__eli__ask")
}

// The question of an MCP server reaches the callback, and its answer the
// server. Without a callback, and when it fails, the question is declined.
func TestRealElicitation(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "an elicitation")
	r := realCLI(t)
	for range 3 {
		r.model.Add(claudetest.UseTool("mcp__eli__ask", map[string]any{}), claudetest.Say("done"))
	}
	r.withMCP(t)
	asked := 0
	r.opts.OnElicitation = func(_ context.Context, e *control.Elicitation) (control.ElicitationAnswer, error) {
		if e.ServerName != "eli" || e.Message != "Your name?" || e.Mode != "form" || len(e.RequestedSchema) == 0 {
			t.Errorf("asked %+v", e)
		}
		switch asked++; asked {
		case 1:
			return control.Accept(map[string]string{"name": "Ada"}), nil
		case 2:
			return control.Cancel(), nil
		}
		panic("broken")
	}
	s := r.connect(t)
	for _, want := range []string{`"action":"accept","content":{"name":"Ada"}`, `"action":"cancel"`, `"action":"decline"`} {
		if _, err := s.Ask(t.Context(), "ask"); err != nil {
			t.Fatal(err)
		}
		if got := r.lastResult(t); got.IsError || !strings.Contains(got.Text, want) {
			t.Errorf("the server was told %+v, want %s", got, want)
		}
	}
	if asked != 3 {
		t.Errorf("asked %d times", asked)
	}
}

func TestRealElicitationDeclined(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "an elicitation")
	r := realCLI(t)
	r.model.Add(claudetest.UseTool("mcp__eli__ask", map[string]any{}), claudetest.Say("done"))
	r.withMCP(t)
	// A hook keeps the control channel open; it has no opinion.
	r.opts.Hooks = []hook.Hook{noHook()}
	if _, err := claude.Ask(t.Context(), "ask", r.opts); err != nil {
		t.Fatal(err)
	}
	if got := r.lastResult(t); !strings.Contains(got.Text, `"action":"decline"`) {
		t.Errorf("the server was told %+v", got)
	}
}
