package claude_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/permission"
)

func TestOperations(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		c.succeed(c.request("interrupt"), `{"still_queued":["a"]}`)
		for _, want := range []string{`{"subtype":"set_model","model":"opus"}`, `{"subtype":"set_model","model":null}`} {
			r := c.request("set_model")
			if string(r.Body) != want {
				c.t.Errorf("heard %s, want %s", r.Body, want)
			}
			c.succeed(r, "null")
		}
		r := c.request("set_permission_mode")
		if string(r.Body) != `{"subtype":"set_permission_mode","mode":"plan"}` {
			c.t.Errorf("heard %s", r.Body)
		}
		c.say(`{"type":"control_response","response":{"subtype":"success","request_id":%s}}`, string(r.ID))
		r = c.request("rewind_files")
		if string(r.Body) != `{"subtype":"rewind_files","user_message_id":"m-1"}` {
			c.t.Errorf("heard %s", r.Body)
		}
		c.succeed(r, `{"canRewind":true,"filesChanged":["a.txt"]}`)
		c.succeed(c.request("get_session_cost"), `{"text":"free"}`)
		c.refuse(c.request("set_permission_mode"), "not launched so", "bypass_not_launched")
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.FileCheckpointing = true
		done := 0
		o.Trace = &claude.Trace{RequestDone: func(claude.TraceRequest) { done++ }}
		s := connect(t, o)
		if got, err := s.Interrupt(t.Context()); err != nil || len(got.StillQueued) != 1 {
			t.Errorf("Interrupt = %+v, %v", got, err)
		}
		for _, model := range []string{"opus", ""} {
			if err := s.SetModel(t.Context(), model); err != nil {
				t.Error(err)
			}
		}
		if err := s.SetPermissionMode(t.Context(), permission.ModePlan); err != nil {
			t.Error(err)
		}
		if got, err := s.RewindFiles(t.Context(), "m-1"); err != nil || !got.CanRewind {
			t.Errorf("RewindFiles = %+v, %v", got, err)
		}
		var cost struct{ Text string }
		if err := s.Control(t.Context(), "get_session_cost", nil, &cost); err != nil {
			t.Error(err)
		}
		err := s.SetPermissionMode(t.Context(), permission.ModeBypassPermissions)
		if refused, ok := errors.AsType[*claude.ControlError](err); !ok || refused.Code != "bypass_not_launched" || refused.Message != "not launched so" || refused.Op != "set_permission_mode" {
			t.Errorf("error = %v", err)
		}
		finish(t, s)
		if done != 8 { // the handshake counts
			t.Errorf("%d operations traced, want 8", done)
		}
	})
}

func TestOperationTimeouts(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		for {
			if _, ok := c.hear(); !ok {
				return
			}
		}
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.FileCheckpointing = true
		s := connect(t, o)
		for op, tt := range map[string]struct {
			call func() error
			took time.Duration
		}{
			"interrupt":           {func() error { _, err := s.Interrupt(t.Context()); return err }, 5 * time.Second},
			"set_model":           {func() error { return s.SetModel(t.Context(), "x") }, 5 * time.Second},
			"set_permission_mode": {func() error { return s.SetPermissionMode(t.Context(), permission.ModePlan) }, 5 * time.Second},
			"rewind_files":        {func() error { _, err := s.RewindFiles(t.Context(), "m"); return err }, 30 * time.Second},
		} {
			begin := time.Now()
			err := tt.call()
			failed, ok := errors.AsType[*claude.ControlError](err)
			if !ok || !errors.Is(err, claude.ErrTimeout) || failed.Op != op || !strings.HasPrefix(failed.RequestID, "req_") ||
				!strings.Contains(err.Error(), op) || !strings.Contains(err.Error(), failed.RequestID) {
				t.Errorf("%s: error = %v", op, err)
			}
			if took := time.Since(begin); took != tt.took {
				t.Errorf("%s took %v, want %v", op, took, tt.took)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.SetModel(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, claude.ErrTimeout) {
			t.Errorf("with the caller's deadline: %v", err)
		}
		finish(t, s)
	})
}

