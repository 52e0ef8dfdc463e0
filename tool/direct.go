package tool

import (
	"context"
	"encoding/json"
	"unicode/utf8"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Most of what a server does is to be called, while a model waits. The way of
// a call through the MCP SDK leads over three goroutines and decodes and
// encodes everything several times. So a usual call of one of our own tools is served
// here, in the goroutine that brings it, with the same handler and the session
// of the MCP SDK; a call with anything unusual about it takes the long way.
// TestDirect holds the two together.

// usualCall is a tools/call without anything unusual about it.
type usualCall struct {
	id        json.RawMessage
	name      string
	arguments json.RawMessage
	meta      mcp.Meta
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

// usualID recognises ids that every reader reads in the same way.
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
			c.metadata(s)
		default:
			s.Fail()
		}
	}
}

// metadata reads what the CLI sends along: the id of the tool use, and the
// token of reports on progress.
func (c *usualCall) metadata(s *jsonx.Scanner) {
	c.meta = make(mcp.Meta, 2)
	o := s.Object()
	for name := s.Next(&o); name != nil; name = s.Next(&o) {
		switch key := string(name); {
		case key != useIDKey && key != progressKey:
			s.Fail()
		case s.Peek() == '"':
			c.meta[key] = s.Text()
		case s.Peek() == 'n':
			s.Fail() // null is neither a token nor a number
		default:
			c.meta[key] = s.Float()
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
	var call usualCall
	if c.find == nil || !call.scan(message) {
		return nil, false
	}
	tool := c.find(call.name)
	if tool == nil || !tool.direct {
		return nil, false
	}
	ctx, cancel := context.WithCancel(context.WithValue(ctx, connKey{}, c))
	defer cancel()
	t := c.enter(string(call.id), cancel)
	if t == nil {
		return nil, false
	}
	defer c.calls.Done()
	defer t.leave(string(call.id))
	result := tool.serve(ctx, &mcp.CallToolRequest{
		Session: t.session,
		Params:  &mcp.CallToolParamsRaw{Meta: call.meta, Name: call.name, Arguments: call.arguments},
	})
	return respond(call.id, result), true
}

// enter registers a call with the session that the CLI has shaken hands with;
// nil if there is none.
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
// earlier handshake may have the same id, and is another one.
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
	data, err := marshalResult(result)
	if err != nil {
		data, _ = marshalResult(failed(err)) // a text always can
	}
	out := make([]byte, 0, len(data)+len(id)+40)
	out = append(out, `{"jsonrpc":"2.0","id":`...)
	out = append(out, id...)
	out = append(out, `,"result":`...)
	out = append(out, data...)
	return append(out, '}')
}

// marshalResult encodes a result. Those of texts are written by hand.
func marshalResult(r *mcp.CallToolResult) (json.RawMessage, error) {
	if data := plainResult(r); data != nil {
		return data, nil
	}
	checked, err := encodable(r)
	if err != nil {
		return nil, err
	}
	return marshal(checked)
}

// plainResult encodes a result of texts, nil for one that has more.
func plainResult(r *mcp.CallToolResult) []byte {
	if r.Meta != nil || r.StructuredContent != nil || r.Content == nil {
		return nil
	}
	out := append(make([]byte, 0, 128), `{"content":[`...)
	for i, content := range r.Content {
		text, ok := content.(*mcp.TextContent)
		if !ok || text == nil || text.Meta != nil || text.Annotations != nil || !utf8.ValidString(text.Text) {
			return nil
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
	return append(out, '}')
}
