package serve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/agui"
)

// translator turns events of a conversation into events of AG-UI, where each block of
// text or thinking is a message.
type translator struct {
	emit func(agui.RunEvent)

	answer string // the id of the model's last message
	blocks int    // how many of its blocks are in the transcript
	parent string // the message that its tool calls belong to

	open  map[string]*openText // by the id of the message
	done  map[string]bool      // texts that have ended
	calls map[string]bool      // tool calls that were shown

	order answerOrder // of the model's messages

	agents   map[string]agui.RunEvent // subagents at work, by their calls, and how they began
	progress message.Progress
}

// openText is a text that is being written.
type openText struct {
	kind api.BlockKind
	sent string
}

func newTranslator(emit func(agui.RunEvent)) *translator {
	return &translator{emit: emit, open: make(map[string]*openText), done: make(map[string]bool), calls: make(map[string]bool), agents: make(map[string]agui.RunEvent)}
}

// take translates one event. It drops those that mean nothing to a client of AG-UI.
func (t *translator) take(e *api.Event) {
	switch e.Type {
	case api.EventPartial:
		for _, b := range e.Partial {
			t.live(b)
		}
	case api.EventDelta:
		d := e.Delta
		if text, known := t.written(d.Message, d.Block); known || d.Offset == 0 {
			t.live(api.Block{Message: d.Message, Block: d.Block, Kind: d.Kind, Text: text + d.Text})
		}
	case api.EventMessage:
		t.message(e)
		for _, b := range t.order.release() {
			t.live(b)
		}
	case api.EventNotice:
		t.emit(agui.RunEvent{Type: "CUSTOM", Name: "claude.notice", Value: e.Notice})
	}
}

// live shows a block that is being written, once what comes before it is complete.
func (t *translator) live(b api.Block) {
	if !t.order.hold(b) {
		t.write(textID(b.Message, b.Block), b.Kind, b.Text)
	}
}

// written returns the known text of a block that is being written.
func (t *translator) written(answer string, block int) (text string, known bool) {
	if held := t.order.held(answer, block); held != nil {
		return held.Text, true
	}
	if open := t.open[textID(answer, block)]; open != nil {
		return open.sent, true
	}
	return "", false
}

// textID is the id of a block in AG-UI. It is the same in every run.
func textID(answer string, block int) string { return fmt.Sprintf("%s-%d", answer, block) }

// message translates a line of the transcript.
func (t *translator) message(e *api.Event) {
	m, _ := message.Decode(e.Message) // an unreadable message is not shown
	if m == nil || message.SubagentOf(m) != (message.Subagent{}) {
		return // of a subagent only its beginning and its result are shown
	}
	if t.progress.Add(m) {
		defer t.state()
	}
	t.order.heard(m)
	switch m := m.(type) {
	case *message.Assistant:
		if m.ID != t.answer {
			t.answer, t.blocks, t.parent = m.ID, 0, m.ID
		}
		for _, block := range m.Content {
			t.block(block, textID(m.ID, t.blocks))
			t.blocks++
		}
	case *message.User:
		for _, r := range m.ToolResults() {
			content := r.Content.Text()
			event := agui.RunEvent{Type: "TOOL_CALL_RESULT", MessageID: "result-" + r.ToolUseID, ToolCallID: r.ToolUseID, Content: &content, Role: "tool"}
			if r.IsError {
				event.Metadata = map[string]any{"error": true}
			}
			t.emit(event)
			report := m.ToolUseResult
			if len(report) == 0 {
				report = jsonx.Member(e.Message, "toolUseResult") // as transcripts call it
			}
			t.agentEnds(r, report)
		}
	}
}

// note takes in the model's list from a past event.
func (t *translator) note(e *api.Event) {
	if e.Type != api.EventMessage {
		return
	}
	if m, _ := message.Decode(e.Message); m != nil && message.SubagentOf(m) == (message.Subagent{}) {
		t.progress.Add(m)
		t.order.heard(m)
	}
}

// state shows the list of the model.
func (t *translator) state() {
	todos := []agui.RunTodo{}
	for _, todo := range t.progress.Todos() {
		todos = append(todos, agui.RunTodo{Text: todo.Text, Active: todo.Active, Status: string(todo.Status)})
	}
	t.emit(agui.RunEvent{Type: "STATE_SNAPSHOT", Snapshot: &agui.RunState{Todos: todos}})
}

// agentBegins shows that a call has started a subagent.
func (t *translator) agentBegins(b *message.ToolUseBlock) {
	if b.Name != "Agent" && b.Name != "Task" || t.agents[b.ID].Type != "" {
		return
	}
	begin := agui.RunEvent{
		Type: "SUBAGENT_STARTED", SubagentRunID: b.ID, ParentToolCallID: b.ID, ParentMessageID: t.parent,
		Name: cmp.Or(jsonx.Text(jsonx.Member(b.Input, "subagent_type")), "agent"), Description: jsonx.Text(jsonx.Member(b.Input, "description")),
	}
	t.agents[b.ID] = begin
	t.emit(begin)
}

// agentEnds shows how the call of a subagent ended. A background subagent has only
// begun: its result comes later, as a prompt of its own.
func (t *translator) agentEnds(r *message.ToolResultBlock, report json.RawMessage) {
	id := r.ToolUseID
	if t.agents[id].Type == "" {
		return
	}
	delete(t.agents, id)
	switch {
	case r.IsError:
		t.emit(agui.RunEvent{Type: "SUBAGENT_ERROR", SubagentRunID: id, Message: r.Content.Text()})
	case jsonx.Text(jsonx.Member(report, "status")) == "async_launched":
		t.emit(agui.RunEvent{Type: "SUBAGENT_FINISHED", SubagentRunID: id, Outcome: &agui.RunOutcome{Type: "suspended"}})
	default:
		t.emit(agui.RunEvent{Type: "SUBAGENT_FINISHED", SubagentRunID: id, Result: r.Content.Text(), Outcome: &agui.RunOutcome{Type: "success"}})
	}
}

