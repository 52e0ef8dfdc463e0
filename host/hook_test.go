package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/host"
)

// register sends initialize with one hook.
func (c *client) register(event, matcher string) {
	c.request("init", "initialize", fmt.Sprintf(`"hooks":{%q:[{%s"hookCallbackIds":["cb"]}]}`, event, matcher))
	c.settle()
}

// answers replies to hooks with one text and allows every tool.
func answers(payload string) func(*client, frame) {
	return func(c *client, f frame) {
		if strings.Contains(string(f.Request), `"hook_callback"`) {
			c.reply(f, payload)
		} else {
			c.reply(f, `{"behavior":"allow"}`)
		}
	}
}

func TestMatchers(t *testing.T) {
	tests := []struct {
		matcher string
		want    bool
	}{
		{``, true}, {`"matcher":null,`, true}, {`"matcher":"",`, true}, {`"matcher":"*",`, true},
		{`"matcher":"Write",`, true}, {`"matcher":"write",`, false}, {`"matcher":"Edit|Write",`, true},
		{`"matcher":"Edit, Write",`, true}, {`"matcher":"Wri|Edit",`, false}, {`"matcher":".ri",`, true},
		{`"matcher":"^Wr",`, true}, {`"matcher":"^ite$",`, false}, {`"matcher":"(",`, false}, {`"matcher":"mcp__.*",`, false},
	}
	for _, tt := range tests {
		bubble(t, writer, &host.Options{PromptTool: true}, func(c *client) {
			c.register("PreToolUse", tt.matcher)
			c.prompt("hi", "")
			if got := strings.Contains(c.settle(), "? hook_callback cb"); got != tt.want {
				t.Errorf("matcher %s: called %v, want %v", tt.matcher, got, tt.want)
			}
		})
	}
}

// A matcher of an event that has none does not count, whatever the agent names
// as the subject.
func TestMatcherOfNothing(t *testing.T) {
	agent := host.AgentFunc(func(ctx context.Context, turn *host.Turn) error {
		_, err := turn.Fire(ctx, hook.EventTaskCreated, "a task", map[string]any{})
		return err
	})
	bubble(t, agent, nil, func(c *client) {
		c.on(answers(`{}`))
		c.register("TaskCreated", `"matcher":"other",`)
		c.prompt("hi", "")
		if got := c.settle(); !strings.Contains(got, "? hook_callback cb") {
			t.Errorf("not called:\n%s", got)
		}
	})
}

// Every answer to PreToolUse has the effect it has with the CLI.
func TestPreToolUseAnswers(t *testing.T) {
	specific := func(rest string) string { return `{"hookSpecificOutput":{"hookEventName":"PreToolUse",` + rest + `}}` }
	tests := []struct {
		name, reply string
		asked       bool
		want        string
	}{
		{"nothing", `{}`, true, ran},
		{"allow", specific(`"permissionDecision":"allow"`), false, ran},
		{"deny", specific(`"permissionDecision":"deny","permissionDecisionReason":"no"`), false, "ERROR PreToolUse:Write hook error: no / denied"},
		{"ask", specific(`"permissionDecision":"ask","permissionDecisionReason":"hm"`), true, ran},
		{"new input", specific(`"updatedInput":{"content":"new"}`), true, `ran {"content":"new"}`},
		{"allow new input", specific(`"permissionDecision":"allow","updatedInput":{"content":"new"}`), false, `ran {"content":"new"}`},
		{"block", `{"decision":"block","reason":"no"}`, false, "ERROR PreToolUse:Write hook error: no / denied"},
		{"approve", `{"decision":"approve"}`, false, ran},
		{"stop", `{"continue":false}`, true, ran}, // the tool still runs
		{"async", `{"async":true,"decision":"block"}`, true, ran},
		{"no event name", `{"hookSpecificOutput":{"permissionDecision":"deny"}}`, true, ran},
		{"bad decision", specific(`"permissionDecision":"maybe"`), true, ran},
		{"text", `"hello"`, true, ran},
		{"another event", `{"hookSpecificOutput":{"hookEventName":"PostToolUse"}}`, false,
			"ERROR PreToolUse hook failed: its answer names another event. Nothing was done."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, writer, &host.Options{PromptTool: true}, func(c *client) {
				c.on(answers(tt.reply))
				c.register("PreToolUse", "")
				c.prompt("hi", "")
				got := c.settle()
				if asked := strings.Contains(got, "? can_use_tool"); asked != tt.asked {
					t.Errorf("asked %v, want %v", asked, tt.asked)
				}
				if v := verdict(got); v != tt.want {
					t.Errorf("got %q, want %q", v, tt.want)
				}
				if stopped := strings.Contains(got, "hook_stopped"); stopped != (tt.name == "stop") {
					t.Errorf("stopped %v:\n%s", stopped, got)
				}
				if tt.name == "bad decision" && !strings.Contains(got, "treated as empty") {
					t.Errorf("no notice:\n%s", got)
				}
			})
		})
	}
}

