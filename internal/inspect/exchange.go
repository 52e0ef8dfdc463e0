package inspect

import (
	"encoding/json"
	"fmt"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/show"
	"github.com/claude-agent-go/claude/internal/wire"
	"github.com/claude-agent-go/claude/permission"
)

// Outcome is the outcome of a request.
type Outcome string

// The outcomes of a request.
const (
	Answered   Outcome = "answered"
	Failed     Outcome = "failed"     // answered with an error
	Cancelled  Outcome = "cancelled"  // taken back before it was answered
	Unanswered Outcome = "unanswered" // the recording ends without an answer
)

// Exchange is a control request and its reply.
type Exchange struct {
	ID string `json:"id"`
	// From is the direction of the request: in if the SDK asked, out if the
	// CLI did.
	From    claudetest.Dir `json:"from"`
	Kind    Kind           `json:"kind"`
	Subtype string         `json:"subtype"`
	// About is its subject: a tool, an event, a method, a value.
	About string `json:"about,omitzero"`
	// ToolUseID is the tool call that it belongs to, if any.
	ToolUseID string `json:"tool_use_id,omitzero"`
	Turn      int    `json:"turn,omitzero"`

	AskedLine int     `json:"asked_line"`
	AskedMS   float64 `json:"asked_ms"`
	// EndLine is the line of the reply or cancel, 0 if there is none.
	EndLine int     `json:"end_line,omitzero"`
	EndMS   float64 `json:"end_ms,omitzero"`
	// LatencyMS is the time until then.
	LatencyMS *float64 `json:"latency_ms,omitzero"`
	Outcome   Outcome  `json:"outcome"`
	// Answer is the answer in a few words.
	Answer string `json:"answer,omitzero"`
	// Changed is true if the answer changes the input of a tool.
	Changed bool `json:"changed,omitzero"`

	request, reply json.RawMessage
	event          hook.Event
	denies         bool
}

// Request returns the request object, without secrets.
func (x *Exchange) Request() json.RawMessage { return x.request }

// Reply returns the payload of the reply, nil if there is none.
func (x *Exchange) Reply() json.RawMessage { return x.reply }

// Bad reports whether the request got no good answer.
func (x *Exchange) Bad() bool { return x.Outcome == Failed || x.Outcome == Unanswered }

// Denies reports whether the answer refuses a tool call.
func (x *Exchange) Denies() bool { return x.denies }

// question holds the members that requests of the CLI share.
type question struct {
	ToolName  string `json:"tool_name"`
	ToolUseID string `json:"tool_use_id"`
	Input     struct {
		Event     hook.Event `json:"hook_event_name"`
		ToolName  string     `json:"tool_name"`
		ToolUseID string     `json:"tool_use_id"`
	} `json:"input"`
	Server  string `json:"server_name"`
	Message struct {
		Method string `json:"method"`
		Params struct {
			Name string `json:"name"`
			URI  string `json:"uri"`
			Meta struct {
				ToolUseID string `json:"claudecode/toolUseId"`
			} `json:"_meta"`
		} `json:"params"`
	} `json:"message"`
	Model    string `json:"model"`
	Mode     string `json:"mode"`
	TaskID   string `json:"task_id"`
	ServerOf string `json:"serverName"`
}

// newExchange reads a request.
func newExchange(f *Frame, r wire.Request) *Exchange {
	x := &Exchange{
		ID: r.ID.String(), From: f.Dir, Kind: KindControl, Subtype: r.Subtype, Outcome: Unanswered,
		AskedLine: f.Line, AskedMS: f.AtMS, request: r.Body,
	}
	var q question
	_ = jsonx.Unmarshal(r.Body, &q) // what fits is enough
	x.ToolUseID = q.ToolUseID
	switch r.Subtype {
	case "can_use_tool":
		x.Kind, x.About = KindPermission, q.ToolName
	case "hook_callback":
		x.Kind, x.event, x.About = KindHook, q.Input.Event, string(q.Input.Event)
		if q.Input.ToolName != "" {
			x.About += " " + q.Input.ToolName
		}
		if x.ToolUseID == "" {
			x.ToolUseID = q.Input.ToolUseID
		}
	case "mcp_message":
		x.Kind, x.About = KindMCP, joined(q.Server, q.Message.Method, q.Message.Params.Name, q.Message.Params.URI)
		x.ToolUseID = q.Message.Params.Meta.ToolUseID
	default:
		x.About = joined(q.Model, q.Mode, q.TaskID, q.ServerOf, q.Server)
	}
	return x
}

func joined(parts ...string) string {
	text := ""
	for _, p := range parts {
		if p != "" && text != "" {
			text += " "
		}
		text += p
	}
	return text
}

// answer takes the reply.
func (x *Exchange) answer(f *Frame, r wire.Response) {
	x.end(f, Answered)
	x.reply = r.Payload
	if r.Err != nil {
		x.Outcome, x.Answer = Failed, r.Err.Error()
		return
	}
	switch x.Kind {
	case KindPermission:
		x.readDecision(r.Payload)
	case KindHook:
		x.readHookAnswer(r.Payload)
	case KindMCP:
		var said struct {
			Response struct {
				Error *struct {
					Message string `json:"message"`
				} `json:"error"`
				Result struct {
					IsError bool `json:"isError"`
				} `json:"result"`
			} `json:"mcp_response"`
		}
		_ = jsonx.Unmarshal(r.Payload, &said)
		switch {
		case said.Response.Error != nil:
			x.Outcome, x.Answer = Failed, said.Response.Error.Message
		case said.Response.Result.IsError:
			x.Answer = "error result"
		}
	}
}

