package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/host"
)

// serveMCP plays an MCP server with one tool.
func serveMCP(call string) func(*client, frame) {
	return func(c *client, f frame) {
		var r struct {
			Subtype string
			Message struct {
				ID     json.RawMessage
				Method string
			}
		}
		_ = json.Unmarshal(f.Request, &r)
		body := `"result":{}`
		switch r.Message.Method {
		case "initialize":
			body = `"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"calc","version":"1"}}`
		case "tools/list":
			body = `"result":{"tools":[{"name":"add","description":"adds"}]}`
		case "tools/call":
			body = call
		}
		if body == "" {
			return
		}
		if len(r.Message.ID) == 0 {
			r.Message.ID = json.RawMessage("0")
		}
		c.reply(f, fmt.Sprintf(`{"mcp_response":{"jsonrpc":"2.0","id":%s,%s}}`, r.Message.ID, body))
	}
}

var adder = host.AgentFunc(func(ctx context.Context, t *host.Turn) error {
	out, err := t.UseTool(ctx, "mcp__calc__add", map[string]int{"a": 1}, nil)
	if err != nil {
		return err
	}
	return t.Say(ctx, out.Content.Text())
})

func TestMCPTool(t *testing.T) {
	tests := []struct{ call, want string }{
		{`"result":{"content":[{"type":"text","text":"42"}]}`, "42"},
		{`"result":{"content":[{"type":"text","text":"bad"}],"isError":true}`, "ERROR bad"},
		{`"result":{"content":[],"structuredContent":{"n":1}}`, `{"n":1}`},
		{`"error":{"code":-32603,"message":"crashed"}`, "ERROR MCP error -32603: crashed"},
		{`"nothing":1`, "ERROR MCP reply without a result"},
	}
	for _, tt := range tests {
		bubble(t, adder, &host.Options{Allow: []string{"mcp__calc"}}, func(c *client) {
			c.on(serveMCP(tt.call))
			c.request("r", "initialize", `"sdkMcpServers":["calc"]`)
			got := c.settle()
			for _, want := range []string{"? mcp_message initialize", "? mcp_message notifications/initialized", "? mcp_message tools/list"} {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in:\n%s", want, got)
				}
			}
			c.prompt("go", "")
			if got := verdict(c.settle()); got != tt.want {
				t.Errorf("%s: got %q, want %q", tt.call, got, tt.want)
			}
			c.request("s", "mcp_status", "")
			if got := c.settle(); !strings.HasPrefix(got, `= s {"mcpServers":[{"name":"calc","status":"connected"`) {
				t.Errorf("status %s", got)
			}
		})
	}
}

// An interrupt tells the server, and does not withdraw the control request.
func TestMCPInterrupt(t *testing.T) {
	bubble(t, adder, &host.Options{Allow: []string{"mcp__calc"}, SDKServers: []string{"calc"}}, func(c *client) {
		c.on(serveMCP(""))
		c.prompt("go", "")
		c.settle()
		c.request("r", "interrupt", "")
		got := c.settle()
		if !strings.Contains(got, "? mcp_message notifications/cancelled") || strings.Contains(got, "cancel\n") || !strings.Contains(got, "aborted_tools") {
			t.Errorf("got:\n%s", got)
		}
	})
}

func TestMCPFailures(t *testing.T) {
	refuse := func(c *client, f frame) {
		c.send(`{"type":"control_response","response":{"subtype":"error","request_id":%q,"error":"no such server"}}`, f.RequestID)
	}
	bubble(t, adder, &host.Options{Allow: []string{"mcp__calc"}, SDKServers: []string{"calc"}}, func(c *client) {
		c.on(refuse)
		c.prompt("go", "")
		synctest.Wait()
		if raw := c.frames[1].raw; !strings.Contains(raw, `"mcp_servers":[{"name":"calc","status":"failed","source":"sdk"}]`) {
			t.Errorf("init %s", raw)
		}
	})
	// A server that never answers delays the first turn by a minute.
	bubble(t, echo, &host.Options{SDKServers: []string{"calc"}}, func(c *client) {
		c.prompt("go", "")
		<-time.After(59 * time.Second)
		if got := c.settle(); strings.Contains(got, "init") && strings.Contains(got, "result") {
			t.Errorf("too early:\n%s", got)
		}
		<-time.After(2 * time.Second)
		if got := c.settle(); !strings.Contains(got, `result success completed "go"`) {
			t.Errorf("got:\n%s", got)
		}
	})
	bubble(t, adder, &host.Options{Allow: []string{"mcp__calc"}}, func(c *client) {
		c.prompt("go", "")
		if got := verdict(c.settle()); got != "ERROR no such tool: mcp__calc__add" {
			t.Errorf("got %q", got)
		}
	})
}

