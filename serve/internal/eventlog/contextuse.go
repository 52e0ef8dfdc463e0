package eventlog

import (
	"cmp"
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
)

// contextNote records how full the context of a conversation is. It is kept in the head
// of the log, and written together with the event that changed it. Its methods never
// modify a map in place, because a failed write is repeated from the old value.
type contextNote struct {
	// Model gave the last answer, and Tokens counts what it read for that. They are
	// empty until the main agent answers, and again between a compaction and the next
	// answer.
	Model  string `json:"model,omitzero"`
	Tokens int64  `json:"tokens,omitzero"`
	// Windows are the sizes of contexts, by the plain names of models.
	Windows map[string]int64 `json:"windows,omitempty"`
}

// heard takes in a message. Those of subagents do not count, because they have contexts
// of their own. Nor do texts that the CLI writes in the model's name, such as errors of
// the API: no tokens were read for them.
func (c contextNote) heard(e *fleet.ConversationEvent) contextNote {
	switch m := e.Message.(type) {
	case *message.Assistant:
		read := int64(m.Usage.InputTokens) + int64(m.Usage.CacheReadInputTokens) + int64(m.Usage.CacheCreationInputTokens)
		if read > 0 && m.ParentToolUseID == "" && !says(e, "isSidechain") {
			c.Model, c.Tokens = m.Model, read
		}
	case *message.User:
		if says(e, "isCompactSummary") { // the summary replaces everything before it
			c.Model, c.Tokens = "", 0
		}
	}
	return c
}

// says reports whether a member of an event's line is true.
func says(e *fleet.ConversationEvent, member string) bool {
	return string(jsonx.Member(e.Entry, member)) == "true"
}

// ended takes in the sizes that the result of a turn reports. If a model is reported
// with two sizes it gets none, because an answer does not show which of them applies.
func (c contextNote) ended(models map[string]message.ModelUsage) contextNote {
	told := make(map[string]int64)
	for name, used := range models {
		if used.ContextWindow <= 0 {
			continue
		}
		plain, size := plainModel(cmp.Or(used.CanonicalModel, name)), int64(used.ContextWindow)
		if other, ok := told[plain]; ok && other != size {
			size = 0
		}
		told[plain] = size
	}
	windows := maps.Clone(c.Windows)
	if windows == nil {
		windows = told
	}
	maps.Copy(windows, told)
	c.Windows = windows
	return c
}

// plainModel returns the name of a model without its date and without a variant in
// brackets, such as [1m]. Results and answers name the same model differently.
func plainModel(name string) string {
	plain, _, _ := strings.Cut(name, "[")
	if i := strings.LastIndexByte(plain, '-'); i > 0 && len(plain)-i == len("-20060102") {
		if _, err := strconv.Atoi(plain[i+1:]); err == nil {
			return plain[:i]
		}
	}
	return plain
}

// Use returns the figures that users see, nil as long as they are unknown.
func (c *contextNote) Use() *api.ContextUse {
	window := c.Windows[plainModel(c.Model)]
	if c.Tokens <= 0 || window <= 0 {
		return nil
	}
	percent := max(1, int(math.Round(100*float64(c.Tokens)/float64(window))))
	return &api.ContextUse{Model: c.Model, Tokens: c.Tokens, Window: window, Percent: percent}
}
