package claudetest

import (
	"encoding/json"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

// WantRan fails the test unless the tool was called and ran.
func (t *Recording) WantRan(tb TB, tool string) {
	tb.Helper()
	if u := t.Tool(tb, tool); !u.Ran {
		tb.Errorf("the tool %s did not run: %s", tool, outcome(u))
	}
}

// WantDenied fails the test unless the tool was called and denied, with a
// message that contains the text.
func (t *Recording) WantDenied(tb TB, tool, text string) {
	tb.Helper()
	u := t.Tool(tb, tool)
	if u.Ran || !strings.Contains(u.Output, text) {
		tb.Errorf("the tool %s was not denied with %q: %s", tool, text, outcome(u))
	}
}

// WantDecision fails the test unless the client was asked about the tool and
// gave this decision.
func (t *Recording) WantDecision(tb TB, tool string, want permission.Behavior) {
	tb.Helper()
	if u := t.Tool(tb, tool); !u.Asked || u.Decision != want {
		tb.Errorf("decision on %s is not %q: %s", tool, want, outcome(u))
	}
}

// outcome describes what happened to a tool call.
func outcome(u *ToolUse) string {
	var parts []string
	if u.Asked {
		parts = append(parts, "the client was asked and said "+string(u.Decision))
	} else {
		parts = append(parts, "the client was not asked")
	}
	switch {
	case !u.Done:
		parts = append(parts, "it has no result")
	case u.Ran:
		parts = append(parts, "it ran and gave "+brief(u.Output))
	default:
		parts = append(parts, "it was refused with "+brief(u.Output))
	}
	return strings.Join(parts, ", ")
}

// WantSent fails the test unless a control request with the subtype was sent, and its
// members include those of want. want encodes as a JSON object; nil is an empty one.
func (t *Recording) WantSent(tb TB, subtype string, want any) {
	tb.Helper()
	members := make(map[string]any)
	if want != nil {
		data, err := json.Marshal(want)
		if err == nil {
			err = json.Unmarshal(data, &members)
		}
		if err != nil {
			tb.Fatalf("want of %s: %v", subtype, err)
			return
		}
	}
	problem := "none was sent"
	for _, raw := range t.Requests(subtype) {
		var got map[string]any
		_ = jsonx.Unmarshal(raw, &got)
		problem = ""
		for name, w := range members {
			if d := differs(name, w, got[name]); d != "" {
				problem = d
			}
		}
		if problem == "" {
			return
		}
	}
	tb.Errorf("no request %s of that kind: %s", subtype, problem)
}
