package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/tool"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// explosive is a value whose method panics.
type explosive struct{}

func (explosive) MarshalJSON() ([]byte, error) { panic("boom") }

// badContents are pieces that the MCP SDK does not survive or never answers.
func badContents() map[string][]mcp.Content {
	nan := mcp.Meta{"x": math.NaN()}
	return map[string][]mcp.Content{
		"nil text":        {(*mcp.TextContent)(nil)},
		"nil audio":       {&mcp.TextContent{Text: "a"}, (*mcp.AudioContent)(nil)},
		"nil":             {nil},
		"no resource":     {&mcp.EmbeddedResource{}},
		"NaN":             {&mcp.TextContent{Meta: nan}},
		"panic":           {&mcp.TextContent{Meta: mcp.Meta{"x": explosive{}}}},
		"NaN in resource": {&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "a:b", Meta: nan}}},
	}
}

// A tool that returns such pieces has failed, and the model reads that.
func TestBadContentOfTool(t *testing.T) {
	for name, contents := range badContents() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := open(t, tool.NewServer(
					tool.New("many", "", func(context.Context, struct{}) ([]mcp.Content, error) { return contents, nil }),
					tool.New("one", "", func(context.Context, struct{}) (mcp.Content, error) { return contents[len(contents)-1], nil }),
					tool.New("result", "", func(context.Context, struct{}) (*tool.Result, error) { return &tool.Result{Content: contents}, nil }),
					tool.New("sdk", "", func(context.Context, struct{}) (*mcp.CallToolResult, error) {
						return &mcp.CallToolResult{Content: contents}, nil
					}),
				))
				for i, which := range []string{"many", "one", "result", "sdk"} {
					if which == "one" && name == "nil" {
						continue // nothing is a result without content
					}
					if got := l.ask(call(i+1, which, `{}`)); !strings.Contains(got, fmt.Sprintf(`"id":%d`, i+1)) || !strings.Contains(got, `"isError":true`) {
						t.Errorf("%s: got %s, want an error of the tool", which, got)
					}
				}
				l.conn.Close()
			})
		})
	}
}

func TestBadMeta(t *testing.T) {
	l := open(t, tool.NewServer(
		tool.New("nan", "", func(context.Context, struct{}) (*tool.Result, error) {
			return &tool.Result{Meta: map[string]any{"x": math.NaN()}}, nil
		}),
		tool.New("panic", "", func(context.Context, struct{}) (explosive, error) { return explosive{}, nil }),
	))
	for i, which := range []string{"nan", "panic"} {
		if got := l.ask(call(i, which, `{}`)); !strings.Contains(got, "cannot be encoded") || !strings.Contains(got, `"isError":true`) {
			t.Errorf("%s: got %s, want an error of the tool", which, got)
		}
	}
	l.conn.Close()
}

// Results of handlers of a mounted server are checked in the same way.
func TestBadContentOfMountedServer(t *testing.T) {
	for name, contents := range badContents() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sdk := mcp.NewServer(&mcp.Implementation{Name: "mine"}, nil)
				sdk.AddTool(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return &mcp.CallToolResult{Content: contents}, nil
				})
				sdk.AddPrompt(&mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
					return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: contents[len(contents)-1]}}}, nil
				})
				sdk.AddPrompt(&mcp.Prompt{Name: "nothing"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
					return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{nil}}, nil
				})
				sdk.AddResource(&mcp.Resource{URI: "a:nan", Name: "r"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
					return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "a:nan", Meta: mcp.Meta{"x": math.NaN()}}}}, nil
				})
				sdk.AddResource(&mcp.Resource{URI: "a:nil", Name: "n"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
					return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{nil}}, nil
				})
				l := open(t, tool.Mount(sdk))
				for i, message := range []string{
					`"method":"tools/call","params":{"name":"t"}`,
					`"method":"prompts/get","params":{"name":"p"}`,
					`"method":"prompts/get","params":{"name":"nothing"}`,
					`"method":"resources/read","params":{"uri":"a:nan"}`,
					`"method":"resources/read","params":{"uri":"a:nil"}`,
				} {
					got := l.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, i+1, message))
					if !strings.Contains(got, fmt.Sprintf(`"id":%d`, i+1)) || !strings.Contains(got, `"code":-32603`) {
						t.Errorf("%s: got %s, want error -32603", message, got)
					}
				}
				l.conn.Close()
			})
		})
	}
}

func TestNilServer(t *testing.T) {
	for name, server := range map[string]claude.MCPHandler{"Mount": tool.Mount(nil), "Server": new(tool.Server)} {
		_, err := claude.Connect(t.Context(), &claude.Options{MCPServers: claude.MCPServers{"x": server}, CLIPath: "/nowhere"})
		if bad, ok := errors.AsType[*claude.OptionError](err); !ok || bad.Field != `MCPServers["x"]` {
			t.Errorf("%s: got %v, want an OptionError", name, err)
		}
	}
	if _, err := tool.Mount(nil).OpenMCP(t.Context(), "x", nil); err == nil {
		t.Error("a server that is nil was opened")
	}
	if err := tool.AddTo(nil); err == nil {
		t.Error("tools were added to nothing")
	}
}

// The stack of one call is not part of another's failure, because that goes to
// the model.
func TestFaultsAreOnlyLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ends, release := make(chan struct{}), make(chan struct{})
		sdk := mcp.NewServer(&mcp.Implementation{Name: "mine"}, nil)
		err := tool.AddTo(sdk,
			tool.New("boom", "", func(context.Context, struct{}) (string, error) {
				<-release
				panic("boom")
			}),
			tool.New("wait", "", func(context.Context, struct{}) (string, error) {
				<-ends
				return "", nil
			}))
		if err != nil {
			t.Fatal(err)
		}
		l := open(t, tool.Mount(sdk))
		failures := make(chan error, 2)
		for i, name := range []string{"boom", "wait"} {
			go func() {
				_, err := l.conn.Handle(t.Context(), json.RawMessage(call(i, name, `{}`)))
				failures <- err
			}()
		}
		synctest.Wait()
		// The session ends while the calls run; one of them panics meanwhile.
		for session := range sdk.Sessions() {
			go session.Close()
		}
		synctest.Wait()
		close(release)
		synctest.Wait()
		close(ends)
		for range 2 {
			if err := <-failures; err != nil && strings.Contains(err.Error(), "goroutine") {
				t.Errorf("a stack in the failure of a call: %v", err)
			}
		}
		if err := l.conn.Close(); err == nil || !strings.Contains(err.Error(), "boom") {
			t.Errorf("Close = %v, want the panic for the log", err)
		}
	})
}
