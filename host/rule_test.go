package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/permission"
)

// attempt lets an agent call a tool under options and returns the outcome: ran,
// asked or denied.
func attempt(t *testing.T, o host.Options, tool string, input map[string]string, readOnly bool) string {
	t.Helper()
	o.Cwd, o.PromptTool = "/w", true
	call := host.Call{Name: tool, Input: input, ReadOnly: readOnly, Run: func(context.Context, json.RawMessage) (host.ToolOutput, error) {
		return host.TextOutput("ran"), nil
	}}
	outcome := ""
	bubble(t, calling(call), &o, func(c *client) {
		c.prompt("x", "")
		switch out := c.settle(); {
		case strings.Contains(out, "user tool_result: ran"):
			outcome = "ran"
		case strings.Contains(out, "? can_use_tool"):
			outcome = "asked"
		case strings.Contains(out, "denied by a rule"):
			outcome = "denied"
		default:
			outcome = out
		}
	})
	return outcome
}

// Rules mean what they mean to the CLI: they do not compare texts.
func TestRulesMeanCommandsPathsAndHosts(t *testing.T) {
	need.UnixPaths.Test(t)
	bypass, edits := permission.ModeBypassPermissions, permission.ModeAcceptEdits
	tests := []struct {
		rules    host.Options
		tool     string
		key, arg string
		want     string
	}{
		{host.Options{Allow: []string{"Bash(git:*)"}}, "Bash", "command", "git status", "ran"},
		{host.Options{Allow: []string{"Bash(git:*)"}}, "Bash", "command", "git status; rm -rf /", "asked"},
		{host.Options{Allow: []string{"Bash(git:*)", "Bash(ls:*)"}}, "Bash", "command", "git status && ls", "ran"},
		{host.Options{Allow: []string{"Bash(npm run *)"}}, "Bash", "command", "npm run x && rm -rf /", "asked"},
		{host.Options{Mode: bypass, Deny: []string{"Bash(rm:*)"}}, "Bash", "command", "cd x && rm -rf /", "denied"},
		{host.Options{Mode: bypass, Deny: []string{"Bash(rm:*)"}}, "Bash", "command", "ls", "ran"},
		{host.Options{Mode: bypass, Ask: []string{"Bash(rm:*)"}}, "Bash", "command", "ls; rm x", "asked"},
		{host.Options{Deny: []string{"Read(./.env)"}}, "Read", "file_path", "/w/.env", "denied"},
		{host.Options{Deny: []string{"Read(./.env)"}}, "Read", "file_path", ".env", "denied"},
		{host.Options{Deny: []string{"Read(//etc/**)"}}, "Read", "file_path", "/etc/passwd", "denied"},
		{host.Options{Deny: []string{"Read(//etc/**)"}}, "Read", "file_path", "/w/a", "ran"},
		{host.Options{Mode: edits, Deny: []string{"Edit(//w/**)"}}, "Write", "file_path", "/w/a", "denied"},
		{host.Options{Mode: bypass, Deny: []string{"WebFetch(domain:evil.com)"}}, "WebFetch", "url", "https://evil.com/x", "denied"},
		{host.Options{Mode: bypass, Deny: []string{"WebFetch(domain:evil.com)"}}, "WebFetch", "url", "https://go.dev", "ran"},
		{host.Options{Mode: bypass, Deny: []string{"B*"}}, "Bash", "command", "ls", "denied"},
		{host.Options{Allow: []string{"Skill(deploy)"}}, "Skill", "skill", "deploy", "ran"},
		{host.Options{Allow: []string{"Skill(deploy)"}}, "Skill", "skill", "deploy all", "asked"},
		{host.Options{Mode: bypass, Deny: []string{"Skill(deploy*)"}}, "Skill", "skill", "deploy all", "denied"},
	}
	for _, tt := range tests {
		got := attempt(t, tt.rules, tt.tool, map[string]string{tt.key: tt.arg}, tt.tool == "Read")
		if got != tt.want {
			t.Errorf("allow %q, deny %q, ask %q: %s %q: %s, want %s",
				tt.rules.Allow, tt.rules.Deny, tt.rules.Ask, tt.tool, tt.arg, got, tt.want)
		}
	}
}

