package fleet

import (
	"fmt"
	"time"
)

// Rate is how many prompts are accepted in a time. The zero Rate means no
// limit. A process counts what it accepts itself.
type Rate struct {
	Prompts int
	Per     time.Duration
}

// String says it in words.
func (l Rate) String() string { return fmt.Sprintf("%d prompts in %v", l.Prompts, l.Per) }

// valid reports whether it is the zero Rate, or one that lets prompts through.
func (l Rate) valid() bool {
	return l == Rate{} || l.Prompts > 0 && l.Per >= time.Duration(l.Prompts)
}

// rates counts prompts by name. It keeps one time for each name: when the prompts
// so far would be due if they came evenly.
type rates map[string]time.Time

// full returns how long to wait until the rate allows another prompt, 0 if it
// does now.
func (r rates) full(limit Rate, name string, now time.Time) time.Duration {
	if limit.Prompts == 0 || !r[name].After(now) {
		return 0
	}
	return max(0, r[name].Sub(now)-(limit.Per-limit.each()))
}

// take counts a prompt. Names that say nothing any more are forgotten.
func (r rates) take(limit Rate, name string, now time.Time) {
	if limit.Prompts == 0 {
		return
	}
	due := r[name]
	if due.Before(now) {
		due = now
	}
	r[name] = due.Add(limit.each())
	if len(r)%1024 == 0 {
		for other, due := range r {
			if due.Before(now) {
				delete(r, other)
			}
		}
	}
}

func (l Rate) each() time.Duration { return l.Per / time.Duration(l.Prompts) }
