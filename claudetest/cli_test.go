package claudetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// ask runs one prompt in a bubble and returns its result.
func ask(t *testing.T, o *claude.Options, prompt string) (*message.Result, error) {
	t.Helper()
	s, err := claude.Connect(t.Context(), o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var result *message.Result
	for m, err := range s.Run(t.Context(), prompt) {
		if err != nil {
			return result, err
		}
		if r, ok := m.(*message.Result); ok {
			result = r
		}
	}
	return result, nil
}

func TestCLISession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := claudetest.New(
			claudetest.Think("I look.", "").With(claudetest.UseTools(
				claudetest.ScriptedCall{Name: "Read", Input: map[string]string{"file_path": "/repo/a"}, Output: "hello"},
				claudetest.ScriptedCall{Name: "Bash", Input: map[string]string{"command": "false"}, Output: errors.New("exit code 1")})),
			claudetest.Say("It says hello."),
		)
		var asked []string
		r, err := ask(t, &claude.Options{
			Transport: cli,
			CanUseTool: func(_ context.Context, req *permission.Request) (permission.Decision, error) {
				asked = append(asked, req.ToolName)
				return permission.Allow(), nil
			},
		}, "What does it say?")
		if err != nil || r.Text != "It says hello." || r.NumTurns != 3 || r.TotalCostUSD == 0 || r.Usage.InputTokens != 20 {
			t.Errorf("result %+v, %v", r, err)
		}
		if fmt.Sprint(asked) != "[Bash]" {
			t.Errorf("asked for %v, want Bash alone", asked)
		}
	})
}

// A permission policy is tested without a CLI, a network or an account.
func TestCLIPolicy(t *testing.T) {
	policy := func(_ context.Context, req *permission.Request) (permission.Decision, error) {
		var in struct {
			Command string `json:"command"`
		}
		if err := req.DecodeInput(&in); err != nil || strings.Contains(in.Command, "rm") {
			return permission.Deny("not that"), err
		}
		return permission.Allow(), nil
	}
	for command, want := range map[string]bool{"ls": true, "rm -rf /": false} {
		cli := claudetest.New(claudetest.UseTool("Bash", map[string]string{"command": command}), claudetest.Say("done"))
		if _, err := claude.Ask(t.Context(), "go", &claude.Options{Transport: cli, CanUseTool: policy}); err != nil {
			t.Fatal(err)
		}
		if got := cli.Recording().Tool(t, "Bash").Ran; got != want {
			t.Errorf("%s: ran %v, want %v", command, got, want)
		}
	}
}

func TestCLIHooksAndComputedReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := claudetest.NewCLI(&claudetest.Script{
			Model: func(c *claudetest.ModelCall) claudetest.Reply {
				if len(c.ToolResults) > 0 {
					return claudetest.Say("tool: " + c.ToolResults[0].Text)
				}
				return claudetest.UseTool("Write", map[string]string{"file_path": "/repo/" + c.Prompt})
			},
			Tools: map[string]host.RunFunc{"Write": func(_ context.Context, in json.RawMessage) (host.ToolOutput, error) {
				return host.TextOutput("wrote " + string(in)), nil
			}},
		})
		r, err := ask(t, &claude.Options{Transport: cli, AllowedTools: []string{"Write"}, Hooks: []hook.Hook{
			hook.PreToolUse("Write", func(_ context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
				return hook.RewriteInput(map[string]string{"file_path": "/tmp/x"}), nil
			}),
		}}, "a.txt")
		if err != nil || r.Text != `tool: wrote {"file_path":"/tmp/x"}` {
			t.Errorf("result %+v, %v", r, err)
		}
	})
}

