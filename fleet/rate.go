package fleet

import (
	"fmt"
	"time"

	"github.com/claude-agent-go/claude/fleet/internal/ratelimit"
)

// Rate is how many prompts are accepted in a period. The zero Rate means no limit.
type Rate struct {
	Prompts int
	Per     time.Duration
}

// String describes the rate in words.
func (l Rate) String() string { return fmt.Sprintf("%d prompts in %v", l.Prompts, l.Per) }

// valid reports whether it is the zero Rate, or one that lets prompts through.
func (l Rate) valid() bool {
	return l == Rate{} || l.Prompts > 0 && l.Per >= time.Duration(l.Prompts)
}

// limit is the rate as a limit. It must not be the zero Rate.
func (l Rate) limit() ratelimit.Limit {
	return ratelimit.Limit{Each: l.Per / time.Duration(l.Prompts), Per: l.Per}
}

// rates counts the prompts of conversations in this process. It keeps one time for each:
// when the prompts so far would be due if they came evenly.
type rates map[string]time.Time

// take counts a prompt and returns 0, or returns how long to wait if the rate does not
// allow it. Keys that no longer limit anything are dropped.
func (r rates) take(rate Rate, key string, now time.Time) (wait time.Duration) {
	if rate.Prompts == 0 {
		return 0
	}
	due, wait := rate.limit().Take(r[key], now)
	r[key] = due
	if wait > 0 {
		return wait
	}
	if len(r)%1024 == 0 {
		for other, due := range r {
			if due.Before(now) {
				delete(r, other)
			}
		}
	}
	return 0
}

// giveBack takes back the last prompt that was counted: it was refused for another reason.
func (r rates) giveBack(rate Rate, key string) {
	if due, ok := r[key]; ok && rate.Prompts > 0 {
		r[key] = due.Add(-rate.limit().Each)
	}
}
