package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/tool"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A tool that was removed is neither listed nor served, and its name is free.
func TestRemove(t *testing.T) {
	say := func(text string) func(context.Context, struct{}) (string, error) {
		return func(context.Context, struct{}) (string, error) { return text, nil }
	}
	server := tool.NewServer(tool.New("one", "", say("first")), tool.New("two", "", say("second")))
	l := open(t, server)
	server.Remove("one", "unknown")
	if got := l.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); strings.Contains(got, `"one"`) || !strings.Contains(got, `"two"`) {
		t.Errorf("list: %s", got)
	}
	if got := l.ask(call(2, "one", `{}`)); strings.Contains(got, "first") || !strings.Contains(got, `"error"`) {
		t.Errorf("a call of what was removed: %s", got)
	}
	if got := l.ask(call(3, "two", `{}`)); !strings.Contains(got, "second") {
		t.Errorf("a call of the other: %s", got)
	}
	if err := server.Add(tool.New("one", "", say("again"))); err != nil {
		t.Fatal(err)
	}
	if got := l.ask(call(4, "one", `{}`)); !strings.Contains(got, "again") {
		t.Errorf("a call of the new one: %s", got)
	}
}

// ReadOnly adds a hint to those that are there.
func TestReadOnlyKeepsHints(t *testing.T) {
	one := tool.New("one", "", func(context.Context, struct{}) (string, error) { return "", nil })
	l := open(t, tool.NewServer(one.Annotate(mcp.ToolAnnotations{IdempotentHint: true}).ReadOnly()))
	got := l.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if !strings.Contains(got, `"readOnlyHint":true`) || !strings.Contains(got, `"idempotentHint":true`) {
		t.Errorf("list: %s", got)
	}
}

func TestUnusableToolHasNoSchema(t *testing.T) {
	bad := tool.New("n", "", func(context.Context, int) (string, error) { return "", nil })
	if bad.Err() == nil || bad.Schema() != nil {
		t.Errorf("schema %s, error %v", bad.Schema(), bad.Err())
	}
}

// counted counts how often it is encoded.
type counted struct{ n *int }

func (c counted) MarshalJSON() ([]byte, error) {
	*c.n++
	return []byte(`{"n":1}`), nil
}

// mountedLine is a connection with a server of the MCP SDK that has a tool and a
// prompt.
func mountedLine(t *testing.T, serve mcp.ToolHandler) *line {
	sdk := mcp.NewServer(&mcp.Implementation{Name: "mine"}, nil)
	sdk.AddTool(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}, serve)
	sdk.AddPrompt(&mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "a prompt"}}}}, nil
	})
	return open(t, tool.Mount(sdk))
}

// A sound result of a mounted server arrives, and is encoded once.
func TestMountedServerAnswers(t *testing.T) {
	encoded := 0
	l := mountedLine(t, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: counted{&encoded}}, nil
	})
	if got := l.ask(call(1, "t", `{}`)); !strings.Contains(got, `"structuredContent":{"n":1}`) || encoded != 1 {
		t.Errorf("encoded %d times: %s", encoded, got)
	}
	if got := l.ask(`{"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"p"}}`); !strings.Contains(got, "a prompt") {
		t.Errorf("the prompt: %s", got)
	}
}

// A call that its caller gives up is taken back from the server.
func TestMountedCallIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		l := mountedLine(t, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.conn.Handle(ctx, json.RawMessage(call(5, "t", `{}`)))
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		default:
			t.Error("the server continues with a call that nobody waits for")
		}
		l.conn.Close()
		<-done
	})
}
