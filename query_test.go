package claude_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/permission"
)

func allowAll(context.Context, *permission.Request) (permission.Decision, error) {
	return permission.Allow(), nil
}

func TestQueryOneWay(t *testing.T) {
	play := func(c *cli) {
		id := c.prompt() // no handshake
		if f, ok := c.hear(); ok {
			c.t.Errorf("got %s, want the end of stdin", f.Line)
		}
		c.begin(id)
		c.text("hi")
		c.result("hi", id)
		c.begin()
		c.result("something later")
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		query := claude.Query(t.Context(), "hello", o)
		got, err := harness.Collect(query)
		if want := []string{"system", "hi", "result hi", "system", "result something later"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
		if err := harness.LastError(query); !errors.Is(err, claude.ErrUsed) {
			t.Errorf("second range: %v", err)
		}
		res, err := claude.Ask(t.Context(), "hello", o)
		if err != nil || res.Text != "something later" {
			t.Errorf("Ask = %+v, %v, want the last result", res, err)
		}
		if args := o.Transport.(*double).launch.Args; !slices.Contains(args, "--system-prompt=") {
			t.Errorf("args %q, want an empty system prompt", args)
		}
	})
}

func TestQueryWithCallbacksKeepsStdinOpen(t *testing.T) {
	var order []string
	play := func(c *cli) {
		c.greet()
		id := c.prompt()
		c.begin(id)
		c.say(`{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_type":"local_agent"}]}`)
		c.result("hi", id)
		synctest.Wait()
		c.say("%s", bashRequest) // the background agent asks
		if f, ok := c.hear(); !ok || !strings.Contains(string(f.Line), `"allow"`) {
			c.t.Errorf("got %s", f.Line)
		}
		order = append(order, "answered")
		c.say(`{"type":"system","subtype":"background_tasks_changed","tasks":[]}`)
		if _, ok := c.hear(); ok {
			c.t.Error("want the end of stdin")
		}
		order = append(order, "end of stdin")
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.CanUseTool = allowAll
		res, err := claude.Ask(t.Context(), "hello", o)
		if err != nil || res.Text != "hi" || len(order) != 2 {
			t.Errorf("Ask = %+v, %v after %q", res, err, order)
		}
		if args := o.Transport.(*double).launch.Args; !slices.Contains(args, "--permission-prompt-tool=stdio") {
			t.Errorf("args %q", args)
		}
	})
}

func TestQueryOutcome(t *testing.T) {
	tests := []struct {
		name string
		play func(*cli)
		want string
		is   error
	}{
		{"error result and exit 1", func(c *cli) {
			id := c.prompt()
			c.begin(id)
			c.say(`{"type":"result","subtype":"error_max_turns","is_error":true,"terminal_reason":"max_turns","errors":["limit"]%s}`, named([]string{id}))
			c.code = 1
		}, "max_turns: limit", nil},
		{"good result and exit 1", func(c *cli) { c.answer("hi"); c.code = 1 }, "", nil},
		{"exit 0 without a result", func(c *cli) { c.begin(c.prompt()) }, "no result", claude.ErrNoResult},
		{"exit 1 without a result", func(c *cli) { c.prompt(); c.code = 1 }, "code 1", claude.ErrNoResult},
		{"exit before reading", func(c *cli) { c.code = 7 }, "code 7", claude.ErrNoResult},
		{"early result", func(c *cli) {
			c.prompt()
			c.say(`{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["No conversation found"]}`)
			c.code = 1
		}, "No conversation found", claude.ErrNoResult},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, tt.play, func(t *testing.T, o *claude.Options) {
				_, err := claude.Ask(t.Context(), "hello", o)
				if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) || tt.is != nil && !errors.Is(err, tt.is) {
					t.Errorf("error = %v, want %q", err, tt.want)
				}
			})
		})
	}
}

func TestLeavingQueryEndsTheProcess(t *testing.T) {
	for name, opts := range map[string]func(*claude.Options){"one way": func(*claude.Options) {}, "with callbacks": func(o *claude.Options) { o.CanUseTool = allowAll }} {
		t.Run(name, func(t *testing.T) {
			gone := false
			play := func(c *cli) {
				f, _ := c.hear()
				if r, err := f.Request(); err == nil && f.Type == "control_request" {
					c.succeed(r, "{}")
					f, _ = c.hear()
				}
				c.begin(f.Text("uuid"))
				c.text("working")
				<-c.stopped
				gone, c.code = true, 143
			}
			bubble(t, play, func(t *testing.T, o *claude.Options) {
				opts(o)
				for range claude.Query(t.Context(), "hello", o) {
					break
				}
				if !gone {
					t.Error("the process still runs after break")
				}
				gone = false
				ctx, cancel := context.WithCancel(t.Context())
				var last error
				for msg, err := range claude.Query(ctx, "hello", o) {
					if msg != nil && msg.Head().Type == "assistant" {
						cancel()
					}
					last = err
				}
				if !errors.Is(last, context.Canceled) || !gone {
					t.Errorf("error = %v, gone %v", last, gone)
				}
				cancel()
			})
		})
	}
}

func TestQueryHandshakeFails(t *testing.T) {
	bubble(t, func(c *cli) { c.refuse(c.request("initialize"), "no", ""); c.idle() }, func(t *testing.T, o *claude.Options) {
		o.CanUseTool = allowAll
		if err := harness.LastError(claude.Query(t.Context(), "hello", o)); !errors.Is(err, claude.ErrInitializeRefused) {
			t.Errorf("error = %v", err)
		}
	})
}
