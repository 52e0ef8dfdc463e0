package fleet

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// Prompts are named by the time of the store, and begin in the order of their names. A
// clock that counts in large steps shows several processes the same time, and tick, which
// keeps the prompts of one process apart, may even run ahead of it. Only the queue then
// shows what was accepted before.

// coarse reports whether a time may come from a clock whose steps are so large that one
// Send can return and another begin within a step: that of S3 counts whole seconds. Clocks
// of microseconds are taken for coarse once in a thousand times, which costs a read.
func coarse(now time.Time) bool { return now.Nanosecond()%int(time.Millisecond) == 0 }

// behind returns the time for a prompt that is accepted now: later than that of all prompts
// which wait in its conversation, whichever process has accepted them. It reads the queue
// only if the clock of the store is coarse, and of that only what is not older than now.
func (f *Fleet) behind(ctx context.Context, key string, now time.Time) (time.Time, error) {
	if !coarse(now) {
		return now, nil
	}
	queue := place(key) + "/"
	for r, err := range f.store.Scan(ctx, store.Folder{Project: f.opts.Project, Kind: kindPrompt}, queue+stamp(now, "")) {
		if r.Key.Name != "" && !strings.HasPrefix(r.Key.Name, queue) {
			break // what is wrong with another conversation's prompt does not matter
		}
		if err != nil {
			return now, &ConversationError{key, err}
		}
		if at, ok := stampedAt(r.Key.Name); ok && !at.Before(now) {
			now = at.Add(1)
		}
	}
	return now, nil
}

// stampedAt is when the prompt with a name was accepted; false if the name is odd.
func stampedAt(name string) (at time.Time, ok bool) {
	text, _, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], "-")
	ns, err := strconv.ParseInt(text, 16, 64)
	return time.Unix(0, ns), err == nil
}
