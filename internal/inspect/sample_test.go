package inspect_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/tool"
)

// sample is the recording of a session with something of everything. Its times
// are those of a bubble, so it takes none and they are always the same.
func sample(t *testing.T) []byte {
	t.Helper()
	var file bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		rec := claudetest.Record(claudetest.NewCLI(sampleScript()), &file, nil)
		if err := sampleSession(t, rec); err != nil {
			t.Fatal(err)
		}
		if rec.Err() != nil {
			t.Fatal(rec.Err())
		}
	})
	return file.Bytes()
}

// pass lets time pass in the bubble.
func pass(d time.Duration) { <-time.After(d) }

// takes is a tool that needs time.
func takes(d time.Duration, output string) host.RunFunc {
	return func(context.Context, json.RawMessage) (host.ToolOutput, error) {
		pass(d)
		return host.ToolOutput{Content: message.Content{message.Text(output)}}, nil
	}
}

func sampleScript() *claudetest.Script {
	usage := func(in, cached, out int) claudetest.ReplyUsage {
		return claudetest.ReplyUsage{InputTokens: in, CacheReadInputTokens: cached, OutputTokens: out}
	}
	say := func(r claudetest.Reply, d time.Duration, u claudetest.ReplyUsage) claudetest.Reply {
		return r.After(d).Usage(u)
	}
	return &claudetest.Script{
		Replies: []claudetest.Reply{
			say(claudetest.Think("The failing test is in the parser. First run it, then read the function it calls.", "I will run the tests first.").
				With(claudetest.UseTool("Bash", map[string]string{"command": "go test ./parser", "description": "Run the tests of the parser"})), 1200*time.Millisecond, usage(2100, 0, 180)),
			say(claudetest.UseTool("Read", map[string]string{"file_path": "/repo/parser/number.go"}), 700*time.Millisecond, usage(340, 2100, 60)),
			say(claudetest.UseTool("Edit", map[string]string{"file_path": "/repo/parser/number.go", "old_string": "if r == '-'", "new_string": "if r == '-' || r == '+'"}), 1500*time.Millisecond, usage(900, 2440, 240)),
			say(claudetest.Say("Fixed: the parser refused a leading plus sign. `go test ./parser` passes now."), 900*time.Millisecond, usage(120, 3340, 90)),

			say(claudetest.UseTool("mcp__tickets__close", map[string]any{"id": 4711}), 800*time.Millisecond, usage(200, 3460, 50)),
			say(claudetest.UseTool("Bash", map[string]string{"command": "git push --force origin main"}), 600*time.Millisecond, usage(150, 3660, 45)),
			say(claudetest.Say("The ticket is closed. I may not push, so the commit stays local."), 700*time.Millisecond, usage(90, 3810, 40)),

			say(claudetest.Say("Here is a long story about the history of number formats, from the abacus to the floating point of today, and then on to everything that anybody ever wrote about it.").Chunks(12, 120*time.Millisecond), 500*time.Millisecond, usage(60, 3900, 400)),
		},
		Tools: map[string]host.RunFunc{
			"Bash": takes(2300*time.Millisecond, "--- FAIL: TestNumber (0.00s)\n    number_test.go:14: +7: unexpected '+'\nFAIL"),
			"Read": takes(30*time.Millisecond, "func number(s string) (float64, error) {\n\tif r == '-' {"),
			"Edit": takes(45*time.Millisecond, "The file /repo/parser/number.go has been updated."),
		},
		Options: host.Options{Cwd: "/repo", Model: "claude-opus-5-5"},
	}
}

// sampleSession drives the scripted CLI: three turns, the last of which is
// interrupted.
func sampleSession(t *testing.T, cli claude.Transport) error {
	closeTicket := tool.New("close", "Close a ticket", func(_ context.Context, in struct {
		ID int `json:"id"`
	}) (string, error) {
		pass(180 * time.Millisecond)
		return "closed", nil
	})
	s, err := claude.Connect(t.Context(), &claude.Options{
		Transport: cli, PartialMessages: true,
		MCPServers:   claude.MCPServers{"tickets": tool.NewServer(closeTicket)},
		AllowedTools: []string{"mcp__tickets__close"},
		CanUseTool: func(_ context.Context, req *permission.Request) (permission.Decision, error) {
			var in struct {
				Command string `json:"command"`
			}
			_ = jsonx.Unmarshal(req.Input, &in)
			if in.Command == "git push --force origin main" {
				pass(3 * time.Second)
				return permission.Deny("Pushing is done by a person."), nil
			}
			pass(850 * time.Millisecond)
			return permission.Allow(), nil
		},
		Hooks: []hook.Hook{
			hook.PreToolUse("Edit", func(_ context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
				pass(40 * time.Millisecond)
				return nil, nil
			}),
			hook.PostToolUse("Edit", func(_ context.Context, in *hook.PostToolUseInput) (*hook.PostToolUseOutput, error) {
				pass(220 * time.Millisecond)
				return &hook.PostToolUseOutput{AdditionalContext: "gofmt has nothing to change."}, nil
			}),
		},
	})
	if err != nil {
		return err
	}
	defer s.Close()
	for _, prompt := range []string{"The tests of the parser fail. Fix them, please.", "Close ticket 4711 and push."} {
		for _, err := range s.Run(t.Context(), prompt) {
			if err != nil {
				return err
			}
		}
		pass(41 * time.Second) // a person reads
	}
	if err := s.SetModel(t.Context(), "sonnet"); err != nil {
		return err
	}
	n := 0
	for range s.Run(t.Context(), "Tell me all about numbers.") {
		if n++; n == 14 {
			if _, err := s.Interrupt(t.Context()); err != nil {
				return err
			}
		}
	}
	return nil
}
