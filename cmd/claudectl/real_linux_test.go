package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// askingServer is an MCP server with one tool, which asks the user for a name and
// returns the answer.
const askingServer = `#!/bin/sh
while read -r line; do
	id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
	reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
	case $line in
	*'"method":"initialize"'*) reply "$id" '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"eli","version":"1"}}' ;;
	*'"method":"tools/list"'*) reply "$id" '{"tools":[{"name":"ask","description":"Ask","inputSchema":{"type":"object"}}]}' ;;
	*'"method":"tools/call"'*)
		call=$id
		printf '%s\n' '{"jsonrpc":"2.0","id":900,"method":"elicitation/create","params":{"message":"Your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}' ;;
	*'"name":"Ada"'*) reply "$call" '{"content":[{"type":"text","text":"she is Ada"}]}' ;;
	*'"id":900'*) reply "$call" '{"isError":true,"content":[{"type":"text","text":"no name"}]}' ;;
	*'"method":"notifications'*) ;;
	*) reply "$id" '{}' ;;
	esac
done
`

// TestRealTerminalElicitation lets an MCP server ask the person at the terminal.
func TestRealTerminalElicitation(t *testing.T) {
	cli := realcli.Need(t, realcli.Version)
	model := claudetest.NewModel(claudetest.UseTool("mcp__eli__ask", map[string]any{}), claudetest.Say("Done."))
	base, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	env, home := realcli.Env(t, base)
	server := filepath.Join(home, "server")
	write(t, server, askingServer, 0o700)
	write(t, filepath.Join(home, ".claude.json"), fmt.Sprintf(`{"mcpServers":{"eli":{"type":"stdio","command":%q}}}`, server), 0o600)
	w := open(t, env, "run", "--cli", cli, "--cwd", home, "--allow", "mcp__eli__ask", "Ask me.")
	w.see("The MCP server eli asks")
	w.see("Your name?")
	w.see("Answer?")
	w.enter("y\n")
	w.see("Text: ")
	w.enter("Ada\n")
	w.see("< mcp__eli__ask  ok")
	w.see("Done.")
	code, shown := w.exit()
	calls := model.Calls()
	results := calls[len(calls)-1].ToolResults
	if code != 0 || len(results) != 1 || !strings.Contains(results[0].Text, "she is Ada") {
		t.Errorf("exit code %d, the model was told %+v, want 0 and the name; shown %q", code, results, shown)
	}
}
