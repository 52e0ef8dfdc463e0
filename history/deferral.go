package history

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/internal/uuid"
)

// deferral returns the lines that make a conversation wait for a call, or none if it
// waits already; see [History.Defer].
func (t *Transcript) deferral(ctx context.Context, id, call string) ([]byte, error) {
	_, deferred, open := t.index.OpenCall(t.entries, call)
	if deferred {
		return nil, nil
	}
	marker := transcript.Marker{UUID: uuid.New(), Session: id, Time: time.Now(), ToolUseID: call}
	answer := lastAnswer{call: call}
	for line, err := range t.Entries(ctx) {
		if err != nil {
			return nil, err
		}
		if version := jsonx.Text(jsonx.Member(line, "version")); version != "" {
			marker.Version, marker.Cwd = version, jsonx.Text(jsonx.Member(line, "cwd"))
		}
		answer.add(line)
	}
	use, alone := answer.use()
	if !alone || !open && !answer.refused {
		return nil, fmt.Errorf("claude: history: session %s %w", id, ErrNotWaiting)
	}
	marker.Parent, marker.Tool, marker.Input = use.line, use.Name, use.Input
	var text []byte
	if answer.refused {
		var err error
		if text, marker.Parent, err = answer.repeat(id, marker.Time); err != nil {
			return nil, err
		}
	}
	mark, err := marker.Line()
	if err != nil {
		return nil, err
	}
	return append(text, mark...), nil
}

// toolUse is a call, as an answer has it.
type toolUse struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
	line  string          // the uuid of its line
}

// block is a part of an answer, or a result.
type block struct {
	toolUse
	Type      string          `json:"type"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
	Content   json.RawMessage `json:"content"`
}

// refused reports whether a result is that of a CLI which lost its program while it asked.
func (b *block) refused() bool {
	text := jsonx.Text(b.Content)
	return b.IsError && text == "Tool permission request failed: AbortError: Tool permission stream closed before response received"
}

// lastAnswer gathers the calls that have no result, of the answer that made a call.
type lastAnswer struct {
	call    string
	message string   // the answer whose lines are being read
	lines   [][]byte // of that answer
	calls   int      // in that answer
	open    map[string]toolUse
	refused bool // by the CLI, and only text came since
}

// add takes the next line of the conversation.
func (a *lastAnswer) add(line json.RawMessage) {
	body := jsonx.Member(line, "message")
	var blocks []block
	if jsonx.Unmarshal(jsonx.Member(body, "content"), &blocks) != nil {
		blocks = nil // a text
	}
	switch jsonx.Text(jsonx.Member(line, "type")) {
	case "assistant":
		a.answer(line, jsonx.Text(jsonx.Member(body, "id")), blocks)
	case "user":
		a.results(blocks)
	}
}

// answer takes a line of an answer, which has a line for each block. After a refusal an
// answer counts only if it makes a call.
func (a *lastAnswer) answer(line []byte, message string, blocks []block) {
	var calls []toolUse
	for _, b := range blocks {
		if b.Type == "tool_use" {
			b.Input, b.line = bytes.Clone(b.Input), jsonx.Text(jsonx.Member(line, "uuid"))
			calls = append(calls, b.toolUse)
		}
	}
	if a.refused && len(calls) == 0 {
		return
	}
	if a.refused || message != a.message || a.open == nil {
		*a = lastAnswer{call: a.call, message: message, open: make(map[string]toolUse)}
	}
	a.lines, a.calls = append(a.lines, bytes.Clone(line)), a.calls+len(calls)
	for _, c := range calls {
		a.open[c.ID] = c
	}
}

// results takes the blocks of a line of the user. After a refusal any is a prompt, or a
// result that says more.
func (a *lastAnswer) results(blocks []block) {
	if a.refused {
		*a = lastAnswer{call: a.call}
	}
	for _, b := range blocks {
		if _, made := a.open[a.call]; made && b.ToolUseID == a.call && b.refused() {
			a.refused = true
		} else {
			delete(a.open, b.ToolUseID)
		}
	}
}

// use returns the call, and whether it is the only one without a result. One that was
// refused has to be the only one of its answer, whose results would not be repeated.
func (a *lastAnswer) use() (toolUse, bool) {
	u, ok := a.open[a.call]
	return u, ok && len(a.open) == 1 && (a.calls == 1 || !a.refused)
}

// repeat returns the lines of the answer as those of another one in its place, and the
// uuid of the last. The id of the answer is new too: by it the CLI would find the lines
// that were refused. A note comes first, because the CLI has noted that the conversation
// ends after the refusal.
func (a *lastAnswer) repeat(session string, now time.Time) (text []byte, last string, err error) {
	message := "msg_" + uuid.New()
	for _, line := range a.lines {
		again := transcript.Repeated{UUID: uuid.New(), Parent: last, Answer: message, Time: now}
		more, err := again.Line(line)
		if err != nil {
			return nil, "", err
		}
		text, last = append(append(text, more...), '\n'), again.UUID
	}
	return append(append(transcript.Leaf(session, last), '\n'), text...), last, nil
}
