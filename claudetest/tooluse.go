package claudetest

import (
	"encoding/json"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/wire"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// toolUses follows tool calls through a session: who was asked about them, and
// what they said.
type toolUses struct {
	all     []*ToolUse
	byID    map[string]*ToolUse
	asked   map[wire.ID]*ToolUse // by can_use_tool
	hooked  map[wire.ID]hooked
	block   map[string]bool // callbacks whose failure blocks
	settled map[*ToolUse]bool
	refused map[*ToolUse]bool
}

// hooked is a question to a hook about a call.
type hooked struct {
	use      *ToolUse
	event    hook.Event
	callback string
}

func newToolUses() *toolUses {
	return &toolUses{
		byID: make(map[string]*ToolUse), asked: make(map[wire.ID]*ToolUse), hooked: make(map[wire.ID]hooked),
		block: make(map[string]bool), settled: make(map[*ToolUse]bool), refused: make(map[*ToolUse]bool),
	}
}

// take takes the next line of the session.
func (t *toolUses) take(dir Dir, f wire.Frame) {
	switch {
	case f.Type == wire.TypeRequest:
		if r, err := f.Request(); err == nil && dir == DirOut {
			t.question(r)
		} else if err == nil {
			t.register(r)
		}
	case f.Type == wire.TypeResponse && dir == DirIn:
		if r, err := f.Response(); err == nil {
			t.answer(r)
		}
	case f.Type == wire.TypeCancel && dir == DirOut:
		t.withdraw(f.CancelID())
	case dir == DirOut:
		t.message(f)
	}
}

// register notes which callbacks block when they fail.
func (t *toolUses) register(r wire.Request) {
	var init struct {
		Hooks map[string][]struct {
			IDs       []string `json:"hookCallbackIds"`
			OnFailure string   `json:"onFailure"`
		} `json:"hooks"`
	}
	if r.Subtype != "initialize" || jsonx.Unmarshal(r.Body, &init) != nil {
		return
	}
	for _, matchers := range init.Hooks {
		for _, m := range matchers {
			for _, id := range m.IDs {
				t.block[id] = m.OnFailure == "block"
			}
		}
	}
}

// question notes that the client or a hook is asked about a call.
func (t *toolUses) question(r wire.Request) {
	var q struct {
		ToolUseID string    `json:"tool_use_id"`
		Callback  string    `json:"callback_id"`
		Input     hook.Base `json:"input"`
	}
	_ = jsonx.Unmarshal(r.Body, &q) // the input of a tool is not that of a hook
	use := t.byID[q.ToolUseID]
	switch {
	case use == nil:
	case r.Subtype == "can_use_tool":
		use.Asked, t.asked[r.ID] = true, use
	case r.Subtype == "hook_callback":
		t.hooked[r.ID] = hooked{use, q.Input.HookEventName, q.Callback}
	}
}

func (t *toolUses) answer(r wire.Response) {
	if use := t.asked[r.ID]; use != nil {
		use.decided(r)
		t.settle(use, use.Decision)
		return
	}
	h, ok := t.hooked[r.ID]
	if !ok {
		return
	}
	delete(t.hooked, r.ID)
	var said struct {
		Decision string `json:"decision"`
		Specific struct {
			Event      hook.Event              `json:"hookEventName"`
			Decision   hook.PermissionDecision `json:"permissionDecision"`
			Permission json.RawMessage         `json:"decision"`
		} `json:"hookSpecificOutput"`
	}
	failed := r.Err != nil || len(r.Payload) > 0 && jsonx.Unmarshal(r.Payload, &said) != nil
	switch about := said.Specific; h.event {
	case hook.EventPreToolUse:
		foreign := about.Event != "" && about.Event != h.event
		if failed && t.block[h.callback] || foreign || said.Decision == "block" || about.Decision == hook.PermissionDeny {
			t.refused[h.use] = true
		}
	case hook.EventPermissionRequest:
		var d permission.Decision
		if !failed && jsonx.Unmarshal(about.Permission, &d) == nil && d.Behavior() != "" {
			t.settle(h.use, d.Behavior())
		}
	}
}

// settle takes an answer to the question whether a call may run. The first one
// counts; one that is not a decision denies.
func (t *toolUses) settle(use *ToolUse, b permission.Behavior) {
	if !t.settled[use] {
		t.settled[use] = true
		t.refused[use] = t.refused[use] || b != permission.BehaviorAllow
	}
}

// withdraw takes back a question whose answer is no longer awaited. A call does
// not run without it.
func (t *toolUses) withdraw(id wire.ID) {
	if use := t.asked[id]; use != nil {
		t.settle(use, "")
	}
	if h, ok := t.hooked[id]; ok && h.event == hook.EventPreToolUse {
		t.refused[h.use] = true
	}
}

// message takes note of the calls in a message.
func (t *toolUses) message(f wire.Frame) {
	m, _ := message.DecodeAs(f.Type, f.Subtype, f.Line)
	switch m := m.(type) {
	case *message.Assistant:
		for _, b := range m.ToolUses() {
			u := &ToolUse{ID: b.ID, Name: b.Name, Input: b.Input}
			t.byID[b.ID] = u
			t.all = append(t.all, u)
		}
	case *message.User:
		for _, b := range m.ToolResults() {
			if u := t.byID[b.ToolUseID]; u != nil {
				u.Done, u.IsError, u.Output = true, b.IsError, b.Content.Text()
			}
		}
	case *message.PermissionDenied:
		if u := t.byID[m.ToolUseID]; u != nil {
			t.refused[u] = true
		}
	case *message.Result:
		for _, d := range m.PermissionDenials {
			if u := t.byID[d.ToolUseID]; u != nil {
				t.refused[u] = true
			}
		}
	}
}

// uses returns the calls so far. One whose question was never answered, because
// the client had gone, did not run.
func (t *toolUses) uses() []*ToolUse {
	for _, u := range t.all {
		u.Ran = u.Done && !t.refused[u] && (!u.Asked || t.settled[u])
	}
	return t.all
}
