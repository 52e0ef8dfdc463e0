package serve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// erasure is in the head of a log whose conversation is being deleted. All who add
// something to a log change its head, and all who send a prompt do so before the fleet
// gets it. So once this is stored, nothing comes into the log, and of those who may
// still give the fleet a prompt, the head has the names.
type erasure struct {
	// By names who deletes the conversation, and Until is how long the others leave
	// that to them.
	By    string    `json:"by"`
	Until time.Time `json:"until"`
	// IfUnused says that nobody has asked for it: the conversation stays if the fleet
	// has a prompt for it that did not come through a server.
	IfUnused bool `json:"ifUnused,omitzero"`
	// Unbooked is what the log does not know of the cost.
	Unbooked *unbooked `json:"unbooked,omitzero"`
}

// passTo returns what is in the head while somebody else deletes the conversation.
func (e *erasure) passTo(by string, until time.Time) *erasure {
	var next erasure
	if e != nil {
		next = *e
	}
	next.By, next.Until = by, until
	return &next
}

// writable returns a problem if the conversation is being deleted.
func (h *logHead) writable() error {
	if h.Erasing == nil {
		return nil
	}
	return beingDeleted()
}

// beingDeleted is the problem of somebody who wants something of a conversation that
// is being deleted.
func beingDeleted() *api.Problem {
	p := deleting.because("nothing more is accepted for it: begin another conversation, or try again in a moment")
	p.RetryAfter = 1
	return p
}

// beginErasing closes a log for good, unless prepare, which may say in the head how it
// is to be deleted, has something against it.
func (b logStore) beginErasing(ctx context.Context, key, by string, prepare func(h *logHead, now time.Time) error) error {
	for {
		now, err := b.records.Now(ctx)
		if err != nil {
			return err
		}
		h, revision, err := b.head(ctx, key)
		if err == nil && h.Erasing != nil && h.Erasing.By != by && now.Before(h.Erasing.Until) {
			err = beingDeleted()
		}
		if err == nil {
			err = prepare(&h, now)
		}
		if err != nil {
			return err
		}
		h.Erasing = h.Erasing.passTo(by, now.Add(settledAfter).UTC())
		_, err = putRecord(ctx, b.records, b.at(key, headName), &h, revision)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// endErasing opens a log again.
func (b logStore) endErasing(ctx context.Context, key, by string) error {
	return b.changeErasing(ctx, key, by, func(*erasure) *erasure { return nil })
}

// changeErasing changes what one has noted who deletes a conversation.
func (b logStore) changeErasing(ctx context.Context, key, by string, change func(*erasure) *erasure) error {
	return b.changeHead(ctx, key, func(h *logHead) bool {
		mine := h.Erasing != nil && h.Erasing.By == by
		if mine {
			h.Erasing = change(h.Erasing)
		}
		return mine
	})
}

// leave takes an attempt to send a prompt out of a log that is closed, so that nobody
// waits for it.
func (b logStore) leave(ctx context.Context, key, sender string) error {
	return b.changeHead(ctx, key, func(h *logHead) bool { return h.leave(sender) })
}

// changeHead changes the head of a log, if it has one, again and again until nobody
// else has in between.
func (b logStore) changeHead(ctx context.Context, key string, change func(h *logHead) (changed bool)) error {
	for {
		h, revision, err := b.head(ctx, key)
		if err != nil || revision == 0 || !change(&h) {
			return err
		}
		_, err = putRecord(ctx, b.records, b.at(key, headName), &h, revision)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// checkUnused returns errUsed if the log has a prompt, or may get one.
func (b logStore) checkUnused(ctx context.Context, key string, h *logHead, now time.Time) error {
	if h.awaited(now) {
		return errUsed
	}
	all := [][]storedEvent{h.Events}
	for i := range h.Segments {
		events, err := b.segment(ctx, key, i)
		if err != nil {
			return err
		}
		all = append(all, events)
	}
	for _, events := range all {
		for i := range events {
			if events[i].Type == api.EventPrompt {
				return errUsed
			}
		}
	}
	return nil
}

// drop removes the log of a conversation that is being deleted. The head is last: it
// keeps others from writing.
func (b logStore) drop(ctx context.Context, key, by string) error {
	for {
		h, revision, err := b.head(ctx, key)
		if err != nil || revision == 0 {
			return err
		}
		if h.Erasing == nil || h.Erasing.By != by {
			return fmt.Errorf("claude: serve: another process deletes conversation %q", key)
		}
		for i := range h.Segments + 1 { // one more may be half made
			if err := dropRecord(ctx, b.records, b.at(key, segmentName(i))); err != nil {
				return err
			}
		}
		err = b.records.DropRecord(ctx, b.at(key, headName), revision, store.Fence{})
		if !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
}
