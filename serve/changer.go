package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// changer changes the settings of a conversation that users choose.
type changer struct {
	fleet         fleet.Conversations
	notes         noteStore
	logs          *logs
	presets       []Preset
	conversations *conversations
	journal       *journal
	eraser        *eraser
}

func (c *changer) checkChange(u api.User, n *note, ch *api.Change) error {
	if n.Owner == "" {
		return unsupported.because("the conversation was not begun through this server, which knows neither its preset nor its title")
	}
	if ch.Shared != nil && u.Name != n.Owner && u.Role != api.RoleAdmin {
		return forbidden.because("only the owner decides who sees the conversation")
	}
	var title string
	var labels []string
	if ch.Title != nil {
		if title = *ch.Title; strings.TrimSpace(title) == "" {
			return badRequest.because("the title is empty")
		}
	}
	if ch.Labels != nil {
		labels = *ch.Labels
	}
	if err := checkTexts(title, labels); err != nil {
		return err
	}
	p := find(c.presets, n.Preset)
	if p == nil {
		return unknownPreset.because("the preset %q of the conversation does not exist anymore", n.Preset)
	}
	var model string
	var mode string
	if ch.Model != nil {
		model = *ch.Model
	}
	if ch.Mode != nil {
		mode = *ch.Mode
	}
	return p.choose(model, mode)
}

// checkIdle returns a problem if a conversation has work to do, or may be about to get
// some.
func (c *changer) checkIdle(ctx context.Context, key string) error {
	// The log first: an attempt leaves it only once the fleet has or has refused its prompt.
	awaited, err := c.eraser.awaitsPrompts(ctx, key)
	if err != nil {
		return err
	}
	info, err := c.fleet.Get(ctx, key)
	if err != nil && !errors.Is(err, fleet.ErrUnknown) {
		return err
	}
	if awaited || info.Queued > 0 {
		return busy.because("a conversation ends between turns: wait for the end of this one, or interrupt it, and take back the prompts that wait")
	}
	return nil
}

// checkMatch returns a problem if an ETag is given and the conversation has another.
func (c *changer) checkMatch(ctx context.Context, n *note, ifMatch string) error {
	if ifMatch == "" || ifMatch == "*" {
		return nil
	}
	now, err := c.conversations.look(ctx, n)
	if err != nil {
		return err
	}
	if ETag(&now) != ifMatch {
		return precondition.because("load it again, and change what is there now")
	}
	return nil
}

// change applies a change that the user is allowed to make.
func (c *changer) change(ctx context.Context, u api.User, n *note, ch *api.Change, ifMatch string) error {
	archives := ch.Archived != nil && *ch.Archived && !n.Archived
	if archives {
		if err := c.checkIdle(ctx, n.Key); err != nil {
			return err
		}
	}
	var before note
	changed, err := c.notes.change(ctx, n.Key, func(n *note) error {
		if err := c.checkMatch(ctx, n, ifMatch); err != nil {
			return err
		}
		before = *n
		applyChange(n, ch)
		return nil
	})
	if err != nil {
		return err
	}
	if archives {
		// A sender reads the note after writing its prompt to the log; this reads the log
		// after writing the note. So at least one of the two sees the other.
		if err := c.checkIdle(ctx, n.Key); err != nil {
			return errors.Join(err, c.takeBack(ctx, &before, ch))
		}
	}
	if ch.Model != nil {
		// After the note, because a choice that is taken back asks [Sessions] for the
		// model, which reads the note.
		err := c.fleet.SetModel(ctx, n.Key, *ch.Model)
		if errors.Is(err, store.ErrInvalid) {
			return errors.Join(err, c.takeBack(ctx, &before, ch))
		}
		if err != nil && !errors.Is(err, fleet.ErrUnknown) {
			return err
		}
	}
	if ch.Mode != nil {
		if err := c.fleet.SetPermissionMode(ctx, n.Key, permission.Mode(*ch.Mode)); err != nil && !errors.Is(err, fleet.ErrUnknown) {
			return err
		}
		did := "returned to the preset's permission mode"
		if *ch.Mode != "" {
			did = fmt.Sprintf("chose the permission mode %q", *ch.Mode)
		}
		if err := c.journal.notice(ctx, u, n.Key, did); err != nil {
			return err
		}
	}
	// The note has what was chosen for the conversation, which is in another mode once a plan
	// is approved. The event reaches all editors, so it has what holds.
	now, err := c.conversations.look(ctx, &changed)
	if err != nil {
		return err
	}
	l, release, err := c.logs.use(ctx, n.Key)
	if err != nil {
		return err
	}
	defer release()
	return l.Record(ctx, api.Event{Type: api.EventConversation, Changed: &api.Changed{
		By: u.Name, Title: changed.Title, Labels: orEmpty(changed.Labels), Archived: changed.Archived, Shared: changed.Shared,
		Model: now.Model, Mode: now.Mode,
	}})
}

// takeBack undoes a change that the fleet has refused. What others have changed since
// then stays.
func (c *changer) takeBack(ctx context.Context, before *note, ch *api.Change) error {
	ctx, cancel := lasting(ctx)
	defer cancel()
	_, err := c.notes.change(ctx, before.Key, func(n *note) error {
		undoChange(n, before, ch)
		return nil
	})
	return err
}

// undoChange restores what a change has set in a note and is still so.
func undoChange(n, before *note, ch *api.Change) {
	unset(&n.Title, ch.Title, before.Title)
	unset(&n.Archived, ch.Archived, before.Archived)
	unset(&n.Shared, ch.Shared, before.Shared)
	if ch.Labels != nil && slices.Equal(n.Labels, *ch.Labels) {
		n.Labels = before.Labels
	}
	unset(&n.Model, ch.Model, before.Model)
	unset(&n.Mode, ch.Mode, before.Mode)
}

func unset[T comparable](now, set *T, before T) {
	if set != nil && *now == *set {
		*now = before
	}
}

// applyChange applies a change to a note.
func applyChange(n *note, ch *api.Change) {
	set(&n.Title, ch.Title)
	set(&n.Archived, ch.Archived)
	set(&n.Shared, ch.Shared)
	set(&n.Labels, ch.Labels)
	set(&n.Model, ch.Model)
	set(&n.Mode, ch.Mode)
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// ETag identifies what an [api.Change] can change of a conversation, for the ifMatch of
// [Service.Change]. It may be called from any goroutine.
func ETag(c *api.Conversation) string {
	data, _ := jsonx.Marshal(api.Changed{ // plain values always encode
		Title: c.Title, Labels: c.Labels, Archived: c.Archived, Shared: c.Shared, Model: c.Model, Mode: c.Mode,
	})
	sum := sha256.Sum256(data)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}
