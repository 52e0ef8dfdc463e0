package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/permission"
)

// verdict is the line with the tool's result, and how many denials there were.
func verdict(got string) string {
	var parts []string
	for line := range strings.Lines(got) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "user tool_result: "); ok {
			parts = append(parts, rest)
		}
		if strings.HasPrefix(line, "result ") && strings.Contains(line, "denials=1") {
			parts = append(parts, "denied")
		}
	}
	return strings.Join(parts, " / ")
}

// Every reply to can_use_tool is taken as the CLI takes it.
func TestPermissionReplies(t *testing.T) {
	const invalid = "ERROR The client's permission callback returned an invalid result: it must allow, or deny with a message. / denied"
	tests := []struct{ name, response, want string }{
		{"allow with input", `{"behavior":"allow","updatedInput":{"content":"new"}}`, `ran {"content":"new"}`},
		{"allow without input", `{"behavior":"allow"}`, ran},
		{"allow with empty input", `{"behavior":"allow","updatedInput":{}}`, ran},
		{"allow with null", `{"behavior":"allow","updatedInput":null}`, invalid},
		{"wrong toolUseID", `{"behavior":"allow","toolUseID":"other"}`, ran},
		{"deny", `{"behavior":"deny","message":"no"}`, "ERROR no / denied"},
		{"deny without message", `{"behavior":"deny"}`, invalid},
		{"deny with a number", `{"behavior":"deny","message":5}`, invalid},
		{"ask", `{"behavior":"ask"}`, invalid},
		{"prompt", `{"behavior":"prompt"}`, invalid},
		{"junk", `{"foo":1}`, invalid},
		{"case variant", `{"Behavior":"allow"}`, invalid},
		{"said twice", `{"behavior":"allow","behavior":"allow"}`, invalid},
		{"deny and allow", `{"behavior":"deny","message":"no","behavior":"allow"}`, invalid},
		{"value in capitals", `{"behavior":"ALLOW"}`, invalid},
		{"input said twice", `{"behavior":"allow","updatedInput":{"content":"a"},"updatedInput":{"content":"b"}}`, invalid},
		{"text", `"hello"`, invalid},
		{"null", `null`, invalid},
		{"dropped updates", `{"behavior":"allow","updatedPermissions":[{"tool":"Write","path":"/x","permission":"allow"}]}`, ran},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, writer, &host.Options{PromptTool: true}, func(c *client) {
				c.on(func(c *client, f frame) { c.reply(f, tt.response) })
				c.prompt("hi", "")
				if got := verdict(c.settle()); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			})
		})
	}
	for _, tt := range []struct{ name, response, want string }{
		{"error", `{"subtype":"error","request_id":%q,"error":"boom"}`, "ERROR Tool permission request failed: boom / denied"},
		{"other subtype", `{"subtype":"can_use_tool_response","request_id":%q,"response":{"behavior":"allow"}}`, ran},
		{"no payload", `{"subtype":"success","request_id":%q}`, invalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, writer, &host.Options{PromptTool: true}, func(c *client) {
				c.on(func(c *client, f frame) {
					c.send(`{"type":"control_response","response":`+tt.response+`}`, f.RequestID)
				})
				c.prompt("hi", "")
				if got := verdict(c.settle()); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			})
		})
	}
}

