package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/need"
)

// Configurations go into a file that only the user can read, and the file goes
// with the process, on whatever path.
func TestMCPConfigFile(t *testing.T) {
	servers := claude.MCPServers{
		"files": claude.StdioServer{Command: "mcp-files", Args: []string{"/repo"}, Env: map[string]string{"TOKEN": "s3cret"}, Timeout: 90 * time.Second, AlwaysLoad: true},
		"old":   claude.SSEServer{URL: "https://example.com/sse"},
		"other": wsServer{"wss://example.com"},
	}
	const want = `{"mcpServers":{"files":{"alwaysLoad":true,"args":["/repo"],"command":"mcp-files","env":{"TOKEN":"s3cret"},"timeout":90000,"type":"stdio"},` +
		`"old":{"type":"sse","url":"https://example.com/sse"},"other":{"type":"ws","url":"wss://example.com"}}}`
	for _, how := range []string{"session", "query", "failed start", "exit", "refused"} {
		t.Run(how, func(t *testing.T) {
			tmp := t.TempDir()
			leak.TempFolder(t, tmp)
			var d *double
			check := func() {
				path := ""
				for _, arg := range d.launch.Args {
					if strings.Contains(arg, "s3cret") {
						t.Errorf("a secret on the command line: %s", arg)
					}
					if p, ok := strings.CutPrefix(arg, "--mcp-config="); ok {
						path = p
					}
				}
				data, err := os.ReadFile(path)
				if err != nil || string(data) != want {
					t.Errorf("%s, %v\nwant %s", data, err, want)
				}
				file, _ := os.Stat(path)
				dir, _ := os.Stat(filepath.Dir(path))
				if need.FileModes.Here() && (file.Mode().Perm() != 0o600 || dir.Mode().Perm() != 0o700) {
					t.Errorf("modes %v and %v", file.Mode(), dir.Mode())
				}
				if strings.Join(d.launch.Args, " ") == "" || d.launch.Args[len(d.launch.Args)-1] == "--mcp-config="+path {
					t.Error("the flag is the last one")
				}
			}
			bubble(t, nil, func(t *testing.T, o *claude.Options) {
				d = o.Transport.(*double)
				o.MCPServers = servers
				o.StrictMCPConfig = true
				d.play = func(c *cli) {
					check()
					switch how {
					case "exit":
						c.code = 1
						return
					case "refused":
						c.refuse(c.request("initialize"), "no", "")
						return
					case "session":
						c.greet()
					}
					c.answer("done")
					c.idle()
				}
				switch how {
				case "query":
					if _, err := claude.Ask(t.Context(), "hello", o); err != nil {
						t.Error(err)
					}
				case "failed start":
					o.Transport = noStart{}
					fallthrough
				case "exit", "refused":
					if _, err := claude.Connect(t.Context(), o); err == nil {
						t.Error("connected")
					}
				default:
					s := connect(t, o)
					if _, err := s.Ask(t.Context(), "hello"); err != nil {
						t.Error(err)
					}
					finish(t, s)
				}
			})
			if left, _ := os.ReadDir(tmp); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestMCPServerOptions(t *testing.T) {
	var none *harness.MCPServer
	for name, server := range map[string]claude.MCPServer{
		"is nil":            none,
		"has no URL":        claude.HTTPServer{},
		"has no comman":     claude.StdioServer{},
		"not an MCPHandler": badKind{},
		"broken schema":     checkedServer{},
		"JSON object":       numberServer(1),
	} {
		_, err := claude.Connect(t.Context(), &claude.Options{MCPServers: claude.MCPServers{"x": server}, Transport: noStart{}})
		bad, ok := errors.AsType[*claude.OptionError](err)
		if !ok || bad.Field != `MCPServers["x"]` || !strings.Contains(bad.Problem, name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

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
			c.t.Errorf("got %s, want %s", r.Body, want)
		}
		c.succeed(r, "null")
		r = c.request("mcp_reconnect")
		if want := `{"subtype":"mcp_reconnect","serverName":"docs"}`; string(r.Body) != want {
			c.t.Errorf("got %s, want %s", r.Body, want)
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
		got, err := s.MCP().Set(t.Context(), claude.MCPServers{
			"x":    first,
			"docs": claude.HTTPServer{URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "Bearer s3cret"}},
		})
		if err != nil || got.Errors["docs"] != "unreachable" || len(got.Added) != 1 {
			t.Errorf("SetMCPServers = %+v, %v", got, err)
		}
		if _, closed := first.Counts(); closed != 0 {
			t.Error("a server that stays was closed")
		}
		if _, err := s.MCP().Set(t.Context(), claude.MCPServers{"x": second}); err != nil {
			t.Error(err)
		}
		if _, closed := first.Counts(); closed != 1 {
			t.Errorf("a server that was replaced was closed %d times", closed)
		}
		if _, err := s.MCP().Set(t.Context(), nil); err != nil {
			t.Error(err)
		}
		_, err = s.MCP().Set(t.Context(), claude.MCPServers{"x": claude.StdioServer{}})
		if bad, ok := errors.AsType[*claude.OptionError](err); !ok || bad.Field != `MCPServers["x"]` {
			t.Errorf("without a command: %v", err)
		}
		status, err := s.MCP().Status(t.Context())
		if err != nil || len(status) != 1 || status[0].Tools[0].Name != "a" {
			t.Errorf("MCPServerStatus = %+v, %v", status, err)
		}
		if err := s.MCP().Toggle(t.Context(), "x", false); err != nil {
			t.Error(err)
		}
		if err := s.MCP().Reconnect(t.Context(), "docs"); err == nil {
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
		if _, err := s.MCP().Set(t.Context(), claude.MCPServers{"old": stubborn(nil), "new": stubborn(nil)}); err != nil {
			t.Error(err)
		}
		finish(t, s)
	})
}