func TestCLIControl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		cli := claudetest.New(
			claudetest.UseTool("Write", map[string]string{"file_path": "/repo/a"}),
			claudetest.Say("one two three four five six seven eight nine ten").Chunks(4, 0).Hold(release),
			claudetest.Say("again"),
		)
		s, err := claude.Connect(t.Context(), &claude.Options{
			Transport: cli, PermissionMode: permission.ModeAcceptEdits, FileCheckpointing: true, PartialMessages: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.SetModel(t.Context(), "sonnet"); err != nil {
			t.Error(err)
		}
		var deltas int
		var last *message.Result
		var id string
		for m, err := range s.Run(t.Context(), "count") {
			switch m := m.(type) {
			case *message.StreamEvent:
				if m.Text() != "" {
					if deltas++; deltas == 5 {
						if _, err := s.Interrupt(t.Context()); err != nil {
							t.Error(err)
						}
					}
				}
			case *message.Result:
				last, id = m, m.Prompts[0]
			}
			if res, ok := errors.AsType[*claude.ResultError](err); err != nil && !ok {
				t.Errorf("%v %v", err, res)
			}
		}
		if last == nil || last.TerminalReason != message.EndAbortedStreaming {
			t.Errorf("result %+v", last)
		}
		rewind, err := s.Files().Rewind(t.Context(), id)
		if err != nil || !rewind.CanRewind {
			t.Errorf("rewind %+v, %v", rewind, err)
		}
		if _, err := s.Files().Rewind(t.Context(), "unknown"); err == nil {
			t.Error("rewound to an unknown message")
		}
		for m, err := range s.Run(t.Context(), "again") {
			if err != nil {
				t.Error(err)
			}
			if r, ok := m.(*message.Result); ok && r.Text != "again" {
				t.Errorf("result %+v", r)
			}
		}
	})
}

func TestCLIErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := ask(t, &claude.Options{Transport: claudetest.New(
			claudetest.Fail(529, "overloaded_error", "later"), claudetest.Say("x").Cut(), claudetest.Say("recovered"))}, "hi")
		if err != nil || r.Text != "recovered" {
			t.Errorf("result %+v, %v", r, err)
		}
		r, err = ask(t, &claude.Options{Transport: claudetest.New(claudetest.Fail(404, "not_found_error", "no model"))}, "hi")
		if failed, ok := errors.AsType[*claude.ResultError](err); !ok || r.TerminalReason != message.EndAPIError || r.APIErrorStatus != 404 {
			t.Errorf("result %+v, %v, %v", r, err, failed)
		}
		_, err = ask(t, &claude.Options{Transport: claudetest.New(), ExtraArgs: []string{"--bogus=1"}}, "hi")
		if bad, ok := errors.AsType[*claude.OptionError](err); !ok || bad.Field != "ExtraArgs" {
			t.Errorf("unknown flag: %v", err)
		}
	})
}

func TestCLIQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := claudetest.New(claudetest.UseTool("AskUserQuestion", map[string]any{"questions": []any{map[string]any{
			"question": "Which?", "options": []any{map[string]any{"label": "A"}, map[string]any{"label": "B"}}}}}), claudetest.Say("done"))
		_, err := ask(t, &claude.Options{Transport: cli, CanUseTool: func(_ context.Context, req *permission.Request) (permission.Decision, error) {
			return req.Answers().Choose("Which?", "B").Decision()
		}}, "hi")
		if got := cli.Recording().Tool(t, "AskUserQuestion").Output; err != nil || got != `The user answered: "Which?"="B"` {
			t.Errorf("output %q, %v", got, err)
		}
	})
}

func TestCLIOwnAgent(t *testing.T) {
	var turns atomic.Int32
	cli := claudetest.NewHost(host.AgentFunc(func(ctx context.Context, t *host.Turn) error {
		return t.Say(ctx, fmt.Sprintf("%s %d", t.Model(), turns.Add(1)))
	}), &host.Options{Model: "own"})
	r, err := claude.Ask(t.Context(), "hi", &claude.Options{Transport: cli})
	if err != nil || r.Text != "own 1" {
		t.Errorf("result %+v, %v", r, err)
	}
}

