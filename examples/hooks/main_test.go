package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/host"
)

// A session with one tool call, which is not allowed.
func Example() {
	cli := claudetest.New(claudetest.UseTool("Bash", map[string]string{"command": "ls"}), claudetest.Say("None."))
	if err := run(context.Background(), os.Stdout, cli); err != nil {
		fmt.Println(err)
	}
	// Output:
	// UserPromptSubmit
	// PreToolUse
	// PermissionRequest
	// PostToolBatch
	// Stop
}

// An agent that lets every registered event happen, one after the other.
func TestEveryEvent(t *testing.T) {
	hooks := every()
	cli := claudetest.NewHost(host.AgentFunc(func(ctx context.Context, turn *host.Turn) error {
		for _, h := range hooks {
			if h.Event == hook.EventUserPromptSubmit || h.Event == hook.EventStop {
				continue // every turn has them
			}
			if _, err := turn.Fire(ctx, h.Event, "", map[string]any{}); err != nil {
				return err
			}
		}
		return nil
	}), nil)
	var out strings.Builder
	if err := run(t.Context(), &out, cli); err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]int)
	for event := range strings.FieldsSeq(out.String()) {
		seen[event]++
	}
	for _, info := range hook.Events() {
		want := 1
		if info.Event == hook.EventWorktreeCreate || info.Event == hook.EventWorktreeRemove {
			want = 0
		}
		if seen[string(info.Event)] != want {
			t.Errorf("%s was seen %d times, want %d", info.Event, seen[string(info.Event)], want)
		}
	}
}
