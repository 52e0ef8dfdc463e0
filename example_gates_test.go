//go:build unix

package claude_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
)

// A scripted CLI plays the part of the real one in these examples: take out
// Transport, and they drive Claude.

// A guard sees every tool call before it runs, even those that the CLI would
// not ask about, and blocks if it fails itself.
func Example_guard() {
	guard := policy.First(
		policy.MustRules("Bash(rm:*)", "WebFetch").Deny("not on this machine"),
		policy.Confine("/repo"),
	)
	cli := claudetest.New(
		claudetest.UseTool("Bash", map[string]string{"command": "cd /tmp && rm -r *"}),
		claudetest.UseTool("Read", map[string]string{"file_path": "/repo/../etc/passwd"}),
		claudetest.UseTool("Read", map[string]string{"file_path": "/repo/go.mod"}),
		claudetest.Say("Done."),
	)
	_, err := claude.Ask(context.Background(), "Clean up", &claude.Options{
		Transport: cli,
		Hooks:     []hook.Hook{hook.Guard("", guard)},
	})
	for _, use := range cli.Recording().Tools() {
		fmt.Println(use.Name, string(use.Input), "ran:", use.Ran)
	}
	fmt.Println(err)
	// Output:
	// Bash {"command":"cd /tmp \u0026\u0026 rm -r *"} ran: false
	// Read {"file_path":"/repo/../etc/passwd"} ran: false
	// Read {"file_path":"/repo/go.mod"} ran: true
	// <nil>
}

// An approver shows the CLI's questions to a person, and remembers what that
// person always allows.
func Example_approver() {
	questions := make(chan *policy.PendingRequest)
	go func() { // the person
		for q := range questions {
			fmt.Println("May I use", q.Request.ToolName, string(q.Request.Input))
			switch q.Request.ToolName {
			case "Write":
				q.Answer(permission.Allow(q.Request.Suggestions...))
			default:
				q.Answer(permission.Deny("use the Write tool instead"))
			}
		}
	}()
	defer close(questions)

	cli := claudetest.New(
		claudetest.UseTool("Bash", map[string]string{"command": "echo hi"}),
		claudetest.UseTool("Write", map[string]string{"file_path": "/repo/hi.txt", "content": "hi"}),
		claudetest.Say("Done."),
	)
	res, err := claude.Ask(context.Background(), "Write a file", &claude.Options{
		Transport:  cli,
		CanUseTool: policy.Ask(questions, 10*time.Minute),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Text)
	// Output:
	// May I use Bash {"command":"echo hi"}
	// May I use Write {"content":"hi","file_path":"/repo/hi.txt"}
	// Done.
}

// An auditor has no opinion on tool calls and logs all of them, without their
// inputs.
func Example_auditor() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if slices.Contains([]string{slog.TimeKey, "duration", "tool_use_id", "request_id"}, a.Key) {
				return slog.Attr{} // they differ from run to run
			}
			return a
		},
	}))
	_, err := claude.Ask(context.Background(), "Log in", &claude.Options{
		Transport: claudetest.New(
			claudetest.UseTool("Bash", map[string]string{"command": "login --password hunter2"}),
			claudetest.Say("Done."),
		),
		CanUseTool: policy.Audit(log, policy.MustRules("Read").Allow()),
		Hooks:      []hook.Hook{hook.Guard("", policy.Audit(log, policy.Always(permission.Pass())))},
	})
	fmt.Println(err)
	// Output:
	// level=INFO msg=permission tool=Bash decision=pass
	// level=INFO msg=permission tool=Bash decision=pass
	// <nil>
}

// The model asks the user, and the program answers.
func Example_question() {
	cli := claudetest.New(
		claudetest.UseTool("AskUserQuestion", map[string]any{"questions": []any{map[string]any{
			"question": "Which colors?", "header": "Colors", "multiSelect": true,
			"options": []any{map[string]string{"label": "red"}, map[string]string{"label": "green"}, map[string]string{"label": "blue"}},
		}}}),
		claudetest.Say("Red and blue it is."),
	)
	res, err := claude.Ask(context.Background(), "Paint it", &claude.Options{
		Transport: cli,
		CanUseTool: func(_ context.Context, req *permission.Request) (permission.Decision, error) {
			questions, err := req.Questions()
			if err != nil {
				return permission.Deny("there is nobody to decide that"), nil
			}
			for _, o := range questions[0].Options {
				fmt.Println("-", o.Label)
			}
			return req.Answers().Choose(questions[0].Text, "red", "blue").Decision()
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Text)
	// Output:
	// - red
	// - green
	// - blue
	// Red and blue it is.
}
