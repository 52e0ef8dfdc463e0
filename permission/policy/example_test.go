//go:build unix

package policy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"

	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
)

// call is a tool call as the CLI would ask about it.
func call(tool, input string) *permission.Request {
	return &permission.Request{ToolName: tool, Input: json.RawMessage(input)}
}

// An auditor keeps a record of every decision, with what of the input is safe
// to keep.
func ExampleAudit() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "duration" { // differ from run to run
				return slog.Attr{}
			}
			return a
		},
	}))
	path := func(req *permission.Request) []slog.Attr {
		var in struct {
			Path string `json:"file_path"`
		}
		if req.DecodeInput(&in) != nil || in.Path == "" {
			return nil
		}
		return []slog.Attr{slog.String("path", in.Path)}
	}
	audited := policy.Audit(log, policy.First(policy.Confine("/repo"), policy.MustRules("Read").Allow()), path)
	for _, req := range []*permission.Request{
		call("Read", `{"file_path":"/repo/go.mod"}`),
		call("Read", `{"file_path":"/etc/shadow"}`),
		call("Bash", `{"command":"login --password=secret"}`),
	} {
		if _, err := audited(context.Background(), req); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// level=INFO msg=permission tool=Read decision=allow path=/repo/go.mod
	// level=WARN msg=permission tool=Read message="/etc/shadow is not below /repo." decision=deny path=/etc/shadow
	// level=INFO msg=permission tool=Bash decision=pass
}

// Restrictions come first, permissions last.
func ExampleFirst() {
	chain := policy.First(
		policy.MustRules("Bash(rm:*)").Deny("nothing is removed here"),
		policy.MustRules("Bash(git:*)", "Bash(go test:*)").At("/repo").Allow(),
	)
	for _, command := range []string{"git status", "go test ./... && git status", "git status; rm -r x", "go test ../other", "make"} {
		input, _ := json.Marshal(map[string]string{"command": command})
		decision, err := chain(context.Background(), call("Bash", string(input)))
		fmt.Printf("%s: %q %v\n", command, decision.Behavior(), err)
	}
	// Output:
	// git status: "allow" <nil>
	// go test ./... && git status: "allow" <nil>
	// git status; rm -r x: "deny" <nil>
	// go test ../other: "" <nil>
	// make: "" <nil>
}

// Calls that are allowed can be counted.
func ExampleLimit() {
	limited := policy.Limit(2, policy.MustRules("WebFetch").Allow())
	for range 3 {
		decision, err := limited(context.Background(), call("WebFetch", `{"url":"https://go.dev/"}`))
		fmt.Println(decision.Behavior(), decision.Message(), err)
	}
	// Output:
	// allow  <nil>
	// allow  <nil>
	// deny The limit of 2 tool calls is reached. <nil>
}
