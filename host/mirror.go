package host

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/internal/wire"
	"github.com/claude-agent-go/claude/message"
)

// mirror repeats to the client what the CLI would have written to its
// transcripts: frames of their own, in the order of each file, and those of a
// turn before its result.
type mirror struct {
	mu   sync.Mutex
	last map[string]string // the last line of a chain, by file
	ends string            // the call whose result ended a turn last
}

// endsWith notes the call whose result is about to end a turn.
func (m *mirror) endsWith(call string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ends = call
}

// isEnd reports whether a message has the result that ended a turn.
func (m *mirror) isEnd(msg message.Message) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	u, ok := msg.(*message.User)
	return ok && m.ends != "" && slices.ContainsFunc(u.ToolResults(), func(r *message.ToolResultBlock) bool { return r.ToolUseID == m.ends })
}

// mirroredLine is a line of a conversation in a transcript.
type mirroredLine struct {
	ParentUUID  *string         `json:"parentUuid"`
	IsSidechain bool            `json:"isSidechain"`
	AgentID     string          `json:"agentId,omitzero"`
	Type        string          `json:"type"`
	Message     json.RawMessage `json:"message,omitzero"`
	ToolResult  json.RawMessage `json:"toolUseResult,omitzero"`
	EndsTurn    bool            `json:"toolEndsTurn,omitzero"`
	Attachment  any             `json:"attachment,omitzero"`
	UUID        string          `json:"uuid"`
	Timestamp   time.Time       `json:"timestamp"`
	UserType    string          `json:"userType"`
	Entrypoint  string          `json:"entrypoint"`
	Cwd         string          `json:"cwd"`
	SessionID   string          `json:"sessionId"`
	Version     string          `json:"version"`
}

// mirroredAgent is the note about a subagent. As in the CLI, its kind comes first.
type mirroredAgent struct {
	Kind        string `json:"type"`
	Type        string `json:"agentType"`
	Description string `json:"description"`
	ToolUseID   string `json:"toolUseId"`
	Parent      string `json:"parentAgentId,omitzero"`
}

// mirrorFrame is the frame that the client receives.
type mirrorFrame struct {
	Type     string            `json:"type"`
	FilePath string            `json:"filePath"`
	Entries  []json.RawMessage `json:"entries"`
}

// mirrorMessage repeats a line of the conversation, or of a subagent's.
func (s *session) mirrorMessage(m message.Message, agent string) {
	if s.opts.MirrorTo == "" {
		return
	}
	switch m := m.(type) {
	case *message.Assistant:
	case *message.User:
		if m.IsReplay {
			return
		}
	default:
		return
	}
	h := m.Head()
	if h.UUID == "" {
		h.UUID = uuid.New()
	}
	encoded, err := jsonx.Marshal(m)
	if err != nil {
		return // and so it is not sent
	}
	s.mirrorLine(mirroredLine{
		IsSidechain: agent != "", AgentID: agent, Type: jsonx.Text(jsonx.Member(encoded, "type")),
		Message: jsonx.Member(encoded, "message"), ToolResult: jsonx.Member(encoded, "tool_use_result"), UUID: h.UUID,
		EndsTurn: s.mirror.isEnd(m),
	})
}

// mirrorContext repeats what hooks add to a prompt.
func (s *session) mirrorContext(texts []string) {
	if s.opts.MirrorTo == "" || len(texts) == 0 {
		return
	}
	s.mirrorLine(mirroredLine{Type: "attachment", UUID: uuid.New(), Attachment: map[string]any{
		"type": "hook_additional_context", "content": texts,
		"hookName": "UserPromptSubmit", "toolUseID": "UserPromptSubmit", "hookEvent": "UserPromptSubmit",
	}})
}

// mirrorDeferral repeats the line by which a session that is resumed knows the
// call that a hook deferred.
func (s *session) mirrorDeferral(call *message.ToolUseBlock) {
	if s.opts.MirrorTo == "" {
		return
	}
	s.mirrorLine(mirroredLine{Type: "attachment", UUID: uuid.New(), Attachment: map[string]any{
		"type": "hook_deferred_tool", "toolUseID": call.ID, "toolName": call.Name, "toolInput": call.Input,
		"hookName": "PreToolUse:" + call.Name, "hookEvent": "PreToolUse", "permissionMode": s.permissionMode(),
	}})
}

