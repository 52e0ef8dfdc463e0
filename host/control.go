package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/operation"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/internal/wire"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// defaultVersion is the version of the CLI whose behaviour this is.
const defaultVersion = operation.Newest

// Request serves a control request of the client.
func (d dispatcher) Request(ctx context.Context, in *peer.Incoming) {
	defer d.serving.Done()
	defer d.wait(in.ID)()
	result, after, fail := d.perform(ctx, in)
	if fail != nil {
		in.Fail(fail)
		return
	}
	in.Reply(result)
	if after != nil {
		after()
	}
}

// perform runs the operation of a request. After is to follow the answer.
func (d dispatcher) perform(ctx context.Context, in *peer.Incoming) (result json.RawMessage, after func(), fail *wire.ReplyError) {
	op := d.operation(in.Subtype)
	if op == nil {
		return nil, nil, &wire.ReplyError{Message: "Unsupported control request subtype: " + in.Subtype, Code: "unsupported_request"}
	}
	// The end of the input lets requests be answered; the end of the session
	// does not.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(d.ctx, func() { cancel(context.Cause(d.ctx)) })()
	value, err := op(ctx, in)
	if next, ok := value.(*then); ok {
		value, after = next.payload, next.do
	}
	if err == nil && value != nil {
		result, err = jsonx.Marshal(value)
	}
	if err != nil {
		fail = &wire.ReplyError{Message: err.Error()}
		if coded, ok := errors.AsType[*OperationError](err); ok {
			fail.Code = coded.Code
		}
	}
	return result, after, fail
}

// nameless serves a request without an id, as the CLI does: its answer has none
// either.
func (d dispatcher) nameless(f wire.Frame) {
	body := json.RawMessage(f.Member("request"))
	p := d.enter()
	d.serving.Go(func() {
		defer d.inOrder(p)()
		in := &peer.Incoming{Request: wire.Request{Subtype: jsonx.Text(jsonx.Member(body, "subtype")), Body: body}}
		var result json.RawMessage
		var after func()
		// Whatever happens to the operation, panic and Goexit included, the
		// client gets an answer: no caller further up would recover it.
		fail := &wire.ReplyError{Message: "the handler gave no answer"}
		defer func() {
			if v := recover(); v != nil {
				d.log.Error("panic in a request handler", "subtype", in.Subtype, "panic", v, "stack", string(debug.Stack()))
				fail = &wire.ReplyError{Message: "the handler panicked"}
			}
			d.answerNameless(result, fail)
			if after != nil && fail == nil {
				after()
			}
		}()
		result, after, fail = d.perform(d.ctx, in)
	})
}

// answerNameless writes the answer to a request without an id.
func (d dispatcher) answerNameless(result json.RawMessage, fail *wire.ReplyError) {
	reply := struct {
		Subtype  string          `json:"subtype"`
		Response json.RawMessage `json:"response,omitzero"`
		Error    string          `json:"error,omitzero"`
		Code     string          `json:"error_code,omitzero"`
	}{Subtype: "success", Response: result}
	if fail != nil {
		reply.Subtype, reply.Error, reply.Code = "error", fail.Message, fail.Code
	}
	line, err := jsonx.Marshal(map[string]any{"type": wire.TypeResponse, "response": reply})
	if err == nil {
		_ = d.write(line) // a broken stream ends the session by itself
	}
}

// Refuse answers a request for which there is no room.
func (d dispatcher) Refuse(in *peer.Incoming) {
	d.wait(in.ID)()
	d.serving.Done()
}

// then is a result that something has to follow, after it was written.
type then struct {
	payload any
	do      func()
}

type served func(ctx context.Context, in *peer.Incoming) (any, error)

// operation returns the function that serves a subtype, nil for an unknown one.
func (d dispatcher) operation(subtype string) served {
	if op := d.opts.Operations[subtype]; op != nil {
		return func(ctx context.Context, in *peer.Incoming) (any, error) { return op(ctx, in.Body) }
	}
	switch subtype {
	case "initialize":
		return d.initialize
	case "interrupt":
		return d.interrupt
	case "set_permission_mode":
		return d.changeMode
	case "set_model":
		return d.changeModel
	case "cancel_async_message":
		return d.cancelQueued
	case "rewind_files":
		return d.rewind
	case "stop_task":
		return d.stopTask
	case "end_session":
		return func(context.Context, *peer.Incoming) (any, error) {
			return &then{struct{}{}, func() { d.cancel(errEnded) }}, nil
		}
	}
	return d.query(subtype)
}