func TestHookDefer(t *testing.T) {
	bubble(t, writer, &host.Options{PromptTool: true}, func(c *client) {
		c.on(answers(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"defer"}}`))
		c.register("PreToolUse", "")
		c.prompt("hi", "")
		synctest.Wait()
		last := c.frames[len(c.frames)-1].raw
		if !strings.Contains(last, `"tool_deferred"`) || !strings.Contains(last, `"deferred_tool_use":{`) {
			t.Errorf("result %s", last)
		}
	})
}

// Of several answers the strictest counts, and all callbacks run at once.
func TestHookPrecedence(t *testing.T) {
	reply := map[string]string{"a": "allow", "b": "deny", "c": "ask"}
	bubble(t, writer, &host.Options{PromptTool: true}, func(c *client) {
		began := time.Now()
		c.on(func(c *client, f frame) {
			var r struct {
				ID string `json:"callback_id"`
			}
			_ = json.Unmarshal(f.Request, &r)
			<-time.After(time.Second)
			c.reply(f, fmt.Sprintf(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":%q,"permissionDecisionReason":%q}}`, reply[r.ID], r.ID))
		})
		c.request("init", "initialize", `"hooks":{"PreToolUse":[{"hookCallbackIds":["a","b"]},{"matcher":"Write","hookCallbackIds":["c"]}]}`)
		c.prompt("hi", "")
		<-time.After(1500 * time.Millisecond)
		if got := verdict(c.settle()); got != "ERROR PreToolUse:Write hook error: b / denied" {
			t.Errorf("got %q after %v", got, time.Since(began))
		}
	})
}

