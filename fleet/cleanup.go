package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet/internal/dayspend"
	"github.com/claude-agent-go/claude/fleet/internal/ratelimit"
	"github.com/claude-agent-go/claude/store"
)

// cleaning is the name of the lease that says when records were last cleaned up.
// It is not given back: while it lasts, no fleet that shares the store does so
// again.
const cleaning = "cleaning"

// cleanUp removes records that nobody needs any more, from time to time.
func (f *Fleet) cleanUp() {
	every := 24 * time.Hour
	if f.opts.Keep != KeepForever {
		every = max(time.Minute, min(every, f.opts.Keep/4))
	}
	for wait := time.Minute; pause(f.ctx, wait); {
		wait = every
		_, err := f.store.Acquire(f.ctx, f.opts.Project, cleaning, f.opts.Owner, every)
		if held, ok := errors.AsType[*store.HeldError](err); ok {
			wait = max(time.Minute, min(every, held.For))
			continue
		}
		if err == nil {
			err = f.forgetOld(f.ctx)
		}
		if err != nil && f.ctx.Err() == nil {
			f.opts.Logger.Warn("old records could not be removed", "error", err)
		}
	}
}

// forgetOld removes the outcomes and the questions that are older than
// Options.Keep, and what is as old in the log of outcomes. Those of a prompt that is still
// in the queue stay: they say that it must not run again, or what it waits for. It also
// removes the sums of past days and old rates, whatever the options are: other processes
// may have written them, or this program with the options of before.
func (f *Fleet) forgetOld(ctx context.Context) error {
	now, err := f.store.Now(ctx)
	if err != nil {
		return err
	}
	err = errors.Join(f.trimLog(ctx, now), dayspend.Forget(ctx, f.store, f.opts.Project, dayspend.Of(now.Add(-keepDays))), ratelimit.Forget(ctx, f.store, f.opts.Project, now.Add(-keepRates)))
	if f.opts.Keep != KeepForever {
		err = errors.Join(err, f.forgetBefore(ctx, now.Add(-f.opts.Keep)))
	}
	return err
}

// forgetBefore removes the outcomes and the questions from before a time.
func (f *Fleet) forgetBefore(ctx context.Context, before time.Time) error {
	// Whatever ended before then and is in the queue was accepted long ago, so
	// prompts that come from now on do not matter.
	prompts, busy := make(map[string]bool), make(map[string]bool)
	for p, err := range f.records.pending(ctx, "") {
		if err != nil {
			return err
		}
		key := keyAt(p.name)
		prompts[place(key)+"/"+p.ID], busy[key] = true, true
	}
	for r, err := range f.store.Scan(ctx, store.Folder{Project: f.opts.Project, Kind: kindOutcome}, "") {
		var o Ticket
		if err == nil {
			err = decode(r, &o)
		}
		if f.newer.skips(keyAt(r.Key.Name), err) {
			continue
		}
		if err != nil {
			return err
		}
		if prompts[r.Key.Name] || !o.Ended.Before(before) {
			continue
		}
		err := f.store.DropRecord(ctx, r.Key, r.Revision, store.Fence{})
		if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	_, err := f.inbox.Forget(ctx, before, func(q *approval.Question) bool { return busy[q.Conversation] })
	return err
}
