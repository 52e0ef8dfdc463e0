package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/message"
)

// An attempt is counted before it begins, so that a prompt which kills its process is
// given up, whatever crashes. It is taken back if its end says nothing about the prompt:
// the fleet was closed, or the CLI was slow to start. And the count begins anew when the
// turn has made progress since, but only so many times: a turn that says one sentence and
// dies would otherwise be paid for without end.

// lastProgress returns the id of the last message of the turn of a prompt that shows
// progress: one of the model, or the result of a tool; empty if there is none. What the
// CLI makes up itself, such as the line by which it continues a turn, does not count.
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

// progressed begins to count anew if the turn of a prompt has made progress since it was
// last looked at. The next attempt writes it down.
func (w *tenure) progressed(ctx context.Context, t *history.Transcript, p *queued) error {
	last, err := lastProgress(ctx, t, p.ID)
	if err != nil || last == "" || last == p.Since {
		return err
	}
	p.Since = last
	if p.Begun > 0 && p.Resets < w.opts.Resets {
		p.Begun, p.Resets = 0, p.Resets+1
	}
	return nil
}

// wasClosed reports whether the work ended because the fleet was closed: the conversation is
// still its own, and nobody has deleted it.
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

// takeBackAttempt makes an attempt not count that Close has cut off.
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

// maxStarts is how many starts in a row may fail before the model is reached without
// counting as attempts. The last of them have had a quarter of an hour each.
const maxStarts = 6

// slowStart reports whether a start has failed for a reason that passes by itself.
func slowStart(err error) bool {
	start, ok := errors.AsType[*claude.StartError](err)
	return ok && (start.Reason == claude.ErrInitializeTimeout || start.Reason == claude.ErrStore)
}

// defaultInitialize is how long a CLI may take to start, unless the options say otherwise.
const defaultInitialize = time.Minute

// sessionError is an error of Options.Session.
type sessionError struct{ error }

func (e sessionError) Unwrap() error { return e.error }

// permanent reports whether another attempt would fail in the same way until somebody
// does something about it: the options cannot be made or are refused, or there is no CLI.
func permanent(err error) bool {
	if _, refused := errors.AsType[*claude.OptionError](err); refused {
		return true
	}
	if _, unmade := errors.AsType[sessionError](err); unmade {
		return true
	}
	start, ok := errors.AsType[*claude.StartError](err)
	return ok && start.Reason == claude.ErrNotFound
}

// failed notes what ended an attempt, if it can.
func (w *tenure) failed(p *queued, err error) error {
	if err == nil {
		return nil
	}
	if w.over() {
		w.takeBackAttempt(p)
		return err
	}
	w.worked(p, TraceOutcome{Status: Running, Err: err})
	stored := w.amend(w.ctx, p, func(p *queued) {
		p.Failure, p.Cause = cutFailure(err), causeOf(err)
		if slowStart(err) && p.Starts < maxStarts && p.Begun > 0 {
			p.Begun, p.Starts = p.Begun-1, p.Starts+1
		}
	})
	if stored != nil || !permanent(err) {
		return errors.Join(err, stored)
	}
	if stored := w.stuck(w.ctx, p, fmt.Sprintf("it cannot be run: %s", p.Failure)); stored != nil {
		return errors.Join(err, stored)
	}
	w.opts.Logger.Warn("a conversation is stuck", "conversation", w.c.key, "error", err)
	return nil
}
