package claude_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/tool"
)

func TestTraceSurvivesItsFunctions(t *testing.T) {
	bubble(t, func(c *cli) { c.greet(); c.answer("hi"); c.idle() }, func(t *testing.T, o *claude.Options) {
		var last claude.State
		read := 0
		o.Trace = &claude.Trace{
			FrameRead:    func([]byte) { read++; panic("boom") },
			FrameWritten: func([]byte) { runtime.Goexit() },
			StateChanged: func(_, to claude.State) { last = to },
		}
		s := connect(t, o)
		if _, err := s.Ask(t.Context(), "hello"); err != nil {
			t.Error(err)
		}
		finish(t, s)
		if read < 3 || last != claude.StateStopped {
			t.Errorf("%d frames, last state %v", read, last)
		}
	})
}

func TestTraceHearsTheEndOfEverything(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		c.say("%s", bashRequest)
		c.hear() // an operation that is never answered
		<-c.stopped
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		callbacks, operations := 0, 0
		o.Trace = &claude.Trace{
			CallbackDone: func(claude.TraceCallback) { callbacks++ },
			RequestDone:  func(claude.TraceRequest) { operations++ },
		}
		o.CanUseTool = func(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
			<-ctx.Done()
			return permission.Pass(), context.Cause(ctx)
		}
		s := connect(t, o)
		pending := make(chan error, 1)
		go func() { pending <- s.Control(t.Context(), "slow", nil, nil) }()
		synctest.Wait()
		s.Close()
		<-pending
		s.Wait()
		if callbacks != 1 || operations != 2 {
			t.Errorf("saw %d callbacks and %d operations, want 1 and 2", callbacks, operations)
		}
	})
}

// Unsent operations are reported to the Trace like all others.
func TestTraceOfUnsentOperations(t *testing.T) {
	bubble(t, func(c *cli) { c.greet(); c.idle() }, func(t *testing.T, o *claude.Options) {
		var told []claude.TraceRequest
		o.Trace = &claude.Trace{RequestDone: func(r claude.TraceRequest) { told = append(told, r) }}
		s := connect(t, o)
		_, err := s.Files().Rewind(t.Context(), "m")
		finish(t, s)
		if len(told) != 2 || told[1].Op != "rewind_files" || told[1].RequestID != "" || told[1].Err != err {
			t.Errorf("told %+v", told)
		}
	})
}

