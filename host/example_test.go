package host_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// clock is a complete agent: it knows one tool and reports its result.
func clock(ctx context.Context, t *host.Turn) error {
	out, err := t.UseTool(ctx, "Clock", map[string]string{"zone": "UTC"},
		func(_ context.Context, input json.RawMessage) (host.ToolOutput, error) {
			return host.TextOutput("noon"), nil
		})
	if err != nil {
		return err
	}
	if out.IsError {
		return t.Say(ctx, "I may not look: "+out.Content.Text())
	}
	return t.Say(ctx, "It is "+out.Content.Text()+".")
}

// An agent that is not Claude, driven by the SDK as if it were. In a program of
// its own, host.Serve would connect it to standard input and output.
func ExampleServe() {
	agent := claudetest.NewHost(host.AgentFunc(clock), nil)
	for _, allow := range []bool{true, false} {
		opts := &claude.Options{
			Transport: agent,
			CanUseTool: func(_ context.Context, req *permission.Request) (permission.Decision, error) {
				fmt.Println(req.ToolName, string(req.Input))
				if allow {
					return permission.Allow(), nil
				}
				return permission.Deny("it is a secret"), nil
			},
		}
		for msg, err := range claude.Query(context.Background(), "What time is it?", opts) {
			if err != nil {
				fmt.Println(err)
			}
			if r, ok := msg.(*message.Result); ok {
				fmt.Println(r.Text)
			}
		}
	}
	// Output:
	// Clock {"zone":"UTC"}
	// It is noon.
	// Clock {"zone":"UTC"}
	// I may not look: it is a secret
}