// mirrorAgent repeats the note by which a transcript knows whose it is.
func (s *session) mirrorAgent(sub *subagent) {
	if s.opts.MirrorTo == "" {
		return
	}
	note := mirroredAgent{Kind: "agent_metadata", Type: sub.Type, Description: sub.Description, ToolUseID: sub.ToolUseID}
	if parent := sub.parent.sub; parent != nil {
		note.Parent = parent.ID
	}
	s.mirrorEntries(s.transcriptFile(sub.ID), note)
}

// mirrorLine repeats a line that continues the one before it.
func (s *session) mirrorLine(line mirroredLine) {
	line.Timestamp = time.Now().UTC().Truncate(time.Millisecond)
	line.UserType, line.Entrypoint = "external", "sdk-go"
	line.Cwd, line.SessionID, line.Version = s.opts.Cwd, s.sessionID(), s.opts.Info.CLIVersion
	file := s.transcriptFile(line.AgentID)
	s.mirror.mu.Lock()
	defer s.mirror.mu.Unlock()
	if parent := s.mirror.last[file]; parent != "" {
		line.ParentUUID = &parent
	}
	if s.mirror.last == nil {
		s.mirror.last = make(map[string]string)
	}
	s.mirror.last[file] = line.UUID
	s.mirrorEntries(file, line)
}

// transcriptFile is where the CLI would keep a transcript.
func (s *session) transcriptFile(agent string) string {
	path := filepath.Join(s.opts.MirrorTo, transcript.ProjectName(cmp.Or(s.opts.Cwd, "/")), s.sessionID())
	if agent != "" {
		path = filepath.Join(path, "subagents", "agent-"+agent)
	}
	return path + ".jsonl"
}

// mirrorEntries writes a frame.
func (s *session) mirrorEntries(file string, entries ...any) {
	f := mirrorFrame{Type: wire.TypeMirror, FilePath: file}
	for _, e := range entries {
		line, err := jsonx.Marshal(e)
		if err != nil {
			return
		}
		f.Entries = append(f.Entries, line)
	}
	if line, err := jsonx.Marshal(f); err == nil {
		_ = s.write(line) // a broken stream ends the session by itself
	}
}

// mirrorPrompts repeats the prompts of a turn, with their way through the queue.
func (s *session) mirrorPrompts(t *Turn) {
	if s.opts.MirrorTo == "" {
		return
	}
	for _, q := range t.prompts {
		if q.isNotification() || q.continues != nil {
			continue
		}
		for _, op := range []string{"enqueue", "dequeue"} {
			s.mirrorEntries(s.transcriptFile(""), map[string]any{
				"type": "queue-operation", "operation": op, "timestamp": time.Now().UTC(), "sessionId": s.sessionID(),
			})
		}
		s.mirrorMessage(&message.User{Header: message.Header{UUID: q.UUID}, Content: q.Content, Plain: q.Plain}, "")
	}
}

// mirrorResult repeats what the CLI writes after the result of a turn.
func (s *session) mirrorResult(t *Turn) {
	if s.opts.MirrorTo == "" {
		return
	}
	file := s.transcriptFile("")
	s.mirror.mu.Lock()
	leaf := s.mirror.last[file]
	s.mirror.mu.Unlock()
	s.mirrorEntries(file, map[string]any{
		"type": "last-prompt", "lastPrompt": shortened(t.Text()), "leafUuid": leaf, "sessionId": s.sessionID(),
	})
}

// shortened is a prompt as a list shows it.
func shortened(text string) string {
	const most = 200
	text = strings.ReplaceAll(text, "\n", " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// mirrorEnd repeats what the CLI writes when it exits.
func (s *session) mirrorEnd() {
	if s.opts.MirrorTo == "" {
		return
	}
	s.mu.Lock()
	cost := s.cost
	s.mu.Unlock()
	s.mirrorEntries(s.transcriptFile(""), map[string]any{
		"type": "cost-state", "sessionId": s.sessionID(), "totalCostUSD": cost,
	})
}