// begin shows in a new run what an earlier one has begun: the subagents at work
// and the list of the model.
func (t *translator) begin() {
	for _, id := range slices.Sorted(maps.Keys(t.agents)) {
		t.emit(t.agents[id])
	}
	if len(t.progress.Todos()) > 0 {
		t.state()
	}
}

// suspend marks the subagents as suspended in a run that ends before they do.
func (t *translator) suspend() {
	for _, id := range slices.Sorted(maps.Keys(t.agents)) {
		t.emit(agui.RunEvent{Type: "SUBAGENT_FINISHED", SubagentRunID: id, Outcome: &agui.RunOutcome{Type: "suspended"}})
	}
}

// block translates a block that is complete.
func (t *translator) block(block message.Block, id string) {
	switch b := block.(type) {
	case *message.TextBlock:
		t.parent = id
		t.write(id, api.BlockText, b.Text)
		t.end(id)
	case *message.ThinkingBlock:
		t.write(id, api.BlockThinking, b.Thinking)
		t.end(id)
	case *message.ToolUseBlock:
		t.call(b.ID, b.Name, string(b.Input))
		t.agentBegins(b)
	}
}

// call shows a tool call, once.
func (t *translator) call(id, name, input string) {
	if t.calls[id] {
		return
	}
	t.calls[id] = true
	t.emit(agui.RunEvent{Type: "TOOL_CALL_START", ToolCallID: id, ToolCallName: name, ParentMessageID: t.parent})
	t.emit(agui.RunEvent{Type: "TOOL_CALL_ARGS", ToolCallID: id, Delta: input})
	t.emit(agui.RunEvent{Type: "TOOL_CALL_END", ToolCallID: id})
}

// write sends the new part of a text.
func (t *translator) write(id string, kind api.BlockKind, whole string) {
	if t.done[id] || whole == "" {
		return
	}
	text := t.open[id]
	if text == nil {
		text = &openText{kind: kind}
		t.open[id] = text
		if kind == api.BlockThinking {
			t.emit(agui.RunEvent{Type: "REASONING_START", MessageID: id})
			t.emit(agui.RunEvent{Type: "REASONING_MESSAGE_START", MessageID: id, Role: "reasoning"})
		} else {
			t.emit(agui.RunEvent{Type: "TEXT_MESSAGE_START", MessageID: id, Role: "assistant"})
		}
	}
	more, ok := strings.CutPrefix(whole, text.sent)
	if !ok || more == "" {
		return // the text was cut short, or nothing is new
	}
	text.sent = whole
	kindOfEvent := "TEXT_MESSAGE_CONTENT"
	if kind == api.BlockThinking {
		kindOfEvent = "REASONING_MESSAGE_CONTENT"
	}
	t.emit(agui.RunEvent{Type: kindOfEvent, MessageID: id, Delta: more})
}

// end ends a text.
func (t *translator) end(id string) {
	text := t.open[id]
	if text == nil {
		return
	}
	delete(t.open, id)
	t.done[id] = true
	if text.kind == api.BlockThinking {
		t.emit(agui.RunEvent{Type: "REASONING_MESSAGE_END", MessageID: id})
		t.emit(agui.RunEvent{Type: "REASONING_END", MessageID: id})
		return
	}
	t.emit(agui.RunEvent{Type: "TEXT_MESSAGE_END", MessageID: id})
}

// endAll ends what is still open at the end of a run: texts that were cut short, and
// the part of subagents that are still at work.
func (t *translator) endAll() {
	for _, id := range slices.Sorted(maps.Keys(t.open)) {
		t.end(id)
	}
	t.suspend()
}

// snapshot gathers events of AG-UI into messages, as a client does.
type snapshot struct{ messages []agui.RunSaid }

func (s *snapshot) take(e agui.RunEvent) {
	switch e.Type {
	case "TEXT_MESSAGE_START":
		s.at(e.MessageID, e.Role)
	case "REASONING_MESSAGE_START":
		s.at(e.MessageID, "reasoning")
	case "TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT":
		s.at(e.MessageID, "assistant").Content += e.Delta
	case "TOOL_CALL_START":
		m := s.at(e.ParentMessageID, "assistant")
		m.ToolCalls = append(m.ToolCalls, agui.RunCall{ID: e.ToolCallID, Type: "function", Function: agui.RunFunction{Name: e.ToolCallName}})
	case "TOOL_CALL_ARGS":
		for i := range s.messages {
			for j := range s.messages[i].ToolCalls {
				if call := &s.messages[i].ToolCalls[j]; call.ID == e.ToolCallID {
					call.Function.Arguments += e.Delta
				}
			}
		}
	case "TOOL_CALL_RESULT":
		m := s.at(e.MessageID, "tool")
		m.Content, m.ToolCallID = *e.Content, e.ToolCallID
	}
}

// at returns the message with an id, a new one if there is none.
func (s *snapshot) at(id, role string) *agui.RunSaid {
	for i := range slices.Backward(s.messages) {
		if s.messages[i].ID == id {
			return &s.messages[i]
		}
	}
	s.messages = append(s.messages, agui.RunSaid{ID: id, Role: role})
	return &s.messages[len(s.messages)-1]
}
