package host

import (
	"encoding/json"
	"testing"

	"github.com/claude-agent-go/claude/message"
)

// What a subagent does to a file is said in words; of other calls nothing is
// made up.
func TestDoing(t *testing.T) {
	for _, tt := range []struct{ tool, input, want string }{
		{"Write", `{"file_path":"/repo/a.txt"}`, "Writing a.txt"},
		{"Edit", `{"file_path":"a.txt"}`, "Editing a.txt"},
		{"Read", `{"file_path":"/repo/sub/b.go"}`, "Reading b.go"},
		{"Read", `{}`, ""},
		{"Bash", `{"command":"ls /repo"}`, ""},
		{"Grep", `{"pattern":"x","path":"/repo"}`, ""},
	} {
		if got := doing(&message.ToolUseBlock{Name: tt.tool, Input: json.RawMessage(tt.input)}); got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.tool, tt.input, got, tt.want)
		}
	}
}

// The input of each answer holds that of those before it, so the last one counts;
// outputs add up.
func TestSubagentCountsTokens(t *testing.T) {
	sub := new(subagent)
	sub.spend(message.Usage{InputTokens: 100, CacheReadInputTokens: 20, CacheCreationInputTokens: 3, OutputTokens: 7})
	sub.spend(message.Usage{InputTokens: 200, CacheReadInputTokens: 40, CacheCreationInputTokens: 6, OutputTokens: 8})
	if got := sub.taskUsage().TotalTokens; got != 200+40+6+7+8 {
		t.Errorf("%d tokens, want %d", got, 200+40+6+7+8)
	}
}
