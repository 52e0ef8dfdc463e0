package e2e

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// agentTool is the tested CLI's name for the tool that starts agents.
func agentTool() string {
	if realcli.Has("2.1.325") {
		return "Agent"
	}
	return "Task"
}

// delegates is a model that starts agents when a prompt asks for it: "start xxx"
// three at once, but only once, "chain" one that starts one, and so on. Agents
// answer after a while.
func delegates() *claudetest.Model {
	call := func(prompt string) claudetest.ScriptedCall {
		return claudetest.ScriptedCall{Name: agentTool(), Input: map[string]any{"description": "look", "prompt": prompt, "subagent_type": "general-purpose"}}
	}
	var asked atomic.Bool
	return claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		first := c.Messages[0].Text
		answered := strings.Contains(string(c.Raw), `"tool_result"`)
		wanted, starts := strings.CutPrefix(c.Prompt, "start ")
		switch {
		case strings.Contains(first, "look: "):
			return claudetest.Say("forty-two").After(time.Second)
		case strings.Contains(first, "link: "), strings.Contains(first, "chain"):
			if !answered && strings.Contains(string(c.Raw), `"name":"`+agentTool()+`"`) {
				return claudetest.UseTools(call("link: next"))
			}
		case starts && !c.Side && !asked.Swap(true):
			var calls []claudetest.ScriptedCall
			for range strings.Count(wanted, "x") {
				calls = append(calls, call("look: there"))
			}
			return claudetest.UseTools(calls...)
		}
		return claudetest.Say("done")
	})
}

// began counts the agents that began, by the calls of the model that they made.
func began(r *real) (n int) {
	for _, c := range r.calls() {
		if strings.Contains(c.Messages[0].Text, "look: ") || strings.Contains(c.Messages[0].Text, "link: ") && !strings.Contains(string(c.Raw), `"tool_result"`) {
			n++
		}
	}
	return n
}

// refusals are the results of calls that a limit has refused, as the model read them.
func refusals(r *real, text string) (n int) {
	seen := make(map[string]bool)
	for _, c := range r.calls() {
		for _, res := range c.ToolResults {
			if strings.Contains(res.Text, text) && !seen[res.ToolUseID] {
				seen[res.ToolUseID] = true
				n++
			}
		}
	}
	return n
}

// TestRealSubagentLimits holds each limit on the tested CLI, whether it knows the
// variables or leaves the counting to hooks.
func TestRealSubagentLimits(t *testing.T) {
	t.Parallel()
	inEachRoot(t, func(t *testing.T, at *place) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		t.Cleanup(cancel)
		realcli.Needs(t, "2.1.0", "the hook SubagentStart")
		held := make(map[string]bool)
		for name, tt := range map[string]struct {
			limits  claude.SubagentLimits
			prompt  string
			began   int
			depth   int
			refused string
		}{
			"no limit": {claude.SubagentLimits{}, "start xxxx", 4, 1, ""},
			"at once":  {claude.SubagentLimits{AtOnce: 2}, "start xxxx", 2, 1, "limit"},
			"in all":   {claude.SubagentLimits{Total: 3}, "start xxxx", 3, 1, "The limit of 3 subagents in all"},
			"before":   {claude.SubagentLimits{Total: 3, Started: 2}, "start xxxx", 1, 1, "The limit of 3 subagents in all"},
			"all":      {claude.SubagentLimits{AtOnce: 3, Depth: 1, Total: 2}, "start xxxx", 2, 1, "The limit of 2 subagents in all"},
			"deep":     {claude.SubagentLimits{Depth: 1}, "chain", 1, 1, ""},
		} {
			t.Run(name, func(t *testing.T) {
				r := startReal(t, delegates())
				at.move(r)
				r.opts.Subagents = tt.limits
				var last *message.Result
				for msg, err := range r.connect(t).RunUntilIdle(ctx, tt.prompt) {
					if err != nil {
						t.Fatal(err)
					}
					if res, ok := msg.(*message.Result); ok {
						last = res
					}
				}
				if got := began(r); got != tt.began {
					t.Errorf("%d agents began, want %d", got, tt.began)
				}
				if tt.refused != "" && refusals(r, tt.refused) != 4-tt.began {
					t.Errorf("the model read %d refusals, want %d", refusals(r, tt.refused), 4-tt.began)
				}
				if st := last.SubagentStats; realcli.Has("2.1.325") && (st.Spawned != tt.began || st.MaxDepth != tt.depth) {
					t.Errorf("the CLI counts %+v, want %d agents and %d deep", st, tt.began, tt.depth)
				}
				held[name] = !t.Failed()
			})
		}
		if len(held) == 0 { // on the quick level there is no CLI
			return
		}
		at.shows(t, effects{
			"Subagents.AtOnce":  held["at once"],
			"Subagents.Depth":   held["deep"],
			"Subagents.Total":   held["in all"],
			"Subagents.Started": held["before"],
		}, "held %v", held)
	})
}

// TestRealSubagentTotalSurvives gives a conversation three agents in all. It starts two,
// moves to another fleet on the same store, and has one left.
func TestRealSubagentTotalSurvives(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	realcli.Needs(t, "2.1.325", "sessions in a store")
	db := store.Files(t.TempDir())
	for i, want := range []int{2, 1, 0} {
		r := startReal(t, delegates())
		r.opts.Subagents.Total = 3
		f := r.fleet(t, db, fleet.Options{MaxLive: 1})
		if _, err := lastText(f.Run(ctx, "acme/ada", "start xx")); err != nil {
			t.Error(err)
		}
		closeFleet(t, f)
		if got := began(r); got != want {
			t.Errorf("fleet %d: %d agents began, want %d", i, got, want)
		}
	}
}
