package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// RunFunc runs a tool with its input, which hooks and the client may have
// changed. The model reads an error as the tool's failure. The context ends
// when the turn is interrupted.
type RunFunc func(ctx context.Context, input json.RawMessage) (ToolOutput, error)

// Call is a tool call by an agent.
type Call struct {
	// ID names the call. Empty: a random one.
	ID string
	// Name is the tool's name. A tool of an MCP server in the client is
	// called mcp__server__tool.
	Name string
	// Input is encoded by the rules of encoding/json; nil is {}. Raw JSON is
	// used as it is.
	Input any
	// Run runs the tool. If it is nil, a tool of an MCP server in the client
	// runs there, and any other fails.
	Run RunFunc
	// ReadOnly marks a tool that changes nothing: it needs no permission, unless
	// a rule or a hook asks for one, and runs concurrently with other read-only
	// tools.
	ReadOnly bool
	// Request has what a question for permission should say in addition to the
	// tool's name and input: suggestions, a blocked path, a reason and so on.
	Request permission.Request

	input json.RawMessage
}

// ToolOutput is the output of a tool.
type ToolOutput struct {
	// Content is the part of the output that the model reads.
	Content message.Content
	// Plain writes Content as one string, as the CLI writes the results of its
	// own tools. Results of MCP servers are lists.
	Plain bool
	// Result is the tool's own output, which the client also gets. Nil: none.
	Result json.RawMessage
	// IsError reports whether the tool failed or did not run.
	IsError bool
	// Denied reports whether the tool did not run because the call was denied.
	Denied bool
	// EndsTurn marks the output that ends the turn, as a structured answer does:
	// the transcript notes it. The agent must end the turn itself.
	EndsTurn bool
}

// TextOutput returns a text as the output.
func TextOutput(text string) ToolOutput {
	return ToolOutput{Content: message.Content{message.Text(text)}, Plain: true}
}

func failure(text string) ToolOutput {
	o := TextOutput(text)
	o.IsError = true
	return o
}

func denial(text string) ToolOutput {
	o := failure(text)
	o.Denied = true
	return o
}

// rejected is the result that the model reads for a call that an interruption
// ended.
const rejected = "The user stopped this tool call. It had no effect; wait for what the user says next."

// prepare names the call and encodes its input.
func (c *Call) prepare() (json.RawMessage, error) {
	if c.ID == "" {
		c.ID = "toolu_" + strings.ReplaceAll(uuid.New(), "-", "")[:24]
	}
	switch in := c.Input.(type) {
	case nil:
		c.input = json.RawMessage("{}")
	case json.RawMessage:
		c.input = in
	default:
		data, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("host: input of %s: %w", c.Name, err)
		}
		c.input = data
	}
	return c.input, nil
}

// errDeferred is the end of a call that a hook deferred. The other calls of the
// answer still run, and of several deferrals the last one counts.
var errDeferred = errors.New("host: the call was deferred")

// use runs calls and reports their results: calls that change nothing at the
// same time, others one after another.
func (t *Turn) use(ctx context.Context, calls []*Call) ([]ToolOutput, error) {
	outputs := make([]ToolOutput, len(calls))
	errs := make([]error, len(calls))
	var together sync.WaitGroup
	for i, c := range calls {
		if c.ReadOnly || c.Run == nil && t.s.servers.readOnly(c.Name) {
			together.Go(func() { outputs[i], errs[i] = execution{t, c}.useOne(ctx) })
			continue
		}
		together.Wait()
		outputs[i], errs[i] = execution{t, c}.useOne(ctx)
	}
	together.Wait()
	if errors.Is(context.Cause(ctx), errInterrupted) {
		return outputs, t.interrupted(true)
	}
	if err := errors.Join(errs...); errors.Is(err, errDeferred) {
		t.s.mirror.deferral(t.deferred, t.s.rights.current())
		return outputs, t.over(ending{reason: message.EndToolDeferred})
	} else if err != nil {
		return outputs, err
	}
	return outputs, t.batch(ctx, calls, outputs)
}

// execution is a call on its way through hooks, permission and tool.
type execution struct {
	t *Turn
	c *Call
}

