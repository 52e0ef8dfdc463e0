package serve

import (
	"context"
	"errors"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
	"github.com/claude-agent-go/claude/serve/internal/recordio"
	"github.com/claude-agent-go/claude/store"
)

// recovery resumes work that was cut off when a server ended, and drops records that
// are too old to matter.
type recovery struct {
	fleet   fleet.Conversations
	logs    *logs
	notes   noteStore
	book    eventlog.Store
	records store.Records
	project string
	journal *journal
	eraser  *eraser
}

// recoverAll continues what was begun before the server started: prompts without an
// answer, prompts whose end was never recorded, conversations that never got their
// first prompt, and half-deleted conversations.
func (rc *recovery) recoverAll(ctx context.Context) {
	var young []string // a request may still be about to send their first prompt
	one := func(n *note, err error) bool {
		if err != nil {
			rc.journal.warn(ctx, "conversations cannot be read", "", err)
			return false
		}
		if rc.recoverOne(ctx, n) {
			young = append(young, n.Key)
		}
		return true
	}
	known := make(map[string]bool)
	for n, err := range rc.notes.each(ctx) {
		known[n.Key] = true
		if !one(&n, err) {
			break
		}
	}
	for info, err := range rc.fleet.List(ctx) { // not begun here, but used here
		if !known[info.Key] && !one(&note{Key: info.Key}, err) {
			break
		}
	}
	if len(young) == 0 {
		return
	}
	waitTurn(ctx, nil, eventlog.SettledAfter)
	for _, key := range young {
		n, _, err := rc.notes.load(ctx, key)
		if err == nil {
			rc.recoverOne(ctx, &n)
		} else if !errors.Is(err, store.ErrNotFound) {
			rc.journal.warn(ctx, "a conversation cannot be read", key, err)
		}
	}
}

// recoverOne continues one conversation. It reports whether that has to wait.
func (rc *recovery) recoverOne(ctx context.Context, n *note) (wait bool) {
	wait, err := rc.recoverConversation(ctx, n)
	if err != nil {
		rc.journal.warn(ctx, "a conversation cannot be recovered", n.Key, err)
	}
	return wait
}

func (rc *recovery) recoverConversation(ctx context.Context, n *note) (wait bool, err error) {
	head, _, err := rc.book.Head(ctx, n.Key)
	if err != nil {
		return false, err
	}
	if head.Erasing != nil || !n.Deleted.IsZero() {
		rc.logs.inBackground(func() { rc.eraser.eraseWhenSent(n.Key, uuid.New()) })
		return false, nil
	}
	if len(head.OpenAfter(head.Events)) > 0 || len(head.Accepting) > 0 {
		rc.logs.keepWatch(n.Key)
	}
	if n.First == "" || n.ForkOf != "" || n.Resumed != "" || n.Copied != "" || head.Last() > 0 {
		return false, nil // it may be empty, or it has a prompt
	}
	now, err := rc.records.Now(ctx)
	if err != nil {
		return false, err
	}
	if now.Sub(n.Created) < eventlog.SettledAfter {
		return true, nil
	}
	if err := rc.eraser.eraseUnused(ctx, n.Key); !beingErased(err) {
		return false, err
	}
	return false, nil
}

// forgetOften removes old answers at regular intervals.
func (rc *recovery) forgetOften(ctx context.Context) {
	for ctx.Err() == nil {
		rc.forgetOld(ctx)
		waitTurn(ctx, nil, idempotencyLife/24)
	}
}

// forgetOld removes answers that are old enough to forget.
func (rc *recovery) forgetOld(ctx context.Context) {
	now, err := rc.records.Now(ctx)
	if err != nil {
		return
	}
	for r, err := range rc.records.Scan(ctx, store.Folder{Project: rc.project, Kind: kindOnce}, "") {
		var o idempotencyRecord
		if err != nil {
			return
		}
		err = recordio.Decode(r, &o)
		if errors.Is(err, store.ErrNewer) {
			continue // a newer server, which can read it, removes it
		}
		if err != nil || now.Sub(o.At) > idempotencyLife {
			_ = store.Drop(ctx, rc.records, r.Key, r.Revision, store.Fence{}) // another server may have removed it
		}
	}
}
