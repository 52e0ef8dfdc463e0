package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/test/harness"
)

// mcpRequest is a line of the CLI.
func mcpRequest(id, server, message string) string {
	return fmt.Sprintf(`{"type":"control_request","request_id":%q,"request":{"subtype":"mcp_message","server_name":%q,"message":%s}}`, id, server, message)
}

func TestMCPAnswers(t *testing.T) {
	tests := []struct {
		name    string
		server  string
		message string
		handle  func(ctx context.Context, method string, message json.RawMessage) (json.RawMessage, error)
		want    string // the reply
	}{
		{"id 0", "x", `{"jsonrpc":"2.0","id":0,"method":"initialize"}`, nil,
			`{"mcp_response":{"jsonrpc":"2.0","id":0,"result":{}}}`},
		{"id that is a text", "x", `{"id":"a\u0062","method":"ping"}`, nil,
			`{"mcp_response":{"jsonrpc":"2.0","id":"a\u0062","result":{}}}`},
		{"notification", "x", `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			func(context.Context, string, json.RawMessage) (json.RawMessage, error) { return nil, nil },
			`{"mcp_response":{"jsonrpc":"2.0","result":{}}}`},
		{"notification that fails", "x", `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			func(context.Context, string, json.RawMessage) (json.RawMessage, error) { return nil, errors.New("no") },
			`{"mcp_response":{"jsonrpc":"2.0","result":{}}}`},
		{"response to a push", "x", `{"jsonrpc":"2.0","id":7,"result":{}}`,
			func(context.Context, string, json.RawMessage) (json.RawMessage, error) { return nil, nil },
			`{"mcp_response":{"jsonrpc":"2.0","result":{}}}`},
		{"unknown server", "y", `{"jsonrpc":"2.0","id":3,"method":"ping"}`, nil,
			`{"mcp_response":{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"MCP server not found: y"}}}`},
		{"unknown server, notification", "y", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil,
			`{"mcp_response":{"jsonrpc":"2.0","result":{}}}`},
		{"not JSON-RPC", "x", `[1]`, nil,
			`{"mcp_response":{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not a JSON-RPC message"}}}`},
		{"method twice", "x", `{"jsonrpc":"2.0","id":3,"method":"ping","method":"tools/call"}`, nil,
			`{"mcp_response":{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"the message is no JSON, or repeats a name"}}}`},
		{"argument twice", "x", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"arguments":{"a":1,"\u0061":2}}}`, nil,
			`{"mcp_response":{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"the message is no JSON, or repeats a name"}}}`},
		{"server twice", "x", `{"jsonrpc":"2.0","id":3,"method":"ping"},"server_name":"y"`, nil,
			`{"mcp_response":{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"the message is no JSON, or repeats a name"}}}`},
		{"error", "x", `{"jsonrpc":"2.0","id":4,"method":"tools/call"}`,
			func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				return nil, errors.New("it \"broke\"")
			},
			`{"mcp_response":{"jsonrpc":"2.0","id":4,"error":{"code":-32603,"message":"it \"broke\""}}}`},
		{"panic", "x", `{"jsonrpc":"2.0","id":5,"method":"tools/call"}`,
			func(context.Context, string, json.RawMessage) (json.RawMessage, error) { panic("boom") },
			`{"mcp_response":{"jsonrpc":"2.0","id":5,"error":{"code":-32603,"message":"the callback panicked: boom"}}}`},
		{"Goexit", "x", `{"jsonrpc":"2.0","id":5,"method":"tools/call"}`,
			func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				runtime.Goexit()
				return nil, nil
			},
			`{"mcp_response":{"jsonrpc":"2.0","id":5,"error":{"code":-32603,"message":"the callback ended its goroutine"}}}`},
		{"no response", "x", `{"jsonrpc":"2.0","id":6,"method":"tools/call"}`,
			func(context.Context, string, json.RawMessage) (json.RawMessage, error) { return nil, nil },
			`{"mcp_response":{"jsonrpc":"2.0","id":6,"error":{"code":-32603,"message":"the server gave no response"}}}`},
		{"no JSON", "x", `{"jsonrpc":"2.0","id":6,"method":"tools/call"}`,
			func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				return json.RawMessage(`{"id":6,"result":NaN}`), nil
			},
			`{"mcp_response":{"jsonrpc":"2.0","id":6,"error":{"code":-32603,"message":"the server gave a response that is no JSON"}}}`},
		{"line breaks", "x", `{"jsonrpc":"2.0","id":6,"method":"tools/call"}`,
			func(_ context.Context, _ string, m json.RawMessage) (json.RawMessage, error) {
				return harness.AnswerTo(m, "{\n\"a\": \"\\n\"\n}"), nil
			},
			`{"mcp_response":{"jsonrpc":"2.0","id":6,"result":{"a":"\n"}}}`},
		{"error beside a response", "x", `{"jsonrpc":"2.0","id":6,"method":"tools/call"}`,
			func(_ context.Context, _ string, m json.RawMessage) (json.RawMessage, error) {
				return harness.AnswerTo(m, `{}`), errors.New("only for the log")
			},
			`{"mcp_response":{"jsonrpc":"2.0","id":6,"result":{}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got string
			bubble(t, asking(mcpRequest("u-1", tt.server, tt.message), &got), func(t *testing.T, o *claude.Options) {
				handle := tt.handle
				if handle == nil {
					handle = func(_ context.Context, _ string, m json.RawMessage) (json.RawMessage, error) {
						return harness.AnswerTo(m, `{}`), nil
					}
				}
				server := &harness.MCPServer{Answer: handle}
				o.MCPServers = claude.MCPServers{"x": server}
				s := connect(t, o)
				synctest.Wait()
				finish(t, s)
				if got != reply("u-1", tt.want) {
					t.Errorf("got  %s\nwant %s", got, reply("u-1", tt.want))
				}
				if opened, closed := server.Counts(); opened != closed || opened > 1 {
					t.Errorf("opened %d times, closed %d times", opened, closed)
				}
			})
		})
	}
}