// TestOwnTimeouts asks a CLI that never answers, and lets it wait for a callback
// that never returns.
func TestOwnTimeouts(t *testing.T) {
	answered := make(chan time.Time, 1)
	play := func(c *cli) {
		c.greet()
		c.say("%s", bashRequest)
		for {
			f, ok := c.hear()
			if !ok {
				return
			}
			if strings.Contains(string(f.Line), `"behavior":"deny"`) {
				answered <- time.Now()
			}
		}
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		answered = make(chan time.Time, 1)
		o.FileCheckpointing = true
		o.Timeouts = claude.Timeouts{Control: time.Second, Rewind: 2 * time.Second, MCP: 3 * time.Second, Callback: 4 * time.Second}
		o.CanUseTool = func(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
			<-ctx.Done()
			return permission.Allow(), nil
		}
		start := time.Now()
		s := connect(t, o)
		if took := (<-answered).Sub(start); took != 4*time.Second {
			t.Errorf("the callback had %v", took)
		}
		for want, call := range map[time.Duration]func() error{
			time.Second:     func() error { return s.SetModel(t.Context(), "x") },
			2 * time.Second: func() error { return second(s.RewindFiles(t.Context(), "m")) },
			3 * time.Second: func() error { return s.ReconnectMCPServer(t.Context(), "x") },
		} {
			begin := time.Now()
			if err := call(); !errors.Is(err, claude.ErrTimeout) || time.Since(begin) != want {
				t.Errorf("%v after %v, want a timeout after %v", err, time.Since(begin), want)
			}
		}
		finish(t, s)
	})
}

// TestQueueLimit performs two operations before the handshake is done, where
// there is room for one.
func TestQueueLimit(t *testing.T) {
	play := func(c *cli) {
		init := c.request("initialize")
		c.say(`{"type":"control_request","request_id":"u-1","request":{"subtype":"elicitation","message":"?"}}`)
		c.hear() // answered
		c.succeed(init, "{}")
		c.succeed(c.request("set_model"), "{}")
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.Limits.Queued = 1
		first := make(chan error, 1)
		o.OnElicitation = func(ctx context.Context, _ *control.Elicitation) (control.ElicitationAnswer, error) {
			s := claude.SessionFrom(ctx)
			go func() { first <- s.SetModel(t.Context(), "a") }()
			synctest.Wait()
			if err := s.SetModel(ctx, "b"); !errors.Is(err, claude.ErrQueueFull) {
				t.Errorf("the second operation: %v", err)
			}
			return control.Decline(), nil
		}
		s := connect(t, o)
		if err := <-first; err != nil {
			t.Errorf("the first operation: %v", err)
		}
		finish(t, s)
	})
}

func TestTooManyPendingOperations(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		for {
			if _, ok := c.hear(); !ok {
				return
			}
		}
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.Limits.Pending = 3
		s := connect(t, o)
		failed := make(chan error, 3)
		for range 3 {
			go func() { failed <- s.Control(t.Context(), "slow", nil, nil) }()
		}
		synctest.Wait()
		if err := s.SetModel(t.Context(), "x"); !errors.Is(err, claude.ErrTooManyPending) || !strings.Contains(err.Error(), "max 3") {
			t.Errorf("error = %v", err)
		}
		s.Close()
		for range 3 {
			if err := <-failed; !errors.Is(err, claude.ErrClosed) {
				t.Errorf("pending operation: %v", err)
			}
		}
	})
}

func TestRewindNeedsCheckpoints(t *testing.T) {
	bubble(t, func(c *cli) { c.greet(); c.idle() }, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		if _, err := s.RewindFiles(t.Context(), "m-1"); !errors.Is(err, claude.ErrNoCheckpoints) {
			t.Errorf("error = %v", err)
		}
		finish(t, s)
	})
}
