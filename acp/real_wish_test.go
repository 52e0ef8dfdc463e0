package acp_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
)

// asked returns the last request to the model that belongs to a turn.
func (r *real) asked() string {
	for _, call := range slices.Backward(r.model.Calls()) {
		if !call.Side {
			return string(call.Raw)
		}
	}
	return ""
}

// TestRealWishes asks the real CLI for a session in _meta: the model reads the system
// prompt and has no other tools, and the turn ends when it has taken its calls. The same
// when the session is loaded.
func TestRealWishes(t *testing.T) {
	r := newReal(t)
	questions := 0
	d := drive.Start(t, r.local, drive.Setup{Permission: func(context.Context, *schema.RequestPermissionRequest) schema.PermissionOptionID {
		questions++
		return "reject"
	}})
	params := map[string]any{"cwd": r.dir, "mcpServers": []any{}, "_meta": map[string]any{
		"systemPrompt": map[string]any{"append": "Speak in rhymes."},
		"claudeCode":   map[string]any{"options": map[string]any{"disallowedTools": []string{"Bash"}, "allowedTools": []string{"Write"}, "maxTurns": 1, "model": "haiku"}},
	}}
	var resp schema.NewSessionResponse
	if err := d.Call(t.Context(), schema.MethodAgentSessionNew, params, &resp); err != nil {
		t.Fatal(err)
	}
	turn := func() {
		t.Helper()
		r.model.Add(claudetest.UseTool("Write", map[string]string{"file_path": r.dir + "/new.txt", "content": "x"}))
		ended, err := d.Prompt(t.Context(), resp.SessionID, "Write.")
		if err != nil || ended.StopReason != schema.StopReasonMaxTurnRequests || questions > 0 {
			t.Errorf("the turn ended with %s, %v, after %d questions", ended.StopReason, err, questions)
		}
		var asked struct {
			Model string
			Tools []struct{ Name string }
		}
		raw := r.asked()
		if err := json.Unmarshal([]byte(raw), &asked); err != nil {
			t.Fatal(err)
		}
		var tools []string
		for _, tool := range asked.Tools {
			tools = append(tools, tool.Name)
		}
		if !strings.Contains(raw, "Speak in rhymes.") || !strings.Contains(asked.Model, "haiku") || slices.Contains(tools, "Bash") || !slices.Contains(tools, "Write") {
			t.Errorf("the model %s was asked with tools %q, and with the system prompt: %t", asked.Model, tools, strings.Contains(raw, "Speak in rhymes."))
		}
	}
	turn()
	if err := d.Call(t.Context(), schema.MethodAgentSessionClose, schema.CloseSessionRequest{SessionID: resp.SessionID}, nil); err != nil {
		t.Fatal(err)
	}
	params["sessionId"] = resp.SessionID
	if err := d.Call(t.Context(), schema.MethodAgentSessionLoad, params, nil); err != nil {
		t.Fatal(err)
	}
	turn()
}

// TestRealBlobs gives the real CLI files in base64: they reach the model.
func TestRealBlobs(t *testing.T) {
	r := newReal(t)
	d := drive.Start(t, r.local, drive.Setup{})
	id := d.New(t, r.dir)
	resource := func(name, mediaType, data string) map[string]any {
		return map[string]any{"type": "resource", "resource": map[string]string{"uri": "file:///a/" + name, "mimeType": mediaType, "blob": data}}
	}
	const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	pdf := base64.StdEncoding.EncodeToString([]byte("%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj 3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\ntrailer<</Root 1 0 R>>\n"))
	r.model.Add(claudetest.Say("read"))
	if err := d.Call(t.Context(), schema.MethodAgentSessionPrompt, map[string]any{"sessionId": id, "prompt": []any{
		resource("a.pdf", "application/pdf", pdf), resource("b.png", "image/png", pixel), resource("c.md", "text/markdown", base64.StdEncoding.EncodeToString([]byte("# A title"))),
		map[string]string{"type": "image", "mimeType": "image/png", "data": "", "uri": "https://a.example/d.png"}, map[string]string{"type": "text", "text": "Read."},
	}}, nil); err != nil {
		t.Fatal(err)
	}
	raw := r.asked()
	for _, want := range []string{pdf, pixel, "# A title", "https://a.example/d.png", "[@c.md](file:///a/c.md)"} {
		if !strings.Contains(raw, want) {
			t.Errorf("the model has not read %.60s", want)
		}
	}
}

// TestRealMCPPrompt uses the prompt of an MCP server on the real CLI, by the name that is
// listed.
func TestRealMCPPrompt(t *testing.T) {
	g := newGreeter(t, "http")
	r := newReal(t)
	listed := make(chan struct{}, 1)
	d := drive.Start(t, r.local, drive.Setup{OnUpdate: func(_ schema.SessionID, up schema.SessionUpdate) {
		if c := up.AvailableCommandsUpdate; c != nil {
			for _, command := range c.AvailableCommands {
				switch command.Name {
				case "mcp:greeter:hail":
					signal(listed)
				case "clear", "login":
					t.Errorf("%s is listed", command.Name)
				}
			}
		}
	}})
	var resp schema.NewSessionResponse
	if err := d.Call(t.Context(), schema.MethodAgentSessionNew, map[string]any{"cwd": r.dir, "mcpServers": []any{
		map[string]any{"type": "http", "name": "greeter", "url": g.url, "headers": []any{map[string]string{"name": "X-Greeter-Key", "value": greeterKey}}}}}, &resp); err != nil {
		t.Fatal(err)
	}
	select {
	case <-listed:
	case <-time.After(time.Minute):
		t.Fatal("the prompt is not listed")
	}
	r.model.Add(claudetest.Say("hailed"))
	if _, err := d.Prompt(t.Context(), resp.SessionID, "/mcp:greeter:hail Ada"); err != nil {
		t.Fatal(err)
	}
	if raw := r.asked(); !strings.Contains(raw, "Hail Ada loudly.") {
		t.Errorf("the model was asked %.2000s", raw)
	}
}
