package claudetest

import (
	"encoding/json"
	"strings"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/wire"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// TB is the part of testing.TB that assertions use.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// ToolUse is a tool call and its outcome.
type ToolUse struct {
	ID, Name string
	// Input is the input from the model. A hook or the client may have changed it
	// afterwards.
	Input json.RawMessage
	// Asked reports whether the client was asked for permission. Decision is its
	// answer: allow or deny, or empty if it gave no readable answer.
	Asked    bool
	Decision permission.Behavior
	// Message is the message of a denial.
	Message string
	// Done reports whether there is a result; Output is its text, and IsError
	// reports whether it is an error. Ran reports whether the tool really ran: it
	// was not denied, and every hook that had to agree has answered. A call
	// denied by a rule shows as denied once the turn has its result; one that an
	// interrupt ended counts as run.
	Done, Ran, IsError bool
	Output             string
}

// HookCall is one call of a hook.
type HookCall struct {
	Event hook.Event
	// CallbackID is the hook's name in the handshake.
	CallbackID string
	Input      json.RawMessage
	// Reply is the answer, or nil if there was none.
	Reply json.RawMessage
}

// Tools returns the tool calls of the session in order.
func (t *Recording) Tools() []*ToolUse {
	calls := newToolUses()
	for _, e := range t.Entries() {
		if f, err := wire.Parse(e.Msg); err == nil {
			calls.take(e.Dir, f)
		}
	}
	return calls.uses()
}

func (u *ToolUse) decided(r wire.Response) {
	var d permission.Decision
	if r.Err == nil && jsonx.Unmarshal(r.Payload, &d) == nil {
		u.Decision, u.Message = d.Behavior(), d.Message()
	}
}

// Tool returns the first call of a tool, and fails the test if there is none.
func (t *Recording) Tool(tb TB, name string) *ToolUse {
	tb.Helper()
	var names []string
	for _, u := range t.Tools() {
		if u.Name == name {
			return u
		}
		names = append(names, u.Name)
	}
	tb.Fatalf("the tool %s was not called; called were: %s", name, strings.Join(names, ", "))
	return new(ToolUse)
}

// Hooks returns the calls of hooks in order.
func (t *Recording) Hooks() []*HookCall {
	var all []*HookCall
	byID := make(map[wire.ID]*HookCall)
	for _, e := range t.Entries() {
		f, err := wire.Parse(e.Msg)
		if err != nil {
			continue
		}
		if r, err := f.Request(); err == nil && e.Dir == DirOut && r.Subtype == "hook_callback" {
			var body struct {
				ID    string          `json:"callback_id"`
				Input json.RawMessage `json:"input"`
			}
			var base hook.Base
			_ = jsonx.Unmarshal(r.Body, &body)
			_ = jsonx.Unmarshal(body.Input, &base)
			c := &HookCall{Event: base.HookEventName, CallbackID: body.ID, Input: body.Input}
			byID[r.ID] = c
			all = append(all, c)
		}
		if f.Type == wire.TypeResponse && e.Dir == DirIn {
			if r, err := f.Response(); err == nil && byID[r.ID] != nil {
				byID[r.ID].Reply = r.Payload
			}
		}
	}
	return all
}

// Prompts returns the texts of the user messages that were sent.
func (t *Recording) Prompts() []string {
	var all []string
	for _, e := range t.Entries() {
		if f, err := wire.Parse(e.Msg); err == nil && e.Dir == DirIn && f.Type == "user" {
			if m, _ := message.DecodeAs(f.Type, "", f.Line); m != nil {
				all = append(all, m.(*message.User).Text())
			}
		}
	}
	return all
}

// Requests returns the control requests with a subtype that were sent, each as
// its request object.
func (t *Recording) Requests(subtype string) []json.RawMessage {
	var all []json.RawMessage
	for _, e := range t.Entries() {
		if f, err := wire.Parse(e.Msg); err == nil && e.Dir == DirIn && f.Type == wire.TypeRequest {
			if r, err := f.Request(); err == nil && r.Subtype == subtype {
				all = append(all, r.Body)
			}
		}
	}
	return all
}

// Results returns the results of the turns in order.
func (t *Recording) Results() []*message.Result {
	var all []*message.Result
	for _, e := range t.Entries() {
		if f, err := wire.Parse(e.Msg); err == nil && e.Dir == DirOut && f.Type == "result" {
			if m, _ := message.DecodeAs(f.Type, f.Subtype, f.Line); m != nil {
				all = append(all, m.(*message.Result))
			}
		}
	}
	return all
}
