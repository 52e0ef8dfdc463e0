package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
)

// greeter is an MCP server on HTTP that wants a key in a header.
type greeter struct {
	url     string
	greeted atomic.Int32
	first   chan string   // the method of its first request
	refused chan struct{} // gets one when a request without the key was refused
	listed  chan struct{} // gets one when the tools were listed
}

const greeterKey = "open sesame"

func newGreeter(t *testing.T, kind string) *greeter {
	t.Helper()
	g := &greeter{first: make(chan string, 1), refused: make(chan struct{}, 1), listed: make(chan struct{}, 1)}
	server := mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "1"}, nil)
	type who struct {
		Name string `json:"name"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "greet", Description: "Greets someone."}, func(_ context.Context, _ *mcp.CallToolRequest, w who) (*mcp.CallToolResult, any, error) {
		n := g.greeted.Add(1)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("Hello %s, for the %d. time over %s.", w.Name, n, kind)}}}, nil, nil
	})
	server.AddPrompt(&mcp.Prompt{Name: "hail", Arguments: []*mcp.PromptArgument{{Name: "name"}}}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "Hail " + req.Params.Arguments["name"] + " loudly."}}}}, nil
	})
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			result, err := next(ctx, method, req)
			if method == "tools/list" {
				signal(g.listed)
			}
			return result, err
		}
	})
	get := func(*http.Request) *mcp.Server { return server }
	var handler http.Handler = mcp.NewStreamableHTTPHandler(get, nil)
	if kind == "sse" {
		handler = mcp.NewSSEHandler(get, nil)
	}
	on := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case g.first <- r.Method:
		default:
		}
		if r.Header.Get("X-Greeter-Key") != greeterKey {
			http.Error(w, "no key", http.StatusForbidden)
			signal(g.refused)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		on.CloseClientConnections() // an event stream does not end by itself
		on.Close()
	})
	g.url = on.URL
	return g
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// TestRealMCPServers gives the real CLI servers of the editor on HTTP, of both kinds. Their
// tools are called, before and after the session is loaded again, and with the headers of
// the editor. A server that refuses these does not stop the session.
func TestRealMCPServers(t *testing.T) {
	for _, kind := range []string{"http", "sse"} {
		for _, key := range []string{greeterKey, "guess"} {
			t.Run(kind+", "+key, func(t *testing.T) {
				g := newGreeter(t, kind)
				r := newReal(t)
				d := drive.Start(t, r.local, drive.Setup{Permission: func(context.Context, *schema.RequestPermissionRequest) schema.PermissionOptionID {
					return "allow-once"
				}})
				servers := []any{map[string]any{"type": kind, "name": "greeter", "url": g.url, "headers": []any{map[string]string{"name": "X-Greeter-Key", "value": key}}}}
				await := func(c <-chan struct{}, what string) {
					t.Helper()
					select {
					case <-c:
					case <-time.After(time.Minute):
						t.Fatal(what)
					}
				}
				prompt := func(id schema.SessionID, want string) {
					t.Helper()
					if key == greeterKey {
						await(g.listed, "the CLI has not listed the tools")
					} else {
						await(g.refused, "the CLI has not asked the server")
					}
					r.model.Add(claudetest.UseTool("mcp__greeter__greet", map[string]string{"name": "Ada"}), claudetest.Say("Greeted."))
					before := len(d.Updates(id))
					resp, err := d.Prompt(t.Context(), id, "Greet Ada.")
					if err != nil {
						t.Fatal(err)
					}
					data, err := json.Marshal(d.Updates(id)[before:])
					if err != nil || resp.StopReason != schema.StopReasonEndTurn || !strings.Contains(string(data), want) || !strings.Contains(string(data), "Greeted.") {
						t.Errorf("%s, %v, updates %s, want %q in them", resp.StopReason, err, data, want)
					}
				}
				var resp schema.NewSessionResponse
				if err := d.Call(t.Context(), schema.MethodAgentSessionNew, map[string]any{"cwd": r.dir, "mcpServers": servers}, &resp); err != nil {
					t.Fatal(err)
				}
				// A client of the one kind posts first, and one of the other asks for events. The
				// CLI tries the other one too, so that either would work.
				select {
				case first := <-g.first:
					if want := map[string]string{"http": "POST", "sse": "GET"}[kind]; first != want {
						t.Errorf("the CLI began with %s, want %s", first, want)
					}
				case <-time.After(time.Minute):
					t.Fatal("the CLI has not asked the server")
				}
				if key != greeterKey {
					prompt(resp.SessionID, "No such tool available")
					return
				}
				prompt(resp.SessionID, "Hello Ada, for the 1. time over "+kind)
				if err := d.Call(t.Context(), schema.MethodAgentSessionClose, schema.CloseSessionRequest{SessionID: resp.SessionID}, nil); err != nil {
					t.Fatal(err)
				}
				if err := d.Call(t.Context(), schema.MethodAgentSessionLoad, map[string]any{"sessionId": resp.SessionID, "cwd": r.dir, "mcpServers": servers}, nil); err != nil {
					t.Fatal(err)
				}
				prompt(resp.SessionID, "Hello Ada, for the 2. time over "+kind)
			})
		}
	}
}
