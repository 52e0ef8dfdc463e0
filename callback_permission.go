package claude

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/internal/wire"
	"github.com/claude-agent-go/claude/permission"
)

// permissionCall is a question to the user's permission callback.
type permissionCall struct {
	session *Session
	req     permission.Request
	unread  error
}

func (s *Session) permissionCallback(in *peer.Incoming) *callback {
	c := &permissionCall{session: s, req: permission.Request{RequestID: in.ID.String()}}
	c.unread = readable(&c.req, c.req.UnmarshalJSON(in.Body))
	if c.unread != nil && in.Reparse() {
		c.unread = readable(&c.req, c.req.UnmarshalJSON(in.Body))
	}
	if c.unread != nil {
		s.diagnose(in.Body, c.unread)
	}
	if s.plan.races {
		s.race.ask(c.req.ToolUseID)
	}
	return &callback{name: c.req.ToolName, timeout: s.opts.Timeouts.Callback, run: c.run, fail: c.fail, decides: c.req.ToolUseID}
}

func (c *permissionCall) run(ctx context.Context) (json.RawMessage, error) {
	if c.unread != nil {
		return nil, unreadable(c.unread)
	}
	ask := c.session.opts.CanUseTool
	if ask == nil {
		return nil, errNobody
	}
	decision, err := ask(ctx, &c.req)
	if err != nil {
		return nil, err
	}
	return decision.Reply(&c.req)
}

func (c *permissionCall) fail(err error) json.RawMessage {
	if lacks(err) {
		return nil
	}
	reply, err := permission.Deny("Permission could not be decided: " + err.Error()).Reply(&c.req)
	if err != nil {
		return json.RawMessage(`{"behavior":"deny","message":"Permission could not be decided."}`)
	}
	return reply
}

// readable refuses a request that names no tool, or has no input: a callback
// that allows everything else must not be asked about nothing. One with a
// repeated name, or names that differ only in case, also inside the input, has
// been refused before: what is decided here might not be what is done there.
func readable(req *permission.Request, err error) error {
	switch {
	case err != nil && !jsonx.Mismatch(err):
		return err
	case req.ToolName == "":
		return errors.Join(&wire.MissingError{Field: "request.tool_name"}, err)
	case !jsonx.Present(req.Input):
		return &wire.MissingError{Field: "request.input"}
	case req.Input[0] != '{':
		return errors.New("its input is not an object")
	}
	return nil
}
