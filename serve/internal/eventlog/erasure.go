package eventlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/recordio"
	"github.com/claude-agent-go/claude/store"
)

// Erasure is the tombstone in the head of a log whose conversation is being deleted.
// Every writer changes the head with a compare-and-set, and every sender of a prompt
// does so before the fleet gets it. So once the erasure is stored, nothing more enters
// the log, and the head names all senders that may still give the fleet a prompt.
type Erasure struct {
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

// ErrErasing means that the conversation of a log is being deleted.
var ErrErasing = errors.New("the conversation is being deleted")

// ErrUsed means that a conversation has a prompt.
var ErrUsed = errors.New("the conversation has a prompt")

// PassTo returns the erasure for another attempt, which holds the lease until a time.
func (e *Erasure) PassTo(by string, until time.Time) *Erasure {
	var next Erasure
	if e != nil {
		next = *e
	}
	next.By, next.Until = by, until
	return &next
}

// writable returns [ErrErasing] if the conversation is being deleted.
func (h *Head) writable() error {
	if h.Erasing == nil {
		return nil
	}
	return ErrErasing
}

// BeginErasing closes a log. It fails if prepare does, which may set in the head how
// the conversation is to be deleted.
func (b Store) BeginErasing(ctx context.Context, key, by string, prepare func(h *Head, now time.Time) error) error {
	for {
		now, err := b.Records.Now(ctx)
		if err != nil {
			return err
		}
		h, revision, err := b.Head(ctx, key)
		if err == nil && h.Erasing != nil && h.Erasing.By != by && now.Before(h.Erasing.Until) {
			err = ErrErasing
		}
		if err == nil {
			err = prepare(&h, now)
		}
		if err != nil {
			return err
		}
		h.Erasing = h.Erasing.PassTo(by, now.Add(SettledAfter).UTC())
		_, err = recordio.Put(ctx, b.Records, b.at(key, headName), &h, revision)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// EndErasing reopens a log.
func (b Store) EndErasing(ctx context.Context, key, by string) error {
	return b.ChangeErasing(ctx, key, by, func(*Erasure) *Erasure { return nil })
}

// ChangeErasing changes the erasure of a log, if it still belongs to the attempt by.
func (b Store) ChangeErasing(ctx context.Context, key, by string, change func(*Erasure) *Erasure) error {
	return b.changeHead(ctx, key, func(h *Head) bool {
		mine := h.Erasing != nil && h.Erasing.By == by
		if mine {
			h.Erasing = change(h.Erasing)
		}
		return mine
	})
}

// Leave removes an attempt to send a prompt from a log that is closed, so that the
// deletion need not wait for it.
func (b Store) Leave(ctx context.Context, key, sender string) error {
	return b.changeHead(ctx, key, func(h *Head) bool { return h.leave(sender) })
}

// changeHead changes the head of a log, if it has one, with a compare-and-set that it
// repeats after a conflict.
func (b Store) changeHead(ctx context.Context, key string, change func(h *Head) (changed bool)) error {
	for {
		h, revision, err := b.Head(ctx, key)
		if err != nil || revision == 0 || !change(&h) {
			return err
		}
		_, err = recordio.Put(ctx, b.Records, b.at(key, headName), &h, revision)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// CheckUnused returns [ErrUsed] if the log has a prompt, or may get one.
func (b Store) CheckUnused(ctx context.Context, key string, h *Head, now time.Time) error {
	if h.Awaited(now) {
		return ErrUsed
	}
	all := [][]Stored{h.Events}
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
				return ErrUsed
			}
		}
	}
	return nil
}

// Drop removes the log of a conversation that is being deleted. The head goes last,
// because it keeps other processes from writing.
func (b Store) Drop(ctx context.Context, key, by string) error {
	for {
		h, revision, err := b.Head(ctx, key)
		if err != nil || revision == 0 {
			return err
		}
		if h.Erasing == nil || h.Erasing.By != by {
			return fmt.Errorf("claude: serve: another process deletes conversation %q", key)
		}
		for i := range h.Segments + 1 { // one more may be unfinished
			if err := recordio.Drop(ctx, b.Records, b.at(key, segmentName(i))); err != nil {
				return err
			}
		}
		err = store.Drop(ctx, b.Records, b.at(key, headName), revision, store.Fence{})
		if !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
}
