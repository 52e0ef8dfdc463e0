package acp

import (
	"context"
	"reflect"
	"slices"

	"github.com/claude-agent-go/claude/acp/internal/translate"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/serve/api"
)

// commandsOf returns commands as a CLI announces them.
func commandsOf(listed []api.Command) []control.Command {
	out := make([]control.Command, len(listed))
	for i, c := range listed {
		out[i] = control.Command{Name: c.Name, Description: c.Description, ArgumentHint: c.Hint, Aliases: c.Aliases, Builtin: c.Builtin}
	}
	return out
}

// showCommands shows the slash commands that the server lists for a conversation, unless
// the editor has them: when the session is opened, when a prompt begins, because its CLI
// may be the first or may announce others, and at the end of a turn, which may have changed
// them. It runs beside the stream, which a slow answer must not hold up; what is asked for
// meanwhile is asked once more. An empty list is not shown, because no CLI has announced any yet: a copy keeps
// those of the original until its own CLI runs.
func (s *remoteSession) showCommands(conversation string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return
	}
	if !slices.Contains(s.lists, conversation) {
		s.lists = append(s.lists, conversation)
	}
	if s.listing {
		return
	}
	s.listing = true
	s.listers.Go(func() {
		for next := s.nextList(); next != ""; next = s.nextList() {
			s.listCommands(next)
		}
	})
}

// nextList returns the conversation whose commands are to be listed, empty if none are.
func (s *remoteSession) nextList() (conversation string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listing = len(s.lists) > 0; s.listing {
		conversation, s.lists = s.lists[0], s.lists[1:]
	}
	return conversation
}

func (s *remoteSession) listCommands(conversation string) {
	ctx, cancel := context.WithTimeout(s.ctx, reaching)
	defer cancel()
	listed, err := s.server.Commands(ctx, conversation)
	if err != nil {
		s.log.Debug("acp: the server lists no commands", "session", s.id, "error", err)
		return
	}
	s.mu.Lock()
	news := len(listed) > 0 && !reflect.DeepEqual(listed, s.commands)
	if news {
		s.commands = listed
	}
	s.mu.Unlock()
	if news {
		s.send(ctx, translate.Commands(commandsOf(listed)))
	}
}
