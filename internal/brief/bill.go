package brief

import (
	"fmt"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/message"
)

// Bill describes the usage of the last turn, and the cost of the session so far.
func Bill(m *message.Result, all *message.Spending) string {
	u := m.Usage
	return fmt.Sprintf("$%.4f this turn, $%.4f this session, %s, %s, %d tokens in, %d out", all.TurnUSD, m.TotalCostUSD,
		Count(m.NumTurns, "agentic turn"), Seconds(time.Duration(m.DurationMS)*time.Millisecond),
		u.InputTokens+u.CacheCreationInputTokens+u.CacheReadInputTokens, u.OutputTokens)
}

// Count writes a number of things.
func Count(n int, thing string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(thing, "s"):
		thing += "es"
	default:
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// Seconds writes a duration for people.
func Seconds(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
}