// The CLI shakes hands with our servers while it still works on our handshake
// with it.
func TestMCPServedDuringInitialize(t *testing.T) {
	play := func(c *cli) {
		r := c.request("initialize")
		if got := string(jsonx.Member(r.Body, "sdkMcpServers")); got != `["x","y"]` {
			c.t.Errorf("sdkMcpServers = %s", got)
		}
		c.say("%s", mcpRequest("u-1", "x", `{"jsonrpc":"2.0","id":0,"method":"initialize"}`))
		if f, _ := c.hear(); !strings.Contains(string(f.Line), `"mcp_response":{"jsonrpc":"2.0","id":0,"result":{}}`) {
			c.t.Errorf("heard %s", f.Line)
		}
		c.succeed(r, "{}")
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		echo := func(_ context.Context, _ string, m json.RawMessage) (json.RawMessage, error) {
			return harness.AnswerTo(m, `{}`), nil
		}
		o.MCPServers = claude.MCPServers{"x": &harness.MCPServer{Answer: echo}, "y": &harness.MCPServer{Answer: echo}}
		finish(t, connect(t, o))
	})
}

// A server that could not be opened is tried again at the next message.
func TestMCPOpenFails(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		for i, want := range []string{`"error":{"code":-32603,"message":"the MCP server could not be opened: not yet"}`, `"result":{}`} {
			c.say("%s", mcpRequest(fmt.Sprint("u-", i), "x", `{"jsonrpc":"2.0","id":0,"method":"initialize"}`))
			if f, _ := c.hear(); !strings.Contains(string(f.Line), want) {
				c.t.Errorf("heard %s, want %s", f.Line, want)
			}
			c.succeed(c.request("next"), `{}`)
		}
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		server := &harness.MCPServer{OpenError: errors.New("not yet"), Answer: func(_ context.Context, _ string, m json.RawMessage) (json.RawMessage, error) {
			return harness.AnswerTo(m, `{}`), nil
		}}
		o.MCPServers = claude.MCPServers{"x": server}
		s := connect(t, o)
		synctest.Wait()
		server.OpenError = nil
		for range 2 {
			if err := s.Control(t.Context(), "next", nil, nil); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		finish(t, s)
	})
}

