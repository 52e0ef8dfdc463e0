package demo

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/jsonx"
)

// stock is an MCP server in this process with one tool, which counts parts. Programs
// make such a server from a function with package tool. The demo speaks the few words
// of the protocol itself: the MCP SDK behind that package would double what a newcomer
// waits for it to compile.
type stock struct {
	count func(part string) int
}

// MCPType implements [claude.MCPServer].
func (stock) MCPType() string { return "sdk" }

// CheckMCP finds nothing wrong.
func (stock) CheckMCP() error { return nil }

// OpenMCP implements [claude.MCPHandler].
func (s stock) OpenMCP(context.Context, string, func(context.Context, json.RawMessage) error) (claude.MCPConn, error) {
	return s, nil
}

// Close implements [claude.MCPConn].
func (stock) Close() error { return nil }

// request is a JSON-RPC request, or a notification if it has no id.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ProtocolVersion string `json:"protocolVersion"`
		Arguments       struct {
			Part string `json:"part"`
		} `json:"arguments"`
	} `json:"params"`
}

// Handle implements [claude.MCPConn].
func (s stock) Handle(_ context.Context, message json.RawMessage) (json.RawMessage, error) {
	var req request
	if err := jsonx.Unmarshal(message, &req); err != nil {
		return nil, err
	}
	if req.ID == nil {
		return nil, nil
	}
	answer := map[string]any{"jsonrpc": "2.0", "id": req.ID}
	if result := s.answer(&req); result != nil {
		answer["result"] = result
	} else {
		answer["error"] = map[string]any{"code": -32601, "message": "method not found: " + req.Method}
	}
	return jsonx.Marshal(answer)
}

// answer returns the result of a request, nil if the method is not known.
func (s stock) answer(req *request) any {
	switch req.Method {
	case "initialize":
		return map[string]any{
			"protocolVersion": req.Params.ProtocolVersion,
			"capabilities":    map[string]any{"tools": struct{}{}},
			"serverInfo":      map[string]any{"name": "stock", "version": claude.Version},
		}
	case "tools/list":
		return map[string]any{"tools": []any{map[string]any{
			"name": "count", "description": "Count the parts of a kind in stock",
			"inputSchema": map[string]any{
				"type": "object", "required": []string{"part"},
				"properties": map[string]any{"part": map[string]any{"type": "string"}},
			},
		}}}
	case "tools/call":
		text := fmt.Sprint(s.count(req.Params.Arguments.Part))
		return map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}
	case "ping":
		return struct{}{}
	}
	return nil
}
