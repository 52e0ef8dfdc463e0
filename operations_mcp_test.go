package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/test/harness"
)

func TestSetMCPServers(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		c.say("%s", mcpRequest("u-1", "x", `{"jsonrpc":"2.0","id":0,"method":"initialize"}`))
		c.hear()
		for _, want := range []string{
			`{"docs":{"headers":{"Authorization":"Bearer s3cret"},"type":"http","url":"https://example.com/mcp"},"x":{"name":"x","type":"sdk"}}`,
			`{}`, `{"x":{"name":"x","type":"sdk"}}`, // another handler under the same name
			`{}`,
		} {
			r := c.request("mcp_set_servers")
			if got := string(jsonx.Member(r.Body, "servers")); got != want {
				c.t.Errorf("servers %s, want %s", got, want)
			}
			c.succeed(r, `{"added":["docs"],"removed":[],"errors":{"docs":"unreachable"}}`)
		}
		c.succeed(c.request("mcp_status"), `{"mcpServers":[{"name":"x","status":"connected","tools":[{"name":"a"}]}]}`)
		r := c.request("mcp_toggle")
		if want := `{"subtype":"mcp_toggle","serverName":"x","enabled":false}`; string(r.Body) != want {
			c.t.Errorf("heard %s, want %s", r.Body, want)
		}
		c.succeed(r, "null")
		r = c.request("mcp_reconnect")
		if want := `{"subtype":"mcp_reconnect","serverName":"docs"}`; string(r.Body) != want {
			c.t.Errorf("heard %s, want %s", r.Body, want)
		}
		c.refuse(r, "no such server", "")
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		echo := func(_ context.Context, _ string, m json.RawMessage) (json.RawMessage, error) {
			return harness.AnswerTo(m, `{}`), nil
		}
		first, second := &harness.MCPServer{Answer: echo}, &harness.MCPServer{Answer: echo}
		o.MCPServers = claude.MCPServers{"x": first}
		s := connect(t, o)
		synctest.Wait()
		got, err := s.SetMCPServers(t.Context(), claude.MCPServers{
			"x":    first,
			"docs": claude.HTTPServer{URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "Bearer s3cret"}},
		})
		if err != nil || got.Errors["docs"] != "unreachable" || len(got.Added) != 1 {
			t.Errorf("SetMCPServers = %+v, %v", got, err)
		}
		if _, closed := first.Counts(); closed != 0 {
			t.Error("a server that stays was closed")
		}
		if _, err := s.SetMCPServers(t.Context(), claude.MCPServers{"x": second}); err != nil {
			t.Error(err)
		}
		if _, closed := first.Counts(); closed != 1 {
			t.Errorf("a server that was replaced was closed %d times", closed)
		}
		if _, err := s.SetMCPServers(t.Context(), nil); err != nil {
			t.Error(err)
		}
		_, err = s.SetMCPServers(t.Context(), claude.MCPServers{"x": claude.StdioServer{}})
		if bad, ok := errors.AsType[*claude.OptionError](err); !ok || bad.Field != `MCPServers["x"]` {
			t.Errorf("without a command: %v", err)
		}
		status, err := s.MCPServerStatus(t.Context())
		if err != nil || len(status) != 1 || status[0].Tools[0].Name != "a" {
			t.Errorf("MCPServerStatus = %+v, %v", status, err)
		}
		if err := s.ToggleMCPServer(t.Context(), "x", false); err != nil {
			t.Error(err)
		}
		if err := s.ReconnectMCPServer(t.Context(), "docs"); err == nil {
			t.Error("a refusal was not an error")
		}
		finish(t, s)
	})
}

// A CLI that learns about a new server shakes hands with it at once, even when
// another one has to be taken out before it can be replaced.
func TestSetMCPServersKnowsNewOnesFirst(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		n := 0
		ask := func(server string) {
			n++
			c.say("%s", mcpRequest(fmt.Sprint("u-", n), server, `{"jsonrpc":"2.0","id":0,"method":"initialize"}`))
			if f, _ := c.hear(); !strings.Contains(string(f.Line), `"result":{}`) {
				c.t.Errorf("handshake with %s: %s", server, f.Line)
			}
		}
		ask("old")
		for _, fresh := range []string{"new", "old"} {
			r := c.request("mcp_set_servers")
			if jsonx.Member(jsonx.Member(r.Body, "servers"), fresh) == nil {
				c.t.Errorf("%s is missing: %s", fresh, r.Body)
			}
			ask(fresh)
			c.succeed(r, `{"added":[],"removed":[],"errors":{}}`)
		}
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.MCPServers = claude.MCPServers{"old": stubborn(nil)}
		s := connect(t, o)
		synctest.Wait()
		if _, err := s.SetMCPServers(t.Context(), claude.MCPServers{"old": stubborn(nil), "new": stubborn(nil)}); err != nil {
			t.Error(err)
		}
		finish(t, s)
	})
}
