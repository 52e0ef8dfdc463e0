package transcript

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// OpenCall finds the call with which a conversation broke off. It returns the
// entry that made the call and whether a hook has put it off already, or false
// if the call has a result or the conversation has moved on.
func (x *Index) OpenCall(conversation []*Entry, call string) (e *Entry, deferred, ok bool) {
	is := func(t tool) bool { return x.text(t) == call }
	var id mark
	for _, c := range conversation {
		if i := slices.IndexFunc(x.calls(c), is); i >= 0 {
			e, deferred, id = c, false, x.calls(c)[i].mark
			continue
		}
		switch {
		case e == nil:
		case slices.ContainsFunc(x.results(c), func(t tool) bool { return t.mark == id }):
			return nil, false, false
		case x.rests[c.rest].deferred == id:
			deferred = true
		case c.Kind == Assistant && (c.answer == 0 || c.answer != e.answer):
			return nil, false, false // the next answer
		case c.Kind == User && !c.Results() && c.Visible():
			return nil, false, false // the next prompt
		}
	}
	return e, deferred, e != nil
}

// Marker is the line by which a CLI that resumes a session knows the call that a
// hook has put off.
type Marker struct {
	UUID, Parent, Session string
	Cwd, Version          string // of the line before, if known
	Time                  time.Time

	ToolUseID, Tool string
	Input           json.RawMessage
}

// Line returns the marker as the CLI writes it.
func (m *Marker) Line() ([]byte, error) {
	type attachment struct {
		Type      string          `json:"type"`
		ToolUseID string          `json:"toolUseID"`
		ToolName  string          `json:"toolName"`
		ToolInput json.RawMessage `json:"toolInput"`
		HookName  string          `json:"hookName"`
		HookEvent string          `json:"hookEvent"`
	}
	return jsonx.Marshal(&attachmentLine{
		Parent: m.Parent, Type: "attachment", UUID: m.UUID, Timestamp: lineTime(m.Time),
		UserType: "external", Cwd: m.Cwd, Session: m.Session, Version: m.Version,
		Attachment: attachment{"hook_deferred_tool", m.ToolUseID, m.Tool, m.Input, "PreToolUse:" + m.Tool, "PreToolUse"},
	})
}

// Repeated is a line of an answer that stands for one of another answer.
type Repeated struct {
	UUID   string
	Parent string // "" for that of the line
	Answer string // its message id
	Time   time.Time
}

// Line returns a line with the new ids and time.
func (r *Repeated) Line(line []byte) ([]byte, error) {
	return rewrite(line, func(name string, value []byte) ([]byte, error) {
		switch {
		case name == "uuid":
			return jsonx.AppendText(nil, r.UUID), nil
		case name == "parentUuid" && r.Parent != "":
			return jsonx.AppendText(nil, r.Parent), nil
		case name == "timestamp":
			return jsonx.AppendText(nil, lineTime(r.Time)), nil
		case name == "message":
			return rewrite(value, func(name string, value []byte) ([]byte, error) {
				if name == "id" {
					return jsonx.AppendText(nil, r.Answer), nil
				}
				return value, nil
			})
		}
		return value, nil
	})
}

// Note is a line by which a CLI that resumes a session gives the model a text, in the way
// it passes on the words of a hook.
type Note struct {
	UUID, Parent, Session string
	Cwd, Version          string // of the line before, if known
	Time                  time.Time

	Text string
}

// Line returns the note as the CLI writes it.
func (n *Note) Line() ([]byte, error) {
	return jsonx.Marshal(&attachmentLine{
		Parent: n.Parent, Type: "attachment", UUID: n.UUID, Timestamp: lineTime(n.Time),
		UserType: "external", Cwd: n.Cwd, Session: n.Session, Version: n.Version,
		Attachment: struct {
			Type      string   `json:"type"`
			Content   []string `json:"content"`
			HookName  string   `json:"hookName"`
			ToolUseID string   `json:"toolUseID"`
			HookEvent string   `json:"hookEvent"`
		}{"hook_additional_context", []string{n.Text}, "SessionStart", "SessionStart", "SessionStart"},
	})
}

// attachmentLine is a line with an attachment.
type attachmentLine struct {
	Parent     string `json:"parentUuid"`
	Sidechain  bool   `json:"isSidechain"`
	Attachment any    `json:"attachment"`
	Type       string `json:"type"`
	UUID       string `json:"uuid"`
	Timestamp  string `json:"timestamp"`
	UserType   string `json:"userType"`
	Cwd        string `json:"cwd,omitzero"`
	Session    string `json:"sessionId"`
	Version    string `json:"version,omitzero"`
}

// lineTime is a time as the CLI writes it.
func lineTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// PromptState is how far a prompt got, as far as the transcript shows.
type PromptState int

// The states of a prompt.
const (
	Unseen   PromptState = iota // not in the transcript
	Answered                    // its turn came to an end
	Deferred                    // a hook put off a call, which waits for a decision
	Cut                         // its turn broke off
)

// PromptState returns how far a prompt of a conversation got, and the calls of its
// turn that have no result. A prompt is found by its own id, even if it was sent
// in mid-turn.
func (x *Index) PromptState(conversation []*Entry, prompt string) (s PromptState, open []string) {
	if x.hash == nil {
		return Unseen, nil
	}
	id := x.hash.key([]byte(prompt))
	i := len(conversation) - 1
	for i >= 0 && !x.says(conversation[i], id) {
		i--
	}
	if i < 0 {
		whole := x.Whole(conversation)
		if len(whole) == len(conversation) {
			return Unseen, nil
		}
		return x.PromptState(whole, prompt) // its turn may have been compacted
	}
	turn := conversation[i+1:]
	answered := make(map[mark]bool)
	for j, e := range turn {
		if e.Kind == User && !e.Results() && e.Visible() && !e.Summary() {
			turn = turn[:j] // the next prompt
			break
		}
		for _, r := range x.results(e) {
			answered[r.mark] = true
		}
	}
	deferred := false
	var last *Entry
	for _, e := range turn {
		for _, c := range x.calls(e) {
			if !answered[c.mark] {
				open = append(open, x.text(c))
			}
		}
		if d := x.rests[e.rest].deferred; d != 0 && !answered[d] {
			deferred = true
		}
		if e.Kind == User || e.Kind == Assistant {
			last = e
		}
	}
	switch {
	case deferred:
		return Deferred, open
	case len(open) > 0:
		return Cut, open
	case last != nil && last.has(final|closing): // a structured answer is the result of a tool
		return Answered, nil
	}
	return Cut, nil
}
