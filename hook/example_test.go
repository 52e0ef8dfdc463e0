package hook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/claude-agent-go/claude/hook"
)

// A hook that keeps one kind of command from running, and everything else of
// the tool too if it fails.
func ExamplePreToolUse() {
	guard := hook.PreToolUse("Bash", func(ctx context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
		var args struct {
			Command string `json:"command"`
		}
		if err := in.DecodeInput(&args); err != nil {
			return nil, err
		}
		if strings.Contains(args.Command, "rm -rf") {
			return hook.DenyTool("nothing is deleted here"), nil
		}
		return nil, nil // no opinion
	}).FailClosed()

	// A session calls the hook like this.
	for _, command := range []string{"ls", "rm -rf /"} {
		input := fmt.Sprintf(`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":%q}}`, command)
		out, err := guard.Func(context.Background(), json.RawMessage(input), "toolu_1")
		if err != nil {
			fmt.Println(err)
			return
		}
		reply, err := hook.Encode(out)
		fmt.Println(string(reply), err)
	}
	// Output:
	// {} <nil>
	// {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"nothing is deleted here"}} <nil>
}
