package wire

import "bytes"

// frequent are the messages of which the CLI writes most, as it begins them.
var frequent = [...]struct{ begin, typ string }{
	{`{"type":"stream_event","`, "stream_event"},
	{`{"type":"assistant","`, "assistant"},
	{`{"type":"user","`, "user"},
}

// gates are the requests for which a tool call waits, as they begin.
var gates = [...]struct{ begin, subtype string }{
	{`{"subtype":"can_use_tool",`, "can_use_tool"},
	{`{"subtype":"hook_callback",`, "hook_callback"},
}

// Sort is Parse for a reader that wants to know where a line goes, and nothing
// else. It tells frequent messages and urgent requests by how they begin.
// Whoever decodes them refuses what Parse would have refused: a message with
// [jsonx.Envelope], the body of a request with [jsonx.Body], after
// [Request.Reread] if it cannot be read.
func Sort(line []byte) (Frame, error) {
	for _, m := range frequent {
		if begins(line, m.begin) {
			return Frame{Line: line, Type: m.typ}, nil
		}
	}
	if f, ok := gate(line); ok {
		return f, nil
	}
	return Parse(line)
}

// Partial tells pieces of an answer, which are soon forgotten.
func Partial(line []byte) bool { return begins(line, frequent[0].begin) }

func begins(line []byte, text string) bool {
	return len(line) > len(text) && string(line[:len(text)]) == text
}

const (
	requestBegin = `{"type":"control_request","request_id":"`
	requestBody  = `","request":`
	longestID    = 64
)

// gate reads a request as the CLI writes it: a type, a simple id, and a body to
// the end of the line. With another member behind it the body is no JSON.
func gate(line []byte) (f Frame, ok bool) {
	if !begins(line, requestBegin) || string(line[len(line)-2:]) != "}}" {
		return f, false
	}
	id := line[len(requestBegin):]
	n := bytes.IndexByte(id[:min(len(id), longestID)], '"')
	if n < 0 || !simple(id[:n]) || !begins(id[n:], requestBody) {
		return f, false
	}
	begin := len(requestBegin) + n + len(requestBody)
	body := line[begin : len(line)-1]
	for _, g := range gates {
		if begins(body, g.begin) {
			return Frame{
				Line: line, Type: TypeRequest, asks: g.subtype,
				atID:      span{int32(len(requestBegin) - 1), int32(len(requestBegin) + n + 1)},
				atRequest: spanOf(line, body),
			}, true
		}
	}
	return f, false
}

// simple tells ids that stand for themselves.
func simple(id []byte) bool {
	for _, c := range id {
		if c <= ' ' || c == '\\' || c > '~' {
			return false
		}
	}
	return len(id) > 0
}
