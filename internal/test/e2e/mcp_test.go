package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
)

func TestRealRawMCPServer(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "1.0.128", "an MCP server of this process")
	r := realCLI(t, claudetest.UseTool("mcp__clock__now", nil), claudetest.Say("done"))
	r.opts.AllowedTools = []string{"mcp__clock__now"}
	server := harness.Clock()
	r.opts.MCPServers = claude.MCPServers{"clock": server}
	r.opts.StrictMCPConfig = true
	if _, err := claude.Ask(t.Context(), "what time is it?", r.opts); err != nil {
		t.Fatal(err)
	}
	calls := r.calls()
	if got := calls[len(calls)-1].ToolResults; len(got) != 1 || got[0].Text != "noon" || got[0].IsError {
		t.Errorf("tool results %+v", got)
	}
	if opened, closed := server.Counts(); opened != 1 || closed != 1 {
		t.Errorf("opened %d times, closed %d times", opened, closed)
	}
}

// playMCP lets the test binary be an MCP server on its standard streams.
func playMCP() {
	dec, enc := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	var pending json.RawMessage // the tool call that waits for an elicitation
	for {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
			Result json.RawMessage `json:"result"`
		}
		if dec.Decode(&m) != nil {
			return
		}
		answer := func(id json.RawMessage, result string) {
			enc.Encode(map[string]any{"jsonrpc": "2.0", "id": id, "result": json.RawMessage(result)})
		}
		switch {
		case m.Method == "initialize":
			answer(m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"asker","version":"1"}}`)
		case m.Method == "tools/list":
			answer(m.ID, `{"tools":[{"name":"ask","description":"Ask the user","inputSchema":{"type":"object"}}]}`)
		case m.Method == "tools/call":
			pending = m.ID
			enc.Encode(map[string]any{"jsonrpc": "2.0", "id": "e-1", "method": "elicitation/create", "params": json.RawMessage(
				`{"message":"Your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`)})
		case m.Method == "resources/list":
			answer(m.ID, `{"resources":[{"uri":"ui://asker/form","name":"form"},{"uri":"book://1","name":"book"}]}`)
		case m.Method == "resources/read" && strings.Contains(string(m.Params), "book://1"):
			answer(m.ID, `{"contents":[{"uri":"book://1","text":"SECRET of the book"}]}`)
		case m.Method == "resources/read":
			answer(m.ID, `{"contents":[{"uri":"ui://asker/form","mimeType":"text/html","text":"<p>name?</p>"}]}`)
		case string(m.ID) == `"e-1"`:
			text, _ := json.Marshal("answer " + string(m.Result) + " " + os.Getenv("TOKEN"))
			answer(pending, `{"content":[{"type":"text","text":`+string(text)+`}]}`)
		case m.ID != nil:
			answer(m.ID, `{}`)
		}
	}
}

// asker is the test binary as an external MCP server.
func asker(t *testing.T) claude.StdioServer {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return claude.StdioServer{Command: path, Env: map[string]string{"CLAUDE_TEST_ROLE": "mcp", "TOKEN": "s3cret"}}
}

