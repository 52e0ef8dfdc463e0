package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/permission"
)

// library is an MCP server with one tool, which notes the arguments it gets.
func library(got *[]string) *harness.MCPServer {
	return &harness.MCPServer{Answer: func(_ context.Context, method string, m json.RawMessage) (json.RawMessage, error) {
		switch method {
		case "initialize":
			return harness.AnswerTo(m, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"library","version":"1"}}`), nil
		case "tools/list":
			return harness.AnswerTo(m, `{"tools":[{"name":"read","inputSchema":{"type":"object"}}]}`), nil
		case "tools/call":
			*got = append(*got, string(jsonx.Member(jsonx.Member(m, "params"), "arguments")))
			return harness.AnswerTo(m, `{"content":[{"type":"text","text":"a book"}]}`), nil
		}
		return nil, nil
	}}
}

// TestRealInputsOfOneMeaning lets the model call a tool with two spellings of
// one name. The policies are as simple as those of the guide: whatever way they
// read the input, the tool does not run, because a server may read it otherwise.
func TestRealInputsOfOneMeaning(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "1.0.128", "an MCP server of this process")
	safe := func(input func(any) error) bool {
		var fields struct {
			Path string `json:"path"`
		}
		var members map[string]any
		return input(&fields) == nil && fields.Path == "/safe/x" || input(&members) == nil && members["path"] == "/safe/x"
	}
	gates := map[string]func(o *claude.Options){
		"callback": func(o *claude.Options) {
			o.CanUseTool = func(_ context.Context, req *permission.Request) (permission.Decision, error) {
				if safe(req.DecodeInput) {
					return permission.Allow(), nil
				}
				return permission.Deny("not there"), nil
			}
		},
		"hook": func(o *claude.Options) {
			o.AllowedTools = []string{"mcp__library__read"}
			o.Hooks = []hook.Hook{hook.PreToolUse("", func(_ context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
				if safe(in.DecodeInput) {
					return nil, nil
				}
				return hook.DenyTool("not there"), nil
			})}
		},
	}
	inputs := map[string]string{ // what the model is told; empty: the tool ran
		`{"path":"/safe/x","n":1}`:                     "",
		`{"path":"/safe/x","PATH":"/etc/passwd"}`:      "differ only in case",
		`{"PATH":"/safe/x","path":"/etc/passwd"}`:      "differ only in case",
		`{"path":"/safe/x","a":[{"b":1,"B":2}]}`:       "differ only in case",
		`{"path":"/safe/x","\u212aey":1,"key":"/etc"}`: "differ only in case",
		`{"Path":"/safe/x"}`:                           "not there",
	}
	for name, gate := range gates {
		t.Run(name, func(t *testing.T) {
			r := realCLI(t)
			var got []string
			r.opts.MCPServers = claude.MCPServers{"library": library(&got)}
			gate(r.opts)
			s := r.connect(t)
			for input, want := range inputs {
				got = nil
				r.model.Add(claudetest.UseTool("mcp__library__read", json.RawMessage(input)), claudetest.Say("done"))
				if _, err := s.Ask(t.Context(), "read"); err != nil {
					t.Fatal(err)
				}
				told := r.lastResult(t)
				if ran := fmt.Sprint(got) != "[]"; ran != (want == "") || !strings.Contains(told.Text, want) {
					t.Errorf("%s: the server got %q, the model was told %q", input, got, told.Text)
				}
			}
		})
	}
}