func TestMCPFromClient(t *testing.T) {
	bubble(t, echo, nil, func(c *client) {
		c.on(serveMCP(""))
		c.request("r", "mcp_set_servers", `"servers":{"calc":{"type":"sdk"},"web":{"type":"http"}}`)
		if got := c.settle(); !strings.Contains(got, `= r {"added":["calc"],"removed":[],"errors":{"web":`) {
			t.Errorf("got:\n%s", got)
		}
		c.request("n", "mcp_message", `"server_name":"calc","message":{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		if got := c.settle(); !strings.Contains(got, "= n ") || !strings.Contains(got, "? mcp_message tools/list") {
			t.Errorf("got:\n%s", got)
		}
		c.request("p", "mcp_message", `"server_name":"calc","message":{"jsonrpc":"2.0","id":7,"method":"ping"}`)
		synctest.Wait()
		all := ""
		for _, f := range c.frames {
			all += f.raw
		}
		if !strings.Contains(all, `"id":7`) || !strings.Contains(all, `"result":{}`) {
			t.Errorf("ping: %s", all)
		}
	})
}

func TestElicitAndDialog(t *testing.T) {
	agent := host.AgentFunc(func(ctx context.Context, t *host.Turn) error {
		e, err := t.Elicit(ctx, &control.Elicitation{ServerName: "calc", Message: "Name?"})
		if err != nil {
			return err
		}
		d, err := t.ShowDialog(ctx, &control.Dialog{Kind: "refresh"})
		if err != nil {
			return err
		}
		return t.Say(ctx, fmt.Sprintf("%s %s %v", e.Action, e.Content, d.Completed))
	})
	for reply, want := range map[string]string{
		`{"action":"accept","content":{"n":1}}`: `accept {"n":1} false`,
		`{"behavior":"completed","result":1}`:   `decline %!s(<nil>) true`,
		`7`:                                     `decline %!s(<nil>) false`,
	} {
		bubble(t, agent, nil, func(c *client) {
			c.on(func(c *client, f frame) { c.reply(f, reply) })
			c.prompt("go", "")
			if got := c.settle(); !strings.Contains(got, "assistant text: "+want) {
				t.Errorf("%s: got:\n%s", reply, got)
			}
		})
	}
}

func TestParseArgs(t *testing.T) {
	o, err := host.ParseArgs([]string{"--output-format=stream-json", "--verbose", "--input-format", "stream-json", "--model=m",
		"--permission-prompt-tool", "stdio", "--allowedTools=Read,Bash(git:* a, b)", "--disallowed-tools", "Write Edit", "--max-turns=3",
		"--session-id=x", "--permission-mode=plan", "--include-partial-messages", "--replay-user-messages", "--mcp-config",
		`{"mcpServers":{"a":{"type":"sdk"},"b":{"type":"stdio"}}}`, "--json-schema", `{"type":"object"}`, "--setting-sources="},
		[]string{"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1"})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%s %v %q %q %d %s %s %v %v %v %s %v", o.Model, o.PromptTool, o.Allow, o.Deny, o.MaxTurns, o.SessionID, o.Mode,
		o.PartialMessages, o.ReplayUserMessages, o.SDKServers, o.JSONSchema, o.StateEvents)
	if want := `m true ["Read" "Bash(git:* a, b)"] ["Write" "Edit"] 3 x plan true true [a] {"type":"object"} true`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for args, want := range map[string]string{
		"--bogus=1":                    "unknown option '--bogus'",
		"--model":                      "argument missing",
		"--output-format=json":         "stream-json",
		"--permission-mode=bogus":      "not a mode",
		"--version":                    "version",
		"--mcp-config /does/not/exist": "open /does/not/exist: ",
	} {
		if _, err := host.ParseArgs(strings.Fields(args), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}
