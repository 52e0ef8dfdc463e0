package claude_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/test/harness"
)

// stubborn is a server whose method "slow" runs until it is released, whatever
// becomes of its context. Each answer says how the context ended, if it did.
func stubborn(release <-chan struct{}) *harness.MCPServer {
	return &harness.MCPServer{Answer: func(ctx context.Context, method string, m json.RawMessage) (json.RawMessage, error) {
		if method == "slow" {
			<-release
			return harness.AnswerTo(m, fmt.Sprintf(`{"ended":%t}`, ctx.Err() != nil)), nil
		}
		if jsonx.Member(m, "id") == nil {
			return nil, nil
		}
		return harness.AnswerTo(m, `{}`), nil
	}}
}

// The CLI counts its calls from 0 again after each handshake. A call of an
// earlier handshake that still runs neither takes an id away nor is meant when
// that is cancelled.
func TestMCPNewHandshake(t *testing.T) {
	var release chan struct{}
	play := func(c *cli) {
		c.greet()
		c.say("%s", mcpRequest("u-1", "x", `{"jsonrpc":"2.0","id":1,"method":"slow"}`))
		for i, step := range []struct{ message, want string }{
			{`{"jsonrpc":"2.0","id":1,"method":"initialize"}`, `"id":1,"result":{}`},
			{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, `"result":{}`},
			{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `"id":1,"result":{}`},
		} {
			id := fmt.Sprint("v-", i)
			c.say("%s", mcpRequest(id, "x", step.message))
			if f, _ := c.hear(); !strings.Contains(string(f.Line), step.want) || !strings.Contains(string(f.Line), id) {
				c.t.Errorf("%s: heard %s", step.message, f.Line)
			}
			synctest.Wait()
		}
		close(release)
		if f, _ := c.hear(); string(f.Line) != reply("u-1", `{"mcp_response":{"jsonrpc":"2.0","id":1,"result":{"ended":false}}}`) {
			c.t.Errorf("the earlier call: %s", f.Line)
		}
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		release = make(chan struct{})
		o.MCPServers = claude.MCPServers{"x": stubborn(release)}
		s := connect(t, o)
		<-release
		synctest.Wait()
		finish(t, s)
	})
}

// An id is free again as soon as its call is answered or withdrawn, although
// the handler of that still runs.
func TestMCPIDIsFreeOnceAnswered(t *testing.T) {
	for how, takeBack := range map[string]string{
		"cancelled": mcpRequest("u-2", "x", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`),
		"withdrawn": `{"type":"control_cancel_request","request_id":"u-1"}`,
	} {
		t.Run(how, func(t *testing.T) {
			var release chan struct{}
			play := func(c *cli) {
				c.greet()
				c.say("%s", mcpRequest("u-1", "x", `{"jsonrpc":"2.0","id":1,"method":"slow"}`))
				synctest.Wait()
				c.say("%s", takeBack)
				if how == "cancelled" {
					c.hear() // the error for the call, and
					c.hear() // the acknowledgement
				}
				c.say("%s", mcpRequest("u-3", "x", `{"jsonrpc":"2.0","id":1,"method":"ping"}`))
				if f, _ := c.hear(); string(f.Line) != reply("u-3", `{"mcp_response":{"jsonrpc":"2.0","id":1,"result":{}}}`) {
					c.t.Errorf("heard %s", f.Line)
				}
				close(release)
				c.idle()
			}
			bubble(t, play, func(t *testing.T, o *claude.Options) {
				release = make(chan struct{})
				o.MCPServers = claude.MCPServers{"x": stubborn(release)}
				s := connect(t, o)
				<-release
				synctest.Wait()
				finish(t, s)
			})
		})
	}
}

// A CLI that is told of a new server shakes hands with it at once, also when
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

// What could be meant for another server, or be another message, reaches none.
func TestMCPWrapperIsStrict(t *testing.T) {
	ping := `{"jsonrpc":"2.0","id":3,"method":"ping"}`
	for name, body := range map[string]string{
		"message twice":           `"server_name":"x","message":` + ping + `,"message":` + ping,
		"message in another case": `"server_name":"x","message":` + ping + `,"Message":{"jsonrpc":"2.0","id":4,"method":"tools/call"}`,
		"server in another case":  `"server_name":"x","Server_Name":"y","message":` + ping,
		"method in another case":  `"server_name":"x","message":{"jsonrpc":"2.0","id":3,"method":"ping","Method":"tools/call"}`,
		"id in another case":      `"server_name":"x","message":{"jsonrpc":"2.0","id":3,"ID":4,"method":"ping"}`,
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			line := `{"type":"control_request","request_id":"u-1","request":{"subtype":"mcp_message",` + body + `}}`
			bubble(t, asking(line, &got), func(t *testing.T, o *claude.Options) {
				o.MCPServers = claude.MCPServers{"x": &harness.MCPServer{Answer: func(_ context.Context, _ string, m json.RawMessage) (json.RawMessage, error) {
					t.Errorf("the server got %s", m)
					return harness.AnswerTo(m, `{}`), nil
				}}}
				s := connect(t, o)
				synctest.Wait()
				finish(t, s)
				if !strings.Contains(got, `"mcp_response":{"jsonrpc":"2.0","id":3,"error":{"code":-32600,`) {
					t.Errorf("heard %s", got)
				}
			})
		})
	}
}
