//go:build unix

package claude_test

import (
	"context"
	"fmt"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/tool"
)

// structuredAnswer answers one prompt by a schema.
const structuredAnswer = `
read -r prompt || exit 0
uuid=${prompt#*'"uuid":"'}
uuid=${uuid%%'"'*}
echo '{"type":"system","subtype":"init","session_id":"s-1"}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"","total_cost_usd":0.05,"structured_output":{"name":"Reykjavik","people":140000},"user_message_uuids":["'$uuid'"]}'
`

func ExampleAskAs() {
	defer played(structuredAnswer)()
	ctx := context.Background()

	type City struct {
		Name   string `json:"name"`
		People int    `json:"people" jsonschema:"how many live there"`
	}
	city, res, err := claude.AskAs[City](ctx, "The largest city of Iceland", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(city.Name, city.People)
	fmt.Printf("$%.2f\n", res.TotalCostUSD)
	// Output:
	// Reykjavik 140000
	// $0.05
}

// toolCall shakes hands, calls a tool and continues if the tool returns 4.
const toolCall = oneTurn + `
ask() {
	rpc 0 '"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"cli","version":"1"}}'
	rpc 1 '"method":"tools/call","params":{"name":"add","arguments":{"A":2,"B":2}}'
}
rpc() {
	echo '{"type":"control_request","request_id":"r'$1'","request":{"subtype":"mcp_message","server_name":"calc","message":{"jsonrpc":"2.0","id":'$1','$2'}}}'
	read -r line || exit 0
	case $line in
	*'"protocolVersion"'* | *'"text":"4"'*) ;;
	*) exit 1 ;; # the tool did not say 4
	esac
}
reply '{"claude_code_version":"2.1.325"}'
turn
read -r line
`

// A tool that is a Go function.
func Example_tool() {
	defer played(toolCall)()
	ctx := context.Background()

	add := tool.New("add", "Add two numbers", func(ctx context.Context, in struct{ A, B float64 }) (float64, error) {
		return in.A + in.B, nil
	})
	res, err := claude.Ask(ctx, "What is 2+2? Use the tool.", &claude.Options{
		MCPServers:   claude.MCPServers{"calc": tool.NewServer(add)},
		AllowedTools: []string{"mcp__calc__add"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Text)
	// Output: 2+2 is 4.
}
