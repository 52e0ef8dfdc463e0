package approval

import (
	"context"
	"iter"
	"time"
)

// Watch implements [Inbox]. A change made by this process is seen at once, one
// made by another within a second.
func (qs *Questions) Watch(ctx context.Context, f Filter) iter.Seq2[Question, error] {
	return func(yield func(Question, error) bool) {
		seen := make(map[string]int64) // revision of each question that was yielded
		for {
			// Taken before the scan, so that a change during it is not missed.
			changed := qs.nextChange()
			present := make(map[string]bool, len(seen))
			for v, err := range qs.scan(ctx) {
				if err != nil {
					yield(Question{}, err)
					return
				}
				present[v.ID] = true
				revision, yielded := seen[v.ID]
				matches := f.matches(&v.Question)
				if yielded && revision == v.revision || !yielded && !matches {
					continue
				}
				if matches {
					seen[v.ID] = v.revision
				} else {
					delete(seen, v.ID)
				}
				if !yield(v.Question, nil) {
					return
				}
			}
			for id := range seen {
				if !present[id] {
					delete(seen, id) // forgotten
				}
			}
			if !wait(ctx, changed, qs.poll) {
				yield(Question{}, context.Cause(ctx))
				return
			}
		}
	}
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

// Announce lets everyone who watches look at the store: call it when another
// process has changed a question.
func (qs *Questions) Announce() { qs.announce() }

// announce wakes everyone who watches.
func (qs *Questions) announce() {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	close(qs.changed)
	qs.changed = make(chan struct{})
}