// Whatever way the bytes come, and whatever stands between the frames, the
// session is the same.
func TestCLIStreamFaults(t *testing.T) {
	tests := map[string]claudetest.Script{
		"chunks of 1":   {Chunk: 1},
		"chunks of 7":   {Chunk: 7},
		"glued":         {Glue: true},
		"garbage":       {Faults: []claudetest.Fault{{Line: 2, Garbage: "npm WARN"}, {Line: 3, Garbage: "[1]"}}},
		"oversized":     {Faults: []claudetest.Fault{{Line: 2, Oversized: 70 << 10}}},
		"stderr flood":  {Faults: []claudetest.Fault{{StderrBytes: 1 << 20}}},
		"slow reading":  {SlowRead: 10 * time.Millisecond},
		"pause":         {Faults: []claudetest.Fault{{Line: 3, Pause: 30 * time.Second}}},
		"ignored EOF":   {IgnoreEOF: true},
		"ignored TERM":  {IgnoreEOF: true, IgnoreTerm: true},
		"all in pieces": {Chunk: 3, Glue: true, SlowRead: time.Millisecond},
	}
	for name, script := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				script.Replies = []claudetest.Reply{claudetest.UseTool("Read", nil), claudetest.Say("fine")}
				r, err := ask(t, &claude.Options{Transport: claudetest.NewCLI(&script), Limits: claude.Limits{Line: 64 << 10}}, "hi")
				if err != nil || r.Text != "fine" {
					t.Errorf("result %+v, %v", r, err)
				}
			})
		})
	}
}

// A CLI that ends, or falls silent, is an error at once or in its time, never
// a hang.
func TestCLIEndFaults(t *testing.T) {
	tests := map[string]struct {
		fault claudetest.Fault
		code  int
	}{
		"exit at the start":  {claudetest.Fault{Exit: new(3), Stderr: "no luck\n"}, 3},
		"exit in the answer": {claudetest.Fault{Line: 5, Exit: new(4)}, 4},
		"exit 0":             {claudetest.Fault{Line: 5, Exit: new(0)}, 0},
		"half a line":        {claudetest.Fault{Line: 5, Half: `{"type":"assis`, Exit: new(5)}, 5},
		"signal":             {claudetest.Fault{Line: 4, Signal: "KILL"}, 137},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, err := ask(t, &claude.Options{Transport: claudetest.NewCLI(&claudetest.Script{Faults: []claudetest.Fault{tt.fault}})}, "hi")
				if p, ok := errors.AsType[*claude.ProcessError](err); err == nil || ok && p.ExitCode != tt.code || tt.code > 0 && !ok {
					t.Errorf("error %v, want exit code %d", err, tt.code)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := ask(t, &claude.Options{Transport: claudetest.NewCLI(&claudetest.Script{Faults: []claudetest.Fault{{Silent: true}}})}, "hi")
		if !errors.Is(err, claude.ErrInitializeTimeout) || time.Since(began) < time.Minute {
			t.Errorf("silence: %v after %v", err, time.Since(began))
		}
	})
}

// A CLI whose output is never read, and one whose agent ignores its context, can
// be stopped anyway.
func TestCLIStop(t *testing.T) {
	launch := &claude.Launch{Args: []string{"--output-format=stream-json"}}
	const prompt = `{"type":"user","message":{"role":"user","content":"hi"}}` + "\n"
	synctest.Test(t, func(t *testing.T) {
		conn, err := claudetest.New().Start(t.Context(), launch)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, prompt)
		synctest.Wait() // stuck in its first line
		if err := conn.Stop(); err != nil {
			t.Error(err)
		}
		if code, ok := conn.Wait().(interface{ ExitCode() int }); !ok || code.ExitCode() != 143 {
			t.Errorf("Wait = %v", conn.Wait())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		conn, err := claudetest.NewHost(host.AgentFunc(func(context.Context, *host.Turn) error {
			<-release
			return nil
		}), nil).Start(t.Context(), launch)
		if err != nil {
			t.Fatal(err)
		}
		go io.Copy(io.Discard, conn)
		fmt.Fprint(conn, prompt)
		synctest.Wait()
		if err := conn.Stop(); err == nil {
			t.Error("stopped an agent that does not stop")
		}
		close(release)
		conn.Wait()
	})
}
