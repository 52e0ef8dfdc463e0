package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/jsonx"
)

// MCPServer is an MCP server in this process, made of one function that speaks
// JSON-RPC.
type MCPServer struct {
	Answer    func(ctx context.Context, method string, message json.RawMessage) (json.RawMessage, error)
	OpenError error  // fails each opening
	OnClose   func() // runs in each Close

	mu     sync.Mutex
	opened int
	closed int
	push   func(context.Context, json.RawMessage) error
}

// MCPType is part of [claude.MCPServer].
func (*MCPServer) MCPType() string { return "sdk" }

// CheckMCP finds nothing wrong.
func (*MCPServer) CheckMCP() error { return nil }

// OpenMCP wants to be called with the session in its context.
func (s *MCPServer) OpenMCP(ctx context.Context, _ string, push func(context.Context, json.RawMessage) error) (claude.MCPConn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	s.push = push
	if claude.SessionFrom(ctx) == nil {
		return nil, errors.New("no session in the context")
	}
	return s, s.OpenError
}

// Handle calls Answer.
func (s *MCPServer) Handle(ctx context.Context, message json.RawMessage) (json.RawMessage, error) {
	return s.Answer(ctx, jsonx.Text(jsonx.Member(message, "method")), message)
}

// Close counts, and calls OnClose.
func (s *MCPServer) Close() error {
	s.mu.Lock()
	s.closed++
	s.mu.Unlock()
	if s.OnClose != nil {
		s.OnClose()
	}
	return nil
}

// Push sends a message of the server by the session that opened it last.
func (s *MCPServer) Push(ctx context.Context, message json.RawMessage) error {
	s.mu.Lock()
	push := s.push
	s.mu.Unlock()
	return push(ctx, message)
}

// Counts returns how often the server was opened and closed.
func (s *MCPServer) Counts() (opened, closed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened, s.closed
}

// AnswerTo returns the JSON-RPC response to a request.
func AnswerTo(request json.RawMessage, result string) json.RawMessage {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, jsonx.Member(request, "id"), result)
}

// Clock is an MCP server with one tool, "now": it is always noon.
func Clock() *MCPServer {
	return &MCPServer{Answer: func(_ context.Context, method string, m json.RawMessage) (json.RawMessage, error) {
		switch method {
		case "initialize":
			return AnswerTo(m, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"clock","version":"1"}}`), nil
		case "tools/list":
			return AnswerTo(m, `{"tools":[{"name":"now","description":"Tell the time","inputSchema":{"type":"object"}}]}`), nil
		case "tools/call":
			return AnswerTo(m, `{"content":[{"type":"text","text":"noon"}]}`), nil
		}
		return nil, nil
	}}
}