// Rules and mode decide before the client is asked.
func TestPermissionLocal(t *testing.T) {
	need.UnixPaths.Test(t)
	const asked, denied = "asked", "ERROR Permission to use Write is denied by a rule. / denied"
	const auto = "ERROR Claude requested permissions to write to /repo/a, but you haven't granted it yet. / denied"
	const never = "ERROR Permission to use Write has been denied because the session runs in mode dontAsk. / denied"
	tests := []struct {
		name string
		opts host.Options
		want string
	}{
		{"nothing", host.Options{PromptTool: true}, asked},
		{"nobody to ask", host.Options{}, auto},
		{"allow", host.Options{Allow: []string{"Write"}}, ran},
		{"allow path", host.Options{Allow: []string{"Edit(//repo/*)"}}, ran},
		{"a rule that never applies", host.Options{PromptTool: true, Allow: []string{"Write(/repo/*)"}}, asked},
		{"allow other path", host.Options{PromptTool: true, Allow: []string{"Edit(//other/*)"}}, asked},
		{"deny", host.Options{PromptTool: true, Deny: []string{"Write"}}, denied},
		{"deny before allow", host.Options{Allow: []string{"Write"}, Deny: []string{"Write"}}, denied},
		{"deny in bypass", host.Options{Mode: permission.ModeBypassPermissions, Deny: []string{"Write"}}, denied},
		{"ask before allow", host.Options{PromptTool: true, Ask: []string{"Write"}, Allow: []string{"Write"}}, asked},
		{"bypass", host.Options{Mode: permission.ModeBypassPermissions}, ran},
		{"accept edits", host.Options{Mode: permission.ModeAcceptEdits}, ran},
		{"plan", host.Options{PromptTool: true, Mode: permission.ModePlan}, asked},
		{"don't ask", host.Options{PromptTool: true, Mode: permission.ModeDontAsk}, never},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, writer, &tt.opts, func(c *client) {
				c.prompt("hi", "")
				got := c.settle()
				if strings.Contains(got, "? can_use_tool") {
					got = asked
				} else {
					got = verdict(got)
				}
				if got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			})
		})
	}
}

func TestRules(t *testing.T) {
	tests := []struct {
		rule, tool, input string
		want              bool
	}{
		{"Bash", "Bash", `{"command":"ls"}`, true},
		{"Bash(*)", "Bash", `{"command":"ls"}`, true},
		{"Bash(git:*)", "Bash", `{"command":"git status"}`, true},
		{"Bash(git:*)", "Bash", `{"command":"gitk"}`, false},
		{"Bash(go test *)", "Bash", `{"command":"go test ./..."}`, true},
		{"Bash(ls)", "Bash", `{"command":"ls -l"}`, false},
		{"Bash", "Write", `{}`, false},
		{"mcp__calc", "mcp__calc__add", `{}`, true},
		{"mcp__calc__*", "mcp__calc__add", `{}`, true},
		{"mcp__cal", "mcp__calc__add", `{}`, false},
		{"mcp__calc__add", "mcp__calc__add", `{}`, true},
	}
	for _, tt := range tests {
		agent := host.AgentFunc(func(ctx context.Context, turn *host.Turn) error {
			_, err := turn.UseTool(ctx, tt.tool, json.RawMessage(tt.input), func(context.Context, json.RawMessage) (host.ToolOutput, error) {
				return host.TextOutput("ran"), nil
			})
			return err
		})
		bubble(t, agent, &host.Options{Allow: []string{tt.rule}}, func(c *client) {
			c.prompt("go", "")
			if got := verdict(c.settle()) == "ran"; got != tt.want {
				t.Errorf("rule %s on %s %s: allowed %v, want %v", tt.rule, tt.tool, tt.input, got, tt.want)
			}
		})
	}
}

// What an allowed call wants to be remembered holds from then on.
func TestPermissionRemembered(t *testing.T) {
	for _, update := range []string{
		`{"type":"setMode","mode":"acceptEdits","destination":"session"}`,
		`{"type":"addRules","rules":[{"toolName":"Write"}],"behavior":"allow","destination":"session"}`,
		`{"type":"replaceRules","rules":[{"toolName":"Write"}],"behavior":"allow","destination":"session"}`,
	} {
		bubble(t, writer, &host.Options{PromptTool: true}, func(c *client) {
			asked := 0
			c.on(func(c *client, f frame) {
				asked++
				c.reply(f, `{"behavior":"allow","updatedPermissions":[`+update+`]}`)
			})
			c.prompt("hi", "")
			first := c.settle()
			if strings.Contains(update, "setMode") && !strings.Contains(first, "status acceptEdits") {
				t.Errorf("the change of mode was not told:\n%s", first)
			}
			c.prompt("hi", "")
			c.settle()
			if asked != 1 {
				t.Errorf("%s: asked %d times, want once", update, asked)
			}
		})
	}
}

