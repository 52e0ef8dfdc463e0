package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet/internal/dayspend"
	"github.com/claude-agent-go/claude/fleet/internal/outcomelog"
	"github.com/claude-agent-go/claude/fleet/internal/ratelimit"
	"github.com/claude-agent-go/claude/store"
)

// cleaning is the name of the lease that marks a recent clean-up. It is not given back:
// until it expires, no fleet that shares the store cleans up again.
const cleaning = "cleaning"

// janitor removes what is older than Options.Keep.
type janitor struct {
	opts    *Options
	ctx     context.Context // ends with Close
	store   *announcer
	inbox   *approval.Questions
	newer   *newerRecords
	log     *outcomelog.Log
	records *records
}

// cleanUp removes expired records, from time to time.
func (j *janitor) cleanUp() {
	every := 24 * time.Hour
	if j.opts.Keep != KeepForever {
		every = max(time.Minute, min(every, j.opts.Keep/4))
	}
	for wait := time.Minute; pause(j.ctx, wait); {
		wait = every
		_, err := j.store.Acquire(j.ctx, j.opts.Project, cleaning, j.opts.Owner, every)
		if held, ok := errors.AsType[*store.HeldError](err); ok {
			wait = max(time.Minute, min(every, held.For))
			continue
		}
		if err == nil {
			err = j.forgetOld(j.ctx)
		}
		if err != nil && j.ctx.Err() == nil {
			j.opts.Logger.Warn("old records could not be removed", "error", err)
		}
	}
}

// forgetOld removes outcomes, questions and entries of the log of outcomes that are
// older than Options.Keep. Those of a prompt that is still in the queue stay: they keep
// it from running again, or name what it waits for. It also removes the sums of past
// days and old rates, whatever the options are: other processes may have written them,
// or this program under earlier options.
func (j *janitor) forgetOld(ctx context.Context) error {
	now, err := j.store.Now(ctx)
	if err != nil {
		return err
	}
	err = errors.Join(j.trimLog(ctx, now), dayspend.Forget(ctx, j.store, j.opts.Project, dayspend.Of(now.Add(-keepDays))), ratelimit.Forget(ctx, j.store, j.opts.Project, now.Add(-keepRates)))
	if j.opts.Keep != KeepForever {
		err = errors.Join(err, j.forgetBefore(ctx, now.Add(-j.opts.Keep)))
	}
	return err
}

// forgetBefore removes the outcomes and the questions from before a time.
func (j *janitor) forgetBefore(ctx context.Context, before time.Time) error {
	// A prompt in the queue whose outcome is that old was accepted long ago, so prompts
	// that arrive from now on do not matter.
	prompts, busy := make(map[string]bool), make(map[string]bool)
	for p, err := range j.records.pending(ctx, "") {
		if err != nil {
			return err
		}
		key := keyAt(p.name)
		prompts[place(key)+"/"+p.ID], busy[key] = true, true
	}
	for r, err := range j.store.Scan(ctx, store.Folder{Project: j.opts.Project, Kind: kindOutcome}, "") {
		var o Ticket
		if err == nil {
			err = decode(r, &o)
		}
		if j.newer.skips(keyAt(r.Key.Name), err) {
			continue
		}
		if err != nil {
			return err
		}
		if prompts[r.Key.Name] || !o.Ended.Before(before) {
			continue
		}
		err := store.Drop(ctx, j.store, r.Key, r.Revision, store.Fence{})
		if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	_, err := j.inbox.Forget(ctx, before, func(q *approval.Question) bool { return busy[q.Conversation] })
	return err
}

// trimLog removes what is old from the log of outcomes.
func (j *janitor) trimLog(ctx context.Context, now time.Time) error {
	keep := j.opts.Keep
	if keep == KeepForever {
		keep = logKeep
	}
	if err := j.log.Collect(ctx); err != nil {
		return err
	}
	return j.log.Trim(ctx, now.Add(-keep))
}

// logKeep is how long the log of outcomes is kept if outcomes are kept forever. It is
// bounded because the log names conversations that were deleted.
const logKeep = 30 * 24 * time.Hour
