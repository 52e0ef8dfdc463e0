package e2e

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
)

// Faults of the API, and the text of the errors that they cause. The session
// outlives them all.
func TestRealAPIErrors(t *testing.T) {
	t.Parallel()
	fail := func(status int, kind string) claudetest.Reply { return claudetest.Fail(status, kind, "no good") }
	var reply atomic.Pointer[claudetest.Reply]
	r := startReal(t, claudetest.NewModelFunc(func(*claudetest.ModelCall) claudetest.Reply { return *reply.Load() }))
	r.opts.MaxRetries = 1
	s := r.connect(t)
	for name, tt := range map[string]struct {
		reply     claudetest.Reply
		env       string // of a CLI of its own
		retryable bool
		text      string // part of the error
	}{
		"overloaded":  {fail(529, "overloaded_error"), "", true, "api_error: "},
		"rate limit":  {fail(429, "rate_limit_error"), "", true, "api_error: "},
		"server":      {fail(500, "api_error"), "", true, "api_error: "},
		"cut off":     {claudetest.Say("half of it").Cut(), "", true, "api_error: "},
		"error event": {claudetest.Say("half of it").CutWith("overloaded_error", "Overloaded"), "", true, "api_error: "},
		"refused":     {claudetest.Say("never"), "ANTHROPIC_BASE_URL=http://127.0.0.1:9", true, "api_error: "},
		"bad":         {fail(400, "invalid_request_error"), "", false, "api_error: "},
		"wrong key":   {fail(401, "authentication_error"), "", false, ""},
		"forbidden":   {fail(403, "permission_error"), "", false, "403"},
		"no key":      {claudetest.Say("never"), "ANTHROPIC_API_KEY=", false, "/login"},
	} {
		t.Run(name, func(t *testing.T) {
			reply.Store(&tt.reply)
			ask := s.Ask
			if tt.env != "" {
				own := *r.opts
				own.Env = append(slices.Clone(own.Env), tt.env)
				ask = func(ctx context.Context, prompt string) (*message.Result, error) {
					return claude.Ask(ctx, prompt, &own)
				}
			}
			res, err := ask(t.Context(), "hi")
			failed, ok := errors.AsType[*claude.ResultError](err)
			if !ok || failed.Result != res {
				t.Fatalf("error %v with %+v", err, res)
			}
			if failed.Retryable() != tt.retryable || errors.Is(err, claude.ErrInterrupted) {
				t.Errorf("retryable %v, want %v: %v", failed.Retryable(), tt.retryable, err)
			}
			if text := err.Error(); !strings.HasPrefix(text, "claude: turn failed: ") || !strings.Contains(text, tt.text) || strings.Contains(text, "success") || strings.Count(text, "API Error") > 1 {
				t.Errorf("the error says %q", text)
			}
		})
	}
}

// An API that stays overloaded is a server's error in the answer, on the real CLI
// and on the scripted one.
func TestRealOverloadedAnswer(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "errors of answers by class")
	reply := claudetest.Fail(529, "overloaded_error", "Overloaded").Forever()
	r := realCLI(t, reply)
	r.opts.MaxRetries = 1
	for name, opts := range map[string]*claude.Options{
		"real": r.opts, "scripted": {Transport: claudetest.NewCLI(&claudetest.Script{Replies: []claudetest.Reply{reply}})},
	} {
		var class message.AssistantError
		for m := range claude.Query(t.Context(), "hi", opts) {
			if a, ok := m.(*message.Assistant); ok {
				class = a.Error
			}
		}
		if class != message.AssistantErrorServer {
			t.Errorf("%s: %q", name, class)
		}
	}
}

// How often and how long the CLI tries is for the program to say, also beside a
// variable of the environment.
func TestRealMaxRetries(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "reports of retries")
	for _, retries := range []int{claude.NoRetries, 2} {
		r := realCLI(t, claudetest.Fail(529, "overloaded_error", "Overloaded").Forever())
		r.opts.Env = append(r.opts.Env, "CLAUDE_CODE_MAX_RETRIES=7")
		r.opts.MaxRetries = retries
		told, want := 0, max(retries, 0)
		for msg := range claude.Query(t.Context(), "hi", r.opts) {
			if retry, ok := msg.(*message.APIRetry); ok {
				if told++; retry.MaxRetries != want || retry.ErrorStatus != 529 || retry.Error != message.AssistantErrorOverloaded {
					t.Errorf("retry %s", retry.Raw)
				}
			}
		}
		if n := len(r.calls()); told != want || n != want+1 {
			t.Errorf("MaxRetries %d: %d retries reported, %d calls", retries, told, n)
		}
	}
	r := realCLI(t, claudetest.Say("late").After(time.Minute).Forever())
	r.opts.MaxRetries, r.opts.Timeouts.API = claude.NoRetries, time.Second
	begin := time.Now()
	_, err := claude.Ask(t.Context(), "hi", r.opts)
	if failed, ok := errors.AsType[*claude.ResultError](err); !ok || !failed.Retryable() || time.Since(begin) > 30*time.Second {
		t.Errorf("an API that does not answer: %v after %v", err, time.Since(begin))
	}
}

// A caller that runs out of time while the CLI retries learns about it.
func TestRealTimeoutMentionsRetries(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "reports of retries")
	for name, ask := range map[string]func(t *testing.T, ctx context.Context, r *real) error{
		"Ask":         func(t *testing.T, ctx context.Context, r *real) error { return errorOf(claude.Ask(ctx, "hi", r.opts)) },
		"Session.Ask": func(t *testing.T, ctx context.Context, r *real) error { return errorOf(r.connect(t).Ask(ctx, "hi")) },
	} {
		t.Run(name, func(t *testing.T) {
			// The time is over when the CLI tries for the third time, long after
			// it has reported the second.
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var calls atomic.Int32
			r := startReal(t, claudetest.NewModelFunc(func(*claudetest.ModelCall) claudetest.Reply {
				if calls.Add(1) == 3 {
					cancel(context.DeadlineExceeded)
				}
				return claudetest.Fail(529, "overloaded_error", "Overloaded")
			}))
			err := ask(t, ctx, r)
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the API has failed ") || !strings.Contains(err.Error(), "(overloaded, status 529)") {
				t.Errorf("error = %v", err)
			}
		})
	}
}

// An interrupt differs from other failures, in an answer and in a tool.
func TestRealInterrupted(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "1.0.128", "PartialMessages")
	hold := make(chan struct{})
	defer close(hold)
	for name, reply := range map[string]claudetest.Reply{
		"answer": claudetest.Say("a long answer").Hold(hold),
		// Not "sleep": the CLI refuses a command that only waits.
		"tool": claudetest.UseTool("Bash", map[string]string{"command": "tail -f /dev/null", "description": "wait"}),
	} {
		t.Run(name, func(t *testing.T) {
			r := realCLI(t, reply)
			r.opts.AllowedTools = []string{"Bash"}
			r.opts.PartialMessages = true
			s := r.connect(t)
			var failure error
			for msg, err := range s.Run(t.Context(), "go") {
				failure = err
				said, whole := msg.(*message.Assistant)
				if _, partial := msg.(*message.StreamEvent); partial && name == "answer" || whole && len(said.Content.ToolUses()) > 0 {
					if _, err := s.Interrupt(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
			failed, ok := errors.AsType[*claude.ResultError](failure)
			if !ok || !errors.Is(failure, claude.ErrInterrupted) || failed.Retryable() || !strings.HasPrefix(failure.Error(), "claude: turn interrupted: ") || strings.Contains(failure.Error(), "diagnostic") {
				t.Errorf("error = %v", failure)
			}
		})
	}
}