func TestMCPCancelledCall(t *testing.T) {
	for _, how := range []string{"notification", "notification at once", "control"} {
		t.Run(how, func(t *testing.T) {
			var begun chan struct{}
			var ended chan error
			cancelled := mcpRequest("u-2", "x", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"user"}}`)
			other := mcpRequest("u-0", "y", `{"jsonrpc":"2.0","id":2,"method":"tools/call"}`)
			play := func(c *cli) {
				c.greet()
				c.say("%s", other) // the same id of another server is another call
				c.say("%s", mcpRequest("u-1", "x", `{"jsonrpc":"2.0","id":2,"method":"tools/call"}`))
				if how != "notification at once" {
					synctest.Wait()
				}
				replies := map[string]bool{
					reply("u-1", `{"mcp_response":{"jsonrpc":"2.0","id":2,"error":{"code":-32800,"message":"the call was cancelled"}}}`): true,
					reply("u-2", `{"mcp_response":{"jsonrpc":"2.0","result":{}}}`):                                                       true,
				}
				if how == "control" {
					c.say(`{"type":"control_cancel_request","request_id":"u-1"}`)
					clear(replies)
				} else {
					c.say("%s", cancelled)
				}
				for range len(replies) {
					if f, _ := c.hear(); !replies[string(f.Line)] {
						c.t.Errorf("heard %s", f.Line)
					}
				}
				c.idle()
			}
			bubble(t, play, func(t *testing.T, o *claude.Options) {
				begun, ended = make(chan struct{}, 1), make(chan error, 1)
				o.MCPServers = claude.MCPServers{
					"x": &harness.MCPServer{Answer: func(ctx context.Context, method string, m json.RawMessage) (json.RawMessage, error) {
						if method != "tools/call" {
							return nil, nil
						}
						begun <- struct{}{}
						<-ctx.Done()
						ended <- context.Cause(ctx)
						return harness.AnswerTo(m, `{"late":true}`), nil
					}},
					"y": &harness.MCPServer{Answer: func(ctx context.Context, _ string, m json.RawMessage) (json.RawMessage, error) {
						<-ctx.Done()
						if err := context.Cause(ctx); !errors.Is(err, claude.ErrClosed) {
							t.Errorf("the other call ended with %v", err)
						}
						return nil, nil
					}},
				}
				s := connect(t, o)
				<-begun
				if err := <-ended; err == nil || errors.Is(err, claude.ErrClosed) {
					t.Errorf("cause = %v", err)
				}
				synctest.Wait()
				finish(t, s)
			})
		})
	}
}

func TestMCPIDInFlight(t *testing.T) {
	var release chan struct{}
	play := func(c *cli) {
		c.greet()
		c.say("%s", mcpRequest("u-1", "x", `{"jsonrpc":"2.0","id":2,"method":"a"}`))
		synctest.Wait()
		c.say("%s", mcpRequest("u-2", "x", `{"jsonrpc":"2.0","id":2,"method":"b"}`))
		if f, _ := c.hear(); !strings.Contains(string(f.Line), `"id":2,"error":{"code":-32603,"message":"a request with this id is already in flight"}`) {
			c.t.Errorf("heard %s", f.Line)
		}
		close(release)
		if f, _ := c.hear(); string(f.Line) != reply("u-1", `{"mcp_response":{"jsonrpc":"2.0","id":2,"result":{}}}`) {
			c.t.Errorf("heard %s", f.Line)
		}
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		release = make(chan struct{})
		o.MCPServers = claude.MCPServers{"x": &harness.MCPServer{Answer: func(_ context.Context, _ string, m json.RawMessage) (json.RawMessage, error) {
			<-release
			return harness.AnswerTo(m, `{}`), nil
		}}}
		s := connect(t, o)
		<-release
		synctest.Wait()
		finish(t, s)
	})
}

// Pushes are written in order, and more of them than may be unacknowledged
// wait instead of taking the room of other operations.
func TestMCPPush(t *testing.T) {
	const n = 40
	var heard []string
	play := func(c *cli) {
		c.greet()
		c.say("%s", mcpRequest("u-1", "x", `{"jsonrpc":"2.0","method":"notifications/initialized"}`))
		c.hear()
		for range n {
			r := c.request("mcp_message")
			heard = append(heard, string(r.Body))
			defer c.succeed(r, "null")
			if len(heard) >= 16 { // late, but before the next
				c.succeed(r, "null")
			}
		}
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		server := &harness.MCPServer{Answer: func(context.Context, string, json.RawMessage) (json.RawMessage, error) { return nil, nil }}
		o.MCPServers = claude.MCPServers{"x": server}
		s := connect(t, o)
		synctest.Wait()
		for i := range n {
			if err := server.Push(t.Context(), fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":%d}}`, i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := server.Push(t.Context(), json.RawMessage(`{`)); err == nil {
			t.Error("half an object was pushed")
		}
		synctest.Wait()
		finish(t, s)
		for i, got := range heard {
			want := fmt.Sprintf(`{"subtype":"mcp_message","server_name":"x","message":{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":%d}}}`, i)
			if got != want {
				t.Errorf("push %d: %s", i, got)
			}
		}
		if err := server.Push(context.Background(), json.RawMessage(`{}`)); err == nil {
			t.Error("pushed after the end")
		}
	})
}

