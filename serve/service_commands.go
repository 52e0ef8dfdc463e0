package serve

import (
	"context"
	"errors"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
)

// Commands lists the slash commands that the last agent of a conversation has announced,
// see [fleet.Fleet.Commands]. A conversation whose agent never ran has none.
func (s *Service) Commands(ctx context.Context, u api.User, id string) (api.List[api.Command], error) {
	out := api.List[api.Command]{Items: []api.Command{}}
	n, err := s.conversations.act(ctx, u, id, api.Viewer)
	if err != nil {
		return out, problemOf(err)
	}
	commands, err := s.fleet.Commands(ctx, n.Key)
	if err != nil && !errors.Is(err, fleet.ErrUnknown) { // no prompt was sent to it yet
		return out, problemOf(err)
	}
	for _, c := range commands {
		out.Items = append(out.Items, api.Command{Name: c.Name, Description: c.Description, Hint: c.ArgumentHint, Aliases: c.Aliases, Builtin: c.Builtin})
	}
	return out, nil
}
