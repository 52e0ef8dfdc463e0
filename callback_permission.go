package claude

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/internal/wire"
	"github.com/claude-agent-go/claude/permission"
)

// permissionCall asks the user's permission callback.
type permissionCall struct {
	callback callback // how the session runs it
	by       *callbacks
	in       *peer.Incoming
	req      permission.Request
	unread   error
}

func (r *callbacks) permissionCallback(in *peer.Incoming) *callback {
	c := &permissionCall{by: r, in: in, req: permission.Request{RequestID: in.ID.String()}}
	c.unread = readable(&c.req, c.req.UnmarshalJSON(in.Body))
	if c.unread != nil {
		r.diagnose(in.Body, c.unread)
	}
	if r.plan.races {
		r.race.ask(c.req.ToolUseID)
	}
	c.callback = callback{call: c, name: c.req.ToolName, timeout: r.opts.Timeouts.Callback, decides: c.req.ToolUseID, toolUse: c.req.ToolUseID}
	return &c.callback
}

func (c *permissionCall) run(ctx context.Context) (json.RawMessage, error) {
	if c.unread != nil {
		return nil, unreadable(c.unread)
	}
	ask := c.by.opts.CanUseTool
	if ask == nil {
		return nil, errNobody
	}
	decision, err := ask(ctx, &c.req)
	if err != nil {
		return nil, err
	}
	reply, err := decision.Reply(&c.req)
	if err != nil {
		return nil, err
	}
	return c.guarded(ctx, reply)
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

// readable refuses a request that names no tool or has no input: a callback
// that allows everything else must not be asked about nothing. A request with a
// repeated name, or with names that differ only in case, even inside the input,
// was refused before: the CLI might act on another value than the one decided
// on here.
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

// errDecided is the cause of a PermissionRequest hook's context when the
// permission callback has decided first.
var errDecided = errors.New("the permission callback has decided")

// noOpinion is the answer of such a hook.
const noOpinion = "{}"

// permissionRace knows which PermissionRequest hooks run for which tool call. The CLI
// asks them and the permission callback at the same time and takes the first
// decision. When a hook is first, the CLI withdraws the request to the callback; when
// the callback is first, the CLI leaves the hooks running (2.1.325), so the session
// ends them.
type permissionRace struct {
	mu      sync.Mutex
	hooks   map[string][]*runner
	decided []string // the last tool calls that the callback decided on
}

// runner is a hook that another decision may overtake.
type runner struct{ overtaken func() }

// decisionsKept bounds the decisions kept for hooks that are called only after
// the decision. Such calls come within the next lines or not at all.
const decisionsKept = 64

// enter registers a hook while it runs.
func (r *permissionRace) enter(toolUseID string, overtaken func()) (leave func()) {
	own := &runner{overtaken}
	if !r.add(toolUseID, own) {
		overtaken()
		return func() {}
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.hooks[toolUseID] = slices.DeleteFunc(r.hooks[toolUseID], func(other *runner) bool { return other == own })
		if len(r.hooks[toolUseID]) == 0 {
			delete(r.hooks, toolUseID)
		}
	}
}

// add registers a hook and reports whether the tool call is still undecided.
func (r *permissionRace) add(toolUseID string, own *runner) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.decided, toolUseID) {
		return false
	}
	if r.hooks == nil {
		r.hooks = make(map[string][]*runner)
	}
	r.hooks[toolUseID] = append(r.hooks[toolUseID], own)
	return true
}

// ask forgets the decision on a tool call that the CLI asks about again, or a
// decision that came too late.
func (r *permissionRace) ask(toolUseID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decided = slices.DeleteFunc(r.decided, func(id string) bool { return id == toolUseID })
}

// decide records the decision on a tool call. It returns the hooks that still
// run for it: they are overtaken.
func (r *permissionRace) decide(toolUseID string) []*runner {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decided = append(r.decided, toolUseID)
	if n := len(r.decided) - decisionsKept; n > 0 {
		r.decided = slices.Delete(r.decided, 0, n)
	}
	return slices.Clone(r.hooks[toolUseID])
}
