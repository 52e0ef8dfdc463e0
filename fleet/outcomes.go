package fleet

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/fleet/internal/outcomelog"
	"github.com/claude-agent-go/claude/store"
)

// PromptOutcome is how a prompt ended, or that a conversation was deleted.
type PromptOutcome struct {
	// Cursor is the place behind it, for the next Outcomes.
	Cursor Cursor
	// Key is the conversation.
	Key string
	// Ticket is that of the prompt, with its answer and its structured answer. If the
	// conversation was deleted since, or Options.Keep is over, only Prompt, Status and
	// Ended are left of it.
	Ticket Ticket
	// Deleted says that the conversation was deleted. Then Ticket is empty: its prompts
	// that had not ended came before, as [Cancelled].
	Deleted bool
}

// Outcomes yields how the prompts of all conversations end, whichever process has sent
// them and runs them, until ctx ends or the loop is left: first what has ended since a
// place, then what ends. Keep the Cursor of the last outcome that you have dealt with, and
// a service that restarts needs no list of prompts of its own. The zero Cursor is the
// oldest outcome that the store has.
//
// Every prompt for which [Fleet.Wait] would return an outcome is yielded at least once
// if all processes of the fleet are of a version that has Outcomes, in the order of each conversation; only one that is cancelled before it begins may come
// earlier than others that ended just before. One whose conversation gets stuck on it is
// yielded with [PromptStuck] while it is, and again when it ends. Deletions are yielded
// too. After a crash, an outcome may come twice: compare Ticket.Prompt.
//
// Nothing is lost when many processes end prompts at the same time. The place of an
// outcome is not taken before it is stored: who ends a prompt leaves a mark together with
// the outcome, and who reads outcomes appends the marks to a log, by compare-and-set. So
// no outcome can appear before a place that a reader has passed, and no clock matters.
//
// Outcomes are kept for Options.Keep. Of those of deleted conversations the store keeps
// the key, the id of the prompt and its status, and nothing that was said, for as long;
// with [KeepForever], for 30 days. A cursor that is older fails with [ErrCursorTooOld]:
// begin again with the zero Cursor, and ask [Fleet.Prompt] about prompts of which you
// have heard nothing.
//
// A store that cannot be reached is asked again. An outcome whose record is damaged or of
// a newer version comes with [store.ErrDamaged] or [store.ErrNewer], and with its Cursor,
// Key, and the Prompt, Status and Ended of its ticket: continue the loop for those behind
// it. All other errors end the loop, and have no Cursor: [ErrCursorTooOld], [ErrClosed],
// those of a log that cannot be read, ctx.
func (f *Fleet) Outcomes(ctx context.Context, after Cursor) iter.Seq2[PromptOutcome, error] {
	return f.outcomesOf(ctx, after, func(string) bool { return true })
}

// outcomesOf yields the outcomes of some conversations.
func (f *Fleet) outcomesOf(ctx context.Context, after Cursor, wanted func(key string) bool) iter.Seq2[PromptOutcome, error] {
	return func(yield func(PromptOutcome, error) bool) {
		r := &outcomeReader{f: f, wanted: wanted, yield: yield}
		err := r.begin(after)
		if err == nil {
			err = r.follow(ctx)
		}
		if err != nil {
			yield(PromptOutcome{}, err)
		}
	}
}

// logCursor is the cursor of a place in the log of outcomes.
func logCursor(at int64) Cursor { return Cursor(logPrefix + strconv.FormatInt(at, 10)) }

const logPrefix = "outcome:"

func parseLogCursor(c Cursor) (at int64, err error) {
	digits, ok := strings.CutPrefix(string(c), logPrefix)
	if at, err = strconv.ParseInt(digits, 10, 64); !ok || err != nil || at < 0 {
		return 0, fmt.Errorf("claude: fleet: %w: %q is not a cursor of Outcomes", store.ErrInvalid, string(c))
	}
	return at, nil
}

// outcomeReader reads the log of outcomes.
type outcomeReader struct {
	f      *Fleet
	wanted func(key string) bool
	yield  func(PromptOutcome, error) bool
	at     int64 // the next place, -1: the first that there is
}

func (r *outcomeReader) begin(after Cursor) (err error) {
	r.at = -1
	if after != "" {
		r.at, err = parseLogCursor(after)
	}
	return err
}

