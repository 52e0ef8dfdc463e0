package serve

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"unicode/utf8"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
	"github.com/claude-agent-go/claude/store"
)

// creation is a request for a conversation, with the server's additions.
type creation struct {
	api.NewConversation
	id      string          // derived from an Idempotency-Key
	request string          // the original id, if a session replaces it
	content message.Content // the first prompt, nil for none
	prompt  string          // the id of the first prompt; empty: derived from the key
}

// creator makes conversations: new ones, copies, and those of sessions on disk.
type creator struct {
	fleet         fleet.Conversations
	logs          *logs
	notes         noteStore
	records       store.Records
	logger        *slog.Logger
	presets       []Preset
	history       *history.History
	conversations *conversations
	eraser        *eraser
	recovery      *recovery
}

// makeConversation makes a conversation with its note and the history that it takes
// over.
func (cr *creator) makeConversation(ctx context.Context, u api.User, n *note, c *creation) (err error) {
	if c.Fork != nil {
		if err := cr.recovery.beginFork(ctx, n.Key); err != nil {
			return err
		}
		defer func() { cr.recovery.endFork(ctx, n.Key, err == nil) }()
	}
	if err := cr.takeOver(ctx, u, n, c); err != nil {
		return err
	}
	if n.Created, err = cr.records.Now(ctx); err == nil {
		err = cr.notes.create(ctx, n)
	}
	if errors.Is(err, store.ErrConflict) {
		var made bool
		if made, err = cr.madeBefore(ctx, n, c); err == nil && !made {
			err = beingDeleted() // it existed a moment ago
		}
	}
	return err
}

// madeBefore reports whether an earlier attempt of the same request made the
// conversation. One that another request made does not count.
func (cr *creator) madeBefore(ctx context.Context, n *note, c *creation) (bool, error) {
	old, _, err := cr.notes.loadAny(ctx, n.Key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case !old.Deleted.IsZero():
		return false, beingDeleted()
	case c.Resume != "" && (c.request == "" || old.Request != c.request):
		return false, alreadyResumed(n, c)
	}
	return true, nil
}

// takeOver gives a new conversation its history, if it continues or copies something.
func (cr *creator) takeOver(ctx context.Context, u api.User, n *note, c *creation) error {
	switch {
	case c.session() != "":
		return cr.fromDisk(ctx, n, c)
	case c.Fork != nil:
		return cr.fork(ctx, u, n, c)
	}
	return nil
}

// readContent reads the first prompt of a request, if it has one.
func (c *creation) readContent() (err error) {
	if c.content == nil && c.Content != nil {
		c.content, err = contentOf(c.Content)
	}
	return err
}

// firstPrompt returns the prompt that a conversation begins with, nil if there is none.
func (c *creation) firstPrompt(key string) *fleet.Prompt {
	if c.content == nil {
		return nil
	}
	return &fleet.Prompt{ID: cmp.Or(c.prompt, uuidFrom("first prompt", key)), Content: c.content}
}

// lastingBound limits work that must not stop halfway when its client leaves.
const lastingBound = eventlog.SenderBound

// lasting returns a context that outlives the request, for at most lastingBound.
func lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), lastingBound)
}

// undo removes a new conversation whose first prompt was refused, so that both exist or
// neither. If it is not certain that the prompt was refused, or if another one was
// accepted, the conversation stays.
func (cr *creator) undo(ctx context.Context, n *note, refusal error) {
	if !refused(refusal) {
		return
	}
	ctx, cancel := lasting(ctx)
	defer cancel()
	if err := cr.eraser.eraseUnused(ctx, n.Key); err != nil && !beingErased(err) {
		cr.logger.Warn("a conversation that did not begin is left, empty", "conversation", n.Key, "error", err)
	}
}

// refused reports whether an error proves that a prompt was not accepted. After any
// other error it may have been, or may still be: a write that timed out can land late.
func refused(err error) bool {
	for _, definite := range []error{fleet.ErrOverloaded, fleet.ErrBudget, fleet.ErrStuck, store.ErrInvalid, claude.ErrUnsupportedVersion} {
		if errors.Is(err, definite) {
			return true
		}
	}
	return budget.is(err)
}

