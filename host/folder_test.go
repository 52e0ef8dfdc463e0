package host_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// Files outside of the session's folders are asked about, also by tools and in
// modes that need no question inside.
func TestFilesOutside(t *testing.T) {
	need.UnixPaths.Test(t)
	for _, tt := range []struct {
		name, tool, path string
		mode             permission.Mode
		asked            bool
	}{
		{"inside", "Read", "/repo/sub/a.txt", "", false},
		{"relative", "Read", "a.txt", "", false},
		{"the folder itself", "Glob", "/repo", "", false},
		{"outside", "Read", "/etc/passwd", "", true},
		{"relative, outside", "Read", "../etc/passwd", "", true},
		{"dots", "Read", "/repo/../etc/passwd", "", true},
		{"a name that begins alike", "Read", "/repository/a.txt", "", true},
		{"two dots in a name", "Read", "/repo/..a/b", "", false},
		{"another folder of the session", "Read", "/more/a.txt", "", false},
		{"another folder, which is relative", "Read", "/beside/a.txt", "", false},
		{"a search", "Grep", "/etc", "", true},
		{"a tool that reads no files", "Fetch", "/etc/passwd", "", false},
		{"edit inside", "Write", "/repo/a.txt", permission.ModeAcceptEdits, false},
		{"edit outside", "Write", "/etc/passwd", permission.ModeAcceptEdits, true},
		{"without questions", "Read", "/etc/passwd", permission.ModeBypassPermissions, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			agent := host.AgentFunc(func(ctx context.Context, turn *host.Turn) error {
				a, err := turn.Answer(ctx)
				if err != nil {
					return err
				}
				_ = a.Use(ctx, host.Call{Name: tt.tool, Input: map[string]string{pathMember(tt.tool): tt.path}, ReadOnly: tt.tool != "Write",
					Run: func(context.Context, json.RawMessage) (host.ToolOutput, error) { return host.TextOutput("ran"), nil }})
				_, err = a.End(ctx)
				return err
			})
			o := &host.Options{PromptTool: true, Cwd: "/repo", Mode: tt.mode, Init: message.Init{AdditionalDirectories: []string{"/more", "../beside"}}}
			bubble(t, agent, o, func(c *client) {
				asked := false
				c.on(func(c *client, f frame) {
					asked = true
					c.reply(f, `{"behavior":"deny","message":"no"}`)
				})
				c.prompt("hi", "")
				if got := verdict(c.settle()); asked != tt.asked || (got == "ran") == tt.asked {
					t.Errorf("asked %v, %q, want asked %v", asked, got, tt.asked)
				}
			})
		})
	}
}

func pathMember(tool string) string {
	if tool == "Glob" || tool == "Grep" {
		return "path"
	}
	return "file_path"
}

// A folder that the client adds with its answer is one of the session's.
func TestFolderIsAdded(t *testing.T) {
	agent := host.AgentFunc(func(ctx context.Context, turn *host.Turn) error {
		_, err := turn.UseTool(ctx, "Write", map[string]string{"file_path": "/etc/a"}, func(context.Context, json.RawMessage) (host.ToolOutput, error) {
			return host.TextOutput("ran"), nil
		})
		return err
	})
	bubble(t, agent, &host.Options{PromptTool: true, Cwd: "/repo", Mode: permission.ModeAcceptEdits}, func(c *client) {
		asked := 0
		c.on(func(c *client, f frame) {
			asked++
			c.reply(f, `{"behavior":"allow","updatedPermissions":[{"type":"addDirectories","directories":["/etc"],"destination":"session"}]}`)
		})
		c.prompt("one", "")
		c.prompt("two", "")
		if got := verdict(c.settle()); got != "ran / ran" || asked != 1 {
			t.Errorf("%q, asked %d times, want once", got, asked)
		}
	})
}

// A session that has cost what it may runs no more tools and gives no more
// answers.
func TestBudget(t *testing.T) {
	answers, tools := 0, 0
	agent := host.AgentFunc(func(ctx context.Context, turn *host.Turn) error {
		for range 5 {
			a, err := turn.Answer(ctx)
			if err != nil {
				return err
			}
			answers++
			turn.Spend(message.Usage{InputTokens: 10}, 0.25)
			_ = a.Use(ctx, host.Call{Name: "Read", ReadOnly: true, Run: func(context.Context, json.RawMessage) (host.ToolOutput, error) {
				tools++
				return host.TextOutput("ran"), nil
			}})
			if _, err := a.End(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	bubble(t, agent, &host.Options{MaxBudgetUSD: 0.5}, func(c *client) {
		c.prompt("one", "")
		c.prompt("two", "")
		synctest.Wait()
		var results []message.Result
		for _, f := range c.frames {
			var r message.Result
			if f.Type == "result" && json.Unmarshal([]byte(f.raw), &r) == nil {
				results = append(results, r)
			}
		}
		if answers != 2 || tools != 1 || len(results) != 2 {
			t.Fatalf("%d answers, %d tools, %d results, want 2, 1 and 2", answers, tools, len(results))
		}
		for i, used := range []int{10, 0} {
			r := results[i]
			if r.Subtype != message.ResultErrorMaxBudget || r.TerminalReason != message.EndBudgetExhausted || r.TotalCostUSD != 0.5 || r.Usage.InputTokens != used || r.StopReason != "" {
				t.Errorf("result %d: %+v", i, r)
			}
		}
	})
}
