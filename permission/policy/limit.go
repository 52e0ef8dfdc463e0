package policy

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/permission"
)

// Limit lets next allow at most n tool calls, then denies every call that it
// would allow. Denials and passes of next do not count.
func Limit(n int, next permission.Func) permission.Func {
	var mu sync.Mutex
	left := n
	return bounded(next, func() (string, bool) {
		mu.Lock()
		defer mu.Unlock()
		if left <= 0 {
			return fmt.Sprintf("The limit of %d tool calls is reached.", n), false
		}
		left--
		return "", true
	})
}

// Rate lets next allow at most n tool calls within any period of length per,
// then denies every call that it would allow until the period is over.
func Rate(n int, per time.Duration, next permission.Func) permission.Func {
	var mu sync.Mutex
	var recent []time.Time // times of allowed calls, oldest first
	return bounded(next, func() (string, bool) {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		for len(recent) > 0 && now.Sub(recent[0]) >= per {
			recent = recent[1:]
		}
		if len(recent) >= n {
			wait := per
			if n > 0 {
				wait = per - now.Sub(recent[0])
			}
			return fmt.Sprintf("At most %d tool calls are allowed in %v. Wait %v.", n, per, wait.Round(time.Second)), false
		}
		recent = append(recent, now)
		return "", true
	})
}

// bounded asks take about every call that next allows.
func bounded(next permission.Func, take func() (why string, ok bool)) permission.Func {
	return func(ctx context.Context, req *permission.Request) (permission.Decision, error) {
		decision, err := next(ctx, req)
		if err != nil || decision.Behavior() != permission.BehaviorAllow {
			return decision, err
		}
		if why, ok := take(); !ok {
			return permission.Deny(why), nil
		}
		return decision, nil
	}
}
