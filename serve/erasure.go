package serve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// erasure is the tombstone in the head of a log whose conversation is being deleted.
// Every writer changes the head with a compare-and-set, and every sender of a prompt
// does so before the fleet gets it. So once the erasure is stored, nothing more enters
// the log, and the head names all senders that may still give the fleet a prompt.
type erasure struct {
	// By names the attempt that deletes the conversation. It is a lease: until Until,
	// the others leave the deletion to it.
	By    string    `json:"by"`
	Until time.Time `json:"until"`
	// IfUnused marks a deletion that no user has asked for: the conversation stays if
	// the fleet has a prompt for it that did not come through a server.
	IfUnused bool `json:"ifUnused,omitzero"`
	// Unbooked is the part of the cost that the log does not know.
	Unbooked *unbooked `json:"unbooked,omitzero"`
}

// passTo returns the erasure for another attempt, which holds the lease until a time.
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

// beginErasing closes a log. It fails if prepare does, which may set in the head how
// the conversation is to be deleted.
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

// endErasing reopens a log.
func (b logStore) endErasing(ctx context.Context, key, by string) error {
	return b.changeErasing(ctx, key, by, func(*erasure) *erasure { return nil })
}

// changeErasing changes the erasure of a log, if it still belongs to the attempt by.
func (b logStore) changeErasing(ctx context.Context, key, by string, change func(*erasure) *erasure) error {
	return b.changeHead(ctx, key, func(h *logHead) bool {
		mine := h.Erasing != nil && h.Erasing.By == by
		if mine {
			h.Erasing = change(h.Erasing)
		}
		return mine
	})
}

// leave removes an attempt to send a prompt from a log that is closed, so that the
// deletion need not wait for it.
func (b logStore) leave(ctx context.Context, key, sender string) error {
	return b.changeHead(ctx, key, func(h *logHead) bool { return h.leave(sender) })
}

// changeHead changes the head of a log, if it has one, with a compare-and-set that it
// repeats after a conflict.
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

// drop removes the log of a conversation that is being deleted. The head goes last,
// because it keeps other processes from writing.
func (b logStore) drop(ctx context.Context, key, by string) error {
	for {
		h, revision, err := b.head(ctx, key)
		if err != nil || revision == 0 {
			return err
		}
		if h.Erasing == nil || h.Erasing.By != by {
			return fmt.Errorf("claude: serve: another process deletes conversation %q", key)
		}
		for i := range h.Segments + 1 { // one more may be unfinished
			if err := dropRecord(ctx, b.records, b.at(key, segmentName(i))); err != nil {
				return err
			}
		}
		err = store.Drop(ctx, b.records, b.at(key, headName), revision, store.Fence{})
		if !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
}
