// Command lookup gives Claude a tool that looks into a database: here, a map.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/tool"
)

func main() {
	phones := map[string]string{"Ada": "555-0100", "Grace": "555-0101"}
	lookup := tool.New("phone", "Look up a phone number, empty if there is none", func(_ context.Context, in struct{ Name string }) (string, error) {
		return phones[in.Name], nil
	})
	res, err := claude.Ask(context.Background(), "What is Ada's phone number?", &claude.Options{
		MCPServers: claude.MCPServers{"db": tool.NewServer(lookup)}, AllowedTools: []string{"mcp__db__phone"},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Text)
}
