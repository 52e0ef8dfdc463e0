package claude

import (
	"strings"
	"testing"
)

// TestAgentCounter plays what hooks hear, in the order of the real CLI: a call is
// asked about, its agent begins, and ends.
func TestAgentCounter(t *testing.T) {
	const ok, atOnce, deep, total = "", "at the same time", "deep", "in all"
	type event struct {
		do   string // "call ID", "call ID by AGENT", "began ID", "ended ID", "turn"
		want string // of a call: part of the refusal
	}
	for name, tt := range map[string]struct {
		limits    SubagentLimits
		cliLimits bool
		events    []event
	}{
		"two at once": {SubagentLimits{AtOnce: 2}, false, []event{
			{"call 1", ok}, {"call 2", ok}, {"call 3", atOnce}, {"began a", ""}, {"call 3", atOnce}, {"began b", ""}, {"call 3", atOnce},
			{"ended a", ""}, {"call 4", ok}, {"call 5", atOnce},
		}},
		"asked twice about one call": {SubagentLimits{AtOnce: 1, Total: 1}, false, []event{{"call 1", ok}, {"call 1", ok}, {"call 2", total}}},
		"denied by a person":         {SubagentLimits{AtOnce: 1, Total: 1}, false, []event{{"call 1", ok}, {"call 2", total}, {"turn", ""}, {"call 3", ok}}},
		"denied to an agent": {SubagentLimits{AtOnce: 2}, false, []event{
			{"call 1", ok}, {"began a", ""}, {"call 2 by a", ok}, {"turn", ""}, {"call 3", atOnce}, {"ended a", ""}, {"call 4", ok}, {"call 5", ok}, {"call 6", atOnce},
		}},
		"in all": {SubagentLimits{Total: 2}, false, []event{
			{"call 1", ok}, {"began a", ""}, {"ended a", ""}, {"call 2 by a", ok}, {"began b", ""}, {"ended b", ""}, {"turn", ""}, {"call 3", total},
		}},
		"in all, with those before":    {SubagentLimits{Total: 3, Started: 2}, false, []event{{"call 1", ok}, {"call 2", total}}},
		"in all, started without call": {SubagentLimits{Total: 1}, false, []event{{"began warm", ""}, {"ended warm", ""}, {"call 1", ok}, {"call 2", total}}},
		"continued":                    {SubagentLimits{Total: 2}, false, []event{{"call 1", ok}, {"began a", ""}, {"ended a", ""}, {"began a", ""}, {"ended a", ""}, {"call 2", ok}}},
		"one deep":                     {SubagentLimits{Depth: 1}, false, []event{{"call 1", ok}, {"began a", ""}, {"call 2 by a", deep}, {"call 3", ok}}},
		"two deep":                     {SubagentLimits{Depth: 2}, false, []event{{"call 1", ok}, {"began a", ""}, {"call 2 by a", ok}, {"began b", ""}, {"call 3 by b", deep}, {"call 4 by a", ok}}},
		"of two, each may be the deeper": {SubagentLimits{Depth: 2}, false, []event{
			{"call 1", ok}, {"began a", ""}, {"call 2 by a", ok}, {"call 3", ok}, {"began b", ""}, {"began c", ""}, {"call 4 by b", deep}, {"call 5 by c", deep},
		}},
		"an agent that nobody saw begin": {SubagentLimits{Depth: 2}, false, []event{{"call 1 by x", deep}}},
		"a CLI that limits by itself": {SubagentLimits{AtOnce: 1, Depth: 1, Total: 3}, true, []event{
			{"call 1", ok}, {"began a", ""}, {"call 2 by a", ok}, {"call 3", ok}, {"call 4", total},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := &agentCounter{limits: tt.limits}
			for i, e := range tt.events {
				words := strings.Fields(e.do + "  by ")
				switch words[0] {
				case "call":
					a := askedAgent{call: words[1], kind: "general"}
					if len(words) > 4 {
						a.caller = words[3]
					}
					early := c.look(a, tt.cliLimits)
					if got := c.take(a, tt.cliLimits); got != early || e.want == "" && got != "" || !strings.Contains(got, e.want) {
						t.Errorf("step %d, %s: refused with %q and before that with %q, want %q", i, e.do, got, early, e.want)
					}
				case "began":
					c.began(words[1], "general")
				case "ended":
					c.ended(words[1])
				case "turn":
					c.forget("")
				default:
					t.Fatalf("what is %q?", e.do)
				}
			}
		})
	}
}

// An agent of another type does not take the place of a call that is deeper.
func TestAgentsAreToldByTheirType(t *testing.T) {
	c := &agentCounter{limits: SubagentLimits{Depth: 2}}
	c.take(askedAgent{call: "1", kind: "planner"}, false)
	c.began("p", "planner")
	c.take(askedAgent{call: "2", kind: "tester", caller: "p"}, false)
	c.take(askedAgent{call: "3", kind: "reviewer"}, false)
	c.began("r", "reviewer")
	c.began("t", "tester")
	if got := c.look(askedAgent{caller: "r"}, false); got != "" {
		t.Errorf("the reviewer, one deep: %s", got)
	}
	if got := c.look(askedAgent{caller: "t"}, false); got == "" {
		t.Error("the tester, two deep, may start an agent")
	}
}

func TestIsAgent(t *testing.T) {
	for sub, want := range map[string]bool{
		"subagents/agent-a1b2c3": true, "subagents/agent-alookout-1b2c": true, "subagents/workflows/w1/agent-a99": true,
		"subagents/agent-acompact-1b2c3d": false, "subagents/agent-aprompt_suggestion-77": false, "remote/agent-a1": false, "subagents/other": false,
	} {
		if got := isAgent(sub); got != want {
			t.Errorf("isAgent(%q) = %v", sub, got)
		}
	}
}
