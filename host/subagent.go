package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/message"
)

// builtInAgents are the types of agents that the CLI brings along.
var builtInAgents = []string{"claude", "claude-code-guide", "Explore", "general-purpose", "Plan", "statusline-setup"}

// subagent is an agent at work for another one.
type subagent struct {
	message.Subagent
	input      agentInput
	run        string
	parent     *Turn
	turn       *Turn // its own
	depth      int
	background bool
	began      time.Time
	cancel     context.CancelCauseFunc
	done       chan struct{} // closed when it has ended

	mu     sync.Mutex
	tokens message.Usage
	last   message.Usage // of the last answer
	tools  int
}

// agentInput is the input of the tool Agent.
type agentInput struct {
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	Type        string `json:"subagent_type"`
	Background  *bool  `json:"run_in_background"`
}

// errStopped is the cause of a subagent that the client stopped.
var errStopped = fmt.Errorf("%w: stopped by the client", ErrOver)

// newSubagent reads the input of the tool.
func newSubagent(t *Turn, callID string, input json.RawMessage) (*subagent, error) {
	sub := &subagent{parent: t, depth: 1, began: time.Now(), done: make(chan struct{})}
	in := &sub.input
	if err := jsonx.Unmarshal(input, in); err != nil {
		return nil, fmt.Errorf("the input of the agent cannot be read: %w", err)
	}
	in.Type = cmp.Or(in.Type, "general-purpose")
	known := t.s.agentTypes()
	if !slices.Contains(known, in.Type) {
		return nil, fmt.Errorf("there is no agent type %q, only %s", in.Type, strings.Join(known, ", "))
	}
	digits := strings.ReplaceAll(uuid.New(), "-", "")
	sub.Subagent = message.Subagent{ToolUseID: callID, ID: "a" + digits[:16], Type: in.Type, Description: in.Description}
	sub.run = "0" + digits[16:24] + "-" + digits[24:]
	if t.sub != nil {
		sub.depth = t.sub.depth + 1
	}
	sub.background = t.sub == nil && (in.Background == nil || *in.Background)
	return sub, nil
}

// begin gives the subagent a turn to work in.
func (sub *subagent) begin(ctx context.Context) *Turn {
	t := sub.parent
	prompt := message.NewUser(message.Text(sub.input.Prompt))
	own := newTurn(t.s, []*queued{{User: prompt}})
	own.id, own.sub = t.id, sub
	if !sub.background {
		own.cancel(nil)
		own.ctx, own.cancel = ctx, t.cancel // who ends one ends both
	}
	sub.turn, sub.cancel = own, own.cancel
	return own
}

// never ends a subagent that does not begin.
func (sub *subagent) never(err error) {
	defer close(sub.done)
	tasks := &sub.turn.s.tasks
	tasks.failed(sub, err)
	if sub.background {
		sub.cancel(nil)
		tasks.end(sub)
		tasks.settle()
	}
}

// wait runs a subagent while the agent that started it waits.
func (sub *subagent) wait(agent Agent) (ToolOutput, error) {
	own := sub.turn
	defer close(sub.done)
	if sub.depth == 1 {
		_ = own.say(&message.User{Content: message.Content{message.Text(sub.input.Prompt)}})
	}
	if err := sub.work(agent); err != nil {
		return ToolOutput{}, err
	}
	return sub.report(own.lastText(), own.Model()), nil
}

// inBackground runs a subagent beside the turn that started it.
func (sub *subagent) inBackground(agent Agent) {
	t := sub.turn
	defer close(sub.done)
	defer t.cancel(nil)
	err := sub.work(agent)
	if t.s.ctx.Err() != nil {
		return
	}
	t.s.tasks.end(sub)
	cause := context.Cause(t.ctx)
	if cause != nil {
		_ = t.say(&message.User{Content: message.Content{message.Text("[Request interrupted by user]")}})
	}
	if errors.Is(cause, errInterrupted) {
		t.s.tasks.settle()
		return // its outcome is no longer wanted
	}
	t.s.tasks.notify(sub, outcomeOf(err, t.lastText()))
}

// work runs the agent until it has finished, and returns how it ended.
func (sub *subagent) work(agent Agent) error {
	t := sub.turn
	for {
		err := t.guarded(t.ctx, agent)
		if t.ctx.Err() != nil {
			return t.s.tasks.killed(t)
		}
		if err != nil && !errors.Is(err, ErrOver) {
			t.s.tasks.failed(sub, err)
			return err
		}
		again := false
		if err == nil && !t.isOver() {
			again, _ = t.stopping(t.ctx) // an error is the end of the context
		}
		if t.ctx.Err() != nil {
			return t.s.tasks.killed(t)
		}
		if !again {
			t.s.tasks.completed(sub, t.lastText())
			return nil
		}
	}
}

