// Command subagents defines two agents that Claude can start, and shows who
// does what.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/message"
)

func main() {
	if err := run(context.Background(), os.Stdout, nil); err != nil {
		log.Fatal(err)
	}
}

// agents are the subagents that Claude can delegate to. It chooses by their
// descriptions; their prompts are their system prompts.
func agents() map[string]claude.AgentDefinition {
	return map[string]claude.AgentDefinition{
		"reviewer": {
			Description: "Reviews Go code for mistakes",
			Prompt:      "You review Go code. Report mistakes only, each with file and line.",
			Tools:       []string{"Read", "Grep", "Glob"},
			Model:       "sonnet",
		},
		"tester": {
			Description: "Runs the tests and explains failures",
			Prompt:      "You run go test and explain each failure in one sentence.",
			Tools:       []string{"Read", "Bash"},
			MaxTurns:    10,
		},
	}
}

func run(ctx context.Context, w io.Writer, cli claude.Transport) error {
	opts := &claude.Options{
		Agents:              agents(),
		AllowedTools:        []string{"Agent", "Read", "Grep", "Glob", "Bash(go test:*)"},
		ForwardSubagentText: true, // otherwise you see only the tool calls of subagents
		Transport:           cli,
	}
	var work message.Progress
	for msg, err := range claude.Query(ctx, "Review this package and run its tests", opts) {
		if err != nil {
			return err
		}
		work.Add(msg)
		if m, ok := msg.(*message.Assistant); ok {
			who := cmp.Or(message.SubagentOf(m).Type, "main")
			for _, use := range m.ToolUses() {
				fmt.Fprintf(w, "[%s] uses %s\n", who, use.Name)
			}
			if text := m.Text(); text != "" {
				fmt.Fprintf(w, "[%s] %s\n", who, text)
			}
		}
	}
	for _, task := range work.Tasks() {
		fmt.Fprintf(w, "%s: %s, %d tokens\n", task.Subagent, task.Status, task.Usage.TotalTokens)
	}
	return nil
}
