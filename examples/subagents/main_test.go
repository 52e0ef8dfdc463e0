package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/message"
)

// delegate is an agent that starts one subagent, whose lines it sends itself.
func delegate(ctx context.Context, t *host.Turn) error {
	const id, kind = "toolu_1", "tester"
	work := func(context.Context, json.RawMessage) (host.ToolOutput, error) {
		for _, m := range []message.Message{
			&message.TaskStarted{TaskID: "t1", ToolUseID: id, SubagentType: kind, TaskType: "local_agent"},
			&message.Assistant{ParentToolUseID: id, SubagentType: kind, Content: message.Content{&message.ToolUseBlock{ID: "toolu_2", Name: "Bash"}}},
			&message.Assistant{ParentToolUseID: id, SubagentType: kind, Content: message.Content{message.Text("All pass.")}},
			&message.TaskNotification{TaskID: "t1", ToolUseID: id, Status: message.TaskCompleted, Usage: message.TaskUsage{TotalTokens: 1200}},
		} {
			if err := t.Emit(m); err != nil {
				return host.ToolOutput{}, err
			}
		}
		return host.TextOutput("All pass."), nil
	}
	answer, err := t.Answer(ctx)
	if err != nil {
		return err
	}
	call := host.Call{ID: id, Name: "Agent", Input: map[string]string{"subagent_type": kind}, Run: work}
	if err := answer.Use(ctx, call); err != nil {
		return err
	}
	if _, err := answer.End(ctx); err != nil {
		return err
	}
	return t.Say(ctx, "The tests pass.")
}

func Example() {
	if err := run(context.Background(), os.Stdout, claudetest.NewHost(host.AgentFunc(delegate), nil)); err != nil {
		fmt.Println(err)
	}
	// Output:
	// [main] uses Agent
	// [tester] uses Bash
	// [tester] All pass.
	// [main] The tests pass.
	// tester: completed, 1200 tokens
}
