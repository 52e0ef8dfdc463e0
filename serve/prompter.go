package serve

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
	"github.com/claude-agent-go/claude/store"
)

// prompter gives prompts and commands to the fleet.
type prompter struct {
	fleet         fleet.Conversations
	logs          *logs
	notes         noteStore
	book          eventlog.Store
	logger        *slog.Logger
	presets       []Preset
	conversations *conversations
	journal       *journal
	spendings     *spendings
}

// send gives a prompt to the fleet and records it. It does both even if the client
// leaves: the log must know every accepted prompt and its cost.
func (pr *prompter) send(ctx context.Context, u api.User, n *note, p fleet.Prompt) (api.Prompt, error) {
	ctx, cancel := lasting(ctx)
	defer cancel()
	if p.ID == "" {
		p.ID = uuid.New()
	}
	l, release, err := pr.logs.use(ctx, n.Key)
	if err != nil {
		return api.Prompt{}, err
	}
	defer release()
	known, again, older, over := l.Known(p.ID)
	switch {
	case over == eventlog.WasDeleted:
		return api.Prompt{}, beingDeleted()
	case over != "":
		return api.Prompt{}, closing.because("%s; try again in a moment", over)
	case again:
		return known, nil
	}
	if older {
		// An ended prompt may be older than the log's memory. Recorded again, its turn
		// would count twice.
		if t, err := pr.fleet.Prompt(ctx, n.Key, p.ID); err == nil && t.Status.Done() {
			out := api.Prompt{ID: p.ID, By: u.Name, Text: textOf(&p)}
			eventlog.TakeTicket(&out, &t)
			return out, nil
		} else if err != nil && !errors.Is(err, fleet.ErrUnknown) {
			return api.Prompt{}, err
		}
	}
	if n.Archived {
		return api.Prompt{}, hasEnded()
	}
	out := api.Prompt{ID: p.ID, State: api.PromptQueued, By: u.Name, Text: textOf(&p)}
	if err := pr.spendings.checkBudget(ctx, n); err != nil {
		return api.Prompt{}, err
	}
	sender, err := l.Intend(ctx, out)
	if err != nil {
		return api.Prompt{}, err
	}
	if err := pr.checkTakesPrompts(ctx, n.Key); err != nil {
		return api.Prompt{}, errors.Join(err, pr.book.Leave(ctx, n.Key, sender))
	}
	if _, err := pr.fleet.Send(ctx, n.Key, p); refused(err) {
		return api.Prompt{}, errors.Join(err, l.Refuse(ctx, sender))
	} else if err != nil {
		pr.logs.keepWatch(n.Key) // it may have been accepted
		return api.Prompt{}, err
	}
	out, err = l.Confirm(ctx, sender, out)
	if overWith(err) {
		// The fleet has begun the conversation again. The deletion waits until this
		// attempt has left the log, and removes that as well.
		_ = pr.fleet.Cancel(ctx, n.Key, p.ID)
		return api.Prompt{}, errors.Join(err, pr.book.Leave(ctx, n.Key, sender))
	}
	pr.logs.keepWatch(n.Key)
	return out, err
}

// checkTakesPrompts returns a problem if a conversation was archived or deleted a
// moment ago. An archiving or a deletion that begins later finds this attempt in the
// head of the log. But the head proves nothing about a deletion that is already over:
// another late sender may have begun a new one.
func (pr *prompter) checkTakesPrompts(ctx context.Context, key string) error {
	n, _, err := pr.notes.loadAny(ctx, key)
	switch {
	case errors.Is(err, store.ErrNotFound): // not begun here, or gone
		_, err = pr.fleet.Get(ctx, key)
		return err
	case err != nil:
		return err
	case !n.Deleted.IsZero():
		return beingDeleted()
	case n.Archived:
		return hasEnded()
	}
	return nil
}

// command acts on a conversation and records who did it. Once begun it does not end
// with the request: stopped halfway, it would forget its Idempotency-Key, and a
// repetition would hit the next turn.
func (pr *prompter) command(ctx context.Context, u api.User, id, what string, do func(context.Context, *note) error) error {
	n, err := pr.conversations.act(ctx, u, id, api.RoleOperator)
	if err != nil {
		return problemOf(err)
	}
	ctx, cancel := lasting(ctx)
	defer cancel()
	if err := do(ctx, &n); err != nil {
		return problemOf(err)
	}
	if err := pr.journal.notice(ctx, u, n.Key, what); err != nil { // it is done anyway
		pr.logger.Warn("serve: a command is not in the log of its conversation", "command", what, "conversation", n.Key, "error", err)
	}
	return nil
}

// hasEnded returns the problem of a prompt for an archived conversation.
func hasEnded() *api.Problem {
	return ended.because("it is archived and takes no prompts: PATCH it with \"archived\": false first, or fork it")
}

// textOf returns the text of a prompt.
func textOf(p *fleet.Prompt) string {
	text := p.Text
	for _, block := range p.Content {
		if b, ok := block.(*message.TextBlock); ok {
			text = strings.TrimPrefix(text+"\n"+b.Text, "\n")
		}
	}
	if text == "" {
		text = nameOf(p.Content)
	}
	if len(text) > maxPromptText {
		text = strings.ToValidUTF8(text[:maxPromptText], "") + "…"
	}
	return text
}

// maxPromptText is how much of a prompt its event keeps.
const maxPromptText = 4000
