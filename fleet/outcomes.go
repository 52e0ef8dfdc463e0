package fleet

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/fleet/internal/outcomelog"
	"github.com/claude-agent-go/claude/store"
)

// PromptOutcome is the end of a prompt, or the deletion of a conversation.
type PromptOutcome struct {
	// Cursor is the place behind it, for the next Outcomes.
	Cursor Cursor
	// Key is the conversation.
	Key string
	// Ticket is that of the prompt, with its answer and its structured answer. If the
	// conversation was deleted since, or Options.Keep is over, only its Prompt, Status
	// and Ended are left.
	Ticket Ticket
	// Deleted means that the conversation was deleted. Then Ticket is empty: its
	// prompts that had not ended came before, as [PromptCancelled].
	Deleted bool
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
	reports *reports
	log     *outcomelog.Log
	wanted  func(key string) bool
	yield   func(PromptOutcome, error) bool
	at      int64 // the next place, -1: the first that there is
}

func (r *outcomeReader) begin(after Cursor) (err error) {
	r.at = -1
	if after != "" {
		r.at, err = parseLogCursor(after)
	}
	return err
}

// follow yields outcomes until the loop is left, or returns the error that ends it.
func (r *outcomeReader) follow(ctx context.Context) error {
	t, end := r.reports.store.listenAt(outcomesPlace)
	defer end()
	for attempt := 0; ; {
		_, changed := r.reports.store.now(t)
		more, err := r.read(ctx)
		wait := r.reports.ear.pollEvery()
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
			r.reports.opts.Logger.Warn("outcomes could not be read", "error", err)
			wait, attempt, changed = retryDelay(attempt), attempt+1, nil
		default:
			attempt = 0
		}
		if !waitFor(ctx, changed, r.reports.ctx.Done(), wait) {
			return context.Cause(ctx)
		}
		if r.reports.ctx.Err() != nil {
			return ErrClosed
		}
	}
}

// read yields new outcomes; it returns false if the loop was left.
func (r *outcomeReader) read(ctx context.Context) (more bool, err error) {
	if err := r.log.Collect(ctx); err != nil {
		return true, err
	}
	if r.at < 0 {
		if r.at, err = r.log.Begin(ctx); err != nil {
			r.at = -1
			return true, err
		}
	}
	for {
		entries, err := r.log.Read(ctx, r.at)
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
		o.Ticket, _, err = r.reports.ticket(ctx, e.Key, e.Prompt)
		if errors.Is(err, ErrUnknown) || errors.Is(err, ErrDeleted) || err == nil && o.Ticket.Status != PromptStuck {
			return true, nil // it is not stuck anymore, or gone
		}
	default:
		var kept bool
		if o.Ticket, kept, err = r.reports.records.outcome(ctx, e.Key, e.Prompt); !kept {
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

// A mark announces an entry for the log of outcomes. The mark of a prompt has the name
// of its outcome, so that marking it is idempotent.
