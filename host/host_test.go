package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// echo repeats its prompt.
var echo = host.AgentFunc(func(ctx context.Context, t *host.Turn) error {
	return t.Say(ctx, strings.Join(append(t.Notes(), t.Text()), "+"))
})

// writer calls the tool Write and reports what happened to it.
var writer = host.AgentFunc(func(ctx context.Context, t *host.Turn) error {
	out, err := t.UseTool(ctx, "Write", map[string]string{"file_path": "/repo/a", "content": t.Text()},
		func(_ context.Context, in json.RawMessage) (host.ToolOutput, error) {
			return host.TextOutput("ran " + string(in)), nil
		})
	if err != nil {
		return err
	}
	return t.Say(ctx, strings.Join(append(t.Notes(), out.Content.Text()), "+"))
})

// waiter waits for the end of its context.
var waiter = host.AgentFunc(func(ctx context.Context, t *host.Turn) error {
	if t.Text() != "wait" {
		return t.Say(ctx, t.Text())
	}
	<-ctx.Done()
	return ctx.Err()
})

const ran = `ran {"content":"hi","file_path":"/repo/a"}`

func TestServeTurns(t *testing.T) {
	bubble(t, echo, nil, func(c *client) {
		c.request("r1", "initialize", "")
		if got := c.settle(); !strings.HasPrefix(got, "= r1 {") {
			t.Errorf("initialize: %s", got)
		}
		c.prompt("hi", "")
		c.want("init default", "assistant text: hi", `result success completed "hi" turns=1`)
		c.prompt("named", "u1")
		c.want("life u1 queued", "life u1 started", "init default", "assistant text: named",
			`result success completed "named" turns=1 of u1`, "life u1 completed")
		c.prompt("again", "u1")
		c.want() // the same id again is dropped
		c.send(`{"type":"user","content":"flat"}`)
		c.want("init default", "assistant text: flat", `result success completed "flat" turns=1`)
		c.send(`{"type":"user","message":{"role":"user","content":"before"},"shouldQuery":false}`)
		c.want("init default", `result success completed "" turns=0`)
		c.prompt("after", "")
		c.want("init default", "assistant text: before+after", `result success completed "before+after" turns=1`)
	})
}

// What the client writes back to back happens in that order.
func TestServeOrder(t *testing.T) {
	agent := host.AgentFunc(func(ctx context.Context, t *host.Turn) error { return t.Say(ctx, t.Model()) })
	for range 20 {
		bubble(t, agent, nil, func(c *client) {
			c.on(func(c *client, f frame) { c.reply(f, `{}`) })
			c.request("r1", "initialize", `"hooks":{"UserPromptSubmit":[{"hookCallbackIds":["cb"]}]}`)
			c.request("r2", "set_model", `"model":"m2"`)
			c.request("r3", "set_model", `"model":"m3"`)
			c.prompt("hi", "")
			c.request("r4", "set_permission_mode", `"mode":"plan"`)
			got := c.settle()
			if !strings.Contains(got, "? hook_callback cb") || !strings.Contains(got, "assistant text: m3") {
				t.Errorf("got:\n%s", got)
			}
		})
	}
}

func TestServeEnd(t *testing.T) {
	tests := []struct {
		name, line string
		want       error
	}{
		{"nothing", ``, nil},
		{"no JSON", `hello`, host.ErrLine},
		{"null", `null`, host.ErrLine},
		{"another role", `{"type":"user","message":{"role":"assistant","content":"x"}}`, host.ErrLine},
		{"no role", `{"type":"user","message":{"content":"x"}}`, host.ErrLine},
		{"no message", `{"type":"user"}`, host.ErrLine},
		{"array", `[1]`, nil},
		{"unknown type", `{"type":"nonsense"}`, nil},
		{"no type", `{"a":1}`, nil},
		{"inbound assistant", `{"type":"assistant","message":{}}`, nil},
		{"end", `{"type":"control_request","request_id":"r","request":{"subtype":"end_session"}}`, nil},
		{"failing turn", `{"type":"user","message":{"role":"user","content":"fail"}}`, host.ErrFailed},
		{"panicking turn", `{"type":"user","message":{"role":"user","content":"panic"}}`, host.ErrFailed},
	}
	agent := host.AgentFunc(func(_ context.Context, t *host.Turn) error {
		if t.Text() == "panic" {
			panic("oh")
		}
		return errors.New("no")
	})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var end *client
			bubble(t, agent, nil, func(c *client) {
				end = c
				c.send("%s", tt.line)
				synctest.Wait()
			})
			if !errors.Is(end.err, tt.want) || tt.want == nil && end.err != nil {
				t.Errorf("Serve = %v, want %v", end.err, tt.want)
			}
		})
	}
}

