package acp

import (
	"reflect"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/jsonx"
)

// TestMCPServers takes the servers of an editor as the protocol writes them: of all three
// kinds, with what they need. The agent's own win, and an unknown kind is refused.
func TestMCPServers(t *testing.T) {
	var servers []schema.MCPServer
	if err := jsonx.Unmarshal([]byte(`[
		{"name":"files","command":"/bin/files","args":["-r"],"env":[{"name":"ROOT","value":"/srv"}]},
		{"type":"http","name":"web","url":"https://web.example","headers":[{"name":"Authorization","value":"Bearer x"}]},
		{"type":"sse","name":"feed","url":"https://feed.example","headers":[{"name":"X-Key","value":"y"}]},
		{"name":"own","command":"/bin/other","args":[],"env":[]}
	]`), &servers); err != nil {
		t.Fatal(err)
	}
	own := claude.StdioServer{Command: "/bin/own"}
	got, err := mcpServers(claude.MCPServers{"own": own}, servers)
	if err != nil {
		t.Fatal(err)
	}
	want := claude.MCPServers{
		"files": claude.StdioServer{Command: "/bin/files", Args: []string{"-r"}, Env: map[string]string{"ROOT": "/srv"}},
		"web":   claude.HTTPServer{URL: "https://web.example", Headers: map[string]string{"Authorization": "Bearer x"}},
		"feed":  claude.SSEServer{URL: "https://feed.example", Headers: map[string]string{"X-Key": "y"}},
		"own":   own,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if _, err := mcpServers(nil, []schema.MCPServer{{}}); err == nil {
		t.Error("a server of an unknown kind is accepted")
	}
}