// query serves what changes nothing, or nothing that an agent sees.
func (d dispatcher) query(subtype string) served {
	give := func(f func(request []byte) any) served {
		return func(_ context.Context, in *peer.Incoming) (any, error) { return f(in.Body), nil }
	}
	switch subtype {
	case "set_max_thinking_tokens", "apply_flag_settings", "seed_read_state", "rename_session", "set_has_subscribers", "mcp_toggle":
		return give(func([]byte) any { return nil })
	case "background_tasks":
		return give(func([]byte) any { return struct{}{} })
	case "mcp_message":
		return give(func(request []byte) any { d.servers.receive(request); return nil })
	case "mcp_status":
		return give(func([]byte) any { return map[string]any{"mcpServers": d.servers.status()} })
	case "mcp_set_servers":
		return give(func(request []byte) any { return d.servers.setServers(request) })
	case "get_settings":
		return give(func([]byte) any {
			return control.Settings{Effective: json.RawMessage("{}"), Sources: []control.SettingsSource{}, Applied: control.AppliedSettings{Model: d.modelName()}}
		})
	case "get_binary_version":
		return give(func([]byte) any { return control.BinaryVersion{Version: d.info().CLIVersion} })
	case "get_context_usage":
		return give(func([]byte) any { return d.contextUsage() })
	case "get_usage":
		return give(func([]byte) any { return d.sessionUsage() })
	case "get_session_cost":
		return give(func([]byte) any {
			return control.SessionCost{Text: fmt.Sprintf("Total cost: $%.4f", d.sessionUsage().Session.TotalCostUSD)}
		})
	case "list_models":
		return give(func([]byte) any { return map[string]any{"models": d.info().Models} })
	case "list_permission_rules":
		return give(func([]byte) any { return d.rights.permissionRules() })
	}
	return nil
}

// initialize opens the session. It may come again: the hooks of the last one
// count.
func (d dispatcher) initialize(_ context.Context, in *peer.Incoming) (any, error) {
	hooks, err := newHookSet(in.Body)
	if err != nil {
		return nil, err
	}
	var req control.Initialize
	if err := jsonx.Unmarshal(in.Body, &req); err != nil {
		return nil, err
	}
	agents := d.knownAgents(slices.Collect(maps.Keys(req.Agents)))
	d.mu.Lock()
	d.agents = agents
	d.forward = d.forward || req.ForwardSubagentText
	if len(req.JSONSchema) > 0 {
		d.schema = req.JSONSchema
	}
	d.mu.Unlock()
	d.hooks.replace(hooks)
	d.servers.add(req.SDKMCPServers)
	d.finish()
	info := d.info()
	if len(hooks) > 0 {
		info.HooksApplied = new(true)
	}
	return info, nil
}

// info is the session's description of itself.
func (s *session) info() *control.Info {
	info := s.opts.Info
	s.mu.Lock()
	defer s.mu.Unlock()
	fill(&info.CLIVersion, defaultVersion)
	fill(&info.OutputStyle, "default")
	if info.PID == 0 {
		info.PID = os.Getpid()
	}
	if info.Models == nil {
		info.Models = []control.ModelInfo{{Value: "default", ResolvedModel: s.model, DisplayName: s.model, Description: s.model}}
	}
	if info.Commands == nil {
		info.Commands = []control.Command{}
	}
	if info.Agents == nil {
		info.Agents = []control.AgentInfo{}
	}
	if info.OutputStyles == nil {
		info.OutputStyles = []string{"default"}
	}
	if info.Account == (control.Account{}) {
		info.Account.TokenSource = "none"
	}
	info.PermissionMode, info.HookOnFailureSupported = s.rights.current(), true
	info.Activity = message.ActivityIdle
	if s.turn != nil {
		info.Activity = message.ActivityRunning
	}
	if info.Capabilities == nil {
		info.Capabilities = []string{"interrupt_receipt_v1", "interrupt_cancel_queued_v1"}
	}
	return &info
}

// interrupt ends the turn that runs, or the next one if none has begun: the
// CLI then names its prompt as still queued, but ends the turn as it begins.
// Other prompts that wait stay, unless they are to be cancelled too. Prompts
// that the client sent after the request are not affected. The receipt goes out
// before the result.
func (d dispatcher) interrupt(_ context.Context, in *peer.Incoming) (any, error) {
	var req struct {
		CancelQueued bool `json:"cancel_queued"`
	}
	_ = jsonx.Unmarshal(in.Body, &req)
	d.tasks.stop(errInterrupted, func(*subagent) bool { return true })
	d.mu.Lock()
	t := d.turn
	if t != nil && t.prompts[0].isBehind() {
		t = nil
	}
	var waiting, behind []*queued
	for _, q := range d.queue {
		if q.isBehind() {
			behind = append(behind, q)
		} else {
			waiting = append(waiting, q)
		}
	}
	var next *queued // whose turn has not begun
	switch {
	case req.CancelQueued:
		d.queue = behind
	case d.turn == nil && len(waiting) > 0:
		next = waiting[0]
	}
	receipt := control.Interrupted{StillQueued: []string{}}
	d.mu.Unlock()
	for _, q := range waiting {
		d.await(q.announced) // the CLI names no prompt before it announces that it is queued
		switch {
		case q.UUID == "":
		case req.CancelQueued:
			receipt.Cancelled = append(receipt.Cancelled, q.UUID)
		default:
			receipt.StillQueued = append(receipt.StillQueued, q.UUID)
		}
	}
	return &then{receipt, func() {
		if req.CancelQueued {
			for _, q := range waiting {
				d.lifecycle(q, message.CommandCancelled)
			}
		}
		if next != nil {
			t = d.interruptNext(next)
		}
		if t != nil {
			t.interrupt()
		}
	}}, nil
}