// A client that goes away while it is asked has refused; the turn is finished.
func TestServeInputEndsInQuestion(t *testing.T) {
	bubble(t, writer, &host.Options{PromptTool: true}, func(c *client) {
		c.prompt("hi", "")
		c.want("init default", "assistant tool_use: Write", "? can_use_tool Write")
		c.in.Close()
		c.want("user tool_result: ERROR Tool permission request failed: stream closed before response received",
			"assistant text: Tool permission request failed: stream closed before response received",
			`result success completed "Tool permission request failed: stream closed before response received" turns=2 denials=1`)
	})
}

func TestServeInputEndsAtOnce(t *testing.T) {
	bubble(t, echo, nil, func(c *client) {
		c.request("r1", "initialize", "")
		c.prompt("a", "u1")
		c.in.Close()
		got := c.settle()
		for _, want := range []string{"= r1 {", `result success completed "a"`, "life u1 completed"} {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in:\n%s", want, got)
			}
		}
	})
}

func TestServeContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("SIGTERM")
		done := make(chan error, 1)
		out := new(strings.Builder)
		in := strings.NewReader(`{"type":"user","message":{"role":"user","content":"wait"}}` + "\n")
		go func() { done <- host.Serve(ctx, stream{in, out}, waiter, nil) }()
		synctest.Wait()
		cancel(stop)
		if err := <-done; !errors.Is(err, stop) {
			t.Errorf("Serve = %v, want %v", err, stop)
		}
		if strings.Contains(out.String(), `"result"`) {
			t.Errorf("a killed turn has a result: %s", out)
		}
	})
}

func TestInterrupt(t *testing.T) {
	bubble(t, waiter, nil, func(c *client) {
		c.prompt("wait", "u1")
		c.want("life u1 queued", "life u1 started", "init default")
		c.prompt("b", "u2")
		c.prompt("c", "u3")
		c.prompt("d", "")
		c.want("life u2 queued", "life u3 queued")
		c.request("r1", "interrupt", "")
		c.want(`= r1 {"still_queued":["u2","u3"]}`, "user text: [Request interrupted by user]",
			`result error_during_execution aborted_streaming "" turns=2 of u1`, "life u1 cancelled",
			"life u2 started", "life u3 started", "init default", "assistant text: b\nc",
			`result success completed "b\nc" turns=1 of u2,u3`, "life u2 completed", "life u3 completed",
			"init default", "assistant text: d", `result success completed "d" turns=1`)
		c.request("r2", "interrupt", "") // idle: harmless
		c.want(`= r2 {"still_queued":[]}`)
		c.prompt("wait", "u4")
		c.prompt("e", "u5")
		c.prompt("f", "u6")
		c.settle()
		c.request("r3", "cancel_async_message", `"message_uuid":"u5"`)
		c.request("r4", "cancel_async_message", `"message_uuid":"u4"`)
		got := c.settle()
		for _, want := range []string{`= r3 {"cancelled":true}`, "life u5 cancelled", `= r4 {"cancelled":false}`} {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in:\n%s", want, got)
			}
		}
		c.request("r5", "interrupt", `"cancel_queued":true`)
		c.want(`= r5 {"still_queued":[],"cancelled":["u6"]}`, "life u6 cancelled", "user text: [Request interrupted by user]",
			`result error_during_execution aborted_streaming "" turns=2 of u4`, "life u4 cancelled")
	})
}

// An interrupt that is written right behind the prompt ends its turn, however
// far the turn has come by then, even when a hook is being asked.
func TestInterruptAtOnce(t *testing.T) {
	for range 20 {
		bubble(t, waiter, nil, func(c *client) {
			c.prompt("wait", "u1")
			c.request("r1", "interrupt", "")
			got := c.settle()
			want := "user text: [Request interrupted by user]\n" +
				`result error_during_execution aborted_streaming "" turns=2 of u1` + "\nlife u1 cancelled"
			if !strings.HasSuffix(got, want) || !strings.Contains(got, "init default") {
				t.Errorf("got:\n%s\nwant init, and at the end:\n%s", got, want)
			}
		})
	}
	bubble(t, waiter, nil, func(c *client) {
		c.request("r1", "initialize", `"hooks":{"UserPromptSubmit":[{"hookCallbackIds":["cb"]}]}`)
		c.settle()
		c.prompt("wait", "u1")
		c.want("life u1 queued", "life u1 started", "? hook_callback cb")
		c.request("r2", "interrupt", "")
		c.want(`= r2 {"still_queued":[]}`, "cancel", "init default", "user text: [Request interrupted by user]",
			`result error_during_execution aborted_streaming "" turns=0 of u1`, "life u1 cancelled")
	})
}

