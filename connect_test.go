package claude_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
)

func TestConnect(t *testing.T) {
	bubble(t, func(c *cli) { c.greet(); c.idle() }, func(t *testing.T, o *claude.Options) {
		var states []claude.State
		o.Trace = &claude.Trace{StateChanged: func(_, to claude.State) { states = append(states, to) }}
		s := connect(t, o)
		if s.State() != claude.StateRunning || s.Info().CLIVersion != "2.1.325" || s.ID() != o.SessionID {
			t.Errorf("state %v, version %q, id %q", s.State(), s.Info().CLIVersion, s.ID())
		}
		select {
		case <-s.Done():
			t.Error("done before Close")
		default:
		}
		finish(t, s)
		<-s.Done()
		want := []claude.State{claude.StateInitializing, claude.StateRunning, claude.StateStopped}
		if len(states) != 3 || states[0] != want[0] || states[1] != want[1] || states[2] != want[2] {
			t.Errorf("states %v, want %v", states, want)
		}
	})
}

func TestHandshakeFails(t *testing.T) {
	tests := []struct {
		name   string
		play   func(*cli)
		reason error
		text   string
		took   time.Duration
	}{
		{"silence", func(c *cli) { c.request("initialize"); <-c.stopped }, claude.ErrInitializeTimeout, "no reply within 1m0s", time.Minute},
		{"nothing read", func(c *cli) { <-c.stopped }, claude.ErrInitializeTimeout, "no reply", time.Minute},
		{"refused", func(c *cli) { c.refuse(c.request("initialize"), "bad hooks", "invalid_request"); c.idle() }, claude.ErrInitializeRefused, "bad hooks (invalid_request)", 0},
		{"exit 0", func(c *cli) { c.request("initialize") }, claude.ErrExited, "", 0},
		{"exit 1", func(c *cli) { c.request("initialize"); c.code = 1 }, claude.ErrExited, "code 1", 0},
		{"exit at once", func(c *cli) { c.code = 2 }, claude.ErrExited, "code 2", 0},
		{"early result", func(c *cli) {
			c.request("initialize")
			c.say(`{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["No conversation found"]}`)
			c.code = 1
		}, claude.ErrExited, "No conversation found", 0},
		{"messages only", func(c *cli) {
			c.request("initialize")
			c.begin()
			c.text("hello")
			<-c.stopped
		}, claude.ErrInitializeTimeout, "", time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, tt.play, func(t *testing.T, o *claude.Options) {
				begin := time.Now()
				_, err := claude.Connect(t.Context(), o)
				start, ok := errors.AsType[*claude.StartError](err)
				if !ok || start.Reason != tt.reason || !errors.Is(err, tt.reason) || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("error = %v, want %v with %q", err, tt.reason, tt.text)
				}
				if took := time.Since(begin); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
			})
		})
	}
}

func TestConnectContext(t *testing.T) {
	bubble(t, func(c *cli) { c.request("initialize"); <-c.stopped }, func(t *testing.T, o *claude.Options) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if _, err := claude.Connect(ctx, o); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error = %v", err)
		}
	})
}

func TestConnectContextBoundsTheStartOnly(t *testing.T) {
	bubble(t, func(c *cli) { c.greet(); c.answer("hi"); c.idle() }, func(t *testing.T, o *claude.Options) {
		ctx, cancel := context.WithCancel(t.Context())
		s, err := claude.Connect(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if res, err := s.Ask(t.Context(), "hello"); err != nil || res.Text != "hi" {
			t.Errorf("Ask = %v, %v", res, err)
		}
		finish(t, s)
	})
}

func TestHandshakeReadsSoftly(t *testing.T) {
	for name, reply := range map[string]string{
		"empty":      `{}`,
		"null":       `null`,
		"old shape":  `{"supported_commands":["interrupt"],"capabilities":{"hooks":true}}`,
		"odd fields": `{"models":"many","claude_code_version":7}`,
		"odd":        `"ok"`,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(c *cli) { c.succeed(c.request("initialize"), reply); c.idle() }, func(t *testing.T, o *claude.Options) {
				s := connect(t, o)
				if s.Info() == nil {
					t.Error("no info")
				}
				finish(t, s)
			})
		})
	}
}

// confirm plays a CLI that never answers initialize but calls a hook.
func confirm(c *cli) {
	c.request("initialize")
	c.say(`{"type":"control_request","request_id":"u-1","request":{"subtype":"hook_callback","callback_id":"hook_0","input":{"hook_event_name":"SessionStart"}}}`)
	c.idle()
}

func TestHandshakeConfirmedByRequest(t *testing.T) {
	bubble(t, confirm, func(t *testing.T, o *claude.Options) {
		o.Hooks = []hook.Hook{hook.SessionStart("", func(context.Context, *hook.SessionStartInput) (*hook.SessionStartOutput, error) { return nil, nil })}
		begin := time.Now()
		s := connect(t, o)
		if took := time.Since(begin); took != time.Minute {
			t.Errorf("Connect took %v, want the whole timeout", took)
		}
		if s.State() != claude.StateRunning || s.Info().CLIVersion != "" {
			t.Errorf("state %v, info %+v", s.State(), s.Info())
		}
		if err := s.SetModel(t.Context(), "sonnet"); err != nil {
			t.Error(err)
		}
		finish(t, s)
	})
}

func TestLateRefusalFailsTheSession(t *testing.T) {
	var refused chan struct{} // made in the bubble
	play := func(c *cli) {
		init := c.request("initialize")
		c.say(`{"type":"control_request","request_id":"u-1","request":{"subtype":"hook_callback","callback_id":"hook_9","input":{}}}`)
		c.hear()
		<-refused
		c.refuse(init, "changed my mind", "")
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		refused = make(chan struct{})
		s := connect(t, o)
		close(refused)
		if err := s.Wait(); !errors.Is(err, claude.ErrInitializeRefused) {
			t.Errorf("Wait = %v", err)
		}
		if s.State() != claude.StateFailed {
			t.Errorf("state %v", s.State())
		}
	})
}

func TestOperationsWaitForTheHandshake(t *testing.T) {
	play := func(c *cli) {
		init := c.request("initialize")
		c.say(`{"type":"control_request","request_id":"u-1","request":{"subtype":"elicitation","message":"?"}}`)
		c.hear() // elicitation declined
		c.say(`{"type":"control_request","request_id":"u-2","request":{"subtype":"hook_callback","callback_id":"hook_0","input":{"hook_event_name":"SessionStart"}}}`)
		c.succeed(c.request("set_model"), "{}")
		c.hear() // hook answered
		c.succeed(init, "{}")
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.Hooks = []hook.Hook{hook.SessionStart("", func(ctx context.Context, _ *hook.SessionStartInput) (*hook.SessionStartOutput, error) {
			return nil, claude.SessionFrom(ctx).SetModel(ctx, "sonnet")
		})}
		s := connect(t, o)
		finish(t, s)
	})
}

func TestWordsOfOtherProgramsAreNoUnknownFlag(t *testing.T) {
	o := childCLI(t, "chatty")
	_, err := claude.Ask(t.Context(), "hello", o)
	if _, ok := errors.AsType[*claude.ProcessError](err); !ok || errors.Is(err, claude.ErrUnsupportedVersion) {
		t.Errorf("error = %v", err)
	}
}
