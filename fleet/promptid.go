package fleet

import (
	"slices"

	"github.com/claude-agent-go/claude/internal/uuid"
)

// PromptID makes the id of a prompt from an idempotency key: the same parts give the
// same UUID, in any process, and other parts another one. ("ab", "c") and ("a", "bc")
// differ. Use it when the sender identifies a prompt by something that is not a UUID: a
// header, the id of a chat message, the name of a job and a date.
//
// If a part is empty, or there is none, PromptID returns "", and [Fleet.Send] makes up
// an id: without a key, two prompts are two prompts.
func PromptID(parts ...string) string {
	if len(parts) == 0 || slices.Contains(parts, "") {
		return ""
	}
	return uuid.Named("claude-agent-go prompt", parts...)
}
