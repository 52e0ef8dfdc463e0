package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/tool"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The conformance scripts of the MCP SDK, messages of a client to a server,
// are played twice: over the in-memory transport of the SDK, for which they
// are written, and over ours. A server must not notice the difference.
func TestConformanceScripts(t *testing.T) {
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/modelcontextprotocol/go-sdk").Output()
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "mcp", "testdata", "conformance", "server", "*.txtar"))
	if err != nil || len(scripts) < 5 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	for _, path := range scripts {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			messages := clientMessages(t, data)
			synctest.Test(t, func(t *testing.T) {
				want := playInMemory(t, messages)
				got := playTunnel(t, messages)
				for i := range messages {
					if strings.Contains(want[i], `duplicate \"initialize\"`) && strings.Contains(got[i], `"result"`) {
						continue // the one difference that is meant: shaking hands again is allowed
					}
					if got[i] != want[i] {
						t.Errorf("to %s\ngot  %s\nwant %s", messages[i], got[i], want[i])
					}
				}
			})
		})
	}
}

// clientMessages returns the section "client" of a script.
func clientMessages(t *testing.T, script []byte) []json.RawMessage {
	t.Helper()
	_, client, ok := strings.Cut(string(script), "-- client --\n")
	if !ok {
		t.Fatal("no messages of a client")
	}
	client, _, _ = strings.Cut(client, "\n-- ")
	var all []json.RawMessage
	for dec := json.NewDecoder(strings.NewReader(client)); ; {
		var m json.RawMessage
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
}

// everything is a server with the features that the scripts name.
func everything() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "everything", Version: "1"}, nil)
	for _, name := range []string{"greet", "greetWithIcon", "structured", "tomorrow", "inc", "contentTool", "confirmThenGreet"} {
		mcp.AddTool(s, &mcp.Tool{Name: name}, func(_ context.Context, _ *mcp.CallToolRequest, in map[string]any) (*mcp.CallToolResult, any, error) {
			if len(in) == 0 {
				return nil, nil, errors.New("nothing was given")
			}
			return nil, in, nil
		})
	}
	s.AddPrompt(&mcp.Prompt{Name: "code_review"}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Description: req.Params.Arguments["Code"]}, nil
	})
	for _, uri := range []string{"file:///info.txt", "embedded:info"} {
		s.AddResource(&mcp.Resource{Name: uri, URI: uri}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, Text: "text"}}}, nil
		})
	}
	return s
}

// playInMemory returns the response to each message, "" where there is none.
func playInMemory(t *testing.T, messages []json.RawMessage) []string {
	t.Helper()
	near, far := mcp.NewInMemoryTransports()
	session, err := everything().Connect(t.Context(), far, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := near.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	replies := make([]string, len(messages))
	for i, raw := range messages {
		msg, err := jsonrpc.DecodeMessage(raw)
		if err != nil {
			continue
		}
		if err := client.Write(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
		if req, ok := msg.(*jsonrpc.Request); !ok || !req.IsCall() {
			synctest.Wait()
			continue
		}
		for replies[i] == "" {
			msg, err := client.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if response, ok := msg.(*jsonrpc.Response); ok {
				data, err := jsonrpc.EncodeMessage(response)
				if err != nil {
					t.Fatal(err)
				}
				replies[i] = string(data)
			}
		}
	}
	client.Close()
	_ = session.Wait()
	return replies
}

// playTunnel does the same over the transport of this package.
func playTunnel(t *testing.T, messages []json.RawMessage) []string {
	t.Helper()
	conn, err := tool.Mount(everything()).OpenMCP(t.Context(), "x", func(context.Context, json.RawMessage) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	replies := make([]string, len(messages))
	for i, raw := range messages {
		reply, _ := conn.Handle(t.Context(), raw)
		replies[i] = string(reply)
		synctest.Wait()
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	return replies
}