func TestInterruptWhileStreaming(t *testing.T) {
	agent := host.AgentFunc(func(ctx context.Context, t *host.Turn) error {
		a, err := t.Answer(ctx)
		if err != nil {
			return err
		}
		_ = a.Text(ctx, func(yield func(string) bool) {
			for _, w := range []string{"one ", "two ", "three"} {
				if !yield(w) {
					return
				}
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
				}
			}
		})
		_, err = a.End(ctx)
		return err
	})
	bubble(t, agent, &host.Options{PartialMessages: true}, func(c *client) {
		c.prompt("go", "")
		<-time.After(1500 * time.Millisecond)
		c.request("r1", "interrupt", "")
		c.want("init default", "status requesting", "event message_start", "event content_block_start",
			"event content_block_delta one", "event content_block_delta two", `= r1 {"still_queued":[]}`,
			"assistant text: one two  (aborted)", "user text: [Request interrupted by user]",
			"event content_block_stop", "event message_delta", "event message_stop",
			`result error_during_execution aborted_streaming "" turns=2`)
	})
}

// A tool that runs, and a question that is open, are both ended by an
// interrupt; only the question is withdrawn and counts as a denial.
func TestInterruptTool(t *testing.T) {
	agent := host.AgentFunc(func(ctx context.Context, t *host.Turn) error {
		_, err := t.UseTool(ctx, "Bash", map[string]string{"command": "sleep"}, func(ctx context.Context, _ json.RawMessage) (host.ToolOutput, error) {
			<-ctx.Done()
			return host.ToolOutput{}, ctx.Err()
		})
		if !errors.Is(err, host.ErrOver) {
			return errors.New("not told that the turn is over")
		}
		return err
	})
	const stopped = "user tool_result: ERROR The user stopped this tool call. It had no effect; wait for what the user says next."
	bubble(t, agent, &host.Options{PromptTool: true}, func(c *client) {
		c.prompt("go", "")
		c.want("init default", "assistant tool_use: Bash", "? can_use_tool Bash")
		c.request("r1", "interrupt", "")
		got := c.settle()
		want := []string{`= r1 {"still_queued":[]}`, "cancel", stopped, "user text: [Request interrupted by user for tool use]",
			`result error_during_execution aborted_tools "" turns=3 denials=1`}
		lines := strings.Split(got, "\n")
		slices.Sort(lines) // the cancel notice goes out on its own
		slices.Sort(want)
		if !slices.Equal(lines, want) {
			t.Errorf("got:\n%s", got)
		}
	})
	bubble(t, agent, &host.Options{Allow: []string{"Bash"}}, func(c *client) {
		c.prompt("go", "")
		c.settle()
		c.request("r1", "interrupt", "")
		c.want(`= r1 {"still_queued":[]}`, stopped, "user text: [Request interrupted by user for tool use]",
			`result error_during_execution aborted_tools "" turns=3`)
	})
}