// follow yields outcomes until the loop is left, or returns what ends it.
func (r *outcomeReader) follow(ctx context.Context) error {
	t, end := r.f.store.listenAt(outcomesPlace)
	defer end()
	for attempt := 0; ; {
		_, changed := r.f.store.now(t)
		more, err := r.read(ctx)
		wait := r.f.opts.Poll
		switch {
		case !more: // first: a loop that was left must not be called again
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, outcomelog.ErrTooOld):
			return fmt.Errorf("claude: fleet: %w", ErrCursorTooOld)
		case err != nil && final(err):
			return err
		case err != nil:
			r.f.opts.Logger.Warn("outcomes could not be read", "error", err)
			wait, attempt, changed = retryDelay(attempt), attempt+1, nil
		default:
			attempt = 0
		}
		if !waitFor(ctx, changed, r.f.ctx.Done(), wait) {
			return context.Cause(ctx)
		}
		if r.f.ctx.Err() != nil {
			return ErrClosed
		}
	}
}

// read yields what is new; false if the loop was left.
func (r *outcomeReader) read(ctx context.Context) (more bool, err error) {
	if err := r.f.log.Collect(ctx); err != nil {
		return true, err
	}
	if r.at < 0 {
		if r.at, err = r.f.log.Begin(ctx); err != nil {
			r.at = -1
			return true, err
		}
	}
	for {
		entries, err := r.f.log.Read(ctx, r.at)
		if err != nil || len(entries) == 0 {
			return true, err
		}
		for _, e := range entries {
			if more, err := r.show(ctx, &e); !more || err != nil {
				return more, err
			}
			r.at++
		}
	}
}

// show yields an entry of the log; false if the loop was left.
func (r *outcomeReader) show(ctx context.Context, e *outcomelog.Entry) (more bool, err error) {
	if !r.wanted(e.Key) {
		return true, nil
	}
	o := PromptOutcome{Cursor: logCursor(r.at + 1), Key: e.Key}
	switch {
	case e.Prompt == "":
		o.Deleted = true
	case PromptStatus(e.Status) == PromptStuck:
		o.Ticket, _, err = r.f.ticket(ctx, e.Key, e.Prompt)
		if errors.Is(err, ErrUnknown) || errors.Is(err, ErrDeleted) || err == nil && o.Ticket.Status != PromptStuck {
			return true, nil // it is not stuck anymore, or gone
		}
	default:
		var kept bool
		if o.Ticket, kept, err = r.f.records.outcome(ctx, e.Key, e.Prompt); !kept {
			o.Ticket = Ticket{Prompt: e.Prompt, Status: PromptStatus(e.Status), Ended: e.At}
		}
	}
	if errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrNewer) {
		o.Ticket = Ticket{Prompt: e.Prompt, Status: PromptStatus(e.Status), Ended: e.At}
		return r.yield(o, err), nil // one record must not end the outcomes of all others
	}
	if err != nil {
		return true, err
	}
	return r.yield(o, nil), nil
}

// A mark says that something is to be in the log of outcomes. The mark of a prompt has the
// name of its outcome, so that it is there once.

// tellStuck marks a prompt that its conversation is stuck on, unless that was done. The
// record knows, so that after a crash in between the next owner does it.
func (w *waking) tellStuck(ctx context.Context, at *stuck) error {
	if !at.Untold {
		return nil
	}
	e := outcomelog.Entry{Key: w.c.key, Prompt: at.Prompt, Status: string(PromptStuck), At: at.At}
	mark, err := w.f.log.Mark(outcomeName(w.c.key, "stuck-"+at.Prompt), e, w.lease.Fence)
	if err == nil {
		err = w.f.log.PutMark(ctx, mark, w.lease.Fence)
	}
	if err != nil {
		return err
	}
	_, err = w.f.records.change(ctx, w.c.key, w.lease.Fence, func(r *record) error {
		if r.Stuck == nil || !r.Stuck.Untold {
			return errUnchanged
		}
		told := *r.Stuck
		told.Untold = false
		r.Stuck = &told
		return nil
	})
	return err
}

// logKeep is how long the log of outcomes is kept if the outcomes are kept forever: it
// names conversations that were deleted.
const logKeep = 30 * 24 * time.Hour

// trimLog removes what is old from the log of outcomes.
func (f *Fleet) trimLog(ctx context.Context, now time.Time) error {
	keep := f.opts.Keep
	if keep == KeepForever {
		keep = logKeep
	}
	if err := f.log.Collect(ctx); err != nil {
		return err
	}
	return f.log.Trim(ctx, now.Add(-keep))
}