func TestPermissionRequestFields(t *testing.T) {
	agent := host.AgentFunc(func(ctx context.Context, turn *host.Turn) error {
		a, err := turn.Answer(ctx)
		if err != nil {
			return err
		}
		_ = a.Use(ctx, host.Call{ID: "toolu_1", Name: "Write", Input: map[string]string{"file_path": "/etc/x"}, Request: permission.Request{
			BlockedPath: "/etc/x", Reason: "outside", ReasonType: "workingDir", AgentID: "agent-1",
		}})
		_, err = a.End(ctx)
		return err
	})
	bubble(t, agent, &host.Options{PromptTool: true}, func(c *client) {
		c.prompt("go", "")
		synctest.Wait()
		var req permission.Request
		if err := json.Unmarshal(c.frames[len(c.frames)-1].Request, &req); err != nil {
			t.Fatal(err)
		}
		if req.ToolName != "Write" || req.ToolUseID != "toolu_1" || req.BlockedPath != "/etc/x" || req.Reason != "outside" || req.AgentID != "agent-1" ||
			len(req.Suggestions) != 1 || req.Suggestions[0].Mode != permission.ModeAcceptEdits || string(req.Input) != `{"file_path":"/etc/x"}` {
			t.Errorf("request %s", req.Raw)
		}
	})
	bubble(t, writer, &host.Options{PromptTool: true}, func(c *client) {
		c.prompt("go", "")
		synctest.Wait()
		if raw := c.frames[len(c.frames)-1].raw; strings.Contains(raw, "agent_id") {
			t.Errorf("agent_id on the main thread: %s", raw)
		}
	})
}

// A denial that interrupts ends the turn.
func TestPermissionDenyAndStop(t *testing.T) {
	bubble(t, writer, &host.Options{PromptTool: true}, func(c *client) {
		c.on(func(c *client, f frame) { c.reply(f, `{"behavior":"deny","message":"stop","interrupt":true}`) })
		c.prompt("hi", "")
		got := c.settle()
		if !strings.Contains(got, "[Request interrupted by user for tool use]") || !strings.Contains(got, "aborted_tools") {
			t.Errorf("got:\n%s", got)
		}
		c.on(func(c *client, f frame) { c.reply(f, `{"behavior":"allow"}`) })
		c.prompt("hi", "")
		if got := verdict(c.settle()); got != ran {
			t.Errorf("the session did not continue: %s", got)
		}
	})
}

// Questions to a person are asked whatever rules and modes say.
func TestPermissionQuestions(t *testing.T) {
	agent := host.AgentFunc(func(ctx context.Context, turn *host.Turn) error {
		_, err := turn.UseTool(ctx, "AskUserQuestion", nil, func(_ context.Context, in json.RawMessage) (host.ToolOutput, error) {
			return host.TextOutput(string(in)), nil
		})
		return err
	})
	bubble(t, agent, &host.Options{PromptTool: true, Mode: permission.ModeBypassPermissions, Allow: []string{"AskUserQuestion"}}, func(c *client) {
		c.on(func(c *client, f frame) {
			if !strings.Contains(f.raw, `"requires_user_interaction":true`) {
				t.Errorf("asked %s", f.raw)
			}
			c.reply(f, `{"behavior":"allow","updatedInput":{"answers":{"Q?":"A"}}}`)
		})
		c.prompt("hi", "")
		if got := verdict(c.settle()); got != `{"answers":{"Q?":"A"}}` {
			t.Errorf("got %s", got)
		}
	})
}
