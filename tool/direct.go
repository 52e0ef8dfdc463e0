package tool

import (
	"context"
	"encoding/json"
	"sync"
	"unicode/utf8"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server mostly serves calls, while a model waits. The path of a call through the
// MCP SDK crosses three goroutines and decodes and encodes everything several times.
// So a usual call of one of our own tools is served here, in the goroutine that
// brings it, with the session of the MCP SDK; a call with anything unusual about it
// takes the long path. TestDirect checks that the two agree.

// usualCall is a tools/call without anything unusual about it.
type usualCall struct {
	id        json.RawMessage
	name      string
	arguments json.RawMessage
	meta      json.RawMessage // nil if there is none
	useID     string
}

// request makes the request of the MCP SDK, which few functions ask for.
func (c *usualCall) request(session *mcp.ServerSession) *mcp.CallToolRequest {
	params := &mcp.CallToolParamsRaw{Name: c.name, Arguments: c.arguments}
	if c.meta != nil {
		_ = json.Unmarshal(c.meta, &params.Meta) // it was read before
	}
	return &mcp.CallToolRequest{Session: session, Params: params}
}

// scan reads a message. It reports false for one that is not a usual call.
func (c *usualCall) scan(message json.RawMessage) bool {
	var s jsonx.Scanner
	s.Start(message)
	call := false
	o := s.Object()
	for name := s.Next(&o); name != nil; name = s.Next(&o) {
		switch string(name) {
		case "method":
			call = s.TextIs("tools/call")
		case "id":
			c.id = s.Skip()
		case "params":
			c.params(&s)
		case "jsonrpc":
			if !s.TextIs("2.0") {
				s.Fail()
			}
		default:
			s.Fail()
		}
	}
	return s.End() && call && c.name != "" && usualID(c.id)
}

// usualID recognises ids that every reader reads alike.
func usualID(id json.RawMessage) bool {
	if len(id) == 0 || len(id) > 64 {
		return false
	}
	if id[0] == '"' {
		return jsonx.Text(id) != ""
	}
	for _, c := range id {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(id) <= 15 && (id[0] != '0' || len(id) == 1)
}

func (c *usualCall) params(s *jsonx.Scanner) {
	o := s.Object()
	for name := s.Next(&o); name != nil; name = s.Next(&o) {
		switch string(name) {
		case "name":
			c.name = s.Text()
		case "arguments":
			if s.Peek() != '{' {
				s.Fail()
			}
			c.arguments = s.Skip()
		case "_meta":
			mark := s.Mark()
			c.metadata(s)
			c.meta = s.Since(mark)
		default:
			s.Fail()
		}
	}
}

// metadata reads what the CLI sends along: the id of the tool use, and the
// progress token.
func (c *usualCall) metadata(s *jsonx.Scanner) {
	o := s.Object()
	for name := s.Next(&o); name != nil; name = s.Next(&o) {
		switch string(name) {
		case useIDKey:
			if s.Peek() != '"' {
				s.Fail()
			}
			c.useID = s.Text()
		case progressKey:
			switch s.Peek() {
			case '"':
				s.Skip()
			case 'n':
				s.Fail() // null is neither a token nor a number
			default:
				s.Float()
			}
		default:
			s.Fail()
		}
	}
}

// The entries of a call's metadata that the CLI sends.
const (
	useIDKey    = "claudecode/toolUseId"
	progressKey = "progressToken"
)

// direct serves a usual call. It reports false for any other message.
func (c *conn) direct(ctx context.Context, message json.RawMessage) (json.RawMessage, bool) {
	var usual usualCall
	if c.find == nil || !usual.scan(message) {
		return nil, false
	}
	tool := c.find(usual.name)
	if tool == nil || !tool.direct {
		return nil, false
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	id := string(usual.id)
	t := c.enter(id, cancel)
	if t == nil {
		return nil, false
	}
	defer c.calls.Done()
	defer t.leave(id)
	ctx = context.WithValue(ctx, callKey{}, &call{conn: c, useID: usual.useID, request: sync.OnceValue(func() *mcp.CallToolRequest {
		return usual.request(t.session)
	})})
	return respond(usual.id, tool.serve(ctx, usual.arguments, tool.callHere)), true
}

// enter registers a call with the session of the current handshake; nil if
// there is none.
func (c *conn) enter(id string, cancel context.CancelFunc) *tunnel {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tunnel
	if c.closed || t == nil || !t.ready || !t.enter(id, cancel) {
		return nil
	}
	c.calls.Add(1)
	return t
}

// cancelled passes a notice on to a call that is served directly. A call of an
// earlier handshake may have the same id, but is a different call.
func (c *conn) cancelled(message json.RawMessage) {
	id := jsonx.Member(jsonx.Member(message, "params"), "requestId")
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tunnel != nil {
		c.tunnel.cancelDirect(string(id))
	}
}

// respond writes the response to a call. A result that cannot become JSON is
// an error of the tool.
func respond(id json.RawMessage, result *mcp.CallToolResult) json.RawMessage {
	out := make([]byte, 0, 256)
	out = append(out, `{"jsonrpc":"2.0","id":`...)
	out = append(out, id...)
	out = append(out, `,"result":`...)
	full, err := appendResult(out, result)
	if err != nil {
		full, _ = appendResult(out, failed(err)) // a text always encodes
	}
	return append(full, '}')
}

// appendResult encodes a result. Results of texts are written by hand.
func appendResult(out []byte, r *mcp.CallToolResult) ([]byte, error) {
	if full, ok := appendTexts(out, r); ok {
		return full, nil
	}
	checked, err := encodable(r)
	if err != nil {
		return nil, err
	}
	data, err := marshal(checked)
	return append(out, data...), err
}

// appendTexts encodes a result of texts. It reports false for a result that
// holds more.
func appendTexts(out []byte, r *mcp.CallToolResult) ([]byte, bool) {
	if r.Meta != nil || r.StructuredContent != nil || r.Content == nil {
		return nil, false
	}
	out = append(out, `{"content":[`...)
	for i, content := range r.Content {
		text, ok := content.(*mcp.TextContent)
		if !ok || text == nil || text.Meta != nil || text.Annotations != nil || !utf8.ValidString(text.Text) {
			return nil, false
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, `{"type":"text","text":`...)
		out = jsonx.AppendText(out, text.Text)
		out = append(out, '}')
	}
	out = append(out, ']')
	if r.IsError {
		out = append(out, `,"isError":true`...)
	}
	return append(out, '}'), true
}