// Updates in an answer change the rules of the destination they name, and cannot
// remove those the session was started with.
func TestUpdatesKeepToTheirDestination(t *testing.T) {
	tests := map[string]struct {
		opts   host.Options
		update string
		want   string
	}{
		"replaced in the session": {host.Options{Deny: []string{"B"}}, `{"type":"replaceRules","behavior":"deny","rules":[],"destination":"session"}`, "denied by a rule"},
		"replaced nowhere":        {host.Options{Deny: []string{"B"}}, `{"type":"replaceRules","behavior":"deny","rules":[]}`, "denied by a rule"},
		"replaced at the start":   {host.Options{Deny: []string{"B"}, Allow: []string{"B"}}, `{"type":"replaceRules","behavior":"deny","rules":[],"destination":"cliArg"}`, "user tool_result: B ran"},
		"removed":                 {host.Options{Deny: []string{"B"}}, `{"type":"removeRules","behavior":"deny","rules":[{"toolName":"B"}],"destination":"session"}`, "denied by a rule"},
		"added":                   {host.Options{}, `{"type":"addRules","behavior":"allow","rules":[{"toolName":"B"}],"destination":"session"}`, "user tool_result: B ran"},
		"bypass":                  {host.Options{}, `{"type":"setMode","mode":"bypassPermissions","destination":"session"}`, "? can_use_tool B"},
		"bypass as agreed":        {host.Options{AllowBypass: true}, `{"type":"setMode","mode":"bypassPermissions","destination":"session"}`, "user tool_result: B ran"},
	}
	run := func(name string) host.RunFunc {
		return func(context.Context, json.RawMessage) (host.ToolOutput, error) {
			return host.TextOutput(name + " ran"), nil
		}
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.opts.PromptTool = true
			bubble(t, calling(host.Call{Name: "A", Run: run("A")}, host.Call{Name: "B", Run: run("B")}), &tt.opts, func(c *client) {
				c.on(func(c *client, f frame) {
					if strings.Contains(string(f.Request), `"tool_name":"A"`) {
						c.reply(f, `{"behavior":"allow","updatedInput":{},"updatedPermissions":[`+tt.update+`]}`)
					}
				})
				c.prompt("x", "")
				if out := c.settle(); !strings.Contains(out, tt.want) {
					t.Errorf("host wrote:\n%s\nwant %q in it", out, tt.want)
				}
			})
		})
	}
}

