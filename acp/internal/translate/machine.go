package translate

import (
	"encoding/json"
	"maps"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
)

// Machine translates the messages of one session. It is not safe for concurrent
// use.
type Machine struct {
	Shown
	// Compaction and Notices say that the editor shows compactions and notices
	// as such.
	Compaction, Notices bool
	// Window is the size of the context window. It is learned from results;
	// before, usage is not reported unless it is set.
	Window int

	progress   message.Progress
	calls      map[string]*shownCall // by tool use id, until the result
	streamed   string                // the answer that is being streamed
	streams    map[string]bool       // answers that were streamed and are not whole yet
	used       int                   // tokens of the last model call in this turn
	model      string
	compacting string // id of the compaction, "" if there is none
	whole      bool   // it has succeeded, and its boundary follows
	compacted  string // id of the one whose boundary was the last, until its summary
	failed     map[string]bool
}

// shownCall is a call that the editor knows.
type shownCall struct {
	tool   string
	hidden bool // shown as a plan
}

// Add returns the updates of a message, in order.
func (m *Machine) Add(msg message.Message) []schema.SessionUpdate {
	planned := m.progress.Add(msg)
	var out []schema.SessionUpdate
	switch msg := msg.(type) {
	case *message.StreamEvent:
		out = m.event(msg)
	case *message.Assistant:
		out = m.assistant(msg)
	case *message.User:
		if isSummary(msg) {
			return m.Summary(msg)
		}
		out = m.results(msg)
	case *message.Result:
		out = m.result(msg)
	case *message.Init:
		out = m.init(msg)
	case *message.CommandsChanged:
		out = []schema.SessionUpdate{Commands(msg.Commands)}
	case *message.SessionTitle:
		out = []schema.SessionUpdate{{SessionInfoUpdate: &schema.SessionInfoUpdate{Title: &msg.Title}}}
	case *message.Status:
		out = m.status(msg)
	case *message.CompactBoundary:
		out = m.boundary(msg)
	default:
		out = m.notice(msg)
	}
	if planned {
		if plan, ok := m.plan(); ok {
			out = append(out, plan)
		}
	}
	return out
}

// init reports MCP servers that failed, each once.
func (m *Machine) init(msg *message.Init) (out []schema.SessionUpdate) {
	m.used = 0
	for _, s := range msg.MCPServers {
		if s.Status != control.MCPFailed || m.failed[s.Name] {
			continue
		}
		if m.failed == nil {
			m.failed = make(map[string]bool)
		}
		m.failed[s.Name] = true
		out = append(out, schema.SessionUpdate{AgentMessageChunk: &schema.ContentChunk{
			Content: TextBlock("**MCP server \"" + s.Name + "\" failed to start:** its tools are not available in this session."),
			Meta:    map[string]any{"claudeCode": map[string]any{"kind": "mcpServerStatus", "server": s.Name, "status": "failed"}},
		}})
	}
	return out
}

// event shows an answer as it is written.
func (m *Machine) event(msg *message.StreamEvent) []schema.SessionUpdate {
	if msg.ParentToolUseID != "" {
		return nil
	}
	switch msg.EventType {
	case message.EventMessageStart:
		m.streamed, m.model = msg.MessageID, msg.Model
		if m.streams == nil {
			m.streams = make(map[string]bool)
		}
		m.streams[msg.MessageID] = true
		return m.usage(msg.Usage)
	case message.EventMessageDelta:
		return m.usage(msg.Usage)
	case message.EventBlockStart:
		if use, ok := msg.ContentBlock.(*message.ToolUseBlock); ok {
			return m.begin(use.ID, use.Name, nil, "")
		}
	case message.EventBlockDelta:
		if msg.Delta == nil {
			return nil
		}
		switch msg.Delta.Type {
		case message.DeltaText:
			return m.chunk(msg.Delta.Text, false, m.streamed)
		case message.DeltaThinking:
			return m.chunk(msg.Delta.Thinking, true, m.streamed)
		}
	}
	return nil
}

func (m *Machine) chunk(text string, thought bool, id string) []schema.SessionUpdate {
	if text == "" {
		return nil
	}
	c := &schema.ContentChunk{Content: TextBlock(text), MessageID: schema.MessageID(id)}
	if thought {
		return []schema.SessionUpdate{{AgentThoughtChunk: c}}
	}
	return []schema.SessionUpdate{{AgentMessageChunk: c}}
}

