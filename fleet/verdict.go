package fleet

import (
	"context"
	"errors"
	"slices"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/message"
)

// errEnded means that a prompt has its outcome, and the next one is to be looked
// at.
var errEnded = errors.New("the prompt has ended")

// endCancelled cleans up after prompts that were cancelled.
func (w *tenure) endCancelled(ctx context.Context, rec *record, prompts []*queued) error {
	for _, p := range prompts {
		o, err := w.endings.endCancelled(ctx, rec, p, w.lease.Fence)
		if err != nil {
			return err
		}
		delete(w.outcomes, p.ID) // it has one now, and may be in the queue twice
		w.roster.ended(w.c, p)
		w.news.finished(w.c, o)
	}
	return nil
}

// endWithTurn ends a prompt that a turn has taken in whose own prompt was cancelled or
// interrupted, or has expired: continuing with it would continue that turn. It returns
// errEnded then.
func (w *tenure) endWithTurn(ctx context.Context, t *history.Transcript, p *queued) error {
	turn, err := turnOfPrompt(ctx, t, p.ID)
	if err != nil || turn == p.ID {
		return err
	}
	of, ended, err := w.records.outcome(ctx, w.c.key, turn)
	if err != nil || !ended || of.Status != PromptCancelled && of.Status != PromptExpired && !of.Interrupted {
		return err
	}
	o := Ticket{Status: of.Status, Interrupted: of.Interrupted, Error: "the turn that took it in: " + of.Error, PartOf: turn, Session: w.rec.Session}
	if err := w.ended(ctx, p, o); err != nil {
		return err
	}
	return errEnded
}

// turnOfPrompt returns the prompt that began the turn of a prompt: itself, or the one
// whose turn took it in.
func turnOfPrompt(ctx context.Context, t *history.Transcript, id string) (turn string, err error) {
	for m, err := range t.Messages(ctx, history.Page{}) {
		if err != nil {
			return "", err
		}
		if user, ok := m.Message.(*message.User); !ok || len(user.ToolResults()) > 0 {
			continue
		}
		if !m.MidTurn {
			turn = m.UUID
		}
		if m.UUID == id {
			return turn, nil
		}
	}
	return id, nil
}

// endIfExpired ends a prompt whose deferred call was not decided in time. It returns
// errEnded then.
func (w *tenure) endIfExpired(ctx context.Context, p *queued, q *approval.Question) error {
	if q == nil || q.State != approval.Gone || q.Outcome != approval.Expired {
		return nil
	}
	p.Question = q.ID
	if err := w.endings.endExpired(ctx, &w.rec, p, w.lease.Fence); err != nil {
		return err
	}
	w.worked(p, TraceOutcome{Status: PromptExpired})
	w.out(p)
	return errEnded
}

// endIfInterrupted ends a prompt that was interrupted, if no CLI works on it. It returns
// errEnded then.
func (w *tenure) endIfInterrupted(ctx context.Context, p *queued) error {
	if p.Interrupted.IsZero() && !w.wasInterrupted(p) {
		return nil
	}
	o, err := w.endings.endInterrupted(ctx, &w.rec, p, w.lease.Fence)
	if err != nil {
		return err
	}
	w.out(p)
	w.told(p, o)
	return errEnded
}

// found ends a prompt whose answer is in the transcript: its owner died after the
// answer and before it could record it.
func (w *tenure) found(ctx context.Context, t *history.Transcript, p *queued) error {
	o := Ticket{Status: PromptAnswered, Session: w.rec.Session}
	mine, turn := false, "" // the prompt that began it
	var output structuredCalls
	for m, err := range t.Messages(ctx, history.Page{}) {
		if err != nil {
			return err
		}
		switch msg := m.Message.(type) {
		case *message.User:
			if len(msg.ToolResults()) == 0 {
				// A prompt that the turn took in does not end it.
				mine = m.UUID == p.ID || m.MidTurn && mine
				if !m.MidTurn {
					turn = m.UUID
				} else if m.UUID == p.ID {
					o.PartOf = turn
				}
			}
			if accepted := output.accepted(msg); mine && accepted != nil {
				o.Output = accepted
			}
		case *message.Assistant:
			if text := msg.Text(); mine && text != "" {
				o.Text = text
			}
			output.note(msg)
		}
	}
	if o.Text == "" {
		o.Text = string(o.Output) // as in the result of the CLI
	}
	if err := w.ended(ctx, p, o); err != nil {
		return err
	}
	return errEnded
}

// questionFor returns the question about one of the calls, nil if no person was asked.
func (w *tenure) questionFor(ctx context.Context, calls []string) (*approval.Question, error) {
	var found *approval.Question
	for q, err := range w.inbox.List(ctx, approval.Filter{Conversation: w.c.key}) {
		if err != nil {
			return nil, err
		}
		if !slices.Contains(calls, q.ToolUseID) {
			continue
		}
		if found == nil || q.State == approval.Open || q.State == approval.Decided {
			found = &q
		}
	}
	return found, nil
}