func TestOperations(t *testing.T) {
	opts := &host.Options{Model: "m1", Operations: map[string]host.Operation{
		"own":  func(context.Context, []byte) (any, error) { return map[string]int{"n": 1}, nil },
		"sour": func(context.Context, []byte) (any, error) { return nil, &host.OperationError{Message: "no", Code: "c"} },
	}}
	rewinds := *opts
	rewinds.Rewind = func(_ context.Context, id string, dryRun bool) (*control.Rewind, error) {
		if id != "u" {
			return nil, errors.New("no file checkpoint found for this message")
		}
		return &control.Rewind{CanRewind: dryRun}, nil
	}
	bubble(t, host.AgentFunc(echo.Turn), &rewinds, func(c *client) { // whatever wraps the agent
		for members, want := range map[string]string{
			`"user_message_id":"u","dry_run":true`: `= r {"canRewind":true`, `"user_message_id":"u"`: `= r {"canRewind":false`,
			`"user_message_id":"x"`: "! r no file checkpoint found for this message",
		} {
			c.request("r", "rewind_files", members)
			if got := c.settle(); !strings.HasPrefix(got, want) {
				t.Errorf("rewind_files %s: got %s, want %s", members, got, want)
			}
		}
	})
	bubble(t, echo, opts, func(c *client) {
		for _, tt := range []struct{ subtype, members, want string }{
			{"own", "", `= r {"n":1}`},
			{"sour", "", "! r no"},
			{"bogus", "", "! r Unsupported control request subtype: bogus"},
			{"set_permission_mode", `"mode":"plan"`, "= r {\"mode\":\"plan\"}\nstatus plan"},
			{"set_permission_mode", `"mode":"bogus"`, "! r Cannot set permission mode: must be one of acceptEdits, auto, bypassPermissions, default, dontAsk, plan"},
			{"set_permission_mode", `"mode":"bypassPermissions"`, "! r Cannot set permission mode to bypassPermissions: the session was not launched for it"},
			{"set_model", `"model":"m2"`, "user text: <local-command-stdout>Set model to `m2`</local-command-stdout>\n= r {\"model\":\"m2\"}"},
			{"set_model", `"model":null`, "user text: <local-command-stdout>Set model to `m1`</local-command-stdout>\n= r {\"model\":\"m1\"}"},
			{"set_model", `"model":""`, "! r set_model: no such model"},
			{"set_model", `"model":5`, "! r set_model: model must be a string"},
			{"set_max_thinking_tokens", `"max_thinking_tokens":5`, "= r "},
			{"rewind_files", `"user_message_id":"u"`, "! r file rewinding is not enabled"},
			{"mcp_status", "", `= r {"mcpServers":[]}`},
			{"get_binary_version", "", `= r {"version":"2.1.325"}`},
			{"initialize", `"hooks":{"PreToolUse":[{"matcher":5,"hookCallbackIds":["a"]}]}`, "! r invalid hooks: matcher of PreToolUse is not a string"},
			{"initialize", `"hooks":{"Bogus":[{"hookCallbackIds":["a"]}]}`, "= r {"},
		} {
			c.request("r", tt.subtype, tt.members)
			if got := c.settle(); !strings.HasPrefix(got, tt.want) {
				t.Errorf("%s %s: got %s, want %s", tt.subtype, tt.members, got, tt.want)
			}
		}
		for _, subtype := range []string{"get_settings", "get_context_usage", "get_usage", "get_session_cost", "list_models", "list_permission_rules"} {
			c.request("r", subtype, "")
			if got := c.settle(); !strings.HasPrefix(got, "= r {") {
				t.Errorf("%s: %s", subtype, got)
			}
		}
		// Ids are echoed as given, whatever they are.
		c.send(`{"type":"control_request","request_id":7,"request":{"subtype":"own"}}`)
		synctest.Wait()
		if raw := c.frames[0].raw; !strings.Contains(raw, `"request_id":7`) {
			t.Errorf("numeric id: %s", raw)
		}
	})
}

func TestMaxTurnsAndResult(t *testing.T) {
	agent := host.AgentFunc(func(ctx context.Context, t *host.Turn) error {
		t.Spend(message.Usage{InputTokens: 10, OutputTokens: 5}, 0.25)
		t.SetStructuredOutput(json.RawMessage(`{"a":1}`))
		for {
			if err := t.Say(ctx, "more"); err != nil {
				return err
			}
		}
	})
	bubble(t, agent, &host.Options{MaxTurns: 2, Model: "m1"}, func(c *client) {
		c.prompt("a", "")
		c.prompt("b", "")
		synctest.Wait()
		last := c.frames[len(c.frames)-1]
		var r message.Result
		if err := json.Unmarshal([]byte(last.raw), &r); err != nil {
			t.Fatal(err)
		}
		if r.Subtype != message.ResultErrorMaxTurns || !r.IsError || r.TerminalReason != message.EndMaxTurns || *r.ResultIndex != 1 ||
			r.TotalCostUSD != 0.5 || r.Usage.InputTokens != 10 || r.ModelUsage["m1"].OutputTokens != 10 || string(r.StructuredOutput) != `{"a":1}` {
			t.Errorf("result %s", last.raw)
		}
	})
}

func TestReplayAndState(t *testing.T) {
	bubble(t, echo, &host.Options{ReplayUserMessages: true, StateEvents: true, Mode: permission.ModePlan}, func(c *client) {
		c.prompt("hi", "u1")
		c.want("session_state_changed running", "life u1 queued", "life u1 started", "init plan", "user text: hi",
			"assistant text: hi", `result success completed "hi" turns=1 of u1`, "life u1 completed", "session_state_changed idle")
	})
}

// An interrupt is for what the CLI has read before it. Here it has to wait, because the
// client does not read, and by then the prompts behind it are there too.
func TestInterruptBeforePrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		heard, said := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			defer said.Close()
			ended <- host.Serve(t.Context(), stream{in, said}, waiter, &host.Options{SessionID: "s-1", Cwd: "/repo"})
		}()
		c := &client{t: t, in: out}
		c.request("r1", "get_binary_version", "") // its answer is never read
		c.request("r2", "interrupt", `"cancel_queued":true`)
		c.prompt("a", "u1")
		c.prompt("b", "u2")
		synctest.Wait()
		go c.read(heard)
		got := c.settle()
		for _, want := range []string{`= r2 {"still_queued":[]}`, `result success completed "a" turns=1 of u1`, `result success completed "b" turns=1 of u2`} {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in:\n%s", want, got)
			}
		}
		out.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
