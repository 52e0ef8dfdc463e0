package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve/api"
)

// ETag identifies what an [api.Change] can change of a conversation, for the ifMatch of
// [Service.Change]. It may be called from any goroutine.
func ETag(c *api.Conversation) string {
	data, _ := jsonx.Marshal(api.Changed{ // plain values always encode
		Title: c.Title, Labels: c.Labels, Archived: c.Archived, Shared: c.Shared, Model: c.Model, Mode: c.Mode,
	})
	sum := sha256.Sum256(data)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}

// Change changes a conversation. If ifMatch is not empty, it must be the
// conversation's ETag.
func (s *Service) Change(ctx context.Context, u api.User, id string, ch api.Change, ifMatch string) (api.Conversation, error) {
	n, err := s.act(ctx, u, id, api.Operator)
	if err == nil {
		err = s.checkChange(u, &n, &ch)
	}
	if err == nil {
		err = s.change(ctx, u, &n, &ch, ifMatch)
	}
	if err != nil {
		return api.Conversation{}, problemOf(err)
	}
	return s.Conversation(ctx, u, id)
}

func (s *Service) checkChange(u api.User, n *note, ch *api.Change) error {
	if n.Owner == "" {
		return unsupported.because("the conversation was not begun through this server, which knows neither its preset nor its title")
	}
	if ch.Shared != nil && u.Name != n.Owner && u.Role != api.Admin {
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
	p := find(s.opts.Presets, n.Preset)
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

// checkIdle returns a problem if a conversation has something to do, or may be about to
// get it.
func (s *Service) checkIdle(ctx context.Context, key string) error {
	// The log first: a prompt that nobody is about to send is in the fleet.
	awaited, err := s.awaitsPrompts(ctx, key)
	if err != nil {
		return err
	}
	info, err := s.fleet.Get(ctx, key)
	if err != nil && !errors.Is(err, fleet.ErrUnknown) {
		return err
	}
	if awaited || info.Queued > 0 {
		return busy.because("a conversation ends between turns: wait for the end of this one, or interrupt it, and take back the prompts that wait")
	}
	return nil
}

// checkMatch returns a problem unless a conversation has an ETag, if one is given.
func (s *Service) checkMatch(ctx context.Context, n *note, ifMatch string) error {
	if ifMatch == "" || ifMatch == "*" {
		return nil
	}
	now, err := s.look(ctx, n)
	if err != nil {
		return err
	}
	if ETag(&now) != ifMatch {
		return precondition.because("load it again, and change what is there now")
	}
	return nil
}

// archive ends a conversation that has nothing to do.
func (s *Service) archive(ctx context.Context, key, ifMatch string) error {
	if err := s.checkIdle(ctx, key); err != nil {
		return err
	}
	_, err := s.notes.change(ctx, key, func(n *note) error {
		if err := s.checkMatch(ctx, n, ifMatch); err != nil {
			return err
		}
		n.Archived = true
		return nil
	})
	if err != nil {
		return err
	}
	// Those who send a prompt look at the note when the log has their prompt, and this
	// looks at the log when the note is written: one sees the other.
	if err := s.checkIdle(ctx, key); err != nil {
		return errors.Join(err, s.reopen(ctx, key))
	}
	return nil
}

// reopen lets a conversation continue that was archived a moment ago.
func (s *Service) reopen(ctx context.Context, key string) error {
	ctx, cancel := lasting(ctx)
	defer cancel()
	_, err := s.notes.change(ctx, key, func(n *note) error {
		n.Archived = false
		return nil
	})
	return err
}

// change changes a conversation that may be changed so.
func (s *Service) change(ctx context.Context, u api.User, n *note, ch *api.Change, ifMatch string) error {
	if ch.Archived != nil && *ch.Archived && !n.Archived {
		// First, and alone: if it is refused, the rest has not changed either.
		if err := s.archive(ctx, n.Key, ifMatch); err != nil {
			return err
		}
		ifMatch = "" // it did
	}
	changed, err := s.notes.change(ctx, n.Key, func(n *note) error {
		if err := s.checkMatch(ctx, n, ifMatch); err != nil {
			return err
		}
		applyChange(n, ch)
		return nil
	})
	if err != nil {
		return err
	}
	if ch.Model != nil {
		if err := s.fleet.SetModel(ctx, n.Key, *ch.Model); err != nil && !errors.Is(err, fleet.ErrUnknown) {
			return err
		}
	}
	if ch.Mode != nil {
		if err := s.fleet.SetPermissionMode(ctx, n.Key, permission.Mode(*ch.Mode)); err != nil && !errors.Is(err, fleet.ErrUnknown) {
			return err
		}
		if err := s.notice(ctx, u, n.Key, fmt.Sprintf("chose the permission mode %q", *ch.Mode)); err != nil {
			return err
		}
	}
	l, release, err := s.logs.use(ctx, n.Key)
	if err != nil {
		return err
	}
	defer release()
	return l.append(ctx, func(*logHead) []logEvent {
		return []logEvent{{Event: api.Event{Type: api.EventConversation, Changed: &api.Changed{
			By: u.Name, Title: changed.Title, Labels: orEmpty(changed.Labels), Archived: changed.Archived, Shared: changed.Shared,
			Model: changed.Model, Mode: changed.Mode,
		}}}}
	})
}

// applyChange changes what is noted.
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

// fork makes a conversation a copy of another one that the user may see.
func (s *Service) fork(ctx context.Context, u api.User, n *note, c *creation) error {
	from := c.Fork
	old, err := s.find(ctx, u, from.Conversation)
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
	if made, err := s.madeBefore(ctx, n, c); made || err != nil {
		return err
	}
	err = s.fleet.Fork(ctx, old.Key, n.Key, from.Message)
	switch {
	case errors.Is(err, fleet.ErrExists):
		err = s.recoverFork(ctx, n)
	case errors.Is(err, fleet.ErrUnknown), errors.Is(err, history.ErrEmpty):
		err = badRequest.because("nothing was said in the conversation yet: begin a new one instead of a copy")
	case errors.Is(err, history.ErrNotFound), errors.Is(err, history.ErrInvalidID):
		err = badRequest.because("the conversation has no message %q to copy it up to", from.Message)
	}
	if err != nil {
		return err
	}
	if err := s.choose(ctx, n); err != nil {
		last, cancel := lasting(ctx)
		defer cancel()
		return errors.Join(err, s.fleet.Delete(last, n.Key)) // else it cannot be tried again
	}
	n.Model, n.Mode = cmp.Or(n.Model, old.Model), cmp.Or(n.Mode, old.Mode)
	return nil
}

// recoverFork takes a copy that an earlier attempt has made, and that has no note
// because the attempt was cut off: the key of a copy comes from that of the request.
// If a program has used the copy since, it differs from what was asked for.
func (s *Service) recoverFork(ctx context.Context, n *note) error {
	used, err := s.usedInFleet(ctx, n.Key)
	if err == nil && used {
		err = keyReused.because("an earlier attempt has made the copy, and a program has used it since then in the fleet: use a new key for another copy")
	}
	return err
}

// choose lets the choices for a copy hold, instead of those of the original that
// the fleet has copied.
func (s *Service) choose(ctx context.Context, n *note) error {
	if n.Model != "" {
		if err := s.fleet.SetModel(ctx, n.Key, n.Model); err != nil {
			return err
		}
	}
	if n.Mode != "" {
		return s.fleet.SetPermissionMode(ctx, n.Key, permission.Mode(n.Mode))
	}
	return nil
}
