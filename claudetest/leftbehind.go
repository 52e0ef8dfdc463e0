package claudetest

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
)

// leftBehind is the state in which the previous process left a conversation,
// according to its transcript.
type leftBehind struct {
	said       []ModelMessage
	leaf       string
	unfinished *host.Unfinished
	deferred   *message.ToolUseBlock // the call that waits for a decision
	cut        []string              // the calls that broke off
	continued  bool                  // the last message is one by which a CLI has continued the turn
	edits      []edit
}

// The variables by which a resumed CLI finishes a turn that broke off, and shows
// the calls of that turn to the model.
const (
	resumeCutTurn = "CLAUDE_CODE_RESUME_INTERRUPTED_TURN"
	showCutCalls  = "CLAUDE_CODE_RESUME_SHOWS_CUT_OFF_CALLS"
)

// stored reads a conversation from the configuration directory, nil if it is not
// there. A session that is resumed from a store has one of its own.
func (p *process) stored(id string) *leftBehind {
	dir := p.variable("CLAUDE_CONFIG_DIR")
	if found, _ := filepath.Glob(filepath.Join(dir, "projects", "*", id+".jsonl")); dir == "" || id == "" || len(found) == 0 {
		return nil
	}
	ctx := context.Background()
	t, err := history.Disk(dir).Read(ctx, id)
	if err != nil || t.Len() == 0 { // the real one finds no conversation without a message
		return nil
	}
	l := new(leftBehind)
	var prompt *message.User
	calls := make(map[string]string) // files by the calls that edit them
	for m, err := range t.Messages(ctx, history.Page{}) {
		if err != nil {
			return nil
		}
		if u, ok := m.Message.(*message.User); ok && len(u.ToolResults()) == 0 && !m.MidTurn {
			prompt = u
			prompt.UUID = m.UUID
			l.edits = append(l.edits, edit{prompt: m.UUID})
		}
		l.takeEdits(m.Message, calls)
		l.take(m)
	}
	for e, err := range t.Entries(ctx) {
		if err != nil {
			return nil
		}
		l.mark(e)
	}
	l.judge(t, prompt, p)
	return l
}

// takeEdits notes the files that a message reports as edited by calls that ran.
func (l *leftBehind) takeEdits(m message.Message, calls map[string]string) {
	switch m := m.(type) {
	case *message.Assistant:
		for _, call := range m.Content.ToolUses() {
			calls[call.ID] = editedFile(call.Name, call.Input)
		}
	case *message.User:
		for _, r := range m.ToolResults() {
			if path := calls[r.ToolUseID]; path != "" && !r.IsError && len(l.edits) > 0 {
				l.edits = append(l.edits, edit{l.edits[len(l.edits)-1].prompt, path})
			}
		}
	}
}

// take adds a message to what was said.
func (l *leftBehind) take(m *history.StoredMessage) {
	body := jsonx.Member(m.Head().Raw, "message")
	content := bytesOr(jsonx.Member(body, "content"), "[]")
	l.said = append(l.said, ModelMessage{Role: jsonx.Text(jsonx.Member(body, "role")), Text: textOf(content), Content: content})
}

func bytesOr(raw json.RawMessage, other string) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage(other)
	}
	return raw
}

// mark looks at a line for its id, for the call that was deferred, and whether a CLI has
// made it up to continue a turn.
func (l *leftBehind) mark(e json.RawMessage) {
	switch jsonx.Text(jsonx.Member(e, "type")) {
	case "user", "assistant":
		said := jsonx.Text(jsonx.Member(jsonx.Member(e, "message"), "content"))
		l.continued = string(jsonx.Member(e, "isMeta")) == "true" && madeUp.MatchString(said)
	}
	if id := jsonx.Text(jsonx.Member(e, "uuid")); id != "" {
		l.leaf = id
	}
	a := jsonx.Member(e, "attachment")
	if jsonx.Text(jsonx.Member(a, "type")) != "hook_deferred_tool" {
		return
	}
	l.deferred = &message.ToolUseBlock{
		ID: jsonx.Text(jsonx.Member(a, "toolUseID")), Name: jsonx.Text(jsonx.Member(a, "toolName")),
		Input: slices.Clone(jsonx.Member(a, "toolInput")),
	}
}

// judge decides whether the last turn has to be finished. A turn that broke off is
// finished only if the environment variable asks for it, and not if it broke off
// after the line with which a CLI has already continued it: the real CLI waits
// then.
func (l *leftBehind) judge(t *history.Transcript, prompt *message.User, p *process) {
	if prompt == nil {
		return
	}
	u := &host.Unfinished{Prompt: prompt.UUID, Content: prompt.Content}
	switch state, open := t.PromptState(prompt.UUID); {
	case state == history.PromptDeferred:
		u.Deferred = true
		l.unfinished = u
	case state == history.PromptCut && !l.continued && p.variable(resumeCutTurn) == "1":
		l.unfinished = u
		if p.variable(showCutCalls) == "1" {
			l.cut = open
		}
	}
}

func (p *process) variable(name string) (value string) {
	for _, entry := range p.env {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}

// unknownOutcome is the result that the model reads for a call that broke off.
const unknownOutcome = "[Tool call interrupted. Its outcome is unknown.]"

// begin begins a turn: with its prompts, or with what the process before has not
// finished. It returns the results that the model waits for.
func (a *agent) begin(ctx context.Context, t *host.Turn) ([]ToolResult, error) {
	u := t.Unfinished()
	if u == nil || a.left == nil {
		for _, p := range t.Prompts() {
			a.said(t, "user", p.Content)
		}
		return nil, nil
	}
	var calls []host.Call
	var outputs []host.ToolOutput
	if u.Deferred {
		if a.left.deferred == nil {
			return nil, errors.New("the transcript does not say which call was deferred")
		}
		c := a.call(t, block{kind: kindToolUse, id: a.left.deferred.ID, name: a.left.deferred.Name, input: a.left.deferred.Input})
		out, err := t.Repeat(ctx, c)
		if err != nil {
			return nil, err
		}
		calls, outputs = append(calls, c), append(outputs, out)
	}
	for _, id := range a.left.cut {
		out := host.TextOutput(unknownOutcome)
		out.IsError = true
		calls, outputs = append(calls, host.Call{ID: id}), append(outputs, out)
		line := &message.User{Content: resultBlocks(calls[len(calls)-1:], outputs[len(outputs)-1:])}
		if err := t.Emit(line); err != nil {
			return nil, err
		}
	}
	a.left = nil // later turns begin with their prompts
	if len(calls) > 0 {
		a.said(t, "user", resultBlocks(calls, outputs))
	}
	return resultsOf(calls, outputs), nil
}