// A Trace can give each session its own Trace, environment and contexts.
func TestTraceOfEachSession(t *testing.T) {
	type key struct{}
	cli := claudetest.New(claudetest.UseTool("Bash", map[string]string{"command": "make"}), claudetest.Say("done"))
	var launched []string
	var told []string // written by the session's own Trace only
	var asked, served any
	own := &claude.Trace{
		CloseWait:           time.Minute,
		SkipPartialMessages: true,
		FrameRead: func(line []byte) {
			if bytes.HasPrefix(line, []byte(`{"type":"stream_event"`)) {
				told = append(told, "piece")
			}
		},
		PromptSending: func(ctx context.Context, id string) func(error) {
			asked = ctx.Value(key{})
			return func(error) { t.Error("the prompt was sent") }
		},
		CallbackContext: func(ctx context.Context, c claude.TraceCallback) context.Context {
			return context.WithValue(ctx, key{}, c.Subtype+" "+c.ToolUseID[:5])
		},
		CallbackDone: func(c claude.TraceCallback) { told = append(told, c.Name) },
		Ended:        func(err error) { told = append(told, fmt.Sprint("ended ", err)) },
	}
	o := &claude.Options{
		Env: []string{"A=1"}, PartialMessages: true,
		Transport: transportFunc(func(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
			launched = l.Env
			return cli.Start(ctx, l)
		}),
		CanUseTool: func(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
			served = ctx.Value(key{})
			return permission.Allow(), nil
		},
		Trace: &claude.Trace{
			Starting: func(ctx context.Context, start *claude.TraceStart) *claude.Trace {
				start.Env = append(start.Env, "B="+ctx.Value(key{}).(string))
				return own
			},
			Ended: func(error) { t.Error("the Trace was replaced") },
		},
	}
	if _, err := claude.Ask(context.WithValue(t.Context(), key{}, "mine"), "go", o); err != nil {
		t.Fatal(err)
	}
	// Nothing waits here: Ask has done so.
	if want := []string{"Bash", "ended <nil>"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	if !slices.Contains(launched, "A=1") || !slices.Contains(launched, "B=mine") {
		t.Errorf("environment %q", launched)
	}
	if asked != "mine" || served != "can_use_tool toolu" {
		t.Errorf("contexts with %v and %v", asked, served)
	}
}

// A CLI that cannot be started has an end as well.
// A prompt that is not sent is reported to what PromptSending has returned.
func TestTraceOfUnsentPrompt(t *testing.T) {
	bubble(t, func(c *cli) { c.greet(); <-c.stopped }, func(t *testing.T, o *claude.Options) {
		var failures []error
		o.Trace = &claude.Trace{PromptSending: func(context.Context, string) func(error) {
			return func(err error) { failures = append(failures, err) }
		}}
		s := connect(t, o)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Send(ctx, "hello"); err == nil {
			t.Error("a prompt was sent whose context had ended")
		}
		s.Close()
		if _, err := s.Send(t.Context(), "hello"); err == nil {
			t.Error("a prompt was sent to a session that is closed")
		}
		if len(failures) != 2 || !errors.Is(failures[0], context.Canceled) || !errors.Is(failures[1], claude.ErrClosed) {
			t.Errorf("failures %v", failures)
		}
	})
}

func TestTraceOfFailedStart(t *testing.T) {
	var ended error
	_, err := claude.Connect(t.Context(), &claude.Options{
		Transport: transportFunc(func(context.Context, *claude.Launch) (claude.Conn, error) { return nil, os.ErrPermission }),
		Trace:     &claude.Trace{Ended: func(err error) { ended = err }, CloseWait: time.Minute},
	})
	if err == nil || ended != err {
		t.Errorf("Connect = %v, but the Trace was told %v", err, ended)
	}
}

// A tool in this process runs with the context that the Trace gave it.
func TestTraceContextOfTool(t *testing.T) {
	type key struct{}
	var got any
	echo := tool.New("echo", "Echo", func(ctx context.Context, in struct{}) (string, error) {
		got = ctx.Value(key{})
		return "ok", nil
	})
	var asked []claude.TraceCallback
	o := &claude.Options{
		Transport:    claudetest.New(claudetest.UseTool("mcp__x__echo", struct{}{}), claudetest.Say("done")),
		MCPServers:   claude.MCPServers{"x": tool.NewServer(echo)},
		AllowedTools: []string{"mcp__x"},
		Trace: &claude.Trace{CallbackContext: func(ctx context.Context, c claude.TraceCallback) context.Context {
			if c.ToolUseID == "" {
				return nil // which changes nothing
			}
			asked = append(asked, c)
			return context.WithValue(ctx, key{}, c.Name)
		}},
	}
	if _, err := claude.Ask(t.Context(), "go", o); err != nil {
		t.Fatal(err)
	}
	if got != "x tools/call" || len(asked) != 1 || asked[0].Subtype != "mcp_message" {
		t.Errorf("the tool's context has %v; asked for %+v", got, asked)
	}
}

type transportFunc func(context.Context, *claude.Launch) (claude.Conn, error)

func (f transportFunc) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	return f(ctx, l)
}

// A library that records messages leaves out the session's secrets.
func TestTraceRedactor(t *testing.T) {
	start := &claude.TraceStart{
		Env:     []string{"SHOP_TOKEN=from-the-environment", "HOME=/home/visible-user"},
		Secrets: []string{"from-the-options"},
	}
	r := start.Redactor()
	for text, want := range map[string]string{
		"a from-the-environment b": "a [redacted] b",
		"a from-the-options b":     "a [redacted] b",
		"/home/visible-user":       "/home/visible-user",
	} {
		if got := r.Text(text, 100); got != want {
			t.Errorf("Text(%q) = %q, want %q", text, got, want)
		}
	}
	if got := r.Text("abc from-the-options", 10); len(got) > 20 || strings.Contains(got, "from") {
		t.Errorf("a secret is shown in part: %q", got)
	}
	if got := r.JSON([]byte(`{"password":"short","n":1}`), 100); strings.Contains(got, "short") || !strings.Contains(got, `"n":1`) {
		t.Errorf("JSON = %s", got)
	}
}