// useOne runs one call and sends its result.
func (e execution) useOne(ctx context.Context) (ToolOutput, error) {
	t, c := e.t, e.c
	if t.isOver() {
		return ToolOutput{}, errInterrupted
	}
	var out ToolOutput
	var after HookOutcome
	err := context.Cause(ctx) // nothing begins after the end
	if err == nil {
		out, after, err = e.execute(ctx)
	}
	if errors.Is(context.Cause(ctx), errInterrupted) {
		out = failure(rejected)
		err = errInterrupted
	} else if err != nil {
		return out, err
	}
	if out.IsError && out.Result == nil {
		// Text always encodes.
		out.Result, _ = json.Marshal("Error: " + out.Content.Text())
	}
	m := &message.User{Content: message.Content{&message.ToolResultBlock{
		ToolUseID: c.ID, Content: out.Content, Plain: out.Plain, IsError: out.IsError,
	}}, ToolUseResult: out.Result}
	if out.EndsTurn {
		t.s.mirror.endsWith(c.ID)
	}
	if emitErr := t.say(m); emitErr != nil {
		return out, emitErr
	}
	for _, n := range after.notices {
		_ = t.s.emit(n)
	}
	if after.Stopped {
		return out, t.over(ending{reason: message.EndHookStopped})
	}
	return out, err
}

// toolFields are the members of hook inputs about a tool.
type toolFields struct {
	ToolName  string          `json:"tool_name"`
	ToolInput json.RawMessage `json:"tool_input"`
	ToolUseID string          `json:"tool_use_id"`
}

func (c *Call) fields() toolFields { return toolFields{c.Name, c.input, c.ID} }

// execute asks the hooks and the client, and runs the tool if none objects. The
// outcome is that of the hooks after it.
func (e execution) execute(ctx context.Context) (ToolOutput, HookOutcome, error) {
	t, c := e.t, e.c
	pre, err := t.fireAndEmit(ctx, hookCall{event: hook.EventPreToolUse, subject: c.Name, toolUseID: c.ID, extra: c.fields()})
	if err != nil {
		return ToolOutput{}, HookOutcome{}, err
	}
	if pre.UpdatedInput != nil {
		c.input = pre.UpdatedInput
	}
	t.note(pre.Context...)
	stopped := HookOutcome{Stopped: pre.Stopped}
	switch {
	case pre.closed != "" && pre.denied:
		e.denied()
		return denial(pre.closed), stopped, nil
	case pre.closed != "":
		return failure(pre.closed), stopped, nil
	case pre.Decision == hook.PermissionDeny || pre.Blocked:
		e.denied()
		return denial("PreToolUse:" + c.Name + " hook error: " + pre.reason()), stopped, nil
	case pre.Decision == hook.PermissionDefer:
		t.mu.Lock()
		t.deferred = &message.ToolUseBlock{ID: c.ID, Name: c.Name, Input: c.input}
		t.stop = "tool_deferred"
		t.mu.Unlock()
		return ToolOutput{}, HookOutcome{}, errDeferred
	}
	refusal, err := e.permit(ctx, &pre)
	if err != nil {
		return ToolOutput{}, HookOutcome{}, err
	}
	if refusal != "" {
		e.denied()
		return denial(refusal), stopped, nil
	}
	out, post, err := e.perform(ctx)
	post.Stopped = post.Stopped || pre.Stopped
	return out, post, err
}

// perform runs the tool and the hooks after it.
func (e execution) perform(ctx context.Context) (ToolOutput, HookOutcome, error) {
	t, c := e.t, e.c
	run := c.Run
	if run == nil {
		run = t.s.servers.runner(c)
	}
	if ctx.Err() != nil { // while a hook or the client was asked
		return ToolOutput{}, HookOutcome{}, context.Cause(ctx)
	}
	began := time.Now()
	out, err := e.runSafely(ctx, run)
	if ctx.Err() != nil {
		return out, HookOutcome{}, nil
	}
	if err != nil {
		out = failure(err.Error())
	}
	call := hookCall{subject: c.Name, toolUseID: c.ID}
	elapsed := time.Since(began).Milliseconds()
	if out.IsError {
		call.event = hook.EventPostToolUseFailure
		call.extra = struct {
			toolFields
			Error       string `json:"error"`
			IsInterrupt bool   `json:"is_interrupt"`
			DurationMS  int64  `json:"duration_ms"`
		}{c.fields(), out.Content.Text(), false, elapsed}
	} else {
		call.event = hook.EventPostToolUse
		call.extra = struct {
			toolFields
			Response   json.RawMessage `json:"tool_response"`
			DurationMS int64           `json:"duration_ms"`
		}{c.fields(), out.response(), elapsed}
	}
	post, err := t.fire(ctx, call)
	if err != nil {
		return out, post, err
	}
	if post.UpdatedOutput != nil {
		out.Result = post.UpdatedOutput
	}
	if post.Blocked {
		t.note(post.Reason)
	}
	t.note(post.Context...)
	return out, post, nil
}

