package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
)

// Change changes a conversation. If ifMatch is not empty, it must be the
// conversation's ETag.
func (s *Service) Change(ctx context.Context, u api.User, id string, ch api.Change, ifMatch string) (api.Conversation, error) {
	n, err := s.conversations.act(ctx, u, id, api.RoleOperator)
	if err == nil {
		err = s.changer.checkChange(u, &n, &ch)
	}
	if err == nil {
		err = s.changer.change(ctx, u, &n, &ch, ifMatch)
	}
	if err != nil {
		return api.Conversation{}, problemOf(err)
	}
	return s.Conversation(ctx, u, id)
}

// Create begins a conversation.
func (s *Service) Create(ctx context.Context, u api.User, c api.NewConversation) (api.Conversation, error) {
	return s.create(ctx, u, creation{NewConversation: c})
}

func (s *Service) create(ctx context.Context, u api.User, c creation) (api.Conversation, error) {
	if err := need(u, api.RoleOperator); err != nil {
		return api.Conversation{}, err
	}
	if err := s.creator.prepareSession(ctx, u, &c); err != nil {
		return api.Conversation{}, problemOf(err)
	}
	n, err := s.creator.newNote(u, &c)
	if err != nil {
		return api.Conversation{}, problemOf(err)
	}
	first := c.firstPrompt(n.Key)
	if first != nil {
		n.First = first.ID
		if err := s.spendings.checkBudget(ctx, &n); err != nil {
			return api.Conversation{}, problemOf(err)
		}
	}
	if c.session() != "" || c.Fork != nil {
		var cancel context.CancelFunc
		ctx, cancel = lasting(ctx)
		defer cancel()
	}
	if err := s.creator.makeConversation(ctx, u, &n, &c); err != nil {
		return api.Conversation{}, problemOf(err)
	}
	if c.session() != "" {
		s.creator.awaitSaid(ctx, &n, &c)
	}
	if first != nil {
		if _, err := s.prompter.send(ctx, u, &n, *first); err != nil {
			if c.Resume != "" {
				return api.Conversation{}, resumedWithout(&n, err)
			}
			s.creator.undo(ctx, &n, err)
			return api.Conversation{}, problemOf(err)
		}
	}
	s.feed.touch(n.Key)
	return s.Conversation(ctx, u, idOf(n.Key))
}

// Changes returns the edits of a conversation, or of one of its prompts if prompt is
// not empty.
func (s *Service) Changes(ctx context.Context, u api.User, id, prompt string) (api.Changes, error) {
	edits, err := s.edits(ctx, u, id, prompt)
	out := api.Changes{Files: []api.ChangedFile{}}
	for _, e := range edits {
		i := slices.IndexFunc(out.Files, func(f api.ChangedFile) bool { return f.Path == e.path })
		if i < 0 {
			i = len(out.Files)
			out.Files = append(out.Files, api.ChangedFile{Path: e.path})
		}
		f := &out.Files[i]
		f.Edits = append(f.Edits, e.FileEdit)
		for _, h := range e.Hunks {
			f.Added, f.Removed = f.Added+countLines(&h, '+'), f.Removed+countLines(&h, '-')
			out.Added, out.Removed = out.Added+countLines(&h, '+'), out.Removed+countLines(&h, '-')
		}
	}
	return out, err
}

// Patch returns the edits of a conversation as a patch, in order, for git apply and
// patch -p1.
func (s *Service) Patch(ctx context.Context, u api.User, id, prompt string) (string, error) {
	edits, err := s.edits(ctx, u, id, prompt)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, e := range edits {
		name := strings.TrimPrefix(filepath.ToSlash(e.path), "/")
		from, to := patchName("a/"+name), patchName("b/"+name)
		fmt.Fprintf(&out, "diff --git %s %s\n", from, to)
		if e.Created {
			out.WriteString("new file mode 100644\n")
			from = "/dev/null"
		}
		if len(e.Hunks) > 0 { // otherwise the file is empty
			fmt.Fprintf(&out, "--- %s\n+++ %s\n", from, to)
		}
		for _, h := range e.Hunks {
			fmt.Fprintf(&out, "@@ -%d,%d +%d,%d @@\n%s\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines, strings.Join(h.Lines, "\n"))
		}
	}
	return out.String(), nil
}

// FolderPatch returns how the folder of a conversation differs from the state in which it
// began, as a patch for git apply. It also has what commands have changed, where
// [Service.Patch] has only edits. A conversation without a folder of its own is not found.
func (s *Service) FolderPatch(ctx context.Context, u api.User, id string) ([]byte, error) {
	n, err := s.conversations.act(ctx, u, id, api.RoleViewer)
	if err != nil {
		return nil, problemOf(err)
	}
	if s.opts.FolderPatch == nil {
		return nil, noFolder()
	}
	patch, err := s.opts.FolderPatch(ctx, n.Key)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, noFolder()
	case err != nil:
		s.journal.warn(ctx, "the folder of a conversation cannot be compared", n.Key, err)
		return nil, problemOf(err)
	}
	return patch, nil
}

func noFolder() error { return notFound.because("the conversation has no folder of its own") }

// edits returns the edits of a conversation, in order.
func (s *Service) edits(ctx context.Context, u api.User, id, prompt string) ([]edit, error) {
	n, err := s.conversations.act(ctx, u, id, api.RoleViewer)
	if err != nil {
		return nil, problemOf(err)
	}
	events, _, err := s.Log(ctx, u, id)
	if err != nil {
		return nil, err
	}
	var all []edit
	now, calls, lost := "", make(map[string]bool), RevertedCalls(events)
	known := prompt == ""
	for i := range events {
		e := &events[i]
		known = known || e.Type == api.EventPrompt && e.Prompt.ID == prompt
		if e.Type != api.EventMessage {
			continue
		}
		m, _ := message.Decode(e.Message) // an unreadable message changes nothing
		switch m := m.(type) {
		case *message.Assistant:
			for _, call := range m.Content.ToolUses() {
				calls[call.ID] = slices.Contains([]string{"Edit", "MultiEdit", "Write"}, call.Name)
			}
		case *message.User:
			if m.Text() != "" {
				now = m.UUID
			}
			for _, r := range m.ToolResults() {
				if edit, ok := editOf(e, m, r, n.Dir); ok && calls[r.ToolUseID] && !lost[r.ToolUseID] && (prompt == "" || prompt == now) {
					edit.Prompt = now
					all = append(all, edit)
				}
			}
		}
	}
	if !known {
		return nil, notFound.because("the conversation has no prompt %q", prompt)
	}
	return all, nil
}

// Delete deletes a conversation with its history, its questions and its log. A
// concurrent prompt is deleted with it, or refused.
func (s *Service) Delete(ctx context.Context, u api.User, id string) error {
	if err := need(u, api.RoleOperator); err != nil {
		return problemOf(err)
	}
	n, err := s.conversations.findAny(ctx, u, id) // including half-deleted ones
	if err == nil && u.Name != n.Owner && u.Role != api.RoleAdmin {
		err = forbidden.because("only the owner may delete the conversation")
	}
	if err == nil {
		err = s.eraser.erase(ctx, n.Key)
	}
	if err != nil {
		return problemOf(err)
	}
	s.opts.Logger.Info("serve: deleted a conversation", "conversation", n.Key, "user", u.Name, "address", u.Address)
	s.feed.touch(n.Key)
	return nil
}