// Synthetic reports whether the CLI has written an answer itself, in place of a model. It
// is never streamed.
func Synthetic(msg *message.Assistant) bool { return msg.Model == "<synthetic>" }

// noResponse takes the place of an answer in a transcript: the CLI writes it so that
// the model finds one. The CLI does not show it either.
const noResponse = "No response requested."

// assistant shows the blocks that were not streamed, and completes the calls
// that were.
func (m *Machine) assistant(msg *message.Assistant) (out []schema.SessionUpdate) {
	parent := msg.ParentToolUseID
	id := msg.ID
	if Synthetic(msg) && msg.Text() == noResponse {
		return nil
	}
	if Synthetic(msg) || id == "" {
		id = msg.UUID
	}
	whole := m.streams[msg.ID] && !Synthetic(msg)
	for _, b := range msg.Content {
		switch b := b.(type) {
		case *message.TextBlock:
			if parent == "" && !whole {
				out = append(out, m.chunk(b.Text, false, id)...)
			}
		case *message.ThinkingBlock:
			if parent == "" && !whole {
				out = append(out, m.chunk(b.Thinking, true, id)...)
			}
		case *message.ToolUseBlock:
			out = append(out, m.begin(b.ID, b.Name, b.Input, parent)...)
		}
	}
	if msg.StopReason != "" {
		delete(m.streams, msg.ID)
	}
	return out
}

// begin shows a call: first without its input, as the model begins to write it,
// then with it.
func (m *Machine) begin(id, tool string, raw json.RawMessage, parent string) []schema.SessionUpdate {
	known := m.calls[id]
	if known == nil {
		if m.calls == nil {
			m.calls = make(map[string]*shownCall)
		}
		m.calls[id] = &shownCall{tool: tool, hidden: keepsList(tool)}
	}
	if keepsList(tool) {
		return nil
	}
	c := m.Describe(id, tool, raw)
	meta := metaOf(tool, nil)
	if parent != "" {
		meta["claudeCode"].(map[string]any)["parentToolUseId"] = parent
	}
	if known != nil {
		if raw == nil {
			return nil
		}
		up := &schema.ToolCallUpdate{ToolCallID: schema.ToolCallID(id), RawInput: raw, Content: c.Content, Locations: c.Locations, Meta: meta}
		if c.Title != m.Describe(id, tool, nil).Title {
			up.Title = &c.Title
		}
		if m.isTerminal(tool) {
			up.Content = nil // it was shown
		}
		return []schema.SessionUpdate{{ToolCallUpdate: up}}
	}
	call := &schema.ToolCall{
		ToolCallID: schema.ToolCallID(id), Name: &tool, Title: c.Title, Kind: c.Kind, Status: schema.ToolCallStatusPending,
		Content: orEmpty(c.Content), Locations: c.Locations, RawInput: raw, Meta: meta,
	}
	if raw == nil {
		call.RawInput = json.RawMessage("{}")
	}
	if m.isTerminal(tool) {
		meta["terminal_info"] = map[string]any{"terminal_id": id}
	}
	return []schema.SessionUpdate{{ToolCall: call}}
}

func (m *Machine) isTerminal(tool string) bool {
	return m.Terminal && (tool == "Bash" || tool == "PowerShell")
}

func orEmpty(c []schema.ToolCallContent) []schema.ToolCallContent {
	if c == nil {
		return []schema.ToolCallContent{}
	}
	return c
}

// metaOf names the tool behind a call, as editors that know Claude expect it.
func metaOf(tool string, more map[string]any) map[string]any {
	own := map[string]any{"toolName": tool}
	maps.Copy(own, more)
	return map[string]any{"claudeCode": own}
}

// usage reports how full the context is, if that has changed in this turn.
func (m *Machine) usage(u *message.Usage) []schema.SessionUpdate {
	if u == nil {
		return nil
	}
	used := u.InputTokens + u.OutputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens
	if used == 0 || used == m.used {
		return nil
	}
	m.used = used
	if m.Window == 0 {
		return nil
	}
	return []schema.SessionUpdate{{UsageUpdate: &schema.UsageUpdate{Used: int64(used), Size: int64(m.Window), Meta: map[string]any{"_claude/model": m.model}}}}
}

