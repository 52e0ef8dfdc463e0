package main

import (
	"context"
	"sync"

	"github.com/claude-agent-go/claude/internal/brief"
	"github.com/claude-agent-go/claude/internal/terminal"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// verdicts remembers which tool calls the user was asked about and which were
// denied, by the ids of the calls. It is safe for concurrent use.
type verdicts struct {
	mu     sync.Mutex
	asked  map[string]bool
	open   map[string]bool // asked about, and not decided
	denied map[string]bool
}

func newVerdicts() *verdicts {
	return &verdicts{asked: make(map[string]bool), open: make(map[string]bool), denied: make(map[string]bool)}
}

// watch returns a function that decides as decide does, and remembers it.
func (v *verdicts) watch(decide permission.Func) permission.Func {
	return func(ctx context.Context, req *permission.Request) (permission.Decision, error) {
		v.mu.Lock()
		v.open[req.ToolUseID] = true
		v.mu.Unlock()
		decision, err := decide(ctx, req)
		v.mu.Lock()
		defer v.mu.Unlock()
		v.asked[req.ToolUseID] = true
		if err == nil {
			delete(v.open, req.ToolUseID)
			if decision.Behavior() == permission.BehaviorDeny {
				v.denied[req.ToolUseID] = true
			}
		}
		return decision, err
	}
}

// add notes the calls that a message reports as denied without a question: by a
// rule, a mode or a hook.
func (v *verdicts) add(m message.Message) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch m := m.(type) {
	case *message.PermissionDenied:
		v.denied[m.ToolUseID] = true
	case *message.User:
		for _, meta := range m.ToolResultMeta {
			if meta.NonExecutionKind == "permission-rule" || meta.NonExecutionKind == "user-rejected" {
				v.denied[meta.ID] = true
			}
		}
	}
}

// wasAsked reports whether the user was shown the call and asked about it.
func (v *verdicts) wasAsked(id string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.asked[id]
}

// of describes in a word how a call with a result ended.
func (v *verdicts) of(result *message.ToolResultBlock) (word, style string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case brief.Interrupted(result.Content.Text(), result.IsError),
		v.open[result.ToolUseID] && result.IsError: // the CLI calls it rejected by the user
		return "interrupted", terminal.Red
	case v.denied[result.ToolUseID]:
		return "denied", terminal.Red
	case result.IsError:
		return "failed", terminal.Red
	}
	return "ok", terminal.Green
}
