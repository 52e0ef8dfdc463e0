package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
			`{"mcp_response":{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"the message is not JSON, or repeats a name"}}}`},
		{"argument twice", "x", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"arguments":{"a":1,"\u0061":2}}}`, nil,
			`{"mcp_response":{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"the message is not JSON, or repeats a name"}}}`},
		{"server twice", "x", `{"jsonrpc":"2.0","id":3,"method":"ping"},"server_name":"y"`, nil,
			`{"mcp_response":{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"the message is not JSON, or repeats a name"}}}`},
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
			`{"mcp_response":{"jsonrpc":"2.0","id":6,"error":{"code":-32603,"message":"the server returned no response"}}}`},
		{"no JSON", "x", `{"jsonrpc":"2.0","id":6,"method":"tools/call"}`,
			func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				return json.RawMessage(`{"id":6,"result":NaN}`), nil
			},
			`{"mcp_response":{"jsonrpc":"2.0","id":6,"error":{"code":-32603,"message":"the server returned a response that is not JSON"}}}`},
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
			c.t.Errorf("got %s", f.Line)
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
				c.t.Errorf("got %s, want %s", f.Line, want)
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
						c.t.Errorf("got %s", f.Line)
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
			c.t.Errorf("got %s", f.Line)
		}
		close(release)
		if f, _ := c.hear(); string(f.Line) != reply("u-1", `{"mcp_response":{"jsonrpc":"2.0","id":2,"result":{}}}`) {
			c.t.Errorf("got %s", f.Line)
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

// Cancelling works even when every place for callbacks is taken.
func TestMCPCancelAtCapacity(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		for i := range 3 {
			c.say("%s", mcpRequest(fmt.Sprint("u-", i), "x", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call"}`, i)))
		}
		if f, _ := c.hear(); !strings.Contains(string(f.Line), `"id":2,"error":{"code":-32603,"message":"too many callbacks are running"}`) {
			c.t.Errorf("got %s", f.Line)
		}
		c.say("%s", mcpRequest("u-3", "x", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`))
		for range 2 {
			f, _ := c.hear()
			if line := string(f.Line); !strings.Contains(line, `"id":1,"error":{"code":-32800`) && !strings.Contains(line, `"request_id":"u-3","response":{"mcp_response"`) {
				c.t.Errorf("got %s", line)
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

type wsServer struct {
	URL string `json:"url"`
}

func (wsServer) MCPType() string { return "ws" }

type noStart struct{}

func (noStart) Start(context.Context, *claude.Launch) (claude.Conn, error) {
	return nil, errors.New("no start")
}

type badKind struct{}

func (badKind) MCPType() string { return "sdk" }

type checkedServer struct{ claude.MCPHandler }

func (checkedServer) CheckMCP() error { return errors.New("broken schema") }

type numberServer int

func (numberServer) MCPType() string { return "ws" }

// stubborn is a server whose method "slow" runs until it is released, whatever
// happens to its context. Each answer reports how the context ended, if it did.
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
					c.t.Errorf("got %s", f.Line)
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
					t.Errorf("got %s", got)
				}
			})
		})
	}
}

// watchedServer is an MCP server that looks at its contexts when it is closed.
type watchedServer struct {
	opened context.Context
	push   func(context.Context, json.RawMessage) error
	called chan context.Context
	closed chan [2]error // of the connection, of the call
}

func newWatchedServer() *watchedServer {
	return &watchedServer{called: make(chan context.Context, 1), closed: make(chan [2]error, 1)}
}

func (*watchedServer) MCPType() string { return "sdk" }

// CheckMCP finds nothing wrong.
func (*watchedServer) CheckMCP() error { return nil }

func (s *watchedServer) OpenMCP(ctx context.Context, _ string, push func(context.Context, json.RawMessage) error) (claude.MCPConn, error) {
	s.opened, s.push = ctx, push
	return s, nil
}

func (s *watchedServer) Handle(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
	s.called <- ctx
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func (s *watchedServer) Close() error {
	s.closed <- [2]error{s.opened.Err(), (<-s.called).Err()}
	return nil
}

// When a connection is closed its contexts have ended, also that of a server
// that is taken out of a session that continues.
func TestMCPCloseAfterContexts(t *testing.T) {
	for _, how := range []string{"removed", "replaced", "session"} {
		t.Run(how, func(t *testing.T) {
			play := func(c *cli) {
				c.greet()
				c.say("%s", mcpRequest("u-1", "x", `{"jsonrpc":"2.0","id":2,"method":"tools/call"}`))
				for {
					f, ok := c.hear()
					if !ok {
						return
					}
					if r, err := f.Request(); err == nil && r.Subtype == "mcp_set_servers" {
						c.succeed(r, `{"added":[],"removed":[],"errors":{}}`)
					}
				}
			}
			bubble(t, play, func(t *testing.T, o *claude.Options) {
				server := newWatchedServer()
				o.MCPServers = claude.MCPServers{"x": server}
				s := connect(t, o)
				synctest.Wait()
				switch how {
				case "removed":
					if _, err := s.MCP().Set(t.Context(), nil); err != nil {
						t.Error(err)
					}
				case "replaced":
					if _, err := s.MCP().Set(t.Context(), claude.MCPServers{"x": harness.Clock()}); err != nil {
						t.Error(err)
					}
				case "session":
					finish(t, s)
				}
				select {
				case got := <-server.closed:
					if got[0] == nil || got[1] == nil {
						t.Errorf("at Close the context of the connection: %v, of the call: %v; both must have ended", got[0], got[1])
					}
				default:
					t.Error("the server was not closed")
				}
				if err := server.push(t.Context(), json.RawMessage(`{}`)); err == nil {
					t.Error("a server that has gone has pushed")
				}
				finish(t, s)
			})
		})
	}
}

// A push whose context ends while the CLI does not read returns.
func TestMCPPushEndsWithItsContext(t *testing.T) {
	var read chan struct{}
	play := func(c *cli) {
		c.greet()
		c.say("%s", mcpRequest("u-1", "x", `{"jsonrpc":"2.0","id":2,"method":"initialize"}`))
		c.hear()
		<-read
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		read = make(chan struct{})
		server := &harness.MCPServer{Answer: func(_ context.Context, _ string, m json.RawMessage) (json.RawMessage, error) {
			return harness.AnswerTo(m, `{}`), nil
		}}
		o.MCPServers = claude.MCPServers{"x": server}
		s := connect(t, o)
		synctest.Wait()
		ctx, cancel := context.WithCancelCause(t.Context())
		pushed := make(chan error, 1)
		go func() { pushed <- server.Push(ctx, json.RawMessage(`{"jsonrpc":"2.0","method":"notifications/x"}`)) }()
		synctest.Wait()
		reason := errors.New("no longer of use")
		cancel(reason)
		synctest.Wait()
		select {
		case err := <-pushed:
			if !errors.Is(err, reason) {
				t.Errorf("got %v, want %v", err, reason)
			}
		default:
			t.Error("the push still waits")
		}
		close(read)
		synctest.Wait()
		finish(t, s)
	})
}