// Of two answers the stricter counts, in either order.
func TestHookRanks(t *testing.T) {
	ranks := []string{"allow", "ask", "defer", "deny"}
	signs := map[string]string{"ask": `"can_use_tool"`, "defer": `"tool_deferred"`, "deny": "hook error"}
	for strict := range ranks {
		for lax := range strict {
			for _, answers := range [][2]string{{ranks[strict], ranks[lax]}, {ranks[lax], ranks[strict]}} {
				bubble(t, writer, &host.Options{PromptTool: true}, func(c *client) {
					c.on(func(c *client, f frame) {
						var r struct {
							ID string `json:"callback_id"`
						}
						if json.Unmarshal(f.Request, &r) != nil || r.ID == "" {
							return // the question of "ask"
						}
						c.reply(f, fmt.Sprintf(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":%q}}`, r.ID))
					})
					c.request("init", "initialize", fmt.Sprintf(`"hooks":{"PreToolUse":[{"hookCallbackIds":[%q,%q]}]}`, answers[0], answers[1]))
					c.prompt("hi", "")
					synctest.Wait()
					var all strings.Builder
					for _, f := range c.frames {
						all.WriteString(f.raw + "\n")
					}
					for other, sign := range signs {
						shown := strings.Contains(all.String(), sign)
						if shown != (other == ranks[strict]) {
							t.Errorf("%v: %s shows: %v\n%s", answers, other, shown, all.String())
						}
					}
				})
			}
		}
	}
}

// A gate that does not answer in its time stays closed; the question is
// withdrawn, and an answer that comes later changes nothing.
func TestHookTimeout(t *testing.T) {
	bubble(t, writer, &host.Options{PromptTool: true}, func(c *client) {
		c.register("PreToolUse", `"timeout":1.5,`)
		c.prompt("hi", "")
		synctest.Wait()
		late := c.frames[len(c.frames)-1]
		<-time.After(1400 * time.Millisecond)
		if got := c.settle(); strings.Contains(got, "cancel") {
			t.Errorf("too early: %s", got)
		}
		<-time.After(200 * time.Millisecond)
		got := c.settle()
		if verdict(got) != "ERROR PreToolUse hook did not answer in time. Nothing was done." || !strings.Contains(got, "cancel") {
			t.Errorf("got:\n%s", got)
		}
		c.reply(late, `{"decision":"approve"}`)
		c.want()
	})
	bubble(t, echo, nil, func(c *client) {
		c.register("UserPromptSubmit", `"timeout":1,`)
		c.prompt("hi", "")
		<-time.After(2 * time.Second)
		if got := c.settle(); strings.Contains(got, "assistant") || !strings.Contains(got, `result success`) {
			t.Errorf("got:\n%s", got)
		}
	})
	bubble(t, echo, nil, func(c *client) {
		c.register("Stop", `"timeout":1,`)
		c.prompt("hi", "")
		<-time.After(2 * time.Second)
		if got := c.settle(); !strings.Contains(got, `result success completed "hi"`) {
			t.Errorf("got:\n%s", got)
		}
	})
}

// The client reads that a hook is no longer awaited before it reads the outcome of
// that.
func TestHookTimeoutIsToldFirst(t *testing.T) {
	for range 100 {
		bubble(t, writer, &host.Options{PromptTool: true}, func(c *client) {
			c.register("PreToolUse", `"timeout":1,`)
			c.prompt("hi", "")
			<-time.After(2 * time.Second)
			got := c.settle()
			withdrawn, result := strings.Index(got, "cancel"), strings.Index(got, "tool_result")
			if withdrawn < 0 || result < withdrawn {
				t.Fatalf("got:\n%s", got)
			}
		})
	}
}

func TestHookOnFailure(t *testing.T) {
	fail := func(c *client, f frame) {
		if strings.Contains(string(f.Request), `"hook_callback"`) {
			c.send(`{"type":"control_response","response":{"subtype":"error","request_id":%q,"error":"boom"}}`, f.RequestID)
		} else {
			c.reply(f, `{"behavior":"allow"}`)
		}
	}
	for policy, want := range map[string]string{
		"":                     ran,
		`"onFailure":"block",`: "ERROR PreToolUse hook failed, and its registration wants that to block. / denied",
	} {
		bubble(t, writer, &host.Options{PromptTool: true}, func(c *client) {
			c.on(fail)
			c.register("PreToolUse", policy)
			c.prompt("hi", "")
			if got := verdict(c.settle()); got != want {
				t.Errorf("%s: got %q, want %q", policy, got, want)
			}
		})
	}
}

func TestPromptHooks(t *testing.T) {
	for _, tt := range []struct{ reply, want string }{
		{`{"decision":"block","reason":"no"}`, `"UserPromptSubmit operation blocked by hook:\nno\n\nOriginal prompt: hi" turns=0`},
		{`{"continue":false,"stopReason":"enough"}`, `"Operation stopped by hook: enough" turns=0`},
		{`{"systemMessage":"careful"}`, `completed "hi" turns=1`},
		{`{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"ctx"}}`, `completed "ctx+hi" turns=1`},
	} {
		bubble(t, echo, nil, func(c *client) {
			c.on(answers(tt.reply))
			c.register("UserPromptSubmit", "")
			c.prompt("hi", "")
			if got := c.settle(); !strings.Contains(got, tt.want) {
				t.Errorf("%s: got:\n%s\nwant %s", tt.reply, got, tt.want)
			}
		})
	}
}

func TestStopHooks(t *testing.T) {
	bubble(t, echo, nil, func(c *client) {
		c.on(func(c *client, f frame) {
			if strings.Contains(f.raw, `"stop_hook_active":true`) {
				c.reply(f, `{}`)
			} else {
				c.reply(f, `{"decision":"block","reason":"continue"}`)
			}
		})
		c.register("Stop", "")
		c.prompt("hi", "")
		c.want("init default", "assistant text: hi", "? hook_callback cb", "assistant text: continue+hi", "? hook_callback cb",
			`result success completed "continue+hi" turns=1`)
		c.on(answers(`{"continue":false}`))
		c.prompt("hi", "")
		if got := c.settle(); !strings.Contains(got, "stop_hook_prevented") {
			t.Errorf("got:\n%s", got)
		}
	})
}

func TestPostHooks(t *testing.T) {
	for _, tt := range []struct{ reply, want string }{
		{`{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":{"a":1}}}`, `"tool_use_result":{"a":1}`},
		{`{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"ctx"}}`, `ctx+ran`},
		{`{"decision":"block","reason":"hm"}`, `hm+ran`},
		{`{"continue":false}`, `"terminal_reason":"hook_stopped"`},
	} {
		bubble(t, writer, &host.Options{Allow: []string{"Write"}}, func(c *client) {
			c.on(answers(tt.reply))
			c.register("PostToolUse", "")
			c.prompt("hi", "")
			synctest.Wait()
			var all strings.Builder
			for _, f := range c.frames {
				all.WriteString(f.raw + "\n")
			}
			if !strings.Contains(all.String(), tt.want) {
				t.Errorf("%s: no %s in:\n%s", tt.reply, tt.want, &all)
			}
		})
	}
}

// The PermissionRequest hook and the client are asked together: the first
// answer counts, the other question is withdrawn.
func TestPermissionRequestHook(t *testing.T) {
	tests := []struct{ reply, want string }{
		{`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow","updatedInput":{"content":"h"}}}}`, `ran {"content":"h"}`},
		{`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"no"}}}`, "ERROR no / denied"},
	}
	for _, tt := range tests {
		bubble(t, writer, &host.Options{PromptTool: true}, func(c *client) {
			c.on(func(c *client, f frame) {
				if strings.Contains(string(f.Request), `"hook_callback"`) {
					c.reply(f, tt.reply)
				}
			})
			c.register("PermissionRequest", "")
			c.prompt("hi", "")
			got := c.settle()
			if verdict(got) != tt.want || !strings.Contains(got, "? can_use_tool Write\n? hook_callback cb") || !strings.Contains(got, "cancel") {
				t.Errorf("got:\n%s", got)
			}
		})
	}
	bubble(t, writer, &host.Options{PromptTool: true}, func(c *client) {
		c.on(answers(`{}`)) // no opinion: the client decides
		c.register("PermissionRequest", "")
		c.prompt("hi", "")
		if got := verdict(c.settle()); got != ran {
			t.Errorf("got %s", got)
		}
	})
}

func TestHookInput(t *testing.T) {
	agent := host.AgentFunc(func(ctx context.Context, turn *host.Turn) error {
		_, err := turn.Fire(ctx, hook.EventNotification, "idle_prompt", map[string]string{"message": "hello", "notification_type": "idle_prompt"})
		return err
	})
	bubble(t, agent, &host.Options{SessionID: "s-9", Cwd: "/repo"}, func(c *client) {
		c.register("Notification", `"matcher":"idle_prompt",`)
		c.prompt("hi", "")
		synctest.Wait()
		var r struct {
			Input struct {
				hook.Base
				Message string `json:"message"`
			} `json:"input"`
			ToolUseID string `json:"tool_use_id"`
		}
		if err := json.Unmarshal(c.frames[len(c.frames)-1].Request, &r); err != nil {
			t.Fatal(err)
		}
		if r.Input.SessionID != "s-9" || r.Input.Cwd != "/repo" || r.Input.HookEventName != "Notification" || r.Input.Message != "hello" ||
			r.Input.PermissionMode != "default" || r.Input.PromptID == "" || r.ToolUseID == "" {
			t.Errorf("input %+v", r)
		}
	})
}