// interruptNext marks a prompt so that its turn ends as it begins. It returns
// the turn if it has begun by now.
func (d dispatcher) interruptNext(q *queued) *Turn {
	d.mu.Lock()
	defer d.mu.Unlock()
	q.interrupted = true
	if d.turn != nil && d.turn.prompts[0] == q {
		return d.turn
	}
	return nil
}

// cancelQueued takes a prompt out of the queue.
func (d dispatcher) cancelQueued(_ context.Context, in *peer.Incoming) (any, error) {
	var req struct {
		ID string `json:"message_uuid"`
	}
	_ = jsonx.Unmarshal(in.Body, &req)
	d.mu.Lock()
	var found *queued
	if i := slices.IndexFunc(d.queue, func(q *queued) bool { return q.UUID == req.ID && req.ID != "" }); i >= 0 {
		found = d.queue[i]
		d.queue = slices.Delete(slices.Clone(d.queue), i, i+1)
	}
	d.mu.Unlock()
	if found != nil { // the CLI reports this before its reply
		d.await(found.announced)
		d.lifecycle(found, message.CommandCancelled)
	}
	return map[string]bool{"cancelled": found != nil}, nil
}

func (d dispatcher) changeMode(_ context.Context, in *peer.Incoming) (any, error) {
	var req struct {
		Mode permission.Mode `json:"mode"`
	}
	_ = jsonx.Unmarshal(in.Body, &req)
	switch {
	case !req.Mode.Valid():
		return nil, &OperationError{"Cannot set permission mode: must be one of acceptEdits, auto, bypassPermissions, default, dontAsk, plan", "invalid_mode"}
	case !d.rights.mayEnter(req.Mode):
		return nil, &OperationError{"Cannot set permission mode to bypassPermissions: the session was not launched for it", "bypass_not_launched"}
	}
	return &then{map[string]any{"mode": req.Mode}, func() { d.rights.enter(req.Mode) }}, nil
}

// changeModel takes any name; none, null and "default" are the first one.
func (d dispatcher) changeModel(_ context.Context, in *peer.Incoming) (any, error) {
	var req struct {
		Model any `json:"model"`
	}
	_ = jsonx.Unmarshal(in.Body, &req)
	name, isText := req.Model.(string)
	switch {
	case req.Model != nil && !isText:
		return nil, &OperationError{"set_model: model must be a string", "invalid_request"}
	case isText && strings.TrimSpace(name) == "":
		return nil, &OperationError{"set_model: no such model", "catalog_unknown"}
	case !isText || name == "default":
		name = d.opts.Model
		fill(&name, "scripted")
	}
	d.mu.Lock()
	changed := d.model != name
	d.model = name
	d.mu.Unlock()
	if changed {
		_ = d.emit(&message.User{Content: message.Content{message.Text("<local-command-stdout>Set model to `" + name + "`</local-command-stdout>")}, Plain: true, IsReplay: true, Timestamp: time.Now().UTC()})
	}
	return map[string]string{"model": name}, nil
}

func (d dispatcher) rewind(ctx context.Context, in *peer.Incoming) (any, error) {
	var req struct {
		ID     string `json:"user_message_id"`
		DryRun bool   `json:"dry_run"`
	}
	_ = jsonx.Unmarshal(in.Body, &req)
	if d.opts.Rewind == nil {
		return nil, errors.New("file rewinding is not enabled")
	}
	done, err := d.opts.Rewind(ctx, req.ID, req.DryRun)
	if err != nil {
		return nil, err
	}
	return done, nil
}

func (s *session) modelName() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.model
}

// stopTask serves stop_task. An unknown id is not an error.
func (d dispatcher) stopTask(_ context.Context, in *peer.Incoming) (any, error) {
	var req struct {
		ID string `json:"task_id"`
	}
	_ = jsonx.Unmarshal(in.Body, &req)
	d.tasks.stop(errStopped, func(sub *subagent) bool { return sub.ID == req.ID })
	return struct{}{}, nil
}

// initMessage returns the message that begins a turn.
func (s *session) initMessage(ids []string) *message.Init {
	m := s.opts.Init
	s.mu.Lock()
	defer s.mu.Unlock()
	m.Header = message.Header{SessionID: s.id}
	m.Model, m.PermissionMode = s.model, s.rights.current()
	fill(&m.Version, s.opts.Info.CLIVersion)
	fill(&m.Version, defaultVersion)
	fill(&m.Cwd, s.opts.Cwd)
	fill(&m.OriginalCwd, m.Cwd)
	fill(&m.APIKeySource, "none")
	fill(&m.OutputStyle, "default")
	if m.Tools == nil {
		m.Tools = []string{}
	}
	m.MCPServers = append([]message.InitMCPServer{}, m.MCPServers...)
	m.MCPServers = append(m.MCPServers, s.servers.listed()...)
	m.Tools = append(append([]string{}, m.Tools...), s.servers.tools()...)
	m.Prompts = ids
	return &m
}

// fill sets a text that is empty.
func fill(dst *string, value string) {
	if *dst == "" {
		*dst = value
	}
}
