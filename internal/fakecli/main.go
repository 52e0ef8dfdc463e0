// Command fakecli is a scripted CLI that any SDK can be pointed at, in place of
// the real one. The script is the file named by CLAUDETEST_SCRIPT; without one
// the model says the same sentence to everything.
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
