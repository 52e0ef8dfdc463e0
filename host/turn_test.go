package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// trusting are options under which every tool may run.
func trusting() *host.Options {
	return &host.Options{SessionID: "s-1", Cwd: "/repo", Mode: permission.ModeBypassPermissions}
}

// calling is an agent that gives one answer with tool calls.
func calling(calls ...host.Call) host.Agent {
	return host.AgentFunc(func(ctx context.Context, t *host.Turn) error {
		a, err := t.Answer(ctx)
		if err != nil {
			return err
		}
		for _, c := range calls {
			_ = a.Use(ctx, c) // End has the error
		}
		_, err = a.End(ctx)
		return err
	})
}

func TestNoToolRunsAfterAnInterrupt(t *testing.T) {
	var ran atomic.Bool
	first := host.Call{Name: "A", Run: func(ctx context.Context, _ json.RawMessage) (host.ToolOutput, error) {
		<-ctx.Done()
		return host.ToolOutput{}, ctx.Err()
	}}
	second := host.Call{Name: "B", Run: func(context.Context, json.RawMessage) (host.ToolOutput, error) {
		ran.Store(true)
		return host.TextOutput("done"), nil
	}}
	bubble(t, calling(first, second), trusting(), func(c *client) {
		c.prompt("x", "")
		c.settle()
		c.request("r1", "interrupt", "")
		out := c.settle()
		if n := strings.Count(out, "user tool_result: ERROR"); n != 2 {
			t.Errorf("%d results of 2 calls:\n%s", n, out)
		}
	})
	if ran.Load() {
		t.Error("the second tool ran after the interrupt")
	}
}

func TestServeEndsWhileNobodyReads(t *testing.T) {
	for name, lines := range map[string][]string{
		"turn":    {`{"type":"user","message":{"role":"user","content":"x"}}`},
		"request": {`{"type":"control_request","request_id":"r","request":{"subtype":"get_usage"}}`, `{"type":"user","uuid":"u","message":{"role":"user","content":"x"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inR, inW := io.Pipe()
				outR, outW := io.Pipe()
				defer outR.Close()
				defer inW.Close()
				stop := errors.New("stop")
				ctx, cancel := context.WithCancelCause(t.Context())
				done := make(chan error, 1)
				go func() {
					done <- host.Serve(ctx, stream{inR, outW}, host.AgentFunc(func(ctx context.Context, t *host.Turn) error {
						return t.Say(ctx, "hi")
					}), nil)
				}()
				for _, line := range lines {
					fmt.Fprintln(inW, line)
				}
				synctest.Wait()
				cancel(stop)
				select {
				case err := <-done:
					if !errors.Is(err, stop) {
						t.Errorf("Serve = %v, want the cause", err)
					}
				case <-time.After(time.Hour):
					t.Error("Serve continues after the end of its context")
				}
			})
		})
	}
}

func TestToolPanicIsItsError(t *testing.T) {
	for _, readOnly := range []bool{true, false} {
		boom := host.Call{Name: "A", ReadOnly: readOnly, Run: func(context.Context, json.RawMessage) (host.ToolOutput, error) { panic("boom") }}
		bubble(t, calling(boom), trusting(), func(c *client) {
			c.prompt("x", "")
			out := c.settle()
			if !strings.Contains(out, "user tool_result: ERROR the tool panicked: boom") || !strings.Contains(out, "result success") {
				t.Errorf("read-only %v:\n%s", readOnly, out)
			}
		})
	}
}

func TestFireSaysWhenAGateIsClosed(t *testing.T) {
	replies := map[string]string{"silent": "", "foreign": `{"hookSpecificOutput":{"hookEventName":"Stop"}}`}
	for name, reply := range replies {
		t.Run(name, func(t *testing.T) {
			var out host.HookOutcome
			agent := host.AgentFunc(func(ctx context.Context, tn *host.Turn) (err error) {
				out, err = tn.Fire(ctx, hook.EventPreToolUse, "A", nil)
				return err
			})
			bubble(t, agent, nil, func(c *client) {
				c.on(func(c *client, f frame) {
					if reply != "" {
						c.reply(f, reply)
					}
				})
				c.request("i", "initialize", `"hooks":{"PreToolUse":[{"hookCallbackIds":["p"],"timeout":1}]}`)
				c.settle()
				c.prompt("x", "")
				<-time.After(time.Minute)
				c.settle()
			})
			if !out.Blocked || out.Reason == "" {
				t.Errorf("outcome %+v, want Blocked with a Reason", out)
			}
		})
	}
}

func TestManyHooksAreAllAsked(t *testing.T) {
	const many = 200
	ran := false
	tool := host.Call{Name: "A", Run: func(context.Context, json.RawMessage) (host.ToolOutput, error) {
		ran = true
		return host.TextOutput("done"), nil
	}}
	bubble(t, calling(tool), trusting(), func(c *client) {
		c.on(func(c *client, f frame) {
			<-time.After(time.Second)
			reply := "{}"
			if strings.Contains(string(f.Request), fmt.Sprintf(`"h%d"`, many-1)) {
				reply = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}`
			}
			c.reply(f, reply)
		})
		ids := slices.Collect(func(yield func(string) bool) {
			for i := range many {
				if !yield(fmt.Sprintf(`"h%d"`, i)) {
					return
				}
			}
		})
		c.request("i", "initialize", `"hooks":{"PreToolUse":[{"hookCallbackIds":[`+strings.Join(ids, ",")+`]}]}`)
		c.settle()
		c.prompt("x", "")
		<-time.After(time.Minute)
		if n := strings.Count(c.settle(), "? hook_callback"); n != many {
			t.Errorf("%d hooks were asked, want %d", n, many)
		}
	})
	if ran {
		t.Error("the tool ran although the last hook denied it")
	}
}

func TestEditResultMayUseTheTurn(t *testing.T) {
	agent := host.AgentFunc(func(_ context.Context, t *host.Turn) error {
		t.EditResult(func(r *message.Result) { r.Text = fmt.Sprint(len(t.Notes()), " notes") })
		return nil
	})
	bubble(t, agent, nil, func(c *client) {
		c.prompt("x", "")
		if out := c.settle(); !strings.Contains(out, `"0 notes"`) {
			t.Errorf("host wrote:\n%s", out)
		}
	})
}

func TestToolsMayAnswer(t *testing.T) {
	agent := host.AgentFunc(func(ctx context.Context, t *host.Turn) error {
		_, err := t.UseTool(ctx, "Agent", nil, func(ctx context.Context, _ json.RawMessage) (host.ToolOutput, error) {
			return host.TextOutput("x"), t.Say(ctx, "inside")
		})
		return err
	})
	bubble(t, agent, trusting(), func(c *client) {
		c.prompt("x", "")
		c.want("init bypassPermissions", "assistant tool_use: Agent", "assistant text: inside", "user tool_result: x",
			`result success completed "inside" turns=2`)
	})
}

func TestOversizedLineEndsTheSession(t *testing.T) {
	agent := host.AgentFunc(func(ctx context.Context, t *host.Turn) error { return t.Say(ctx, "hi") })
	bubble(t, agent, &host.Options{LineLimit: 1000}, func(c *client) {
		c.prompt(strings.Repeat("x", 2000), "")
		c.want("")
		<-c.done
		if !errors.Is(c.err, host.ErrLine) {
			t.Errorf("Serve = %v, want ErrLine", c.err)
		}
	})
}
