package acp

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/jsonx"
)

// notification returns the parameters of session/update.
//
// A piece of text is written directly. It is the update of which there are thousands in
// a turn, and by its types it would be encoded five times, once for each object that
// holds another: half of the time that it takes on its way to the editor.
func notification(id schema.SessionID, update schema.SessionUpdate) any {
	if params, ok := pieceOf(id, &update); ok {
		return params
	}
	return schema.SessionNotification{SessionID: id, Update: update}
}

// pieceOf encodes an update that is a piece of text and nothing else, as its type does.
func pieceOf(id schema.SessionID, update *schema.SessionUpdate) (json.RawMessage, bool) {
	kind, chunk := "agent_message_chunk", update.AgentMessageChunk
	if chunk == nil {
		kind, chunk = "agent_thought_chunk", update.AgentThoughtChunk
	}
	if chunk == nil || update.UserMessageChunk != nil || chunk.Meta != nil || chunk.Extra != nil {
		return nil, false
	}
	text := chunk.Content.Text
	if text == nil || text.Meta != nil || text.Annotations != nil || text.Extra != nil {
		return nil, false
	}
	if !utf8.ValidString(text.Text) || !utf8.ValidString(string(id)) || !utf8.ValidString(string(chunk.MessageID)) {
		return nil, false // there is more than one way to replace what is not
	}
	out := make([]byte, 0, 160+len(id)+len(text.Text)+len(chunk.MessageID))
	out = jsonx.AppendText(append(out, `{"sessionId":`...), string(id))
	out = jsonx.AppendText(append(out, `,"update":{"sessionUpdate":`...), kind)
	out = jsonx.AppendText(append(out, `,"content":{"type":"text","text":`...), text.Text)
	out = append(out, '}')
	if chunk.MessageID != "" {
		out = jsonx.AppendText(append(out, `,"messageId":`...), string(chunk.MessageID))
	}
	return append(out, "}}"...), true
}
