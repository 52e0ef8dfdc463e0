package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/internal/uuid"
)

// ErrNotWaiting means that a session does not wait for a call: the conversation has
// moved on, or other calls of the same answer have no result either.
var ErrNotWaiting = errors.New("does not wait for this call")

// Defer makes a session that broke off at a call wait for it, as if a hook had
// deferred the call: a CLI that resumes the session asks about it again, under the
// same id, and runs it if it is allowed. It needs a CLI that can defer, and is checked
// with 2.1.325. Defer may be repeated.
//
// No CLI may have the session open; see [History.Processes]. If the session does not
// end with the call, or another call of the same answer has no result, the error matches
// [ErrNotWaiting]: the other call may have run, and the CLI would drop it from the
// conversation. Sessions in a store are deferred by package approval.
func (h *History) Defer(ctx context.Context, id, call string) error {
	if h.in != nil {
		return errors.New("claude: history: a session in a store is deferred by its questions")
	}
	t, err := h.Read(ctx, id)
	if err != nil {
		return err
	}
	_, deferred, ok := t.index.OpenCall(t.entries, call)
	if !ok {
		return fmt.Errorf("claude: history: session %s %w", id, ErrNotWaiting)
	}
	if deferred {
		return nil
	}
	marker := transcript.Marker{UUID: uuid.New(), Session: id, Time: time.Now(), ToolUseID: call}
	answer := lastAnswer{call: call}
	for line, err := range t.Entries(ctx) {
		if err != nil {
			return err
		}
		if version := jsonx.Text(jsonx.Member(line, "version")); version != "" {
			marker.Version, marker.Cwd = version, jsonx.Text(jsonx.Member(line, "cwd"))
		}
		answer.add(line)
	}
	use, alone := answer.use()
	if !alone {
		return fmt.Errorf("claude: history: session %s %w", id, ErrNotWaiting)
	}
	marker.Parent, marker.Tool, marker.Input = use.line, use.Name, use.Input
	text, err := marker.Line()
	if err != nil {
		return err
	}
	return h.append(ctx, id, text)
}

// toolUse is a call, as an answer has it.
type toolUse struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
	line  string          // the uuid of its line
}

// lastAnswer gathers the calls that have no result, of the answer that made a call.
type lastAnswer struct {
	call    string
	message string // the answer whose lines are being read
	open    map[string]toolUse
}

// add takes the next line of the conversation. An answer has a line for each block.
func (a *lastAnswer) add(line json.RawMessage) {
	body := jsonx.Member(line, "message")
	var blocks []struct {
		toolUse
		Type      string `json:"type"`
		ToolUseID string `json:"tool_use_id"`
	}
	if jsonx.Unmarshal(jsonx.Member(body, "content"), &blocks) != nil {
		return // a text
	}
	switch jsonx.Text(jsonx.Member(line, "type")) {
	case "assistant":
		if m := jsonx.Text(jsonx.Member(body, "id")); m != a.message || a.open == nil {
			a.message, a.open = m, make(map[string]toolUse)
		}
		for _, b := range blocks {
			if b.Type == "tool_use" {
				b.Input, b.line = bytes.Clone(b.Input), jsonx.Text(jsonx.Member(line, "uuid"))
				a.open[b.ID] = b.toolUse
			}
		}
	case "user":
		for _, b := range blocks {
			delete(a.open, b.ToolUseID)
		}
	}
}

// use returns the call, and whether it is the only one without a result.
func (a *lastAnswer) use() (toolUse, bool) {
	u, ok := a.open[a.call]
	return u, ok && len(a.open) == 1
}