// name names the subagent in a line of its conversation.
func (sub *subagent) name(m message.Message) {
	switch m := m.(type) {
	case *message.Assistant:
		m.ParentToolUseID, m.AgentID, m.SubagentType, m.TaskDescription = sub.ToolUseID, sub.ID, sub.Type, sub.Description
	case *message.User:
		m.ParentToolUseID, m.AgentID, m.SubagentType, m.TaskDescription = sub.ToolUseID, sub.ID, sub.Type, sub.Description
	}
}

// sign names the subagent in a line, and reports whether the client gets it.
func (sub *subagent) sign(m message.Message, forward bool) bool {
	sub.name(m)
	a, ok := m.(*message.Assistant)
	return !ok || sub.background || forward || len(a.ToolUses()) > 0
}

// say sends a block of the subagent. As in the CLI, the client learns
// before or after a tool call what the agent does.
func (sub *subagent) say(m *message.Assistant, use *message.ToolUseBlock, u message.Usage) error {
	if use == nil {
		return sub.turn.Emit(m)
	}
	progress := sub.progress(use)
	progress.Usage.TotalTokens += u.OutputTokens
	progress.Usage.TotalTokens = max(progress.Usage.TotalTokens, u.InputTokens+u.OutputTokens)
	if sub.background {
		return errors.Join(sub.turn.Emit(m), sub.turn.s.emit(progress))
	}
	return errors.Join(sub.turn.s.emit(progress), sub.turn.Emit(m))
}

// spend counts what an answer of the subagent has used: the input of each
// answer holds that of those before.
func (sub *subagent) spend(u message.Usage) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.last = u
	sub.tokens.InputTokens = u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens
	sub.tokens.OutputTokens += u.OutputTokens
}

// taskUsage returns the subagent's usage so far.
func (sub *subagent) taskUsage() message.TaskUsage {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return message.TaskUsage{
		TotalTokens: sub.tokens.InputTokens + sub.tokens.OutputTokens,
		ToolUses:    sub.tools, DurationMS: time.Since(sub.began).Milliseconds(),
	}
}

func (sub *subagent) started() *message.TaskStarted {
	m := &message.TaskStarted{
		TaskID: sub.ID, RunID: sub.run, ToolUseID: sub.ToolUseID, Description: sub.Description,
		TaskType: agentTask, SubagentType: sub.Type, Prompt: sub.input.Prompt,
		IsBackgrounded: sub.background, SpawnDepth: sub.depth,
	}
	if parent := sub.parent.sub; parent != nil {
		m.ParentTaskID = parent.ID
	}
	return m
}

// agentTask is the kind of a task that is a subagent.
const agentTask = "local_agent"

// progress returns the message that the subagent uses a tool.
func (sub *subagent) progress(use *message.ToolUseBlock) *message.TaskProgress {
	sub.mu.Lock()
	sub.tools++
	sub.mu.Unlock()
	return &message.TaskProgress{
		TaskID: sub.ID, RunID: sub.run, ToolUseID: sub.ToolUseID, SubagentType: sub.Type,
		Description: cmp.Or(doing(use), sub.Description), Usage: sub.taskUsage(), LastToolName: use.Name,
	}
}

// doing describes in words what a tool call does to a file; it is empty for other
// tools.
func doing(use *message.ToolUseBlock) string {
	verb := map[string]string{"Write": "Writing", "Edit": "Editing", "Read": "Reading"}[use.Name]
	path := argument(use.Input)
	if verb == "" || path == "" {
		return ""
	}
	return verb + " " + path[strings.LastIndex(path, "/")+1:]
}

// launched is the tool output for an agent in the background.
func (sub *subagent) launched(model string) ToolOutput {
	return agentOutput("The agent is at work in the background. You will be told when it is done.\nagentId: "+sub.ID, map[string]any{
		"isAsync": true, "status": "async_launched", "agentId": sub.ID, "description": sub.Description,
		"resolvedModel": model, "prompt": sub.input.Prompt,
	})
}

// report is the tool output for an agent in the foreground, whose end the model
// awaited.
func (sub *subagent) report(text, model string) ToolOutput {
	usage := sub.taskUsage()
	sub.mu.Lock()
	last := sub.last
	sub.mu.Unlock()
	return agentOutput("This is the report of the agent:\n"+text+"\nagentId: "+sub.ID, map[string]any{
		"status": "completed", "prompt": sub.input.Prompt, "agentId": sub.ID, "agentType": sub.Type,
		"content": message.Content{message.Text(text)}, "resolvedModel": model, "usage": last,
		"totalDurationMs": usage.DurationMS, "totalTokens": last.InputTokens + last.OutputTokens,
		"totalToolUseCount": usage.ToolUses,
	})
}

func agentOutput(text string, result map[string]any) ToolOutput {
	out := ToolOutput{Content: message.Content{message.Text(text)}}
	if raw, err := jsonx.Marshal(result); err == nil {
		out.Result = raw
	}
	return out
}
