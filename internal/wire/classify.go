package wire

import "bytes"

// frequentMessages are the most frequent messages of the CLI, by their first bytes.
var frequentMessages = [...]struct{ begin, typ string }{
	{`{"type":"stream_event","`, "stream_event"},
	{`{"type":"assistant","`, "assistant"},
	{`{"type":"user","`, "user"},
	{`{"type":"transcript_mirror","`, TypeMirror},
}

// toolCallRequests are the requests for which a tool call waits, as they begin.
var toolCallRequests = [...]struct{ begin, subtype string }{
	{`{"subtype":"can_use_tool",`, "can_use_tool"},
	{`{"subtype":"hook_callback",`, "hook_callback"},
}

// Classify is Parse for a reader that wants to know where a line goes, and nothing
// else. It recognizes frequent messages, and the requests that a tool call
// waits for, by their first bytes. Their decoders refuse what Parse would have
// refused, since they walk through the members anyway: every decoder of messages
// checks [jsonx.EnvelopeNames], whether the line was recognized or parsed, and
// every decoder of requests [jsonx.BodyNames], after [Request.Reparse] if the body
// cannot be read.
func Classify(line []byte) (Frame, error) {
	for _, m := range frequentMessages {
		if hasPrefix(line, m.begin) {
			return Frame{Line: line, Type: m.typ}, nil
		}
	}
	if f, ok := toolCallRequest(line); ok {
		return f, nil
	}
	return Parse(line)
}

// IsPartialMessage recognises pieces of an answer, which are soon forgotten.
func IsPartialMessage(line []byte) bool { return hasPrefix(line, frequentMessages[0].begin) }

// IsMirror recognises lines that repeat a piece of a transcript. They may be cut off.
func IsMirror(line []byte) bool { return hasPrefix(line, frequentMessages[3].begin) }

func hasPrefix(line []byte, text string) bool {
	return len(line) > len(text) && string(line[:len(text)]) == text
}

const (
	requestBegin = `{"type":"control_request","request_id":"`
	requestBody  = `","request":`
	longestID    = 64
)

// toolCallRequest reads a request as the CLI writes it: a type, a simple id, and a body to
// the end of the line. With another member behind it the body is not JSON.
func toolCallRequest(line []byte) (f Frame, ok bool) {
	if !hasPrefix(line, requestBegin) || string(line[len(line)-2:]) != "}}" {
		return f, false
	}
	id := line[len(requestBegin):]
	n := bytes.IndexByte(id[:min(len(id), longestID)], '"')
	if n < 0 || !isPlainID(id[:n]) || !hasPrefix(id[n:], requestBody) {
		return f, false
	}
	begin := len(requestBegin) + n + len(requestBody)
	body := line[begin : len(line)-1]
	for _, g := range toolCallRequests {
		if hasPrefix(body, g.begin) {
			return Frame{
				Line: line, Type: TypeRequest, requestSubtype: g.subtype,
				idSpan:      span{int32(len(requestBegin) - 1), int32(len(requestBegin) + n + 1)},
				requestSpan: spanOf(line, body),
			}, true
		}
	}
	return f, false
}

// isPlainID recognises ids that stand for themselves.
func isPlainID(id []byte) bool {
	for _, c := range id {
		if c <= ' ' || c == '\\' || c > '~' {
			return false
		}
	}
	return len(id) > 0
}
