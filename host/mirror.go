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
	"github.com/claude-agent-go/claude/permission"
)

// mirror repeats to the client what the CLI would have written to its
// transcripts: frames of their own, in the order of each file, and those of a
// turn before its result.
type mirror struct {
	to, cwd, id, version string // to is empty: nothing is repeated
	write                func(line []byte) error

	mu   sync.Mutex
	last map[string]string // the last line of a chain, by file
	ends string            // the call whose result ended a turn last
}

// endsWith notes the call whose result is about to end a turn.
func (r *mirror) endsWith(call string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ends = call
}

// isEnd reports whether a message has the result that ended a turn.
func (r *mirror) isEnd(msg message.Message) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	u, ok := msg.(*message.User)
	return ok && r.ends != "" && slices.ContainsFunc(u.ToolResults(), func(b *message.ToolResultBlock) bool { return b.ToolUseID == r.ends })
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

// message repeats a line of the conversation, or of a subagent's.
func (r *mirror) message(m message.Message, agent string) {
	if r.to == "" {
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
	r.line(mirroredLine{
		IsSidechain: agent != "", AgentID: agent, Type: jsonx.Text(jsonx.Member(encoded, "type")),
		Message: jsonx.Member(encoded, "message"), ToolResult: jsonx.Member(encoded, "tool_use_result"), UUID: h.UUID,
		EndsTurn: r.isEnd(m),
	})
}

// context repeats what hooks add to a prompt.
func (r *mirror) context(texts []string) {
	if r.to == "" || len(texts) == 0 {
		return
	}
	r.line(mirroredLine{Type: "attachment", UUID: uuid.New(), Attachment: map[string]any{
		"type": "hook_additional_context", "content": texts,
		"hookName": "UserPromptSubmit", "toolUseID": "UserPromptSubmit", "hookEvent": "UserPromptSubmit",
	}})
}

// deferral repeats the line by which a session that is resumed knows the
// call that a hook deferred.
func (r *mirror) deferral(call *message.ToolUseBlock, mode permission.Mode) {
	if r.to == "" {
		return
	}
	r.line(mirroredLine{Type: "attachment", UUID: uuid.New(), Attachment: map[string]any{
		"type": "hook_deferred_tool", "toolUseID": call.ID, "toolName": call.Name, "toolInput": call.Input,
		"hookName": "PreToolUse:" + call.Name, "hookEvent": "PreToolUse", "permissionMode": mode,
	}})
}

// agent repeats the note by which a transcript knows whose it is.
func (r *mirror) agent(sub *subagent) {
	if r.to == "" {
		return
	}
	note := mirroredAgent{Kind: "agent_metadata", Type: sub.Type, Description: sub.Description, ToolUseID: sub.ToolUseID}
	if parent := sub.parent.sub; parent != nil {
		note.Parent = parent.ID
	}
	r.entries(r.file(sub.ID), note)
}

// line repeats a line that continues the one before it.
func (r *mirror) line(line mirroredLine) {
	line.Timestamp = time.Now().UTC().Truncate(time.Millisecond)
	line.UserType, line.Entrypoint = "external", "sdk-go"
	line.Cwd, line.SessionID, line.Version = r.cwd, r.id, r.version
	file := r.file(line.AgentID)
	r.mu.Lock()
	defer r.mu.Unlock()
	if parent := r.last[file]; parent != "" {
		line.ParentUUID = &parent
	}
	if r.last == nil {
		r.last = make(map[string]string)
	}
	r.last[file] = line.UUID
	r.entries(file, line)
}

// file is where the CLI would keep a transcript.
func (r *mirror) file(agent string) string {
	path := filepath.Join(r.to, transcript.ProjectName(cmp.Or(r.cwd, "/")), r.id)
	if agent != "" {
		path = filepath.Join(path, "subagents", "agent-"+agent)
	}
	return path + ".jsonl"
}

// entries writes a frame.
func (r *mirror) entries(file string, entries ...any) {
	f := mirrorFrame{Type: wire.TypeMirror, FilePath: file}
	for _, e := range entries {
		line, err := jsonx.Marshal(e)
		if err != nil {
			return
		}
		f.Entries = append(f.Entries, line)
	}
	if line, err := jsonx.Marshal(f); err == nil {
		_ = r.write(line) // a broken stream ends the session by itself
	}
}

// prompts repeats the prompts of a turn, with their way through the queue.
func (r *mirror) prompts(t *Turn) {
	if r.to == "" {
		return
	}
	for _, q := range t.prompts {
		if q.isNotification() || q.continues != nil {
			continue
		}
		for _, op := range []string{"enqueue", "dequeue"} {
			r.entries(r.file(""), map[string]any{
				"type": "queue-operation", "operation": op, "timestamp": time.Now().UTC(), "sessionId": r.id,
			})
		}
		r.message(&message.User{Header: message.Header{UUID: q.UUID}, Content: q.Content, Plain: q.Plain}, "")
	}
}

// result repeats what the CLI writes after the result of a turn.
func (r *mirror) result(t *Turn) {
	if r.to == "" {
		return
	}
	file := r.file("")
	r.mu.Lock()
	leaf := r.last[file]
	r.mu.Unlock()
	r.entries(file, map[string]any{
		"type": "last-prompt", "lastPrompt": shortened(t.Text()), "leafUuid": leaf, "sessionId": r.id,
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

// end repeats what the CLI writes when it exits.
func (r *mirror) end(costUSD float64) {
	if r.to == "" {
		return
	}
	r.entries(r.file(""), map[string]any{
		"type": "cost-state", "sessionId": r.id, "totalCostUSD": costUSD,
	})
}

// takenIn repeats a prompt that a turn has taken in. The CLI writes it as
// an attachment, and before it that the prompt has left the queue.
func (r *mirror) takenIn(q *queued) {
	if r.to == "" {
		return
	}
	now := time.Now().UTC()
	delivery := uuid.New()
	r.entries(r.file(""),
		map[string]any{"type": "queue-operation", "operation": "enqueue", "timestamp": now, "sessionId": r.id},
		map[string]any{
			"type": "queue-operation", "operation": "remove", "timestamp": now, "sessionId": r.id,
			"reason": "absorbed_mid_turn", "commandUuid": q.UUID, "deliveryId": delivery,
		})
	r.line(mirroredLine{Type: "attachment", UUID: uuid.New(), Attachment: map[string]any{
		"type": "queued_command", "prompt": q.Content, "source_uuid": q.UUID, "delivery_id": delivery, "commandMode": "prompt", "timestamp": now,
	}})
}
