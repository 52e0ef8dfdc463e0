// Command fakecli is a scripted CLI that any SDK can be pointed at, in place of
// the real one:
//
//	go build -o fakecli ./internal/fakecli
//	CLAUDETEST_SCRIPT=session.json ./fakecli --output-format=stream-json
//
// An SDK is told its path (pathToClaudeCodeExecutable in TypeScript, cli_path in
// Python, CLIPath here) and given the variable. The script is a file as
// claudetest.ParseScript reads it:
//
//	["Hello.", {"use": [{"name": "Bash", "input": {"command": "make"}, "output": "ok"}]}, "Done."]
//
// Without one the model says the same sentence to everything.
package main

import (
	"os"

	"github.com/claude-agent-go/claude/claudetest"
)

func main() {
	const idle = "idle"
	if os.Getenv("CLAUDETEST_SCRIPT") == "" {
		os.Setenv("CLAUDETEST_PLAY", idle)
	}
	claudetest.Main(map[string]*claudetest.Script{idle: {}})
}