// newNote checks a request and makes the note of its conversation.
func (cr *creator) newNote(u api.User, c *creation) (note, error) {
	p := find(cr.presets, c.Preset)
	if p == nil {
		var names []string
		for i := range cr.presets {
			names = append(names, cr.presets[i].Name)
		}
		return note{}, unknownPreset.because("this server has %s", strings.Join(names, ", "))
	}
	if err := p.choose(c.Model, c.Mode); err != nil {
		return note{}, err
	}
	dir, err := p.dir(c.Dir)
	if err != nil {
		return note{}, err
	}
	if err := c.readContent(); err != nil {
		return note{}, err
	}
	if err := checkTexts(c.Title, c.Labels); err != nil {
		return note{}, err
	}
	return note{
		Key: tenantOf(u.Name) + "/" + cmp.Or(c.id, uuid.New()), Owner: u.Name, Preset: p.Name, Title: cmp.Or(c.Title, firstLine(nameOf(c.content))),
		Dir: dir, Shared: c.Shared, Labels: c.Labels, Model: c.Model, Mode: c.Mode,
	}, nil
}

// The longest titles and labels.
const (
	maxTitle  = 200
	maxLabels = 20
	maxLabel  = 60
)

func checkTexts(title string, labels []string) error {
	if utf8.RuneCountInString(title) > maxTitle {
		return badRequest.because("the title has more than %d characters", maxTitle)
	}
	if len(labels) > maxLabels {
		return badRequest.because("there are more than %d labels", maxLabels)
	}
	for _, l := range labels {
		if l == "" || utf8.RuneCountInString(l) > maxLabel {
			return badRequest.because("a label has 1 to %d characters", maxLabel)
		}
	}
	return nil
}

// firstLine returns the beginning of a text, in one line.
func firstLine(text string) string {
	line := strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(line) <= 80 {
		return line
	}
	return string([]rune(line)[:79]) + "…"
}

// fork makes a conversation a copy of another one that the user may see.
func (cr *creator) fork(ctx context.Context, u api.User, n *note, c *creation) error {
	from := c.Fork
	old, err := cr.conversations.find(ctx, u, from.Conversation)
	if err != nil {
		return err
	}
	if old.Preset != n.Preset {
		return badRequest.because("a copy has the preset of its original, %q", old.Preset)
	}
	n.ForkOf, n.Dir = idOf(old.Key), old.Dir
	if n.Title == "" {
		n.Title = firstLine("Copy of " + old.Title)
	}
	if made, err := cr.madeBefore(ctx, n, c); made || err != nil {
		return err
	}
	err = cr.fleet.Fork(ctx, old.Key, n.Key, from.Message)
	switch {
	case errors.Is(err, fleet.ErrExists):
		err = cr.recoverFork(ctx, n)
	case errors.Is(err, fleet.ErrUnknown), errors.Is(err, history.ErrEmpty):
		err = badRequest.because("nothing was said in the conversation yet: begin a new one instead of a copy")
	case errors.Is(err, history.ErrNotFound), errors.Is(err, history.ErrInvalidID):
		err = badRequest.because("the conversation has no message %q to copy it up to", from.Message)
	}
	if err != nil {
		return err
	}
	if err := cr.choose(ctx, n); err != nil {
		last, cancel := lasting(ctx)
		defer cancel()
		return errors.Join(err, cr.fleet.Delete(last, n.Key)) // otherwise a retry would fail
	}
	n.Model, n.Mode = cmp.Or(n.Model, old.Model), cmp.Or(n.Mode, old.Mode)
	return nil
}

// recoverFork adopts a copy that an interrupted attempt has left without a note. It
// finds the copy because its key is derived from that of the request. If the copy was
// used since, it is not what the request asked for.
func (cr *creator) recoverFork(ctx context.Context, n *note) error {
	used, err := cr.eraser.usedInFleet(ctx, n.Key)
	if err == nil && used {
		err = keyReused.because("an earlier attempt has made the copy, and a program has used it since then in the fleet: use a new key for another copy")
	}
	return err
}

// choose applies the choices for a copy, in place of those that the fleet copied from
// the original.
func (cr *creator) choose(ctx context.Context, n *note) error {
	if n.Model != "" {
		if err := cr.fleet.SetModel(ctx, n.Key, n.Model); err != nil {
			return err
		}
	}
	if n.Mode != "" {
		return cr.fleet.SetPermissionMode(ctx, n.Key, permission.Mode(n.Mode))
	}
	return nil
}