// An external server gets its secret by the file, the file is gone afterwards,
// and what the server asks the user is asked of us.
func TestRealStdioServerElicits(t *testing.T) {
	realcli.Needs(t, "2.1.325", "an elicitation")
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp) // so not in parallel
	r := realCLI(t, claudetest.UseTool("mcp__asker__ask", nil), claudetest.Say("done"))
	r.opts.AllowedTools = []string{"mcp__asker__ask"}
	r.opts.MCPServers = claude.MCPServers{"asker": asker(t)}
	asked := make(chan *control.Elicitation, 1)
	r.opts.OnElicitation = func(_ context.Context, e *control.Elicitation) (control.ElicitationAnswer, error) {
		asked <- e
		return control.Accept(map[string]string{"name": "Ada"}), nil
	}
	s := r.connect(t)
	if files, _ := filepath.Glob(filepath.Join(tmp, "claude-session-*", "mcp.json")); len(files) != 1 {
		t.Errorf("files %q", files)
	}
	if _, err := s.Ask(t.Context(), "ask me"); err != nil {
		t.Fatal(err)
	}
	select {
	case e := <-asked:
		if e.Message != "Your name?" || e.ServerName != "asker" {
			t.Errorf("asked %+v", e)
		}
	default:
		t.Error("nobody was asked")
	}
	calls := r.calls()
	if got := calls[len(calls)-1].ToolResults; len(got) != 1 || !strings.Contains(got[0].Text, `"name":"Ada"`) || !strings.Contains(got[0].Text, "s3cret") {
		t.Errorf("tool results %+v", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "claude-session-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestRealMCPOperations(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "switching servers off")
	r := realCLI(t, claudetest.Say("one"), claudetest.Say("two"), claudetest.Say("three"))
	r.opts.MCPServers = claude.MCPServers{"clock": harness.Clock(), "asker": asker(t)}
	s := r.connect(t)
	states := func() map[string]control.MCPState {
		t.Helper()
		status, err := s.MCP().Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all := make(map[string]control.MCPState)
		for _, one := range status {
			all[one.Name] = one.Status
		}
		return all
	}
	turn := func(has ...string) {
		t.Helper()
		var tools []string
		for msg, err := range s.Run(t.Context(), "go") {
			if err != nil {
				t.Fatal(err)
			}
			if m, ok := msg.(*message.Init); ok {
				tools = m.Tools
			}
		}
		for _, name := range []string{"mcp__clock__now", "mcp__asker__ask", "mcp__late__now"} {
			if slices.Contains(tools, name) != slices.Contains(has, name) {
				t.Errorf("tools %q, want %q", tools, has)
			}
		}
	}
	turn("mcp__clock__now", "mcp__asker__ask")
	if got := states(); got["clock"] != control.MCPConnected || got["asker"] != control.MCPConnected {
		t.Errorf("states %v", got)
	}
	if err := s.MCP().Toggle(t.Context(), "asker", false); err != nil {
		t.Error(err)
	}
	if got := states(); got["asker"] != control.MCPDisabled {
		t.Errorf("states %v", got)
	}
	if err := s.MCP().Toggle(t.Context(), "asker", true); err != nil {
		t.Error(err)
	}
	if err := s.MCP().Reconnect(t.Context(), "asker"); err != nil {
		t.Error(err)
	}
	if err := s.MCP().Reconnect(t.Context(), "clock"); err == nil {
		t.Log("the CLI reconnects servers of this process now")
	}
	late := harness.Clock()
	got, err := s.MCP().Set(t.Context(), claude.MCPServers{"late": late, "clock": harness.Clock()})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got.Added)
	if !slices.Equal(got.Added, []string{"clock", "late"}) || !slices.Equal(got.Removed, []string{"clock"}) || len(got.Errors) > 0 {
		t.Errorf("set: %+v", got)
	}
	turn("mcp__clock__now", "mcp__late__now", "mcp__asker__ask")
	if _, err := s.MCP().Set(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	turn("mcp__asker__ask")
	if opened, closed := late.Counts(); opened != 1 || closed != 1 {
		t.Errorf("opened %d times, closed %d times", opened, closed)
	}
}

// The CLI counts its calls from 0 again when a server comes back, while a call
// from before may still run: one that was interrupted and ignores it.
func TestRealMCPCallsAfterNewHandshake(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "interrupting the call of a tool")
	r := realCLI(t, claudetest.UseTool("mcp__clock__slow", nil), claudetest.UseTool("mcp__clock__now", nil), claudetest.Say("done"))
	r.opts.AllowedTools = []string{"mcp__clock__slow", "mcp__clock__now"}
	begun, release := make(chan string, 1), make(chan struct{})
	base := harness.Clock()
	server := &harness.MCPServer{Answer: func(ctx context.Context, method string, m json.RawMessage) (json.RawMessage, error) {
		switch {
		case method == "tools/list":
			return harness.AnswerTo(m, `{"tools":[{"name":"slow","inputSchema":{"type":"object"}},{"name":"now","inputSchema":{"type":"object"}}]}`), nil
		case method == "tools/call" && strings.Contains(string(m), `"slow"`):
			begun <- string(jsonx.Member(m, "id"))
			<-release
			return harness.AnswerTo(m, `{"content":[]}`), nil
		case method == "tools/call":
			begun <- string(jsonx.Member(m, "id"))
		}
		return base.Answer(ctx, method, m)
	}}
	r.opts.MCPServers = claude.MCPServers{"clock": server}
	s := r.connect(t)
	defer close(release)
	interrupted := make(chan string)
	go func() {
		id := <-begun
		if _, err := s.Interrupt(t.Context()); err != nil {
			t.Error(err)
		}
		interrupted <- id
	}()
	if _, err := s.Ask(t.Context(), "wait"); err == nil {
		t.Error("the turn was not interrupted")
	}
	before := <-interrupted
	for _, servers := range []claude.MCPServers{nil, {"clock": server}} {
		if _, err := s.MCP().Set(t.Context(), servers); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Ask(t.Context(), "what time is it?"); err != nil {
		t.Fatal(err)
	}
	select {
	case after := <-begun:
		if after != before {
			t.Errorf("the call has id %s, that of the earlier handshake %s: the test shows nothing", after, before)
		}
	default:
		t.Error("the server was not called")
	}
	calls := r.calls()
	if got := calls[len(calls)-1].ToolResults; len(got) != 1 || got[0].Text != "noon" || got[0].IsError {
		t.Errorf("tool results %+v", got)
	}
}
