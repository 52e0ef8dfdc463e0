package demo

import (
	"path/filepath"
	"time"

	"github.com/claude-agent-go/claude/claudetest"
)

// lecture is the prompt whose answer is interrupted, after limit
// pieces.
const (
	lecture = "Tell me everything about bolts."
	limit   = 10
)

// firstPrompt is the first prompt. A real model does with it what the scripted
// one is made to do.
func firstPrompt(dir string) string {
	return "How many bolts are in stock? Count them with the tool, then write the number to " + filepath.Join(dir, "stock.txt") + "."
}

// replies are the answers of the scripted model.
func replies(dir string, pace time.Duration) []claudetest.Reply {
	const piece = 6 // bytes, about a word
	say := func(text string) claudetest.Reply { return claudetest.Say(text).Chunks(piece, pace) }
	return []claudetest.Reply{
		say("Let me count them.").With(claudetest.UseTool("mcp__stock__count", map[string]string{"part": "bolts"})),
		say("Now I write it down.").With(claudetest.UseTools(claudetest.ScriptedCall{
			Name: "Write", Input: map[string]string{"file_path": filepath.Join(dir, "stock.txt"), "content": "42\n"}, Output: "written",
		})),
		say("There are 42 bolts, and stock.txt says so."),
		say("A bolt is a fastener with a thread on the outside. The first ones were made by hand, and no two were alike. " +
			"That changed with the lathe, which cut every thread in the same way.").Hold(make(chan struct{})), // until it is interrupted
	}
}