func TestAskRuleAsksAboutWhatAHookAllows(t *testing.T) {
	tool := host.Call{Name: "A", Run: func(context.Context, json.RawMessage) (host.ToolOutput, error) { return host.TextOutput("ran"), nil }}
	bubble(t, calling(tool), &host.Options{PromptTool: true, Ask: []string{"A"}}, func(c *client) {
		c.on(func(c *client, f frame) {
			if strings.Contains(string(f.Request), "hook_callback") {
				c.reply(f, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}`)
			}
		})
		c.request("i", "initialize", `"hooks":{"PreToolUse":[{"hookCallbackIds":["p"]}]}`)
		c.prompt("x", "")
		if out := c.settle(); !strings.Contains(out, "? can_use_tool A") {
			t.Errorf("the client was not asked:\n%s", out)
		}
	})
}

func TestErrorReplyDeniesWhateverHooksWait(t *testing.T) {
	tool := host.Call{Name: "A", Run: func(context.Context, json.RawMessage) (host.ToolOutput, error) { return host.TextOutput("ran"), nil }}
	bubble(t, calling(tool), &host.Options{PromptTool: true}, func(c *client) {
		c.on(func(c *client, f frame) {
			if strings.Contains(string(f.Request), "can_use_tool") {
				c.send(`{"type":"control_response","response":{"subtype":"error","request_id":%q,"error":"no"}}`, f.RequestID)
			}
		})
		c.request("i", "initialize", `"hooks":{"PermissionRequest":[{"hookCallbackIds":["p"]}]}`)
		c.prompt("x", "")
		if out := c.settle(); !strings.Contains(out, "user tool_result: ERROR Tool permission request failed: no") {
			t.Errorf("the call was not denied:\n%s", out)
		}
	})
}

// The CLI takes a hyphen for a part of a name, and matchers of events without
// a subject for nothing.
func TestMatchersAsTheCLIReadsThem(t *testing.T) {
	tool := host.Call{Name: "Write", Run: func(context.Context, json.RawMessage) (host.ToolOutput, error) { return host.TextOutput("ran"), nil }}
	bubble(t, calling(tool), trusting(), func(c *client) {
		c.on(func(c *client, f frame) { c.reply(f, "{}") })
		c.request("i", "initialize", strings.ReplaceAll(`"hooks":{
			"PreToolUse":[{"matcher":"rite|a-b","hookCallbackIds":["plain"]},{"matcher":"Write|a-b","hookCallbackIds":["name"]},{"matcher":"rite|a.b","hookCallbackIds":["regexp"]},
				{"matcher":"^(?!Bash).*$","hookCallbackIds":["ahead"]},{"matcher":"(Write","hookCallbackIds":["broken"]}],
			"UserPromptSubmit":[{"matcher":"x","hookCallbackIds":["submit"]}],
			"PostToolBatch":[{"matcher":"z","hookCallbackIds":["batch"]}],
			"Stop":[{"matcher":"^y.$","hookCallbackIds":["stop"]}]}`, "\n", " "))
		c.prompt("go", "")
		out := c.settle()
		for id, want := range map[string]bool{"plain": false, "name": true, "regexp": true, "ahead": true, "broken": false, "submit": true, "batch": true, "stop": true} {
			if got := strings.Contains(out, "? hook_callback "+id); got != want {
				t.Errorf("hook %s called: %v, want %v", id, got, want)
			}
		}
	})
}

// Tools that a server calls read-only run at the same time, others one after
// another.
func TestMCPReadOnlyToolsRunTogether(t *testing.T) {
	for hint, want := range map[string]int{"true": 2, "false": 1} {
		call := host.Call{Name: "mcp__calc__add"}
		bubble(t, calling(call, call), &host.Options{Allow: []string{"mcp__calc"}}, func(c *client) {
			serve := serveMCP("") // calls stay without an answer
			c.on(func(c *client, f frame) {
				if strings.Contains(string(f.Request), "tools/list") {
					c.reply(f, `{"mcp_response":{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add","annotations":{"readOnlyHint":`+hint+`}}]}}}`)
					return
				}
				serve(c, f)
			})
			c.request("i", "initialize", `"sdkMcpServers":["calc"]`)
			c.prompt("go", "")
			if got := strings.Count(c.settle(), "? mcp_message tools/call"); got != want {
				t.Errorf("readOnlyHint %s: %d calls at once, want %d", hint, got, want)
			}
			c.request("x", "interrupt", "")
			c.settle()
		})
	}
}

func TestElicitationHooksDecline(t *testing.T) {
	for event, asked := range map[string]bool{"Elicitation": false, "ElicitationResult": true} {
		var answer control.ElicitationAnswer
		agent := host.AgentFunc(func(ctx context.Context, t *host.Turn) (err error) {
			answer, err = t.Elicit(ctx, &control.Elicitation{ServerName: "calc", Message: "Name?"})
			return err
		})
		bubble(t, agent, nil, func(c *client) {
			c.on(func(c *client, f frame) {
				if strings.Contains(string(f.Request), "hook_callback") {
					c.reply(f, `{"decision":"block","hookSpecificOutput":{"hookEventName":"`+event+`","action":"decline"}}`)
					return
				}
				c.reply(f, `{"action":"accept","content":{"n":1}}`)
			})
			c.request("i", "initialize", `"hooks":{"`+event+`":[{"hookCallbackIds":["e"]}]}`)
			c.prompt("x", "")
			out := c.settle()
			if got := strings.Contains(out, `"subtype":"elicitation"`); got != asked || !strings.Contains(out, "? hook_callback e") {
				t.Errorf("%s: the client was asked: %v, want %v:\n%s", event, got, asked, out)
			}
		})
		if answer.Action != control.Decline().Action || answer.Content != nil {
			t.Errorf("%s: answer %+v, want a refusal", event, answer)
		}
	}
}

func TestRequestIDsAreUUIDs(t *testing.T) {
	tool := host.Call{Name: "A"}
	bubble(t, calling(tool), &host.Options{PromptTool: true}, func(c *client) {
		id := make(chan string, 1)
		c.on(func(_ *client, f frame) { id <- f.RequestID })
		c.prompt("x", "")
		if got := <-id; len(got) != 36 || strings.Count(got, "-") != 4 {
			t.Errorf("request id %q, want a UUID", got)
		}
		c.request("i", "interrupt", "")
		c.settle()
	})
}
