package fleet

import (
	"context"

	"github.com/claude-agent-go/claude/fleet/internal/plan"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/message"
)

// end gives a prompt the outcome that the plan has decided on. One that it already has
// counts.
func (w *waking) end(ctx context.Context, s *sight, c plan.End) error {
	if p := s.cancelled(c.Prompt); p != nil {
		o, err := w.endings.endCancelled(ctx, &w.rec, p, w.lease.Fence)
		if err == nil {
			w.out(p)
			w.news.finished(w.c, o)
		}
		return err
	}
	p := s.prompt(c.Prompt)
	if o, ended := s.outcomes[p.ID]; ended {
		err := w.records.dropEnded(ctx, w.c.key, p, &o, w.lease.Fence)
		if err == nil {
			w.out(p)
		}
		return err
	}
	switch {
	case c.As == plan.Answered:
		return w.found(ctx, s.transcript, p)
	case c.As == plan.Failed:
		return w.ended(ctx, p, Ticket{Status: PromptFailed, Error: p.neverEnded()})
	case c.Of != "":
		of := s.outcomes[c.Of]
		return w.ended(ctx, p, Ticket{Status: of.Status, Interrupted: of.Interrupted, Error: "the turn that took it in: " + of.Error, PartOf: c.Of, Session: w.rec.Session})
	case c.As == plan.Expired:
		p.Question = c.Question
		return w.ended(ctx, p, p.expired(&w.rec))
	}
	return w.ended(ctx, p, p.interrupted(&w.rec))
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
	return w.ended(ctx, p, o)
}