// Cancelling works also when every place for callbacks is taken.
func TestMCPCancelAtCapacity(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		for i := range 3 {
			c.say("%s", mcpRequest(fmt.Sprint("u-", i), "x", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call"}`, i)))
		}
		if f, _ := c.hear(); !strings.Contains(string(f.Line), `"id":2,"error":{"code":-32603,"message":"too many callbacks are running"}`) {
			c.t.Errorf("heard %s", f.Line)
		}
		c.say("%s", mcpRequest("u-3", "x", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`))
		for range 2 {
			f, _ := c.hear()
			if line := string(f.Line); !strings.Contains(line, `"id":1,"error":{"code":-32800`) && !strings.Contains(line, `"request_id":"u-3","response":{"mcp_response"`) {
				c.t.Errorf("heard %s", line)
			}
		}
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.Limits.Callbacks = 2
		o.MCPServers = claude.MCPServers{"x": &harness.MCPServer{Answer: func(ctx context.Context, _ string, m json.RawMessage) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}}
		s := connect(t, o)
		synctest.Wait()
		finish(t, s)
	})
}

func TestMCPCloseIsBounded(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		c.say("%s", mcpRequest("u-1", "x", `{"jsonrpc":"2.0","id":0,"method":"initialize"}`))
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		stuck := make(chan struct{})
		server := &harness.MCPServer{OnClose: func() { <-stuck }, Answer: func(_ context.Context, _ string, m json.RawMessage) (json.RawMessage, error) {
			return harness.AnswerTo(m, `{}`), nil
		}}
		o.MCPServers = claude.MCPServers{"x": server}
		s := connect(t, o)
		synctest.Wait()
		begin := time.Now()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took != 5*time.Second {
			t.Errorf("Close took %v", took)
		}
		close(stuck)
	})
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
			t.Error("a refusal was no error")
		}
		finish(t, s)
	})
}

type wsServer struct {
	URL string `json:"url"`
}

func (wsServer) MCPType() string { return "ws" }

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
			t.Setenv("TMPDIR", tmp)
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
				if file.Mode().Perm() != 0o600 || dir.Mode().Perm() != 0o700 {
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

type noStart struct{}

func (noStart) Start(context.Context, *claude.Launch) (claude.Conn, error) {
	return nil, errors.New("no start")
}

func TestMCPServerOptions(t *testing.T) {
	var none *harness.MCPServer
	for name, server := range map[string]claude.MCPServer{
		"is nil":        none,
		"has no URL":    claude.HTTPServer{},
		"has no comman": claude.StdioServer{},
		"no MCPHandler": badKind{},
		"broken schema": checkedServer{},
		"JSON object":   numberServer(1),
	} {
		_, err := claude.Connect(t.Context(), &claude.Options{MCPServers: claude.MCPServers{"x": server}, Transport: noStart{}})
		bad, ok := errors.AsType[*claude.OptionError](err)
		if !ok || bad.Field != `MCPServers["x"]` || !strings.Contains(bad.Problem, name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type badKind struct{}

func (badKind) MCPType() string { return "sdk" }

type checkedServer struct{}

func (checkedServer) MCPType() string { return "sdk" }
func (checkedServer) CheckMCP() error { return errors.New("broken schema") }

type numberServer int

func (numberServer) MCPType() string { return "ws" }

// A CLI that would ignore what only the handshake carries is refused.
func TestFeaturesOfOldCLIs(t *testing.T) {
	long := json.RawMessage(`{"type":"object","description":"` + strings.Repeat("x", 9<<10) + `"}`)
	for _, tt := range []struct {
		version string
		o       claude.Options
		ok      bool
	}{
		{"1.0.117", claude.Options{MCPServers: claude.MCPServers{"x": harness.Clock()}}, false},
		{"1.0.119", claude.Options{MCPServers: claude.MCPServers{"x": harness.Clock()}}, true},
		{"2.0.49", claude.Options{OutputSchema: long}, false},
		{"2.0.50", claude.Options{OutputSchema: long}, true},
		{"2.0.49", claude.Options{OutputSchema: json.RawMessage(`{"type":"object"}`)}, true}, // the flag is known or refused
	} {
		play := func(c *cli) {
			c.succeed(c.request("initialize"), `{"claude_code_version":"`+tt.version+`"}`)
			c.idle()
		}
		bubble(t, play, func(t *testing.T, o *claude.Options) {
			o.MCPServers, o.OutputSchema = tt.o.MCPServers, tt.o.OutputSchema
			s, err := claude.Connect(t.Context(), o)
			if (err == nil) != tt.ok || !tt.ok && !errors.Is(err, claude.ErrUnsupportedVersion) {
				t.Errorf("%s: %v, want success %v", tt.version, err, tt.ok)
			}
			if s != nil {
				finish(t, s)
			}
		})
	}
}