// runSafely runs the tool and returns a panic as its error: calls that change
// nothing run in goroutines of their own, where a panic would end the process.
func (e execution) runSafely(ctx context.Context, run RunFunc) (out ToolOutput, err error) {
	t, c := e.t, e.c
	defer func() {
		if v := recover(); v != nil {
			t.s.log.Error("panic in a tool", "tool", c.Name, "panic", v, "stack", string(debug.Stack()))
			out, err = ToolOutput{}, fmt.Errorf("the tool panicked: %v", v)
		}
	}()
	return run(ctx, c.input)
}

// response is the output as hooks see it.
func (o ToolOutput) response() json.RawMessage {
	if o.Result != nil {
		return o.Result
	}
	text, err := json.Marshal(o.Content.Text())
	if err != nil {
		return json.RawMessage("null")
	}
	return text
}

// denied adds a call to those that the result lists as denied.
func (e execution) denied() {
	t, c := e.t, e.c
	d := message.PermissionDenial{ToolName: c.Name, ToolUseID: c.ID, ToolInput: c.input}
	if t.sub != nil { // the next result has it, whatever turn that ends
		t.s.mu.Lock()
		defer t.s.mu.Unlock()
		t.s.denials = append(t.s.denials, d)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.denials = append(t.denials, d)
}

// batch tells the hooks that all calls of an answer are done.
func (t *Turn) batch(ctx context.Context, calls []*Call, outputs []ToolOutput) error {
	type entry struct {
		toolFields
		Response json.RawMessage `json:"tool_response"`
	}
	entries := make([]entry, len(calls))
	for i, c := range calls {
		entries[i] = entry{c.fields(), outputs[i].response()}
	}
	out, err := t.fireAndEmit(ctx, hookCall{event: hook.EventPostToolBatch, extra: struct {
		ToolCalls []entry `json:"tool_calls"`
	}{entries}})
	if err != nil {
		return t.cutOr(ctx, err)
	}
	if out.Blocked {
		t.note(out.Reason)
	}
	t.note(out.Context...)
	if out.Stopped {
		return t.over(ending{reason: message.EndHookStopped})
	}
	return nil
}

// cutOr is the end of an interrupted turn, or the error.
func (t *Turn) cutOr(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errInterrupted) {
		return t.interrupted(true)
	}
	return err
}

// RunSubagent does what the tool Agent does: it lets agent work on its own
// prompt and returns its last text. Call it from the RunFunc of that tool, with
// the id of the call and its input.
//
// The agent gets a Turn whose messages, hooks and questions name the subagent.
// As in the CLI, it works in the background, unless the input contains
// "run_in_background": false or a subagent starts it. In the background,
// RunSubagent returns at once, and the end of the work starts a turn whose prompt
// announces it; an interrupt by the client ends it.
func (t *Turn) RunSubagent(ctx context.Context, callID string, input json.RawMessage, agent Agent) (ToolOutput, error) {
	sub, err := newSubagent(t, callID, input)
	if err != nil {
		return ToolOutput{}, err
	}
	own := sub.begin(ctx)
	t.s.tasks.spawned(sub)
	t.s.mirror.agent(sub)
	_ = t.s.emit(sub.started())
	out, err := own.fire(ctx, hookCall{event: hook.EventSubagentStart, subject: sub.Type})
	if err != nil {
		sub.never(err)
		return ToolOutput{}, err
	}
	own.note(out.Context...)
	if !sub.background {
		return sub.wait(agent)
	}
	t.s.background.Go(func() { sub.inBackground(agent) })
	return sub.launched(t.Model()), nil
}
