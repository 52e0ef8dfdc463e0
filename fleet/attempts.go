package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// An attempt is counted before it begins, so that a prompt which kills its process is
// eventually given up. It is uncounted if its end has nothing to do with the prompt:
// the fleet was closed, the CLI was slow to start, or the process lost its lease, because
// the machine slept or the store was away, and has it again. The count starts again when the
// turn has made progress, but only so many times: otherwise a turn that produces one
// sentence and dies would be paid for without end.

// lastProgress returns the id of the last message that shows progress in the turn of a
// prompt: one of the model, or the result of a tool; empty if there is none. Lines that
// the CLI makes up itself, such as the one by which it continues a turn, do not count.
func lastProgress(ctx context.Context, t *history.Transcript, prompt string) (last string, err error) {
	mine := false
	for m, err := range t.Messages(ctx, history.Page{}) {
		if err != nil {
			return "", err
		}
		switch msg := m.Message.(type) {
		case *message.User:
			if len(msg.ToolResults()) > 0 {
				if mine {
					last = m.UUID
				}
			} else if m.UUID == prompt {
				mine, last = true, ""
			} else if !m.MidTurn {
				mine = false
			}
		case *message.Assistant:
			if mine && msg.Model != syntheticModel {
				last = m.UUID
			}
		}
	}
	return last, nil
}

// wasClosed reports whether the work ended because the fleet was closed, and not
// because the lease was lost or the conversation deleted.
func (w *tenure) wasClosed() bool {
	select {
	case <-w.closing:
	default:
		return false
	}
	select {
	case <-w.stop:
		return false
	default:
		return !w.lease.isLost()
	}
}

// takeBackAttempt uncounts an attempt that Close has cut off.
func (w *tenure) takeBackAttempt(p *queued) {
	if p.Begun == 0 || !w.wasClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), askBound)
	defer cancel()
	p.Begun--
	if err := w.records.update(ctx, p, w.lease.Fence); err != nil {
		w.opts.Logger.Warn("an attempt that was cut off by Close counts", "conversation", w.c.key, "prompt", p.ID, "error", err)
	}
}

// noteLostLease remembers that the lease was lost during the attempt. Nothing can be
// written then.
func (w *tenure) noteLostLease(p *queued, err error) {
	if !w.lease.isLost() && !errors.Is(err, store.ErrLeaseLost) {
		return
	}
	w.roster.mu.Lock()
	defer w.roster.mu.Unlock()
	w.c.lost = lostAttempt{p.ID, p.revision}
}

// lostLease reports whether the last attempt of a prompt was one of this process that lost
// its lease: if another process has begun it since, that has changed it.
func (w *tenure) lostLease(p *queued) bool {
	w.roster.mu.Lock()
	defer w.roster.mu.Unlock()
	return w.c.lost == lostAttempt{p.ID, p.revision}
}

// maxLosses is how many attempts that lost their lease, and were continued by the same
// process, do not count.
const maxLosses = 6

// leaseLost is the failure of an attempt that lost its lease.
const leaseLost = "its lease was lost"

// maxStarts is how many starts in a row may fail, before they reach the model, without
// counting as attempts. The last of them have had a quarter of an hour each.
const maxStarts = 6

// slowStart reports whether a start failed for a transient reason.
func slowStart(err error) bool {
	start, ok := errors.AsType[*claude.StartError](err)
	return ok && (start.Reason == claude.ErrInitializeTimeout || start.Reason == claude.ErrStore)
}

// defaultInitialize is how long a CLI may take to start, unless the options say otherwise.
const defaultInitialize = time.Minute

// permanent reports whether another attempt would fail in the same way until a person
// intervenes: the options cannot be made or are refused, or there is no CLI.
func permanent(err error) bool {
	switch causeOf(err) {
	case CauseOptionsFailed, CauseOptionRefused, CauseCLIMissing:
		return true
	}
	return false
}

// failed records what ended an attempt, if it can.
func (w *tenure) failed(p *queued, err error) error {
	if err == nil {
		return nil
	}
	if w.over() {
		w.takeBackAttempt(p)
		w.noteLostLease(p, err)
		return err
	}
	w.worked(p, TraceOutcome{Status: PromptRunning, Err: err})
	stored := w.amend(w.ctx, p, func(p *queued) {
		p.Failure, p.Cause = cutFailure(err), causeOf(err)
		if slowStart(err) && p.Starts < maxStarts && p.Begun > 0 {
			p.Begun, p.Starts = p.Begun-1, p.Starts+1
		}
	})
	if stored != nil {
		w.noteLostLease(p, errors.Join(err, stored))
	}
	if stored != nil || !permanent(err) {
		return errors.Join(err, stored)
	}
	if stored := w.stuck(w.ctx, p, fmt.Sprintf("it cannot be run: %s", p.Failure)); stored != nil {
		return errors.Join(err, stored)
	}
	w.opts.Logger.Warn("a conversation is stuck", "conversation", w.c.key, "error", err)
	return nil
}
