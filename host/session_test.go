package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// ask sends a request and decodes the payload of its answer.
func ask[T any](c *client, subtype string) (payload T) {
	c.t.Helper()
	c.request("r", subtype, "")
	synctest.Wait()
	var reply struct {
		Response struct {
			Response T `json:"response"`
		} `json:"response"`
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := json.Unmarshal([]byte(c.frames[len(c.frames)-1].raw), &reply); err != nil {
		c.t.Fatal(err)
	}
	return reply.Response.Response
}

// A session reports its actual events, and the options it was started with.
func TestReportsOfASession(t *testing.T) {
	agent := host.AgentFunc(func(ctx context.Context, t *host.Turn) error {
		t.Spend(message.Usage{InputTokens: 10, OutputTokens: 5}, 0.25)
		return t.Say(ctx, "hi")
	})
	o := &host.Options{SessionID: "s-1", Cwd: "/repo", Model: "m1", Allow: []string{"Bash(ls *)", "Odd(tool"}, Deny: []string{"Write"}}
	bubble(t, agent, o, func(c *client) {
		c.prompt("a", "")
		c.prompt("b", "")
		c.settle()
		if u := ask[control.ContextUsage](c, "get_context_usage"); u.TotalTokens != 30 || u.Categories[1].Tokens != u.MaxTokens-30 || u.Model != "m1" {
			t.Errorf("usage %+v", u)
		}
		rules := ask[control.PermissionRules](c, "list_permission_rules")
		got := fmt.Sprintf("%s %s", rules.Rules, rules.OriginalCwd)
		if want := `[{"behavior":"deny","toolName":"Write"} {"behavior":"allow","toolName":"Bash","ruleContent":"ls *"} {"behavior":"allow","toolName":"Odd(tool"}] /repo`; got != want {
			t.Errorf("rules %s\nwant  %s", got, want)
		}
	})
}

// Every message names the session it belongs to, whatever the options say about
// the first one.
func TestEveryMessageNamesItsSession(t *testing.T) {
	o := &host.Options{SessionID: "s-1", StateEvents: true, Init: message.Init{Header: message.Header{SessionID: "other", UUID: "fixed"}}}
	bubble(t, echo, o, func(c *client) {
		c.prompt("hi", "u1")
		synctest.Wait()
		for _, f := range c.frames {
			if f.Type != "control_response" && !strings.Contains(f.raw, `"session_id":"s-1"`) || strings.Contains(f.raw, "fixed") {
				t.Errorf("%s", f.raw)
			}
		}
		if len(c.frames) < 4 {
			t.Errorf("%d frames", len(c.frames))
		}
	})
}

// A tool that cannot run any more, because the turn is over, is an error.
func TestUseToolAfterTheTurn(t *testing.T) {
	agent := host.AgentFunc(func(ctx context.Context, t *host.Turn) error {
		for {
			if _, err := t.UseTool(ctx, "Look", map[string]string{}, func(context.Context, json.RawMessage) (host.ToolOutput, error) { return host.TextOutput("ran"), nil }); err != nil {
				return err
			}
		}
	})
	bubble(t, agent, &host.Options{SessionID: "s-1", MaxTurns: 2, Mode: permission.ModeBypassPermissions, AllowBypass: true}, func(c *client) {
		c.prompt("hi", "")
		if got := c.settle(); !strings.Contains(got, "error_max_turns") {
			t.Errorf("got %s", got)
		}
	})
}

// Who is asked about a file outside of the folders learns why, and what would
// make the question unnecessary.
func TestQuestionAboutAFileOutside(t *testing.T) {
	need.UnixPaths.Test(t)
	for tool, want := range map[string]string{
		"Read":  `"decision_reason_type":"workingDir" "ruleContent":"//etc/ssl/**"`,
		"Write": `"decision_reason_type":"workingDir" "directories":["/etc/ssl"]`,
	} {
		agent := host.AgentFunc(func(ctx context.Context, t *host.Turn) error {
			_, err := t.UseTool(ctx, tool, map[string]string{"file_path": "/etc/ssl/cert.pem"}, func(context.Context, json.RawMessage) (host.ToolOutput, error) {
				return host.TextOutput("ran"), nil
			})
			return err
		})
		bubble(t, agent, &host.Options{SessionID: "s-1", PromptTool: true, Cwd: "/repo"}, func(c *client) {
			var asked string
			c.on(func(c *client, f frame) {
				asked = string(f.Request)
				c.reply(f, `{"behavior":"deny","message":"no"}`)
			})
			c.prompt("hi", "")
			c.settle()
			for part := range strings.FieldsSeq(want) {
				if !strings.Contains(asked, part) {
					t.Errorf("%s: %s lacks %s", tool, asked, part)
				}
			}
		})
	}
}

// A client that has not offered to answer questions is not asked; its hook is.
func TestWithoutPromptToolOnlyHooksAreAsked(t *testing.T) {
	agent := host.AgentFunc(func(ctx context.Context, t *host.Turn) error {
		_, err := t.UseTool(ctx, "Write", map[string]string{"file_path": "/repo/a"}, func(context.Context, json.RawMessage) (host.ToolOutput, error) {
			return host.TextOutput("ran"), nil
		})
		return err
	})
	bubble(t, agent, &host.Options{SessionID: "s-1", Cwd: "/repo"}, func(c *client) {
		c.request("i", "initialize", `"hooks":{"PermissionRequest":[{"hookCallbackIds":["h"]}]}`)
		var asked []string
		c.on(func(c *client, f frame) {
			var r struct{ Subtype string }
			_ = json.Unmarshal(f.Request, &r)
			asked = append(asked, r.Subtype)
			c.reply(f, `{}`)
		})
		c.prompt("hi", "")
		c.settle()
		if got := strings.Join(asked, " "); got != "hook_callback" {
			t.Errorf("asked %s", got)
		}
	})
}

func TestFlagsThatAllowEverything(t *testing.T) {
	base := []string{"--output-format=stream-json", "--input-format=stream-json", "--verbose"}
	for flag, want := range map[string]string{
		"--verbose":                            "false ",
		"--allow-dangerously-skip-permissions": "true ",
		"--dangerously-skip-permissions":       "true bypassPermissions",
	} {
		o, err := host.ParseArgs(append(base, flag), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(o.AllowBypass, " ", o.Mode); got != want {
			t.Errorf("%s: %s, want %s", flag, got, want)
		}
	}
}

// A turn that has used nothing adds nothing to what the models have used.
func TestTurnWithoutUsage(t *testing.T) {
	bubble(t, echo, &host.Options{SessionID: "s-1", Model: "m1"}, func(c *client) {
		c.prompt("hi", "")
		synctest.Wait()
		var r message.Result
		if err := json.Unmarshal([]byte(c.frames[len(c.frames)-1].raw), &r); err != nil || r.Type != "result" || len(r.ModelUsage) > 0 {
			t.Errorf("%v: %s", err, c.frames[len(c.frames)-1].raw)
		}
	})
}

// hooked plays a turn of an agent for a client with hooks, which it answers one
// after the other, and returns what the client got.
func hooked(t *testing.T, agent host.Agent, o host.Options, hooks string, answers ...string) (raw string, inputs []string) {
	t.Helper()
	o.SessionID, o.Cwd = "s-1", "/repo"
	bubble(t, agent, &o, func(c *client) {
		c.request("i", "initialize", `"hooks":{`+hooks+`}`)
		c.on(func(c *client, f frame) {
			var r struct {
				ID string `json:"callback_id"`
			}
			_ = json.Unmarshal(f.Request, &r)
			c.mu.Lock()
			inputs = append(inputs, string(f.Request))
			c.mu.Unlock()
			answer := ""
			if n := int(r.ID[0] - '0'); n < len(answers) {
				answer = answers[n]
			}
			c.send(`{"type":"control_response","response":{"subtype":"success","request_id":%q%s}}`, f.RequestID, answer)
		})
		c.prompt("hi", "")
		synctest.Wait()
		for _, f := range c.frames {
			raw += f.raw + "\n"
		}
	})
	return raw, inputs
}

func TestHookAnswers(t *testing.T) {
	bypass := host.Options{Mode: permission.ModeBypassPermissions, AllowBypass: true}
	for name, tt := range map[string]struct {
		agent   host.Agent
		hooks   string
		answers []string
		want    string
	}{
		"an answer without a payload is empty": {writer, `"PreToolUse":[{"hookCallbackIds":["0"]}]`, []string{``}, `ran {`},
		"the first reason stays": {echo, `"UserPromptSubmit":[{"hookCallbackIds":["0"]},{"hookCallbackIds":["1"]}]`,
			[]string{`,"response":{"decision":"block","reason":"one"}`, `,"response":{"decision":"block","reason":"two"}`}, `blocked by hook:\none`},
		"what a hook tells the user is told": {echo, `"UserPromptSubmit":[{"hookCallbackIds":["0"]}]`, []string{`,"response":{"systemMessage":"a word to the user"}`}, `a word to the user`},
	} {
		if raw, _ := hooked(t, tt.agent, bypass, tt.hooks, tt.answers...); !strings.Contains(raw, tt.want) {
			t.Errorf("%s: no %q in\n%s", name, tt.want, raw)
		}
	}
	if _, inputs := hooked(t, echo, bypass, `"Stop":[{"hookCallbackIds":["0"]}]`); len(inputs) != 1 || !strings.Contains(inputs[0], `"background_tasks":[]`) {
		t.Errorf("a Stop hook was asked %q", inputs)
	}
}

// A command that needs approval in a session without a user to ask reports that
// approval is missing.
func TestCommandWithoutApproval(t *testing.T) {
	agent := host.AgentFunc(func(ctx context.Context, t *host.Turn) error {
		_, err := t.UseTool(ctx, "Bash", map[string]string{"command": "rm a"}, func(context.Context, json.RawMessage) (host.ToolOutput, error) {
			return host.TextOutput("ran"), nil
		})
		return err
	})
	raw, _ := hooked(t, agent, host.Options{}, ``)
	if !strings.Contains(raw, `"decision_reason":"This command requires approval"`) || strings.Contains(raw, `"ran"`) {
		t.Errorf("got %s", raw)
	}
}

// A server that has not answered is pending: nothing is known of it, it is not
// asked again, and its answers are not questions.
func TestServerThatIsSilent(t *testing.T) {
	bubble(t, echo, &host.Options{SessionID: "s-1", SDKServers: []string{"a"}}, func(c *client) {
		synctest.Wait()
		asked := len(c.frames)
		c.request("r", "mcp_set_servers", `"servers":{"a":{"type":"sdk","name":"a"}}`)
		c.request("m", "mcp_message", `"server_name":"a","message":{"jsonrpc":"2.0","id":1,"result":{}}`)
		synctest.Wait()
		for _, f := range c.frames[asked:] {
			if f.Type == "control_request" || strings.Contains(f.raw, `"added":["a"]`) {
				t.Errorf("got %s", f.raw)
			}
		}
		c.request("s", "mcp_status", "")
		synctest.Wait()
		if raw := c.frames[len(c.frames)-1].raw; !strings.Contains(raw, `"pending"`) || strings.Contains(raw, "serverInfo") {
			t.Errorf("status %s", raw)
		}
	})
}
