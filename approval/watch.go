package approval

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// sighting records a watcher's last look at a question.
type sighting struct {
	revision int64
	shown    bool // it matched, and was yielded
	fixed    bool // it changes only with its revision, not by the clock
}

// Watch implements [Inbox]. A change made by this process is seen at once, one
// made by another within a second, unless [Questions.PollEvery] says otherwise.
func (qs *Questions) Watch(ctx context.Context, f Filter) iter.Seq2[Question, error] {
	return func(yield func(Question, error) bool) {
		seen := make(map[string]sighting) // of each question, at the last look
		for {
			// Taken before the scan, so that a change during it is not missed.
			changed := qs.nextChange()
			before := seen
			var next time.Time                            // a question expires
			seen = make(map[string]sighting, len(before)) // without forgotten questions
			for r, err := range qs.records.Scan(ctx, store.Folder{Project: qs.project, Kind: Kind}, "") {
				last := before[r.Key.Name]
				if err == nil && last.fixed && last.revision == r.Revision {
					seen[r.Key.Name] = last // most questions: they need not even be decoded
					continue
				}
				var v version
				if err == nil {
					v, err = qs.read(ctx, r)
				}
				if errors.Is(err, store.ErrNotFound) || isForeign(r, err, f.Conversation) {
					continue // forgotten since, or not for this program
				}
				if err != nil {
					yield(Question{}, err)
					return
				}
				matches := f.matches(&v.Question)
				seen[r.Key.Name] = sighting{revision: v.revision, shown: matches, fixed: !v.mayExpire()}
				if v.mayExpire() && (next.IsZero() || v.Deadline.Before(next)) {
					next = v.Deadline
				}
				if last.shown && last.revision == v.revision || !last.shown && !matches {
					continue
				}
				if !yield(v.Question, nil) {
					return
				}
			}
			if !wait(ctx, changed, qs.pause(ctx, next)) {
				yield(Question{}, context.Cause(ctx))
				return
			}
		}
	}
}

// Await returns a question as soon as it is no longer [StateOpen], or the error of ctx or of
// the store. A decision made by this process is seen at once, one made by another within
// a second, unless [Questions.PollEvery] says otherwise.
func (qs *Questions) Await(ctx context.Context, id string) (Question, error) {
	for {
		changed := qs.nextChange()
		q, err := qs.Get(ctx, id)
		if err != nil || q.State != StateOpen {
			return q, err
		}
		if !wait(ctx, changed, qs.pause(ctx, q.Deadline)) {
			return q, context.Cause(ctx)
		}
	}
}

// pause is how long to wait for an announcement before the next look, if a question
// expires at a time of the store's clock. The zero time means that none does.
func (qs *Questions) pause(ctx context.Context, expires time.Time) time.Duration {
	every := qs.every()
	if expires.IsZero() || every <= defaultPoll {
		return every
	}
	now, err := qs.records.Now(ctx)
	if err != nil {
		return defaultPoll
	}
	return min(every, max(expires.Sub(now), shortestPoll))
}

// wait waits for a change, at most for the time between two polls. It returns
// false if ctx has ended.
func wait(ctx context.Context, changed <-chan struct{}, poll time.Duration) bool {
	timer := time.NewTimer(poll)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-changed:
	case <-timer.C:
	}
	return ctx.Err() == nil
}

// nextChange returns a channel that is closed at the next change.
func (qs *Questions) nextChange() <-chan struct{} {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	return qs.changed
}

// Announce makes all watchers look at the store: call it when another process
// has changed a question.
//
// A fleet calls it for its conversations.
func (qs *Questions) Announce() { qs.announce() }

// announce wakes all watchers.
func (qs *Questions) announce() {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	close(qs.changed)
	qs.changed = make(chan struct{})
}
