//go:build unix

package claude_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// The examples run as they stand: a shell script called claude plays the CLI,
// found in PATH as the real one would be.

// oneTurn reads one prompt and answers it.
const oneTurn = `
turn() {
	read -r prompt || exit 0
	uuid=${prompt#*'"uuid":"'}
	uuid=${uuid%%'"'*}
	echo '{"type":"system","subtype":"init","session_id":"s-1"}'
	ask
	echo '{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"2+2 is 4."}]}}'
	echo '{"type":"result","subtype":"success","is_error":false,"result":"2+2 is 4.","num_turns":1,"total_cost_usd":0.0012,"user_message_uuids":["'$uuid'"]}'
}
reply() { # answers the request that comes next
	read -r line || exit 0
	id=${line#*'"request_id":"'}
	id=${id%%'"'*}
	echo '{"type":"control_response","response":{"subtype":"success","request_id":"'$id'","response":'$1'}}'
}
`

// oneShot answers one prompt without any questions.
const oneShot = oneTurn + `
ask() { :; }
turn
`

// manyTurns shakes hands, wants a shell, then a file, and shows what it is told.
const manyTurns = oneTurn + `
ask() {
	echo '{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"t1","input":{"command":"bc"}}}'
	show
	echo '{"type":"control_request","request_id":"r2","request":{"subtype":"hook_callback","callback_id":"hook_0","tool_use_id":"t2","input":{"hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{}}}}'
	show
}
show() { # says what the answer was
	read -r line || exit 0
	case $line in
	*'no shell here'*) echo '{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"(no shell) "}]}}' ;;
	*'read-only today'*) echo '{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"(read-only) "}]}}' ;;
	esac
}
reply '{"claude_code_version":"2.1.325"}'
turn
reply '{}'
read -r line
`

// played puts a CLI into PATH for the time of an example.
func played(script string) (restore func()) {
	dir, err := os.MkdirTemp("", "example-*")
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "claude"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		panic(err)
	}
	path := os.Getenv("PATH")
	os.Setenv("PATH", dir+string(os.PathListSeparator)+path)
	return func() {
		os.Setenv("PATH", path)
		os.RemoveAll(dir)
	}
}

func ExampleAsk() {
	defer played(oneShot)()
	ctx := context.Background()

	res, err := claude.Ask(ctx, "What is 2+2?", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Text)
	// Output: 2+2 is 4.
}

func ExampleQuery() {
	defer played(oneShot)()
	ctx, repo := context.Background(), os.TempDir()

	err := func() error {
		for msg, err := range claude.Query(ctx, "Fix the failing test", &claude.Options{Cwd: repo}) {
			if err != nil {
				return err
			}
			switch m := msg.(type) {
			case *message.Assistant:
				fmt.Print(m.Text())
			case *message.Result:
				fmt.Printf("\n%d turns, $%.4f\n", m.NumTurns, m.TotalCostUSD)
			}
		}
		return nil
	}()
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// 2+2 is 4.
	// 1 turns, $0.0012
}

func ExampleConnect() {
	defer played(manyTurns)()
	ctx := context.Background()

	err := func() error {
		s, err := claude.Connect(ctx, &claude.Options{
			CanUseTool: func(ctx context.Context, req *permission.Request) (permission.Decision, error) {
				if req.ToolName == "Bash" {
					return permission.Deny("no shell here"), nil
				}
				return permission.Allow(), nil
			},
			Hooks: []hook.Hook{
				hook.PreToolUse("Write|Edit", func(ctx context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
					return hook.DenyTool("read-only today"), nil
				}),
			},
		})
		if err != nil {
			return err
		}
		defer s.Close()

		for msg, err := range s.Run(ctx, "What is 2+2?") { // one turn
			if err != nil {
				return err
			}
			if m, ok := msg.(*message.Assistant); ok {
				fmt.Print(m.Text())
			}
		}
		return s.SetModel(ctx, "sonnet") // any time, even while messages are unread
	}()
	if err != nil {
		fmt.Println(err)
	}
	// Output: (no shell) (read-only) 2+2 is 4.
}