// result reports the cost at the end of a turn.
func (m *Machine) result(msg *message.Result) []schema.SessionUpdate {
	clear(m.streams)
	cut := m.status(&message.Status{CompactError: "the turn has ended"}) // if one runs, its end will not come
	if u, ok := msg.ModelUsage[m.model]; ok && u.ContextWindow > 0 {
		m.Window = u.ContextWindow
	}
	if m.used == 0 || m.Window == 0 {
		return cut
	}
	up := &schema.UsageUpdate{Used: int64(m.used), Size: int64(m.Window), Cost: &schema.Cost{Amount: msg.TotalCostUSD, Currency: "USD"}, Meta: map[string]any{"_claude/model": m.model}}
	origin := message.OriginHuman // the CLI names only others
	if msg.Origin != nil {
		origin = msg.Origin.Kind
	}
	up.Meta["_claude/origin"] = map[string]any{"kind": origin}
	m.used = 0
	return append(cut, schema.SessionUpdate{UsageUpdate: up})
}

// plan shows the to-do list.
func (m *Machine) plan() (schema.SessionUpdate, bool) {
	todos := m.progress.Todos()
	if todos == nil {
		return schema.SessionUpdate{}, false
	}
	entries := []schema.PlanEntry{}
	for _, t := range todos {
		e := schema.PlanEntry{Content: t.Text, Priority: schema.PlanEntryPriorityMedium, Status: schema.PlanEntryStatus(t.Status)}
		if t.Status == message.TodoInProgress && t.Active != "" {
			e.Content = t.Active
		}
		entries = append(entries, e)
	}
	return schema.SessionUpdate{Plan: &schema.Plan{Entries: entries}}, true
}

// status follows a compaction and changes of the permission mode.
func (m *Machine) status(msg *message.Status) (out []schema.SessionUpdate) {
	switch {
	case msg.Status == "compacting" && (m.compacting == "" || m.whole):
		m.compacting, m.whole = msg.UUID, false
		if m.Compaction {
			return []schema.SessionUpdate{{CompactionUpdate: &schema.CompactionUpdate{CompactionID: schema.CompactionID(m.compacting), Status: schema.CompactionStatusInProgress}}}
		}
		return []schema.SessionUpdate{{ToolCall: &schema.ToolCall{ToolCallID: schema.ToolCallID(m.compacting), Title: "Compact conversation",
			Kind: schema.ToolKindThink, Status: schema.ToolCallStatusInProgress, Meta: metaOf("compact", nil)}}}
	case m.compacting != "" && !m.whole && msg.EndsCompaction():
		reason := msg.CompactError
		if msg.CompactResult == "" && reason == "" {
			reason = "the compaction was given up: a hook may have blocked it"
		}
		status, failed := schema.ToolCallStatusCompleted, reason != ""
		if failed {
			status = schema.ToolCallStatusFailed
		}
		if m.Compaction {
			up := &schema.CompactionUpdate{CompactionID: schema.CompactionID(m.compacting), Status: schema.CompactionStatus(status)}
			if failed {
				up.Error = &reason
			}
			out = []schema.SessionUpdate{{CompactionUpdate: up}}
		} else {
			up := &schema.ToolCallUpdate{ToolCallID: schema.ToolCallID(m.compacting), Status: status, Meta: metaOf("compact", nil)}
			if failed {
				up.Content = text(reason)
			}
			out = []schema.SessionUpdate{{ToolCallUpdate: up}}
		}
		if m.whole = !failed; failed {
			m.compacting = ""
		}
	}
	return out
}

// boundary reports how much a compaction has dropped.
func (m *Machine) boundary(msg *message.CompactBoundary) (out []schema.SessionUpdate) {
	if m.compacting != "" && !m.Compaction {
		raw, _ := jsonx.Marshal(map[string]any{
			"trigger": msg.Metadata.Trigger, "preTokens": msg.Metadata.PreTokens,
			"postTokens": msg.Metadata.PostTokens, "durationMs": msg.Metadata.DurationMS,
		})
		out = append(out, schema.SessionUpdate{ToolCallUpdate: &schema.ToolCallUpdate{ToolCallID: schema.ToolCallID(m.compacting), RawOutput: raw, Meta: metaOf("compact", nil)}})
	}
	m.compacted, m.compacting, m.whole = m.compacting, "", false
	if msg.Metadata.PostTokens > 0 && m.Window > 0 {
		out = append(out, schema.SessionUpdate{UsageUpdate: &schema.UsageUpdate{Used: int64(msg.Metadata.PostTokens), Size: int64(m.Window)}})
	}
	return out
}