func (x *Exchange) end(f *Frame, o Outcome) {
	x.EndLine, x.EndMS, x.Outcome = f.Line, f.AtMS, o
	latency := max(f.AtMS-x.AskedMS, 0)
	x.LatencyMS = &latency
}

// readDecision reads a decision about a tool call.
func (x *Exchange) readDecision(payload json.RawMessage) {
	var d permission.Decision
	if jsonx.Unmarshal(payload, &d) != nil || d.Behavior() == "" {
		x.Answer, x.denies = "no decision", true
		return
	}
	x.Answer = decisionWord(string(d.Behavior()))
	x.denies = d.Behavior() != permission.BehaviorAllow
	if d.Message() != "" {
		x.Answer += ": " + d.Message()
	}
	updated := jsonx.Member(payload, "updatedInput")
	x.Changed = jsonx.Present(updated) && !sameJSON(updated, jsonx.Member(x.request, "input"))
}

// readHookAnswer reads the answer of a hook.
func (x *Exchange) readHookAnswer(payload json.RawMessage) {
	var said struct {
		Continue *bool  `json:"continue"`
		Async    bool   `json:"async"`
		Decision string `json:"decision"`
		Reason   string `json:"reason"`
		Stop     string `json:"stopReason"`
		Specific struct {
			Decision   hook.PermissionDecision `json:"permissionDecision"`
			Reason     string                  `json:"permissionDecisionReason"`
			Context    string                  `json:"additionalContext"`
			Updated    json.RawMessage         `json:"updatedInput"`
			Permission struct {
				Behavior string          `json:"behavior"`
				Message  string          `json:"message"`
				Updated  json.RawMessage `json:"updatedInput"`
			} `json:"decision"`
		} `json:"hookSpecificOutput"`
	}
	_ = jsonx.Unmarshal(payload, &said)
	s := said.Specific
	x.Changed = jsonx.Present(s.Updated) || jsonx.Present(s.Permission.Updated)
	reason := joined(s.Reason, s.Permission.Message, said.Reason, said.Stop)
	decision := joined(string(s.Decision), s.Permission.Behavior, said.Decision)
	x.denies = decision == "deny" || decision == "block"
	switch {
	case decision != "":
		x.Answer = decisionWord(decision)
	case said.Continue != nil && !*said.Continue:
		x.Answer = "stop"
	case said.Async:
		x.Answer = "async"
	case s.Context != "":
		x.Answer, reason = "adds context", show.Head(s.Context, 200)
	default:
		x.Answer = noOpinion
	}
	if reason != "" {
		x.Answer += ": " + reason
	}
}

// decisionWord puts a decision of the wire in the past tense.
func decisionWord(decision string) string {
	switch decision {
	case "allow", "approve":
		return "allowed"
	case "deny":
		return "denied"
	case "block":
		return "blocked"
	case "ask":
		return "asks a person"
	case "defer":
		return "put off"
	}
	return decision
}

// sameJSON reports whether two values say the same.
func sameJSON(a, b []byte) bool {
	var x, y any
	if jsonx.Unmarshal(a, &x) != nil || jsonx.Unmarshal(b, &y) != nil {
		return string(a) == string(b)
	}
	left, err1 := jsonx.Marshal(x)
	right, err2 := jsonx.Marshal(y)
	return err1 == nil && err2 == nil && string(left) == string(right)
}

// pairing pairs requests with replies. The two sides choose ids on their own, so
// each has its own map.
type pairing struct {
	open map[claudetest.Dir]map[wire.ID]*Exchange
	done map[claudetest.Dir]map[wire.ID]*Exchange
}

func newPairing() *pairing {
	two := func() map[claudetest.Dir]map[wire.ID]*Exchange {
		return map[claudetest.Dir]map[wire.ID]*Exchange{claudetest.DirIn: {}, claudetest.DirOut: {}}
	}
	return &pairing{open: two(), done: two()}
}

// other is the other side.
func other(d claudetest.Dir) claudetest.Dir {
	if d == claudetest.DirIn {
		return claudetest.DirOut
	}
	return claudetest.DirIn
}

// ask notes a request and returns what is odd about it.
func (p *pairing) ask(f *Frame, r wire.Request) (x *Exchange, odd string) {
	x = newExchange(f, r)
	if p.open[f.Dir][r.ID] != nil {
		odd = fmt.Sprintf("request %s is asked again before it was answered", x.ID)
	}
	p.open[f.Dir][r.ID] = x
	delete(p.done[f.Dir], r.ID)
	return x, odd
}

// reply notes a reply and returns what is odd about it.
func (p *pairing) reply(f *Frame, r wire.Response) (x *Exchange, odd string) {
	asker := other(f.Dir)
	if x = p.open[asker][r.ID]; x != nil {
		x.answer(f, r)
		delete(p.open[asker], r.ID)
		p.done[asker][r.ID] = x
		return x, ""
	}
	switch x = p.done[asker][r.ID]; {
	case x == nil:
		return nil, fmt.Sprintf("reply to %s, which nobody asked", r.ID)
	case x.Outcome == Cancelled:
		return x, fmt.Sprintf("reply to %s, which was taken back", r.ID)
	}
	return x, fmt.Sprintf("second reply to %s", r.ID)
}

// cancel notes that a request is taken back.
func (p *pairing) cancel(f *Frame, id wire.ID) *Exchange {
	x := p.open[f.Dir][id]
	if x != nil {
		x.end(f, Cancelled)
		delete(p.open[f.Dir], id)
		p.done[f.Dir][id] = x
	}
	return x
}
