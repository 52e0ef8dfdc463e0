package main

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/acp/schema"
)

// asked returns the last request to the model that is not one of the CLI's own.
func (s *realServer) asked() string {
	for _, call := range slices.Backward(s.model.Calls()) {
		if !call.Side {
			return string(call.Raw)
		}
	}
	return ""
}

// TestRealACPConnectMCPPrompt is an editor whose program talks to a server with the real
// CLI, where the project has an MCP server with a prompt: the editor lists it as a command,
// and using it by that name brings the prompt's text to the model.
func TestRealACPConnectMCPPrompt(t *testing.T) {
	greeter := mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "1"}, nil)
	greeter.AddPrompt(&mcp.Prompt{Name: "hail", Arguments: []*mcp.PromptArgument{{Name: "name"}}}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "Hail " + req.Params.Arguments["name"] + " loudly."}}}}, nil
	})
	on := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return greeter }, nil))
	t.Cleanup(func() {
		on.CloseClientConnections() // an event stream does not end by itself
		on.Close()
	})
	s := newRealServer(t, []claudetest.Reply{claudetest.Say("Hello."), claudetest.Say("Hailed."), claudetest.Say("Hailed again.")}, func(s *realServer) {
		if err := os.Mkdir(filepath.Join(s.dir, ".claude"), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(s.dir, ".mcp.json"), `{"mcpServers":{"greeter":{"type":"http","url":"`+on.URL+`"}}}`, os.FileMode(0o600))
		write(t, filepath.Join(s.dir, ".claude", "settings.json"), `{"enableAllProjectMcpServers":true}`, os.FileMode(0o600))
	})
	one := s.bridge(t)
	id := one.New(t, s.dir)
	if got := <-one.begin(t, id, "Say hello."); got != schema.StopReasonEndTurn {
		t.Errorf("ended %s", got)
	}
	for timeout, listed := time.After(time.Minute), false; !listed; {
		select {
		case names := <-one.listed:
			listed = slices.Contains(names, "mcp:greeter:hail")
		case <-timeout:
			t.Fatal("the prompt of the MCP server is not listed")
		}
	}
	for _, prompt := range []string{"/mcp:greeter:hail Ada", "/mcp:greeter:hail Bob"} {
		if got := <-one.begin(t, id, prompt); got != schema.StopReasonEndTurn {
			t.Errorf("%s ended %s", prompt, got)
		}
		if raw, want := s.asked(), "Hail "+strings.Fields(prompt)[1]+" loudly."; !strings.Contains(raw, want) {
			t.Errorf("%s: the model was asked %.2000s, want %q in it", prompt, raw, want)
		}
	}
	one.Close()
}

// TestRealACPConnectBlobs is an editor whose program talks to a server with the real CLI.
// Files in base64 reach the model: a PDF, a picture, and a text; and a picture by its
// address.
func TestRealACPConnectBlobs(t *testing.T) {
	s := newRealServer(t, []claudetest.Reply{claudetest.Say("Read.")}, nil)
	one := s.bridge(t)
	id := one.New(t, s.dir)
	resource := func(name, mediaType, data string) map[string]any {
		return map[string]any{"type": "resource", "resource": map[string]string{"uri": "file:///a/" + name, "mimeType": mediaType, "blob": data}}
	}
	const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	pdf := base64.StdEncoding.EncodeToString([]byte("%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj 3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\ntrailer<</Root 1 0 R>>\n"))
	var resp schema.PromptResponse
	if err := one.Call(t.Context(), schema.MethodAgentSessionPrompt, map[string]any{"sessionId": id, "prompt": []any{
		resource("a.pdf", "application/pdf", pdf), resource("b.png", "image/png", pixel), resource("c.md", "text/markdown", base64.StdEncoding.EncodeToString([]byte("# A title"))),
		map[string]string{"type": "image", "mimeType": "image/png", "data": "", "uri": "https://a.example/d.png"}, map[string]string{"type": "text", "text": "Read."},
	}}, &resp); err != nil {
		t.Fatal(err)
	}
	raw := s.asked()
	for _, want := range []string{pdf, pixel, "# A title", "https://a.example/d.png", "[@c.md](file:///a/c.md)"} {
		if !strings.Contains(raw, want) {
			t.Errorf("the model has not read %.60s", want)
		}
	}
	if resp.StopReason != schema.StopReasonEndTurn || one.Text(id) != "Read." {
		t.Errorf("ended %s with %q", resp.StopReason, one.Text(id))
	}
	err := one.Call(t.Context(), schema.MethodAgentSessionPrompt, map[string]any{"sessionId": id, "prompt": []any{resource("e.zip", "application/zip", "UEsFBg==")}}, nil)
	if err == nil || !strings.Contains(err.Error(), "application/zip") {
		t.Errorf("an archive: %v, want it refused by its kind", err)
	}
	one.Close()
}
